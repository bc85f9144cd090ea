"""Administering from Slack, on a real house: who may, what is shown first, and what is on record afterwards."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, chdir, closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.keeping import add_source, sync_named
from bot.linking.linking import Holder
from bot.settings import Settings
from bot.slack import grammar, told
from bot.slack.administering import Administering
from bot.slack.blocks import sentence
from bot.slack.commands import Commands
from bot.slack.incoming import Asked
from bot.slack.opening import opened_commands
from bot.wiring import App, open_app
from connectors.chat import Message
from connectors.errors import Transient
from connectors.ports import DirectoryTables, PersonRecord, SourceConfig
from connectors.slack import SlackWeb
from policies.facts import Kind, Subject
from policies.names import Principal
from tests.conftest import NOW
from tests.doubles.slack import TEAM, TOKEN, FakeSlack, shown
from tests.doubles.slack_house import HURRIED, Log

ASHA, BEN, REV, MARTA = "U0ASHA", "U0BEN", "U0REV", "U0MARTA"
PEOPLE = {
    ASHA: ("asha", "grp:admins"),
    BEN: ("ben", "grp:admins"),
    REV: ("rev", "grp:reviewers"),
    MARTA: ("marta", "grp:staff"),
}

STAFF = "marta@example.com"


@dataclass(slots=True)
class Desk:
    """What a test takes hold of."""

    app: App
    commands: Commands
    slack: FakeSlack
    folder: Path
    time: list[datetime]

    async def say(self, user: str, text: str) -> Message:
        assert self.commands.takes(text), text
        line = grammar.line(text)
        assert line is not None
        assert self.commands.administering is not None
        return await self.commands.administering.do(Holder(TEAM, user), line, text)

    async def read(self, user: str, text: str) -> str:
        return words(await self.say(user, text))

    async def confirm(self, user: str, message: Message) -> str:
        """Press the button under a message."""
        secret = message.blocks[-1]["elements"][0]["value"]
        return words(await self.commands.pressed(Holder(TEAM, user), "confirm", secret))

    async def told(self, user: str, times: int = 1) -> list[str]:
        """What somebody was told directly, once it is so many."""
        channel = self.slack.direct(user)
        for _ in range(600):
            said = [each.words for each in self.slack.said if each.channel == channel]
            if len(said) >= times:
                return said
            await asyncio.sleep(0.05)
        raise AssertionError("nothing was told")

    async def state(self, name: str) -> str | None:
        config = await self.app.keeping.sources.get(name)
        return None if config is None else config.state

    async def record(self) -> list[dict[str, Any]]:
        """Every act on record, oldest first, opened."""
        found = []
        for each in reversed(await self.app.traces.list(self.time[0])):
            view = await self.app.traces.show(each.id, self.time[0], reveal=True)
            assert view is not None
            found.append({"outcome": each.outcome, **view.begin, **view.revealed})
        return found


def words(message: Message) -> str:
    return shown({"text": message.text, "blocks": list(message.blocks)})


SETTINGS = Settings.read(
    {"FOOTNOTE_DATA": "data", "FOOTNOTE_ADMIN_GROUP": "grp:admins", "FOOTNOTE_REVIEWER_GROUP": "grp:reviewers"}
)


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A house with one source, read in; each test has a copy of its own."""
    home = tmp_path_factory.mktemp("furnished")
    folder = home / "pages"
    folder.mkdir()
    (folder / "gate.md").write_text("# Gate\n\nThe gate opens at nine.\n")
    (folder / "plan.md").write_text("# Plan\n\nThe move is in May.\n")
    (folder / "access.toml").write_text('readers = ["grp:staff"]\n')
    listed = [
        f'[people."{name}@example.com"]\nname = "{name}"\ngroups = ["{group}"]\n'
        f'identities = {{ "slack:{TEAM}" = "{user}" }}\n'
        for user, (name, group) in PEOPLE.items()
    ]
    (folder / "directory.toml").write_text("\n".join(listed))

    async def read_in() -> None:
        async with open_app(SETTINGS, clock=lambda: NOW) as app:
            await add_source(app.keeping, "pages", "files", {"path": "pages"})
            await sync_named(app.keeping, "pages")

    with chdir(home):
        asyncio.run(read_in())
    return home


