"""The audit record: what it keeps and refuses, and every way of changing it that must be found."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import DoorError, Stop
from connectors.ledger.chain import START, Check, canonical, leaf, parsed
from connectors.ledger.open import Ledger, open_ledger
from connectors.ledger.traces import SqlTraces
from connectors.records import written_readers
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault
from policies.access import AccessExpr, digest
from policies.facts import Kind, Subject
from policies.names import Principal
from tests.connectors.ledger.making import FINANCE, HR, NOW, rules
from tests.connectors.ledger.owner import REFUSED, Owner

KEY, OTHER = "Zq8v3L1xW0pT7nYb5cRk2mJd9fHs4gAe", "fP2kX9vB6wM1zQ8rT4yN7cJ3hL0dS5gA"
ASHA = Principal.person("asha@example.com")


@dataclass(frozen=True)
class Written:
    """A ledger of ten records: five questions, each answered."""

    ledger: Ledger
    traces: SqlTraces
    signer: TraceSigner
    owner: Owner
    checkpoints: Path
    ids: tuple[str, ...]

    def tamper(self, *statements: str, parameters: tuple[Any, ...] = ()) -> None:
        """As somebody does who owns the database: triggers off, statements, triggers forgotten."""
        self.owner.forget_triggers()
        for statement in statements:
            self.owner.run(statement, *parameters)

    def record(self, seq: int) -> dict[str, Any]:
        return dict(json.loads(self.raw(seq)))

    def raw(self, seq: int) -> bytes:
        ((raw,),) = self.owner.run("SELECT record FROM traces WHERE seq = ?", seq)
        return bytes(raw)

    def rewrite(self, seq: int, change: Callable[[dict[str, Any]], None], *, tail: bool = False) -> None:
        """Change a record with its hash, and with `tail` every later one so that the links are right again."""
        ((last,),) = self.owner.run("SELECT max(seq) FROM traces")
        new, prev = {}, None
        for number in range(seq, last + 1 if tail else seq + 1):
            record = self.record(number)
            if number == seq:
                change(record)
            if prev is not None:
                record["prev"] = prev
            raw = canonical(record)
            prev = leaf(raw)
            new[number] = (raw, prev, record["prev"])
        for number in sorted(new, reverse=True):
            raw, own, before = new[number]
            statement = "UPDATE traces SET record = ?, leaf = ?, prev = ? WHERE seq = ?"
            self.tamper(statement, parameters=(raw, own, before, number))


def end_record(outcome: str = "answered") -> dict[str, Any]:
    return {"outcome": outcome, "timings_ms": {"search": 12, "rerank": 3.25}, "citations": []}


def begin_record() -> dict[str, Any]:
    return {"place": "dm", "on": date(2026, 3, 2), "dated": False, "policy": "p1"}


@pytest.fixture
async def written(ledger_url: str, tmp_path: Path) -> AsyncIterator[Written]:
    checkpoints = tmp_path / "apart" / "checkpoints"
    checkpoints.parent.mkdir()
    signer = TraceSigner.new()
    async with open_ledger(ledger_url) as ledger:
        traces = SqlTraces(ledger.door, Vault([KEY]), signer, checkpoints)
        ids = []
        for number in range(5):
            sealed = {"asker": str(ASHA), "question": f"question {number}"}
            ids.append(await traces.begin(begin_record(), sealed, NOW + timedelta(minutes=number)))
            await traces.end(ids[-1], end_record(), {"reply": f"reply {number}"}, NOW + timedelta(minutes=number))
        yield Written(ledger, traces, signer, Owner(ledger_url), checkpoints, tuple(ids))


def outcome(record: dict[str, Any]) -> None:
    record["body"]["outcome"] = "abstained"


# ---------------------------------------------------------------- writing and reading


async def test_a_trace_is_shown_with_its_sealed_fields_only_when_asked(written: Written) -> None:
    shut = await written.traces.show(written.ids[2], NOW)
    opened = await written.traces.show(written.ids[2], NOW, reveal=True)

    assert shut is not None
    assert opened is not None
    assert (shut.revealed, shut.sealed) == ({}, ("asker", "question", "reply"))
    assert opened.revealed == {"asker": str(ASHA), "question": "question 2", "reply": "reply 2"}
    assert shut.begin["on"] == "2026-03-02"
    assert shut.end is not None
    assert shut.end["timings_ms"] == {"search": 12, "rerank": "3.25"}
    assert await written.traces.show("tr-unknown", NOW) is None


async def test_nothing_that_people_wrote_is_in_the_database_in_clear(written: Written) -> None:
    stored = written.owner.stored()

    assert b"question 2" not in stored
    assert b"reply 2" not in stored
    assert b"asha@example.com" not in stored


async def test_traces_are_listed_by_person_time_and_outcome(written: Written) -> None:
    listed = written.traces.list
    later = NOW + timedelta(hours=1)
    abandoned = await written.traces.begin(begin_record(), {"asker": "usr:ben@example.com"}, NOW)
    waiting = await written.traces.begin(begin_record(), {"asker": "usr:ben@example.com"}, later)

    assert [each.id for each in await listed(later, person=ASHA)] == list(reversed(written.ids))
    assert [each.id for each in await listed(later, since=NOW + timedelta(minutes=3), limit=9)][-2:] == [
        written.ids[4],
        written.ids[3],
    ]
    assert [each.id for each in await listed(later, outcome="abandoned")] == [abandoned]
    assert [(each.id, each.state) for each in await listed(later, outcome="open")] == [(waiting, "open")]
    assert len(await listed(later, outcome="answered")) == 5
    assert await listed(later, person=Principal.person("nobody@example.com")) == []


async def test_a_person_is_found_after_the_vault_got_a_new_key(written: Written) -> None:
    rotated = SqlTraces(written.ledger.door, Vault([OTHER, KEY]), written.signer, written.checkpoints)
    newest = await rotated.begin(begin_record(), {"asker": str(ASHA), "question": "again"}, NOW)

    assert [each.id for each in await rotated.list(NOW, person=ASHA)] == [newest, *reversed(written.ids)]
    view = await rotated.show(written.ids[0], NOW, reveal=True)
    assert view is not None
    assert view.revealed["question"] == "question 0"


@pytest.mark.parametrize(
    "record",
    [
        {"text": "the travel policy says"},
        {"place": "x" * 2001},
        {"policy": "a sentence with spaces"},
        {"models": {"writer": "m" * 301}},
        {"models": {"prompt_text": "p"}},
        {"parts": "three"},
        {"parts": True},
        {"parts": 2**53},
        {"dated": "yes"},
        {"audiences": "asker"},
        {"audiences": [{"conditions": ["a\nb"]}]},
        {"index": ["m"]},
    ],
)
async def test_a_record_takes_no_unknown_key_and_no_text(written: Written, record: dict[str, Any]) -> None:
    with pytest.raises(Stop):
        await written.traces.begin(record, {}, NOW)

    assert (await written.traces.verify()).records == 10


@pytest.mark.parametrize("score", [float("nan"), float("inf"), "NaN", "1e", "x", True])
async def test_a_score_is_a_finite_number(written: Written, score: Any) -> None:
    with pytest.raises(Stop):
        await written.traces.end(written.ids[0], {"cost": score}, {}, NOW)


async def test_only_known_fields_are_sealed(written: Written) -> None:
    with pytest.raises(Stop, match="no sealed field"):
        await written.traces.begin(begin_record(), {"passage": "…"}, NOW)


async def test_a_trace_ends_once_and_only_after_it_began(written: Written) -> None:
    with pytest.raises(Stop, match="never began"):
        await written.traces.end("tr-none", end_record(), {}, NOW)
    with pytest.raises(Stop, match="ended already"):
        await written.traces.end(written.ids[0], end_record(), {}, NOW)


async def test_a_begin_that_can_not_be_written_is_an_error(written: Written) -> None:
    written.tamper("DROP TABLE traces")

    with pytest.raises(DoorError):
        await written.traces.begin(begin_record(), {}, NOW)


async def test_a_begin_whose_checkpoint_can_not_be_written_is_an_error(written: Written) -> None:
    written.checkpoints.unlink()
    written.checkpoints.mkdir()

    with pytest.raises(DoorError, match="checkpoints"):
        await written.traces.begin(begin_record(), {}, NOW)


async def test_a_sealed_field_opens_nowhere_else(written: Written) -> None:
    stolen = written.record(1)["sealed"]

    def swap(record: dict[str, Any]) -> None:
        record["sealed"] = {**record["sealed"], **stolen}

    written.rewrite(3, swap)
    with pytest.raises(Stop, match="can't be opened"):
        await written.traces.show(written.ids[1], NOW, reveal=True)

    def within(record: dict[str, Any]) -> None:
        record["sealed"] = {"asker": record["sealed"]["question"], "question": record["sealed"]["asker"]}

    written.rewrite(5, within)
    with pytest.raises(Stop, match="can't be opened"):
        await written.traces.show(written.ids[2], NOW, reveal=True)


async def test_the_database_itself_refuses_to_change_a_record(written: Written) -> None:
    for statement in ("UPDATE traces SET outcome = 'x'", "DELETE FROM traces WHERE seq = 3"):
        with pytest.raises(REFUSED, match="append-only"):
            written.owner.run(statement)


# ---------------------------------------------------------------- the chain


async def test_a_chain_that_nobody_touched_is_whole(written: Written) -> None:
    verdict = await written.traces.verify()

    assert (verdict.status, verdict.records, verdict.problem) == ("ok", 10, "")


async def test_an_empty_chain_is_whole(tmp_path: Path) -> None:
    async with open_ledger("sqlite+aiosqlite://") as ledger:
        traces = SqlTraces(ledger.door, Vault([KEY]), TraceSigner.new(), tmp_path / "checkpoints")

        assert (await traces.verify()).status == "ok"
        assert traces.verify_lines([line async for line in traces.export(None, NOW)]).status == "ok"


@pytest.mark.parametrize("seq", [1, 4, 10])
async def test_a_changed_record_is_found(written: Written, seq: int) -> None:
    changed = written.raw(seq).replace(b"2026", b"2025")
    written.tamper("UPDATE traces SET record = ? WHERE seq = ?", parameters=(changed, seq))
    verdict = await written.traces.verify()

    assert (verdict.status, verdict.first_bad) == ("edited", seq)


@pytest.mark.parametrize("seq", [2, 4, 10])
async def test_a_record_changed_with_its_hash_is_found(written: Written, seq: int) -> None:
    written.rewrite(seq, outcome)
    written.tamper("UPDATE traces SET outcome = 'abstained' WHERE seq = ?", parameters=(seq,))
    verdict = await written.traces.verify()

    assert (verdict.status, verdict.first_bad) == ("edited", seq)


async def test_a_changed_record_is_found_without_signed_states(written: Written) -> None:
    written.rewrite(4, outcome)
    written.tamper("UPDATE traces SET outcome = 'abstained' WHERE seq = 4")
    lines = written.checkpoints.read_text().splitlines()
    written.checkpoints.write_text(lines[-1] + "\n")
    verdict = await written.traces.verify()

    assert (verdict.status, verdict.first_bad) == ("edited", 4)


async def test_a_history_written_anew_is_found(written: Written) -> None:
    written.rewrite(4, outcome, tail=True)
    written.tamper("UPDATE traces SET outcome = 'abstained' WHERE seq = 4")
    verdict = await written.traces.verify()

    assert (verdict.status, verdict.first_bad) == ("fork", 4)


async def test_the_database_refuses_a_second_record_after_the_same_one(written: Written) -> None:
    forked = {**written.record(4), "seq": 11}
    raw = canonical(forked)

    with pytest.raises(REFUSED, match=r"traces.prev"):
        written.tamper(
            "INSERT INTO traces (seq, trace, kind, at, prev, leaf, record) "
            "VALUES (11, 't', 'end', '2026-03-02', ?, ?, ?)",
            parameters=(forked["prev"], leaf(raw), raw),
        )


def test_a_record_that_follows_an_older_one_is_a_fork() -> None:
    check = Check()
    raws: list[bytes] = []
    for seq in range(1, 5):
        follows = START if seq == 1 else leaf(raws[1 if seq == 4 else -1])
        raws.append(canonical({"seq": seq, "prev": follows, "body": seq}))
    for raw in raws:
        check.feed(raw)
    verdict = check.close(None, None)

    assert (verdict.status, verdict.first_bad) == ("fork", 4)


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b'{"prev":"","seq":1,"seq":1}', b'{"prev":"","seq":NaN}', b'{"seq": 1}', b"\xff"]
)
def test_bytes_that_are_no_canonical_record_are_none(raw: bytes) -> None:
    assert parsed(raw) is None


@pytest.mark.parametrize("column", ["outcome", "asker", "trace", "kind", "at"])
async def test_a_changed_column_is_found(written: Written, column: str) -> None:
    value = "2020-01-01 00:00:00.000000" if column == "at" else "other"
    written.tamper(f"UPDATE traces SET {column} = '{value}' WHERE seq = 4")
    verdict = await written.traces.verify()

    assert (verdict.status, verdict.first_bad) == ("edited", 4)


@pytest.mark.parametrize("seq", [1, 5, 9])
async def test_a_missing_record_is_found(written: Written, seq: int) -> None:
    written.tamper("DELETE FROM traces WHERE seq = ?", parameters=(seq,))
    verdict = await written.traces.verify()

    assert (verdict.status, verdict.first_bad) == ("gap", seq)


@pytest.mark.parametrize("left", [0, 1, 7, 9])
async def test_a_cut_tail_is_found(written: Written, left: int) -> None:
    written.tamper("DELETE FROM traces WHERE seq > ?", parameters=(left,))
    verdict = await written.traces.verify()

    assert (verdict.status, verdict.first_bad) == ("truncated", left + 1)


async def test_a_tail_cut_and_grown_again_is_found(written: Written) -> None:
    written.tamper("DELETE FROM traces WHERE seq > 6")
    trace = await written.traces.begin(begin_record(), {}, NOW)
    await written.traces.end(trace, end_record(), {}, NOW)
    verdict = await written.traces.verify()

    assert not verdict
    assert verdict.first_bad == 7


async def test_lost_checkpoints_are_noticed(written: Written) -> None:
    written.checkpoints.unlink()

    assert (await written.traces.verify()).status == "truncated"


async def test_a_checkpoint_signed_with_another_key_is_found(written: Written) -> None:
    forger = SqlTraces(written.ledger.door, Vault([KEY]), TraceSigner.new(), written.checkpoints)
    await forger.begin(begin_record(), {}, NOW)
    verdict = await written.traces.verify()

    assert (verdict.status, verdict.first_bad) == ("bad signature", 11)


async def test_a_checkpoint_lost_in_a_kill_is_no_fault(written: Written) -> None:
    lines = written.checkpoints.read_text().splitlines(keepends=True)
    written.checkpoints.write_text("".join(lines[:-1]) + lines[-1][:40])

    assert (await written.traces.verify()).status == "ok"

    await written.traces.begin(begin_record(), {}, NOW)
    verdict = await written.traces.verify()
    assert (verdict.status, verdict.records, verdict.problem) == ("ok", 11, "")


# ---------------------------------------------------------------- exports


async def exported(written: Written, since: timedelta | None = None) -> list[str]:
    return [line async for line in written.traces.export(None if since is None else NOW + since, NOW)]


async def test_an_export_verifies_without_the_database(written: Written) -> None:
    lines = await exported(written)

    assert len(lines) == 11
    assert written.traces.verify_lines(f"{line}\n" for line in lines).status == "ok"
    assert all(parsed(line.encode()) is not None for line in lines[:-1])


async def test_an_export_may_begin_in_the_middle(written: Written) -> None:
    lines = await exported(written, timedelta(minutes=3))

    assert len(lines) == 5
    assert written.traces.verify_lines(lines).status == "ok"
    assert written.traces.verify_lines(await exported(written, timedelta(days=1))).status == "ok"


FAULTS: dict[str, tuple[Callable[[list[str]], list[str]], str, int | None]] = {
    "a record left out": (lambda lines: lines[:4] + lines[5:], "gap", 5),
    "the front cut": (lambda lines: lines[2:], "gap", 1),
    "the tail cut": (lambda lines: lines[:6] + lines[-1:], "truncated", 7),
    "cut at a record": (lambda lines: lines[:6], "truncated", None),
    "cut in a record": (lambda lines: [*lines[:6], lines[6][:50]], "truncated", None),
    "nothing left": (lambda _lines: [], "truncated", None),
    "two records swapped": (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], "reordered", 5),
    "a record twice": (lambda lines: [*lines[:4], lines[3], *lines[4:]], "reordered", 4),
    "a record changed": (lambda lines: [*lines[:4], lines[4].replace("2026", "2025"), *lines[5:]], "edited", 5),
    "the last one changed": (lambda lines: [*lines[:9], lines[9].replace("2026", "2025"), lines[10]], "edited", 10),
    "a record reformatted": (lambda lines: [*lines[:4], lines[4].replace(":", ": ", 1), *lines[5:]], "edited", 5),
    "a second version": (
        lambda lines: [*lines[:4], lines[3].replace("2026", "2025"), *lines[4:]],
        "fork",
        4,
    ),
    "the checkpoint changed": (
        lambda lines: [*lines[:9], lines[10].replace('"count":10', '"count":9')],
        "bad signature",
        None,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_in_an_export_is_found_and_named(written: Written, fault: str) -> None:
    make, status, first_bad = FAULTS[fault]
    verdict = written.traces.verify_lines(make(await exported(written)))

    assert not verdict
    assert verdict.status == status
    if first_bad is not None:
        assert verdict.first_bad == first_bad


async def test_an_export_signed_by_somebody_else_is_refused(written: Written, tmp_path: Path) -> None:
    forger = SqlTraces(written.ledger.door, Vault([KEY]), TraceSigner.new(), tmp_path / "theirs")
    lines = [line async for line in forger.export(None, NOW)]

    assert written.traces.verify_lines(lines).status == "bad signature"


async def test_a_checkpoint_of_the_chain_does_not_pass_for_one_of_an_export(written: Written) -> None:
    lines = await exported(written)
    state = written.checkpoints.read_text().splitlines()[5]

    assert written.traces.verify_lines([*lines[:6], state]).status == "bad signature"


async def test_a_broken_chain_is_not_exported_as_whole(written: Written) -> None:
    written.tamper("DELETE FROM traces WHERE seq = 5")

    with pytest.raises(Stop, match="broken"):
        await exported(written)


# ---------------------------------------------------------------- replay


async def test_verdicts_can_be_made_again_after_the_rules_changed(written: Written) -> None:
    access = AccessExpr.all_of([HR], [FINANCE])
    scope, _ = await written.ledger.catalog.state_rules(rules(access=access))
    asker = Subject(ASHA, Kind.MEMBER, True, frozenset([ASHA, HR, FINANCE]), NOW)
    judged = {
        "document": "wiki:pay.md",
        "version": "v1",
        "allowed": True,
        "scope": scope,
        "expression": digest(access),
        "state": "active",
        "verified_at": NOW,
        "lease": 3600,
        "life": "live",
        "current": True,
        "hidden_by": None,
        "effective_from": None,
        "effective_to": date(2026, 12, 31),
        "superseded": False,
        "trust": "clean",
    }
    gone = {"document": "wiki:gone.md", "version": "v1", "allowed": False, "check": "unknown-document"}
    sealed = {"asker": str(ASHA), "readers": written_readers([asker])}
    trace = await written.traces.begin(begin_record(), sealed, NOW)
    attempts = [{"audience": {"visible_to": "asker"}, "judged": [judged, gone]}]
    await written.traces.end(trace, {**end_record(), "attempts": attempts}, {}, NOW)
    await written.ledger.catalog.state_rules(rules(access=AccessExpr.any_of(Principal.group("other"))))

    replay = await written.traces.replay(trace, NOW)

    assert replay is not None
    assert (replay.policy_version, replay.unreadable) == ("p1", 1)
    (again,) = replay.judgements
    assert again.readers == (asker,)
    assert (again.resource.scope.access, again.resource.scope.lease) == (access, timedelta(hours=1))
    assert (again.moment.now, again.moment.on, again.allowed) == (NOW, date(2026, 3, 2), True)


async def test_a_trace_without_its_readers_can_not_be_replayed(written: Written) -> None:
    with pytest.raises(DoorError, match="readers"):
        await written.traces.replay(written.ids[0], NOW)

    assert await written.traces.replay("tr-none", NOW) is None
