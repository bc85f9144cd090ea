"""Text that somebody judged: `Sealed` comes from an index, `clear` opens it against a verdict, `Cleared` may leave.

A `Sealed` prints as its document only, so a stray log line or traceback shows nothing. Doors that send text out
(rerankers, writers, Slack, the console) take `Cleared`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from policies.decision import Allowed
from policies.names import DocumentId

T = TypeVar("T")
U = TypeVar("U")

_BY_CLEAR = object()


class Sealed(Generic[T]):
    """Content of one version of one document that nobody has judged for this asker yet."""

    __slots__ = ("_content", "document", "version")

    def __init__(self, document: DocumentId, version: str, content: T) -> None:
        self.document = document
        self.version = version
        self._content = content

    def __repr__(self) -> str:
        return f"Sealed({self.document}@{self.version})"

    def __reduce__(self) -> str:
        raise TypeError("sealed content is not pickled")


@dataclass(frozen=True, slots=True, repr=False)
class Cleared(Generic[T]):
    """Content that an `Allowed` for its own document and version opened; only `clear` makes one."""

    content: T
    allowed: Allowed
    _by: object

    def __post_init__(self) -> None:
        if self._by is not _BY_CLEAR:
            raise TypeError("only clear() makes Cleared content")

    def __repr__(self) -> str:
        return f"Cleared({self.allowed.document}@{self.allowed.version})"

    def map(self, part: Callable[[T], U]) -> Cleared[U]:
        """What `part` makes of the content alone, under the same verdict."""
        return Cleared(part(self.content), self.allowed, self._by)


def clear(sealed: Sealed[T], allowed: Allowed) -> Cleared[T]:
    """Open `sealed` on the strength of `allowed`; a verdict on another document or version opens nothing."""
    if not isinstance(allowed, Allowed):
        raise TypeError(f"a verdict that allows is needed, not {allowed!r}")
    if (sealed.document, sealed.version) != (allowed.document, allowed.version):
        raise ValueError(f"a verdict on {allowed.document}@{allowed.version} does not open {sealed!r}")
    return Cleared(sealed._content, allowed, _BY_CLEAR)
