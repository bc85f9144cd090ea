"""Events of a wiki: proven by its secret, read for ids alone."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any

import pytest

from connectors.ports import Event
from connectors.sources.confluence.hook import ConfluenceHook

SECRET = "s3cret"
HOOK = ConfluenceHook(SECRET)


def signed(told: Any, secret: str = SECRET) -> tuple[dict[str, str], bytes]:
    body = json.dumps(told).encode()
    signature = hmac.new(secret.encode(), body, sha256).hexdigest()
    return {"X-Hub-Signature": f"sha256={signature}"}, body


def token(secret: str = SECRET, algorithm: str = "HS256") -> str:
    def part(told: Any) -> str:
        return urlsafe_b64encode(json.dumps(told).encode()).rstrip(b"=").decode()

    head = f"{part({'alg': algorithm, 'typ': 'JWT'})}.{part({'iss': 'site'})}"
    signature = urlsafe_b64encode(hmac.new(secret.encode(), head.encode(), sha256).digest()).rstrip(b"=").decode()
    return f"{head}.{signature}"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"event": "page_updated", "page": {"id": 77}}, Event("77", "page_updated", False)),
        ({"event": "page_moved", "page": {"id": "77"}}, Event("77", "page_moved", True)),
        ({"event": "page_trashed", "page": {"id": 77}}, Event("77", "page_trashed", True)),
        (
            {"event": "content_permissions_updated", "content": {"id": 7}},
            Event("7", "content_permissions_updated", True),
        ),
        (
            {"event": "space_permissions_updated", "space": {"key": "ENG"}},
            Event("space:ENG", "space_permissions_updated", True),
        ),
        (
            {"eventType": "avi:confluence:permissions_updated:page", "content": {"id": "9"}},
            Event("9", "permissions_updated_page", True),
        ),
        ({"event": "attachment_created", "attachment": {"id": "att5"}}, Event("att5", "attachment_created", False)),
        ({"event": "attachment_created", "attachment": {"id": 5}}, Event("att5", "attachment_created", False)),
        ({"event": "something_else"}, Event("", "something_else", False)),
        ({"page": {"id": 77}}, Event("77", "something", True)),
        ({"space": {"key": "ENG"}}, Event("space:ENG", "something", True)),
        ({}, Event("", "something", False)),
    ],
)
def test_an_event_names_what_to_look_at_and_whether_to_close_it(told: Any, expected: Event) -> None:
    assert HOOK.events(*_asked(told)) == [expected]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([{"id": 24444939, "fileName": "a.pdf"}], ["att24444939"]),
        ([{"id": "att5"}, {"id": 6}], ["att5", "att6"]),
        ([{"id": 5}, {"fileName": "b.pdf"}], ["att5", "77"]),
        ([], ["77"]),
        (["x", None], ["77"]),
    ],
)
def test_files_may_be_told_in_a_list_and_without_an_id_their_page_is(files: list[Any], expected: list[str]) -> None:
    told = {"event": "attachment_removed", "attachments": files, "attachedTo": {"id": 77, "contentType": "page"}}

    assert HOOK.events(*_asked(told)) == [Event(key, "attachment_removed", True) for key in expected]


def _asked(told: Any) -> tuple[dict[str, str], dict[str, str], bytes]:
    headers, body = signed(told)
    return headers, {}, body


def test_who_is_in_which_group_is_not_learnt_from_events() -> None:
    assert HOOK.events(*_asked({"event": "group_created", "group": {"name": "x"}})) == []


def test_without_a_proof_nothing_is_believed() -> None:
    headers, body = signed({"event": "page_moved", "page": {"id": 1}}, "other")
    right, _ = signed({"event": "page_moved", "page": {"id": 1}})

    assert HOOK.events(headers, {}, body) is None
    assert HOOK.events({}, {}, body) is None
    assert HOOK.events(right, {}, body + b" ") is None
    assert HOOK.events({"X-Hub-Signature": "sha1=0"}, {}, body) is None
    assert ConfluenceHook("").events(right, {}, body) is None


def test_a_token_of_an_app_is_a_proof_when_the_secret_signed_it() -> None:
    body = json.dumps({"event": "page_removed", "page": {"id": 3}}).encode()

    assert HOOK.events({"authorization": f"JWT {token()}"}, {}, body) == [Event("3", "page_removed", True)]
    assert HOOK.events({}, {"jwt": token()}, body) == [Event("3", "page_removed", True)]
    assert HOOK.events({"authorization": f"JWT {token('other')}"}, {}, body) is None
    assert HOOK.events({"authorization": f"JWT {token(algorithm='none')}"}, {}, body) is None
    assert HOOK.events({"authorization": "JWT a.b.c"}, {}, body) is None


@pytest.mark.parametrize("body", [b"[", b"[1]", b"[" * 100_000, b"\xff\xfe"])
def test_a_body_that_makes_no_sense_is_none(body: bytes) -> None:
    signature = hmac.new(SECRET.encode(), body, sha256).hexdigest()

    assert HOOK.events({"x-hub-signature": f"sha256={signature}"}, {}, body) is None


def test_ids_that_are_none_are_not_taken() -> None:
    told = {"event": "page_moved", "page": {"id": {"x": 1}}, "content": {"id": "../../x"}, "comment": {"id": True}}

    assert HOOK.events(*_asked(told)) == [Event("", "page_moved", False)]
