"""Alerts: more than usual of something, raised once a kind, key and day. Ids and counts, no text.

Functions take a connection and never commit; raising needs Power.JOB.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from uuid import UUID

from ingatan.memories.policy_document import PolicyDocument
from ingatan.storage.database import Connection
from ingatan.types import AlertKind, Principal, new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert; ``count`` is what was counted when it was raised."""

    id: UUID
    kind: AlertKind
    key: UUID
    day: date
    count: int
    at: datetime


def watch(connection: Connection, job: Principal, document: PolicyDocument, moment: datetime) -> list[Alert]:
    """Raise what is unusual in the job's tenant at ``moment`` and was not raised on its day (UTC); those raised now."""
    rates, bounds = document.rates, document.alerts
    rows = connection.all(
        "alerts.unusual",
        moment=moment,
        actors=rates.actor_per_hour,
        subjects=rates.subject_per_hour,
        sources=rates.source_per_hour,
        changes=bounds.changes_per_day,
        contradictions=bounds.contradictions_per_day,
        people=bounds.subjects_per_source_per_day,
    )
    raised = []
    for row in rows:
        day = moment.astimezone(UTC).date()
        alert = Alert(id=new_id(), kind=AlertKind(row.kind), key=row.key, day=day, count=row.n, at=moment)
        keys = {"tenant_id": job.tenant_id, "id": alert.id, "kind": alert.kind.value, "key": alert.key}
        if connection.run("alerts.raise", **keys, day=day, n=alert.count, at=moment):
            raised.append(alert)
    return raised


def page(
    connection: Connection,
    principal: Principal,
    *,
    kind: AlertKind | None,
    from_at: datetime | None,
    to_at: datetime | None,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> list[Alert]:
    """Up to ``limit`` of the tenant's alerts by (at, id) descending, after ``before``.

    Needs the power admin or audit.
    """
    rows = connection.all(
        "alerts.page",
        tenant_id=principal.tenant_id,
        kind=kind.value if kind else None,
        from_at=from_at,
        to_at=to_at,
        before_at=before[0] if before else None,
        before_id=before[1] if before else None,
        limit=limit,
    )
    return [
        Alert(id=row.id, kind=AlertKind(row.kind), key=row.key, day=row.day, count=row.n, at=row.at) for row in rows
    ]
