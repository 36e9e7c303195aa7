"""Candidates: the one door through which anything becomes a memory.

``settle`` lets the policy service decide on one candidate with the state of this moment and carries the decision out:
memory, quotes, vector, the record of the decision, and the audit rows, all in the caller's transaction and under the
subject's lock. Sweeps, proposals and corrections all come through here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ingatan import erasure, subjects, suppressions
from ingatan.audit import AuditAction, Entry
from ingatan.embeddings import NO_VECTORS, Vectors
from ingatan.languages.detect import language_of
from ingatan.memories import policy, registry
from ingatan.memories.decision_context import Known, Limits, Mode, PolicyContext, Writer
from ingatan.memories.refusals import Refusal
from ingatan.storage.database import Connection
from ingatan.telemetry import Event, event
from ingatan.types import (
    Candidate,
    Consent,
    Decision,
    Memory,
    MemoryStatus,
    MemoryType,
    Operation,
    Outcome,
    Principal,
    Reason,
    SourceKind,
    Trust,
    Turn,
    new_id,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What stays the same for all candidates of one act."""

    limits: Limits
    mode: Mode
    erasure_key: bytes
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """One candidate's end: the decision, its record, and the memory it led to, if any."""

    candidate_id: UUID
    decision: Decision
    memory_id: UUID | None
    entries: tuple[Entry, ...]

    @property
    def added(self) -> bool:
        """Whether the person has one memory more than before."""
        return self.wrote and not self.decision.closes

    @property
    def wrote(self) -> bool:
        """Whether a new version stands in the registry."""
        return any(entry.action is AuditAction.MEMORY_WRITTEN for entry in self.entries)

    def announce(self) -> None:
        """Tell what was decided, for the metrics; call once it is committed."""
        event(
            Event.CANDIDATE_DECIDED,
            level="debug",
            decision=self.decision.outcome.value,
            reasons=[reason.value for reason in self.decision.reasons],
            written=int(self.wrote),
            closed=sum(entry.action is AuditAction.MEMORY_CLOSED for entry in self.entries),
        )


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


