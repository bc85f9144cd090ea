"""A process beside the test's own, for what only two processes can show: `python busy.py DEED URL KEYS CHECKPOINTS`.

It prints `ready` when it is in the middle of its deed, and is killed there, or goes on until it is done.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from sqlalchemy import update

from connectors.ledger.open import open_ledger
from connectors.ledger.tables import scopes
from connectors.ledger.traces import SqlTraces
from connectors.trace_signer import TraceSigner
from connectors.vault import Vault, keys_from_file
from policies.facts import Trust
from tests.connectors.ledger.making import NOW, page, passages, rules


def _ready() -> None:
    print("ready", flush=True)


async def deed(name: str, url: str, folder: Path) -> None:
    async with open_ledger(url) as ledger:
        match name:
            case "open":
                _ready()
            case "half a change":
                async with ledger.door.write() as connection:
                    await connection.execute(update(scopes).values(state="gone"))
                    _ready()
                    await asyncio.sleep(60)
            case "a run":
                async with ledger.catalog.run("wiki", NOW):
                    scope, _ = await ledger.catalog.state_rules(rules())
                    await ledger.catalog.announce(page(), scope, passages(page()), Trust.CLEAN)
                    _ready()
                    await asyncio.sleep(60)
            case "traces":
                vault = Vault(keys_from_file(folder / "keys"))
                traces = SqlTraces(ledger.door, vault, TraceSigner.from_file(folder / "signer"), folder / "checkpoints")
                _ready()
                for number in range(25):
                    trace = await traces.begin({"place": "dm"}, {"question": "?"}, NOW + timedelta(seconds=number))
                    await traces.end(trace, {"outcome": "answered"}, {}, NOW + timedelta(seconds=number))
            case other:
                raise SystemExit(f"no deed {other!r}")


if __name__ == "__main__":
    asyncio.run(deed(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
