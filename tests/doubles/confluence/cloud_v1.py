"""What of Cloud's REST API v1 is still needed: restrictions, CQL, groups, checks, the audit log, file bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlencode

from tests.doubles.confluence import cql
from tests.doubles.confluence.oracle import groups_of, may_use, may_view
from tests.doubles.confluence.serving import Ask, Json, Redirect, Table
from tests.doubles.confluence.shapes import (
    by_start,
    email_of,
    group,
    instant,
    known,
    opened,
    operation,
    ordered,
    restrictions,
    sealed,
    version_v1,
    webui,
)
from tests.doubles.confluence.wiki import Content, Entry
from tests.doubles.vendor import Refusal

PERMISSION_EVENTS = {
    "content_permissions_updated": "Content restriction updated",
    "space_permissions_updated": "Space permission changed",
}


# ---------------------------------------------------------------- content by CQL


def shaped(ask: Ask, content: Content, expand: set[str]) -> Json:
    """A content as v1 gives it, with what was asked to be expanded."""
    space = ask.wiki.spaces[content.space]
    made: Json = {
        "id": content.id,
        "type": "embed" if content.kind == "embed" else content.kind,
        "status": content.status,
        "title": content.title,
        "_expandable": {"container": f"/rest/api/space/{space.key}"},
        "_links": {"webui": webui(ask, content), "self": ask.server.address(f"/rest/api/content/{content.id}")},
    }
    if "space" in expand:
        made["space"] = {"id": int(space.id), "key": space.key, "name": space.name, "type": space.kind}
    if "version" in expand:
        made["version"] = version_v1(ask, content)
    if any(each == "history" or each.startswith("history.") for each in expand):
        made["history"] = {
            "latest": True,
            "createdBy": known(ask, content.author),
            "createdDate": instant(content.created),
            "lastUpdated": version_v1(ask, content),
        }
    if "ancestors" in expand or any(each.startswith("ancestors.") for each in expand):
        made["ancestors"] = _ancestors(ask, content, expand)
    if "container" in expand:
        holder = ask.wiki.content.get(content.parent or "")
        made["container"] = (
            {"id": holder.id, "type": holder.kind} if holder else {"id": int(space.id), "key": space.key}
        )
    if any(each.startswith("restrictions") for each in expand):
        inner = ask.server.caps["inner"]
        made["restrictions"] = restrictions(ask, content, 0, inner)
    if "metadata.labels" in expand:
        rows = [{"prefix": "global", "name": name, "id": f"{content.id}{at}"} for at, name in enumerate(content.labels)]
        made["metadata"] = {"labels": {"results": rows, "start": 0, "limit": 200, "size": len(rows)}}
    if "body.storage" in expand:
        if content.broken:
            raise Refusal(500, "Internal Server Error")
        made["body"] = {"storage": {"value": content.body, "representation": "storage"}}
    if content.kind == "attachment":
        made["extensions"] = {
            "mediaType": content.media_type,
            "fileSize": len(content.bytes),
            "fileId": f"file-{content.id}",
            "comment": "",
        }
        made["_links"]["download"] = (
            f"/download/attachments/{content.parent}/{quote(content.title, safe='')}?version={content.version}"
        )
    return made


def _ancestors(ask: Ask, content: Content, expand: set[str]) -> list[Json]:
    chain = [each for each in reversed(ask.wiki.chain(content)) if each.kind in ask.server.v1_ancestors]
    if content.kind in ("attachment", "blogpost"):
        chain = []
    if content.kind == "comment":
        chain = [each for each in chain if each.kind == "comment"]
    if content.ancestors_wrong is not None:
        chain = [ask.wiki.content[each] for each in content.ancestors_wrong]
    deeper = {each.removeprefix("ancestors.") for each in expand if each.startswith("ancestors.")}
    if any(each.startswith("restrictions") for each in deeper) and any(not ask.sees(each) for each in chain):
        # CONFCLOUD-77618, CONFCLOUD-76424: one draft among the ancestors, and the whole answer is lost.
        raise Refusal(404, "com.atlassian.confluence.api.service.exceptions.NotFoundException")
    return [shaped(ask, each, deeper) for each in chain]


def found_by_cql(ask: Ask) -> list[Content]:
    """What a query finds in the search index and is shown to whoever asks, in order."""
    test, order, descending = cql.parse(ask.query.get("cql", ""), ask.wiki)
    archived = ask.query.get("includeArchivedSpaces") == "true"

    def place(content: Content) -> str:
        match order:
            case "lastmodified":
                number = int(content.modified.timestamp() * 1000)
            case "created":
                number = int(content.created.timestamp() * 1000)
            case _:
                number = int(content.id.removeprefix("att"))
        return f"{10**15 - number if descending else number:016}/{content.id}"

    def rows() -> Iterable[Content]:
        return (
            each
            for each in ask.wiki.content.values()
            if each.status == "current"
            and (archived or ask.wiki.spaces[each.space].status == "current")
            and cql.in_index(each, ask.wiki)
            and test(each)
            and ask.sees(each)
        )

    return [row for _, row in ordered(ask, rows, place)]


def limit_of(ask: Ask, expand: set[str], default: int = 25) -> int:
    """The limit that counts: lowered without a word by what is expanded."""
    caps = ask.server.caps
    most = caps["bare"]
    if any(each.startswith(("body.export_view", "body.styled_view")) for each in expand):
        most = 25
    elif any(each.startswith("body") for each in expand):
        most = caps["body"]
    elif expand:
        most = caps["expanded"]
    return max(1, min(ask.number("limit", default), most))


def content_search(ask: Ask) -> Json:
    return _searched(ask, lambda content, expand: shaped(ask, content, expand))


def search(ask: Ask) -> Json:
    def row(content: Content, expand: set[str]) -> Json:
        inner = {each.removeprefix("content.") for each in expand if each.startswith("content.")}
        return {
            "content": shaped(ask, content, inner),
            "title": content.title,
            "excerpt": "",
            "url": webui(ask, content),
            "entityType": "content",
            "lastModified": instant(content.modified),
        }

    return _searched(ask, row)


def _searched(ask: Ask, row: Any) -> Json:
    """Cursor paging of v1: `_links.next` is relative to `_links.base`, so it lacks the `/wiki` that v2's has."""
    expand = set(ask.many("expand"))
    limit = limit_of(ask, expand)
    found = found_by_cql(ask)
    after = opened(ask.query.get("cursor"))
    first = int(after) if after else ask.number("start", 0)
    page = found[first : first + limit]
    links: Json = {
        "base": ask.server.base + ask.server.context,
        "context": "/wiki",
        "self": f"{ask.server.base}{ask.server.context}{ask.path}",
    }
    if first + limit < len(found):
        kept = {name: value for name, value in ask.query.items() if name not in ("cursor", "start", "next")}
        onward = {"next": "true", "cursor": sealed(str(first + limit)), **kept, "start": str(first + limit)}
        links["next"] = f"{ask.path}?{urlencode(onward)}"
    return {
        "results": [row(each, expand) for each in page],
        "start": first,
        "limit": limit,
        "size": len(page),
        "totalSize": max(0, len(found) - 1),  # nobody may trust it
        "_links": links,
    }


