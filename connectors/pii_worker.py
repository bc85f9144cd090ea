"""The process that looks for personal data: settings in, `ready` out; then texts in, spans out, until its input ends.

Each message is four bytes of length and JSON. It ends itself when a reply's texts take too long, also when nobody is
left to end it: the alarm is the system's, since a pattern at work lets no other thread run.
"""

from __future__ import annotations

import gc
import json
import signal
import struct
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from connectors.errors import DoorError
from connectors.pii import Presidio

_GRACE = 5  # seconds that the parent has to end this process itself


def main() -> None:
    """Serve until the input ends."""
    into, out = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what a library prints must not get into the conversation
    requests = _messages(into)
    settings = next(requests)
    detector = Presidio(settings["not_names"])
    gc.disable()  # nothing that loading makes is garbage; looking for some is a tenth of the start
    try:
        detector.load()
    except DoorError as error:
        _send(out, {"ready": False, "problem": str(error)})
        return
    gc.freeze()
    gc.enable()
    _send(out, {"ready": True})
    for request in requests:
        signal.alarm(int(settings["seconds"]) + _GRACE)
        found = detector.find_all(request["texts"])
        signal.alarm(0)
        _send(out, {"spans": [[[each.start, each.end, each.kind, each.score] for each in spans] for spans in found]})


def _messages(into: BinaryIO) -> Iterator[Any]:
    while len(head := into.read(4)) == 4:
        yield json.loads(into.read(struct.unpack(">I", head)[0]))


def _send(out: BinaryIO, content: Any) -> None:
    encoded = json.dumps(content).encode()
    out.write(struct.pack(">I", len(encoded)) + encoded)
    out.flush()


if __name__ == "__main__":
    main()
