"""Reading the code as data: what each file imports and does, and which laws that breaks.

Every checker takes one file's module name and source and returns what it found wrong, one sentence each, so that the
checkers themselves are tried on planted violations.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("policies", "connectors", "bot")


@dataclass(frozen=True)
class File:
    """One file of ours: its dotted name, whether it is a package's own file, and its tree."""

    module: str
    is_package: bool
    tree: ast.Module

    @classmethod
    def of(cls, module: str, source: str) -> File:
        return cls(module, False, ast.parse(source))


Checker = Callable[[File], list[str]]


def files() -> Iterator[File]:
    """Every file of the three packages."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            module = ".".join(parts[:-1] if is_package else parts)
            yield File(module, is_package, ast.parse(path.read_text(encoding="utf-8")))


def imports(file: File) -> Iterator[str]:
    """The dotted names that a file imports, wherever it does; `from a import b` counts as `a.b`: b may be a file."""
    package = file.module.split(".") if file.is_package else file.module.split(".")[:-1]
    for node in ast.walk(file.tree):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module, names, level):
                above = package[: len(package) - level + 1] if level else []
                base = ".".join([*above, *([module] if module else [])])
                yield from (f"{base}.{alias.name}" for alias in names)
            case ast.Call(ast.Attribute(_, "import_module") | ast.Name("import_module" | "__import__"), arguments):
                yield from (name.value for name in arguments if isinstance(name, ast.Constant) and name.value)


def within(name: str, *rooms: str) -> bool:
    """Whether a dotted name is one of the rooms or in one of them."""
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


# ---------------------------------------------------------------- directions

OPEN_TO_ALL = (
    "connectors.ports",
    "connectors.records",
    "connectors.errors",
    "connectors.codes",
    "connectors.digests",
    "connectors.sentences",
    "connectors.usage",
)
"""What `bot.answering` and `connectors.sync` may know of the connectors."""

ADAPTERS = (
    "connectors.http",
    "connectors.sources",
    "connectors.index",
    "connectors.models",
    "connectors.identity",
    "connectors.ledger",
    "connectors.pii",
    "connectors.pii_process",
    "connectors.injection",
    "connectors.vault",
    "connectors.trace_signer",
    "connectors.slack",
    "connectors.slack_socket",
    "connectors.sync.parse",
)


def one_way(file: File) -> list[str]:
    """Imports run one way: policies, connectors, bot."""
    rank = {package: number for number, package in enumerate(PACKAGES)}
    own = rank[file.module.split(".")[0]]
    return [
        f"{file.module} imports {name}: imports run policies <- connectors <- bot"
        for name in imports(file)
        if rank.get(name.split(".")[0], -1) > own or within(name, "tests")
    ]


def doors_only(file: File) -> list[str]:
    """Only the wiring names an adapter; answering and syncing know the shapes of the doors."""
    if file.module == "bot.wiring" or not within(file.module, "bot", "connectors.sync"):
        return []
    found = [name for name in imports(file) if within(name, *ADAPTERS)]
    if within(file.module, "connectors.sync"):
        found = [name for name in imports(file) if within(name, "connectors") and not within(name, "connectors.sync")]
        found = [name for name in found if not within(name, *OPEN_TO_ALL)]
    if within(file.module, "bot.answering"):
        found = [name for name in imports(file) if within(name, "connectors") and not within(name, *OPEN_TO_ALL)]
    return [f"{file.module} imports {name}: take a port, and let bot/wiring.py open it" for name in found]


# ---------------------------------------------------------------- policies are pure

_IMPURE = frozenset(
    "asyncio concurrent ctypes ftplib glob http importlib io locale logging mmap multiprocessing os pathlib pickle "
    "platform queue random sched secrets select selectors shutil signal smtplib socket sqlite3 ssl subprocess sys "
    "syslog tempfile threading time warnings webbrowser".split()
)
_OPENS = frozenset({"open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__", "globals"})


def pure(file: File) -> list[str]:
    """Policies import the standard library and themselves, and neither await, open, print nor roll dice."""
    if not within(file.module, "policies"):
        return []
    found: list[str] = []
    for name in imports(file):
        first = name.split(".")[0]
        if first != "policies" and (first not in sys.stdlib_module_names or first in _IMPURE):
            found.append(f"{file.module} imports {name}: policies use the pure part of the standard library only")
        if within(name, "urllib.request", "urllib.error"):
            found.append(f"{file.module} imports {name}: policies open nothing")
    for node in ast.walk(file.tree):
        match node:
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                found.append(f"{file.module}:{node.lineno} awaits: policies are pure")
            case ast.Call(ast.Name(called)) if called in _OPENS:
                found.append(f"{file.module}:{node.lineno} calls {called}(): policies are pure")
            case ast.Global() | ast.Nonlocal():
                found.append(f"{file.module}:{node.lineno} changes a variable from outside: policies are values")
    return found


# ---------------------------------------------------------------- one thing, one room

ROOMS = {
    "weaviate": (
        "connectors.index.weaviate",
        "connectors.index.weaviate_door",
        "connectors.index.weaviate_filters",
        "connectors.index.weaviate_open",
        "connectors.index.weaviate_records",
        "connectors.index.weaviate_reindex",
        "connectors.index.weaviate_search",
    ),
    "cohere": ("connectors.models.cohere",),
    "onnxruntime": ("connectors.models.local",),
    "presidio_analyzer": ("connectors.pii", "connectors.pii_names", "connectors.pii_rules"),
    "presidio_anonymizer": ("connectors.pii",),
    "spacy": ("connectors.pii", "connectors.pii_names"),
    "authlib": ("connectors.identity",),
    # The last one proves an app's identity to Microsoft's login with the key of its certificate.
    "cryptography": ("connectors.vault", "connectors.trace_signer", "connectors.sources.sharepoint.assertion"),
    "joserfc": ("connectors.identity",),
    "sqlmodel": ("connectors.ledger",),
    "sqlalchemy": ("connectors.ledger",),
    "alembic": ("connectors.ledger",),
    "asyncpg": ("connectors.ledger",),
    "slack_bolt": ("bot.slack",),
    "slack_sdk": ("bot.slack",),
    "msal": ("connectors.identity", "connectors.sources.sharepoint"),
    "promptbadger": ("connectors.injection",),
}


def one_room(file: File) -> list[str]:
    """One SDK, one room."""
    return [
        f"{file.module} imports {name}: that is done in {' and '.join(ROOMS[name.split('.')[0]])}"
        for name in imports(file)
        if name.split(".")[0] in ROOMS and not within(file.module, *ROOMS[name.split(".")[0]])
    ]


def environment_in_settings(file: File) -> list[str]:
    """`os.environ` is read in bot/settings.py; a child process may be *given* an environment anywhere."""
    if file.module == "bot.settings":
        return []
    found = [f"{file.module} imports {name}" for name in imports(file) if within(name, "os.environ", "os.getenv")]
    found += _uses(file, frozenset({"os.environ", "os.environb", "os.getenv", "os.putenv"}))
    return [f"{each}: bot/settings.py is the only reader of the environment" for each in found]


_CLOCKS = frozenset(
    f"{where}.{name}"
    for where, names in {
        "datetime": "now utcnow today",
        "datetime.datetime": "now utcnow today",
        "date": "today",
        "datetime.date": "today",
        "time": "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns localtime gmtime",
    }.items()
    for name in names.split()
)


def clock_in_wiring(file: File) -> list[str]:
    """The time of day, and stop watches too, are read in bot/wiring.py; everything else is handed them. A timeout
    (`asyncio.timeout`, `loop.time`) is no clock: nothing is decided on what it says but that waiting has an end."""
    if file.module == "bot.wiring":
        return []
    found = [f"{file.module} imports {name}" for name in imports(file) if name in _CLOCKS and name.startswith("time.")]
    found += _uses(file, _CLOCKS)
    return [f"{each}: take `now` or a timer as an argument" for each in found]


# Weaviate's client has checks that ask a package registry for its newest.
_NO_CHECK_OF_OURS = frozenset({("connectors.index.weaviate_door", "skip_init_checks")})


def no_switch_around_checks(file: File) -> list[str]:
    """No parameter, field or variable is made to go around a check."""
    found: list[str] = []
    for node in ast.walk(file.tree):
        match node:
            case ast.arg(name) | ast.keyword(str(name)) | ast.AnnAssign(ast.Name(name)):
                if (file.module, name) in _NO_CHECK_OF_OURS:
                    continue
                if name.lower().startswith(("skip_", "bypass_", "no_check", "unsafe", "as_system", "ignore_acl")):
                    found.append(f"{file.module}:{node.lineno} has {name!r}: there is no way around a check")
    return found


MAKERS = {
    "Allowed": "policies.policy",
    "Cleared": "policies.clearance",
}


def verdicts_from_policies(file: File) -> list[str]:
    """Only the policy allows, and only `clear` opens."""
    return [
        f"{file.module}:{node.lineno} makes {node.func.id}: only {MAKERS[node.func.id]} does"
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in MAKERS
        and file.module != MAKERS[node.func.id]
    ]


def no_dangerous_calls(file: File) -> list[str]:
    """Nothing evaluates text, unpickles, reads YAML as objects, or turns certificates off."""
    found: list[str] = []
    for node in ast.walk(file.tree):
        match node:
            case ast.Call(ast.Name("eval" | "exec") as called):
                found.append(f"{file.module}:{node.lineno} calls {called.id}()")
            case ast.Attribute() if _dotted(node) in {"pickle.loads", "pickle.load", "yaml.load", "marshal.loads"}:
                found.append(f"{file.module}:{node.lineno} uses {_dotted(node)}")
            case ast.keyword("verify" | "ssl" | "verify_ssl", ast.Constant(False)):
                found.append(f"{file.module}:{node.lineno} turns certificates off")
    return found


def _uses(file: File, names: frozenset[str]) -> list[str]:
    return [
        f"{file.module}:{node.lineno} uses {_dotted(node)}"
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Attribute) and _dotted(node) in names
    ]


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(inner, name):
            return f"{_dotted(inner)}.{name}"
    return "?"
