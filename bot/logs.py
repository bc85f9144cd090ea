"""Logs: one canonical line a question and a sync, on standard error. Ids, counts, timings, names of verdicts.

Never text, titles, queries or tokens: in production every key that is not listed here is dropped, and tracebacks
carry no local variables. Traces are the record; logs are the pulse.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

KEYS = frozenset(
    "event level timestamp exception trace outcome source run place audience seconds question candidates cleared "
    "offered cited dropped claims checks policy_version seen upserted deleted access_changed moved unchanged skipped "
    "complete error kind port metrics_port mode attempt wait timings ok missing extra wrong_scope "
    "wrong_text".split()
)
"""What a line may carry in production."""

Line = MutableMapping[str, Any]


def known_only(_logger: object, _method: str, line: Line) -> Line:
    """The line without keys that nobody vouched for."""
    return {key: value for key, value in line.items() if key in KEYS}


def quiet() -> None:
    """For commands: libraries write nothing below an error, so that standard error is the command's own."""
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr, force=True)


def speak(*, production: bool) -> Any:
    """For `serve`: a logger that writes one line an event; JSON in production, aligned text elsewhere."""
    import structlog

    shape: list[Any] = [structlog.contextvars.merge_contextvars, structlog.processors.add_log_level]
    shape.append(structlog.processors.TimeStamper(fmt="iso", utc=True))
    if production:
        without_locals = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        shape += [structlog.processors.ExceptionRenderer(without_locals), known_only]
        shape.append(structlog.processors.JSONRenderer())
    else:
        shape += [structlog.processors.format_exc_info, structlog.processors.KeyValueRenderer(key_order=["event"])]
    structlog.configure(
        processors=shape,
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, force=True)
    logging.getLogger("aiohttp.access").setLevel(logging.ERROR)  # its lines carry query strings
    return structlog.get_logger()
