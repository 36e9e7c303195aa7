"""Structured logs: event names and identifiers, never content.

One JSON object a line on standard error (a readable line on a terminal). ``event`` takes only the fields in ``FIELDS``:
text, queries and secrets have no way in, whoever writes the call.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, cast

import structlog


class Event(StrEnum):
    """Every event the service logs. The first four are S1's, which its administrators watch for."""

    MEMORY_CONSOLIDATED = "memory consolidated"
    MEMORY_EXTRACTION_REJECTED = "memory extraction rejected"
    MEMORY_EXTRACTION_UNAVAILABLE = "memory extraction unavailable"
    MEMORY_CONSOLIDATION_ABANDONED = "memory consolidation abandoned"
    SWEEP_FINISHED = "sweep finished"
    SWEEP_FAILED = "sweep failed"
    SERVICE_STARTED = "service started"
    SERVICE_STOPPED = "service stopped"
    REQUEST_FAILED = "request failed"
    CREDENTIAL_REFUSED = "credential refused"
    SIGNED_EVENT_REFUSED = "signed event refused"
    KEYS_UNAVAILABLE = "keys unavailable"
    EMBEDDER_FAILED = "embedder failed"
    AUDIT_SEAL_FAILED = "audit seal failed"
    SECURITY_REVIEW = "security review"
    MEMORY_ERASED = "memory erased"
    CANDIDATE_DECIDED = "candidate decided"
    RECALL_DEGRADED = "recall degraded"
    EMBEDDING_MODEL_BUILDING = "embedding model building"
    INDEX_FAILED = "index failed"
    ALERT_RAISED = "alert raised"
    EMBEDDING_MODEL_SERVES = "embedding model serves"


FIELDS = frozenset(
    {
        "tenant_id", "subject_id", "conversation_id", "memory_id", "candidate_id", "message_id", "request_id", "lane",
        "reason", "reasons", "code", "status", "method", "route", "error_type", "count", "accepted", "rejected",
        "written", "closed", "attempts", "from_seq", "to_seq", "milliseconds", "conversations", "failed", "version",
        "environment", "memory", "address", "role", "where", "decision", "model_id",
    }
)  # fmt: skip


Observer = Callable[[Event, Mapping[str, object]], None]
_observers: list[Observer] = []


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Let ``observer`` see every event of the process, logged or not, until the block ends. It must not raise."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def configure(level: str = "info", *, stream: Any = None) -> None:
    """Set up logging for the process. ``level`` is debug, info, warning or error. Call once, before serving."""
    out = stream or sys.stderr
    pretty = stream is None and out.isatty()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer(default=str),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )


def event(name: Event, *, level: str = "info", **fields: object) -> None:
    """Log ``name`` with identifiers and counts. Raises TypeError for a field outside ``FIELDS``."""
    unknown = fields.keys() - FIELDS
    if unknown:
        raise TypeError(f"not a field that may be logged: {sorted(unknown)}")
    for observer in tuple(_observers):
        observer(name, fields)
    log = cast(Any, structlog.get_logger())
    getattr(log, level)(name.value, **{key: _plain(value) for key, value in fields.items()})


def _plain(value: object) -> object:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value)
