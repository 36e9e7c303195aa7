"""Decisions as they are kept: ids and reasons. No text of what was refused is kept anywhere (0007).

The person sees their own; the audit names each.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ingatan.audit import AuditAction, Entry
from ingatan.memories import policy
from ingatan.memories.refusals import Refusal
from ingatan.storage.database import Connection
from ingatan.types import MemoryType, Outcome, Principal, Reason, new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """One decision as the person may see it: ids and reasons, no text."""

    id: UUID
    conversation_id: UUID | None
    message_ids: tuple[UUID, ...]
    type: MemoryType
    decision: Outcome
    reasons: tuple[Reason, ...]
    policy_version: str
    memory_id: UUID | None
    created_at: datetime


def page(
    connection: Connection,
    principal: Principal,
    *,
    decision: Outcome | None,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> list[Decided]:
    """Up to ``limit`` decisions about the caller by (created_at, id) descending, after ``before``; None means all."""
    rows = connection.all(
        "candidates.page",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        decision=decision.value if decision else None,
        before_at=before[0] if before else None,
        before_id=before[1] if before else None,
        limit=limit,
    )
    return [
        Decided(
            id=row.id,
            conversation_id=row.conversation_id,
            message_ids=tuple(row.message_ids),
            type=MemoryType(row.type),
            decision=Outcome(row.decision),
            reasons=tuple(Reason(reason) for reason in row.reasons),
            policy_version=row.policy_version,
            memory_id=row.memory_id,
            created_at=row.created_at,
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One decision as it is kept for the person: ids and reasons. No text of what was refused is kept anywhere."""

    id: UUID
    type: MemoryType
    conversation_id: UUID | None
    message_ids: tuple[UUID, ...]
    outcome: Outcome
    reasons: tuple[Reason, ...]
    memory_id: UUID | None


def refuse(connection: Connection, principal: Principal, refusal: Refusal, conversation_id: UUID) -> Entry:
    """Note for the person's own list that something they said was refused, and why; without its text."""
    record = Record(
        id=new_id(),
        type=MemoryType.FACT,
        conversation_id=conversation_id,
        message_ids=(refusal.message_id,),
        outcome=Outcome.REJECT,
        reasons=refusal.reasons,
        memory_id=None,
    )
    return keep(connection, principal, record)


def keep(connection: Connection, principal: Principal, record: Record) -> Entry:
    """Keep a decision for the person's own list; returns its audit row, without text."""
    reasons = [reason.value for reason in record.reasons]
    connection.run(
        "candidates.record",
        tenant_id=principal.tenant_id,
        id=record.id,
        subject_id=principal.subject_id,
        writer_id=principal.subject_id,
        conversation_id=record.conversation_id,
        message_ids=list(record.message_ids),
        type=record.type.value,
        decision=record.outcome.value,
        reasons=reasons,
        policy_version=policy.POLICY_VERSION,
        memory_id=record.memory_id,
    )
    details = {
        "decision": record.outcome.value,
        "reasons": reasons,
        "policy_version": policy.POLICY_VERSION,
        "memory_id": str(record.memory_id) if record.memory_id else None,
    }
    return Entry(action=AuditAction.CANDIDATE_DECIDED, entity_type="candidate", entity_id=record.id, details=details)