# ---------------------------------------------------------------- restrictions and checks


def read_restriction(ask: Ask) -> Json:
    return _restriction(ask, "read")


def update_restriction(ask: Ask) -> Json:
    return _restriction(ask, "update")


def _restriction(ask: Ask, name: str) -> Json:
    """Direct ones only. Both lists are cut to the same window, and either may go on in a page of its own."""
    content = ask.content(ask.parts[0])
    start, limit = ask.number("start", 0), min(ask.number("limit", 100), ask.server.caps["inner"])
    held = content.read if name == "read" else content.update
    made = operation(ask, content, name, held, start, limit)
    expand = ask.query.get("expand", "restrictions.user,restrictions.group")
    for each in ("user", "group"):
        if f"restrictions.{each}" not in expand:
            del made["restrictions"][each]
    return made


def by_operation(ask: Ask) -> Json:
    content = ask.content(ask.parts[0])
    return {**restrictions(ask, content, 0, ask.server.caps["inner"]), "_links": {}}


def permission_check(ask: Ask) -> Json:
    """The vendor's own verdict; about others only for product admins."""
    subject = ask.body.get("subject", {})
    account = subject.get("identifier")
    if subject.get("type") != "user" or ask.body.get("operation") != "read":
        raise Refusal(400, "only users and reading are checked here")
    if account != ask.person.account:
        ask.need_admin()
    content = ask.wiki.content.get(ask.parts[0])
    if content is None or content.status == "deleted":
        raise Refusal(404, "not found")
    person = ask.wiki.people.get(account)
    return {"hasPermission": person is not None and content.status == "current" and may_view(ask.wiki, person, content)}


# ---------------------------------------------------------------- people and groups


def groups(ask: Ask) -> Json:
    access = ask.query.get("accessType")
    held = [each for each in ask.wiki.groups.values() if not each.gone and access in (None, each.access)]
    return by_start(ask, sorted(held, key=lambda each: each.name), lambda each: group(ask, each), 200, 200)


def one_group(ask: Ask) -> Json:
    held = ask.wiki.groups.get(ask.query.get("id", ""))
    if held is None or held.gone:
        raise Refusal(404, "no such group")
    return group(ask, held)


