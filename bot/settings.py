"""Every setting, what it means, and how it is read. The only reader of the environment.

The fields of `Settings` are the table: the reader, the documentation and the check for unknown names all come from
them. Settings are read once; nothing else in the product looks at the environment.
"""

# ruff: noqa: RUF009 - every call in the body of `Settings` makes a dataclass field
from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from bot.errors import WrongUse
from bot.prices import LIST_PRICES, Prices
from policies.names import Principal

PREFIX = "FOOTNOTE_"
_LARGEST_SECRET = 1_000_000  # bytes
T = TypeVar("T")


class WrongSettings(WrongUse):
    """A setting that can't be used; the message is one sentence that says what to do."""


class NoSuchSetting(WrongSettings):
    """A variable with the prefix that is no setting. It may still hold the secret of a source that names it."""

    def __init__(self, names: frozenset[str], nearest: str) -> None:
        super().__init__(f"there is no setting {min(names)}; did you mean {nearest}?")
        self.names = names


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A value that is never printed; only `reveal` gives it."""

    _value: str

    def reveal(self) -> str:
        """The value itself, for the door that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"


Reader = Callable[[str], Any]  # text to value; ValueError says what would be right


@dataclass(frozen=True, slots=True)
class Row:
    """One setting as documentation and errors need it."""

    name: str  # with the prefix
    kind: str
    default: str
    meaning: str
    secret: bool


def _text(value: str) -> str:
    return value


def _one_of(*choices: str) -> Reader:
    def read(value: str) -> str:
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return value

    return read


def _path(value: str) -> Path:
    return Path(value).expanduser()


def _port(value: str) -> int:
    if not value.isdecimal() or not 0 <= int(value) <= 65535:
        raise ValueError("a port from 0 to 65535")
    return int(value)


def _count(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= 1000:
        raise ValueError("a number from 1 to 1000")
    return int(value)


def is_loopback(host: str) -> bool:
    """Whether an address or name can only mean this machine."""
    from ipaddress import ip_address

    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _url(value: str) -> str:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError:
        raise ValueError("an address such as https://example.com") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("an address such as https://example.com")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("an address without user, query or fragment")
    if parts.scheme == "http" and not is_loopback(host):
        raise ValueError("an https address; plain http is for this machine only")
    return value.rstrip("/")


def _origin(value: str) -> str:
    """An address as browsers write where a page is from, so that the two can be compared."""
    from urllib.parse import urlsplit

    parts = urlsplit(_url(value))
    if parts.path:
        raise ValueError("an address without a path: the pages stand at /link and /slack of a host of their own")
    try:
        host = (parts.hostname or "").encode("idna").decode()
    except UnicodeError:
        raise ValueError("an address such as https://example.com") from None
    host = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port not in (None, usual) else "")


def _mail_server(value: str) -> str:
    from urllib.parse import urlsplit

    wanted = "an address such as smtps://user@mail.example.com; the password is FOOTNOTE_MAIL_PASSWORD"
    try:
        parts = urlsplit(value)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError:
        raise ValueError(wanted) from None
    more = parts.path.strip("/") or parts.query or parts.fragment or parts.password is not None
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname or more:
        raise ValueError(wanted)
    return value.rstrip("/")


def _mailbox(value: str) -> str:
    name, at, host = value.partition("@")
    if not (name and at and host) or "@" in host or not value.isascii() or set(value) & set(" <>,;\r\n\t"):
        raise ValueError("an address such as footnote@example.com")
    return value


def _as_safe(http: str, grpc: str) -> bool:
    """Whether passages and the key stay on this machine where gRPC goes in clear, as it does where HTTP does."""
    from urllib.parse import urlsplit

    try:
        return urlsplit(http).scheme == "https" or is_loopback(urlsplit(f"//{grpc}").hostname or "")
    except ValueError:
        return False


def _principal(value: str) -> Principal:
    try:
        return Principal.parse(value)
    except ValueError:
        raise ValueError("a principal such as grp:everyone") from None