def settle_in(home: Path, before: Path) -> None:
    """A directory file is known by its whole path; the one of the copy lists the people of the copy."""
    with closing(sqlite3.connect(home / "data" / "ledger.sqlite")) as ledger, ledger:
        for table in ("people", "groups", "group_includes", "places"):
            ledger.execute(f"UPDATE {table} SET origin = replace(origin, ?, ?)", (str(before), str(home)))


@pytest.fixture
async def at(tmp_path: Path, furnished: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    home = shutil.copytree(furnished, tmp_path / "home")
    settle_in(home, furnished)
    monkeypatch.chdir(home)  # where its source and its data are, as they are written down
    time, slack = [NOW], FakeSlack()
    for user in PEOPLE:
        slack.user(user)
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(SETTINGS, clock=lambda: time[0]))
        url = await stack.enter_async_context(slack.open())
        chat = await stack.enter_async_context(SlackWeb(url, TOKEN, HURRIED))
        commands = await stack.enter_async_context(opened_commands(app, chat, Log()))
        yield Desk(app, commands, slack, home / "pages", time)
        assert slack.refused == []


# ---------------------------------------------------------------- who may


@pytest.mark.parametrize("text", ["source list", "who gate.md", "lag", "purge gate.md", "source remove pages"])
async def test_t127_who_does_not_administer_is_told_so_and_it_is_on_record(at: Desk, text: str) -> None:
    assert await at.read(MARTA, text) == told.NOT_ADMIN.replace("`", "")
    assert await at.state("pages") == "active"
    [act] = await at.record()
    assert (act["outcome"], act["asker"], act["question"]) == ("refused", "usr:marta@example.com", text)


async def test_t127_who_administered_until_now_does_not_any_more(at: Desk) -> None:
    shown_first = await at.say(ASHA, "source pause pages")
    text = (at.folder / "directory.toml").read_text().replace("grp:admins", "grp:staff", 1)
    (at.folder / "directory.toml").write_text(text)
    await add_source(at.app.keeping, "pages", "files", {"path": "pages"})  # which reads its directory again

    assert await at.read(ASHA, "source list") == told.NOT_ADMIN.replace("`", "")
    assert await at.confirm(ASHA, shown_first) == told.NOT_ADMIN.replace("`", "")
    assert await at.state("pages") == "active"


@pytest.mark.parametrize(
    "flags", [{"is_restricted": True}, {"deleted": True}, {"is_stranger": True}, {"team_id": "T0OTHER"}]
)
async def test_an_administrators_account_that_is_no_full_members_does_not_administer(
    at: Desk, flags: dict[str, Any]
) -> None:
    at.slack.user(ASHA, **flags)

    assert await at.read(ASHA, "lag") == told.NOT_ADMIN.replace("`", "")


@pytest.mark.parametrize("org_wide", [False, True])
async def test_in_an_organisation_of_workspaces_who_administers_is_known_by_it(at: Desk, org_wide: bool) -> None:
    at.slack.enterprise, at.slack.org_wide = "E0NORTHWIND", org_wide
    await at.app.people.link("asha@example.com", "slack:E0NORTHWIND", ASHA, NOW)
    await at.app.people.link("ben@example.com", "slack:E0NORTHWIND", BEN, NOW)
    at.slack.user(ASHA, team_id="T0ANOTHER")  # of its workspaces
    at.slack.user(BEN)
    assert at.commands.administering is not None
    administering = at.commands.administering

    async def lag(holder: Holder) -> str:
        return words(await administering.do(holder, grammar.Lag(), "lag"))

    assert "How far behind" in await lag(Holder("E0NORTHWIND", ASHA))
    assert await lag(Holder(TEAM, ASHA)) == told.NOT_ADMIN.replace("`", "")  # bound when it was a workspace by itself
    await administering.doors.administrators.tell(sentence("Look."))
    assert (await at.told(BEN))[-1] == "Look."
    at.slack.user(ASHA, team_id="T0ANOTHER", enterprise_user={"enterprise_id": "E0OTHER"})
    assert await lag(Holder("E0NORTHWIND", ASHA)) == told.NOT_ADMIN.replace("`", "")


async def test_outside_an_organisation_nobody_administers_by_one(at: Desk) -> None:
    await at.app.people.link("asha@example.com", "slack:E0NORTHWIND", ASHA, NOW)
    at.slack.user(ASHA, enterprise_user={"enterprise_id": "E0NORTHWIND"})
    assert at.commands.administering is not None

    message = await at.commands.administering.do(Holder("E0NORTHWIND", ASHA), grammar.Lag(), "lag")
    assert words(message) == told.NOT_ADMIN.replace("`", "")


