"""A cover means exactly the scopes that are satisfied, through every change. A subclass gives the `url` of an empty
ledger."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime, timedelta

import pytest
from sqlalchemy import insert, select, update

from connectors.ledger import standings
from connectors.ledger.open import Ledger, open_ledger
from connectors.ledger.tables import container_rules, containers, scopes
from connectors.ports import SourceConfig
from connectors.records import ScopeRules
from policies.access import NOBODY, AccessExpr, Unknown
from policies.facts import ScopeState, Trust
from policies.names import ContainerId, Principal, ScopeId
from policies.predicate import SearchScope
from tests.connectors.ledger.making import FINANCE, HR, LEGAL, NOW, page, passages, rules

GROUPS = [Principal.group(f"g{number}") for number in range(6)]
PATHS = [(), ("a",), ("a", "b"), ("a", "b", "c"), ("a", "d"), ("b",), ("e", "a"), ("e", "a", "b")]
HOUR = timedelta(hours=1)


def drawn_rules(drawn: random.Random, at: datetime) -> ScopeRules:
    number = drawn.randrange(60)
    clauses = [drawn.sample(GROUPS, drawn.randint(0, 3)) for _ in range(drawn.choice([1, 1, 1, 2]))]
    common = [AccessExpr.any_of(GROUPS[number % 3], GROUPS[3])] * 6  # what stands together is often read together
    access = drawn.choice([*common, AccessExpr.all_of(*clauses), NOBODY, Unknown("drawn")])
    state = drawn.choice([*[ScopeState.ACTIVE] * 12, *ScopeState])
    lease = timedelta(hours=drawn.choice([2, 24, 24, 24]))
    # Where it stands is drawn anew each time: only the first counts.
    path = PATHS[number % len(PATHS)] if drawn.random() < 0.9 else drawn.choice(PATHS)
    return ScopeRules(f"wiki{number % 2}", f"r{number}", access, state, at, lease, path)


async def standing(ledger: Ledger, scopes: Iterable[ScopeId]) -> Mapping[ScopeId, tuple[ContainerId, ...]]:
    return {scope: await ledger.catalog.containers_of(scope) for scope in scopes}


def meant(cover: SearchScope | None, stand: Mapping[ScopeId, tuple[ContainerId, ...]]) -> set[ScopeId]:
    return set() if cover is None else {scope for scope, within in stand.items() if cover.has(scope, within)}


async def satisfied_by_all(ledger: Ledger, readers: Iterable[frozenset[Principal]], at: datetime) -> set[ScopeId]:
    each = [set(await ledger.facts.satisfied(reader, at)) for reader in readers]
    return set.intersection(*each) if each else set()


async def counts(ledger: Ledger) -> tuple[list[tuple[int, ...]], list[tuple[int, int]]]:
    async with ledger.door.read() as connection:
        rules_counted = (await connection.execute(container_rules.select())).all()
        counted = (await connection.execute(containers.select())).all()
    return sorted(tuple(row) for row in rules_counted), sorted((row.id, row.scopes) for row in counted)


def values(cover: SearchScope | None) -> int:
    return 0 if cover is None else len(cover.ids) + len(cover.containers) + len(cover.excepted)


class CoverSuite:
    """`Facts.cover` means what `Facts.satisfied` says, and is never longer."""

    @pytest.fixture
    async def ledger(self, url: str) -> AsyncIterator[Ledger]:
        async with open_ledger(url) as opened:
            yield opened

    @pytest.mark.parametrize("seed", range(2))
    async def test_a_cover_is_the_plain_set_through_every_change(self, ledger: Ledger, seed: int) -> None:
        drawn = random.Random(seed)
        at, cases = NOW, 0
        stand: dict[ScopeId, tuple[ContainerId, ...]] = {}
        for step in range(240):
            at += timedelta(minutes=drawn.choice([0, 1, 30]))
            if drawn.random() < 0.08:
                number = drawn.randrange(60)
                await ledger.catalog.withdraw_scope(f"wiki{number % 2}", f"r{number}")
            else:
                scope, _ = await ledger.catalog.state_rules(drawn_rules(drawn, at))
                settled = await ledger.catalog.containers_of(scope)
                assert stand.setdefault(scope, settled) == settled
            if step % 8 == 0:
                for _ in range(12):
                    asked = at + timedelta(hours=drawn.choice([0, 0, 1, 3]))
                    readers = [
                        frozenset(drawn.sample(GROUPS, drawn.randint(0, 6))) for _ in range(drawn.choice([1, 1, 2, 4]))
                    ]
                    cover = await ledger.facts.cover(readers, asked)
                    expected = await satisfied_by_all(ledger, readers, asked)

                    assert meant(cover, stand) == expected
                    assert (cover is None) == (not expected)
                    assert values(cover) <= len(expected)
                    cases += len(stand)
        held = await counts(ledger)
        async with ledger.door.snapshot() as connection:
            assert await standings.are_right(connection)
        async with ledger.door.write() as connection:
            await connection.run_sync(standings.recount)
        assert await counts(ledger) == held
        assert cases >= 10_000

    async def test_a_whole_source_is_one_value(self, ledger: Ledger) -> None:
        for number in range(30):
            access = AccessExpr.any_of(HR, Principal.group(f"only{number}"))
            await ledger.catalog.state_rules(rules(f"r{number}", access, containers=(f"folder{number % 3}",)))

        cover = await ledger.facts.cover([frozenset([HR])], NOW)

        assert cover is not None
        assert (len(cover.containers), cover.ids, cover.excepted) == (1, frozenset(), frozenset())

    async def test_a_few_that_may_not_be_read_are_excepted(self, ledger: Ledger) -> None:
        made = [(await ledger.catalog.state_rules(rules(f"r{number}")))[0] for number in range(30)]
        secret, _ = await ledger.catalog.state_rules(rules("secret", AccessExpr.any_of(LEGAL)))

        cover = await ledger.facts.cover([frozenset([HR])], NOW)

        assert cover is not None
        assert cover.excepted == {secret}
        assert meant(cover, await standing(ledger, [*made, secret])) == set(made)

    async def test_a_narrowing_counts_at_the_next_question(self, ledger: Ledger) -> None:
        for number in range(5):
            await ledger.catalog.state_rules(rules(f"r{number}", containers=("space",)))
        scope, _ = await ledger.catalog.state_rules(rules("r4", AccessExpr.any_of(FINANCE), containers=("space",)))
        stand = await standing(ledger, [scope])

        assert meant(await ledger.facts.cover([frozenset([HR])], NOW), stand) == set()
        assert meant(await ledger.facts.cover([frozenset([HR, FINANCE])], NOW), stand) == {scope}

    async def test_a_lease_that_ran_out_makes_no_container_whole(self, ledger: Ledger) -> None:
        lasting = [
            (await ledger.catalog.state_rules(rules(f"r{number}", containers=("space",))))[0] for number in range(5)
        ]
        short, _ = await ledger.catalog.state_rules(rules("short", lease=HOUR, containers=("space", "page")))
        stand = await standing(ledger, [*lasting, short])
        last = NOW + HOUR

        assert meant(await ledger.facts.cover([frozenset([HR])], last), stand) == {*lasting, short}
        after = await ledger.facts.cover([frozenset([HR])], last + timedelta(microseconds=1))
        assert meant(after, stand) == set(lasting)
        assert await ledger.facts.cover([frozenset([HR])], NOW + timedelta(days=2)) is None

    async def test_nobody_listening_and_nothing_satisfied_are_no_cover(self, ledger: Ledger) -> None:
        await ledger.catalog.state_rules(rules())

        assert await ledger.facts.cover([], NOW) is None
        assert await ledger.facts.cover([frozenset()], NOW) is None
        assert await ledger.facts.cover([frozenset([HR]), frozenset([FINANCE])], NOW) is None

    async def test_a_cover_for_many_listeners_is_for_all_of_them(self, ledger: Ledger) -> None:
        both, _ = await ledger.catalog.state_rules(rules("both", AccessExpr.any_of(HR, FINANCE)))
        await ledger.catalog.state_rules(rules("hr"))
        readers = [frozenset([HR, Principal.person(f"p{number}@x.io")]) for number in range(150)]

        cover = await ledger.facts.cover([*readers, frozenset([FINANCE])], NOW)

        assert meant(cover, await standing(ledger, [both])) == {both}
        assert values(cover) == 1

    async def test_where_a_scope_stands_never_changes(self, ledger: Ledger) -> None:
        scope, _ = await ledger.catalog.state_rules(rules("r", containers=("site", "library")))
        before = await ledger.catalog.containers_of(scope)
        await ledger.catalog.state_rules(rules("r", containers=("elsewhere",)))

        assert await ledger.catalog.containers_of(scope) == before
        assert len(before) == 3
        assert await ledger.catalog.containers_of(ScopeId(999)) == ()

    async def test_the_same_folder_in_two_places_or_sources_is_two_containers(self, ledger: Ledger) -> None:
        async def stands(root: str, source: str, *path: str) -> tuple[ContainerId, ...]:
            scope, _ = await ledger.catalog.state_rules(rules(root, source=source, containers=path))
            return await ledger.catalog.containers_of(scope)

        one = await stands("1", "wiki", "a", "x")
        two = await stands("2", "wiki", "b", "x")
        other = await stands("1", "files", "a", "x")

        assert one[0] == two[0]
        assert not {*one[1:]} & {*two[1:]}
        assert not {*one} & {*other}

    async def test_deep_odd_and_repeated_containers_do_no_harm(self, ledger: Ledger) -> None:
        deep, _ = await ledger.catalog.state_rules(rules("deep", containers=tuple(f"f{depth}" for depth in range(40))))
        odd, _ = await ledger.catalog.state_rules(rules("odd", containers=("a", "", "a", "b\x00c", "d")))
        long, _ = await ledger.catalog.state_rules(rules("long", containers=("x" * 5000,)))

        assert [len(await ledger.catalog.containers_of(scope)) for scope in (deep, odd, long)] == [8, 2, 1]
        assert meant(await ledger.facts.cover([frozenset([HR])], NOW), await standing(ledger, [deep, odd, long])) == {
            deep,
            odd,
            long,
        }

    async def test_a_scope_that_is_gone_for_long_is_forgotten_and_its_container_whole_again(
        self, ledger: Ledger
    ) -> None:
        for number in range(4):
            await ledger.catalog.state_rules(rules(f"r{number}", lease=timedelta(days=400), containers=("space",)))
        for root in ("used", "unused"):
            await ledger.catalog.state_rules(rules(root, lease=timedelta(days=400)))
        used = await ledger.catalog.scope_of("wiki", "used")
        assert used is not None
        await ledger.catalog.announce(page(root="used"), used, passages(page()), Trust.CLEAN)
        for root in ("used", "unused"):
            await ledger.catalog.withdraw_scope("wiki", root)

        async with ledger.catalog.run("other", NOW + timedelta(days=31)) as run:
            await ledger.catalog.finish(run, {}, NOW + timedelta(days=31))

        assert await ledger.catalog.scope_of("wiki", "used") == used
        assert await ledger.catalog.scope_of("wiki", "unused") is None
        cover = await ledger.facts.cover([frozenset([HR])], NOW)
        assert cover is not None
        assert (len(cover.containers), len(cover.ids), cover.excepted) == (1, 0, frozenset())

    async def test_a_removed_source_grants_nothing_and_leaves_nothing(self, ledger: Ledger) -> None:
        await ledger.sources.add(SourceConfig("wiki", "files", {}), NOW)
        await ledger.catalog.state_rules(rules("r", containers=("a", "b")))
        kept, _ = await ledger.catalog.state_rules(rules("r", source="other", containers=("a", "b")))
        await ledger.sources.remove("wiki", NOW)

        stand = await standing(ledger, [kept])
        assert meant(await ledger.facts.cover([frozenset([HR])], NOW), stand) == {kept}
        await ledger.sources.forget("wiki")
        assert meant(await ledger.facts.cover([frozenset([HR])], NOW), stand) == {kept}
        rules_counted, counted = await counts(ledger)
        assert (len(rules_counted), len(counted)) == (3, 3)

    async def test_a_cover_asked_for_again_follows_every_change(self, ledger: Ledger) -> None:
        async def read_by_hr(at: datetime = NOW) -> set[str]:
            found = meant(await ledger.facts.cover([frozenset([HR])], at), stand)
            return {root for root, scope in numbers.items() if scope in found}

        numbers = {}
        for root in ("a", "b", "c"):
            numbers[root], _ = await ledger.catalog.state_rules(rules(root, lease=HOUR))
        stand = await standing(ledger, numbers.values())
        assert await read_by_hr() == {"a", "b", "c"} == await read_by_hr()

        await ledger.catalog.state_rules(rules("a", AccessExpr.any_of(LEGAL), lease=HOUR))
        assert await read_by_hr() == {"b", "c"} == await read_by_hr()
        await ledger.catalog.withdraw_scope("wiki", "b")
        assert await read_by_hr() == {"c"} == await read_by_hr()
        assert await read_by_hr(NOW + 2 * HOUR) == set()
        await ledger.catalog.state_rules(rules("c", verified_at=NOW + 2 * HOUR, lease=HOUR))
        assert await read_by_hr(NOW + 2 * HOUR) == {"c"}
        await ledger.catalog.state_rules(rules("c", verified_at=NOW + 2 * HOUR, lease=timedelta(minutes=1)))
        assert await read_by_hr(NOW + 2 * HOUR + timedelta(minutes=2)) == set()
        await ledger.catalog.state_rules(rules("c", Unknown("lost"), state=ScopeState.UNKNOWN))
        assert await read_by_hr() == set()

    async def test_a_lease_that_is_renewed_after_it_ran_out_counts_at_the_next_question(self, ledger: Ledger) -> None:
        """By a run that began before it ran out, and says so."""
        scope, _ = await ledger.catalog.state_rules(rules("late", lease=HOUR))
        other, _ = await ledger.catalog.state_rules(rules("other", lease=2 * HOUR))
        stand = await standing(ledger, [scope, other])
        after = NOW + HOUR + timedelta(minutes=1)
        assert meant(await ledger.facts.cover([frozenset([HR])], after), stand) == {other}

        await ledger.catalog.state_rules(rules("late", verified_at=NOW + timedelta(minutes=59), lease=HOUR))

        found = await ledger.facts.cover([frozenset([HR])], after + timedelta(seconds=1))
        assert meant(found, stand) == {scope, other}

    async def test_counts_that_an_older_version_left_behind_are_right_again_the_next_day(self, ledger: Ledger) -> None:
        """It knows of no containers and no counts, and may still run when a newer version has begun."""
        made = [(await ledger.catalog.state_rules(rules(f"r{number}")))[0] for number in range(4)]
        by_finance, _ = await ledger.catalog.state_rules(rules("finance", AccessExpr.any_of(FINANCE)))
        await ledger.catalog.purge(NOW)
        async with ledger.door.write() as connection:
            its_rules = select(scopes.c.expression).where(scopes.c.id == by_finance)
            finance = (await connection.execute(its_rules)).scalar_one()
            await connection.execute(update(scopes).where(scopes.c.id.in_(made)).values(expression=finance))
            row = (await connection.execute(select(scopes).where(scopes.c.id == made[0]))).one()._asdict()
            await connection.execute(insert(scopes).values({**row, "id": 99, "root": "new", "container": None}))
        for root in ("r0", "r1"):
            await ledger.catalog.state_rules(rules(root))  # what was never counted is counted off
        await ledger.catalog.purge(NOW + timedelta(hours=3))
        async with ledger.door.read() as connection:
            assert min((await connection.execute(select(container_rules.c.scopes))).scalars()) < 1

        await ledger.catalog.purge(NOW + timedelta(hours=15))

        stand = await standing(ledger, [*made, by_finance, ScopeId(99)])
        rules_counted, counted = await counts(ledger)
        assert ([row[2] for row in rules_counted], counted) == ([2, 4], [(stand[by_finance][0], 6)])
        assert meant(await ledger.facts.cover([frozenset([HR])], NOW), stand) == {*made[:2]}
        expected = {*made[2:], by_finance, ScopeId(99)}
        assert meant(await ledger.facts.cover([frozenset([FINANCE])], NOW), stand) == expected

    async def test_another_process_s_change_counts_at_the_next_question(self, ledger: Ledger, url: str) -> None:
        if url == "sqlite+aiosqlite://":
            pytest.skip("a database in memory has one process")
        scope, _ = await ledger.catalog.state_rules(rules())
        stand = await standing(ledger, [scope])
        assert meant(await ledger.facts.cover([frozenset([HR])], NOW), stand) == {scope}
        async with open_ledger(url) as other:
            await other.catalog.state_rules(rules(access=NOBODY))

        assert await ledger.facts.cover([frozenset([HR])], NOW) is None
