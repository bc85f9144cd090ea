"""The small part of CQL that is asked here: `and` of comparisons, lists, functions, and one `order by`.

After the vendor's reference: times have minutes and are read in the instance's zone; what is not understood is 400.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.doubles.confluence.wiki import Content, Wiki
from tests.doubles.vendor import Refusal

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\'[^\']*\'|[()]|,|!=|>=|<=|=|>|<|~|[^\s()=,<>!~"\']+)')
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_ORDERS = {"lastmodified", "created", "id", "title", "type"}
Test = Callable[[Content], bool]


def parse(text: str, wiki: Wiki) -> tuple[Test, str | None, bool]:
    """What a query lets through, what it is ordered by, and whether that is descending; Refusal(400) else."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens).replace(" ", "") != re.sub(r"\s", "", text):
        raise Refusal(400, f"Could not parse cql : {text}")
    tests: list[Test] = []
    order, descending, at = None, False, 0
    while at < len(tokens):
        word = tokens[at].casefold()
        if word == "and" and tests:
            at += 1
            continue
        if word == "order":
            order, descending = _order(tokens[at:], text)
            break
        test, at = _comparison(tokens, at, wiki, text)
        tests.append(test)
    if not tests:
        raise Refusal(400, f"Could not parse cql : {text}")
    return (lambda content: all(test(content) for test in tests)), order, descending


def _order(tokens: list[str], text: str) -> tuple[str, bool]:
    if len(tokens) < 3 or tokens[1].casefold() != "by" or tokens[2].casefold() not in _ORDERS:
        raise Refusal(400, f"Could not parse cql : {text}")
    return tokens[2].casefold(), len(tokens) > 3 and tokens[3].casefold() == "desc"


def _comparison(tokens: list[str], at: int, wiki: Wiki, text: str) -> tuple[Test, int]:
    try:
        name, operator = tokens[at].casefold(), tokens[at + 1].casefold()
        if operator == "in":
            end = tokens.index(")", at)
            values, after = [_bare(each) for each in tokens[at + 3 : end] if each != ","], end + 1
        elif tokens[at + 3 : at + 4] == ["("]:
            end = tokens.index(")", at)
            values, after = [f"{tokens[at + 2]}({_bare(tokens[at + 4])})" if end > at + 4 else "now()"], end + 1
        else:
            values, after = [_bare(tokens[at + 2])], at + 3
    except (IndexError, ValueError):
        raise Refusal(400, f"Could not parse cql : {text}") from None
    return _test(name, operator, values, wiki, text), after


def _test(name: str, operator: str, values: list[str], wiki: Wiki, text: str) -> Test:
    if name in ("lastmodified", "created"):
        bound = _time(values[0], wiki)
        return lambda content: _compared(_indexed(content, name, wiki), operator, bound)
    wanted = {each.casefold() for each in values}

    def found(content: Content) -> set[str]:
        match name:
            case "space" | "space.key":
                return {wiki.spaces[content.space].key.casefold()}
            case "type":
                return {content.kind}
            case "id" | "content":
                return {content.id.casefold()}
            case "parent":
                return {(content.parent or "").casefold()}
            case "container":
                return {(content.parent or "").casefold()}
            case "ancestor":
                return {each.id.casefold() for each in wiki.chain(content)}
            case "label":
                return {each.casefold() for each in content.labels}
            case "title":
                return {content.title.casefold()}
            case "space.type":
                return {wiki.spaces[content.space].kind}
            case _:
                raise Refusal(400, f"No field exists with name: {name} in {text}")

    match operator:
        case "=" | "in":
            return lambda content: bool(found(content) & wanted)
        case "!=":
            return lambda content: not found(content) & wanted
        case _:
            raise Refusal(400, f"Could not parse cql : {text}")


def _indexed(content: Content, name: str, wiki: Wiki) -> datetime | None:
    """The time as the search index has it: behind by its lag, and nothing for what it has not met yet."""
    horizon = wiki.at - wiki.lag
    if content.created > horizon:
        return None
    if name == "created":
        return content.created
    return content.modified if content.modified <= horizon else content.before


def in_index(content: Content, wiki: Wiki) -> bool:
    """Whether the search index has met it."""
    return content.created <= wiki.at - wiki.lag


def _compared(value: datetime | None, operator: str, bound: datetime) -> bool:
    if value is None:
        return False
    minute = value.replace(second=0, microsecond=0)
    outcomes: dict[str, Any] = {
        ">=": minute >= bound,
        ">": minute > bound,
        "<=": minute <= bound,
        "<": minute < bound,
        "=": minute == bound,
    }
    if operator not in outcomes:
        raise Refusal(400, f"times can't be compared by {operator!r}")
    return bool(outcomes[operator])


def _time(text: str, wiki: Wiki) -> datetime:
    relative = re.fullmatch(r"now\((?:-(\d+)([mhdw]))?\)", text)
    if relative:
        back = timedelta(**{_UNITS[relative[2]]: int(relative[1])}) if relative[1] else timedelta(0)
        return (wiki.at - back).replace(second=0, microsecond=0)
    for form in ("%Y-%m-%d %H:%M", "%Y/%m/%d %H:%M", "%Y-%m-%d", "%Y/%m/%d"):
        try:
            return _in_zone(datetime.strptime(text, form), wiki.zone)  # noqa: DTZ007 - the zone is the instance's
        except ValueError:
            continue
    raise Refusal(400, f"Could not parse {text!r} as a date; use yyyy-MM-dd HH:mm")


def _in_zone(local: datetime, zone: ZoneInfo) -> datetime:
    """The instant of a local time; one that a change to summer time left out does not exist."""
    at = local.replace(tzinfo=zone).astimezone(UTC)
    if at.astimezone(zone).replace(tzinfo=None) != local:
        raise Refusal(400, "Illegal instant due to time zone offset transition")
    return at


def _bare(token: str) -> str:
    if token[:1] in "\"'" and token[-1:] == token[:1]:
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    return token
