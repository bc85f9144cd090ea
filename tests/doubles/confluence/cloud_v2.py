"""Cloud's REST API v2, in the shapes of its OpenAPI description: cursors, ids as strings, relative next links."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from tests.doubles.confluence.serving import Ask, Endpoint, Json, Table
from tests.doubles.confluence.shapes import by_cursor, email_of, instant, webui
from tests.doubles.confluence.wiki import CONTAINERS, Content, Space
from tests.doubles.vendor import Refusal

KINDS = {
    "pages": "page",
    "blogposts": "blogpost",
    "folders": "folder",
    "whiteboards": "whiteboard",
    "databases": "database",
    "embeds": "embed",
    "attachments": "attachment",
}
_ANCESTORS_AT_ONCE = 250
_LABELS_INCLUDED = 50

# ---------------------------------------------------------------- one of them


def version(content: Content) -> Json:
    return {
        "number": content.version,
        "message": "",
        "minorEdit": False,
        "authorId": content.owner or content.author,
        "createdAt": instant(content.modified),
    }


def body(ask: Ask, content: Content) -> Json:
    """The body in the format that was asked for; the server fails on one that it can't render (CONFCLOUD-76433)."""
    form = ask.query.get("body-format")
    if form is None or content.kind in ("folder", "whiteboard", "database", "embed", "attachment"):
        return {}
    if content.broken:
        raise Refusal(500, "Internal Server Error")
    match form:
        case "storage":
            return {"storage": {"representation": "storage", "value": content.body}}
        case "atlas_doc_format":
            value = content.adf or '{"type":"doc","content":[],"version":1}'
            return {"atlas_doc_format": {"representation": "atlas_doc_format", "value": value}}
        case "view":
            return {"view": {"representation": "view", "value": content.body}}
        case _:
            raise Refusal(400, f"Provided value {{{form}}} for 'body-format' is not valid")


def download_link(content: Content) -> str:
    """Where a file can be had, below the product's base."""
    return f"/download/attachments/{content.parent}/{quote(content.title, safe='')}?version={content.version}"


def shaped(ask: Ask, content: Content) -> Json:
    """A content as its own endpoint and the listings give it."""
    made: Json = {
        "id": content.id,
        "status": content.status,
        "title": content.title,
        "spaceId": content.space,
        "authorId": content.author,
        "createdAt": instant(content.created),
        "version": version(content),
        "_links": {"webui": webui(ask, content)},
    }
    match content.kind:
        case "attachment":
            holder = ask.wiki.content[content.parent or ""]
            made |= {
                "blogPostId" if holder.kind == "blogpost" else "pageId": content.parent,
                "mediaType": content.media_type,
                "fileId": f"file-{content.id}",
                "fileSize": len(content.bytes),
                "comment": "",
                "webuiLink": webui(ask, content),
                "downloadLink": download_link(content),
            }
            made["_links"]["download"] = made["downloadLink"]
            del made["spaceId"]
        case "comment":
            made |= _comment(ask, content)
        case "blogpost":
            made |= {"body": body(ask, content)}
        case _:
            parent = ask.wiki.content.get(content.parent or "")
            made |= {
                "parentId": content.parent,
                "parentType": parent.kind if parent else None,
                "position": int(content.id),
                "ownerId": content.owner or content.author,
                "lastOwnerId": None,
                "body": body(ask, content),
            }
            if content.kind == "page":
                made["subtype"] = content.subtype
    return made


def _comment(ask: Ask, content: Content) -> Json:
    holder = ask.wiki.content[content.parent or ""]
    if holder.kind == "comment":
        return {"parentCommentId": holder.id, "body": body(ask, content)}
    return {"blogPostId" if holder.kind == "blogpost" else "pageId": holder.id, "body": body(ask, content)}


def one(kind: str) -> Endpoint:
    """`GET /pages/{id}` and its kin."""

    def endpoint(ask: Ask) -> Json:
        content = ask.content(ask.parts[0], kind)
        if content.status == "draft" and ask.query.get("get-draft") != "true":
            raise Refusal(404, "not found")
        made = shaped(ask, content)
        if ask.query.get("include-labels") == "true":
            rows, more = _labels(content), len(content.labels) > _LABELS_INCLUDED
            meta = {"hasMore": more, "cursor": "on" if more else ""}
            made["labels"] = {"results": rows[:_LABELS_INCLUDED], "meta": meta, "_links": {}}
        return made

    return endpoint


