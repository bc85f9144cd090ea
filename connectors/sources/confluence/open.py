"""Opens a configured Confluence with everything that it is to us."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from connectors.errors import Stop
from connectors.http import Site
from connectors.ports import FarSource, Finding, Memory, Rights, SourceConfig
from connectors.sources.confluence import probe
from connectors.sources.confluence.accounts import accounts
from connectors.sources.confluence.asking import Asking
from connectors.sources.confluence.client import LIMITS, Account, Client, Pace
from connectors.sources.confluence.cloud import Cloud
from connectors.sources.confluence.datacenter import DataCenter
from connectors.sources.confluence.hook import ConfluenceHook
from connectors.sources.confluence.live import (
    BelowRestrictions,
    CloudLiveCheck,
    ServerLiveCheck,
    everything,
    nothing,
    read_again,
)
from connectors.sources.confluence.mapping import Documents
from connectors.sources.confluence.oauth import LIMITS as TOKEN_LIMITS
from connectors.sources.confluence.oauth import TOKENS, Application, KeptTokens, Tokens
from connectors.sources.confluence.permissions import CloudSpaces, Restrictions, ServerSpaces
from connectors.sources.confluence.principals import Principals
from connectors.sources.confluence.rights import CloudRights, ServerRights
from connectors.sources.confluence.source import ConfluenceSource, Reach, feeds_of
from connectors.sources.confluence.wiki import Notices, Wiki
from policies.names import Principal

LEASE = timedelta(hours=24)
SCOPES = (
    *(
        f"read:{what}:confluence"
        for what in (
            "space", "page", "blogpost", "attachment", "comment", "folder", "whiteboard", "database", "embed",
            "hierarchical-content", "label", "space.permission", "content.permission", "content.restriction", "user",
            "group",
        )
    ),
    "search:confluence",
    "read:confluence-groups",
    "read:confluence-user",
    "offline_access",
)  # fmt: skip
"""What an application asks consent for."""
_GATEWAY = "/ex/confluence/"
_PERIOD = re.compile(r"(\d{1,5})\s*([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}

Secret = Callable[[Mapping[str, str]], str]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A source's settings, checked."""

    base_url: str
    cloud: bool
    auth: str  # basic | bearer | oauth
    user: str
    secret: Mapping[str, str]  # of the application, with oauth
    client_id: str
    refresh: Mapping[str, str]  # the refresh token that begins, with oauth
    token_url: str
    spaces: tuple[str, ...]
    excluded: frozenset[str]  # labels that keep a page out, in lower case
    lease: timedelta
    live_check: str  # off | sensitive | all
    webhook_secret: Mapping[str, str] | None
    every: Mapping[str, timedelta]
    history: bool  # the wordings of a page that were in force before as well
    everyone_is_licensed: bool
    product_groups: frozenset[str]  # of a Data Center before 9.3: whose members may use it

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Chosen:
        """Raises Stop for settings that can't be: what is wrong, and what to do."""
        try:
            edition, auth = str(settings["edition"]), str(settings["auth"])
            base_url, secret = str(settings["base_url"]).rstrip("/"), settings["secret"]
        except KeyError as error:
            raise Stop(f"a confluence source needs {error.args[0]!r}; remove it and add it again") from error
        if edition not in ("cloud", "datacenter"):
            raise Stop(f"--edition is cloud or datacenter, not {edition!r}")
        live = str(settings.get("live_check") or "off")
        if live not in ("off", "sensitive", "all"):
            raise Stop(f"--live-check is off, sensitive or all, not {live!r}")
        if auth == "basic" and not settings.get("user"):
            raise Stop("--auth basic needs --user: the e-mail address of the account that the token belongs to")
        if auth == "oauth":
            _consented(settings, edition, base_url)
        every = {str(name): period(str(value)) for name, value in dict(settings.get("every") or {}).items()}
        return cls(
            base_url=base_url,
            cloud=edition == "cloud",
            auth=auth,
            user=str(settings.get("user") or ""),
            secret=secret,
            client_id=str(settings.get("client_id") or ""),
            refresh=settings.get("refresh") or {},
            token_url=str(settings.get("token_url") or TOKENS),
            spaces=tuple(dict.fromkeys(str(key).strip() for key in settings.get("spaces") or () if str(key).strip())),
            excluded=frozenset(str(label).strip().casefold() for label in settings.get("excluded_labels") or ()),
            lease=period(str(settings.get("lease") or "24h")),
            live_check=live,
            webhook_secret=settings.get("webhook_secret"),
            every=every,
            history=bool(settings.get("history")),
            everyone_is_licensed=bool(settings.get("everyone_is_licensed")),
            product_groups=frozenset(map(str, settings.get("product_groups") or ())),
        )


