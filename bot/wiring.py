"""Opens every door in order and closes them in reverse. The only file that names adapters, and the only clock.

Adapters are imported when they are opened, and models load when they are first used: looking at sources or rights
never waits for a model.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bot.calibration import calibration
from bot.errors import WrongUse
from bot.settings import Settings
from connectors.errors import DoorError, Stop
from connectors.usage import Spent, note

if TYPE_CHECKING:
    from bot.answering.doors import Doors
    from bot.auditing import AuditRecord
    from bot.far import FarSources
    from bot.indexing import Indexing
    from bot.keeping import Json, Keeping, Opened, Tell
    from bot.looking import Looking
    from bot.metrics import Metrics
    from connectors.chat import Chat, Exchanges, Inbox, Lines
    from connectors.http import Limits as HttpLimits
    from connectors.http import Site
    from connectors.index.weaviate_door import Address
    from connectors.ledger.address import Limits
    from connectors.ledger.door import Door
    from connectors.ledger.memory import SqlMemory
    from connectors.logins import Logins, Mail, Provider, Tickets
    from connectors.models.local import LocalEmbedder, LocalReranker
    from connectors.ports import (
        Catalog,
        ChainVerdict,
        Detector,
        DirectoryTables,
        Embedder,
        Facts,
        FarSource,
        Holdings,
        Index,
        IndexIdentity,
        Memory,
        NowDirectory,
        Parser,
        People,
        Reranker,
        Rights,
        Source,
        SourceConfig,
        Writer,
    )
    from connectors.sources.confluence.oauth import KeptTokens
    from connectors.usage import Tell as TellSpent
    from connectors.vault import Vault
    from policies.policy import Policy

Clock = Callable[[], datetime]
Local = TypeVar("Local", bound="LocalEmbedder | LocalReranker")

OpenFar = Callable[..., AbstractAsyncContextManager["FarSource"]]
"""`open_KIND(config, secret, memory, *, hurried)` of a far source."""

FAR = ("confluence", "sharepoint")
"""The kinds of far sources: each opens with `connectors.sources.KIND.open.open_KIND`."""

SCHEMA = "passages/2"
"""Version of how documents are cut and laid out in an index; raise it and every source is read anew."""


def present() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class App:
    """The open house."""

    settings: Settings
    clock: Clock
    policy: Policy
    facts: Facts
    catalog: Catalog
    people: People
    directory: NowDirectory
    traces: AuditRecord
    index: Index
    doors: Doors  # the line that carries answers out
    keeping: Keeping  # the line that brings documents in
    looking: Looking
    indexing: Indexing
    far: FarSources  # those that are open in this process
    memory: Callable[[str], SqlMemory]  # what a far source remembers
    hosted: Mapping[str, Callable[[], Awaitable[None]]]  # doors to hosted models, by name; each asked whether it works
    about_ledger: Callable[[], Awaitable[str]]  # which database it is, and its schema
    inbox: Inbox  # what was asked in a chat and waits for its answer
    exchanges: Exchanges  # what was asked and answered there of late
    open_chat: Callable[[], AbstractAsyncContextManager[Chat]] | None  # Slack, where a token is set
    open_lines: Callable[[], AbstractAsyncContextManager[Lines]] | None  # Socket Mode, where its token is set
    tickets: Tickets
    logins: Logins
    open_providers: Callable[[], AbstractAsyncContextManager[Providers]] | None  # where linking is set up
    mail: Mail | None  # where a server is set
    seal_form: Callable[[str], str]  # a text that only this house can make of a browser's secret
    sealed: Sealed  # all that is kept sealed, for bringing it under another key


class Resealed(Protocol):
    """What was done at one place; counts of values."""

    @property
    def place(self) -> str: ...
    @property
    def resealed(self) -> int: ...
    @property
    def fresh(self) -> int: ...
    @property
    def closed(self) -> int: ...


class Sealed(Protocol):
    """All that is kept sealed."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the configured keys, newest first."""
        ...

    async def counts(self) -> Mapping[str, Mapping[str, int]]:
        """How many values there are under each key, by place."""
        ...

    async def rotate(self) -> Sequence[Resealed]:
        """Bring all that can be under the newest key."""
        ...


