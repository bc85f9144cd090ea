"""Is everything as it must be? What `check` prints, and the part of it that `/readyz` asks all the time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from bot.keeping import overview
from connectors.errors import DoorError
from policies.access import NOBODY, Access, AccessExpr, Unknown
from policies.facts import Kind, Life, Moment, Resource, Scope, ScopeState, Subject, Trust
from policies.names import DocumentId, Principal, ScopeId

if TYPE_CHECKING:
    from bot.wiring import App

_MISSED = 4  # syncs that may be missed before a source is called late
_LATE = 86_400.0  # seconds; less is not worth an alarm where nobody runs `serve`


def _line(check: str, problem: str | None = None, fix: str | None = None, detail: str | None = None) -> dict[str, Any]:
    """`detail` says what was found where all is well."""
    return {
        "check": check,
        "ok": problem is None,
        "detail": detail,
        "problem": problem,
        "fix": fix if problem else None,
    }


async def checks(app: App) -> AsyncIterator[dict[str, Any]]:
    """Every check in order, cheap ones first; one line each."""
    yield _line("settings")
    yield _policy(app)
    yield await _ledger(app)
    yield await _index(app)
    async for line in _models(app):
        yield line
    async for line in _sources(app):
        yield line
    yield await _people(app)
    yield await _audit(app)
    yield await slack(app)


async def ready(app: App) -> AsyncIterator[str]:
    """Names of the doors without which no question can be answered and which are not there now."""
    for line in (await _ledger(app), await _index(app)):
        if not line["ok"]:
            yield line["check"]


def _policy(app: App) -> dict[str, Any]:
    """Four cases that any policy must refuse, whatever it is configured to."""
    now = app.clock()
    person = Principal.person("somebody@example.com")
    asker = Subject(person, Kind.MEMBER, True, frozenset([person]), now)
    mine = AccessExpr.any_of(person)
    cases = {
        "unknown rules": _scope(Unknown("not read"), now, timedelta(days=1)),
        "no reader": _scope(NOBODY, now, timedelta(days=1)),
        "a second clause": _scope(mine & NOBODY, now, timedelta(days=1)),
        "a lapsed lease": _scope(mine, now - timedelta(days=2), timedelta(days=1)),
    }
    moment = Moment(now, now.date(), dated=False)
    let_through = [name for name, scope in cases.items() if app.policy.decide(asker, _document(scope), moment)]
    problem = f"it lets people read in spite of {', '.join(let_through)}" if let_through else None
    return _line("policy", problem, "stop this process and restore policies/ from its release")


def _scope(access: Access, verified_at: datetime, lease: timedelta) -> Scope:
    return Scope(ScopeId(1), access, ScopeState.ACTIVE, verified_at, lease)


def _document(scope: Scope) -> Resource:
    document = DocumentId("check", "case")
    return Resource(document, "v1", scope, Life.LIVE, True, None, None, None, False, Trust.CLEAN)


async def _ledger(app: App) -> dict[str, Any]:
    try:
        await app.keeping.sources.list()
        return _line("ledger", detail=await app.about_ledger())
    except DoorError as error:
        return _line("ledger", str(error), "check FOOTNOTE_DATABASE_URL or the data directory")


async def _index(app: App) -> dict[str, Any]:
    try:
        problem = await app.index.check()
    except DoorError as error:
        problem = str(error)
    return _line("index", problem, "run `footnote sync --full`")


async def _models(app: App) -> AsyncIterator[dict[str, Any]]:
    if "embedder" not in app.hosted:
        try:
            await app.doors.embedder.question("ready?")
            yield _line("embedder")
        except DoorError as error:
            yield _line("embedder", str(error), "install what requirements.lock names")
    for name, ping in app.hosted.items():
        try:
            await ping()
            yield _line(name)
        except DoorError as error:
            yield _line(name, str(error), "check its key, address and model in the settings (docs/models.md)")
    try:
        await app.doors.personal_data.spans("ready?")
        yield _line("personal data")
    except DoorError as error:
        yield _line("personal data", str(error), "install what requirements.lock names")
    rules = [rule for verdict in await app.doors.detector.trust(["ready?"]) for rule in verdict.rules]
    failed = ", ".join(rules) or None
    yield _line("injection", failed and f"the detectors answered {failed}", "install what requirements.lock names")


async def _sources(app: App) -> AsyncIterator[dict[str, Any]]:
    late = max(_LATE, _MISSED * app.settings.sync_every.total_seconds())
    async for state in overview(app.keeping):
        name, problem, fix = f"source {state['name']}", None, None
        if state["state"] == "removing":
            problem, fix = "its removal is not finished", f"run `footnote source remove {state['name']}` again"
        elif state["state"] == "active" and state["last_run"] is None:
            problem, fix = "it was never synced", f"run `footnote sync {state['name']}`"
        elif state["state"] == "active" and (state["lag_seconds"] is None or state["lag_seconds"] > late):
            problem, fix = "it is behind", f"run `footnote sync {state['name']}`, or keep `footnote serve` running"
        yield _line(name, problem, fix)


async def _people(app: App) -> dict[str, Any]:
    if await app.people.list() or not await app.keeping.active():
        return _line("directory")
    return _line("directory", "it knows nobody", "run `footnote person import directory.toml`")


async def _audit(app: App) -> dict[str, Any]:
    verdict = await app.traces.verify()
    problem = None if verdict else f"{verdict.status}: {verdict.problem}"
    return _line("audit record", problem, "keep it as it is and find out who could write to it")


async def slack(app: App) -> dict[str, Any]:
    """Whether Slack takes the token, and what the app lacks."""
    settings = app.settings
    if app.open_chat is None:
        return _line("slack")
    if settings.slack_signing_secret is None:
        return _line("slack", "there is a bot token and no signing secret", "set FOOTNOTE_SLACK_SIGNING_SECRET")
    try:
        async with app.open_chat() as chat:
            us = await chat.workspace()
    except DoorError as error:
        return _line("slack", str(error), "check FOOTNOTE_SLACK_BOT_TOKEN and FOOTNOTE_SLACK_API_URL (docs/slack.md)")
    lacking = f"the app lacks {', '.join(sorted(us.lacking))}" if us.lacking else None
    return _line("slack", lacking, "install it again from manifest.yaml", f"workspace {us.team}")
