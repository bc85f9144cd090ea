"""Buttons, forms, the message shortcut and own pages: what each does, for whom, and as of when."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from bot.slack import sentences
from connectors.ledger.tables import ratings
from tests.doubles.slack import OUR_USER, Said
from tests.doubles.slack_house import House, house

TRAVEL = "Which airfare needs approval?"
PAY = "What is the bonus of directors?"
ASHA, BEN, MARTA, GUS = "U0ASHA", "U0BEN", "U0MARTA", "U0GUS"


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened
        assert opened.slack.refused == []


async def press(at: House, who: str, said: Said, action: str, verdict: str = "", **forged: Any) -> None:
    status, body = await at.send.form(at.slack.press(who, said, action, verdict, **forged))
    assert (status, body) == (200, "")
    await at.settled()


async def private(at: House, *members: str, question: str = PAY, **flags: Any) -> Said:
    """An answer to Asha alone, to what she asked in a channel."""
    at.slack.channel("C1", ASHA, *members, **flags)
    await at.ask(at.slack.mention(ASHA, "C1", question))
    return at.slack.in_channel(at.slack.direct(ASHA))[-1]


def told(at: House, who: str) -> str:
    """The last thing that somebody was told alone."""
    return str(at.slack.answers[who][-1]["text"])


# ---------------------------------------------------------------- sharing


async def test_what_everybody_there_may_read_is_shared_in_the_thread_word_for_word(at: House) -> None:
    answer = await private(at, BEN, MARTA, is_private=True)
    at.slack.inside["C1"].remove(MARTA)
    await press(at, ASHA, answer, "share")

    [shared] = at.slack.in_channel("C1")[1:]
    assert told(at, ASHA) == sentences.SHARED
    assert "The bonus of directors is seven months. [1]" in shared.words
    assert shared.thread is not None
    assert any("seven months" in words for words in at.slack.seen_by(BEN))


@pytest.mark.parametrize(
    "why", ["a member", "a guest", "external", "revoked", "changed", "left", "disabled", "archived"]
)
async def test_t066_what_not_everybody_may_read_now_is_not_shared(at: House, why: str) -> None:
    answer = await private(at, BEN, MARTA, is_private=True)
    if why != "a member":
        at.slack.inside["C1"].remove(MARTA)
    match why:
        case "a guest":
            at.slack.inside["C1"].append(GUS)
        case "external":
            at.slack.channels["C1"]["is_ext_shared"] = True
        case "revoked":
            at.world.revoke("pay", "grp:finance")
            await at.world.sync(pass_by=False)
        case "changed":
            at.world.change("pay", text="The bonus of directors is nothing.")
            await at.world.sync()
        case "left":
            at.slack.inside["C1"].remove(ASHA)
        case "disabled":
            at.world.disable("ben")
            await at.seat()
        case "archived":
            at.slack.channels["C1"]["is_archived"] = True
    before = len(at.slack.in_channel("C1"))
    await press(at, ASHA, answer, "share")

    assert told(at, ASHA) == sentences.NOT_SHARED
    assert len(at.slack.in_channel("C1")) == before
    assert not any("seven months" in words for who in (BEN, MARTA, GUS) for words in at.slack.seen_by(who))


async def test_a_member_who_joins_while_it_is_shared_counts(at: House) -> None:
    answer = await private(at, BEN, MARTA, is_private=True)
    at.slack.inside["C1"].remove(MARTA)
    at.slack.on_call = lambda method, _: (
        at.slack.inside["C1"].append(MARTA)
        if method == "conversations.members" and MARTA not in at.slack.inside["C1"]
        else None
    )
    await press(at, ASHA, answer, "share")

    assert told(at, ASHA) == sentences.NOT_SHARED


async def test_nobody_else_shares_deletes_or_rates_it(at: House) -> None:
    answer = await private(at, BEN, MARTA, is_private=True)
    at.slack.channel("C2", ASHA, MARTA)
    await at.ask(at.slack.mention(ASHA, "C2", TRAVEL))
    open_answer = at.slack.in_channel("C2")[-1]
    for who in (BEN, MARTA):
        for said, action, verdict in (
            (answer, "share", ""),
            (open_answer, "delete", ""),
            (open_answer, "feedback", "positive"),
            (open_answer, "feedback", "negative"),
        ):
            await press(at, who, said, action, verdict)
            assert told(at, who) == sentences.NOT_YOURS

    assert not open_answer.deleted
    assert at.slack.views == []
    async with at.ledger.door.read() as connection:
        assert (await connection.execute(select(ratings))).all() == []


async def test_it_is_shared_once_however_often_it_is_pressed(at: House) -> None:
    answer = await private(at, BEN, MARTA, is_private=True)
    at.slack.inside["C1"].remove(MARTA)
    before = len(at.slack.in_channel("C1"))
    form = at.slack.press(ASHA, answer, "share")
    for _ in range(3):
        await at.send.form(form)
    await at.settled()
    await press(at, ASHA, answer, "share")

    assert len(at.slack.in_channel("C1")) == before + 1
    assert told(at, ASHA) == sentences.OVER


@pytest.mark.parametrize("value", ["0" * 32, "x", "../../etc", "good x"])
async def test_an_altered_value_is_worth_nothing(at: House, value: str) -> None:
    answer = await private(at, BEN, MARTA, is_private=True)
    before = len(at.slack.said)
    await press(at, ASHA, answer, "share", value=value)

    assert told(at, ASHA) == sentences.OVER
    assert len(at.slack.said) == before


async def test_an_old_answer_is_not_shared(at: House) -> None:
    answer = await private(at, BEN, MARTA, is_private=True)
    at.slack.inside["C1"].remove(MARTA)
    at.world.at += timedelta(hours=25)
    await press(at, ASHA, answer, "share")

    assert told(at, ASHA) == sentences.OVER


async def test_an_answer_to_a_command_is_shared_in_its_channel_with_its_question(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    await at.send.form(at.slack.command(ASHA, TRAVEL, channel="C1"))
    await at.settled()
    await press_answer(at, ASHA, "share")

    [shared] = at.slack.in_channel("C1")
    assert shared.words.startswith(TRAVEL)
    assert "Airfare above 500" in shared.words


async def test_it_is_not_shared_where_somebody_known_to_be_no_employee_is_listed(at: House) -> None:
    at.world.person("lena")
    await at.seat()
    at.slack.channel("C1", ASHA, "U0LENA")
    await at.send.form(at.slack.command(ASHA, TRAVEL, channel="C1"))
    await at.settled()
    await press_answer(at, ASHA, "share")

    assert told(at, ASHA) == sentences.NOT_SHARED
    assert at.slack.in_channel("C1") == []


async def press_answer(at: House, who: str, action: str) -> None:
    await at.send.form(at.slack.press(who, at.slack.answers[who][-1], action))
    await at.settled()


async def test_what_is_for_everybody_or_asked_directly_has_no_share_button(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    await at.ask(at.slack.mention(ASHA, "C1", TRAVEL))
    await at.ask(at.slack.message(ASHA, TRAVEL))

    assert all('"share"' not in json.dumps(each.content) for each in at.slack.said)


# ---------------------------------------------------------------- rating and deleting


async def test_the_asker_deletes_his_answer_and_what_he_shared_of_it(at: House) -> None:
    answer = await private(at, BEN, MARTA, is_private=True)
    at.slack.inside["C1"].remove(MARTA)
    await press(at, ASHA, answer, "share")
    await press(at, ASHA, answer, "delete")

    assert told(at, ASHA) == sentences.DELETED
    assert not any("seven months" in words for words in at.slack.seen_by(ASHA) + at.slack.seen_by(BEN))


async def test_a_good_answer_is_thanked_for_and_a_bad_one_is_asked_about(at: House) -> None:
    await at.ask(at.slack.message(ASHA, TRAVEL))
    [answer] = at.slack.said
    await press(at, ASHA, answer, "feedback", "positive")
    await press(at, ASHA, answer, "feedback", "negative")
    await waited(at)
    [(who, view)] = at.slack.views
    await at.send.form(at.slack.submit(ASHA, view, "It names a limit that is gone.", ("old", "invented")))
    await at.settled()

    assert who == ASHA
    async with at.ledger.door.read() as connection:
        [row] = (await connection.execute(select(ratings))).all()
    assert (row.verdict, row.reasons) == ("bad", "old")
    assert "limit" not in row.words
    assert row.trace


async def test_a_form_of_somebody_else_is_worth_nothing(at: House) -> None:
    await at.ask(at.slack.message(ASHA, TRAVEL))
    [answer] = at.slack.said
    name = answer.mark
    view = {"id": "V1", "callback_id": "reasons", "private_metadata": name}
    await at.send.form(at.slack.submit(MARTA, view, "hm"))
    await at.send.form(at.slack.submit(MARTA, {**view, "id": "V2", "callback_id": "ask_about_message"}, PAY))
    await at.settled()

    assert not any("seven months" in words for words in at.slack.seen_by(MARTA))
    async with at.ledger.door.read() as connection:
        assert (await connection.execute(select(ratings))).all() == []


# ---------------------------------------------------------------- asking about a message


async def test_a_message_is_asked_about_and_answered_alone(at: House) -> None:
    at.slack.channel("C1", ASHA, MARTA)
    await at.send.form(at.slack.about(ASHA, "C1", f"Does anybody know? {PAY}"))
    await waited(at)
    [(who, view)] = at.slack.views
    await at.send.form(at.slack.submit(ASHA, view))
    await at.settled()

    [answer] = at.slack.said
    assert (who, answer.channel) == (ASHA, at.slack.direct(ASHA))
    assert "seven months" in answer.words
    assert at.slack.seen_by(MARTA) == []
    assert "seven" not in json.dumps(view)


async def waited(at: House) -> None:
    import asyncio

    async with asyncio.timeout(5):
        while not at.slack.views:  # noqa: ASYNC110  # what is watched is a list
            await asyncio.sleep(0.01)


async def test_a_form_is_sent_off_once(at: House) -> None:
    at.slack.channel("C1", ASHA)
    await at.send.form(at.slack.about(ASHA, "C1", TRAVEL))
    await waited(at)
    form = at.slack.submit(ASHA, at.slack.views[0][1])
    for _ in range(3):
        await at.send.form(form)
    await at.settled()

    assert len(at.slack.said) == 1


# ---------------------------------------------------------------- own pages


async def test_the_own_page_says_what_is_searched_and_what_he_asked_himself(at: House) -> None:
    at.slack.channel("C1", ASHA, BEN)
    await at.ask(at.slack.message(ASHA, PAY))
    await at.ask(at.slack.message(BEN, TRAVEL))
    for who in (ASHA, BEN):
        await at.ask(at.slack.opens_home(who))

    page = json.dumps(at.slack.homes[ASHA])
    assert sentences.HOME_LINKED in page
    assert "Confluence" in page
    assert "Files" not in page
    assert PAY in page
    assert TRAVEL not in page
    assert PAY not in json.dumps(at.slack.homes[BEN])


async def test_who_is_not_linked_sees_how_to_and_nothing_else(at: House) -> None:
    await at.ask(at.slack.message(ASHA, PAY))
    at.unlinked.add("asha")
    await at.seat()
    await at.ask(at.slack.opens_home(ASHA))

    page = json.dumps(at.slack.homes[ASHA])
    assert "/footnote link" in page
    assert PAY not in page


async def test_the_messages_tab_asks_nothing(at: House) -> None:
    await at.ask(at.slack.opens_home(ASHA, tab="messages"))

    assert at.slack.homes == {}
    assert at.slack.said == []


async def test_a_button_that_opens_an_address_is_acknowledged(at: House) -> None:
    answer = await private(at, BEN, MARTA, is_private=True)
    payload = at.slack.press(ASHA, answer, "share")
    payload["actions"] = [{"type": "button", "action_id": "link_open", "block_id": "b", "action_ts": "1.2"}]

    assert await at.send.form(payload) == (200, "")


async def test_interactions_of_other_workspaces_apps_and_forms_are_nothing(at: House) -> None:
    await at.ask(at.slack.message(ASHA, TRAVEL))
    [answer] = at.slack.said
    before = len(at.slack.calls)
    form = json.loads(at.slack.press(ASHA, answer, "delete")["payload"])
    others = [
        {**form, "user": {"id": ASHA, "team_id": "T0OTHER"}},
        {**form, "user": {"id": OUR_USER.replace("U", "B"), "team_id": form["user"]["team_id"]}},
        {**form, "type": "block_suggestion"},
        {**form, "actions": [{**form["actions"][0], "action_id": "else"}]},
    ]
    for each in others:
        assert (await at.send.form({"payload": json.dumps(each)}))[0] == 200
    for broken in ({}, {**form, "actions": []}, {**form, "user": 5}):
        assert (await at.send.form({"payload": json.dumps(broken)}))[0] == 400
    await at.settled()

    assert len(at.slack.calls) == before
    assert not answer.deleted
