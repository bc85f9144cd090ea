"""Who may read what, computed in the plainest way: sets of strings, and not a line of the product.

It is told the same things as the product (people, groups, and what a complete sync saw) and answers for one person and
one page at a time. Nothing here is fast, shared or clever; that is what it is for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

Readers = list[list[str]] | None  # AND of ORs; None: nobody could find out


@dataclass(frozen=True)
class Edition:
    """One version of a page as it was told."""

    version: str
    text: str
    starts: date | None = None
    ends: date | None = None
    status: str = "current"


@dataclass
class Shelf:
    """What is known of one page: its editions, the newest last, and who may read them."""

    editions: list[Edition] = field(default_factory=list)
    readers: Readers = None
    seen: datetime | None = None
    lease: timedelta = timedelta(0)
    usable: bool = False


@dataclass
class Oracle:
    """The whole truth."""

    groups_of: dict[str, set[str]] = field(default_factory=dict)  # person -> groups that list him
    kind_of: dict[str, str] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    includes: dict[str, set[str]] = field(default_factory=dict)  # group -> groups inside it
    shelves: dict[str, Shelf] = field(default_factory=dict)

    # ------------------------------------------------------------ what it is told

    def saw(self, page: str, edition: Edition, usable: bool, readers: Readers, at: datetime, lease: timedelta) -> None:
        """A complete sync saw the page like this."""
        shelf = self.shelves.setdefault(page, Shelf())
        shelf.readers, shelf.seen, shelf.lease, shelf.usable = readers, at, lease, usable
        if not usable:
            return
        older = []
        for other in shelf.editions:
            if other.version == edition.version or other.starts is None or edition.starts is None:
                continue
            if other.starts < edition.starts:
                last = edition.starts - timedelta(days=1)
                older.append(replace(other, ends=min(last, other.ends) if other.ends else last))
        shelf.editions = [*older, edition]

    def lost(self, page: str) -> None:
        """A complete sync did not see the page any more."""
        self.shelves.pop(page, None)

    # ------------------------------------------------------------ what it says

    def is_(self, person: str) -> set[str]:
        """Everything a person is."""
        everything = {f"usr:{person}@example.com"} | self.groups_of.get(person, set())
        while True:
            more = {group for group, inside in self.includes.items() if inside & everything} - everything
            if not more:
                return everything
            everything |= more

    def may_ask(self, person: str) -> bool:
        return person in self.kind_of and person not in self.disabled and self.kind_of[person] in ("member", "guest")

    def meets(self, person: str, readers: Readers) -> bool:
        return bool(readers) and all(set(clause) & self.is_(person) for clause in readers or [])

    def may_read(self, person: str, page: str, version: str, now: datetime, on: date | None = None) -> bool:
        """Whether the person may be answered from this version of this page, for today or for the day `on`."""
        shelf = self.shelves.get(page)
        if shelf is None or not shelf.usable or shelf.seen is None or now - shelf.seen > shelf.lease:
            return False
        if not self.may_ask(person) or not self.meets(person, shelf.readers):
            return False
        day = on or now.date()
        for edition in shelf.editions:
            if edition.version == version:
                begun = edition.starts is None or edition.starts <= day
                over = edition.ends is not None and edition.ends < day
                return begun and not over and (on is not None or edition.status != "superseded")
        return False

    def readable(self, person: str, now: datetime, on: date | None = None) -> set[tuple[str, str]]:
        """Every page and version that the person may be answered from."""
        return {
            (page, edition.version)
            for page, shelf in self.shelves.items()
            for edition in shelf.editions
            if self.may_read(person, page, edition.version, now, on)
        }
