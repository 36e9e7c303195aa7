"""Decisions as they are kept: ids and reasons. No text of what was refused is kept anywhere (0007), only of what waits.

The person sees their own; the audit names each.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from ingatan.audit import AuditAction, Entry
from ingatan.errors import Conflict
from ingatan.memories.refusals import Refusal
from ingatan.storage.database import Connection
from ingatan.types import NEVER_STORED, Candidate, MemoryType, Outcome, Principal, Reason, Scope, new_id


class State(StrEnum):
    """Where a candidate stands; only an open one keeps what it proposes."""

    SETTLED = "settled"
    OPEN = "open"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


class Judgement(StrEnum):
    """What a reviewer says."""

    APPROVE = "approve"
    REJECT = "reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """One decision as the person may see it: ids and reasons; ``text`` is theirs while it waits for a reviewer.

    ``state`` is settled, open, withdrawn or expired; ``verdict`` a reviewer's, with their ``note``.
    """

    id: UUID
    conversation_id: UUID | None
    message_ids: tuple[UUID, ...]
    type: MemoryType
    decision: Outcome
    reasons: tuple[Reason, ...]
    policy_version: str
    memory_id: UUID | None
    created_at: datetime
    state: State = State.SETTLED
    text: str | None = None
    verdict: Judgement | None = None
    reviewed_at: datetime | None = None
    note: str | None = None
    appealed_at: datetime | None = None
    expires_at: datetime | None = None

    @property
    def appealable(self) -> bool:
        """Whether a reviewer may look at what was refused once more."""
        ended = self.state in (State.SETTLED, State.EXPIRED) and self.decision is Outcome.REJECT
        return ended and self.appealed_at is None and not FINAL & set(self.reasons)


FINAL = NEVER_STORED | {Reason.NO_CONSENT, Reason.NEVER_AGAIN, Reason.OFF_RECORD, Reason.ERASED}
"""Reasons against which no appeal helps: what is never stored, and what the person has to take back themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a reviewer said of a candidate that waits."""

    judgement: Judgement
    reviewer_id: UUID
    at: datetime
    note: str | None = None


def page(
    connection: Connection,
    principal: Principal,
    *,
    decision: Outcome | None,
    state: State | None = None,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> list[Decided]:
    """Up to ``limit`` decisions about the caller by (created_at, id) descending, after ``before``; None means all.

    Those about an account do not say in whose conversation it was told.
    """
    own = principal.scope is Scope.USER
    rows = connection.all(
        "candidates.page",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        decision=decision.value if decision else None,
        state=state.value if state else None,
        before_at=before[0] if before else None,
        before_id=before[1] if before else None,
        limit=limit,
    )
    return [
        Decided(
            id=row.id,
            conversation_id=row.conversation_id if own else None,
            message_ids=tuple(row.message_ids) if own else (),
            type=MemoryType(row.type),
            decision=Outcome(row.decision),
            reasons=tuple(Reason(reason) for reason in row.reasons),
            policy_version=row.policy_version,
            memory_id=row.memory_id,
            created_at=row.created_at,
            state=State(row.state),
            text=row.text,
            verdict=Judgement(row.verdict) if row.verdict else None,
            reviewed_at=row.reviewed_at,
            note=row.review_note,
            appealed_at=row.appealed_at,
            expires_at=row.expires_at,
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One decision as it is kept. ``held`` is what waits for a reviewer until ``expires_at``, None for all others.

    ``own`` is the outcome by the policy, where it was recorded under ``dry`` as another. With a ``verdict`` it is the
    end of what waited under ``id``.
    """

    id: UUID
    writer_id: UUID
    candidate: Candidate
    outcome: Outcome
    own: Outcome
    reasons: tuple[Reason, ...]
    policy_version: str
    memory_id: UUID | None = None
    held: dict[str, Any] | None = None
    expires_at: datetime | None = None
    verdict: Verdict | None = None


def refuse(
    connection: Connection, principal: Principal, refusal: Refusal, conversation_id: UUID, version: str
) -> Entry:
    """Note that something the person said was refused under policy ``version``, and why; without its text."""
    keys = {"tenant_id": principal.tenant_id, "id": new_id(), "subject_id": principal.subject_id}
    reasons = [reason.value for reason in refusal.reasons]
    connection.run(
        "candidates.refuse",
        **keys,
        conversation_id=conversation_id,
        message_ids=[refusal.message_id],
        reasons=reasons,
        policy_version=version,
    )
    return _entry(keys["id"], Outcome.REJECT, reasons, version, None)


def keep(connection: Connection, principal: Principal, record: Record) -> Entry:
    """Keep a decision for the person's own list; returns its audit row, without text."""
    candidate = record.candidate
    if record.verdict is not None:
        return settle(connection, principal, record, record.verdict)
    reasons = [reason.value for reason in record.reasons]
    connection.run(
        "candidates.record",
        tenant_id=principal.tenant_id,
        id=record.id,
        subject_id=principal.subject_id,
        scope=principal.scope.value,
        writer_id=record.writer_id,
        conversation_id=candidate.conversation_id,
        message_ids=[evidence.message_id for evidence in candidate.evidence],
        type=candidate.type.value,
        decision=record.outcome.value,
        proposed_decision=record.own.value,
        reasons=reasons,
        policy_version=record.policy_version,
        memory_id=record.memory_id,
        source_kind=candidate.source.value,
        source_id=candidate.source_id,
        batch_id=candidate.batch_id,
        state="settled" if record.held is None else "open",
        payload=record.held,
        expires_at=record.expires_at,
    )
    return _entry(record.id, record.outcome, reasons, record.policy_version, record.memory_id)


def settle(connection: Connection, principal: Principal, record: Record, verdict: Verdict) -> Entry:
    """Keep a verdict and the decision it led to in place of what waited; returns the audit row. Raises Conflict."""
    reasons = [reason.value for reason in record.reasons]
    settled = connection.run(
        "review.settle",
        tenant_id=principal.tenant_id,
        id=record.id,
        decision=record.outcome.value,
        reasons=reasons,
        policy_version=record.policy_version,
        memory_id=record.memory_id,
        verdict=verdict.judgement.value,
        reviewer_id=verdict.reviewer_id,
        reviewed_at=verdict.at,
        note=verdict.note,
    )
    if not settled:
        raise Conflict("This does not wait for a reviewer any more.", code="not_open")
    return _entry(record.id, record.outcome, reasons, record.policy_version, record.memory_id)


def _entry(id: UUID, outcome: Outcome, reasons: list[str], version: str, memory_id: UUID | None) -> Entry:
    details = {
        "decision": outcome.value,
        "reasons": reasons,
        "policy_version": version,
        "memory_id": str(memory_id) if memory_id else None,
    }
    return Entry(action=AuditAction.CANDIDATE_DECIDED, entity_type="candidate", entity_id=id, details=details)
