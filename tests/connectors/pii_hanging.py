"""A worker of the detector that goes wrong as its first text says: it hangs in a pattern, dies, or answers nonsense."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from connectors.pii_worker import _messages, _send

requests = _messages(sys.stdin.buffer)
marks = next(requests)["not_names"]
_send(sys.stdout.buffer, {"ready": True})
for request in requests:
    match request["texts"][0]:
        case "hang":
            re.fullmatch(r"(a|a)*b", "a" * 60)
        case "die":
            os._exit(3)
        case "die once" if not Path(marks[0]).exists():
            Path(marks[0]).touch()
            os._exit(3)
        case "fewer":
            _send(sys.stdout.buffer, {"spans": []})
        case "nonsense":
            _send(sys.stdout.buffer, {"spans": None})
        case _:
            _send(sys.stdout.buffer, {"spans": [[[0, 1, str(os.getpid()), 1.0]] for _ in request["texts"]]})
