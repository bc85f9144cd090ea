"""Reading the ledger's address, and how a PostgreSQL server is spoken to.

The parameters of an address are those that every PostgreSQL tool takes (`sslmode`, `sslrootcert`, `sslcert`,
`sslkey`, `target_session_attrs`, …); any other one is a setting of the session (`search_path`). An address may hold a
password, so nothing that can't be read is repeated in an error, nor in what led to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from sqlalchemy.engine import URL, make_url

from connectors.errors import Stop

APPLICATION = "footnote"
_OURS = "prepared_statement_cache_size"
"""The one parameter that is for the driver on this side: 0 where a pooler hands each transaction another connection."""
_PLACE = ("host", "port")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a PostgreSQL server is asked for at once, and how long is waited for it."""

    pool_size: int = 10  # connections of one process
    wait: timedelta = timedelta(seconds=15)  # for a free connection, or for another writer
    connect: timedelta = timedelta(seconds=10)
    statement: timedelta = timedelta(seconds=30)


def address(url: str) -> URL:
    """The address as its parts, with the driver that we use; raises Stop for what can't be read or isn't known."""
    try:
        parsed = make_url(url)
    except Exception:  # whatever a malformed address makes of the parser; its words hold parts of the address
        raise Stop("the database address can't be read; write it as postgresql+asyncpg://user@host/name") from None
    if "@" in (parsed.host or ""):  # a part of a password, which the network's errors would repeat
        raise Stop("the database address can't be read: write @ in a password as %40, / as %2F and : as %3A")
    match parsed.drivername:
        case "sqlite" | "sqlite+aiosqlite":
            return parsed.set(drivername="sqlite+aiosqlite")
        case "postgresql" | "postgres" | "postgresql+asyncpg":
            return parsed.set(drivername="postgresql+asyncpg")
        case other:
            raise Stop(f"databases of kind {other!r} are not supported; use sqlite or postgresql+asyncpg")


def connecting(url: URL, limits: Limits) -> tuple[URL, dict[str, Any]]:
    """Where to connect to, and the driver's arguments: all parameters but the place go to it as one address."""
    place = {name: value for name, value in url.query.items() if name in _PLACE}
    rest = {name: value for name, value in url.query.items() if name not in (*_PLACE, _OURS)}
    if "ssl" in rest:  # as the driver's own documentation has it
        rest.setdefault("sslmode", rest.pop("ssl"))
    arguments: dict[str, Any] = {
        "timeout": limits.connect.total_seconds(),
        # Of this side: it holds behind every pooler, and ends the statement at the server too.
        "command_timeout": limits.statement.total_seconds(),
        "server_settings": {"application_name": APPLICATION},
    }
    if rest:
        arguments["dsn"] = "postgresql://?" + urlencode(rest, doseq=True)
    if url.query.get(_OURS) == "0":
        # Another client's statement may stand under the same name in the connection that the pooler hands out.
        arguments |= {
            "statement_cache_size": 0,
            _OURS: 0,
            "prepared_statement_name_func": lambda: f"footnote_{uuid4().hex}",
        }
    return url.set(query=place), arguments


def without_password(url: str) -> str:
    """The address as it may be shown."""
    return address(url).render_as_string(hide_password=True)


def holds_password(url: str) -> bool:
    """Whether whoever reads the address reads a password."""
    parsed = address(url)
    return parsed.password is not None or any("password" in name for name in parsed.query)
