"""Data Center's REST API: start and limit, lowered without a word, groups by name, people by key, and what broke when.

`wiki.release` decides which endpoints there are: 8.x has only JSON-RPC for the rights of a space, 9.1 has REST, and 10
has no JSON-RPC any more.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from aiohttp import web

from tests.doubles.confluence.cloud_v1 import found_by_cql, limit_of
from tests.doubles.confluence.cloud_v2 import sees_space
from tests.doubles.confluence.oracle import groups_of, is_super
from tests.doubles.confluence.serving import Ask, Bytes, Json, Table
from tests.doubles.confluence.shapes import (
    by_start,
    email_of,
    group,
    instant,
    known,
    operation,
    restrictions,
    version_v1,
    webui,
)
from tests.doubles.confluence.wiki import Content, Grant, Space
from tests.doubles.vendor import Refusal

_LABELS = 200  # that come with a content
PAGE = "<html><head><title>Confirm your password</title></head><body>WebSudo</body></html>"


def since(ask: Ask, release: tuple[int, ...]) -> None:
    """Refusal(404) before this release."""
    if tuple(map(int, ask.wiki.release.split("."))) < release:
        raise Refusal(404, f"null for uri: {ask.path}")


def _websudo(ask: Ask) -> web.Response | None:
    return web.Response(text=PAGE, content_type="text/html") if ask.server.websudo else None


# ---------------------------------------------------------------- content


def shaped(ask: Ask, content: Content, expand: set[str]) -> Json:
    space = ask.wiki.spaces[content.space]
    made: Json = {
        "id": content.id,
        "type": content.kind,
        "status": content.status,
        "title": content.title,
        "_links": {"webui": webui(ask, content), "self": ask.server.address(f"/rest/api/content/{content.id}")},
        "_expandable": {"container": f"/rest/api/space/{space.key}"},
    }
    if "space" in expand:
        made["space"] = {
            "id": int(space.id),
            "key": space.key,
            "name": space.name,
            "type": space.kind,
            "status": space.status,
        }
    if "version" in expand:
        made["version"] = version_v1(ask, content)
    if any(each.split(".")[0] == "history" for each in expand):
        made["history"] = {
            "latest": True,
            "createdBy": known(ask, content.author),
            "createdDate": instant(content.created),
            "lastUpdated": version_v1(ask, content),
        }
    if any(each.split(".")[0] == "ancestors" for each in expand):
        made["ancestors"] = _ancestors(ask, content, expand)
    if "container" in expand:
        holder = ask.wiki.content.get(content.parent or "")
        made["container"] = (
            {"id": holder.id, "type": holder.kind} if holder else {"id": int(space.id), "key": space.key}
        )
    if any(each.startswith("restrictions") for each in expand):
        made["restrictions"] = restrictions(ask, content, 0, ask.server.caps["inner"])
    if "metadata.labels" in expand:
        rows = [{"prefix": "global", "name": name, "id": f"{content.id}{at}"} for at, name in enumerate(content.labels)]
        given = {"results": rows[:_LABELS], "start": 0, "limit": _LABELS, "size": len(rows[:_LABELS])}
        links = {"_links": {"next": f"/rest/api/content/{content.id}/label?start={_LABELS}"}}
        made["metadata"] = {"labels": given | (links if len(rows) > _LABELS else {})}
    if "body.storage" in expand:
        if content.broken:
            raise Refusal(500, "Internal Server Error")
        made["body"] = {"storage": {"value": content.body, "representation": "storage"}}
    if content.kind == "attachment":
        made["extensions"] = {"mediaType": content.media_type, "fileSize": len(content.bytes), "comment": ""}
        made["metadata"] = {**made.get("metadata", {}), "mediaType": content.media_type}
        made["_links"]["download"] = (
            f"/download/attachments/{content.parent}/{quote(content.title, safe='')}?version={content.version}&api=v2"
        )
    if content.kind == "comment":
        made["extensions"] = {"location": "inline" if content.inline else "footer"}
    return made


def _ancestors(ask: Ask, content: Content, expand: set[str]) -> list[Json]:
    chain = [] if content.kind in ("attachment", "blogpost") else list(reversed(ask.wiki.chain(content)))
    if content.kind == "comment":
        chain = [each for each in chain if each.kind == "comment"]
    if content.ancestors_wrong is not None:
        chain = [ask.wiki.content[each] for each in content.ancestors_wrong]
    deeper = {each.removeprefix("ancestors.") for each in expand if each.startswith("ancestors.")}
    if any(each.startswith("restrictions") for each in deeper) and any(not ask.sees(each) for each in chain):
        raise Refusal(404, "No content found")
    return [shaped(ask, each, deeper) for each in chain]


def labels(ask: Ask) -> Json:
    """`GET /content/{id}/label`."""
    content = ask.content(ask.parts[0])
    rows = [{"prefix": "global", "name": name, "id": f"{content.id}{at}"} for at, name in enumerate(content.labels)]
    return by_start(ask, rows, dict, limit_of(ask, set(), 10**6))


def listing(ask: Ask) -> Json:
    """`GET /content?type=page&spaceKey=…`: current ones unless asked otherwise, by id."""
    kind, status = ask.query.get("type", "page"), set(ask.many("status")) or {"current"}
    space = ask.query.get("spaceKey")
    expand = set(ask.many("expand"))
    held = ask.server.remembered.get(("dc", kind, tuple(sorted(status)), space, ask.person.account))
    if held is None:
        held = [
            each
            for each in ask.wiki.content.values()
            if each.kind == kind
            and (each.status in status or "any" in status)
            and each.status != "deleted"
            and (space is None or ask.wiki.spaces[each.space].key == space)
            and ask.sees(each)
        ]
        held.sort(key=lambda each: int(each.id.removeprefix("att")))
        ask.server.remembered[("dc", kind, tuple(sorted(status)), space, ask.person.account)] = held
    return by_start(ask, held, lambda each: shaped(ask, each, expand), limit_of(ask, expand, 10**6))


def one(ask: Ask) -> Json:
    content = ask.content(ask.parts[0])
    wanted = set(ask.many("status")) or {"current"}
    if "historical" in wanted:
        numbered = [each for each in (*content.past, content) if str(each.version) == ask.query.get("version")]
        if not numbered:
            raise Refusal(404, f"No content found with id: {content.id}")
        return shaped(ask, numbered[0], set(ask.many("expand")))
    if content.status not in wanted and "any" not in wanted:
        raise Refusal(404, f"No content found with id: {content.id}")
    return shaped(ask, content, set(ask.many("expand")))


def search(ask: Ask) -> Json:
    expand = set(ask.many("expand"))
    return by_start(ask, found_by_cql(ask), lambda each: shaped(ask, each, expand), limit_of(ask, expand, 10**6))


def children(kind: str) -> Any:
    def endpoint(ask: Ask) -> Json:
        holder = ask.content(ask.parts[0])
        expand = set(ask.many("expand"))
        deep = ask.query.get("depth") == "all"
        under = ask.wiki.below(holder.id) if deep and kind == "comment" else list(ask.wiki.children(holder.id))
        if kind == "comment":
            under = [
                each
                for each in under
                if not any(a.kind != "comment" and a is not holder for a in _between(ask, each, holder))
            ]
        held = [each for each in under if each.kind == kind and each.status == "current" and ask.sees(each)]
        held.sort(key=lambda each: int(each.id.removeprefix("att")))
        return by_start(ask, held, lambda each: shaped(ask, each, expand), limit_of(ask, expand, 10**6))

    return endpoint


def _between(ask: Ask, each: Content, holder: Content) -> list[Content]:
    chain = ask.wiki.chain(each)
    return chain[: chain.index(holder)] if holder in chain else chain


def read_restriction(ask: Ask) -> Json:
    """What is asked from a start above 0 is wrong: the first window comes again (CONFSERVER-82460)."""
    content = ask.content(ask.parts[0])
    limit = min(ask.number("limit", 200), ask.server.caps["inner"])
    return operation(ask, content, "read", content.read, 0, limit)


def by_operation(ask: Ask) -> Json:
    content = ask.content(ask.parts[0])
    return {**restrictions(ask, content, 0, ask.server.caps["inner"]), "_links": {}}


def download(ask: Ask) -> Bytes:
    for each in ask.wiki.children(ask.parts[0]):
        if each.kind == "attachment" and each.title == ask.parts[1] and each.status == "current" and ask.sees(each):
            return Bytes(each.bytes, each.media_type)
    raise Refusal(404, "not found")


# ---------------------------------------------------------------- spaces and their rights


def space_shape(ask: Ask, space: Space) -> Json:
    return {
        "id": int(space.id),
        "key": space.key,
        "name": space.name,
        "type": space.kind,
        "status": space.status,
        "_links": {"webui": f"/display/{space.key}", "self": ask.server.address(f"/rest/api/space/{space.key}")},
        "_expandable": {"permissions": "", "homepage": ""},
    }


def spaces(ask: Ask) -> Json:
    status, kind, keys = ask.query.get("status"), ask.query.get("type"), set(ask.many("spaceKey"))
    if any(each.startswith("permissions") for each in ask.many("expand")) and not ask.person.admin:
        raise Refusal(500, "java.lang.NullPointerException")  # CONFSERVER-99908
    held = [
        each
        for each in ask.wiki.spaces.values()
        if sees_space(ask, each)
        and status in (None, each.status)
        and kind in (None, each.kind)
        and (not keys or each.key in keys)
    ]
    return by_start(ask, held, lambda each: space_shape(ask, each), ask.server.caps["expanded"])


def _space(ask: Ask, key: str) -> Space:
    found = next((each for each in reversed(ask.wiki.spaces.values()) if each.key == key), None)
    if found is None or not sees_space(ask, found):
        raise Refusal(404, f"No space with key : {key}")
    return found


def one_space(ask: Ask) -> Json:
    return space_shape(ask, _space(ask, ask.parts[0]))


def _row(ask: Ask, space: Space, grant: Grant) -> Json:
    """A person by key alone (CONFSERVER-100505), a group by name alone."""
    subject: Json
    match grant.kind:
        case "user":
            subject = {"type": "user", "userKey": grant.id}
        case "group":
            subject = {"type": "group", "name": ask.wiki.groups[grant.id].name}
        case _ if grant.id == "anonymous-users":
            subject = {"type": "anonymous"}
        case _:
            subject = {"type": grant.kind, "name": grant.id}
    return {
        "operation": {"targetType": grant.target, "operationKey": grant.operation},
        "subject": subject,
        "spaceKey": space.key,
        "spaceId": int(space.id),
    }


def permissions(ask: Ask) -> Any:
    """One flat list. Who is no admin gets a 500 and not a 403 (CONFSERVER-99908)."""
    since(ask, (9, 1))
    space = _space(ask, ask.parts[0])
    if page := _websudo(ask):
        return page
    if not ask.person.admin:
        raise Refusal(500, "Internal Server Error")
    return web.json_response([_row(ask, space, each) for each in space.grants])


def anonymous_permissions(ask: Ask) -> Any:
    since(ask, (9, 1))
    space = _space(ask, ask.parts[0])
    if page := _websudo(ask):
        return page
    if not ask.person.admin:
        raise Refusal(500, "Internal Server Error")
    rows = [
        {"targetType": each.target, "operationKey": each.operation}
        for each in space.grants
        if each.id == "anonymous-users"
    ]
    return web.json_response(rows)


def permission_sets(ask: Ask) -> Any:
    """JSON-RPC of old: `getSpacePermissionSets`, with the Remote API switched on, until 10."""
    if not ask.server.remote_api or tuple(map(int, ask.wiki.release.split("."))) >= (10,):
        raise Refusal(404, "Remote API is off")
    if page := _websudo(ask):
        return page
    if not ask.person.admin:
        return {"error": {"code": 500, "message": "RemoteException: not permitted"}}
    space = _space(ask, ask.body[0])
    sets: dict[str, list[Json]] = {}
    for each in space.grants:
        name = {
            ("read", "space"): "VIEWSPACE",
            ("create", "page"): "EDITSPACE",
            ("administer", "space"): "SETSPACEPERMISSIONS",
        }.get((each.operation, each.target), f"{each.operation}{each.target}".upper())
        row: Json = {"type": name, "userName": None, "groupName": None}
        if each.kind == "user":
            row["userName"] = ask.wiki.people[each.id].username
        elif each.kind == "group":
            row["groupName"] = ask.wiki.groups[each.id].name
        sets.setdefault(name, []).append(row)
    return web.json_response([{"type": name, "spacePermissions": rows} for name, rows in sets.items()])


# ---------------------------------------------------------------- people, groups, the server


def _person(ask: Ask) -> str:
    """Whom `key` or `username` names."""
    if key := ask.query.get("key"):
        account = key
    else:
        name = ask.query.get("username")
        account = next((each.account for each in ask.wiki.people.values() if each.username == name), "")
    if account not in ask.wiki.people:
        raise Refusal(404, "No user found")
    return account


def one_user(ask: Ask) -> Json:
    account = _person(ask)
    status = "current" if ask.wiki.people[account].active else "deactivated"
    return known(ask, account) | ({"status": status} if "status" in ask.many("expand") else {})


def current_user(ask: Ask) -> Json:
    return known(ask, ask.person.account)


def member_of(ask: Ask) -> Json:
    """The effective groups, those through nested groups included."""
    held = sorted(groups_of(ask.wiki, _person(ask)))
    return by_start(ask, held, lambda each: group(ask, ask.wiki.groups[each]), 200, 200)


def users(ask: Ask) -> Json:
    """Incomplete before 10.1 (CONFSERVER-95999): every third person is missing."""
    held = sorted(ask.wiki.people)
    if tuple(map(int, ask.wiki.release.split("."))) < (10, 1):
        held = [each for at, each in enumerate(held) if at % 3 != 2]
    return by_start(ask, held, lambda each: known(ask, each), 200, 200)


def active_users(ask: Ask) -> Any:
    since(ask, (9, 3))
    if page := _websudo(ask):
        return page
    ask.need_admin()
    held = sorted(each.account for each in ask.wiki.people.values() if each.active)
    return by_start(ask, held, lambda each: {**known(ask, each), "email": email_of(ask.wiki.people[each])}, 200, 200)


def groups(ask: Ask) -> Json:
    held = sorted(each.name for each in ask.wiki.groups.values() if not each.gone)
    return by_start(ask, held, lambda each: {"type": "group", "name": each}, 200, 200)


def members(ask: Ask) -> Json:
    """Direct members of a group that its name finds; the server loses names with a slash in them."""
    held = ask.wiki.groups.get(ask.parts[0])
    if held is None or held.gone:
        raise Refusal(404, "No group found")
    return by_start(ask, sorted(held.members), lambda each: known(ask, each), 200, 200)


def server_information(ask: Ask) -> Json:
    return {"version": ask.wiki.release, "buildNumber": 9012, "title": "Wiki"}


def global_permissions(ask: Ask) -> Any:
    """Since 9.3: who may use the product at all, and who administers it."""
    since(ask, (9, 3))
    if page := _websudo(ask):
        return page
    ask.need_admin()
    rows = [
        {
            "operation": {
                "targetType": "application",
                "operationKey": "use" if each.access == "user" else "administer",
            },
            "subject": {"type": "group", "name": each.name, "displayName": each.name},
        }
        for each in ask.wiki.groups.values()
        if each.access and not each.gone
    ]
    if ask.wiki.anonymous_on:
        rows.append(
            {
                "operation": {"targetType": "application", "operationKey": "use"},
                "subject": {"type": "anonymous", "displayName": "Anonymous"},
            }
        )
    return web.json_response(rows)


def webhooks(ask: Ask) -> Any:
    ask.need_admin()
    return web.json_response([])


def sees_all(ask: Ask) -> bool:
    """Whether whoever asks is in the group that sees everything."""
    return is_super(ask.wiki, ask.person)


_V1 = "/rest/api"
ENDPOINTS: Table = [
    ("GET", f"{_V1}/server-information", server_information),
    ("GET", f"{_V1}/content", listing),
    ("GET", f"{_V1}/content/search", search),
    ("GET", f"{_V1}/search", search),
    ("GET", f"{_V1}/content/{{}}", one),
    ("GET", f"{_V1}/content/{{}}/label", labels),
    ("GET", f"{_V1}/content/{{}}/child/attachment", children("attachment")),
    ("GET", f"{_V1}/content/{{}}/child/comment", children("comment")),
    ("GET", f"{_V1}/content/{{}}/child/page", children("page")),
    ("GET", f"{_V1}/content/{{}}/restriction/byOperation", by_operation),
    ("GET", f"{_V1}/content/{{}}/restriction/byOperation/read", read_restriction),
    ("GET", "/download/attachments/{}/{}", download),
    ("GET", f"{_V1}/space", spaces),
    ("GET", f"{_V1}/space/{{}}", one_space),
    ("GET", f"{_V1}/space/{{}}/permissions", permissions),
    ("GET", f"{_V1}/space/{{}}/permissions/anonymous", anonymous_permissions),
    ("POST", "/rpc/json-rpc/confluenceservice-v2/getSpacePermissionSets", permission_sets),
    ("GET", f"{_V1}/user", one_user),
    ("GET", f"{_V1}/user/current", current_user),
    ("GET", f"{_V1}/user/memberof", member_of),
    ("GET", f"{_V1}/user/list", users),
    ("GET", f"{_V1}/admin/users/list/active", active_users),
    ("GET", f"{_V1}/group", groups),
    ("GET", f"{_V1}/group/{{}}/member", members),
    ("GET", f"{_V1}/permissions", global_permissions),
    ("GET", f"{_V1}/webhooks", webhooks),
]
