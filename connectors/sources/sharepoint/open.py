"""SharePoint put together from its settings: doors to the login, to Graph and to each site's host, and what uses them.

Settings of a source: `tenant`, `client_id`, `certificate` (a reference to the PEM), `sites`, and where given
`graph_url`, `login_url`, `lease` (seconds), `live_check` (off, sensitive, all), `restricted_to` (groups),
`excluded_labels`, `notification_url`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from yarl import URL

from connectors.errors import Stop
from connectors.http import Limits, Site
from connectors.ports import FarSource, Memory, SourceConfig
from connectors.sources.sharepoint.auth import (
    CONTENT_ONLY,
    LOGIN,
    Timer,
    graph_audience,
    login_limits,
    open_tokens,
)
from connectors.sources.sharepoint.budget import budget_of
from connectors.sources.sharepoint.client import Client
from connectors.sources.sharepoint.hook import GraphHook, Subscriptions, client_state
from connectors.sources.sharepoint.live import EffectiveRights, Told
from connectors.sources.sharepoint.permissions import restriction
from connectors.sources.sharepoint.principals import Names
from connectors.sources.sharepoint.probe import probe
from connectors.sources.sharepoint.rights import EntraRights
from connectors.sources.sharepoint.source import LEASE, SHORTEST, Settings, SharePointSource, feeds_of
from policies.access import AccessExpr
from policies.facts import Resource

GRAPH_URL = "https://graph.microsoft.com/v1.0"
LOGIN_URL = LOGIN
_LIMITS = Limits(at_once=8)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A source's settings, checked."""

    tenant: str
    client: str
    certificate: Mapping[str, str]
    sites: tuple[str, ...]
    graph_url: str
    login_url: str
    lease: timedelta
    live_check: str
    restricted_to: tuple[str, ...]
    excluded: frozenset[str]
    notification_url: str

    @classmethod
    def of(cls, config: SourceConfig) -> _Chosen:
        """Stop names the setting that is missing or wrong."""
        said = config.settings
        if said.get("certificate") is None:
            raise Stop(f"source {config.name!r}: {CONTENT_ONLY}")
        sites = tuple(dict.fromkeys(_address(each) for each in _texts(said, "sites")))
        if not sites:
            raise Stop(f"source {config.name!r} has no site; add it again with --site URL")
        return cls(
            tenant=_text(said, "tenant"),
            client=_text(said, "client_id"),
            certificate=said["certificate"],
            sites=sites,
            graph_url=str(said.get("graph_url") or GRAPH_URL).rstrip("/"),
            login_url=str(said.get("login_url") or LOGIN_URL).rstrip("/"),
            lease=_lease(said.get("lease")),
            live_check=str(said.get("live_check") or "off"),
            restricted_to=_texts(said, "restricted_to"),
            excluded=frozenset(label.casefold() for label in _texts(said, "excluded_labels")),
            notification_url=str(said.get("notification_url") or ""),
        )


@asynccontextmanager
async def open_sharepoint(
    config: SourceConfig,
    secret: Callable[[Mapping[str, str]], str],
    memory: Memory,
    *,
    hurried: bool,
) -> AsyncIterator[FarSource]:
    """The source with everything that it is to us; nothing is asked of it yet. Stop where the settings are wrong."""
    chosen = _Chosen.of(config)
    pem = secret(chosen.certificate)
    timer, names = Timer(), Names(chosen.tenant)
    async with AsyncExitStack() as stack:
        login = await stack.enter_async_context(Site("the Microsoft login", chosen.login_url, login_limits()))
        graph = await stack.enter_async_context(Site("Microsoft Graph", chosen.graph_url, _LIMITS))
        hosts = sorted({str(URL(each).origin()) for each in chosen.sites})
        doors = {host: await stack.enter_async_context(Site("SharePoint", host, _LIMITS)) for host in hosts}
        client = Client(
            door=graph,
            graph_url=chosen.graph_url,
            audience=graph_audience(chosen.graph_url),
            sites=doors,
            tokens=open_tokens(login, chosen.login_url, chosen.tenant, chosen.client, pem, timer),
            budget=budget_of(chosen.tenant, chosen.client),
        )
        state = client_state(pem, config.name)
        told_at = chosen.notification_url
        subscriptions = Subscriptions(client, memory, told_at, state) if told_at else None
        settings = Settings(
            name=config.name,
            addresses=chosen.sites,
            app=chosen.client,
            names=names,
            restricted_to=restriction(names, chosen.restricted_to),
            excluded=chosen.excluded,
            lease=chosen.lease,
        )
        yield FarSource(
            source=SharePointSource(settings, client, memory, timer, hurried=hurried, subscriptions=subscriptions),
            rights=EntraRights(names, client, memory, timer),
            feeds=feeds_of(chosen.lease),
            stale_grant_bound=chosen.lease,
            probe=partial(probe, client, timer, chosen.sites),
            live=None if chosen.live_check == "off" else EffectiveRights(client, memory, timer),
            live_for=_closed_to_some(names) if chosen.live_check == "sensitive" else _all,
            doubts=Told(memory),
            hook=GraphHook(state),
        )


def _all(_resource: Resource) -> bool:
    return True


def _closed_to_some(names: Names) -> Callable[[Resource], bool]:
    """Which documents are sensitive: those that not everybody inside the company may read."""
    everybody = frozenset([names.insiders, names.everyone])

    def sensitive(resource: Resource) -> bool:
        access = resource.scope.access
        return not isinstance(access, AccessExpr) or any(not clause & everybody for clause in access.clauses)

    return sensitive


def _address(text: str) -> str:
    """A site's address as it is compared: without a trailing slash, a query, or a page's name."""
    try:
        url = URL(text.strip())
        if url.scheme in ("http", "https") and url.host:
            path = url.path.rstrip("/")
            for page in ("/default.aspx", "/home.aspx"):
                path = path[: -len(page)] if path.casefold().endswith(page) else path
            return str(url.origin().join(URL.build(path=path))) if path else str(url.origin())
    except ValueError:
        pass
    raise Stop(f"{text!r} is not the address of a site; write it as https://TENANT.sharepoint.com/sites/NAME")


_LENGTH = re.compile(r"(\d{1,6})\s*([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _lease(said: Any) -> timedelta:
    """A length of time, in seconds or as in 24h."""
    if said is None:
        return LEASE
    found = _LENGTH.fullmatch(str(said).strip())
    length = timedelta(seconds=int(found[1]) * _SECONDS[found[2]]) if found else timedelta()
    if not SHORTEST <= length <= timedelta(days=30):
        raise Stop(f"the lease {said!r} can't be used; write a length between 1h and 30d, such as 24h")
    return length


def _text(settings: Mapping[str, Any], name: str) -> str:
    said = settings.get(name)
    if not isinstance(said, str) or not said.strip():
        raise Stop(f"a SharePoint source needs {name!r}; add it again")
    return said.strip()


def _texts(settings: Mapping[str, Any], name: str) -> tuple[str, ...]:
    said = settings.get(name) or ()
    if isinstance(said, str) or not isinstance(said, Sequence) or not all(isinstance(each, str) for each in said):
        raise Stop(f"{name!r} of a SharePoint source is a list of texts; add the source again")
    return tuple(said)
