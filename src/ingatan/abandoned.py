"""Abandoned spans: turns whose last allowed extraction failed. Listed, and queued again with an audit row each time."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ingatan.audit import Audit, AuditAction, Entry
from ingatan.storage.database import Database, Power
from ingatan.types import Principal

LISTED_MAX = 1_000
OPERATOR = UUID(int=0)
"""Whom the audit names for what is done on the command line."""


def listed(database: Database, conversation_id: UUID | None = None) -> list[Any]:
    """Up to LISTED_MAX abandoned spans of all tenants, or of one conversation, newest first; content-free rows."""
    with database.jobs() as connection:
        return connection.all("sweep.list_abandoned", conversation_id=conversation_id, limit=LISTED_MAX)


def requeue(database: Database, audit: Audit, conversation_id: UUID) -> int:
    """Queue a conversation's abandoned spans again, due after the idle time; return how many lanes. Audited."""
    lanes = 0
    for tenant_id in sorted({row.tenant_id for row in listed(database, conversation_id)}):
        operator = Principal(tenant_id, OPERATOR)
        with database.write(operator, power=Power.JOB) as connection:
            queued = connection.run("sweep.requeue", tenant_id=tenant_id, conversation_id=conversation_id)
            if not queued:
                continue  # someone else was first
            connection.run("sweep.forget_abandoned", tenant_id=tenant_id, conversation_id=conversation_id)
            entry = Entry(
                action=AuditAction.SWEEP_REQUEUED,
                entity_type="conversation",
                entity_id=conversation_id,
                details={"lanes": queued},
            )
            audit.append(connection, operator, [entry])
        lanes += queued
    return lanes
