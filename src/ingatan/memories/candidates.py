"""Candidates: the one door through which anything becomes a memory.

``settle`` lets the policy service decide on one candidate with the state of this moment and carries the decision out:
memory, quotes, vector, the record of the decision, and the audit rows, all in the caller's transaction and under the
subject's lock. Sweeps, proposals and corrections all come through here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from ingatan import erasure, subjects, suppressions
from ingatan.audit import AuditAction, Entry
from ingatan.embeddings import NO_VECTORS, Vectors
from ingatan.languages.detect import language_of
from ingatan.memories import decisions, policy, registry
from ingatan.memories.assessment import Assessment, assess
from ingatan.memories.held import held, waits
from ingatan.memories.standing import Standing, Terms
from ingatan.storage.database import Connection
from ingatan.telemetry import Event, event
from ingatan.types import (
    Candidate,
    Consent,
    Decision,
    Memory,
    MemoryStatus,
    Operation,
    Outcome,
    Principal,
    Reason,
    new_id,
)


@dataclass(frozen=True, slots=True)
class Considered:
    """What would be decided as things stood, and what the words alone came to, which stays true."""

    decision: Decision
    assessment: Assessment


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
        closed = sum(entry.action is AuditAction.MEMORY_CLOSED for entry in self.entries)
        announce(self.decision.outcome, self.decision.reasons, written=int(self.wrote), closed=closed)


def announce(outcome: Outcome, reasons: Sequence[Reason], *, written: int = 0, closed: int = 0) -> None:
    """Tell that something was decided, and how many memories it wrote and closed, for the metrics."""
    event(
        Event.CANDIDATE_DECIDED,
        level="debug",
        decision=outcome.value,
        reasons=[reason.value for reason in reasons],
        written=written,
        closed=closed,
    )


def consider(standing: Standing, proposed: Sequence[Candidate]) -> list[Considered]:
    """What the policy would decide on each as things stand; nothing is written."""
    found = [assess(candidate, standing.turns) for candidate in proposed]
    return [
        Considered(policy.decide(candidate, context=standing.context(candidate), assessment=assessment), assessment)
        for candidate, assessment in zip(proposed, found, strict=True)
    ]


def settle(
    connection: Connection,
    standing: Standing,
    candidate: Candidate,
    *,
    assessment: Assessment | None = None,
    candidate_id: UUID | None = None,
    vectors: Vectors = NO_VECTORS,
    written_in_conversation: int = 0,
    verdict: decisions.Verdict | None = None,
) -> Settled:
    """Decide on ``candidate`` and carry it out. Call under the subject's lock; append ``entries`` to the audit last.

    ``standing`` is read under the same lock, and read again here when this changed what is remembered. With a
    reviewer's ``verdict`` it settles the candidate that waits under ``candidate_id``, which then waits no more.
    """
    principal, terms = standing.principal, standing.terms
    standing.refresh(connection)
    state = standing.context(candidate, written_in_conversation)
    decision = policy.decide(candidate, context=state, assessment=assessment)
    if verdict is not None and decision.outcome is not Outcome.ACCEPT:
        decision = replace(decision, outcome=Outcome.REJECT)  # no reviewer looks at it twice
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
                expires_at=_renewed_until(standing, candidate, decision, state.expired),
            )
            entries.append(_entry(AuditAction.MEMORY_REINFORCED, decision.reinforces, candidate_id=candidate_id))
        elif candidate.operation is not Operation.DELETE:
            memory_id = _write(connection, standing, candidate, decision, candidate_id, updated, vectors)
            entries.append(_entry(AuditAction.MEMORY_WRITTEN, memory_id, candidate_id=candidate_id))
    wait = verdict is None and waits(decision)
    days = standing.document.review.expires_days
    record = decisions.Record(
        id=candidate_id,
        writer_id=standing.writer.subject_id,
        candidate=candidate,
        outcome=decision.outcome,
        own=decision.own or decision.outcome,
        reasons=decision.reasons,
        policy_version=standing.policy_version,
        memory_id=memory_id,
        held=keepsake(standing, candidate, decision) if wait else None,
        expires_at=terms.now + timedelta(days=days) if wait else None,
        verdict=verdict,
    )
    if entries:
        standing.changed(wishes=candidate.never_again)
    entries.append(decisions.keep(connection, principal, record))
    standing.settled += 1
    return Settled(candidate_id=candidate_id, decision=decision, memory_id=memory_id, entries=tuple(entries))


def keepsake(standing: Standing, candidate: Candidate, decision: Decision) -> dict[str, Any]:
    """What is kept of ``candidate`` while it waits, with the marks an erasure would know it by."""
    quotes = [evidence.quote for evidence in candidate.evidence]
    marks = erasure.marks(
        standing.terms.erasure_key,
        standing.principal.subject_id,
        texts=[decision.text, *quotes],
        slot=decision.slot,
        turns=[evidence.message_id for evidence in candidate.evidence],
    )
    return held(candidate, decision.text, decision.slot, standing.writer, marks)


def _renewed_until(
    standing: Standing, candidate: Candidate, decision: Decision, expired: Sequence[Memory]
) -> datetime | None:
    """When an expired memory that is said again ends anew: as proposed, and within the lifetime it has."""
    memory = next((memory for memory in expired if memory.id == decision.reinforces), None)
    if memory is None:
        return candidate.expires_at
    return standing.document.expires_at(replace(candidate, type=memory.type), memory.trust)


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
    standing: Standing,
    candidate: Candidate,
    decision: Decision,
    candidate_id: UUID,
    updated: Memory | None,
    vectors: Vectors,
) -> UUID:
    id, version = new_id(), 1
    if updated is not None:
        id, version = updated.id, updated.version + 1
    marks = erasure.marks(
        standing.terms.erasure_key,
        standing.principal.subject_id,
        texts=[decision.text],
        slot=decision.slot,
        turns=[evidence.message_id for evidence in candidate.evidence],
    )
    trust = standing.trust(candidate)
    registry.write(
        connection,
        standing.principal,
        registry.NewVersion(
            id=id,
            version=version,
            candidate=candidate,
            slot=decision.slot,
            text=decision.text,
            language=candidate.language if decision.text == candidate.text else language_of(decision.text),
            trust=trust,
            purposes=standing.document.purposes_of(candidate),
            expires_at=standing.document.expires_at(candidate, trust),
            candidate_id=candidate_id,
            policy_version=standing.policy_version,
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