def members(ask: Ask) -> Json:
    held = ask.wiki.groups.get(ask.parts[0])
    if held is None or held.gone:
        raise Refusal(404, "no such group")
    return by_start(ask, sorted(held.members), lambda each: known(ask, each), 200, 200)


def member_of(ask: Ask) -> Json:
    account = ask.query.get("accountId", "")
    if account not in ask.wiki.people:
        raise Refusal(404, "no such user")
    held = sorted(groups_of(ask.wiki, account))
    return by_start(ask, held, lambda each: group(ask, ask.wiki.groups[each]), 200, 200)


def one_user(ask: Ask) -> Json:
    account = ask.query.get("accountId", "")
    person = ask.wiki.people.get(account)
    if person is None:
        raise Refusal(404, "no such user")
    made = {**known(ask, account), "accountStatus": "active" if person.active else "inactive"}
    if "operations" in ask.many("expand") and ask.server.tells_operations:
        may = ["use"] if may_use(ask.wiki, person) else []
        may += ["administer"] if may and person.admin else []
        made["operations"] = [{"operation": each, "targetType": "application"} for each in may]
    return made


def current_user(ask: Ask) -> Json:
    return known(ask, ask.person.account) | {"email": email_of(ask.person)}


def users_bulk(ask: Ask) -> Json:
    return by_start(ask, ask.many("accountId"), lambda each: known(ask, each), 200, 200)


def email_bulk(ask: Ask) -> Json:
    raise Refusal(403, "only apps that Atlassian approved may ask for e-mail addresses")


def audit(ask: Ask) -> Json:
    """Changes of rights, newest first; what was touched is named by its title, which is not unique."""
    ask.need_admin()
    first, last = ask.number("startDate", 0), ask.number("endDate", 10**15)

    def row(entry: Entry) -> Json:
        of_space = entry.what.startswith("space")
        name = ask.wiki.space_of(entry.key).name if of_space else ask.wiki.content[entry.key].title
        return {
            "author": {"type": "user", "displayName": "Someone", "accountId": ""},
            "remoteAddress": "",
            "creationDate": int(entry.at.timestamp() * 1000),
            "summary": PERMISSION_EVENTS[entry.what],
            "description": "",
            "category": "Permissions",
            "sysAdmin": False,
            "affectedObject": {"name": name, "objectType": "Space" if of_space else "Page"},
            "changedValues": [],
            "associatedObjects": [],
        }

    held = [
        each
        for each in reversed(ask.wiki.log)
        if each.what in PERMISSION_EVENTS and first <= int(each.at.timestamp() * 1000) <= last
    ]
    return by_start(ask, held, row, 1000, 1000)


def download(ask: Ask) -> Redirect:
    """Leads to the store of files, which must not be shown the token."""
    content = ask.content(ask.parts[1], "attachment")
    if content.parent != ask.parts[0]:
        raise Refusal(404, "not found")
    return Redirect(f"{ask.server.base}/media/{content.id}?token=signed")


def download_path(ask: Ask) -> Redirect:
    """`/download/attachments/{page}/{name}`, as `_links.download` gives it."""
    for each in ask.wiki.children(ask.parts[0]):
        if each.kind == "attachment" and each.title == ask.parts[1] and each.status == "current" and ask.sees(each):
            return Redirect(f"{ask.server.base}/media/{each.id}?token=signed")
    raise Refusal(404, "not found")


_V1 = "/rest/api"
ENDPOINTS: Table = [
    ("GET", f"{_V1}/content/search", content_search),
    ("GET", f"{_V1}/search", search),
    ("GET", f"{_V1}/content/{{}}/restriction/byOperation", by_operation),
    ("GET", f"{_V1}/content/{{}}/restriction/byOperation/read", read_restriction),
    ("GET", f"{_V1}/content/{{}}/restriction/byOperation/update", update_restriction),
    ("POST", f"{_V1}/content/{{}}/permission/check", permission_check),
    ("GET", f"{_V1}/content/{{}}/child/attachment/{{}}/download", download),
    ("GET", "/download/attachments/{}/{}", download_path),
    ("GET", f"{_V1}/group", groups),
    ("GET", f"{_V1}/group/by-id", one_group),
    ("GET", f"{_V1}/group/{{}}/membersByGroupId", members),
    ("GET", f"{_V1}/user", one_user),
    ("GET", f"{_V1}/user/current", current_user),
    ("GET", f"{_V1}/user/memberof", member_of),
    ("GET", f"{_V1}/user/bulk", users_bulk),
    ("GET", f"{_V1}/user/email/bulk", email_bulk),
    ("GET", f"{_V1}/audit", audit),
]