def _consented(settings: Mapping[str, Any], edition: str, base_url: str) -> None:
    """Raises Stop for settings of OAuth that can't be; where the consent is missing it says how to give it."""
    if edition != "cloud" or _GATEWAY not in base_url:
        raise Stop("--auth oauth is for Cloud, at --base-url https://api.atlassian.com/ex/confluence/CLOUD-ID/wiki")
    client = str(settings.get("client_id") or "")
    if not client:
        raise Stop("--auth oauth needs --client-id: the id of your application at developer.atlassian.com/console")
    if not settings.get("refresh"):
        asked = {"audience": "api.atlassian.com", "client_id": client, "scope": " ".join(SCOPES)}
        asked |= {"redirect_uri": "CALLBACK", "state": "any", "response_type": "code", "prompt": "consent"}
        raise Stop(
            "--auth oauth needs a consent. As the account that is to read, open "
            f"https://auth.atlassian.com/authorize?{urlencode(asked, quote_via=quote)} (CALLBACK: the application's "
            "callback address), exchange the code that comes back for tokens as docs/confluence.md says, keep the "
            "refresh token in a variable or a file, and name that with --refresh-env or --refresh-file"
        )


def period(text: str) -> timedelta:
    """`24h`, `90m`, `3600`; Stop for what is none, or none worth having."""
    found = _PERIOD.fullmatch(text.strip())
    seconds = int(found.group(1)) * _SECONDS[found.group(2)] if found else 0
    if not seconds:
        raise Stop(f"{text!r} is no length of time; write it as 24h, 90m or 2d")
    return timedelta(seconds=seconds)


@asynccontextmanager
async def open_confluence(
    config: SourceConfig,
    secret: Secret,
    memory: Memory,
    *,
    hurried: bool,
    pace: Pace | None = None,
    kept: KeptTokens | None = None,
) -> AsyncIterator[FarSource]:
    """A configured Confluence, as long as the context is open. Raises Stop for settings that can't be."""
    chosen = Chosen.of(config.settings)
    async with Site(config.name, chosen.base_url, LIMITS) as site, _account(chosen, secret, kept) as account:
        client = Client(site, account, chosen.base_url, pace or Pace())
        principals, notices = Principals(config.name), Notices()
        wiki = _wiki(chosen, client, principals, notices)
        everyone = {principals.anonymous} | ({principals.licensed} if chosen.everyone_is_licensed else set())
        told = feeds_of(chosen.lease, chosen.every)
        rights = _rights(chosen, client, principals, frozenset(everyone))
        live = CloudLiveCheck(client, memory) if chosen.cloud else ServerLiveCheck(wiki, rights, memory)
        asking = Asking(wiki, rights, principals, chosen.cloud, chosen.live_check)
        source = ConfluenceSource(
            config.name,
            wiki,
            memory,
            Documents(config.name, partial(_web, chosen, client), chosen.cloud, chosen.excluded),
            Reach(chosen.spaces, chosen.lease),
            told,
            notices,
            hurried=hurried,
            history=chosen.history,
        )
        yield FarSource(
            source=source,
            rights=rights,
            feeds=told,
            stale_grant_bound=chosen.lease,
            probe=partial(_probed, asking, chosen),
            live=None if chosen.live_check == "off" else live,
            live_for=nothing if chosen.live_check == "sensitive" else everything,
            doubts=BelowRestrictions(memory) if chosen.live_check == "sensitive" else None,
            denied=partial(read_again, memory),
            hook=ConfluenceHook(secret(chosen.webhook_secret)) if chosen.webhook_secret else None,
            accounts=partial(accounts, client, chosen.cloud),
        )


async def _probed(asking: Asking, chosen: Chosen, now: datetime) -> Sequence[Finding]:
    return await probe.findings(asking, chosen.spaces, chosen.product_groups, now)


@asynccontextmanager
async def _account(chosen: Chosen, secret: Secret, kept: KeptTokens | None) -> AsyncIterator[Account]:
    token = secret(chosen.secret)
    match chosen.auth:
        case "basic":
            yield Account.basic(chosen.user, token)
        case "bearer":
            yield Account.bearer(token)
        case "oauth" if kept is not None:
            application = Application(chosen.client_id, token, secret(chosen.refresh))
            async with Site("Atlassian's token server", chosen.token_url, TOKEN_LIMITS) as site:
                tokens = Tokens(site, application, kept)
                try:
                    yield Account(tokens.header, tokens.renewed)
                finally:
                    await tokens.at_rest()
        case other:
            raise Stop(f"--auth is basic, bearer or oauth, not {other!r}")


def _rights(chosen: Chosen, client: Client, principals: Principals, everyone: frozenset[Principal]) -> Rights:
    if chosen.cloud:
        return CloudRights(client, principals, everyone)
    return ServerRights(client, principals, everyone, chosen.product_groups)


def _wiki(chosen: Chosen, client: Client, principals: Principals, notices: Notices) -> Wiki:
    restrictions = Restrictions(client, principals, chosen.cloud)
    if chosen.cloud:
        return Cloud(client, CloudSpaces(client, principals, notices), restrictions)
    return DataCenter(client, ServerSpaces(client, principals, notices), restrictions)


def _web(chosen: Chosen, client: Client) -> str:
    """Where people read: the configured address, unless that is the gateway of tokens, which no browser can use."""
    return client.told_base or chosen.base_url if _GATEWAY in chosen.base_url else chosen.base_url