@dataclass(frozen=True, slots=True)
class Providers:
    """Where people prove who they are: in Slack, and in the company."""

    slack: Provider
    company: Provider


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    warm: bool = False,
    clock: Clock = present,
    metrics: Metrics | None = None,
    far: Mapping[str, OpenFar] | None = None,
) -> AsyncIterator[App]:
    """Open the house. `warm`: begin to load the models at once. `far`: what opens sources of further kinds. Raises
    DoorError when a door does not open, after closing those that did."""
    async with AsyncExitStack() as stack:
        models = _Models(settings, _teller(settings, metrics))
        stack.push_async_callback(models.close)
        for site in models.sites:
            await stack.enter_async_context(site)
        if warm:
            await models.begin()  # they load while the rest is imported and opened
            stack.push_async_callback(_settled, asyncio.create_task(models.load()))
        yield await _open(stack, settings, models, clock, metrics, far or {})


async def _open(
    stack: AsyncExitStack,
    settings: Settings,
    models: _Models,
    clock: Clock,
    metrics: Metrics | None,
    far: Mapping[str, OpenFar],
) -> App:
    from bot.answering.doors import Doors
    from bot.answering.shortlist import Cut
    from bot.far import FarSources
    from bot.looking import Looking
    from connectors.identity.directory import LedgerDirectory
    from connectors.identity.late import LateDirectory
    from connectors.injection import Detectors
    from connectors.ledger.about import about
    from connectors.ledger.exchanges import SqlExchanges
    from connectors.ledger.holdings import SqlHoldings
    from connectors.ledger.inbox import SqlInbox
    from connectors.ledger.logins import SqlLogins
    from connectors.ledger.lookup import SqlDocuments, SqlOwners
    from connectors.ledger.memory import SqlMemory
    from connectors.ledger.open import open_ledger
    from connectors.ledger.sealed import SqlSealed
    from connectors.ledger.tickets import SqlTickets
    from connectors.ledger.traces import SqlTraces
    from connectors.trace_signer import TraceSigner
    from policies.injection import signals

    _own(settings.data)
    policy = _policy(settings)
    limits = calibration(settings.embedder, settings.reranker)
    vault = _vault(settings)
    ledger = await stack.enter_async_context(open_ledger(_database(settings), _limits(settings)))
    signer = TraceSigner.from_file(settings.data / "trace-signing-key.pem")
    traces = SqlTraces(ledger.door, vault, signer, settings.data / "trace-checkpoints.jsonl")

    def memory(source: str) -> SqlMemory:
        return SqlMemory(ledger.door, source)

    logins = SqlLogins(ledger.door, vault)
    opener = _Opener(settings, memory, far, logins, clock)
    sources = FarSources(
        ledger.sources,
        ledger.people,
        {*FAR, *far},
        opener.far,
        clock,
        metrics.live_checks if metrics is not None else lambda _source, _confirmed, _denied: None,
    )
    await stack.enter_async_context(sources)
    providers = _providers(settings)
    vouched = await _vouched(stack, providers, logins)

    async def rights() -> Mapping[str, Rights]:
        return {**await sources.rights(), **vouched}

    directory = LateDirectory(LedgerDirectory(ledger.people), ledger.people, rights)
    index = await stack.enter_async_context(_index(settings, models.embedder, metrics, clock))
    # Every detector judged the passages when they came in; joined, they are judged by our own rules, which are fast.
    joined = Detectors(judges=(signals,))
    doors = Doors(
        directory=directory,
        facts=ledger.facts,
        index=index,
        embedder=models.embedder,
        reranker=models.reranker,
        writer=models.writer,
        personal_data=models.personal_data,
        detector=joined,
        traces=traces,
        policy=policy,
        cut=Cut(limits.floor, limits.most, limits.weight),
        clock=clock,
        timer=time.perf_counter,
        tag=lambda: secrets.token_hex(3),
        live=sources,
    )
    documents = SqlDocuments(ledger.door)
    return App(
        settings=settings,
        clock=clock,
        policy=policy,
        facts=ledger.facts,
        catalog=ledger.catalog,
        people=ledger.people,
        directory=directory,
        traces=traces,
        index=index,
        doors=doors,
        keeping=_keeping(ledger, SqlOwners(ledger.door), opener, index, models.embedder, Detectors(), clock),
        indexing=_indexing(settings, ledger.catalog, SqlHoldings(ledger.door), index, models.embedder, clock),
        looking=Looking(documents, ledger.catalog, ledger.facts, directory, ledger.people, policy),
        far=sources,
        memory=memory,
        hosted=models.hosted,
        about_ledger=lambda: about(ledger.door),
        inbox=SqlInbox(ledger.door, vault),
        exchanges=SqlExchanges(ledger.door, vault),
        open_chat=_chat(settings),
        open_lines=_lines(settings),
        tickets=SqlTickets(ledger.door, vault),
        logins=logins,
        open_providers=providers,
        mail=_mail(settings),
        seal_form=lambda secret: vault.pseudonym("link form", secret),
        sealed=SqlSealed(ledger.door, vault),
    )