async def test_where_no_group_administers_nobody_does(at: Desk) -> None:
    assert at.commands.administering is not None
    nobody = Administering(replace(at.commands.administering.doors, admin_group=None))

    message = await nobody.do(Holder(TEAM, ASHA), grammar.Lag(), "lag")
    assert words(message) == told.NO_GROUP


async def test_a_reviewer_sees_traces_and_nothing_else(at: Desk) -> None:
    await at.read(ASHA, "lag")
    [summary] = await at.app.traces.list(at.time[0])

    assert "outcome" in await at.read(REV, f"trace {summary.id}")
    assert await at.read(REV, "source list") == told.NOT_ADMIN.replace("`", "")
    assert await at.read(MARTA, f"trace {summary.id}") == told.NOT_ADMIN.replace("`", "")


# ---------------------------------------------------------------- looking


async def test_sources_their_state_and_lag_are_shown(at: Desk) -> None:
    at.time[0] += timedelta(minutes=7)

    assert re.search(r"pages +files +active +2 ", await at.read(ASHA, "source list"))
    assert "Source pages, with 0 problems" in await at.read(ASHA, "source show pages")
    assert re.search(r"pages +active +7 min", await at.read(ASHA, "lag"))


async def test_a_source_that_nobody_knows_is_said_so(at: Desk) -> None:
    assert "there is no source 'pagers'" in await at.read(ASHA, "source show pagers")
    assert "there is no source 'pagers'" in await at.read(ASHA, "source sync pagers")


async def test_probe_says_whether_and_why(at: Desk) -> None:
    assert "marta@example.com may read pages:gate.md" in await at.read(ASHA, "probe marta@example.com gate.md")
    refused = await at.read(ASHA, "probe rev@example.com gate.md")
    assert "rev@example.com may not read pages:gate.md" in refused
    assert "grp:staff — the person is none of them" in refused


async def test_who_lists_the_readers(at: Desk) -> None:
    seen = await at.read(ASHA, "who gate.md")

    assert "one of: grp:staff" in seen
    assert "1 person of the directory:\nmarta@example.com" in seen


async def staff(at: Desk, count: int) -> list[str]:
    """So many more who may read every page."""
    named = [f"p{number:03d}@example.com" for number in range(count)]
    people = tuple(PersonRecord(each, each, "member", True, ("grp:staff",)) for each in named)
    await at.app.people.replace(DirectoryTables(people, {}, {}), NOW, "more")
    return [STAFF, *named]


async def test_a_long_list_of_readers_is_shown_in_parts_and_says_how_to_go_on(at: Desk) -> None:
    everybody = await staff(at, 150)
    line, told_of, times = "who gate.md", list[str](), 0
    while line:
        seen = await at.read(ASHA, line)
        shown_now, _, line = seen.partition("There may be more: /footnote ")
        told_of += re.findall(r"(?:marta|p\d+)@example.com", shown_now.partition("the directory")[2].partition(":")[2])
        times += 1

    assert told_of == everybody
    assert times > 2


class Slow:
    """A directory that asks another system about each person, which takes its time. All but Asha and Ben are staff."""

    def __init__(self, quick: int) -> None:
        self.quick = quick  # people whom it tells of at once
        self.told_of: list[str] = []

    async def subject(self, who: Principal, now: datetime) -> Subject:
        self.told_of.append(str(who))
        if len(self.told_of) > self.quick:
            await asyncio.sleep(600)
        staff = [] if str(who) in ("usr:asha@example.com", "usr:ben@example.com") else [Principal("grp:staff")]
        return Subject(who, Kind.MEMBER, True, frozenset([who, *staff]), now)


def hurried(at: Desk, quick: int) -> Administering:
    """Administering with little time for a slow directory."""
    assert at.commands.administering is not None
    doors = at.commands.administering.doors
    slow = replace(doors.looking, directory=Slow(quick))  # type: ignore[arg-type]
    return Administering(replace(doors, looking=slow), looking_for=2.0)


