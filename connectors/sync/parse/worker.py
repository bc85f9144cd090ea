"""The process that opens documents: `python -m connectors.sync.parse.worker`, spoken to over its standard streams.

It confines itself, says which locks hold, then answers one request after another: a head of JSON, the body's bytes; a
verdict of JSON back. Each message has its length before it, four bytes, big endian. It ends with its input.
"""

from __future__ import annotations

import gc
import json
import os
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from connectors.records import ParsedRecord
from connectors.sync.parse.confine import allow_seconds, confine
from connectors.sync.parse.formats import read
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.refusal import Refusal
from connectors.sync.parse.wire import to_json

Reader = Callable[[bytes, str, str, Limits, str | None], ParsedRecord]  # body, media type, name, limits, tesseract


def serve(reader: Reader) -> None:
    """Confine this process and answer requests until the input ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what a library prints must not reach the answers
        os.dup2(nowhere, stream)
    settings = json.loads(_receive(requests) or b"{}")
    # Optional to openpyxl and pdfium, slow to import, and a third of the memory: the worker does without.
    sys.modules["numpy"] = None  # type: ignore[assignment]
    limits = Limits.from_json(settings["limits"])
    _send(answers, json.dumps({"locks": confine(limits)}).encode())
    while (head := _receive(requests)) is not None:
        request = json.loads(head)
        body = requests.read(request["length"])
        allow_seconds(request["seconds"])
        verdict = _answer(reader, body, request, limits, settings.get("tesseract"))
        del body
        _send(answers, verdict)
        gc.collect(0)


def _answer(reader: Reader, body: bytes, request: dict[str, Any], limits: Limits, tesseract: str | None) -> bytes:
    try:
        return b"R" + to_json(reader(body, request["media_type"], request["name"], limits, tesseract))
    except Refusal as refusal:
        return _no("refused", str(refusal))
    except MemoryError:
        return _no("memory", "")
    except RecursionError:
        return _no("refused", "is nested too deeply")
    except Exception as error:  # the task boundary: any fault of a format's library is this document's fault
        return _no("broken", type(error).__name__)


def _no(kind: str, reason: str) -> bytes:
    return b"N" + json.dumps({"kind": kind, "reason": reason[:500]}).encode("utf-8", "replace")


def _receive(stream: BinaryIO) -> bytes | None:
    prefix = stream.read(4)
    return stream.read(struct.unpack(">I", prefix)[0]) if len(prefix) == 4 else None


def _send(stream: BinaryIO, message: bytes) -> None:
    stream.write(struct.pack(">I", len(message)) + message)
    stream.flush()


if __name__ == "__main__":
    sys.setrecursionlimit(3_000)
    serve(read)