def versions(kind: str) -> Endpoint:
    """`GET /pages/{id}/versions`: the one of now with it, each with its body where that was asked for."""

    def endpoint(ask: Ask) -> Json:
        content = ask.content(ask.parts[0], kind)

        def row(each: Content) -> Json:
            told = {"id": content.id, "title": each.title, "body": body(ask, each)}
            return version(each) | ({kind: told} if "body-format" in ask.query else {})

        return by_cursor(ask, lambda: [*content.past, content], _place(ask), row)

    return endpoint


def _labels(content: Content) -> list[Json]:
    return [{"id": f"{content.id}{at}", "name": name, "prefix": "global"} for at, name in enumerate(content.labels)]


# ---------------------------------------------------------------- many of them


def _statuses(ask: Ask, default: set[str]) -> set[str]:
    return set(ask.many("status")) or default


def _place(ask: Ask) -> Callable[[Content], str]:
    """Where a row stands in the order that was asked for, as text that sorts so."""
    match ask.query.get("sort", "id"):
        case "id":
            return lambda content: f"{content.id.removeprefix('att'):0>12}"
        case "-modified-date":
            return lambda content: f"{10**15 - int(content.modified.timestamp() * 1000):016}{content.id}"
        case "modified-date":
            return lambda content: f"{int(content.modified.timestamp() * 1000):016}{content.id}"
        case "-created-date":
            return lambda content: f"{10**15 - int(content.created.timestamp() * 1000):016}{content.id}"
        case other:
            raise Refusal(400, f"Provided value {{{other}}} for 'sort' is not valid")


def listing(kind: str, of_space: bool = False) -> Endpoint:
    """`GET /pages`, `GET /spaces/{id}/pages` and their kin."""

    def endpoint(ask: Ask) -> Json:
        spaces = {_space(ask, ask.parts[0]).id} if of_space else set(ask.many("space-id"))
        usual = {"current", "archived"} if kind == "page" else {"current"}
        statuses = _statuses(ask, usual)
        top_only = ask.query.get("depth") == "root"

        def rows() -> Iterable[Content]:
            return (
                each
                for each in ask.wiki.content.values()
                if each.kind == kind
                and each.status in statuses
                and (not spaces or each.space in spaces)
                and not (top_only and each.parent)
                and (of_space or ask.wiki.spaces[each.space].status == "current" or spaces)
                and ask.sees(each)
            )

        return by_cursor(ask, rows, _place(ask), lambda each: shaped(ask, each))

    return endpoint


def beside(kind: str, inline: bool | None = None) -> Endpoint:
    """What belongs to a page, or to a comment: its attachments, its remarks."""

    def endpoint(ask: Ask) -> Json:
        holder = ask.content(ask.parts[0])
        statuses = _statuses(ask, {"current"})

        def rows() -> Iterable[Content]:
            return (
                each
                for each in ask.wiki.children(holder.id)
                if each.kind == kind and each.status in statuses and inline in (None, each.inline)
            )

        return by_cursor(ask, rows, _place(ask), lambda each: shaped(ask, each))

    return endpoint


def all_comments(inline: bool) -> Endpoint:
    """`GET /footer-comments`: the remarks of every page that is seen."""

    def endpoint(ask: Ask) -> Json:
        def rows() -> Iterable[Content]:
            return (
                each
                for each in ask.wiki.content.values()
                if each.kind == "comment" and each.inline is inline and each.status == "current" and ask.sees(each)
            )

        return by_cursor(ask, rows, _place(ask), lambda each: shaped(ask, each))

    return endpoint


def labels(ask: Ask) -> Json:
    content = ask.content(ask.parts[0])
    return by_cursor(ask, lambda: _labels(content), lambda each: str(each["id"]), lambda each: dict(each))


def ancestors(ask: Ask) -> Json:
    """Top to bottom; the nearest are given first where there are too many, and the rest on asking for the topmost."""
    content = ask.content(ask.parts[0])
    most = min(ask.number("limit", 25), _ANCESTORS_AT_ONCE)
    nearest = ask.wiki.chain(content)[:most]
    return {"results": [{"id": each.id, "type": each.kind} for each in reversed(nearest)], "_links": {}}