async def test_a_directory_that_takes_its_time_is_looked_through_for_a_while_and_no_longer(at: Desk) -> None:
    await staff(at, 40)
    administering = hurried(at, quick=16)

    seen = words(await administering.do(Holder(TEAM, ASHA), grammar.WhoReads("gate.md"), "who gate.md"))
    assert "14 people of the directory:" in seen
    assert seen.endswith("There may be more: /footnote who gate.md p012@example.com")


async def test_a_purge_waits_for_no_directory(at: Desk) -> None:
    await staff(at, 40)
    administering = hurried(at, quick=8)

    seen = words(await administering.do(Holder(TEAM, ASHA), grammar.Purge("plan.md"), "purge plan.md"))
    assert seen.startswith("Asked to confirm it: 1 administrator.")
    assert "may be read now by 6 people at least; 36 people not looked at" in (await at.told(BEN))[-1]


async def test_a_trace_is_shown_without_a_word_or_a_document_of_it(at: Desk) -> None:
    await at.read(ASHA, "probe marta@example.com plan.md")
    [summary] = await at.app.traces.list(at.time[0])

    seen = await at.read(ASHA, f"trace {summary.id}")
    assert "command  probe" in re.sub(" +", "  ", seen)
    assert "plan.md" not in seen
    assert "marta" not in seen


async def test_employees_are_told_what_is_searched_by_kind_alone(at: Desk) -> None:
    assert at.commands.administering is not None
    seen = words(await at.commands.administering.searched())

    assert seen == "I search folders of files, and there only what you may read."


# ---------------------------------------------------------------- changing


@pytest.mark.parametrize(("verb", "state"), [("pause", "paused"), ("remove", None)])
async def test_what_changes_something_is_shown_with_its_counts_first(at: Desk, verb: str, state: str | None) -> None:
    first = await at.say(ASHA, f"source {verb} pages")

    assert "2 documents, 2 passages, now active" in words(first)
    assert await at.state("pages") == "active"
    await at.confirm(ASHA, first)
    if state is None:
        assert await at.told(ASHA) == ["source remove pages: nothing of it is left"]
    assert await at.state("pages") == state


async def test_a_confirmation_can_be_written_too(at: Desk) -> None:
    first = words(await at.say(ASHA, "source pause pages"))
    secret = re.search(r"confirm (\S{43})", first)
    assert secret is not None

    assert await at.read(ASHA, f"confirm {secret[1]}") == "Source pages is paused."


async def test_before_and_after_are_on_record(at: Desk) -> None:
    await at.confirm(ASHA, await at.say(ASHA, "source pause pages"))

    acts = await at.record()
    assert [each["command"] for each in acts] == ["source.pause", "confirm"]
    assert json.loads(acts[1]["before"])["state"] == "active"
    assert json.loads(acts[1]["after"])["state"] == "paused"
    assert acts[1]["outcome"] == "done"
    assert await at.app.traces.verify()


@pytest.mark.parametrize(
    ("verb", "after"), [("sync", ("active", 3)), ("reindex", ("active", 3)), ("remove", ("gone", None))]
)
async def test_what_takes_long_is_on_record_with_what_was_there_before_and_after(
    at: Desk, verb: str, after: tuple[str, int | None]
) -> None:
    (at.folder / "new.md").write_text("# New\n\nA third one.\n")
    first = await at.say(ASHA, f"source {verb} pages")
    if verb != "sync":
        await at.confirm(ASHA, first)
    await at.told(ASHA)

    acts = await at.record()
    command, work = acts[-2], acts[-1]
    assert json.loads(command["before"])["documents"] == 2
    assert (work["command"], work["asker"]) == (f"source.{verb}.work", "usr:asha@example.com")
    assert work["outcome"] == "done"
    assert json.loads(work["before"])["documents"] == 2
    ended = json.loads(work["after"])
    assert (ended["state"], ended.get("documents")) == after


async def test_work_that_breaks_off_is_on_record_as_failed(at: Desk) -> None:
    assert at.commands.administering is not None
    doors = at.commands.administering.doors

    @asynccontextmanager
    async def broken(*_: object, **__: object) -> AsyncIterator[None]:
        raise Transient("the source is away")
        yield

    keeping = replace(doors.keeping, open_source=broken)  # type: ignore[arg-type]
    async with Administering(replace(doors, keeping=keeping)) as administering:
        await administering.do(Holder(TEAM, ASHA), grammar.SourceLine("sync", "pages"), "source sync pages")
        await at.told(ASHA)

    work = (await at.record())[-1]
    assert (work["command"], work["outcome"]) == ("source.sync.work", "failed")
    assert json.loads(work["after"])["documents"] == 2


