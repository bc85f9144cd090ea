"""Delta of a library and of a list: tokens, pages, what is told and what is not.

https://learn.microsoft.com/graph/api/driveitem-delta and the scan guidance; the gaps are those of `tenant.Gaps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from tests.doubles.sharepoint import rows
from tests.doubles.sharepoint.state import Changed, Item, Library
from tests.doubles.sharepoint.tenant import Tenant
from tests.doubles.sharepoint.wire import Asked, Json, Reply, error

SHARING = frozenset({"deltashowremovedasdeleted", "deltatraversepermissiongaps", "deltashowsharingchanges"})
HIERARCHY = "hierarchicalsharing"
PAGE = 200


@dataclass(frozen=True, slots=True)
class _Row:
    item: Item | None  # None: the root
    shared: bool = False


@dataclass(slots=True)
class _Round:
    """One enumeration on its way; its pages can be asked for again."""

    library: Library
    kind: str  # drive | list
    prefer: frozenset[str]
    since: int  # the change up to which the next round need not go back
    rows: Sequence[_Row] = ()


@dataclass(slots=True)
class Deltas:
    """Every token that was handed out."""

    tenant: Tenant
    rounds: dict[str, _Round] = field(default_factory=dict)  # by number, of next links and delta links
    expired: set[str] = field(default_factory=set)  # ids of libraries whose tokens so far are refused
    code: str = "resyncChangesApplyDifferences"
    location: str = "good"  # good | broken | none
    needs_full_control: set[str] = field(default_factory=set)  # ids of libraries with retention labels
    told: int = 0  # rows
    _count: int = 0

    def expire(self, library: Library, code: str = "resyncChangesApplyDifferences", location: str = "good") -> None:
        """No token of this library counts any more."""
        self.code, self.location = code, location
        self.expired |= {token for token, each in self.rounds.items() if each.library is library}

    def drive(self, asked: Asked, library: Library, here: str) -> Reply:
        """`here`: the address without query."""
        prefer = _prefer(asked)
        if prefer & {"deltashowsharingchanges"} and not prefer >= SHARING:
            return error(400, "invalidRequest", "deltashowsharingchanges needs the other two")
        return self._answer(asked, library, here, "drive", prefer)

    def items(self, asked: Asked, library: Library, here: str) -> Reply:
        return self._answer(asked, library, here, "list", frozenset())

    def _answer(self, asked: Asked, library: Library, here: str, kind: str, prefer: frozenset[str]) -> Reply:
        if library.id in self.needs_full_control:
            return error(403, "accessDenied", "items with retention labels need Sites.FullControl.All")
        token = asked.query.get("token") or asked.query.get("$deltatoken") or asked.query.get("$skiptoken") or ""
        if token == "latest":
            return self._page(asked, _Round(library, kind, prefer, self.tenant.number), 0, here)
        if not token:
            return self._page(asked, self._everything(library, kind, prefer), 0, here)
        number, _, offset = token.partition(".")
        known = self.rounds.get(number)
        if known is None and _moment(token):
            return self._page(asked, self._since(library, kind, prefer, self._at(library, token)), 0, here)
        if known is None or known.library is not library or known.kind != kind:
            return error(400, "invalidRequest", "the token is not of this collection")
        if number in self.expired:
            return self._gone(library, kind, prefer, here, self.code)
        if known.prefer != prefer:
            return self._gone(library, kind, prefer, here, "resyncRequired")
        if offset:
            return self._page(asked, known, int(offset), here)
        return self._page(asked, self._since(library, kind, prefer, known.since), 0, here)

    def _gone(self, library: Library, kind: str, prefer: frozenset[str], here: str, code: str) -> Reply:
        fresh = self._keep(self._everything(library, kind, prefer))
        found = {
            "good": {"Location": f"{here}?token={fresh}.0"},
            "broken": {"Location": f"{here}?token=broken"},
            "none": {},
        }[self.location]
        return Reply(410, {"error": {"code": code, "message": "Resync required.", "innerError": {"code": code}}}, found)

    def _everything(self, library: Library, kind: str, prefer: frozenset[str]) -> _Round:
        items = [_Row(item) for item in library.live()]
        top = [_Row(None)] if kind == "drive" else []
        return _Round(library, kind, prefer, self.tenant.number, [*top, *items])

    def _since(self, library: Library, kind: str, prefer: frozenset[str], since: int) -> _Round:
        sharing = prefer >= SHARING and kind == "drive"
        latest: dict[Item, Changed] = {}
        annotated: set[Item] = set()
        for change in reversed(library.log):
            if change.number <= since:
                break
            if change.sharing and not sharing:
                continue
            latest.setdefault(change.item, change)
            if change.told_shared:
                annotated.add(change.item)
        changed = [_Row(item, item in annotated) for item in reversed(latest)]
        changed = [row for row in changed if row.item is not None and not self._under_deleted(row.item)]
        above = self._above(changed) if kind == "drive" else []
        top = [_Row(None)] if kind == "drive" and changed else []
        return _Round(library, kind, prefer, self.tenant.number, [*top, *above, *changed])

    def _under_deleted(self, item: Item) -> bool:
        if not self.tenant.gaps.below_deleted:
            return False
        return item.above is not None and item.above.gone

    def _above(self, changed: Sequence[_Row]) -> list[_Row]:
        """The folders that lead to what changed come along, and say nothing new."""
        named = {row.item for row in changed}
        found: dict[Item, None] = {}
        for row in changed:
            if row.item is not None and not row.item.gone:
                for folder in reversed(list(row.item.chain())):
                    if folder not in named:
                        found.setdefault(folder)
        return [_Row(folder) for folder in found]

    def _at(self, library: Library, token: str) -> int:
        moment = _moment(token)
        assert moment is not None
        return max((change.number for change in library.log if change.at < moment), default=0)

    def _keep(self, round_: _Round) -> str:
        self._count += 1
        self.rounds[f"t{self._count}"] = round_
        return f"t{self._count}"

    def _page(self, asked: Asked, round_: _Round, offset: int, here: str) -> Reply:
        size = min(int(asked.query.get("$top", PAGE)), 5000)
        name = next((name for name, each in self.rounds.items() if each is round_), None) or self._keep(round_)
        shown = round_.rows[offset : offset + size]
        self.told += len(shown)
        render = self._drive_row if round_.kind == "drive" else self._list_row
        body: Json = {"value": [render(asked, round_, row) for row in shown]}
        kept = {key: value for key, value in asked.query.items() if key in ("$select", "$top", "$expand")}
        rest = "&" + urlencode(kept) if kept else ""
        if offset + size < len(round_.rows):
            body["@odata.nextLink"] = f"{here}?token={name}.{offset + size}{rest}"
        else:
            body["@odata.deltaLink"] = f"{here}?token={name}{rest}"
        return Reply(200, body)

    def _drive_row(self, asked: Asked, round_: _Round, row: _Row) -> Json:
        if row.item is None:
            found = rows.root(self.tenant, round_.library)
        elif row.item.gone:
            return rows.deleted(row.item)
        else:
            found = rows.drive_item(self.tenant, row.item)
            shared = self._shared(row.item, round_.prefer)
            if shared is not None:
                found["shared"] = shared
            if row.shared:
                found["@microsoft.graph.sharedChanged"] = "True"
        return chosen(found, asked.query.get("$select"))

    def _shared(self, item: Item, prefer: frozenset[str]) -> Json | None:
        if HIERARCHY in prefer:
            if not item.unique:
                return None
            links = any(
                entry in item.grants and item.library.web.collection.entries[entry].link is not None
                for entry in item.grants
            )  # fmt: skip
            return {"scope": "users"} if links else {}
        return {"scope": "users"} if any(each.unique for each in item.chain()) else None

    def _list_row(self, asked: Asked, round_: _Round, row: _Row) -> Json:
        assert row.item is not None
        if row.item.gone:
            return rows.deleted_list_item(self.tenant, row.item)
        return rows.list_item(self.tenant, row.item, "fields" in asked.query.get("$expand", ""))


NOT_BY_DEFAULT = ("sharepointIds", "publication")


def chosen(row: Json, select: str | None) -> Json:
    """A drive item as it is told: some of it only where it was asked for by name."""
    if select:
        return rows.picked(row, select)
    return {key: value for key, value in row.items() if key not in NOT_BY_DEFAULT}


def _prefer(asked: Asked) -> frozenset[str]:
    said = (part.strip().casefold() for part in asked.headers.get("prefer", "").split(","))
    return frozenset(part for part in said if part in SHARING | {HIERARCHY})


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
