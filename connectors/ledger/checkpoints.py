"""Signed states of the chain, in a file outside the database: who cuts the table's tail can't cut this with it.

One JSON line a state, appended after the record is durable. A state may be missing (a kill between the two), never
wrong. The file is only ever added to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from connectors.errors import Stop, Transient
from connectors.ledger.chain import canonical
from connectors.trace_signer import TraceSigner

ORIGIN = "footnote traces/1"


@dataclass(frozen=True, slots=True)
class Heads:
    """The signed states of a file: number of the last record to its leaf. `forged` is the number in the first line
    whose signature is not ours."""

    by_number: Mapping[int, str]
    forged: int | None = None

    @property
    def size(self) -> int:
        """How many records the chain had at least."""
        return max(self.by_number, default=0)


class Checkpoints:
    """The file of signed states."""

    def __init__(self, path: Path, signer: TraceSigner) -> None:
        self._path = path
        self._signer = signer

    def add(self, size: int, head: str, at: str) -> None:
        """Sign a state and hand it to the system. Not flushed to disk: what a power cut loses is only
        missing, and the next state covers it. Transient when the file can't be written."""
        line = signed({"origin": ORIGIN, "size": size, "head": head, "at": at}, self._signer)
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                # A line that a power cut left half written must not swallow this one.
                end = os.lseek(handle, 0, os.SEEK_END)
                torn = end > 0 and os.pread(handle, 1, end - 1) != b"\n"
                os.write(handle, (("\n" if torn else "") + line + "\n").encode())
            finally:
                os.close(handle)
        except OSError as error:
            raise Transient(
                f"the trace checkpoints at {str(self._path)!r} can't be written ({error.strerror})"
            ) from error

    def read(self) -> Heads:
        """Every state whose signature is ours; half-written lines are passed over."""
        try:
            lines = self._path.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return Heads({})
        except OSError as error:
            raise Stop(f"the trace checkpoints at {str(self._path)!r} can't be read ({error.strerror})") from error
        heads: dict[int, str] = {}
        for line in lines:
            state = unsigned(line, self._signer)
            if state is None:
                if (claimed := _claimed(line)) is not None:
                    return Heads(heads, forged=claimed)
                continue
            size, head = state.get("size"), state.get("head")
            if not isinstance(size, int) or not isinstance(head, str) or heads.get(size, head) != head:
                return Heads(heads, forged=size if isinstance(size, int) else 0)
            heads[size] = head
        return Heads(heads)


def signed(state: Mapping[str, Any], signer: TraceSigner) -> str:
    """One line: the state, the id of the key, the signature over the state's canonical bytes."""
    line = {"checkpoint": dict(state), "key": signer.key_id, "signature": signer.sign(canonical(state))}
    return canonical(line).decode()


def unsigned(line: str, signer: TraceSigner) -> Mapping[str, Any] | None:
    """The state in a line that our key signed for traces; None for anything else."""
    try:
        content = json.loads(line)
        state = content["checkpoint"]
        good = signer.verify(canonical(state), content["signature"])
    except (ValueError, TypeError, KeyError, RecursionError, Stop):
        return None
    return state if good and isinstance(state, dict) and state.get("origin") == ORIGIN else None


def _claimed(line: str) -> int | None:
    """The number that a line which is a checkpoint, but not ours, claims; None for a line that is none."""
    try:
        size = json.loads(line)["checkpoint"]["size"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return size if isinstance(size, int) else 0