async def test_t126_a_confirmation_works_once(at: Desk) -> None:
    first = await at.say(ASHA, "source pause pages")
    pressed = await asyncio.gather(*(at.confirm(ASHA, first) for _ in range(3)))

    assert sorted(pressed) == sorted(["Source pages is paused.", told.USED, told.USED])


async def test_t126_a_confirmation_is_his_alone(at: Desk) -> None:
    first = await at.say(ASHA, "source remove pages")

    assert await at.confirm(BEN, first) == told.USED
    assert await at.confirm(MARTA, first) == told.NOT_ADMIN.replace("`", "")
    assert await at.state("pages") == "active"


async def test_t126_a_confirmation_has_its_time(at: Desk) -> None:
    first = await at.say(ASHA, "source pause pages")
    at.time[0] += timedelta(minutes=11)

    assert await at.confirm(ASHA, first) == told.USED


async def test_t126_an_altered_confirmation_is_worth_nothing(at: Desk) -> None:
    first = await at.say(ASHA, "source pause pages")
    secret = first.blocks[-1]["elements"][0]["value"]
    for other in (secret[:-1] + ("A" if secret[-1] != "A" else "B"), secret.swapcase(), "x" * 43, "", "é" * 43):
        assert words(await at.commands.pressed(Holder(TEAM, ASHA), "confirm", other)) == told.USED

    assert await at.state("pages") == "active"


async def test_a_sync_is_begun_and_its_end_told(at: Desk) -> None:
    await sync_named(at.app.keeping, "pages")  # to a source, copied files are others than before
    (at.folder / "new.md").write_text("# New\n\nA third one.\n")

    assert await at.read(ASHA, "source sync pages") == told.BEGUN
    [said] = await at.told(ASHA)
    assert said.startswith("source sync pages: 3 seen, 1 upserted, 0 deleted, 0 skipped")


async def test_a_reindex_reads_every_document_anew(at: Desk) -> None:
    first = await at.say(ASHA, "source reindex pages")
    await at.confirm(ASHA, first)

    [said] = await at.told(ASHA)
    assert said.startswith("source reindex pages: 2 seen, 2 upserted")


# ---------------------------------------------------------------- two people


async def test_a_purge_takes_a_second_administrator(at: Desk) -> None:
    asked = await at.read(ASHA, "purge plan.md")
    assert asked.startswith("Asked to confirm it: 1 administrator. Nothing has changed yet.")
    [request] = [each for each in at.slack.said if each.channel == at.slack.direct(BEN)]
    assert "Purge pages:plan.md?" in request.words
    assert "asked for by usr:asha@example.com" in request.words
    secret = request.content["blocks"][-1]["elements"][0]["value"]

    async def press(user: str) -> str:
        return words(await at.commands.pressed(Holder(TEAM, user), "confirm", secret))

    assert await press(ASHA) == told.SECOND
    assert await press(MARTA) == told.NOT_ADMIN.replace("`", "")
    assert "may read pages:plan.md" in await at.read(ASHA, "probe marta@example.com plan.md")
    assert await press(BEN) == "pages:plan.md is purged. Passages that left the index: 1."
    assert "may not read pages:plan.md" in await at.read(ASHA, "probe marta@example.com plan.md")
    assert await press(BEN) == told.USED


@pytest.mark.parametrize("why", ["no administrator", "closed in slack", "unlinked"])
async def test_a_purge_of_somebody_who_may_not_ask_for_it_any_more_is_not_confirmed(at: Desk, why: str) -> None:
    await at.read(ASHA, "purge plan.md")
    [request] = [each for each in at.slack.said if each.channel == at.slack.direct(BEN)]
    secret = request.content["blocks"][-1]["elements"][0]["value"]
    match why:
        case "closed in slack":
            at.slack.user(ASHA, deleted=True)
        case "unlinked":
            await at.app.people.unlink("asha@example.com", f"slack:{TEAM}")
        case _:
            text = (at.folder / "directory.toml").read_text().replace("grp:admins", "grp:staff", 1)
            (at.folder / "directory.toml").write_text(text)
            await add_source(at.app.keeping, "pages", "files", {"path": "pages"})  # which reads its directory again

    assert words(await at.commands.pressed(Holder(TEAM, BEN), "confirm", secret)) == told.ASKER_GONE
    assert (await at.record())[-1]["outcome"] == "refused"
    assert "may read pages:plan.md" in await at.read(BEN, "probe marta@example.com plan.md")