def _keys(value: str) -> tuple[Secret, ...]:
    found = tuple(Secret(part) for part in value.replace(",", " ").split())
    if not found:
        raise ValueError("one or more keys, separated by commas or line ends")
    return found


def _dimensions(value: str) -> int:
    if not value.isascii() or not value.isdecimal() or not 1 <= int(value) <= 8192:
        raise ValueError("a number from 1 to 8192")
    return int(value)


def _list(value: str) -> tuple[str, ...]:
    found = tuple(name for part in value.split(",") if (name := " ".join(part.split())))
    if not found:
        raise ValueError("one or more names, separated by commas")
    return found


_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+\Z")


def _domains(value: str) -> tuple[str, ...]:
    found = tuple(domain for part in value.split(",") if (domain := part.strip().lower()))
    if not found or not all(map(_DOMAIN.match, found)):
        raise ValueError("one or more domains such as example.com, separated by commas")
    return found


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def variable(name: str) -> Secret:
    """What an environment variable holds, for a command that is told its name; raises WrongSettings without one."""
    value = os.environ.get(name, "").strip()
    if not value:
        raise WrongSettings(f"the environment variable {name!r} is not set")
    return Secret(value)


def duration(value: str) -> timedelta:
    """Read `90s`, `15m`, `24h` or `7d`; ValueError says what would be right."""
    number, unit = value[:-1], value[-1:]
    if not number.isdecimal() or unit not in _UNITS or int(number) == 0:
        raise ValueError("a length of time such as 90s, 15m, 24h or 7d")
    return timedelta(seconds=int(number) * _UNITS[unit])


def _setting(default: T, meaning: str, read: Reader, kind: str, *, shown: str | None = None) -> T:
    """A field of `Settings`; typed as its default so that the dataclass checks it."""
    secret = read in (Secret, _keys)
    facts = {"meaning": meaning, "read": read, "kind": kind, "shown": shown, "secret": secret}
    made: T = field(default=default, metadata=facts)
    return made


def _secret(meaning: str) -> Secret | None:
    return _setting(None, meaning, Secret, "secret")


def _choice(default: str, meaning: str, *others: str) -> str:
    choices = (default, *others)
    return _setting(default, meaning, _one_of(*choices), " or ".join(f"`{choice}`" for choice in choices))


def _address(default: str | None, meaning: str) -> str | None:
    return _setting(default, meaning, _url, "address")


def _word(default: str | None, meaning: str) -> str | None:
    return _setting(default, meaning, _text, "text")


def _name(default: str, meaning: str) -> str:
    return _setting(default, meaning, _text, "text")


def _collection(value: str) -> str:
    if not (value.isascii() and value.isalnum() and value[0].isupper() and len(value) <= 60):
        raise ValueError("a capital letter, then letters and digits")
    return value


