"""What a far source remembers, in memory: means exactly what `SqlMemory` means, beside a `MemoryLedger`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from connectors.ledger.memory import MOST_HINTS
from connectors.ports import Event, Hint
from connectors.records import ClosedRoot, Node, Own, Placed, StatedRules
from policies.access import digest
from policies.facts import Life
from tests.memory import MemoryLedger


class Remembering:
    """Port `Memory`, of one source, over dictionaries. Every call is one step."""

    def __init__(self, ledger: MemoryLedger, source: str) -> None:
        self._ledger = ledger
        self._source = source
        self._nodes: dict[str, Node] = {}
        self._notes: dict[str, str] = {}
        self._hints: list[Hint] = []
        self._number = 0

    # ------------------------------------------------------------ nodes

    async def get(self, keys: Sequence[str]) -> Mapping[str, Node]:
        return {key: self._nodes[key] for key in keys if key in self._nodes}

    async def put(self, nodes: Sequence[Node]) -> None:
        self._nodes |= {node.key: node for node in nodes}

    async def drop(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._nodes.pop(key, None)

    async def of_container(self, container: str) -> AsyncIterator[Node]:
        for node in self._sorted(node for node in self._nodes.values() if node.container == container):
            yield node

    async def ruled(self, container: str) -> AsyncIterator[Node]:
        async for node in self.of_container(container):
            if isinstance(node.rules, Own):
                yield node

    async def containers(self) -> AsyncIterator[Node]:
        for node in self._sorted(node for node in self._nodes.values() if node.container == node.key):
            yield node

    def _sorted(self, nodes: Iterable[Node]) -> list[Node]:
        return sorted(nodes, key=lambda node: node.key)

    async def below(self, key: str) -> Sequence[Node]:
        found = {key} & self._nodes.keys()
        while more := {name for name, node in self._nodes.items() if node.parent in found} - found:
            found |= more
        return [self._nodes[name] for name in sorted(found, key=lambda name: (name != key, name))]

    # ------------------------------------------------------------ notes and hints

    async def note(self, name: str) -> str | None:
        return self._notes.get(name)

    async def notes(self, prefix: str) -> Mapping[str, str]:
        return {name: value for name, value in self._notes.items() if name.startswith(prefix)}

    async def keep_note(self, name: str, value: str | None) -> None:
        self._notes.pop(name, None)
        if value is not None:
            self._notes[name] = value

    async def told(self, events: Sequence[Event], at: datetime) -> None:
        tops = [node.key for node in self._nodes.values() if node.container == node.key]
        last = {(event.key, event.what): event for event in events}
        self._hints = [each for each in self._hints if (each.key, each.what) not in last]
        for event in last.values():
            if event.closes:
                roots = [event.key] if event.key else tops
                await self._ledger.hide_subtrees(self._source, dict.fromkeys(roots, f"an event: {event.what}"), at)
            self._hint(event.key, event.what, at)
        if len(self._hints) > MOST_HINTS:
            self._hints = []
            self._hint("", "more than were kept", at)

    def _hint(self, key: str, what: str, at: datetime) -> None:
        self._number += 1
        self._hints.append(Hint(self._number, key, what, at))

    async def hints(self, most: int = 1000) -> Sequence[Hint]:
        return self._hints[:most]

    async def forget_hints(self, upto: int, but: Collection[int] = ()) -> None:
        self._hints = [each for each in self._hints if each.number > upto or each.number in but]

    # ------------------------------------------------------------ the ledger's side

    async def placed(self, container: str | None = None) -> AsyncIterator[Placed]:
        for held in list(self._held().values()):
            if container is None or container in held.ancestors:
                yield held

    async def places(self, keys: Sequence[str]) -> Mapping[str, Placed]:
        held = self._held()
        return {key: held[key] for key in keys if key in held}

    def _held(self) -> dict[str, Placed]:
        return {
            document.key: Placed(
                document.key, row.scope_root, row.ancestors, row.version, row.life is not Life.LIVE, row.revision
            )
            for document, row in self._ledger.documents.items()
            if document.source == self._source and row.life is not Life.TOMBSTONE
        }

    async def untold(self) -> Sequence[str]:
        held = self._held()
        told = {key for key, node in self._nodes.items() if key in held and held[key].revision == node.mark}
        return sorted({node.container for key, node in self._nodes.items() if node.is_document and key not in told})

    async def stated(self) -> Mapping[str, StatedRules]:
        return {
            root: StatedRules(digest(rules.access), rules.state, rules.verified_at, rules.lease)
            for (source, root), (_, rules) in self._ledger.scopes_by_root.items()
            if source == self._source
        }

    async def closed(self) -> Mapping[str, ClosedRoot]:
        return {
            root: ClosedRoot(reason, since)
            for (source, root), (reason, since) in self._ledger.hidden_subtrees.items()
            if source == self._source
        }
