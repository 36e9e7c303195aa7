"""Metrics: what the service did, as Prometheus reads it. Labels are closed sets: codes of ours, never an id or a text.

Counters follow ``telemetry.event`` in one place (``Metrics.observe``) and the requests that the web layer reports; what
waits in the database is read when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from ingatan.telemetry import Event
from ingatan.types import AlertKind, Outcome, Reason

OTHER = "other"
FAILURE_REASONS_MAX = 40
"""So many codes of failed extractions get a label of their own; they are codes, and the set stays small."""
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
SECONDS_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The counters of one running App, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._reasons: set[str] = set()
        route = ("method", "route", "status")
        self.requests = self._counter("requests", "Requests answered.", route)
        self.seconds = Histogram(
            "ingatan_request_seconds",
            "Time until the answer was complete.",
            ("method", "route"),
            buckets=SECONDS_BUCKETS,
            registry=self.registry,
        )
        self.sweeps = self._counter("sweeps", "Sweeps, by how they ended.", ("outcome",))
        self.conversations = self._counter("swept_conversations", "Conversations learned from.")
        self.decisions = self._counter("decisions", "Decisions on candidates and refusals.", ("decision", "reason"))
        self.written = self._counter("memories_written", "Versions of memories written.")
        self.closed = self._counter("memories_closed", "Memories closed or superseded.")
        self.erased = self._counter("memories_erased", "Memories erased for good.")
        self.extractions = self._counter("extraction_failures", "Failed extractions.", ("kind", "reason"))
        self.abandoned = self._counter("spans_abandoned", "Spans set aside after their last attempt.")
        self.embedder = self._counter("embedder_failures", "Calls of the embedder that gave no usable vector.")
        self.degraded = self._counter("recalls_degraded", "Recalls by words because meaning did not answer.")
        self.failed = self._counter("jobs_failed", "Failures of background work.", ("job",))
        self.refused = self._counter("credentials_refused", "Credentials refused.")
        self.alerts = self._counter("alerts", "Alerts raised.", ("kind",))
        self.security = self._counter("security_reviews", "Conversations with something hostile in them.")
        gauges = {
            "vectors_pending": ("Vectors still to be made.", ("model",)),
            "embedding_model_serves": ("1 for the model that serves.", ("model",)),
            "audit_rows_waiting": ("Audit rows not chained yet.", ()),
            "spans_set_aside": ("Spans that wait to be queued again.", ()),
            "pool_connections": ("Connections of the pool.", ("state",)),
            "pool_requests_waiting": ("Requests that wait for a connection.", ()),
            "database_up": ("1 when the database answered this scrape.", ()),
        }
        self.gauges = {
            name: Gauge(f"ingatan_{name}", text, labels, registry=self.registry)
            for name, (text, labels) in gauges.items()
        }
        self._handlers = self._table()

    def observe(self, name: Event, fields: Mapping[str, object]) -> None:
        """Count what ``telemetry.event`` reports."""
        handler = self._handlers.get(name)
        if handler is not None:
            handler(fields)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request; ``route`` is a template of ours or OTHER."""
        known = method if method in METHODS else OTHER
        self.requests.labels(known, route, str(status)).inc()
        self.seconds.labels(known, route).observe(seconds)

    def set(self, name: str, values: Mapping[Sequence[str], float]) -> None:
        """Set a gauge to exactly ``values``, by its labels."""
        gauge = self.gauges[name]
        if not gauge._labelnames:
            gauge.set(next(iter(values.values()), 0))
            return
        gauge.clear()
        for labels, value in values.items():
            gauge.labels(*labels).set(value)

    def text(self) -> bytes:
        """Everything in Prometheus's text format."""
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, labels: Sequence[str] = ()) -> Counter:
        return Counter(f"ingatan_{name}", text, labels, registry=self.registry)

    def _table(self) -> dict[Event, Callable[[Mapping[str, object]], None]]:
        failed = self.failed
        return {
            Event.SWEEP_FINISHED: self._swept,
            Event.SWEEP_FAILED: lambda fields: self.sweeps.labels("failed").inc(),
            Event.MEMORY_CONSOLIDATED: lambda fields: self.conversations.inc(),
            Event.CANDIDATE_DECIDED: self._decided,
            Event.MEMORY_ERASED: lambda fields: self.erased.inc(_number(fields, "count")),
            Event.MEMORY_EXTRACTION_REJECTED: lambda fields: self._extraction("rejected", fields),
            Event.MEMORY_EXTRACTION_UNAVAILABLE: lambda fields: self._extraction("unavailable", fields),
            Event.MEMORY_CONSOLIDATION_ABANDONED: lambda fields: self.abandoned.inc(),
            Event.EMBEDDER_FAILED: lambda fields: self.embedder.inc(),
            Event.RECALL_DEGRADED: lambda fields: self.degraded.inc(),
            Event.CREDENTIAL_REFUSED: lambda fields: self.refused.inc(),
            Event.SECURITY_REVIEW: lambda fields: self.security.inc(),
            Event.ALERT_RAISED: self._alerted,
            Event.AUDIT_SEAL_FAILED: lambda fields: failed.labels("seal").inc(),
            Event.INDEX_FAILED: lambda fields: failed.labels("index").inc(),
        }

    def _alerted(self, fields: Mapping[str, object]) -> None:
        self.alerts.labels(_one_of(AlertKind, str(fields.get("reason")))).inc()

    def _swept(self, fields: Mapping[str, object]) -> None:
        self.sweeps.labels("finished").inc()

    def _decided(self, fields: Mapping[str, object]) -> None:
        reasons = fields.get("reasons")
        first = str(reasons[0]) if isinstance(reasons, list | tuple) and reasons else OTHER
        decision = str(fields.get("decision"))
        self.decisions.labels(_one_of(Outcome, decision), _one_of(Reason, first)).inc()
        self.written.inc(_number(fields, "written"))
        self.closed.inc(_number(fields, "closed"))

    def _extraction(self, kind: str, fields: Mapping[str, object]) -> None:
        reason = str(fields.get("reason"))
        if reason.replace("_", "").isalnum() and reason.isascii() and len(self._reasons) < FAILURE_REASONS_MAX:
            self._reasons.add(reason)
        self.extractions.labels(kind, reason if reason in self._reasons else OTHER).inc()


def _number(fields: Mapping[str, object], name: str) -> float:
    value = fields.get(name)
    return float(value) if isinstance(value, int | float) and value > 0 else 0.0


def _one_of(kind: type[StrEnum], value: str) -> str:
    return value if value in {str(member.value) for member in kind} else OTHER
