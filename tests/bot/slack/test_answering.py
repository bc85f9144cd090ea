"""Questions asked in Slack, and who sees what of the answers. Everything but Slack and the pages' owner is real."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.answering.outcome import ABSTAINED, BUSY, UNLINKED
from bot.slack import sentences
from bot.slack.incoming import Asked
from bot.slack.place import Accounts, Roster, roster
from connectors.chat import Account
from connectors.slack import SlackWeb
from policies.audience import PlaceKind
from tests.doubles.slack import OUR_USER, TEAM, TOKEN, Said
from tests.doubles.slack_house import HURRIED, House, house
from tests.policies.given import NOW
from tests.world import World

TRAVEL = "Which airfare needs approval?"
PAY = "What is the bonus of directors?"
OTHER = "T0OTHER"
ASHA, BEN, MARTA, GUS = "U0ASHA", "U0BEN", "U0MARTA", "U0GUS"


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened
        assert opened.slack.refused == []


def plain(text: str) -> str:
    return text.replace("`", "")


def only(said: list[Said]) -> Said:
    [one] = said
    return one


def alone(at: House, asker: str) -> Said:
    """The one answer that was given, in the direct message with the asker, and a pointer to it that he alone sees."""
    answer, pointer = at.slack.said
    assert (answer.channel, pointer.to) == (at.slack.direct(asker), asker)
    assert pointer.words == sentences.POINTED
    return answer


async def test_a_direct_message_is_answered_in_its_thread_with_a_citation(at: House) -> None:
    delivery = at.slack.message(ASHA, PAY)
    await at.ask(delivery)

    answer = only(at.slack.said)
    assert answer.thread == delivery["event"]["ts"]
    assert "The bonus of directors is seven months. [1]<https://wiki.example.com/pay>" in answer.words
    assert "Pay rules<https://wiki.example.com/pay>" in answer.words
    assert at.slack.statuses[0] == (answer.channel, answer.thread, sentences.WORKING)


async def test_a_message_in_a_thread_is_answered_there(at: House) -> None:
    await at.ask(at.slack.message(ASHA, TRAVEL, thread="1700000000.000001"))

    assert only(at.slack.said).thread == "1700000000.000001"


async def test_a_mention_is_answered_for_everyone_who_may_read_it(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    delivery = at.slack.mention(ASHA, "C1", TRAVEL)
    await at.ask(delivery)

    answer = only(at.slack.said)
    assert (answer.to, answer.thread) == (None, delivery["event"]["ts"])
    assert "Airfare above 500" in at.slack.seen_by(MARTA)[0]


async def test_t064_in_a_public_channel_nobody_else_sees_what_not_every_employee_may_read(at: House) -> None:
    at.slack.channel("C1", ASHA, BEN)  # both may read it; but anybody can join
    await at.ask(at.slack.mention(ASHA, "C1", PAY))

    answer = alone(at, ASHA)
    assert answer.thread is None
    assert "seven months" in answer.words
    assert at.slack.seen_by(BEN) == at.slack.seen_by(MARTA) == []
    assert at.slack.statuses[-1][2] == ""


async def test_in_a_private_channel_every_member_must_be_allowed(at: House) -> None:
    at.slack.channel("G1", ASHA, BEN, is_private=True)
    at.slack.channel("G2", ASHA, BEN, MARTA, is_private=True)
    await at.ask(at.slack.mention(ASHA, "G1", PAY))
    await at.ask(at.slack.mention(ASHA, "G2", PAY))

    in_g1, in_direct, pointer = at.slack.said
    assert (in_g1.channel, in_g1.to) == ("G1", None)
    assert (in_direct.channel, pointer.channel, pointer.to) == (at.slack.direct(ASHA), "G2", ASHA)
    assert at.slack.seen_by(MARTA) == []


async def test_a_member_who_joins_between_question_and_answer_counts(at: House) -> None:
    at.slack.channel("G1", ASHA, BEN, is_private=True)

    def join(method: str, _arguments: Any) -> None:
        if method == "assistant.threads.setStatus":
            return
        if method == "conversations.members" and len(at.slack.to("conversations.members")) == 3:
            at.slack.inside["G1"].append(MARTA)

    at.slack.on_call = join
    await at.ask(at.slack.mention(ASHA, "G1", PAY))

    assert at.slack.seen_by(MARTA) == []
    assert "seven months" in alone(at, ASHA).words


async def test_a_channel_that_becomes_external_is_not_posted_to(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)

    def share(method: str, _arguments: Any) -> None:
        if len(at.slack.to("conversations.info")) == 2:
            at.slack.channels["C1"]["is_ext_shared"] = True

    at.slack.on_call = share
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))

    assert alone(at, ASHA)


@pytest.mark.parametrize(
    "flags",
    [
        {"is_ext_shared": True},
        {"is_pending_ext_shared": True},
        {"pending_shared": ["T0OTHER"]},
        {"is_org_shared": True},
        {"is_shared": True},
        {"is_private": None},
        {"is_ext_shared": None},
    ],
)
async def test_where_others_may_listen_or_nobody_knows_the_asker_alone_is_told(
    at: House, flags: dict[str, Any]
) -> None:
    at.slack.channel("C1", ASHA, MARTA, **flags)
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))

    assert "Airfare above 500" in alone(at, ASHA).words


async def test_a_delivery_from_an_external_channel_is_enough(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    await at.ask({**at.slack.mention(ASHA, "C1", TRAVEL), "is_ext_shared_channel": True})

    assert alone(at, ASHA)


@pytest.mark.parametrize("member", ["guest", "stranger", "disabled in slack", "disabled here", "not told", "unlinked"])
async def test_t065_a_member_who_may_not_be_counted_on_narrows(at: House, member: str) -> None:
    match member:
        case "guest":
            other = GUS
        case "unlinked":
            other = at.slack.user("U0NOBODY")
        case "stranger":
            other = at.slack.user("U0EVE", is_stranger=True, team_id="T0OTHER")
        case "disabled in slack":
            other = at.slack.user(MARTA, deleted=True)
        case "disabled here":
            other = MARTA
            at.world.disable("marta")
        case _:
            other = "U0GONE"
    await at.seat()
    at.slack.channel("C1", ASHA, other)
    at.slack.channel("G1", ASHA, other, is_private=True)
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))
    await at.ask(at.slack.mention(ASHA, "G1", TRAVEL))

    private = [("D0ASHA", None), ("G1", ASHA)]
    # A full member can read a public channel without being in it: that he is not linked says nothing about him there.
    public = [("C1", None)] if member == "unlinked" else [("D0ASHA", None), ("C1", ASHA)]
    assert [(each.channel, each.to) for each in at.slack.said] == [*public, *private]


async def test_a_full_member_who_is_listed_and_known_to_be_no_employee_narrows_a_public_channel(at: House) -> None:
    at.world.person("lena")
    await at.seat()
    at.slack.channel("C1", ASHA, "U0LENA")
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))

    assert "Airfare above 500" in alone(at, ASHA).words


async def test_a_full_member_whom_the_directory_calls_one_and_slack_a_guest_is_a_guest(at: House) -> None:
    at.world.page("rules", "Guests wear a badge.", ["usr:marta@example.com", "grp:finance"])
    await at.world.sync()
    await at.seat()
    at.slack.user(MARTA, is_ultra_restricted=True)
    at.slack.channel("C1", ASHA, MARTA)
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))

    assert only(at.slack.said).to is None  # she reads it by her own rights, as a guest who is listed


async def test_apps_of_our_workspace_are_no_readers(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA, at.slack.user("U0OTHERBOT", is_bot=True))
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))

    assert only(at.slack.said).to is None


async def test_t018_who_is_not_told_is_nobody(at: House) -> None:
    stranger = at.slack.user("U0EVE", is_stranger=True, team_id="T0OTHER")
    told = dict.fromkeys(("user_team", "source_team", "team"))
    await at.ask(at.slack.message(stranger, TRAVEL, **told))
    assert only(at.slack.said).words == plain(UNLINKED)
    delivery = at.slack.mention(stranger, at.slack.channel("C1", ASHA, stranger), TRAVEL)
    del delivery["event"]["user"]
    assert await at.send.event(delivery) == (400, "")

    assert len(at.slack.said) == 1
    assert at.world.tap.through("reranker", "writer") == ""


async def test_t019_the_same_user_id_in_another_workspace_is_somebody_else(at: House) -> None:
    email = "asha@example.com"
    people = at.world.people.people
    people[email] = replace(people[email], identities={f"slack:{OTHER}": ASHA})
    await at.ask(at.slack.message(ASHA, PAY))
    await at.ask(at.slack.message(ASHA, PAY, user_team=OTHER))

    assert [each.words for each in at.slack.said] == [plain(UNLINKED)] * 2


async def test_t068_a_group_message_is_a_channel(at: House) -> None:
    at.slack.channel("M1", ASHA, BEN, is_mpim=True, is_private=True)
    at.slack.channel("M2", ASHA, BEN, MARTA, is_mpim=True, is_private=True)
    await at.ask(at.slack.mention(ASHA, "M1", PAY))
    await at.ask(at.slack.mention(ASHA, "M2", PAY))

    assert [(each.channel, each.to) for each in at.slack.said] == [("M1", None), ("D0ASHA", None), ("M2", ASHA)]


async def test_a_place_of_apps_and_the_asker_is_his(at: House) -> None:
    at.slack.channel("G1", ASHA, at.slack.user("U0OTHERBOT", is_bot=True), is_private=True)
    await at.ask(at.slack.mention(ASHA, "G1", PAY))

    assert (only(at.slack.said).channel, only(at.slack.said).to) == ("G1", None)


async def test_t072_nothing_that_slack_is_told_holds_a_score_or_a_rank(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))
    await at.ask(at.slack.mention(ASHA, "C1", PAY))
    await at.send.form(at.slack.command(ASHA, TRAVEL))
    await at.settled()

    told = at.slack.everything().casefold()
    assert "airfare above 500" in told
    for word in ("score", "rank", "vector", "fused", "distance", "relevance"):
        assert word not in told


async def test_t085_no_address_is_looked_at_for_a_preview_on_any_way(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))  # in the channel
    await at.ask(at.slack.mention(ASHA, "C1", PAY))  # in the direct message, with a pointer
    await at.ask(at.slack.message(ASHA, TRAVEL))
    await at.send.form(at.slack.command(ASHA, TRAVEL))
    await at.settled()

    posted = [each.arguments for each in (*at.slack.to("chat.postMessage"), *at.slack.to("respond"))]
    assert len(posted) == 4
    assert all(each["unfurl_links"] is False and each["unfurl_media"] is False for each in posted)
    texts = [each.arguments.get("text", "") for each in at.slack.calls if each.method.startswith(("chat.", "respond"))]
    assert not [text for text in texts if "://" in text]  # what notifications show


async def test_t073_who_probes_is_throttled_and_administrators_are_alerted(at: House) -> None:
    for number in range(15):
        await at.ask(at.slack.message(ASHA, f"Is {number} the bonus of directors?"))

    told = [each.words for each in at.slack.said if each.channel == at.slack.direct(ASHA)]
    assert [words == sentences.TOO_ALIKE for words in told] == [*[False] * 12, *[True] * 3]
    alerts = [each for each in at.log.lines if each["event"] == "somebody asks nearly the same again and again"]
    assert len(alerts) == 1
    assert at.metrics.throttled._value.get() == 3
    await at.ask(at.slack.message(BEN, PAY))  # nobody else is
    assert "seven months" in at.slack.said[-1].words
    at.world.at += timedelta(minutes=1)
    await at.ask(at.slack.message(ASHA, PAY))
    assert "seven months" in at.slack.said[-1].words


async def test_a_private_place_with_as_many_members_as_are_asked_for_counts_them_all(at: House) -> None:
    largest = at.world.doors.policy.rules.audience.largest
    names = [f"U{number:05d}" for number in range(largest - 1)]
    for name in names:
        at.slack.user(name)
    at.slack.page = 200
    at.slack.channel("G1", ASHA, *names, is_private=True)
    at.slack.channel("G2", ASHA, *names, at.slack.user("U0MORE"), is_private=True)

    async def found(channel: str) -> Roster:
        asked = Asked((), ASHA, TEAM, "mention", channel, TRAVEL, "1.1")
        async with SlackWeb(f"{at.slack.url}/api", TOKEN, HURRIED) as chat:
            return await roster(chat, asked, largest)

    assert await found("G1") == Roster(PlaceKind.PRIVATE, (ASHA, *names))  # without ourselves
    assert await found("G2") == Roster(PlaceKind.UNKNOWN)


async def test_a_public_place_that_we_are_not_in_has_no_more_members_than_are_looked_at(
    at: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack.place._MOST_PUBLIC", 3)
    at.slack.page = 200
    asked = Asked((), ASHA, TEAM, "mention", "C1", TRAVEL, "1.1")
    for others in (["U1", "U2"], ["U1", "U2", "U3"]):
        at.slack.channel("C1", ASHA, *others)
        at.slack.inside["C1"].remove(OUR_USER)
        async with SlackWeb(f"{at.slack.url}/api", TOKEN, HURRIED) as chat:
            found = await roster(chat, asked, 3)
        full = len(others) == 3
        assert found == (Roster(PlaceKind.UNKNOWN) if full else Roster(PlaceKind.PUBLIC, (ASHA, *others)))


async def test_a_private_place_with_more_members_than_are_asked_for_is_answered_to_the_asker(at: House) -> None:
    at.slack.page = 50
    at.slack.channel("G1", ASHA, *(at.slack.user(f"U{number:05d}") for number in range(250)), is_private=True)
    await at.ask(at.slack.mention(ASHA, "G1", TRAVEL))

    assert alone(at, ASHA)
    assert len(at.slack.to("users.info")) <= 4


@pytest.mark.parametrize("other", ["full member", "guest", "stranger", "disabled", "not listed"])
async def test_in_a_large_public_channel_the_rule_for_every_employee_counts_and_guests_narrow(
    at: House, other: str
) -> None:
    at.slack.page = 500
    flags: dict[str, dict[str, Any]] = {
        "full member": {},
        "guest": {"is_ultra_restricted": True},
        "stranger": {"is_stranger": True, "team_id": "T0OTHER"},
        "disabled": {"deleted": True},
    }
    last = "U0UNLISTED" if other == "not listed" else at.slack.user("U0LAST", **flags[other])
    at.slack.channel("C1", ASHA, *(at.slack.user(f"U{number:05d}") for number in range(1_200)), last)
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))
    await at.ask(at.slack.mention(ASHA, "C1", PAY))

    places = [(each.channel, each.to) for each in at.slack.said]
    alone_twice = [("D0ASHA", None), ("C1", ASHA)]
    assert places == [*([("C1", None)] if other == "full member" else alone_twice), *alone_twice]
    assert len(at.slack.to("users.info")) <= 12
    assert len(at.slack.to("users.list")) == 2  # one list of two pages, for both questions


async def test_whose_account_changes_is_asked_for_anew_and_nobody_else(at: House) -> None:
    at.slack.page = 500
    at.slack.channel("C1", ASHA, *(at.slack.user(f"U{number:05d}") for number in range(201)))
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))
    for number in range(3):  # a status that comes and goes
        assert await at.send.event(at.slack.delivery({"type": "user_change", "user": {"id": "U00007"}})) == (200, "")
        await at.ask(at.slack.mention(ASHA, "C1", f"{TRAVEL} {number}"))
    asked = Counter(each.arguments["user"] for each in at.slack.to("users.info"))
    at.slack.user("U00007", is_restricted=True)
    await at.send.event(at.slack.delivery({"type": "user_change", "user": {"id": "U00007"}}))
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))

    assert len(at.slack.to("users.list")) == 1
    assert (asked["U00007"], set(asked)) == (3, {"U00007", ASHA})
    assert [(each.channel, each.to) for each in at.slack.said] == [*[("C1", None)] * 4, ("D0ASHA", None), ("C1", ASHA)]


async def test_a_list_of_very_many_is_kept_whole_whoever_was_known_before() -> None:
    everybody = [Account(f"U{number}", TEAM, True, True, guest=False, stranger=False) for number in range(20_000)]

    class Many:
        async def account(self, user: str) -> Account:
            return replace(everybody[0], id=user)

        async def people(self, _most: int) -> list[Account]:
            return everybody

    accounts = Accounts(Many(), lambda: NOW)  # type: ignore[arg-type]
    for number in range(60):
        await accounts.now(f"gone {number}")

    assert await accounts.many([each.id for each in everybody]) == everybody


async def test_a_public_channel_too_large_to_look_for_guests_is_answered_to_the_asker(at: House) -> None:
    at.slack.page = 1_000
    at.slack.channel("C1", ASHA, *(f"U{number:05d}" for number in range(5_100)))
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))

    assert alone(at, ASHA)


@pytest.mark.parametrize("method", ["conversations.info", "conversations.members", "users.info"])
async def test_what_slack_does_not_tell_only_narrows(at: House, method: str) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    at.slack.on_call = lambda asked, arguments: (
        at.slack.next(method, 500) if asked == method and arguments.get("user") != ASHA else None
    )
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))

    assert alone(at, ASHA)


async def test_a_missing_scope_only_narrows(at: House) -> None:
    at.slack.scopes.discard("channels:read")
    at.slack.channel("C1", ASHA, MARTA)
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))

    assert alone(at, ASHA)


@pytest.mark.parametrize("place", ["direct", "public", "command"])
async def test_somebody_unknown_is_told_so_alone(at: House, place: str) -> None:
    at.slack.user("U0NEW")
    at.slack.channel("C1", "U0NEW", ASHA)
    match place:
        case "direct":
            await at.ask(at.slack.message("U0NEW", TRAVEL))
        case "public":
            await at.ask(at.slack.mention("U0NEW", "C1", TRAVEL))
        case _:
            await at.send.form(at.slack.command("U0NEW", TRAVEL))
            await at.settled()

    assert at.slack.seen_by("U0NEW")[-1] == plain(UNLINKED)
    assert at.slack.seen_by(ASHA) == []


@pytest.mark.parametrize(
    "flags",
    [{"is_stranger": True}, {"team_id": "T0OTHER"}, {"deleted": True}, {"is_bot": True}, {"team_id": "E0GRID"}],
)
async def test_an_account_that_is_not_of_our_people_is_nobody(at: House, flags: dict[str, Any]) -> None:
    at.slack.user(ASHA, **flags)
    at.slack.channel("C1", ASHA)
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))

    assert only(at.slack.said).words == plain(UNLINKED)


async def test_a_speaker_of_another_team_is_nobody(at: House) -> None:
    at.slack.channel("C1", ASHA)
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL, user_team="T0OTHER"))

    assert only(at.slack.said).words == plain(UNLINKED)


async def test_a_share_that_ends_between_question_and_answer_counts(tmp_path: Path) -> None:
    class Revoking:
        def __init__(self, world: World, writer: Any) -> None:
            self.world, self.writer = world, writer

        def __getattr__(self, name: str) -> Any:
            return getattr(self.writer, name)

        async def write(self, *args: Any) -> Any:
            self.world.revoke("pay", "grp:finance")
            await self.world.sync(pass_by=False)
            return await self.writer.write(*args)

    async with house(tmp_path, writer=Revoking) as at:
        await at.ask(at.slack.message(ASHA, PAY))

        assert only(at.slack.said).words == ABSTAINED


async def test_an_account_unlinked_between_question_and_answer_counts(at: House) -> None:
    async def unlink(method: str, _arguments: Any) -> None:
        if len(at.slack.to("users.info")) == 2:
            at.unlinked.add("asha")
            await at.seat()

    at.slack.on_call = unlink
    await at.ask(at.slack.message(ASHA, PAY))

    assert only(at.slack.said).words == ABSTAINED


async def test_absent_and_hidden_read_alike(at: House) -> None:
    at.slack.channel("C1", MARTA, ASHA)
    for text in (PAY, "What is the colour of the moon?"):
        await at.ask(at.slack.mention(MARTA, "C1", text))

    first, second = at.slack.said
    assert first.words == second.words == ABSTAINED
    assert first.to == second.to == MARTA


async def test_a_mention_where_we_are_no_member_is_answered_directly(at: House) -> None:
    at.slack.channel("C1", ASHA)
    at.slack.inside["C1"].remove(OUR_USER)
    await at.ask(at.slack.mention(ASHA, "C1", PAY))

    assert only(at.slack.said).channel == at.slack.direct(ASHA)


@pytest.mark.parametrize("text", [TRAVEL, f"ask {TRAVEL}", "ask what is a payload limit for airfare approval"])
async def test_a_command_is_answered_to_the_asker_alone(at: House, text: str) -> None:
    status, body = await at.send.form(at.slack.command(ASHA, text, channel=at.slack.channel("C1", ASHA, MARTA)))
    await at.settled()

    assert status == 200
    assert '"ephemeral"' in body
    assert len(at.slack.answers[ASHA]) == 1
    assert at.slack.said == []
    assert at.slack.seen_by(MARTA) == []
    if "payload" not in text:
        assert "Airfare above 500" in at.slack.seen_by(ASHA)[0]


async def test_a_command_whose_address_is_used_up_or_not_slacks_is_answered_directly(at: House) -> None:
    for address in ("https://evil.example/hook", "http://127.0.0.1:1/x", f"{at.slack.url}/commands/unknown"):
        await at.send.form(at.slack.command(ASHA, TRAVEL, response_url=address))
        await at.settled()

    assert [each.channel for each in at.slack.said] == [at.slack.direct(ASHA)] * 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", sentences.HELP),
        ("help", sentences.HELP),
        ("HELP", sentences.HELP),
        ("ask", sentences.HELP),
        ("privacy", sentences.PRIVACY),
        ("link", sentences.LINKED_BY_ADMIN.format(account="slack:T0NORTHWIND:U0ASHA")),
        ("unlink", sentences.UNLINKED_BY_ADMIN.format(account="slack:T0NORTHWIND:U0ASHA")),
    ],
)
async def test_a_command_that_is_no_question_is_answered_at_once(at: House, text: str, expected: str) -> None:
    import json

    from tests.doubles.slack import problems_of, shown

    _, body = await at.send.form(at.slack.command(ASHA, text))

    assert shown(json.loads(body)) == plain(expected)
    assert problems_of(json.loads(body)) == []
    assert await at.open_letters() == 0


async def test_a_message_with_a_file_is_answered_by_its_text(at: House) -> None:
    await at.ask(at.slack.message(ASHA, TRAVEL, subtype="file_share", files=[{"id": "F1", "name": "x.pdf"}]))

    assert "Airfare above 500" in only(at.slack.said).words


@pytest.mark.parametrize(("text", "expected"), [("", sentences.NO_WORDS), ("Help!", sentences.HELP)])
async def test_a_message_that_is_no_question_gets_a_sentence(at: House, text: str, expected: str) -> None:
    await at.ask(at.slack.message(ASHA, text, subtype="file_share"))

    assert only(at.slack.said).words == plain(expected)


async def test_a_failing_status_harms_nothing(at: House) -> None:
    at.slack.next("assistant.threads.setStatus", 200, 200, body={"ok": False, "error": "unknown_method"})
    await at.ask(at.slack.message(ASHA, TRAVEL))

    assert "Airfare above 500" in only(at.slack.said).words


async def test_slack_that_asks_to_wait_is_waited_for_whatever_it_was_asked(at: House) -> None:
    methods = ("conversations.info", "conversations.members", "users.info", "conversations.open", "chat.postMessage")
    for method in (*methods, "chat.postEphemeral", "assistant.threads.setStatus"):
        at.slack.next(method, 429, retry_after=1)
    at.slack.channel("C1", ASHA, MARTA)
    await at.ask(at.slack.mention(ASHA, "C1", PAY))

    answer = alone(at, ASHA)
    assert "seven months" in answer.words
    assert all(len(at.slack.to(method)) >= 2 for method in (*methods, "chat.postEphemeral"))


async def test_an_error_of_ours_is_told_as_a_sentence(tmp_path: Path) -> None:
    class Broken:
        def __init__(self, _world: World, index: Any) -> None:
            self.index = index

        def __getattr__(self, name: str) -> Any:
            return getattr(self.index, name)

        async def search(self, _search: Any) -> Any:
            raise RuntimeError("the index at 10.0.0.7 says: SECRET")

    async with house(tmp_path, index=Broken) as at:
        await at.ask(at.slack.message(ASHA, TRAVEL))

        assert only(at.slack.said).words == BUSY
        assert "SECRET" not in at.slack.everything() + str(at.log)


async def test_no_text_of_a_question_or_an_answer_is_logged(at: House) -> None:
    await at.ask(at.slack.message(ASHA, PAY))

    [line] = [each for each in at.log.lines if each["event"] == "question"]
    assert (line["outcome"], line["audience"], line["place"]) == ("answered", "asker", "dm")
    assert "bonus" not in str(at.log)
    assert ASHA not in str(at.log)