def _chat(settings: Settings) -> Callable[[], AbstractAsyncContextManager[Chat]] | None:
    token, address = settings.slack_bot_token, settings.slack_api_url
    if token is None or address is None:
        return None

    def opened() -> AbstractAsyncContextManager[Chat]:
        from connectors.slack import SlackWeb

        return SlackWeb(address, token.reveal())

    return opened


def _lines(settings: Settings) -> Callable[[], AbstractAsyncContextManager[Lines]] | None:
    token, address = settings.slack_app_token, settings.slack_api_url
    if token is None or address is None:
        return None

    def opened() -> AbstractAsyncContextManager[Lines]:
        from connectors.slack_socket import SlackSocket

        return SlackSocket(address, token.reveal())

    return opened


async def _vouched(
    stack: AsyncExitStack, providers: Callable[[], AbstractAsyncContextManager[Providers]] | None, logins: Logins
) -> Mapping[str, Rights]:
    """Who tells whether people who linked themselves are still let in; nobody where linking is not set up."""
    if providers is None:
        return {}
    from connectors.identity.logins import LoginRights

    company = (await stack.enter_async_context(providers())).company
    rights = LoginRights(company, logins)
    stack.push_async_callback(rights.close)
    # No source can have this name: it begins with a space.
    return {" logins": rights}


def _providers(settings: Settings) -> Callable[[], AbstractAsyncContextManager[Providers]] | None:
    """Sign in with Slack and the identity provider; None where one of them is not set up."""
    slack, slack_id, slack_secret = settings.slack_oidc_issuer, settings.slack_client_id, settings.slack_client_secret
    company, company_id, public = settings.oidc_issuer, settings.oidc_client_id, settings.public_url
    if not (slack and slack_id and slack_secret and company and company_id and public):
        return None
    from connectors.identity.oidc import OidcProvider, Registration

    secret = settings.oidc_client_secret
    # Not one redirect address for both: what one provider sends back must not be taken for the other's.
    in_slack = Registration(
        slack,
        slack_id,
        f"{public}/link/slack/callback",
        slack_secret.reveal(),
        scope="openid profile",
        always_pkce=False,
        prompt=None,
    )
    in_company = Registration(
        company,
        company_id,
        f"{public}/link/login/callback",
        secret.reveal() if secret else None,
        groups_claim=settings.oidc_groups_claim,
    )

    @asynccontextmanager
    async def opened() -> AsyncIterator[Providers]:
        async with (
            OidcProvider("sign in with slack", in_slack) as first,
            OidcProvider("the identity provider", in_company) as second,
        ):
            yield Providers(first, second)

    return opened


def _mail(settings: Settings) -> Mail | None:
    server, sender, password = settings.mail_server, settings.mail_from, settings.mail_password
    if server is None or sender is None:
        return None
    from urllib.parse import urlsplit

    from bot.settings import is_loopback
    from connectors.mail import MailServer

    in_clear = is_loopback(urlsplit(server).hostname or "")
    return MailServer(server, sender, password.reveal() if password else None, in_clear=in_clear)


def _own(folder: Path) -> None:
    """The data directory, for this user alone when it is new."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUse(f"FOOTNOTE_DATA names {str(folder)!r}, which can't be made: {error.strerror}") from error


def _database(settings: Settings) -> str:
    if settings.database_url is not None:
        return settings.database_url.reveal()
    return f"sqlite+aiosqlite:///{(settings.data / 'ledger.sqlite').absolute()}"


async def secret_variables(settings: Settings) -> frozenset[str]:
    """The environment variables that configured sources keep their secrets in; none where there is no ledger yet."""
    from bot.keeping import variables_of
    from connectors.ledger.open import open_ledger

    if settings.database_url is None and not (settings.data / "ledger.sqlite").exists():
        return frozenset()
    async with open_ledger(_database(settings), _limits(settings)) as ledger:
        return frozenset().union(*(variables_of(each.settings) for each in await ledger.sources.list()))


def check_address(url: str, *, in_the_open: bool) -> None:
    """Refuse a database's address that can't be read, and a password `in_the_open`: in a command's arguments."""
    from connectors.ledger.address import address, holds_password

    try:
        address(url)
    except DoorError as error:
        raise WrongUse(str(error)) from None
    if in_the_open and holds_password(url):
        raise WrongUse("others on this machine can read a password in an argument; use --to-env or --to-file")


