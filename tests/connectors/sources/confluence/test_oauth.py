"""A chain of refresh tokens: each is used once, and none that was had is lost."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from connectors.errors import Stop, Transient
from connectors.http import Site
from connectors.ledger.logins import CLAIM, SqlLogins
from connectors.ledger.memory import SqlMemory
from connectors.ledger.open import Ledger, open_ledger
from connectors.ports import SourceConfig
from connectors.sources.confluence.client import Lost
from connectors.sources.confluence.oauth import LIMITS, Application, KeptTokens, Tokens
from connectors.sources.confluence.open import Chosen, open_confluence
from connectors.vault import Vault
from tests.confluence_house import HASTE
from tests.connectors.sources.confluence.living import ready, schema
from tests.connectors.sync.tree import Killed
from tests.doubles.confluence.faults import half, status
from tests.doubles.confluence.serving import CLOUD, Server
from tests.doubles.confluence.wiki import Wiki, everyone

KEY = "k3y-of-the-vault-for-tests-0918273645"
APPLICATION = Application("app", "s3cret", "refresh-1")


@dataclass(slots=True)
class Hurt:
    """Logins whose next writes of a token go wrong."""

    logins: SqlLogins
    faults: list[BaseException] = field(default_factory=list)

    async def settle(self, *args: Any) -> None:
        if self.faults:
            raise self.faults.pop(0)
        await self.logins.settle(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.logins, name)


@dataclass(slots=True)
class Scene:
    """A wiki that takes an application's tokens, and a ledger that keeps them."""

    server: Server
    ledger: Ledger
    site: Site
    hurt: Hurt
    at: datetime = datetime(2030, 1, 1, tzinfo=UTC)

    @property
    def kept(self) -> KeptTokens:
        return KeptTokens(self.hurt, "source:wiki", lambda: self.at)

    def process(self, application: Application = APPLICATION) -> Tokens:
        """As another process would have it."""
        return Tokens(self.site, application, self.kept, pause=0.01)


@asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    wiki = Wiki()
    wiki.person("robot", admin=True)
    wiki.space("ENG", everyone())
    server = Server(wiki, scoped=True)
    shutil.copy(ready(schema), folder / "ledger.sqlite")
    async with (
        server.open(),
        open_ledger(f"sqlite+aiosqlite:///{folder / 'ledger.sqlite'}") as ledger,
        Site("the token server", f"{server.base}/oauth/token", LIMITS) as site,
    ):
        yield Scene(server, ledger, site, Hurt(SqlLogins(ledger.door, Vault([KEY]))))


