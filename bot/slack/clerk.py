"""Who does what a letter asks: questions go to the answerer; buttons, forms and own pages are seen to here.

A button is worth nothing by itself: whoever presses it is compared with whom the answer was for, each time, and what it
would do is judged as of now. Everybody else is told one constant sentence, alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from bot.answering.outcome import Audience, name
from bot.answering.question import Question
from bot.answering.share import share
from bot.linking.linking import Holder
from bot.slack import sentences, views
from bot.slack.answer import Answerer
from bot.slack.blocks import Around, reply, sentence
from bot.slack.incoming import Asked
from bot.slack.letters import Content, letter_of, opened
from bot.slack.memory import SHARED_WITHIN, answered_of, posted, texts_of
from bot.slack.place import Present
from bot.slack.pressing import About, HomeOpened, Pressed, Submitted
from connectors.chat import Exchange, Letter, Message
from connectors.errors import DoorError, Skip, Transient
from connectors.ports import Sources
from policies.audience import PlaceKind
from policies.names import Principal

_DRAFT = timedelta(hours=1)  # that a form may stay open
_KNOWN = frozenset(value for value, _ in sentences.REASONS)


@dataclass(frozen=True, slots=True)
class Clerk:
    """Does what letters ask."""

    answerer: Answerer
    sources: Sources | None = None

    async def answer(self, letter: Letter) -> None:
        """Do it, or say why not. Raises DoorError when that could not be delivered."""
        content, mark = opened(letter.body)
        if letter.turned_away is not None:
            await self._turn_away(content, mark, letter)
            return
        match content:
            case Asked():
                await self.answerer.answer(letter)
            case Pressed():
                await self._pressed(content, again=letter.times > 1)
            case Submitted():
                await self._submitted(content, letter, mark)
            case HomeOpened():
                await self._home(content)

    async def apologise(self, letter: Letter) -> None:
        """Say that it can't be done now, to the asker alone."""
        content, mark = opened(letter.body)
        if letter.turned_away is not None:
            await self._turn_away(content, mark, letter)
            return
        match content:
            case Asked():
                await self.answerer.apologise(letter)
            case Pressed() | Submitted():
                await self._tell(content, sentences.TRY_AGAIN)
            case HomeOpened():
                return

    async def _turn_away(self, content: Content, mark: str, letter: Letter) -> None:
        """Say why it is not taken, to the asker alone."""
        person = letter.turned_away == "person is full"
        words = sentences.PERSON_FULL if person else sentences.WORKSPACE_FULL
        match content:
            case Asked():
                await self.answerer.turn_away(content, mark, words, again=letter.times > 1)
            case Pressed() | Submitted():
                await self._tell(content, words)
            case HomeOpened():
                return

    # ------------------------------------------------------------ buttons

    async def _pressed(self, pressed: Pressed, *, again: bool) -> None:
        memory = self.answerer.memory
        if pressed.deed in ("not me", "confirm"):
            await self._commanded(pressed)
            return
        exchange = await memory.find(pressed.name)
        if exchange is None or exchange.state in ("draft", "posting", "waiting", "deleted"):
            await self._tell(pressed, sentences.OVER)
        elif exchange.asker != pressed.account:
            await self._tell(pressed, sentences.NOT_YOURS)
        else:
            match pressed.deed:
                case "good" | "bad":
                    await memory.exchanges.rate(exchange.name, pressed.deed, (), "", memory.clock())
                    if pressed.deed == "good":
                        await self._tell(pressed, sentences.THANKED)
                case "delete":
                    await self._delete(pressed, exchange)
                case "share":
                    await self._share(pressed, exchange, again=again)

    async def _commanded(self, pressed: Pressed) -> None:
        """A button under a notice or a command, whose value is a secret that is good once."""
        commands = self.answerer.commands
        if commands is not None:
            holder = Holder(pressed.asker_team, pressed.asker)
            await self._say_alone(pressed, await commands.pressed(holder, pressed.deed, pressed.name))

    async def _delete(self, pressed: Pressed, exchange: Exchange) -> None:
        for channel, ts in exchange.body["posted"]:
            await self.answerer.chat.take_back(channel, ts)
        memory = self.answerer.memory
        # What was deleted is not kept for others either; the question stays one that was asked.
        await memory.keep(replace(exchange, state="deleted", body={**exchange.body, "answer": None, "posted": []}))
        await self._tell(pressed, sentences.DELETED)

    async def _share(self, pressed: Pressed, exchange: Exchange, *, again: bool) -> None:
        memory = self.answerer.memory
        kept = exchange.body.get("answer")
        fresh = memory.clock() - exchange.at <= SHARED_WITHIN
        if kept is None or not fresh or not exchange.body["channel"] or exchange.body["visible_to"] == "everyone":
            await self._tell(pressed, sentences.OVER)
            return
        if exchange.state == "sharing" and again:
            # Begun before by this very letter, and nobody knows how far it came: it is not said a second time.
            await memory.exchanges.turn(exchange.name, "sharing", "shared")
            await self._tell(pressed, sentences.SHARED_PERHAPS)
            return
        if not await memory.exchanges.turn(exchange.name, "posted", "sharing"):
            await self._tell(pressed, sentences.OVER)
            return
        message = await self._sharable(exchange)
        if message is None:
            await memory.exchanges.turn(exchange.name, "sharing", "posted")
            await self._tell(pressed, sentences.NOT_SHARED)
            return
        await self._say_for_all(pressed, exchange, message)

    async def _sharable(self, exchange: Exchange) -> Message | None:
        """The stored answer as everybody there may see it now; None when they may not."""
        answerer, body = self.answerer, exchange.body
        asked = _asked_again(exchange)
        us = await answerer.chat.workspace()
        largest = answerer.doors.policy.rules.audience.largest
        present = Present(asked, us, answerer.chat, answerer.accounts, answerer.doors.directory, largest)
        place = await present.place()
        if place.kind not in (PlaceKind.PRIVATE, PlaceKind.PUBLIC):
            return None
        earlier = tuple(body["earlier"])
        question = Question(Principal(asked.account), place, asked.text, answerer.doors.clock(), earlier=earlier)
        stored = answered_of(body["answer"], Audience(body["place"], "asker", ""), body["trace"])
        shared = await share(stored, texts_of(exchange), question, replace(answerer.doors, directory=present))
        answerer.log.info("share", place=place.kind.value, outcome=name(shared) if shared else "abstained")
        if shared is None:
            return None
        question_there = "" if body["surface"] == "mention" else asked.text
        return reply(shared, exchange.name, Around(question_there, deleted=True))

    async def _say_for_all(self, pressed: Pressed, exchange: Exchange, message: Message) -> None:
        memory, root = self.answerer.memory, exchange.body["root"]
        try:
            ts = await self.answerer.chat.say(exchange.body["channel"], root or None, message)
        except Skip:
            await memory.exchanges.turn(exchange.name, "sharing", "posted")
            await self._tell(pressed, sentences.NOT_SHARED)
            return
        except DoorError as error:
            if not isinstance(error, Transient) or error.retry_after is not None:
                await memory.exchanges.turn(exchange.name, "sharing", "posted")
            raise
        await memory.keep(posted(replace(exchange, state="shared"), exchange.body["channel"], ts))
        await self._tell(pressed, sentences.SHARED)

    # ------------------------------------------------------------ forms

    async def _submitted(self, form: Submitted, letter: Letter, mark: str) -> None:
        if form.form == "source_add":
            if (commands := self.answerer.commands) is not None:
                holder = Holder(form.asker_team, form.asker)
                await self._say_alone(form, await commands.submitted(holder, form.name, form.words))
            return
        memory = self.answerer.memory
        exchange = await memory.find(form.name)
        if exchange is None or exchange.asker != form.account:
            await self._tell(form, sentences.NOT_DIRECTLY if form.form != "reasons" else sentences.OVER)
        elif form.form == "reasons":
            known = [each for each in form.reasons if each in _KNOWN]
            await memory.exchanges.rate(exchange.name, "bad", known, form.words, memory.clock())
            await self._tell(form, sentences.THANKED)
        else:
            await self.answerer.answer(replace(letter, body=_about_letter(form, exchange, mark)))

    # ------------------------------------------------------------ own pages

    async def _home(self, opened: HomeOpened) -> None:
        answerer = self.answerer
        asked = Asked((), opened.asker, opened.asker_team, "command", "", "")
        us = await answerer.chat.workspace()
        present = Present(asked, us, answerer.chat, answerer.accounts, answerer.doors.directory, 1)
        subject = await present.subject(Principal(opened.account), answerer.doors.clock())
        linked = subject is not None and subject.active is True
        recent: Sequence[Exchange] = ()
        if linked:
            recent = await answerer.memory.exchanges.of(opened.account, 2 * views.MOST_RECENT, answerer.memory.clock())
        listed = tuple((each.at, str(each.body["question"])) for each in recent if each.state != "draft")
        kinds = () if self.sources is None else await self._kinds()
        await answerer.chat.show_home(opened.asker, views.home(views.Home(linked, kinds, listed)))

    async def _kinds(self) -> tuple[str, ...]:
        assert self.sources is not None  # noqa: S101 - the caller looked
        return tuple(each.kind for each in await self.sources.list() if each.state == "active")

    # ------------------------------------------------------------ at once, while a trigger is good

    async def show_reasons(self, pressed: Pressed) -> None:
        """Ask what was wrong, if the answer was his."""
        exchange = await self.answerer.memory.find(pressed.name)
        if exchange is not None and exchange.asker == pressed.account and pressed.trigger:
            with suppress(DoorError):
                await self.answerer.chat.show_view(pressed.trigger, views.reasons(exchange.name))

    async def show_ask(self, about: About, mark: str) -> None:
        """Ask what he wants to know about a message."""
        memory = self.answerer.memory
        body = {"question": "", "text": about.text, "channel": about.channel, "root": about.thread}
        now = memory.clock()
        try:
            await memory.exchanges.keep(Exchange(mark, about.account, "draft", body, now), now + _DRAFT)
            await self.answerer.chat.show_view(about.trigger, views.ask_about(mark, about.text))
        except DoorError:
            with suppress(DoorError):
                await self.answerer.chat.say_direct(about.asker, sentence(sentences.TRY_AGAIN))

    async def _tell(self, whom: Pressed | Submitted, words: str) -> None:
        """One sentence, to him alone."""
        await self._say_alone(whom, sentence(words))

    async def _say_alone(self, whom: Pressed | Submitted, message: Message) -> None:
        if isinstance(whom, Pressed) and whom.reply_to is not None:
            with suppress(Skip):
                await self.answerer.chat.respond(whom.reply_to, message)
                return
        await self.answerer.chat.say_direct(whom.asker, message)


def _asked_again(exchange: Exchange) -> Asked:
    """The question as one for everybody in the place where it was asked."""
    body = exchange.body
    return Asked(
        (), body["user"], body["team"], "mention", body["channel"], body["question"], body["root"], body["root"] or None
    )


def _about_letter(form: Submitted, draft: Exchange, mark: str) -> dict[str, Any]:
    """The letter of a question about a message: its text, and what he added."""
    text = " ".join(part for part in (str(draft.body.get("text") or ""), form.words) if part)
    asked = Asked(
        keys=form.keys,
        asker=form.asker,
        asker_team=form.asker_team,
        surface="shortcut",
        channel=str(draft.body["channel"]),
        text=text,
        ts=str(draft.body["root"]),
        thread=str(draft.body["root"]),
    )
    return letter_of(asked, mark)
