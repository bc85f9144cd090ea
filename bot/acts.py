"""What people did rather than asked, in the audit record: linking an account, administering.

As with a question, its begin is durable before anything is done, and what was written before and after is sealed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from bot.answering.trace import where
from connectors.ports import Traces


@dataclass(slots=True)
class Act:
    """One act while it is done: how it ended is said in here."""

    trace: str
    outcome: str = "done"
    reason: str | None = None  # one of ours, where there is one to tell
    sealed: dict[str, str] = field(default_factory=dict)  # before, after, reply


@asynccontextmanager
async def act(
    traces: Traces, surface: str, command: str, actor: str, now: datetime, question: str = ""
) -> AsyncIterator[Act]:
    """Do something under a trace. `command`: its fixed name; `question`: the words it was given with."""
    sealed = {"asker": actor, **({"question": question} if question else {})}
    begun = {"surface": surface, "command": command, "at": now.isoformat()}
    done = Act(await traces.begin(begun, sealed, now))
    error = None
    try:
        yield done
    except BaseException as trouble:
        done.outcome = "failed"
        error = where(trouble) if isinstance(trouble, Exception) else "cancelled"
        raise
    finally:
        told = {"reason": done.reason, "error": error}
        ended = {"outcome": done.outcome, **{name: text for name, text in told.items() if text}}
        await traces.end(done.trace, ended, done.sealed, now)
