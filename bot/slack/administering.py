"""Administering from Slack: who may, what would change, and doing it once it was confirmed.

Whether somebody administers is asked of the directory and of every system each time, also when he confirms, whatever
they said before. What changes something is
shown with its counts first; a ticket that works once, for him alone, does it. Taking a document out takes two people.
Replies are for the administrator alone, and every command is in the audit record, those refused too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from bot.acts import Act, act
from bot.errors import WrongUse
from bot.indexing import Indexing
from bot.keeping import Keeping, add_source, change_state, overview, secrets_of, state_of, sync_named
from bot.linking.linking import Holder
from bot.looking import Looking, Part, who, why
from bot.slack import adding, told
from bot.slack.administrators import Administrators
from bot.slack.blocks import sentence
from bot.slack.grammar import (
    Confirm,
    Help,
    Lag,
    Line,
    Probe,
    Purge,
    ShowTrace,
    SourceLine,
    WhoReads,
    name_of,
)
from connectors.chat import Chat, Message
from connectors.errors import DoorError, Skip
from connectors.logins import Ticket, Tickets
from connectors.ports import Finding, NowDirectory, Source, SourceConfig, TraceLog
from connectors.records import Skipped, Upsert
from policies.facts import Kind, Subject
from policies.names import DocumentId, Principal

SHOWN_FOR = timedelta(minutes=10)  # that what was shown can be confirmed
SECOND_FOR = timedelta(hours=4)  # that a second administrator has
_KIND = "admin"
_KINDS = {"confluence": "Confluence", "sharepoint": "SharePoint", "files": "folders of files"}
_MOST_LISTED = 60  # people
_MOST_CLAUSES = 5
_ROOM = 1_500  # characters of people
_DRY_RUN = 60.0  # seconds for looking at a source that is to be added
_GRACE = 10.0  # seconds for what runs beside when we are told to end
_LONGEST_TOLD = 500  # characters of an error that is told

Json = dict[str, Any]
Work = Callable[[], Awaitable[str]]
"""What takes long; gives its ending in words."""


@dataclass(frozen=True, slots=True)
class Doors:
    """Everything that administering takes."""

    chat: Chat
    directory: NowDirectory
    keeping: Keeping
    indexing: Indexing
    looking: Looking
    traces: TraceLog
    tickets: Tickets
    administrators: Administrators
    admin_group: Principal | None
    reviewer_group: Principal | None
    clock: Callable[[], datetime]
    log: Any


@dataclass(frozen=True, slots=True)
class Administering:
    """Carries out what administrators write, as an async context."""

    doors: Doors
    looking_for: float = 15.0  # seconds for going through the directory
    _beside: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Administering:
        return self

    async def __aexit__(self, *_: object) -> None:
        """What runs beside gets a moment; everything can be ended at any point and goes on by the same command."""
        if self._beside:
            _done, left = await asyncio.wait(self._beside, timeout=_GRACE)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def searched(self) -> Message:
        """What is searched, for everybody: kinds of systems, and no name of anything."""
        kinds = {each.kind for each in await self.doors.keeping.sources.list() if each.state == "active"}
        named = sorted(_KINDS.get(kind, kind) for kind in kinds)
        if not named:
            return sentence("Nothing is searched yet: no source was added.")
        return sentence(f"I search {' and '.join(named)}, and there only what you may read.")

    async def do(self, holder: Holder, command: Line, text: str, trigger: str = "") -> Message:
        """Carry out a command, or say why not; `text` is the line as it was written, `trigger` opens a form for it."""
        now = self.doors.clock()
        subject = await self._subject(holder, now)
        actor = str(subject.person) if subject is not None else holder.account
        async with act(self.doors.traces, "admin", name_of(command), actor, now, text) as done:
            if problem := self._may_not(subject, command):
                done.outcome = "refused"
                return sentence(problem)
            assert subject is not None  # noqa: S101 - nobody is let in without one
            if self.doors.admin_group in subject.principals:
                self.doors.administrators.met(subject)
            try:
                if isinstance(command, SourceLine) and command.verb == "add":
                    return await self._form(command.name, trigger)
                return await self._carried_out(holder, subject, command, done)
            except (WrongUse, DoorError) as error:
                done.outcome = "refused" if isinstance(error, WrongUse) else "failed"
                return _worded(str(error))

    # ------------------------------------------------------------ who may

    async def _subject(self, holder: Holder, now: datetime) -> Subject | None:
        """The person, if his account in Slack is a full member's of ours and his own is open."""
        us = await self.doors.chat.workspace()
        try:
            account = await self.doors.chat.account(holder.user)
        except Skip:
            return None
        if holder.team != us.home or not us.employs(account):
            return None
        found = await self.doors.directory.subject(Principal(holder.account), now, fresh=True)
        return found if found is not None and found.active is True and found.kind == Kind.MEMBER else None

    def _may_not(self, subject: Subject | None, command: Line) -> str | None:
        groups = [self.doors.admin_group]
        if isinstance(command, ShowTrace):
            groups.append(self.doors.reviewer_group)
        named = [group for group in groups if group is not None]
        if not named:
            return told.NO_GROUP
        allowed = subject is not None and any(group in subject.principals for group in named)
        return None if allowed else told.NOT_ADMIN

    # ------------------------------------------------------------ the commands

    async def _carried_out(self, holder: Holder, subject: Subject, command: Line, done: Act) -> Message:
        match command:
            case SourceLine("list"):
                return await self._list()
            case SourceLine("show", name):
                return await self._show(name)
            case SourceLine("sync", name, full):
                done.sealed["before"] = await self._state("sync", name)  # a name that nobody knows is said at once
                return self._begin(holder, str(subject.person), "sync", name, partial(self._sync, name, full=full))
            case SourceLine(verb, name):
                return await self._shown_first(holder, subject, verb, name)
            case Probe(person, document):
                return await self._probe(person, document)
            case WhoReads(document, after):
                return await self._who(document, after)
            case Lag():
                return await self._lag()
            case ShowTrace(trace):
                return await self._trace(trace)
            case Purge(document):
                return await self._purge_shown(holder, subject, document)
            case Confirm(secret):
                return await self._confirmed(holder, subject, secret, done)
            case Help():
                return told.listing("What administrators can write behind /footnote", told.HELP.splitlines())

    async def _list(self) -> Message:
        rows = [
            (each["name"], each["kind"], each["state"], each["documents"], told.when(each["last_run"]))
            async for each in overview(self.doors.keeping)
        ]
        if not rows:
            return sentence("There is no source yet. `/footnote source add files` adds one.")
        return told.listing("Sources", told.table([("source", "kind", "state", "documents", "last run"), *rows]))

    async def _show(self, name: str) -> Message:
        state = await state_of(self.doors.keeping, name)
        problems = state.pop("problems")
        lines = told.table([(key, value) for key, value in state.items() if not isinstance(value, list)])
        lines += [f"{each['document']}: {each['reason']}" for each in problems]
        return told.listing(f"Source {name}, with {len(problems)} problems", lines)

    async def _lag(self) -> Message:
        rows = [
            (each["name"], each["state"], told.behind(each["lag_seconds"]))
            async for each in overview(self.doors.keeping)
        ]
        return told.listing("How far behind", told.table([("source", "state", "behind"), *rows]))

    async def _probe(self, person: str, document: str) -> Message:
        found = await why(self.doors.looking, person, document, self.doors.clock())
        verdict = "may" if found.allowed else "may not"
        lines = [f"check: {found.check}"] if found.check else []
        lines += [f"reason: {found.reason}"]
        for clause, held in zip(found.clauses, found.held or [()] * len(found.clauses), strict=False):
            is_of = ", ".join(map(str, held)) or "none of them"
            lines.append(f"one of: {', '.join(map(str, clause))} — the person is {is_of}")
        verified = found.verified_at.isoformat(timespec="seconds") if found.verified_at else "never"
        lines += [f"policy {found.policy_version[:12]}, rules read {verified}"]
        return told.listing(f"{person} {verdict} read {found.document}", lines)

    async def _who(self, document: str, after: str) -> Message:
        part = Part(after, self.looking_for, _MOST_LISTED)
        found = await who(self.doors.looking, document, self.doors.clock(), part=part)
        lines = [f"one of: {', '.join(map(str, clause))}" for clause in found.clauses[:_MOST_CLAUSES]]
        if more := len(found.clauses) - len(lines):
            lines.append(f"and of {more} more that are not shown")
        lines += [found.reason] if found.reason else []
        shown = told.fitting(found.people, _ROOM)
        where = f" after {after}" if after else ""
        lines += [f"{_people(len(shown))} of the directory{where}:", *shown]
        cut = len(shown) < len(found.people)
        if not (cut or found.left):
            return told.listing(f"Who may read {found.document}", lines)
        on = f"There may be more: /footnote who {_quoted(document)} {shown[-1] if cut else found.until}"
        return told.listing(f"Who may read {found.document}", lines, after=on.rstrip())

    async def _trace(self, trace: str) -> Message:
        """Verdicts and counts alone: which documents they are about is for who may open those."""
        view = await self.doors.traces.show(trace, self.doors.clock())
        if view is None:
            return sentence("There is no such trace.")
        return told.listing(f"Trace {trace}", told.of_trace(view.summary.state, view.begin, view.end or {}))

    # ------------------------------------------------------------ what changes something

    async def _shown_first(self, holder: Holder, subject: Subject, verb: str, name: str) -> Message:
        state = await state_of(self.doors.keeping, name)
        counts = f"{state['documents']} documents, {state['chunks']} passages, now {state['state']}"
        effect = {
            "pause": "It is not synced any more; what it grants lapses with its lease.",
            "resume": "It is synced again.",
            "remove": "Nobody is answered from it from that moment on, and all that was read from it is forgotten.",
            "reindex": "Every document of it is read, embedded and published anew; answers go on meanwhile.",
        }[verb]
        secret = await self._ticket(holder, subject, {"verb": verb, "name": name}, SHOWN_FOR)
        return told.to_confirm(f"{verb} source {name}?", [counts, effect], secret, danger=verb == "remove")

    async def _form(self, kind: str, trigger: str) -> Message:
        """Open the form for a new source."""
        if kind not in adding.KINDS:
            raise WrongUse(f"there is no kind of source {kind!r}; there are {', '.join(adding.KINDS)}")
        try:
            await self.doors.chat.show_view(trigger, adding.form(kind))
        except Skip:
            return sentence(told.FORM_LATE)
        return sentence(told.FORM)

    async def add(self, holder: Holder, kind: str, given: Mapping[str, str]) -> Message:
        """A form for a new source was sent off: look at the source, change nothing, and show what would be added."""
        now = self.doors.clock()
        subject = await self._subject(holder, now)
        command = SourceLine("add", kind)
        actor = str(subject.person) if subject is not None else holder.account
        text = f"source add {kind} {given.get('name', '')}"
        async with act(self.doors.traces, "admin", name_of(command), actor, now, text) as done:
            if problem := self._may_not(subject, command):
                done.outcome = "refused"
                return sentence(problem)
            assert subject is not None  # noqa: S101 - nobody is let in without one
            try:
                name, settings = adding.settings_of(kind, given)
                await self._no_secret_elsewhere(kind, settings)
                lines = await self._looked_at(SourceConfig(name, kind, settings))
            except (WrongUse, DoorError) as error:
                done.outcome = "refused"
                return _worded(str(error))
            body = {"verb": "add", "name": name, "kind": kind, "settings": dict(settings)}
            secret = await self._ticket(holder, subject, body, SHOWN_FOR)
            return told.to_confirm(f"Add the source {name}?", lines, secret, danger=False)

    async def _no_secret_elsewhere(self, kind: str, settings: Mapping[str, Any]) -> None:
        """Refuse a source that would send another one's secret, whichever of them, to another address: looking at it
        sends it already."""
        for other in await self.doors.keeping.sources.list():
            shared = not secrets_of(settings).isdisjoint(secrets_of(other.settings))
            if shared and _address(other.kind, other.settings) != _address(kind, settings):
                raise WrongUse(
                    f"its secret is one of source {other.name!r}, which is at another address; name one of its own"
                )

    async def _looked_at(self, config: SourceConfig) -> list[str]:
        known = await self.doors.keeping.sources.get(config.name)
        if known is not None:
            return [f"There is a source of this name already; it is {known.state}, and its settings stay as they are."]
        async with self.doors.keeping.open_source(config, hurried=True) as opened:
            if opened.far is not None:
                return _findings(await opened.far.probe(self.doors.clock()))
            return [*(f"{key}: {value}" for key, value in config.settings.items()), *await self._walked(opened.source)]

    async def _walked(self, source: Source) -> list[str]:
        """What a first sync would read, without reading it in."""
        documents, skipped, more = 0, 0, ""
        changes = source.changes(None, self.doors.clock())
        try:
            async with asyncio.timeout(_DRY_RUN):
                async for change in changes:
                    documents += isinstance(change, Upsert)
                    skipped += isinstance(change, Skipped)
        except TimeoutError:
            more = " so far; there are more"
        finally:
            with suppress(Exception):  # a source that can't be closed was only looked at
                await changes.aclose()
        return [f"documents that would be read: {documents}{more}", f"documents that can't be used: {skipped}"]

    async def _purge_shown(self, holder: Holder, subject: Subject, text: str) -> Message:
        found = await self.doors.looking.documents.find(text, 6)
        if len(found) != 1:
            which = ", ".join(map(str, found[:5])) or "no document"
            return _worded(f"{text!r} names {which}; write the whole name of one document.")
        [document] = found
        readers = await who(self.doors.looking, str(document), self.doors.clock(), part=Part(seconds=self.looking_for))
        more = f" at least; {_people(readers.left)} not looked at" if readers.left else ""
        lines = [
            f"may be read now by {_people(len(readers.people))}{more}",
            "Nobody is answered from it from that moment on, and its passages leave the index.",
            "Take it away at its source first: while it is there, the next sync brings it back.",
            f"asked for by {subject.person}",
        ]
        secret = await self._ticket(holder, subject, {"verb": "purge", "name": str(document)}, SECOND_FOR)
        message = told.to_confirm(f"Purge {document}?", lines, secret)
        asked = await self._tell_others(holder, message)
        whom = f"{asked} administrator{'' if asked == 1 else 's'}" if asked else "nobody, since none was found"
        return sentence(
            f"Asked to confirm it: {whom}. Nothing has changed yet. Another administrator, never you, can also write "
            f"`/footnote confirm {secret}`."
        )

    async def _tell_others(self, holder: Holder, message: Message) -> int:
        told_to = 0
        for account in await self.doors.administrators.accounts(holder.team):
            if account != holder.user:
                with suppress(DoorError):
                    await self.doors.chat.say_direct(account, message)
                    told_to += 1
        return told_to

    async def _ticket(self, holder: Holder, subject: Subject, body: Json, lives: timedelta) -> str:
        now = self.doors.clock()
        whole = {**body, "by": str(subject.person), "account": holder.account}
        return await self.doors.tickets.issue(_KIND, holder.account, whole, now, now + lives, only=False)

    async def _confirmed(self, holder: Holder, subject: Subject, secret: str, done: Act) -> Message:
        now = self.doors.clock()
        ticket = await self.doors.tickets.look(_KIND, secret, now)
        if problem := _not_his(ticket, holder, subject):
            done.outcome = "refused"
            return sentence(problem)
        if ticket is not None and ticket.body["verb"] == "purge" and not await self._still_asks(ticket, now):
            done.outcome = "refused"
            return sentence(told.ASKER_GONE)
        if ticket is None or not await self.doors.tickets.turn(_KIND, secret, ("new", "used"), None, now):
            done.outcome = "refused"
            return sentence(told.USED)
        return await self._done(holder, ticket.body, done)

    async def _still_asks(self, ticket: Ticket, now: datetime) -> bool:
        """Whether the one who asked for it is still himself, and may still ask for it."""
        _, team, user = str(ticket.body["account"]).split(":")
        asker = await self._subject(Holder(team, user), now)
        himself = asker is not None and str(asker.person) == ticket.body["by"]
        return himself and self._may_not(asker, Purge(ticket.body["name"])) is None

    async def _done(self, holder: Holder, body: Mapping[str, Any], done: Act) -> Message:
        verb, name, actor = body["verb"], body["name"], body["by"]
        done.sealed["before"] = await self._state(verb, name)
        match verb:
            case "add":
                added = await add_source(self.doors.keeping, name, body["kind"], body["settings"])
                done.sealed["after"] = _json(added)
                if added["state"] == "refused":
                    done.outcome = "refused"
                    return _worded(f"{name} was not added: what is essential for it is not as it must be now.")
                return self._begin(holder, actor, "sync", name, partial(self._sync, name, full=False))
            case "pause" | "resume":
                state = {"pause": "paused", "resume": "active"}[verb]
                changed = await change_state(self.doors.keeping, name, state)
                done.sealed["after"] = _json(changed)
                return sentence(f"Source {name} is {changed['state']}.")
            case "remove":
                return self._begin(holder, actor, "remove", name, partial(self._remove, name))
            case "reindex":
                again = await self.doors.indexing.holdings.reread(name)
                done.sealed["after"] = _json({"to_read_again": again})
                return self._begin(holder, actor, "reindex", name, partial(self._sync, name, full=True))
            case _:
                removed = await self._purge(DocumentId.parse(name))
                done.sealed["after"] = _json({"document": name, "asked_by": body["by"], "passages_removed": removed})
                return _worded(f"{name} is purged. Passages that left the index: {removed}.")

    async def _state(self, verb: str, name: str) -> str:
        if verb in ("add", "purge"):
            return _json({"name": name})
        state = await state_of(self.doors.keeping, name)
        return _json({key: state[key] for key in ("name", "state", "documents", "chunks")})

    async def _state_now(self, name: str) -> str:
        """As `_state`, also of a source that is gone."""
        try:
            return await self._state("show", name)
        except WrongUse:
            return _json({"name": name, "state": "gone"})

    async def _purge(self, document: DocumentId) -> int:
        """Close, then clean."""
        await self.doors.keeping.catalog.entomb(document, "purged by administrators", self.doors.clock())
        removed = await self.doors.keeping.index.retire(document, frozenset())
        await self.doors.keeping.catalog.retired(document)
        return removed

    # ------------------------------------------------------------ what takes long

    async def _sync(self, name: str, *, full: bool) -> str:
        report = await sync_named(self.doors.keeping, name, full=full)
        counts = ", ".join(f"{report[key]} {key.replace('_', ' ')}" for key in ("seen", "upserted", "deleted"))
        ending = "" if report["complete"] else "; it did not get through to the end"
        return f"{counts}, {len(report['skipped'])} skipped in {report['seconds']:.0f} s{ending}"

    async def _remove(self, name: str) -> str:
        await change_state(self.doors.keeping, name, "removed")
        return "nothing of it is left"

    def _begin(self, holder: Holder, actor: str, verb: str, name: str, work: Work) -> Message:
        task = asyncio.create_task(self._told_after(holder, actor, verb, name, work))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return sentence(told.BEGUN)

    async def _on_record(self, actor: str, verb: str, name: str, work: Work) -> str:
        """Do it under a trace of its own, which ends when it does: what was there before, and what is there after."""
        now, what = self.doors.clock(), f"source {verb} {name}"
        async with act(self.doors.traces, "admin", f"source.{verb}.work", actor, now, what) as done:
            done.sealed["before"] = await self._state_now(name)
            try:
                return await work()
            finally:
                with suppress(DoorError):
                    done.sealed["after"] = await self._state_now(name)

    async def _told_after(self, holder: Holder, actor: str, verb: str, name: str, work: Work) -> None:
        try:
            ending = await self._on_record(actor, verb, name, work)
        except (WrongUse, DoorError) as error:
            ending = str(error)
        except Exception as error:  # a task boundary: whatever broke, the administrator is told that it did
            self.doors.log.error("administering", error=type(error).__name__, exc_info=True)
            ending = "it broke off; the log says where"
        with suppress(DoorError):
            await self.doors.chat.say_direct(
                holder.user, sentence(f"source {verb} {name}: {ending}"[:_LONGEST_TOLD].replace("`", "'"))
            )


def _address(kind: str, settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """Where a source's secrets are sent."""
    return kind, *(settings.get(name) for name in ("base_url", "login_url", "graph_url"))


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"


def _worded(text: str) -> Message:
    """A text that holds words from outside: nothing in it is shown as code."""
    return sentence(text[:_LONGEST_TOLD].replace("`", "'"))


def _findings(findings: Sequence[Finding]) -> list[str]:
    """What was found at a far source; WrongUse where it can't be added as it is."""
    lacking = [
        f"{each.check}: {each.problem} {each.fix}".strip() for each in findings if each.essential and not each.ok
    ]
    if lacking:
        raise WrongUse(f"it can't be added as it is. {'; '.join(lacking)}")
    return [f"{'ok' if each.ok else 'note'}: {each.check} {each.problem}".strip() for each in findings]


def _not_his(ticket: Ticket | None, holder: Holder, subject: Subject) -> str | None:
    if ticket is None or ticket.state != "new":
        return told.USED
    himself = ticket.body["by"] == str(subject.person)
    if ticket.body["verb"] == "purge":
        return told.SECOND if himself or ticket.body["account"] == holder.account else None
    return None if himself and ticket.body["account"] == holder.account else told.USED


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(dict(content), ensure_ascii=False, default=str)
