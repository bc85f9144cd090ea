"""Whose account a person's entry of a site is: decided once, and kept.

SharePoint remembers people by the id of the directory and refuses somebody new under an old name. A name that is looked
up again each time would let him in, so the pair of entry and id is kept for good, and a name that has meant somebody
else before means nobody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from connectors.errors import Transient
from connectors.ports import Memory
from connectors.sources.sharepoint.client import Ask, Client, NotTold, Told

NOTE = "accounts:"
_GUEST_MARK = "#ext#"


@dataclass(frozen=True, slots=True)
class Entry:
    """A person as a site collection knows him."""

    id: str  # the site's own number and the name; means nothing in another site
    upn: str  # in lower case
    oid: str  # of the directory, where SharePoint tells it; else empty

    @classmethod
    def of(cls, row: Mapping[str, Any], upn: str) -> Entry:
        number = row.get("Id")
        name = upn.casefold()
        # By both: whose login name SharePoint changed is asked about anew.
        return cls(f"{number or ''}|{name}", name, directory_id(row))


def directory_id(row: Mapping[str, Any]) -> str:
    """The directory's id of somebody, as SharePoint tells it of a site's users; empty where it does not."""
    told = row.get("AadObjectId")
    oid = told.get("NameId") if isinstance(told, dict) else told
    return oid.casefold() if isinstance(oid, str) else ""


@dataclass(slots=True)
class Accounts:
    """The people of one site collection, by entry."""

    site: str
    client: Client
    memory: Memory
    _pairs: dict[str, tuple[str, str]] = field(default_factory=dict)  # entry -> name, directory id
    _meant: dict[str, frozenset[str]] = field(default_factory=dict)  # name -> whom it has meant in any site
    _looked_up: dict[str, str] = field(default_factory=dict)  # name -> directory id, empty: there is nobody
    _new: bool = False

    @classmethod
    async def open(cls, site: str, client: Client, memory: Memory, others: Accounts | None = None) -> Accounts:
        """With everything that was decided before. `others`: of another site, read during the same look: what it knows
        of names, whichever site they are of, is shared and not read or asked for again."""
        made = cls(site, client, memory)
        if others is not None:
            made._pairs = _read(await memory.note(NOTE + site) or "{}")
            made._meant, made._looked_up = others._meant, others._looked_up
            return made
        for name, text in (await memory.notes(NOTE)).items():
            pairs = _read(text)
            if name == NOTE + site:
                made._pairs = pairs
            for upn, oid in pairs.values():
                made._meant[upn] = made._meant.get(upn, frozenset()) | {oid}
        return made

    async def keep(self) -> None:
        """Remember what was decided since."""
        if self._new:
            await self.memory.keep_note(NOTE + self.site, json.dumps(self._pairs, separators=(",", ":")))
            self._new = False

    async def resolve(self, entries: Sequence[Entry], *, by_name: bool = True) -> Mapping[str, str]:
        """The directory's id of each entry, by entry; somebody who is nobody there is missing. `by_name`: the directory
        may be asked for a name. Where a site tells ids, it may not: an entry without one is of somebody who is not in
        the directory any more, and his name may be another's by now."""
        unknown = {each.upn for each in entries if by_name and not each.oid and each.id not in self._pairs}
        await self._look_up(sorted(unknown - self._looked_up.keys()))
        found: dict[str, str] = {}
        for entry in entries:
            oid = self._of(entry, by_name)
            if oid:
                found[entry.id] = oid
        await self.keep()
        return found

    def _of(self, entry: Entry, by_name: bool) -> str:
        known = self._pairs.get(entry.id)
        if entry.oid:
            oid = entry.oid
        elif known is not None:
            return known[1]
        else:
            oid = self._looked_up.get(entry.upn, "") if by_name else ""
            if oid and self._meant.get(entry.upn, frozenset()) - {oid}:
                return ""  # the name was handed to somebody else: nobody can tell whose entry this is
        if oid and entry.id and known != (entry.upn, oid):
            self._pairs[entry.id] = (entry.upn, oid)
            self._meant[entry.upn] = self._meant.get(entry.upn, frozenset()) | {oid}
            self._new = True
        return oid

    async def _look_up(self, names: Iterable[str]) -> None:
        wanted = list(names)
        if not wanted:
            return
        asks = [Ask(f"users/{quote(name, safe='@')}?$select=id,userPrincipalName", units=0.0) for name in wanted]
        for name, told in zip(wanted, await self.client.batch(asks, directory=True), strict=True):
            self._looked_up[name] = _oid(told)


def _oid(told: Told) -> str:
    match told:
        case Told(status=404):
            return ""  # deleted: the assignment is left over and grants to nobody
        case Told(ok=True, body={"id": str(oid)}) if oid:
            return oid.casefold()
        case Told(status=400):
            return ""  # a name that the directory can't have
        case Told(status=status) if status in (401, 403):
            raise NotTold(f"Graph does not tell who people are ({status}); grant the app User.Read.All")
        case _:
            raise Transient("Graph did not say who somebody is")


def _read(text: str) -> dict[str, tuple[str, str]]:
    try:
        return {str(entry): (str(upn), str(oid)) for entry, (upn, oid) in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