async def test_a_purge_needs_the_whole_name_of_one_document(at: Desk) -> None:
    assert "names no document" in await at.read(ASHA, "purge nothing.md")
    assert at.slack.said == []


async def test_who_is_alone_purges_nothing(at: Desk) -> None:
    text = (at.folder / "directory.toml").read_text()
    (at.folder / "directory.toml").write_text(text.replace('"ben"\ngroups = ["grp:admins"]', '"ben"\ngroups = []'))
    await sync_named(at.app.keeping, "pages")

    said = await at.read(ASHA, "purge plan.md")
    assert said.startswith("Asked to confirm it: nobody, since none was found. Nothing has changed yet.")
    line = re.search(r"confirm (\S{43})", said)
    assert line is not None
    assert await at.read(ASHA, f"confirm {line[1]}") == told.SECOND
    assert await at.read(BEN, f"confirm {line[1]}") == told.NOT_ADMIN.replace("`", "")
    assert "may read pages:plan.md" in await at.read(ASHA, "probe marta@example.com plan.md")


async def test_a_purge_is_confirmed_by_an_administrator_whom_only_another_system_knows(at: Desk) -> None:
    assert at.commands.administering is not None
    doors = at.commands.administering.doors
    far = Principal("sp:T:g:admins")

    class Systems:
        async def subject(self, who: Principal, now: datetime, *, fresh: bool = False) -> Subject | None:
            found = await doors.directory.subject(who, now, fresh=fresh)
            admin = found is not None and found.person.name in ("usr:asha@example.com", "usr:ben@example.com")
            return replace(found, principals=found.principals | {far}) if found and admin else found

    systems = Systems()
    them = replace(doors.administrators, directory=systems, group=far)  # type: ignore[arg-type]
    administering = Administering(replace(doors, directory=systems, administrators=them, admin_group=far))  # type: ignore[arg-type]
    said = words(await administering.do(Holder(TEAM, ASHA), grammar.Purge("plan.md"), "purge plan.md"))

    assert said.startswith("Asked to confirm it: 1 administrator.")
    [request] = [each for each in at.slack.said if each.channel == at.slack.direct(BEN)]
    secret = request.content["blocks"][-1]["elements"][0]["value"]
    done = await administering.do(Holder(TEAM, BEN), grammar.Confirm(secret), "confirm")
    assert words(done) == "pages:plan.md is purged. Passages that left the index: 1."


async def test_t127_administering_asks_every_system_anew(at: Desk) -> None:
    assert at.commands.administering is not None
    doors, asked = at.commands.administering.doors, list[bool]()

    class Systems:
        async def subject(self, who: Principal, now: datetime, *, fresh: bool = False) -> Subject | None:
            asked.append(fresh)
            return await doors.directory.subject(who, now)

    administering = Administering(replace(doors, directory=Systems()))  # type: ignore[arg-type]
    await administering.do(Holder(TEAM, ASHA), grammar.Lag(), "lag")
    await administering.do(Holder(TEAM, ASHA), grammar.Confirm("x" * 43), "confirm")
    await administering.add(Holder(TEAM, ASHA), "files", {})

    assert asked == [True, True, True]


# ---------------------------------------------------------------- adding