def descendants(ask: Ask) -> Json:
    """Every container below, to a depth of at most five."""
    content = ask.content(ask.parts[0], *CONTAINERS)
    deepest = min(ask.number("depth", 5), 5)
    found: list[tuple[int, Content]] = []

    def go(key: str, depth: int) -> None:
        for each in sorted(ask.wiki.children(key), key=lambda child: int(child.id.removeprefix("att"))):
            if each.kind in CONTAINERS and each.status == "current" and ask.sees(each):
                found.append((depth, each))
                if depth < deepest:
                    go(each.id, depth + 1)

    go(content.id, 1)

    def row(each: tuple[int, Content]) -> Json:
        depth, held = each
        return {
            "id": held.id,
            "status": held.status,
            "title": held.title,
            "type": held.kind,
            "parentId": held.parent,
            "depth": depth,
            "childPosition": 0,
        }

    return by_cursor(ask, lambda: found, lambda each: f"{each[0]}{each[1].id:0>12}", row)


def direct_children(ask: Ask) -> Json:
    content = ask.content(ask.parts[0], *CONTAINERS)

    def rows() -> Iterable[Content]:
        return (
            each
            for each in ask.wiki.children(content.id)
            if each.kind in CONTAINERS and each.status == "current" and ask.sees(each)
        )

    def row(each: Content) -> Json:
        return {"id": each.id, "status": each.status, "title": each.title, "type": each.kind, "spaceId": each.space}

    return by_cursor(ask, rows, _place(ask), row)


# ---------------------------------------------------------------- spaces and their rights


def _space(ask: Ask, key: str) -> Space:
    found = ask.wiki.spaces.get(key)
    if found is None or not sees_space(ask, found):
        raise Refusal(404, "Not Found")
    return found


def sees_space(ask: Ask, space: Space) -> bool:
    from tests.doubles.confluence.oracle import may_view_space

    return may_view_space(ask.wiki, ask.person, space) and not (space.blocked and ask.server.is_app)


def space_shape(ask: Ask, space: Space) -> Json:
    return {
        "id": space.id,
        "key": space.key,
        "name": space.name,
        "type": space.kind,
        "status": space.status,
        "authorId": "",
        "createdAt": "2030-01-01T00:00:00.000Z",
        "homepageId": None,
        "_links": {"webui": f"/spaces/{space.key}"},
    }


def spaces(ask: Ask) -> Json:
    ids, keys, kinds = set(ask.many("ids")), set(ask.many("keys")), set(ask.many("type"))
    status = ask.query.get("status")

    def rows() -> Iterable[Space]:
        return (
            each
            for each in ask.wiki.spaces.values()
            if sees_space(ask, each)
            and (not ids or each.id in ids)
            and (not keys or each.key in keys)
            and (not kinds or each.kind in kinds)
            and status in (None, each.status)
        )

    return by_cursor(ask, rows, lambda each: f"{each.id:0>12}", lambda each: space_shape(ask, each))


def one_space(ask: Ask) -> Json:
    return space_shape(ask, _space(ask, ask.parts[0]))


def permissions(ask: Ask) -> Json:
    space = _space(ask, ask.parts[0])
    rows = [
        {
            "id": f"{space.id}{at:03}",
            "principal": {"type": each.kind, "id": each.id},
            "operation": {"key": each.operation, "targetType": each.target},
        }
        for at, each in enumerate(space.grants)
    ]
    return by_cursor(ask, lambda: rows, lambda each: str(each["id"]), lambda each: dict(each))


def role_mode(ask: Ask) -> Json:
    return {"mode": ask.wiki.roles_mode}


def _role(ask: Ask, key: str) -> Json:
    role = ask.wiki.roles.get(key)
    if role is None or role.hidden:
        raise Refusal(404, "Not Found")
    return {
        "id": role.id,
        "type": "CUSTOM",
        "name": role.name,
        "description": "",
        "spacePermissions": list(role.permissions),
    }


def one_role(ask: Ask) -> Json:
    return _role(ask, ask.parts[0])


def all_roles(ask: Ask) -> Json:
    shown = [each for each in ask.wiki.roles.values() if not each.hidden]
    return by_cursor(ask, lambda: shown, lambda each: str(each.id), lambda each: _role(ask, each.id))


