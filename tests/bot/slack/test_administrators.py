"""Whom administrators are, where another system than the directory says so, and telling them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.slack.administrators import Administrators
from bot.slack.blocks import sentence
from connectors.chat import Message, Workspace
from connectors.errors import Transient
from connectors.ports import PersonRecord
from policies.facts import Kind, Subject
from policies.names import Principal
from tests.conftest import NOW
from tests.doubles.slack_house import Log
from tests.memory import MemoryPeople

TEAM = "T1"
FAR, OWN = Principal("sp:T:g:admins"), Principal("grp:admins")


@dataclass
class Systems:
    """A directory where another system says who is in the group, and takes its time over some."""

    admins: Sequence[str]
    slow: Sequence[str] = ()
    troubled: Sequence[str] = ()
    closed: Sequence[str] = ()
    asked: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def subject(self, who: Principal, now: datetime, *, guest: bool = False, fresh: bool = False) -> Subject:
        name = who.name.removeprefix("usr:").partition("@")[0]
        self.asked.append(name)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(60 if name in self.slow else 0)
        finally:
            self.at_once -= 1
        if name in self.troubled:
            raise Transient("busy")
        found = frozenset([who, FAR] if name in self.admins else [who])
        return Subject(who, Kind.MEMBER, name not in self.closed, found, now)


class Chat:
    def __init__(self) -> None:
        self.said: list[str] = []

    async def workspace(self) -> Workspace:
        return Workspace(TEAM, "U0BOT")

    async def say_direct(self, user: str, message: Message) -> None:
        self.said.append(user)


def administrators(people: Sequence[str], systems: Systems, group: Principal = FAR, **more: Any) -> Administrators:
    """Of these linked people; who is called `listed…` is in the directory's own group."""
    known = MemoryPeople()
    for name in people:
        groups = (str(group),) if name.startswith("listed") else ()
        email = f"{name}@example.com"
        known.people[email] = PersonRecord(email, name, "member", True, groups, {f"slack:{TEAM}": f"U-{name}"})
    return Administrators(Chat(), known, systems, group, lambda: NOW, Log(), **more)  # type: ignore[arg-type]


def numbered(count: int) -> list[str]:
    return [f"p{number:03}" for number in range(count)]


async def test_the_members_of_another_systems_group_are_found_and_told() -> None:
    systems = Systems(["p003", "p017", "p018", "p019"], troubled=["p018"], closed=["p019"])
    them = administrators([*numbered(40), "listed"], systems)
    await them.tell(sentence("Look."))

    assert them.chat.said == ["U-listed", "U-p003", "U-p017"]  # type: ignore[attr-defined]
    assert systems.most_at_once == 8


async def test_no_other_system_is_asked_about_a_group_of_the_directory() -> None:
    systems = Systems([])

    assert await administrators(["listed", "p1"], systems, OWN).accounts(TEAM) == ["U-listed"]
    assert systems.asked == []


async def test_a_system_that_takes_its_time_is_waited_for_so_long_and_in_the_end_everybody_was_asked_about() -> None:
    people = numbered(24)
    systems = Systems(["p020"], slow=people[:16])
    them = administrators(people, systems, patience=0.05)

    found = [await them.accounts(TEAM) for _ in range(4)]

    assert found == [[], [], ["U-p020"], ["U-p020"]]
    assert systems.asked.index("p020") < 24


async def test_who_was_met_is_asked_about_first() -> None:
    people = numbered(24)
    systems = Systems(["p020"], slow=people[:16])
    them = administrators(people, systems, patience=0.05)
    them.met(await systems.subject(Principal.person("p020@example.com"), NOW))

    assert await them.accounts(TEAM) == ["U-p020"]


async def test_only_so_many_are_told() -> None:
    people = numbered(60)

    assert len(await administrators(people, Systems(people)).accounts(TEAM)) == 20


async def test_where_nobody_could_be_told_the_log_says_so() -> None:
    them = administrators(numbered(3), Systems([]))
    await them.tell(sentence("Look."))

    assert "nobody could be told" in str(them.log)
