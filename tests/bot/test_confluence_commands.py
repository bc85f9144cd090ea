"""A wiki through the command line, whole: added, synced, asked, explained; then a right is taken away and is gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.__main__ import cli
from tests.doubles.confluence.organisation import KEY, ORG
from tests.doubles.confluence.serving import TOKEN, Server
from tests.doubles.confluence.wiki import Wiki, anonymous, everyone, group

Run = Callable[..., Result]
PEOPLE = {"ann": "ann", "bob": "bob", "gus": "gus"}


def directory_of(people: Mapping[str, str]) -> str:
    """A directory of these people, with their accounts in the wiki."""
    return "\n".join(
        f'[people."{name}@example.com"]\nname = "{name.title()}"\ngroups = ["grp:staff"]\n'
        f'kind = "{"guest" if name == "gus" else "member"}"\n'
        + (f'identities = {{ "confluence:corp" = "{account}" }}\n' if account else "")
        for name, account in people.items()
    )


TRAVEL = """<h2>2.1 Flights</h2><p>Flights abroad are booked 14 days ahead through the approved portal.</p>
<ac:structured-macro ac:name="info"><ac:rich-text-body><p>The approved portal is called Wingway.</p></ac:rich-text-body>
</ac:structured-macro>"""
PAY = "<h2>Bands</h2><p>Band four pays 61,000 euros a year.</p>"


@dataclass(slots=True)
class Tenant:
    """A wiki that is served by a thread, and a product that knows nothing of it yet."""

    wiki: Wiki
    server: Server
    base: str
    run: Run
    pages: dict[str, str]
    people: Mapping[str, str] = field(
        default_factory=lambda: PEOPLE
    )  # with their accounts, as the directory lists them

    def one(self, *arguments: str, status: int | None = 0) -> dict[str, Any]:
        """The JSON that a command prints."""
        result = self.run(*arguments, "--json")
        assert status is None or result.exit_code == status, result.output
        [line] = result.stdout.splitlines()
        loaded: dict[str, Any] = json.loads(line)
        return loaded

    def ask(self, *asked: tuple[str, str]) -> list[dict[str, Any]]:
        """The answers to questions of people, in one go."""
        return self._batch("ask", [{"as": f"{who}@example.com", "text": text} for who, text in asked])

    def allowed(self, *asked: tuple[str, str]) -> list[bool]:
        """Whether people may read the pages with these names."""
        found = self._batch(
            "why", [{"as": f"{who}@example.com", "document": f"corp:{self.pages[title]}"} for who, title in asked]
        )
        return [bool(each["allowed"]) for each in found]

    def _batch(self, command: str, asked: list[dict[str, str]]) -> list[dict[str, Any]]:
        result = self.run(command, "--batch", "-", stdin="\n".join(map(json.dumps, asked)))
        assert result.exit_code == 0, result.output
        return [json.loads(line) for line in result.stdout.splitlines()]

    def sync(self) -> dict[str, Any]:
        self.wiki.at = datetime.now(UTC)
        return self.one("sync", "corp")


@pytest.fixture
def tenant(tmp_path: Path) -> Iterator[Tenant]:
    edition = "cloud"
    wiki = Wiki(edition=edition, at=datetime.now(UTC) - timedelta(hours=2))
    wiki.person("robot", email="robot@example.com", admin=True)
    wiki.person("ann")
    wiki.person("bob")
    wiki.person("gus", guest=edition == "cloud")
    wiki.group("hr", "ann", "robot")
    everybody = everyone() if edition == "cloud" else group(wiki.everybody_group)
    wiki.space("ENG", everybody)
    wiki.space("HR", group(wiki.group("hr").id))
    wiki.space("PUB", everybody, anonymous())
    pages = {
        "travel": wiki.page("ENG", "Travel rules", TRAVEL).id,
        "pay": wiki.page("HR", "Pay", PAY).id,
        "welcome": wiki.page("PUB", "Welcome", "<p>The canteen opens at eleven.</p>").id,
    }
    server = Server(wiki)
    loop, ready, stop = asyncio.new_event_loop(), asyncio.Event(), asyncio.Event()
    found: list[str] = []

    async def serve() -> None:
        async with server.open() as base:
            found.append(base)
            ready.set()
            await stop.wait()

    thread = Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    asyncio.run_coroutine_threadsafe(ready.wait(), loop).result(10)

    def run(*arguments: str, stdin: str | None = None, **settings: str) -> Result:
        environ = {"FOOTNOTE_DATA": str(tmp_path / "data"), "WIKI_TOKEN": TOKEN}
        environ |= {f"FOOTNOTE_{name}": value for name, value in settings.items()}
        return CliRunner().invoke(cli, arguments, input=stdin, env=environ, prog_name="footnote")

    try:
        yield Tenant(wiki, server, found[0], run, pages)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def added(tenant: Tenant, tmp_path: Path, *more: str) -> dict[str, Any]:
    """The source added, and the people of its directory."""
    directory = tmp_path / "directory.toml"
    directory.write_text(directory_of(tenant.people), encoding="utf-8")
    assert tenant.run("person", "import", str(directory)).exit_code == 0
    return tenant.one(
        "source", "add", "confluence", "corp", "--base-url", tenant.base, "--edition", tenant.wiki.edition,
        "--auth", "bearer", "--secret-env", "WIKI_TOKEN", *more,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_right_that_is_taken_away_is_gone_with_the_next_sync(tenant: Tenant, tmp_path: Path) -> None:
    added(tenant, tmp_path)
    report = tenant.sync()
    assert (report["complete"], report["upserted"]) == (True, 3), report

    flights, band = "How early are flights abroad booked?", "What does band four pay?"
    answers = tenant.ask(("bob", flights), ("bob", band), ("ann", band))
    assert [each["outcome"] for each in answers] == ["answered", "abstained", "answered"]
    assert {f"corp:{tenant.pages['travel']}"} == {each["document"] for each in answers[0]["citations"]}
    assert all(each["url"].startswith(tenant.base) for each in answers[0]["citations"])
    assert tenant.allowed(("ann", "pay"), ("bob", "pay"), ("gus", "welcome")) == [True, False, True]

    tenant.wiki.restrict(tenant.pages["travel"], users=["ann", "robot"])
    report = tenant.sync()
    assert report["upserted"] == 0
    assert tenant.allowed(("ann", "travel"), ("bob", "travel")) == [True, False]
    assert [each["outcome"] for each in tenant.ask(("bob", flights), ("ann", flights))] == ["abstained", "answered"]


def test_people_are_bound_to_their_accounts_by_address_and_who_is_bound_stays_so(
    tenant: Tenant, tmp_path: Path
) -> None:
    tenant.wiki.person("bob2", email="Bob@Example.com")
    tenant.wiki.person("eve", email_verified=False)
    tenant.people = {"ann": "", "bob": "", "eve": "", "gus": "old"}
    added(tenant, tmp_path)

    def matched(*more: str) -> Result:
        asked = ("person", "match", "corp", "--org-id", ORG, "--org-key-env", "FOOTNOTE_ORG_KEY")
        return tenant.run(*asked, "--org-url", tenant.server.base, *more, ORG_KEY=KEY)

    shown = json.loads(matched("--json").stdout)
    assert shown == {
        "source": "corp",
        "accounts": 5,
        "left_out": 1,
        "matched": [{"email": "ann@example.com", "account": "ann", "bound": False}],
        "conflicts": [
            {"email": "bob@example.com", "reason": "2 accounts have this address: bob, bob2"},
            {"email": "gus@example.com", "reason": "is bound to old already, and the address is that of gus"},
        ],
        "unmatched": ["eve@example.com"],
        "applied": 0,
    }
    applied = json.loads(matched("--apply", "--json").stdout)
    assert applied == shown | {"applied": 1}
    again = matched("--apply").stdout
    assert "1 people match, 1 of them bound already; 2 are in conflict, 1 have no account. 0 were bound." in again
    assert KEY not in again
    people = map(json.loads, tenant.run("person", "list", "--json").stdout.splitlines())
    assert [each["identities"] for each in people] == [
        {"confluence:corp": "ann"}, {}, {}, {"confluence:corp": "old"}
    ]  # fmt: skip


def test_what_can_not_be_matched_is_said(tenant: Tenant) -> None:
    assert tenant.run("person", "match", "corp", "--org-id", ORG).exit_code == 2
    assert "there is no source 'corp'" in tenant.run("person", "match", "corp").stderr


@pytest.mark.slow
def test_an_application_tells_how_to_consent_and_its_tokens_are_kept_for_the_next_command(
    tenant: Tenant, tmp_path: Path
) -> None:
    tenant.server.scoped = True
    secret, refresh = tmp_path / "application", tmp_path / "refresh"
    secret.write_text("s3cret", encoding="utf-8")
    refresh.write_text("refresh-1", encoding="utf-8")
    command = (
        "source", "add", "confluence", "corp", "--edition", "cloud", "--auth", "oauth", "--client-id", "app",
        "--base-url", tenant.server.base + tenant.server.context, "--token-url", f"{tenant.server.base}/oauth/token",
        "--secret-file", str(secret),
    )  # fmt: skip

    refused = tenant.run(*command)
    assert refused.exit_code != 0
    assert "https://auth.atlassian.com/authorize?" in refused.output
    for _ in range(2):
        found = tenant.one(*command, "--refresh-file", str(refresh))
        assert found["state"] == "active"
        assert "refresh-1" not in json.dumps(found)
    assert tenant.server.issued == 1