def role_assignments(ask: Ask) -> Json:
    space = _space(ask, ask.parts[0])
    if ask.wiki.roles_mode == "PRE_ROLES":
        raise Refusal(404, "role based access control is not enabled")
    rows = [
        (at, {"principal": {"principalType": each.kind, "principalId": each.id}, "roleId": each.role})
        for at, each in enumerate(space.assigned)
    ]
    return by_cursor(ask, lambda: rows, lambda each: f"{each[0]:06}", lambda each: dict(each[1]))


def data_policy_metadata(ask: Ask) -> Json:
    return {"anyContentBlocked": any(each.blocked for each in ask.wiki.spaces.values())}


def data_policy_spaces(ask: Ask) -> Json:
    """Which spaces hold content that apps are kept from: the one listing that still names such a space."""
    from tests.doubles.confluence.oracle import may_view_space

    seen = [each for each in ask.wiki.spaces.values() if may_view_space(ask.wiki, ask.person, each)]

    def row(each: Space) -> Json:
        return {"id": each.id, "key": each.key, "name": each.name, "dataPolicy": {"anyContentBlocked": each.blocked}}

    return by_cursor(ask, lambda: seen, lambda each: f"{each.id:0>12}", row)


def users_bulk(ask: Ask) -> Json:
    found: list[Any] = []
    for account in ask.body.get("accountIds", []):
        person = ask.wiki.people.get(account)
        if person is None:
            continue
        found.append(
            {
                "accountId": account,
                "accountType": person.kind,
                "accountStatus": "active" if person.active else "inactive",
                "displayName": person.name,
                "publicName": person.name,
                "email": email_of(person),
                "isExternalCollaborator": person.guest,
            }
        )
    return {"results": found}


_V2 = "/api/v2"
ENDPOINTS: Table = [
    ("GET", f"{_V2}/spaces", spaces),
    ("GET", f"{_V2}/spaces/{{}}", one_space),
    ("GET", f"{_V2}/spaces/{{}}/permissions", permissions),
    ("GET", f"{_V2}/spaces/{{}}/role-assignments", role_assignments),
    ("GET", f"{_V2}/spaces/{{}}/pages", listing("page", of_space=True)),
    ("GET", f"{_V2}/spaces/{{}}/blogposts", listing("blogpost", of_space=True)),
    ("GET", f"{_V2}/space-role-mode", role_mode),
    ("GET", f"{_V2}/space-roles", all_roles),
    ("GET", f"{_V2}/space-roles/{{}}", one_role),
    ("GET", f"{_V2}/data-policies/metadata", data_policy_metadata),
    ("GET", f"{_V2}/data-policies/spaces", data_policy_spaces),
    ("POST", f"{_V2}/users-bulk", users_bulk),
    ("GET", f"{_V2}/footer-comments", all_comments(inline=False)),
    ("GET", f"{_V2}/inline-comments", all_comments(inline=True)),
    ("GET", f"{_V2}/footer-comments/{{}}", one("comment")),
    ("GET", f"{_V2}/inline-comments/{{}}", one("comment")),
    ("GET", f"{_V2}/footer-comments/{{}}/children", beside("comment")),
    ("GET", f"{_V2}/inline-comments/{{}}/children", beside("comment")),
    *[("GET", f"{_V2}/{many}/{{}}", one(kind)) for many, kind in KINDS.items()],
    *[("GET", f"{_V2}/{many}/{{}}/versions", versions(KINDS[many])) for many in ("pages", "blogposts")],
    *[("GET", f"{_V2}/{many}", listing(KINDS[many])) for many in ("pages", "blogposts", "attachments")],
    *[("GET", f"{_V2}/{many}/{{}}/labels", labels) for many in ("pages", "blogposts", "attachments")],
    *[
        row
        for many in ("pages", "blogposts")
        for row in (
            ("GET", f"{_V2}/{many}/{{}}/attachments", beside("attachment")),
            ("GET", f"{_V2}/{many}/{{}}/footer-comments", beside("comment", inline=False)),
            ("GET", f"{_V2}/{many}/{{}}/inline-comments", beside("comment", inline=True)),
        )
    ],
    *[
        row
        for many in ("pages", "folders", "whiteboards", "databases", "embeds")
        for row in (
            ("GET", f"{_V2}/{many}/{{}}/ancestors", ancestors),
            ("GET", f"{_V2}/{many}/{{}}/descendants", descendants),
            ("GET", f"{_V2}/{many}/{{}}/direct-children", direct_children),
        )
    ],
]
