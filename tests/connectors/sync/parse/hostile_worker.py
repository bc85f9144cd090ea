"""A worker whose "documents" misbehave as a broken or captured reader would: the sandbox must hold all the same."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
from pathlib import Path

from connectors.records import Block, Form, ParsedRecord
from connectors.sync.parse.limits import Limits
from connectors.sync.parse.worker import serve


def misbehave(body: bytes, media_type: str, name: str, limits: Limits, tesseract: str | None) -> ParsedRecord:
    told = name
    match name:
        case "loop":
            while True:
                pass
        case "memory":
            hoard = [bytes(range(256)) * 40_000 for _ in range(1_000)]
            told = str(len(hoard))
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "crash":
            ctypes.string_at(0)
        case "print":
            print("this must not reach the answers", flush=True)
            os.write(1, b"nor this")
        case "connect":
            try:
                socket.create_connection(("127.0.0.1", int(body)), timeout=2).close()
            except OSError as error:
                told = f"blocked: {type(error).__name__}"
            else:
                told = "connected"
        case "environment":
            told = " ".join(sorted(os.environ))
        case "write":
            try:
                Path("/tmp/footnote-too-large").write_bytes(b"x" * 50_000_000)
            except OSError:
                told = "blocked"
    return ParsedRecord(None, (Block(Form.TEXT, (), told),))


if __name__ == "__main__":
    serve(misbehave)
