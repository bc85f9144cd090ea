"""The Atlassian organisation that a Cloud site belongs to: its people, by cursor, for a key of its admin.

Privacy of a profile does not hide addresses here. `claimStatus` is a filter; nothing else that may be asked for is.
"""

from __future__ import annotations

import re
from typing import Any

from tests.doubles.confluence.wiki import Person, Wiki
from tests.doubles.vendor import Refusal

Json = dict[str, Any]
ORG = "b8e2-our-org"
KEY = "org-test-key"
PATH = re.compile(r"/admin/v2/orgs/([^/]+)/directories/-/users/search")


def people(wiki: Wiki, org: str, authorization: str, body: Json, most: int) -> Json:
    """`POST /admin/v2/orgs/{orgId}/directories/-/users/search`."""
    if authorization != f"Bearer {KEY}":
        raise Refusal(401, "Unauthorized")
    if org != ORG:
        raise Refusal(404, "Organization not found")
    held = [each for each in wiki.people.values() if each.managed or body.get("claimStatus") != "managed"]
    start = int(body.get("cursor", "page-0").removeprefix("page-"))
    end = start + min(int(body.get("limit", 20)), most)
    links = {"self": f"page-{start}"} | ({"next": f"page-{end}"} if end < len(held) else {})
    return {"data": [_row(each) for each in held[start:end]], "links": links}


def _row(person: Person) -> Json:
    told: Json = {
        "accountId": person.account,
        "accountType": person.kind,
        "accountStatus": "active" if person.active else "inactive",
        "membershipStatus": "active",
        "claimStatus": "managed" if person.managed else "unmanaged",
        "name": person.name,
        "email": person.email,
    }
    return told if person.email_verified is None else {**told, "emailVerified": person.email_verified}
