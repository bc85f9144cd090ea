"""What `/metrics` tells: counts and timings by name, never by person, document or text."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from connectors.usage import Spent

_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8)


class Metrics:
    """The numbers of one process, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        registry = self._registry
        self.retrievals = Counter("footnote_retrievals", "Searches in the index.", registry=registry)
        self.asks = Counter("footnote_asks", "Answers by how they ended.", ["outcome"], registry=registry)
        self.ask_seconds = Histogram(
            "footnote_ask_seconds", "Time of a whole answer.", buckets=_SECONDS, registry=registry
        )
        self.syncs = Counter("footnote_syncs", "Syncs by how they ended.", ["source", "outcome"], registry=registry)
        self.changes = Counter("footnote_sync_changes", "What syncs found.", ["source", "change"], registry=registry)
        self.lag = Gauge(
            "footnote_source_lag_seconds", "Since a source was last walked whole.", ["source"], registry=registry
        )
        self._checks = Counter(
            "footnote_live_checks",
            "Documents that a source was asked about right before answering, by what it said; where many are denied, "
            "syncs are late.",
            ["source", "verdict"],
            registry=registry,
        )
        self._calls = Counter(
            "footnote_model_calls", "Calls to hosted models.", ["purpose", "model", "outcome"], registry=registry
        )
        self._units = Counter(
            "footnote_model_units",
            "Tokens and searches as hosted models bill them.",
            ["purpose", "model", "unit"],
            registry=registry,
        )
        self._retries = Counter("footnote_model_retries", "Calls made again.", ["purpose", "model"], registry=registry)
        self._cost = Counter(
            "footnote_model_cost", "What they cost by the price list.", ["purpose", "model"], registry=registry
        )
        self.slack_requests = Counter(
            "footnote_slack_requests",
            "Requests at Slack's address by what became of them.",
            ["result"],
            registry=registry,
        )
        self.throttled = Counter(
            "footnote_slack_throttled",
            "Questions not answered because one person asked nearly the same too often.",
            registry=registry,
        )
        self.given_up = Counter(
            "footnote_slack_given_up",
            "Requests that were acknowledged and whose asker could not be told anything.",
            registry=registry,
        )
        for outcome in ("answered", "abstained", "unlinked", "refused", "busy"):
            self.asks.labels(outcome)  # there from the first scrape, at 0

    def live_checks(self, source: str, confirmed: int, denied: int) -> None:
        """Count what a source said of documents that the ledger had let through."""
        self._checks.labels(source, "confirmed").inc(confirmed)
        self._checks.labels(source, "denied").inc(denied)

    def spent(self, spent: Spent) -> None:
        """Count one call to a hosted model."""
        of = (spent.purpose, spent.model)
        self._calls.labels(*of, "failed" if spent.failed else "done").inc()
        self._retries.labels(*of).inc(spent.retries)
        self._cost.labels(*of).inc(spent.cost or 0)
        for unit, number in spent.units.items():
            self._units.labels(*of, unit).inc(number)

    def written(self) -> bytes:
        """All of it in the Prometheus text format."""
        return generate_latest(self._registry)