def _copies(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= 9:
        raise ValueError("a number from 1 to 9, not above the number of nodes")
    return int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one process; each field is `FOOTNOTE_` and its name in capitals."""

    mode: str = _choice("offline", "`offline`: everything on this machine. `production`: outside doors.", "production")
    data: Path = _setting(Path("var"), "Directory for all that the embedded defaults write.", _path, "path")
    database_url: Secret | None = _setting(
        None,
        "The ledger; `postgresql+asyncpg://…` or `sqlite+aiosqlite:///…`.",
        Secret,
        "secret address",
        shown="SQLite in the data directory",
    )
    database_pool_size: int = _setting(10, "Connections that one process opens to PostgreSQL.", _count, "number")
    database_wait: timedelta = _setting(
        timedelta(seconds=15),
        "How long a free connection, or another writer, is waited for on PostgreSQL.",
        duration,
        "length of time",
        shown="`15s`",
    )
    database_connect_timeout: timedelta = _setting(
        timedelta(seconds=10), "How long PostgreSQL may take to connect.", duration, "length of time", shown="`10s`"
    )
    database_statement_timeout: timedelta = _setting(
        timedelta(seconds=30),
        "How long one statement may take on PostgreSQL, migrations aside.",
        duration,
        "length of time",
        shown="`30s`",
    )
    index: str = _choice("embedded", "Where passages are searched.", "weaviate")
    weaviate_http: str | None = _address(None, "Weaviate's HTTP address.")
    weaviate_grpc: str | None = _word(None, "Weaviate's gRPC address, `host:port`.")
    weaviate_api_key: Secret | None = _secret("Key for Weaviate.")
    weaviate_collection: str = _setting(
        "Footnote", "Name of the index there: an alias; its collections begin with it.", _collection, "name"
    )
    weaviate_replication: int = _setting(1, "Copies of each passage, when an index is made.", _copies, "number")
    weaviate_timeout: timedelta = _setting(
        timedelta(seconds=10),
        "How long a search there may take; writing may take six times as long.",
        duration,
        "length of time",
        shown="`10s`",
    )
    embedder: str = _choice("local", "What turns text into vectors.", "cohere")
    reranker: str = _choice("local", "What reads question and passage together.", "cohere")
    writer: str = _choice("local", "What writes the answer; `local` quotes sentences.", "cohere", "openai")
    cohere_api_key: Secret | None = _secret("Key for Cohere.")
    cohere_embed_api_key: Secret | None = _secret("Key for vectors alone, in its place.")
    cohere_rerank_api_key: Secret | None = _secret("Key for reranking alone, in its place.")
    cohere_chat_api_key: Secret | None = _secret("Key for writing alone, in its place.")
    cohere_base_url: str | None = _address("https://api.cohere.com", "Cohere's address, or what stands in its place.")
    cohere_embed_model: str = _name("embed-v4.0", "Model for vectors.")
    cohere_embed_dimensions: int | None = _setting(
        None, "Numbers a vector.", _dimensions, "number", shown="what the model makes by itself"
    )
    cohere_rerank_model: str = _name("rerank-v3.5", "Model for reranking.")
    cohere_chat_model: str = _name("command-a-03-2025", "Model for writing.")
    openai_base_url: str | None = _address(
        None, "An endpoint that speaks OpenAI's chat completions, with its path: `https://api.openai.com/v1`."
    )
    openai_api_key: Secret | None = _secret("Key for it, if it wants one.")
    openai_model: str | None = _word(None, "Model for writing there.")
    model_timeout: timedelta = _setting(
        timedelta(seconds=60),
        "How long a hosted model is waited for, with all retries; a sync waits five times as long.",
        duration,
        "length of time",
        shown="`60s`",
    )
    model_prices: Prices = _setting(
        Prices.read(LIST_PRICES),
        "What hosted models cost: `MODEL=IN/OUT` per million tokens, of rerankers `MODEL=PRICE` per thousand searches.",
        Prices.read,
        "prices",
        shown=f"`{LIST_PRICES}`",
    )
    oidc_issuer: str | None = _address(None, "The identity provider's issuer.")
    oidc_client_id: str | None = _word(None, "This application at the identity provider.")
    oidc_client_secret: Secret | None = _secret("Its secret.")
    oidc_groups_claim: str = _name(
        "", "Claim of the ID token that names a person's groups, such as `groups`: one may administer, as `idp:NAME`."
    )
    mail_server: str | None = _setting(
        None,
        "Who takes mail to people: `smtps://USER@HOST`, or `smtp://…` with TLS on the same line.",
        _mail_server,
        "address",
    )
    mail_password: Secret | None = _secret("The user's password there.")
    mail_from: str | None = _setting(None, "From whom mail is.", _mailbox, "address")
    link_by_email: str = _choice(
        "off",
        "`verified`: who links himself is also known by an address that the identity provider says it verified. "
        "For the first days; see docs/linking.md.",
        "verified",
    )
    link_by_email_domains: tuple[str, ...] = _setting(
        (),
        "The domains of such addresses, separated by commas; without them nobody is known by one.",
        _domains,
        "domains",
        shown="none",
    )
    slack_bot_token: Secret | None = _secret("The app's bot token, `xoxb-…`.")
    slack_signing_secret: Secret | None = _secret("Checks that a request is Slack's (HTTP mode).")
    slack_app_token: Secret | None = _secret("The app-level token, `xapp-…`; given, Socket Mode is used.")
    slack_api_url: str | None = _address("https://slack.com/api", "Slack's API, or what stands in its place.")
    slack_client_id: str | None = _word(None, "The app at Sign in with Slack.")
    slack_client_secret: Secret | None = _secret("Its secret.")
    slack_oidc_issuer: str | None = _address("https://slack.com", "Issuer of Sign in with Slack.")
    public_url: str | None = _setting(
        None, "Where people's browsers and Slack reach this process: a host of its own.", _origin, "address"
    )
    host: str = _name("127.0.0.1", "The address that is bound.")
    port: int = _setting(8080, "The port for Slack, linking, webhooks and the console.", _port, "port")
    metrics_port: int = _setting(9090, "The port for health and metrics.", _port, "port")
    sync_every: timedelta = _setting(
        timedelta(minutes=15), "How often `serve` syncs each source.", duration, "length of time", shown="`15m`"
    )
    everyone: Principal = _setting(
        Principal("grp:everyone"),
        "The principal that means every employee, for what may be said in public channels.",
        _principal,
        "principal",
    )
    not_names: tuple[str, ...] = _setting(
        (),
        "Names of products, teams and places that look like a person's and are never masked, separated by commas.",
        _list,
        "names",
        shown="none",
    )
    admin_group: Principal | None = _setting(
        None,
        "Group whose members may administer: of `directory.toml`, of the identity provider (`idp:NAME`), or of a "
        "source. See docs/slack.md.",
        _principal,
        "principal",
    )
    reviewer_group: Principal | None = _setting(None, "Group whose members may review.", _principal, "principal")
    secret_keys: tuple[Secret, ...] = _setting(
        (),
        "One or more keys for what is stored sealed, newest first, separated by commas.",
        _keys,
        "secrets",
        shown="a key file in the data directory (`offline` only)",
    )

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None, *, secrets: Collection[str] = ()) -> Settings:
        """Settings from the environment; raises WrongSettings with one sentence that says what to do. `secrets`: names
        of variables that hold secrets of sources."""
        given = {
            name: value
            for name, value in (os.environ if environ is None else environ).items()
            if name.startswith(PREFIX) and name not in secrets
        }
        known = {PREFIX + each.name.upper(): each for each in fields(cls)}
        if strangers := frozenset(name for name in given if name.removesuffix("_FILE") not in known):
            raise NoSuchSetting(strangers, _nearest(min(strangers), known))
        values: dict[str, Any] = {}
        for name in sorted(given):
            setting, from_file = _setting_of(name, known)
            if from_file and given.get(setting):
                raise WrongSettings(f"both {setting} and {name} are set; keep one of them")
            text = _file(name, given[name]) if from_file and given[name] else given[name].strip()
            if text:  # compose files hand over what is not set as empty text
                values[known[setting].name] = _value(setting, known[setting], text)
        return cls(**values)._consistent()

    def _consistent(self) -> Settings:
        """Itself, when its parts go together."""
        if self.mode == "production" and not self.secret_keys:
            raise WrongSettings(
                "production needs FOOTNOTE_SECRET_KEYS (or FOOTNOTE_SECRET_KEYS_FILE); set a long random key"
            )
        for door in ("embedder", "reranker", "writer"):
            if getattr(self, door) == "cohere" and self.cohere_key(door) is None:
                raise WrongSettings(
                    "cohere needs FOOTNOTE_COHERE_API_KEY (or FOOTNOTE_COHERE_API_KEY_FILE); set it or use local"
                )
        if (self.mail_server is None) != (self.mail_from is None):
            raise WrongSettings("mail needs FOOTNOTE_MAIL_SERVER and FOOTNOTE_MAIL_FROM; set both or none")
        if (self.link_by_email == "verified") != bool(self.link_by_email_domains):
            raise WrongSettings(
                "FOOTNOTE_LINK_BY_EMAIL=verified needs FOOTNOTE_LINK_BY_EMAIL_DOMAINS, the domains of your company's "
                "addresses; set both or none"
            )
        if self.writer == "openai" and not (self.openai_base_url and self.openai_model):
            raise WrongSettings(
                "openai needs FOOTNOTE_OPENAI_BASE_URL and FOOTNOTE_OPENAI_MODEL; set both or use local"
            )
        if self.index == "weaviate" and not (self.weaviate_http and self.weaviate_grpc):
            raise WrongSettings(
                "weaviate needs FOOTNOTE_WEAVIATE_HTTP and FOOTNOTE_WEAVIATE_GRPC; set both or use embedded"
            )
        if self.weaviate_http and self.weaviate_grpc and not _as_safe(self.weaviate_http, self.weaviate_grpc):
            raise WrongSettings(
                "FOOTNOTE_WEAVIATE_GRPC is reached without TLS where FOOTNOTE_WEAVIATE_HTTP is plain http; "
                "set an https address, or host:port of this machine"
            )
        return self

    def secret(self, reference: Mapping[str, str]) -> str:
        """What a source's settings refer to: `{"secret_env": VARIABLE}` or `{"secret_file": PATH}`, read now. Raises
        WrongSettings with one sentence where it is not there."""
        match dict(reference):
            case {"secret_env": str(name), **rest} if not rest:
                if name.removesuffix("_FILE") in {row.name for row in rows()}:
                    raise WrongSettings(f"{name!r} is a setting; keep the secret of a source in a variable of its own")
                return variable(name).reveal()
            case {"secret_file": str(path), **rest} if not rest:
                text = _file_of_secret(Path(path).expanduser())
                if not text:
                    raise WrongSettings(f"the secret file {path!r} is empty")
                return text
            case _:
                raise WrongSettings(
                    "a secret is referred to by the name of a variable or of a file; add the source again"
                )

    def cohere_key(self, door: str) -> Secret | None:
        """The key for the `embedder`, `reranker` or `writer`: its own, or the one for all."""
        own = {
            "embedder": self.cohere_embed_api_key,
            "reranker": self.cohere_rerank_api_key,
            "writer": self.cohere_chat_api_key,
        }
        return own[door] or self.cohere_api_key


def rows() -> tuple[Row, ...]:
    """The whole table, in order."""
    return tuple(_row(each) for each in fields(Settings))


def _row(each: Field[Any]) -> Row:
    facts = each.metadata
    plain = "" if each.default in (None, MISSING, ()) else f"`{each.default}`"
    return Row(PREFIX + each.name.upper(), facts["kind"], facts["shown"] or plain, facts["meaning"], facts["secret"])


def _setting_of(name: str, known: Collection[str]) -> tuple[str, bool]:
    """The setting that a variable sets, and whether it names a file that holds the value."""
    return (name, False) if name in known else (name.removesuffix("_FILE"), True)


def _nearest(name: str, known: Collection[str]) -> str:
    from difflib import get_close_matches

    return get_close_matches(name, known, n=1, cutoff=0.0)[0]


def _file_of_secret(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST_SECRET:
            raise WrongSettings(f"the secret file {str(path)!r} is too large to be one")
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise WrongSettings(f"the secret file {str(path)!r} can't be read: {reason}") from None


def _file(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise WrongSettings(f"{name} names {path!r}, which can't be read: {reason}") from None


def _value(name: str, each: Field[Any], text: str) -> Any:
    try:
        return each.metadata["read"](text)
    except ValueError as error:
        shown = "this value" if each.metadata["secret"] or "@" in text else repr(text)
        raise WrongSettings(f"{name} can't be {shown}; it must be {error}") from None
