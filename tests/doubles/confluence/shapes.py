"""What both editions say in the same words: people, groups, versions, pages of results by cursor or by start."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any
from urllib.parse import quote_plus, urlencode

from tests.doubles.confluence.serving import Ask, Json
from tests.doubles.confluence.wiki import Content, Group, Limit, Person
from tests.doubles.vendor import Refusal


def instant(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def known(ask: Ask, account: str) -> Json:
    """A person as restrictions and versions name him; of a closed account nothing but its id is left."""
    person = ask.wiki.people.get(account)
    if ask.wiki.edition == "datacenter":
        name = person.username if person else account
        return {"type": "known", "username": name, "userKey": account, "displayName": person.name if person else name}
    if person is None:
        return {"type": "known", "accountId": account, "accountType": "", "email": "", "displayName": "Former user"}
    return {
        "type": "known",
        "accountId": account,
        "accountType": person.kind,
        "email": email_of(person),
        "publicName": person.name,
        "displayName": person.name,
        "isExternalCollaborator": person.guest,
        "isGuest": person.guest,
    }


def email_of(person: Person) -> str:
    """Empty where the profile hides it."""
    return "" if person.hides_email else person.email or ""


def group(ask: Ask, held: Group) -> Json:
    if ask.wiki.edition == "datacenter":
        return {"type": "group", "name": held.name}
    return {"type": "group", "name": held.name, "id": held.id}


def version_v1(ask: Ask, content: Content) -> Json:
    return {
        "by": known(ask, content.owner or content.author),
        "when": instant(content.modified),
        "number": content.version,
        "minorEdit": False,
    }


def titled(text: str) -> str:
    return quote_plus(text)


def webui(ask: Ask, content: Content) -> str:
    """The address of it below the product's context, as `_links.webui` gives it."""
    key = ask.wiki.spaces[content.space].key
    match content.kind:
        case "blogpost":
            return f"/spaces/{key}/blog/{content.created:%Y/%m/%d}/{content.id}/{titled(content.title)}"
        case "attachment":
            return (
                f"/pages/viewpageattachments.action?pageId={content.parent}&preview=%2F{content.parent}%2F{content.id}"
            )
        case "comment":
            return f"/spaces/{key}/pages/{content.parent}?focusedCommentId={content.id}"
        case "page":
            return f"/spaces/{key}/pages/{content.id}/{titled(content.title)}"
        case kind:
            return f"/spaces/{key}/{kind}/{content.id}"


# ---------------------------------------------------------------- restrictions


def restrictions(ask: Ask, content: Content, start: int = 0, limit: int = 200) -> Json:
    """`restrictions.read` and `restrictions.update` of it, each list cut to the same window."""
    return {
        "read": operation(ask, content, "read", content.read, start, limit),
        "update": operation(ask, content, "update", content.update, start, limit),
    }


def operation(ask: Ask, content: Content, name: str, held: Limit, start: int, limit: int) -> Json:
    users, groups = sorted(held.users), sorted(held.groups)
    rows = [ask.wiki.groups[each] for each in groups]
    at = f"/rest/api/content/{content.id}/restriction/byOperation/{name}"
    return {
        "operation": name,
        "restrictions": {
            "user": cut([known(ask, each) for each in users], start, limit, at),
            "group": cut([group(ask, each) for each in rows], start, limit, at),
        },
        "_expandable": {"content": f"/rest/api/content/{content.id}"},
        "_links": {"self": ask.server.base + ask.server.context + at},
    }


def cut(rows: Sequence[Json], start: int, limit: int, at: str) -> Json:
    """One window of a list, with a next link where it goes on."""
    window = rows[start : start + limit]
    made: Json = {"results": list(window), "start": start, "limit": limit, "size": len(window)}
    if start + limit < len(rows):
        made["_links"] = {"next": f"{at}?start={start + limit}&limit={limit}"}
    return made


# ---------------------------------------------------------------- pages of results


def by_cursor(
    ask: Ask,
    rows: Callable[[], Iterable[Any]],
    place: Callable[[Any], str],
    shape: Callable[[Any], Json],
    most: int = 250,
    default: int = 25,
) -> Json:
    """One page of v2: `place` orders the rows and is where a cursor stands; next links are relative, with `/wiki`."""
    limit = ask.number("limit", default)
    if not 1 <= limit <= most:
        raise Refusal(400, f"Provided value {{{limit}}} for 'limit' is not in the range 1..{most}")
    limit = min(limit, ask.server.caps["v2"])  # a page may be shorter than was asked for, and not be the last
    after = opened(ask.query.get("cursor"))
    listed = ordered(ask, rows, place)
    first = 0 if after is None else bisect_right(listed, after, key=itemgetter(0))
    page = listed[first : first + limit]
    made: Json = {"results": [shape(row) for _, row in page], "_links": {"base": ask.server.base + ask.server.context}}
    if first + limit < len(listed):
        kept = {name: value for name, value in ask.query.items() if name != "cursor"}
        made["_links"]["next"] = f"/wiki{ask.path}?{urlencode({**kept, 'cursor': sealed(page[-1][0])})}"
    return made


def ordered(ask: Ask, rows: Callable[[], Iterable[Any]], place: Callable[[Any], str]) -> list[tuple[str, Any]]:
    """The rows by their places; remembered until something changes, so that large listings cost little."""
    kept = tuple(sorted((name, value) for name, value in ask.query.items() if name not in ("cursor", "limit", "start")))
    remembered = ask.server.remembered
    key = ("list", ask.path, kept, ask.person.account)
    if key not in remembered:
        remembered[key] = sorted(((place(row), row) for row in rows()), key=itemgetter(0))
    found: list[tuple[str, Any]] = remembered[key]
    return found


def sealed(place: str) -> str:
    return urlsafe_b64encode(f"at:{place}".encode()).decode()


def opened(cursor: str | None) -> str | None:
    """Where a cursor stands; Refusal(400) for one that was never handed out."""
    if cursor is None:
        return None
    try:
        word, _, place = urlsafe_b64decode(cursor.encode()).decode().partition(":")
    except ValueError:
        raise Refusal(400, "Provided cursor is not valid") from None
    if word != "at":
        raise Refusal(400, "Provided cursor is not valid")
    return place


def by_start(ask: Ask, rows: Sequence[Any], shape: Callable[[Any], Json], most: int, default: int = 25) -> Json:
    """One page by start and limit. The limit is lowered without a word; the next link of Data Center then leads past
    what was left out (CONFSERVER-95272, CONFSERVER-95312)."""
    start, wanted = ask.number("start", 0), ask.number("limit", default)
    limit = max(1, min(wanted, most))
    page = rows[start : start + limit]
    links: Json = {"base": ask.server.base + ask.server.context, "context": ask.server.context}
    if start + len(page) < len(rows):
        onward = start + (wanted if ask.wiki.edition == "datacenter" else len(page))
        kept = {**ask.query, "start": str(onward), "limit": str(wanted)}
        links["next"] = f"{ask.path}?{urlencode(kept)}"
    return {"results": [shape(row) for row in page], "start": start, "limit": limit, "size": len(page), "_links": links}