async def test_the_next_token_is_kept_sealed_before_this_one_is_used(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        assert await at.process().header() == "Bearer access-1"
        held = await at.hurt.logins.held("source:wiki", at.process()._subject)

        assert held is not None
        assert held.refresh is not None
        assert "refresh-2" in held.refresh
        async with at.ledger.door.read() as connection:
            [row] = (await connection.execute(text("SELECT * FROM logins"))).all()
        assert "refresh-" not in str(row)
        assert "access-" not in str(row)


async def test_another_process_goes_by_the_token_that_is_there(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.process().header()

        assert await at.process().header() == "Bearer access-1"
        assert at.server.issued == 1


async def test_many_that_need_a_token_at_once_ask_for_one(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        processes = [at.process() for _ in range(6)]
        assert {"Bearer access-1"} == set(await asyncio.gather(*(each.header() for each in processes)))
        assert at.server.issued == 1

        later = [at.process() for _ in range(3)] * 2
        await asyncio.gather(*(each.header() for each in later))
        assert all(await asyncio.gather(*(each.renewed("Bearer access-1") for each in later)))
        assert {"Bearer access-2"} == {await each.header() for each in later}
        assert at.server.issued == 2


async def test_a_token_that_ran_out_is_renewed_and_a_young_one_is_not(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        first = at.process()
        await first.header()
        assert not await first.renewed("Bearer access-1")
        assert at.server.issued == 1

        later = at.process()
        header = await later.header()
        assert await later.renewed(header)
        assert await later.header() == "Bearer access-2"


async def test_a_busy_ledger_loses_no_token(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        at.hurt.faults = [Transient("busy")] * 2
        assert await at.process().header() == "Bearer access-1"

        process = at.process()
        await process.header()
        at.hurt.faults = [Transient("busy")] * 6
        with pytest.raises(Transient):
            await process.renewed("Bearer access-1")
        assert at.server.issued == 2
        assert await process.renewed("Bearer access-1")
        assert await process.header() == "Bearer access-2"
        assert at.server.issued == 2
        assert await at.process().header() == "Bearer access-2"


async def test_a_kill_before_the_token_was_kept_is_made_good_by_asking_again(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        at.server.lenient = True
        at.hurt.faults = [Killed()]
        with pytest.raises(Killed):
            await at.process().header()
        at.at += CLAIM + timedelta(seconds=1)

        assert await at.process().header() == "Bearer access-2"


async def test_who_goes_away_meanwhile_loses_no_token(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        process = at.process()
        asked = asyncio.Event()
        at.server.heard = lambda line: asked.set() if "oauth/token" in line else None
        waiting = asyncio.create_task(process.header())
        await asked.wait()
        waiting.cancel()
        await process.at_rest()

        assert await at.process().header() == "Bearer access-1"
        assert at.server.issued == 1


@pytest.mark.parametrize("fault", [status(500), half()], ids=["500", "half"])
async def test_a_server_that_fails_is_asked_again_later(tmp_path: Path, fault: Any) -> None:
    async with scene(tmp_path) as at:
        at.server.lenient = True
        at.server.fault("oauth/token", fault, times=1)
        with pytest.raises(Transient):
            await at.process().header()
        assert (await at.process().header()).startswith("Bearer access-")


async def test_a_refusal_is_told_and_forgets_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        at.server.refresh_token = "another"
        with pytest.raises(Lost, match="consent again"):
            await at.process().header()
        at.server.refresh_token = "refresh-1"

        assert await at.process().header() == "Bearer access-1"


async def test_a_new_consent_begins_a_new_chain(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.process().header()
        at.server.refresh_token = "consented-anew"

        assert await at.process(Application("app", "s3cret", "consented-anew")).header() == "Bearer access-2"


SETTINGS = {
    "base_url": f"https://api.atlassian.com/ex/confluence/{CLOUD}/wiki",
    "edition": "cloud",
    "auth": "oauth",
    "client_id": "app",
    "secret": {"secret_env": "APP"},
    "refresh": {"secret_env": "REFRESH"},
}


async def test_a_source_goes_by_its_tokens_and_renews_one_that_is_refused(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        urls = {"base_url": f"{at.server.base}{at.server.context}", "token_url": f"{at.server.base}/oauth/token"}
        config = SourceConfig("wiki", "confluence", SETTINGS | urls)
        given = {"APP": "s3cret", "REFRESH": "refresh-1"}
        memory = SqlMemory(at.ledger.door, "wiki")
        for round_ in (1, 2):
            async with open_confluence(
                config, lambda named: given[named["secret_env"]], memory, hurried=True, pace=HASTE, kept=at.kept
            ) as far:
                findings = await far.probe(at.at)
                assert findings[0].ok, findings
            assert at.server.issued == round_
            at.server.tokens.pop(f"access-{round_}")


async def test_the_tokens_of_a_source_go_with_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.ledger.sources.add(SourceConfig("wiki", "confluence", SETTINGS), at.at)
        await at.process().header()
        await at.ledger.sources.remove("wiki", at.at)
        await at.ledger.sources.forget("wiki")

        assert await at.hurt.logins.held("source:wiki", at.process()._subject) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"refresh": None}, "https://auth.atlassian.com/authorize.*offline_access"),
        ({"client_id": ""}, "--client-id"),
        ({"edition": "datacenter"}, "for Cloud"),
        ({"base_url": "https://x.atlassian.net/wiki"}, "api.atlassian.com"),
    ],
)
def test_settings_that_can_not_be_say_what_to_do(change: dict[str, Any], says: str) -> None:
    with pytest.raises(Stop, match=says):
        Chosen.of(SETTINGS | change)
