"""Links that were refused, in the audit record: which account's link, at which step, and why, in a fixed word.

Of the login that was refused nothing is kept. The same refusal of one account is on record once a minute, so that
nobody fills the record by being refused.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.acts import act
from connectors.logins import Tickets
from connectors.ports import Traces

EACH = timedelta(minutes=1)
_KIND = "link refused"


async def refused(tickets: Tickets, traces: Traces, account: str, step: str, why: str, now: datetime) -> None:
    """Put it on record, unless the same is there since a minute."""
    what = f"{account} {step} {why}"
    if await tickets.recent(_KIND, what, "new", now - EACH):
        return
    await tickets.issue(_KIND, what, {}, now, now + EACH)
    async with act(traces, "link", f"refuse.{step}", account, now) as done:
        done.outcome, done.reason = "refused", why
