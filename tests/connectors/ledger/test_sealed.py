"""Keys changed under what is stored: everything sealed is found, brought under the new key, and opens still."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import inspect, select, update

from connectors.chat import Exchange, MostWaiting
from connectors.ledger.exchanges import SqlExchanges
from connectors.ledger.inbox import SqlInbox
from connectors.ledger.logins import SqlLogins
from connectors.ledger.open import Ledger, open_ledger
from connectors.ledger.sealed import PLACES, SqlSealed
from connectors.ledger.tables import METADATA, letters
from connectors.ledger.tickets import SqlTickets
from connectors.vault import Vault

OLD, NEW = "an old and rather varied key for tests 8472", "a new and rather varied key for tests 1953"
PROVIDER = "oidc:https://id.example"
DAY = timedelta(days=1)


async def filled(ledger: Ledger, vault: Vault, now: datetime) -> str:
    """A ledger with something at every place; gives the secret of a ticket."""
    await SqlInbox(ledger.door, vault).receive(["k1"], "T1", "U1", {"text": "a question"}, MostWaiting(5, 5), now)
    await SqlLogins(ledger.door, vault).keep(PROVIDER, "asha", "a-refresh-token", now)
    exchanges = SqlExchanges(ledger.door, vault)
    exchange = Exchange("e1", "slack:T1:U1", "posted", {"question": "q", "trace": "tr-1"}, now)
    await exchanges.keep(exchange, now + DAY)
    await exchanges.rate("e1", "bad", ("wrong",), "in his own words", now)
    return await SqlTickets(ledger.door, vault).issue("link", "U1", {"user": "U1"}, now, now + DAY)


async def test_t142_everything_sealed_comes_under_the_newest_key_and_opens_with_it_alone(
    ledger_url: str, now: datetime
) -> None:
    old, both, new = Vault([OLD]), Vault([NEW, OLD]), Vault([NEW])
    async with open_ledger(ledger_url) as ledger:
        secret = await filled(ledger, old, now)
        done = await SqlSealed(ledger.door, both).rotate()

        assert {each.place: (each.resealed, each.fresh, each.closed) for each in done} == {
            place.name: (1, 0, 0) for place in PLACES
        }
        assert await SqlLogins(ledger.door, new).held(PROVIDER, "asha") is not None
        ticket = await SqlTickets(ledger.door, new).look("link", secret, now)
        assert ticket is not None
        assert ticket.body == {"user": "U1"}
        letter = await SqlInbox(ledger.door, new).take(now)
        assert letter is not None
        assert letter.body == {"text": "a question"}
        again = await SqlSealed(ledger.door, both).rotate()
        assert all((each.resealed, each.fresh) == (0, 1) for each in again)


async def test_no_value_of_the_old_key_is_left_in_any_column(ledger_url: str, now: datetime) -> None:
    old, both = Vault([OLD]), Vault([NEW, OLD])
    async with open_ledger(ledger_url) as ledger:
        await filled(ledger, old, now)
        await SqlSealed(ledger.door, both).rotate()
        async with ledger.door.engine.connect() as connection:
            names = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
            everything = [
                str((await connection.execute(select(METADATA.tables[name]))).all())
                for name in names
                if name in METADATA.tables
            ]

    assert f"fn1.{old.ids[0]}." not in "".join(everything)
    assert f"fn1.{both.ids[0]}." in "".join(everything)


async def test_what_no_key_opens_is_counted_and_left(ledger_url: str, now: datetime) -> None:
    async with open_ledger(ledger_url) as ledger:
        await filled(ledger, Vault([OLD]), now)
        sealed = SqlSealed(ledger.door, Vault([NEW]))

        assert all((each.resealed, each.closed) == (0, 1) for each in await sealed.rotate())
        counts = await sealed.counts()
        assert counts["logins.refresh"] == {Vault([OLD]).ids[0]: 1}
        held = await SqlLogins(ledger.door, Vault([OLD])).held(PROVIDER, "asha")
        assert held is not None


async def test_a_value_that_changes_meanwhile_is_not_overwritten(ledger_url: str, now: datetime) -> None:
    old, both = Vault([OLD]), Vault([NEW, OLD])
    async with open_ledger(ledger_url) as ledger:
        await filled(ledger, old, now)
        sealed = SqlSealed(ledger.door, both)
        read = sealed._all

        async def meanwhile(place: object) -> list[tuple[tuple[str, ...], str]]:
            found = await read(place)  # type: ignore[arg-type]
            async with ledger.door.write("inbox") as connection:
                await connection.execute(update(letters).values(body=""))  # answered
            return found

        sealed._all = meanwhile  # type: ignore[method-assign]
        await sealed.rotate()
        async with ledger.door.read() as connection:
            assert (await connection.execute(select(letters.c.body))).scalar() == ""