async def copy_ledger(settings: Settings, to: str, tell: Tell) -> Json:
    """Copy the ledger to another database and prove it equal, without opening anything else of the house."""
    from connectors.ledger.address import address, without_password
    from connectors.ledger.copying import copy
    from connectors.ledger.dialect import engine
    from connectors.ledger.door import Door
    from connectors.ledger.open import open_ledger
    from connectors.ledger.traces import SqlTraces
    from connectors.trace_signer import TraceSigner

    here, limits = _database(settings), _limits(settings)
    if address(here) == address(to):
        raise WrongUse("the target is the ledger itself; name another database")
    _own(settings.data)
    vault, signer = _vault(settings), TraceSigner.from_file(settings.data / "trace-signing-key.pem")

    async def prove(door: Door) -> ChainVerdict:
        return await SqlTraces(door, vault, signer, settings.data / "trace-checkpoints.jsonl").verify()

    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(open_ledger(here, limits))
        target = Door(engine(to, limits), limits)
        stack.push_async_callback(target.close)
        copied = await copy(ledger.door, target, prove, tell)
    return {
        "from": without_password(here),
        "to": without_password(to),
        "tables": dict(copied.tables),
        "rows": sum(copied.tables.values()),
        "chain": {"status": copied.chain.status, "records": copied.chain.records, "problem": copied.chain.problem},
        "already": copied.already,
    }


def _limits(settings: Settings) -> Limits:
    from connectors.ledger.address import Limits

    return Limits(
        pool_size=settings.database_pool_size,
        wait=settings.database_wait,
        connect=settings.database_connect_timeout,
        statement=settings.database_statement_timeout,
    )


def _policy(settings: Settings) -> Policy:
    import policies
    from policies.load import load

    rules = Path(policies.__file__).with_name("rules.toml").read_text(encoding="utf-8")
    try:
        return load(rules, settings.everyone)
    except ValueError as error:
        raise Stop(str(error)) from error


def _vault(settings: Settings) -> Vault:
    from connectors.vault import Vault, keys_from_file

    if settings.secret_keys:
        return Vault([key.reveal() for key in settings.secret_keys])
    return Vault(keys_from_file(settings.data / "secret-keys"))


@asynccontextmanager
async def _index(settings: Settings, embedder: Embedder, metrics: Metrics | None, clock: Clock) -> AsyncIterator[Index]:
    from connectors.ports import IndexIdentity

    identity = IndexIdentity(embedder.model, embedder.dimensions, SCHEMA)
    counted = metrics.retrievals.inc if metrics is not None else None
    async with _opened_index(settings, identity, clock) as index:
        yield index if counted is None else _Counted(index, counted)


def _opened_index(settings: Settings, identity: IndexIdentity, clock: Clock) -> AbstractAsyncContextManager[Index]:
    if settings.index == "embedded":
        from connectors.index.embedded import EmbeddedIndex

        return EmbeddedIndex(settings.data / "index.sqlite", identity)
    from connectors.index.weaviate import WeaviateIndex

    return WeaviateIndex(
        _weaviate(settings),
        identity,
        clock,
        name=settings.weaviate_collection,
        replication=settings.weaviate_replication,
    )


def _weaviate(settings: Settings) -> Address:
    from connectors.index.weaviate_door import Address

    key, seconds = settings.weaviate_api_key, settings.weaviate_timeout.total_seconds()
    return Address(
        http=settings.weaviate_http or "",  # settings are refused without both
        grpc=settings.weaviate_grpc or "",
        key=key.reveal() if key is not None else None,
        read_seconds=seconds,
        write_seconds=6 * seconds,
    )