async def test_a_source_is_looked_at_shown_and_added_once_confirmed(at: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("# A\n\nOne.\n")
    (other / "access.toml").write_text('readers = ["grp:staff"]\n')
    assert at.commands.administering is not None

    form = json.dumps({"name": "other", "path": str(other)})
    first = await at.commands.submitted(Holder(TEAM, ASHA), "files", form)
    assert "documents that would be read: 1" in words(first)
    assert await at.state("other") is None
    assert await at.confirm(ASHA, first) == told.BEGUN
    [said] = await at.told(ASHA)
    assert said.startswith("source sync other: 1 seen, 1 upserted")


async def test_who_does_not_administer_adds_nothing(at: Desk, tmp_path: Path) -> None:
    assert at.commands.administering is not None
    given = {"name": "other", "path": str(tmp_path)}
    message = await at.commands.administering.add(Holder(TEAM, MARTA), "files", given)

    assert words(message) == told.NOT_ADMIN.replace("`", "")


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("files", {"name": "other"}, "can't be added without: Folder"),
        ("files", {"name": "other", "path": "pages"}, "there is no folder 'pages'"),
        ("wiki", {"name": "other"}, "there is no kind of source 'wiki'"),
        (
            "confluence",
            {"name": "w", "base_url": "https://w.example", "edition": "cloud", "auth": "bearer",
             "secret_env": "ATATT3xFfGF0-a-token", "live_check": "off"},
            "never a token",
        ),
        (
            "confluence",
            {"name": "w", "base_url": "https://w.example", "edition": "cloud", "auth": "bearer",
             "secret_env": "AWS_SECRET_ACCESS_KEY", "live_check": "off"},
            "begins with FOOTNOTE_",
        ),
        ("sharepoint", {"name": "s", "tenant": "t", "client_id": "c", "certificate_file": "/no/such.pem",
                        "sites": "https://s.example", "live_check": "off"}, "there is no such file"),
    ],
)  # fmt: skip
async def test_a_form_that_lacks_something_adds_nothing(at: Desk, kind: str, given: dict[str, str], said: str) -> None:
    message = await at.commands.submitted(Holder(TEAM, ASHA), kind, json.dumps(given))

    assert said in words(message)
    assert [config.name for config in await at.app.keeping.sources.list()] == ["pages"]
    assert "ATATT" not in words(message)


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("confluence", {"base_url": "https://w.example", "secret": {"secret_env": "FOOTNOTE_WIKI_TOKEN"}}),
        ("confluence", {"base_url": "https://w.example", "webhook_secret": {"secret_env": "FOOTNOTE_WIKI_TOKEN"}}),
        ("sharepoint", {"certificate": {"secret_env": "FOOTNOTE_WIKI_TOKEN"}}),
        ("sharepoint", {"base_url": "https://elsewhere.example", "certificate": {"secret_env": "FOOTNOTE_WIKI_TOKEN"}}),
    ],
)
async def test_no_secret_of_one_source_is_sent_to_another_address(at: Desk, kind: str, kept: dict[str, Any]) -> None:
    await at.app.keeping.sources.add(SourceConfig("other", kind, kept), at.app.clock())
    given = {"name": "w", "base_url": "https://elsewhere.example", "edition": "cloud", "auth": "bearer",
             "secret_env": "FOOTNOTE_WIKI_TOKEN", "live_check": "off"}  # fmt: skip
    message = await at.commands.submitted(Holder(TEAM, ASHA), "confluence", json.dumps(given))

    assert "at another address" in words(message)


async def test_no_file_of_one_source_is_used_at_another_address(at: Desk) -> None:
    file = at.folder / "gate.md"
    kept = {"login_url": "https://login.example", "certificate": {"secret_file": str(file.resolve())}}
    await at.app.keeping.sources.add(SourceConfig("other", "sharepoint", kept), at.app.clock())
    given = {"name": "s", "tenant": "t", "client_id": "c", "certificate_file": str(file), "sites": "https://s.example",
             "live_check": "off"}  # fmt: skip
    message = await at.commands.submitted(Holder(TEAM, ASHA), "sharepoint", json.dumps(given))

    assert "at another address" in words(message)


async def test_a_form_opens_for_an_administrator_and_asks_for_no_secret(at: Desk) -> None:
    asked = Asked(("command:133.7.a",), ASHA, TEAM, "command", "C1", "source add confluence")
    message = await at.commands.reply(asked)

    [call] = at.slack.to("views.open")
    labels = [block["label"]["text"] for block in call.arguments["view"]["blocks"]]
    assert call.arguments["trigger_id"] == "133.7.a"
    assert "Environment variable that holds its token" in labels
    assert words(message) in (told.FORM, told.FORM_LATE)
    await at.commands.reply(replace(asked, asker=MARTA))
    assert len(at.slack.to("views.open")) == 1


async def test_no_answer_to_a_command_is_for_anybody_else(at: Desk) -> None:
    await at.read(ASHA, "source list")
    await at.read(ASHA, "who gate.md")

    assert at.slack.said == []
    assert Principal("grp:admins") == at.app.settings.admin_group