def decisions(
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


def known(connection: Connection, principal: Principal, terms: Terms) -> Known:
    """What stands in the registry at this moment."""
    return Known(
        active=registry.active(connection, principal, terms.now),
        expired=registry.expired(connection, principal, terms.now),
        consent=subjects.read(connection, principal).consent,
    )


def consider(
    connection: Connection,
    principal: Principal,
    proposed: Sequence[Candidate],
    terms: Terms,
    *,
    turns: Mapping[UUID, Turn],
) -> list[Decision]:
    """What the policy would decide on each as things stand; nothing is written, and the registry is read once."""
    state = known(connection, principal, terms)
    return [
        policy.decide(candidate, context=context(connection, principal, candidate, terms, state, turns=turns))
        for candidate in proposed
    ]


def context(
    connection: Connection,
    principal: Principal,
    candidate: Candidate,
    terms: Terms,
    state: Known,
    *,
    turns: Mapping[UUID, Turn],
    written_in_conversation: int = 0,
) -> PolicyContext:
    """What the policy needs to know about the person, as in ``state``, and the candidate."""
    key, about = terms.erasure_key, principal.subject_id
    texts = [candidate.text, *(evidence.quote for evidence in candidate.evidence)]
    turns_cited = [evidence.message_id for evidence in candidate.evidence]
    marks = erasure.marks(key, about, texts=texts, slot=candidate.slot, turns=turns_cited)
    suppressed = suppressions.has_wishes(connection, principal) and suppressions.held(
        connection, principal, suppressions.borne(key, about, texts=texts, slot=candidate.slot)
    )
    return PolicyContext(
        turns=turns,
        active=state.active,
        expired=state.expired,
        consent=state.consent,
        writer=Writer(subject_id=principal.subject_id),
        erased_at=erasure.erased_at(connection, principal, marks),
        suppressed=suppressed,
        written_in_conversation=written_in_conversation,
        limits=terms.limits,
        mode=terms.mode,
        now=terms.now,
    )


def settle(
    connection: Connection,
    principal: Principal,
    candidate: Candidate,
    terms: Terms,
    *,
    candidate_id: UUID | None = None,
    turns: Mapping[UUID, Turn] | None = None,
    vectors: Vectors = NO_VECTORS,
    written_in_conversation: int = 0,
) -> Settled:
    """Decide on ``candidate`` and carry it out. Call under the subject's lock; append ``entries`` to the audit last."""
    state = context(
        connection,
        principal,
        candidate,
        terms,
        known(connection, principal, terms),
        turns=turns or {},
        written_in_conversation=written_in_conversation,
    )
    decision = policy.decide(candidate, context=state)
    candidate_id = candidate_id or new_id()
    memory_id: UUID | None = decision.reinforces
    entries: list[Entry] = []
    if decision.outcome is Outcome.ACCEPT:
        closed = MemoryStatus.DELETED if candidate.operation is Operation.DELETE else MemoryStatus.SUPERSEDED
        updated = _target(candidate, decision, state.active)
        if candidate.never_again:
            closing = [memory for memory in state.active if memory.id in decision.closes]
            entries.append(_suppress(connection, principal, candidate, closing, terms, candidate_id))
        for id in decision.closes:
            if registry.retire(connection, principal, id, closed, candidate_id=candidate_id):
                entries.append(_entry(AuditAction.MEMORY_CLOSED, id, status=closed.value, candidate_id=candidate_id))
        if decision.reinforces is not None:
            registry.reinforce(
                connection,
                principal,
                decision.reinforces,
                at=terms.now,
                importance=candidate.importance,
                expires_at=candidate.expires_at,
            )
            entries.append(_entry(AuditAction.MEMORY_REINFORCED, decision.reinforces, candidate_id=candidate_id))
        elif candidate.operation is not Operation.DELETE:
            memory_id = _write(connection, principal, candidate, decision, candidate_id, updated, terms, vectors)
            entries.append(_entry(AuditAction.MEMORY_WRITTEN, memory_id, candidate_id=candidate_id))
    record = Record(
        id=candidate_id,
        type=candidate.type,
        conversation_id=candidate.conversation_id,
        message_ids=tuple(evidence.message_id for evidence in candidate.evidence),
        outcome=decision.outcome,
        reasons=decision.reasons,
        memory_id=memory_id,
    )
    entries.append(keep(connection, principal, record))
    return Settled(candidate_id=candidate_id, decision=decision, memory_id=memory_id, entries=tuple(entries))


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


def _target(candidate: Candidate, decision: Decision, active: Sequence[Memory]) -> Memory | None:
    """The memory that gets a new version: the one the candidate names, if the policy closes it for that."""
    closing = decision.closes
    return next((memory for memory in active if memory.id == candidate.target_id and memory.id in closing), None)


def _suppress(
    connection: Connection,
    principal: Principal,
    candidate: Candidate,
    closing: Sequence[Memory],
    terms: Terms,
    candidate_id: UUID,
) -> Entry:
    """Never again: what is closed by it and the words themselves, the whole attribute they name, or everything."""
    if candidate.slot is None and policy.concerns_everything(candidate):
        subjects.set_consent(connection, principal, Consent.WITHDRAWN)
        return Entry(
            action=AuditAction.CONSENT_CHANGED,
            entity_type="subject",
            entity_id=principal.subject_id,
            details={"consent": Consent.WITHDRAWN.value, "candidate_id": str(candidate_id)},
        )
    if candidate.slot is not None:
        suppressions.suppress(connection, principal, terms.erasure_key, texts=(), slot=candidate.slot)
    else:
        texts = [candidate.text, *(memory.text for memory in closing)]
        suppressions.suppress(connection, principal, terms.erasure_key, texts=texts, slot=None)
    return Entry(
        action=AuditAction.MEMORY_SUPPRESSED,
        entity_type="subject",
        entity_id=principal.subject_id,
        details={"candidate_id": str(candidate_id), "slot": candidate.slot},
    )


def _write(
    connection: Connection,
    principal: Principal,
    candidate: Candidate,
    decision: Decision,
    candidate_id: UUID,
    updated: Memory | None,
    terms: Terms,
    vectors: Vectors,
) -> UUID:
    id, version = new_id(), 1
    if updated is not None:
        id, version = updated.id, updated.version + 1
    direct = candidate.source is not SourceKind.TURN
    marks = erasure.marks(
        terms.erasure_key,
        principal.subject_id,
        texts=[decision.text],
        slot=decision.slot,
        turns=[evidence.message_id for evidence in candidate.evidence],
    )
    registry.write(
        connection,
        principal,
        registry.NewVersion(
            id=id,
            version=version,
            type=candidate.type,
            slot=decision.slot,
            text=decision.text,
            language=candidate.language if decision.text == candidate.text else language_of(decision.text),
            importance=candidate.importance,
            trust=Trust.CONFIRMED if direct else Trust.STATED,
            source=candidate.source,
            conversation_id=candidate.conversation_id,
            candidate_id=candidate_id,
            policy_version=policy.POLICY_VERSION,
            effective_at=candidate.effective_at,
            expires_at=candidate.expires_at,
            evidence=candidate.evidence,
            vector=vectors.get(decision.text),
            model_id=vectors.model_id,
            marks=tuple(marks),
        ),
    )
    return id


def _entry(action: AuditAction, memory_id: UUID, **details: object) -> Entry:
    return Entry(
        action=action,
        entity_type="user_memory",
        entity_id=memory_id,
        details={key: str(value) for key, value in details.items()},
    )