def _indexing(
    settings: Settings, catalog: Catalog, holdings: Holdings, index: Index, embedder: Embedder, clock: Clock
) -> Indexing:
    from bot.indexing import Indexing, Remaking

    remaking: Remaking | None = None
    if settings.index == "weaviate":
        from connectors.index.weaviate_reindex import Reindex

        remaking = Reindex(
            _weaviate(settings),
            index.identity,
            embedder.passages,
            name=settings.weaviate_collection,
            replication=settings.weaviate_replication,
        )
    return Indexing(catalog, holdings, index, remaking, clock)


class _Counted:
    """An index whose searches are counted; everything else goes straight to it."""

    def __init__(self, index: Index, counted: Callable[[], None]) -> None:
        self._index = index
        self._counted = counted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    async def search(self, search: Any) -> Any:
        """As the index does."""
        self._counted()
        return await self._index.search(search)


class _Models:
    """The models and detectors that were chosen. Local ones load at their first use, or all at once in threads; the
    sites of hosted ones are still to be opened."""

    def __init__(self, settings: Settings, tell: TellSpent) -> None:
        from connectors.models.local import LocalEmbedder, LocalReranker
        from connectors.pii_process import PersonalDataProcess

        self.sites: list[Site] = []
        self.hosted: dict[str, Callable[[], Awaitable[None]]] = {}
        self._settings = settings
        self._tell = tell
        self._local: list[LocalEmbedder | LocalReranker] = []
        self.embedder: Embedder = self._cohere("embedder") or self._here(LocalEmbedder())
        self.reranker: Reranker = self._cohere("reranker") or self._here(LocalReranker())
        self.writer: Writer = self._writer()
        self.personal_data = PersonalDataProcess(settings.not_names)

    def _here(self, model: Local) -> Local:
        self._local.append(model)
        return model

    def _cohere(self, door: str) -> Any:
        """Cohere's part for a door, where it was chosen."""
        settings = self._settings
        key = settings.cohere_key(door)
        if getattr(settings, door) != "cohere" or key is None:
            return None
        from connectors.models import cohere

        if door == "embedder" and not (
            settings.cohere_embed_dimensions or settings.cohere_embed_model in cohere.DIMENSIONS
        ):
            raise WrongUse(
                f"nobody here knows how long the vectors of {settings.cohere_embed_model!r} are; "
                "set FOOTNOTE_COHERE_EMBED_DIMENSIONS"
            )
        limits = self._limits()
        site = self._site("cohere", cohere.address(settings.cohere_base_url or ""), limits)
        purpose = {"embedder": "embed", "reranker": "rerank", "writer": "write"}[door]
        account = cohere.Account(site, key.reveal(), purpose, self._tell)
        made: Any
        match door:
            case "embedder":
                made = cohere.CohereEmbedder(
                    account, settings.cohere_embed_model, limits, settings.cohere_embed_dimensions
                )
            case "reranker":
                made = cohere.CohereReranker(account, settings.cohere_rerank_model, limits)
            case _:
                made = cohere.CohereWriter(account, settings.cohere_chat_model, self._limits(thinks=True))
        self.hosted[door] = made.ping
        return made

    def _writer(self) -> Writer:
        settings = self._settings
        if settings.writer == "openai" and settings.openai_base_url and settings.openai_model:
            from connectors.models.openai import Endpoint, OpenAIWriter

            limits = self._limits(thinks=True)
            site = self._site("the openai endpoint", settings.openai_base_url, limits)
            key = settings.openai_api_key.reveal() if settings.openai_api_key else None
            endpoint = Endpoint(site, key, self._tell)
            writer = OpenAIWriter(endpoint, settings.openai_model, limits)
            self.hosted["writer"] = writer.ping
            return writer
        if hosted := self._cohere("writer"):
            made: Writer = hosted
            return made
        from connectors.models.extractive import ExtractiveWriter, Thresholds

        fitted = calibration(settings.embedder, settings.reranker)
        return ExtractiveWriter(self.reranker, Thresholds(fitted.answers, fitted.supports))

    def _limits(self, *, thinks: bool = False) -> HttpLimits:
        """Of calls to a hosted model. One that `thinks` before its first byte, as a writer does, may be silent for all
        of the time: asked again it would begin, and bill, anew. Another one is asked again after a third of it."""
        from connectors.http import Limits

        patience = self._settings.model_timeout.total_seconds()
        return Limits(
            idle=patience if thinks else patience / 3,
            whole=patience,
            first_pause=min(0.5, patience / 30),
            longest_pause=min(10.0, patience / 2),
        )

    def _site(self, name: str, address: str, limits: HttpLimits) -> Site:
        from connectors.http import Site

        site = Site(name, address, limits)
        self.sites.append(site)
        return site

    async def begin(self) -> None:
        """Start the process that takes longest to load. Imports hold the event loop, not another process."""
        await self.personal_data.begin()

    async def load(self) -> None:
        """Load everything that an answer needs, side by side."""
        await asyncio.gather(self.personal_data.load(), *(each.load() for each in self._local))

    async def close(self) -> None:
        """Let the threads go, and end the process."""
        await self.personal_data.close()
        for each in self._local:
            each.close()


