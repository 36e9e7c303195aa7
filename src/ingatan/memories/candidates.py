"""Candidates: the one door through which anything becomes a memory.

``settle`` lets the policy service decide on one candidate with the state of this moment and carries the decision out:
memory, quotes, vector, the record of the decision, and the audit rows, all in the caller's transaction and under the
subject's lock. Sweeps, proposals and corrections all come through here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from ingatan import erasure, subjects, suppressions
from ingatan.audit import AuditAction, Entry
from ingatan.embeddings import Vectors
from ingatan.errors import Conflict
from ingatan.languages.detect import language_of
from ingatan.memories import decisions, policy, queue, registry
from ingatan.memories.assessment import Assessment, assess, by_meaning
from ingatan.memories.decision_context import PolicyContext
from ingatan.memories.held import held, waits
from ingatan.memories.standing import Standing
from ingatan.screening.meaning import steers
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

    candidate: Candidate
    decision: Decision
    assessment: Assessment

    @property
    def texts(self) -> tuple[str, ...]:
        """What is to be looked at, for it may come to be written: what would be, and what its words alone allow."""
        words = self.assessment
        if not by_meaning(self.candidate):
            return ()
        allowed = words.grounding.reason is None and words.unfit is None and not words.refused
        return tuple(dict.fromkeys(filter(None, (self.decision.text, words.grounding.text if allowed else ""))))


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
        Considered(
            candidate, policy.decide(candidate, context=standing.context(candidate), assessment=assessment), assessment
        )
        for candidate, assessment in zip(proposed, found, strict=True)
    ]


def settle(
    connection: Connection,
    standing: Standing,
    candidate: Candidate,
    *,
    vectors: Vectors,
    assessment: Assessment | None = None,
    candidate_id: UUID | None = None,
    written_in_conversation: int = 0,
    verdict: decisions.Verdict | None = None,
) -> Settled:
    """Decide on ``candidate`` and carry it out. Call under the subject's lock; append ``entries`` to the audit last.

    ``standing`` is read under the same lock, and read again here when this changed what is remembered. With a
    reviewer's ``verdict`` it settles the candidate that waits under ``candidate_id``, which then waits no more.
    """
    standing.refresh(connection)
    state = standing.context(candidate, written_in_conversation)
    decision = policy.decide(candidate, context=state, assessment=assessment)
    decision = looked_at_again(decision, candidate, state, assessment, vectors)
    if verdict is not None and decision.outcome is not Outcome.ACCEPT:
        decision = replace(decision, outcome=Outcome.REJECT)  # no reviewer looks at it twice
    candidate_id = candidate_id or new_id()
    memory_id, entries = decision.reinforces, list[Entry]()
    if decision.outcome is Outcome.ACCEPT:
        accepted = _Accepted(candidate=candidate, id=candidate_id, decision=decision, state=state)
        entries = _close(connection, standing, accepted)
        if decision.reinforces is not None:
            entries.append(_reinforce(connection, standing, accepted, decision.reinforces))
        elif candidate.operation is not Operation.DELETE:
            memory_id = _write(connection, standing, accepted, vectors)
            entries.append(_entry(AuditAction.MEMORY_WRITTEN, memory_id, candidate_id=candidate_id))
    if entries:
        standing.changed(suppressing=candidate.never_again)
    record = _record(standing, candidate, decision, id=candidate_id, memory_id=memory_id, verdict=verdict)
    entries.append(decisions.keep(connection, standing.principal, record))
    standing.settled += 1
    return Settled(candidate_id=candidate_id, decision=decision, memory_id=memory_id, entries=tuple(entries))


def looked_at_again(
    decision: Decision,
    candidate: Candidate,
    state: PolicyContext,
    assessment: Assessment | None,
    vectors: Vectors,
) -> Decision:
    """``decision``, or what the policy decides where the meaning of what it would accept resembles what steers.

    Raises Conflict for a text that was not expected to be accepted, and so has no vector yet: it is to be tried again.
    """
    looks = decision.outcome is Outcome.ACCEPT and by_meaning(candidate)
    if vectors.meanings is None or not looks:
        return decision
    assessed = assessment or assess(candidate, state.turns)
    text = decision.text if decision.text in vectors.meanings else assessed.grounding.text  # known in other spelling
    if text not in vectors.meanings:
        raise Conflict("What is remembered changed meanwhile. Send this again.", code="changed_meanwhile")
    reason = steers(text, vectors.meanings[text])
    if reason is None:
        return decision
    return policy.decide(candidate, context=state, assessment=replace(assessed, refused=(reason,)))


def keepsake(standing: Standing, candidate: Candidate, decision: Decision) -> dict[str, Any]:
    """What is kept of ``candidate`` while it waits, with the marks an erasure would know it by."""
    quotes = [evidence.quote for evidence in candidate.evidence]
    marks = _marks(standing, candidate, decision, texts=[decision.text, *quotes])
    return held(candidate, decision.text, decision.slot, standing.writer, marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Accepted:
    """A candidate that is carried out under its ``id``, and the state it was decided over."""

    candidate: Candidate
    id: UUID
    decision: Decision
    state: PolicyContext

    @property
    def closing(self) -> list[Memory]:
        """The memories that it closes."""
        return [memory for memory in self.state.active if memory.id in self.decision.closes]


def _close(connection: Connection, standing: Standing, accepted: _Accepted) -> list[Entry]:
    """Retire what the decision closes; where it asks so, that is never remembered again."""
    candidate = accepted.candidate
    entries = _suppress(connection, standing, accepted) if candidate.never_again else []
    status = MemoryStatus.DELETED if candidate.operation is Operation.DELETE else MemoryStatus.SUPERSEDED
    for id in accepted.decision.closes:
        if registry.retire(connection, standing.principal, id, status, candidate_id=accepted.id):
            entries.append(_entry(AuditAction.MEMORY_CLOSED, id, status=status.value, candidate_id=accepted.id))
    return entries


def _suppress(connection: Connection, standing: Standing, accepted: _Accepted) -> list[Entry]:
    """Never again: what is closed by it and the words themselves, the whole attribute they name, or everything.

    What waits for a reviewer and would be that is taken back.
    """
    owner, candidate, key = standing.principal, accepted.candidate, standing.terms.erasure_key
    if candidate.slot is None and policy.concerns_everything(candidate):
        subjects.set_consent(connection, owner, Consent.WITHDRAWN)
        withdrawn = _of_person(AuditAction.CONSENT_CHANGED, accepted, owner, consent=Consent.WITHDRAWN.value)
        return [withdrawn, *queue.take_back(connection, owner, everything=True)]
    suppressed = _of_person(AuditAction.MEMORY_SUPPRESSED, accepted, owner, slot=candidate.slot)
    if candidate.slot is not None:
        suppressions.suppress(connection, owner, key, texts=(), slot=candidate.slot)
        return [suppressed, *queue.take_back(connection, owner, slot=candidate.slot)]
    texts = [candidate.text, *(memory.text for memory in accepted.closing)]
    suppressions.suppress(connection, owner, key, texts=texts, slot=None)
    marks = erasure.marks(key, owner.subject_id, texts=texts, slot=None, turns=())
    return [suppressed, *queue.take_back(connection, owner, marks=marks)]


def _of_person(action: AuditAction, accepted: _Accepted, owner: Principal, **details: str | None) -> Entry:
    told = {"candidate_id": str(accepted.id), **details}
    return Entry(action=action, entity_type="subject", entity_id=owner.subject_id, details=told)


def _reinforce(connection: Connection, standing: Standing, accepted: _Accepted, memory_id: UUID) -> Entry:
    """Note that what is remembered was said again; an expired memory ends anew, within the lifetime that it has."""
    candidate, expires_at = accepted.candidate, accepted.candidate.expires_at
    expired = next((memory for memory in accepted.state.expired if memory.id == memory_id), None)
    if expired is not None:
        expires_at = standing.document.expires_at(replace(candidate, type=expired.type), expired.trust)
    registry.reinforce(
        connection,
        standing.principal,
        memory_id,
        at=standing.terms.now,
        importance=candidate.importance,
        expires_at=expires_at,
    )
    return _entry(AuditAction.MEMORY_REINFORCED, memory_id, candidate_id=accepted.id)


def _write(connection: Connection, standing: Standing, accepted: _Accepted, vectors: Vectors) -> UUID:
    """Write a memory, or the next version of the one that the candidate names if it is closed for that; its id."""
    candidate, decision = accepted.candidate, accepted.decision
    updated = next((memory for memory in accepted.closing if memory.id == candidate.target_id), None)
    id, version = (new_id(), 1) if updated is None else (updated.id, updated.version + 1)
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
            candidate_id=accepted.id,
            policy_version=standing.policy_version,
            vector=vectors.get(decision.text),
            model_id=vectors.model_id,
            marks=tuple(_marks(standing, candidate, decision, texts=[decision.text])),
        ),
    )
    return id


def _record(
    standing: Standing,
    candidate: Candidate,
    decision: Decision,
    *,
    id: UUID,
    memory_id: UUID | None,
    verdict: decisions.Verdict | None,
) -> decisions.Record:
    """The decision as it is kept; with what it proposes while a reviewer, who gave no ``verdict`` yet, is to look."""
    wait = verdict is None and waits(decision)
    days = standing.document.review.expires_days
    return decisions.Record(
        id=id,
        writer_id=standing.writer.subject_id,
        candidate=candidate,
        outcome=decision.outcome,
        own=decision.own or decision.outcome,
        reasons=decision.reasons,
        policy_version=standing.policy_version,
        memory_id=memory_id,
        held=keepsake(standing, candidate, decision) if wait else None,
        expires_at=standing.terms.now + timedelta(days=days) if wait else None,
        verdict=verdict,
    )


def _marks(standing: Standing, candidate: Candidate, decision: Decision, *, texts: list[str]) -> list[bytes]:
    """What an erasure would know ``texts`` by."""
    return erasure.marks(
        standing.terms.erasure_key,
        standing.principal.subject_id,
        texts=texts,
        slot=decision.slot,
        turns=[evidence.message_id for evidence in candidate.evidence],
    )


def _entry(action: AuditAction, memory_id: UUID, **details: object) -> Entry:
    return Entry(
        action=action,
        entity_type="user_memory",
        entity_id=memory_id,
        details={key: str(value) for key, value in details.items()},
    )