def _teller(settings: Settings, metrics: Metrics | None) -> TellSpent:
    """Where a call to a hosted model is counted: at its price, for the question that it was made for and in metrics."""

    def tell(spent: Spent) -> None:
        priced = replace(spent, cost=settings.model_prices.cost(spent))
        note(priced)
        if metrics is not None:
            metrics.spent(priced)

    return tell


async def _settled(loading: asyncio.Task[None]) -> None:
    """Wait for what was begun; whoever needed it has met its error already."""
    await asyncio.wait([loading])
    if not loading.cancelled():
        loading.exception()


def _keeping(
    ledger: Any, owners: Any, opener: _Opener, index: Index, embedder: Embedder, detector: Detector, clock: Clock
) -> Keeping:
    from bot.keeping import Keeping

    async def bring_in(source: Source, *, full: bool, tell: Tell) -> Json:
        from connectors.sync.run import Doors as SyncDoors
        from connectors.sync.run import sync

        async with _parser() as parser:
            doors = SyncDoors(ledger.catalog, index, parser, embedder, detector)
            report = await sync(source, doors, clock, full, lambda done: tell(done, None, source.name))
        return asdict(report)

    return Keeping(
        sources=ledger.sources,
        catalog=ledger.catalog,
        index=index,
        people=ledger.people,
        owners=owners,
        clock=clock,
        open_source=opener.open,
        memory=opener.memory,
        read_directory=_directory,
        sync=bring_in,
    )


@asynccontextmanager
async def _parser() -> AsyncIterator[Parser]:
    from connectors.sync.parse.sandbox import SandboxedParser, find_tesseract

    async with SandboxedParser(workers=2, tesseract=find_tesseract()) as parser:
        yield parser


@dataclass(frozen=True, slots=True)
class _Opener:
    """Opens sources of every kind."""

    settings: Settings
    memory: Callable[[str], Memory]
    more: Mapping[str, OpenFar]
    logins: Logins
    clock: Clock

    @asynccontextmanager
    async def open(self, config: SourceConfig, *, hurried: bool) -> AsyncIterator[Opened]:
        """The source, and all that a far one is to us."""
        from bot.keeping import Opened

        if config.kind == "files":
            from connectors.sources.files import FilesSource

            yield Opened(FilesSource(config.name, Path(config.settings["path"])))
            return
        async with self.far(config, hurried=hurried) as far:
            yield Opened(far.source, far)

    def far(self, config: SourceConfig, *, hurried: bool = False) -> AbstractAsyncContextManager[FarSource]:
        """A source that is an outside system."""
        kept = {"kept": self._kept(config.name)} if config.settings.get("auth") == "oauth" else {}
        opened: AbstractAsyncContextManager[FarSource] = self._far(config)(
            config, self.settings.secret, self.memory(config.name), hurried=hurried, **kept
        )
        return opened

    def _kept(self, name: str) -> KeptTokens:
        from connectors.sources.confluence.oauth import KeptTokens

        return KeptTokens(self.logins, f"source:{name}", self.clock)

    def _far(self, config: SourceConfig) -> OpenFar:
        from importlib import import_module
        from importlib.util import find_spec

        kind = config.kind
        if kind in self.more:
            return self.more[kind]
        if kind in FAR and find_spec(f"connectors.sources.{kind}") and find_spec(f"connectors.sources.{kind}.open"):
            found: OpenFar = getattr(import_module(f"connectors.sources.{kind}.open"), f"open_{kind}")
            return found
        raise Stop(f"source {config.name!r} is of kind {kind!r}, which this version does not know")


def _directory(path: Path) -> DirectoryTables:
    from connectors.identity.directory import read_directory

    try:
        return read_directory(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Stop(f"{str(path)!r} can't be read: {error}") from error
    except DoorError as error:
        raise Stop(f"{str(path)!r}: {error}") from error
