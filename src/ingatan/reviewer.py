"""The reviewer: what people with that role do with candidates that wait, and what their person does about them.

An approval decides anew over the state of that moment, under the subject's lock: consent, wishes, erasures, duplicates
and caps hold as ever, and what may not be remembered any more ends as rejected, with its reasons. Nobody approves what
they proposed, or what is about themselves. The embedder is asked between transactions, never inside one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ingatan import conversations, sources, subjects, transcript
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.embeddings import NO_VECTORS
from ingatan.errors import Conflict, Forbidden, IngatanError, MemoryDisabled, PolicyRefused
from ingatan.languages.detect import language_of
from ingatan.memories import candidates, decisions, policies, proposals, queue
from ingatan.memories.assessment import assess
from ingatan.memories.candidates import Settled
from ingatan.memories.decision_context import Writer
from ingatan.memories.decisions import Judgement, State, Verdict
from ingatan.memories.queue import Item, Waiting
from ingatan.memories.standing import Standing, Terms
from ingatan.memories.statements import statements
from ingatan.memories.support import licensed
from ingatan.projections import Projections
from ingatan.settings import Settings, memory_allowed
from ingatan.storage.database import Connection, Database, Power
from ingatan.telemetry import Event, event
from ingatan.types import (
    Candidate,
    Decision,
    MemoryType,
    Outcome,
    Principal,
    Reason,
    SourceKind,
    Turn,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What became of one candidate. ``error`` is a code where nothing was decided."""

    id: UUID
    judgement: Judgement
    decision: Outcome | None = None
    reasons: tuple[str, ...] = ()
    memory_id: UUID | None = None
    policy_version: str | None = None
    error: str | None = None


class Reviewer:
    """Carries out what reviewers decide, and the appeals and withdrawals of the people concerned."""

    def __init__(
        self,
        database: Database,
        *,
        settings: Settings,
        projections: Projections,
        audit: Audit,
        terms: Callable[[datetime], Terms],
        pause: Callable[[str], None],
    ) -> None:
        self._database = database
        self._settings = settings
        self._projections = projections
        self._audit = audit
        self._terms = terms
        self._pause = pause

    def item(self, reviewer: Principal, id: UUID) -> Item:
        """One candidate as a reviewer sees it; in its context as far as the policy lets them look. Raises NotFound."""
        with self._database.read(reviewer, power=Power.REVIEW) as connection:
            version = subjects.read(connection, reviewer).policy_version
            document = self._terms(datetime.now(UTC)).policies.at(connection, reviewer, version)
            return queue.get(connection, reviewer, id, characters=document.review.context_characters)

    def approve(self, reviewer: Principal, id: UUID, *, text: str | None = None, note: str | None = None) -> Reviewed:
        """Remember what waits, or what it says in other words of its quote (``text``), as far as it may be.

        Raises NotFound, Forbidden for one's own, Conflict where it waits no more, MemoryDisabled, and PolicyRefused
        with reasons for a ``text`` that may not stand for it; then it waits on.
        """
        with self._database.read(reviewer, power=Power.REVIEW) as connection:
            waiting, held = queue.take(connection, reviewer, id)
        self._check_may(reviewer, waiting)
        candidate = held.candidate if text is None else _edited(held.candidate, text)
        owner = Principal(reviewer.tenant_id, waiting.subject_id, scope=waiting.scope)
        terms = self._terms(datetime.now(UTC))
        with self._database.read(owner) as connection:
            standing = self._standing(connection, owner, candidate, terms, held.writer)
        [considered] = candidates.consider(standing, [candidate])
        expected = considered.decision
        if text is not None:
            _check_edit(expected, candidate)
        vectors = self._projections.vectors([expected.text]) if expected.outcome is Outcome.ACCEPT else NO_VECTORS
        self._pause("considered")
        with self._database.write(owner) as connection:
            if candidate.source_id is not None:
                sources.hold(connection, owner, candidate.source_id, candidate.batch_id)
            subjects.lock(connection, owner)
            connection.enter(reviewer, power=Power.REVIEW)
            again, now_held = queue.take(connection, reviewer, id)
            if now_held != held or again.subject_id != waiting.subject_id:
                raise Conflict("This changed meanwhile. Look at it again.", code="changed_meanwhile")
            standing = self._standing(connection, owner, candidate, terms, held.writer)
            settled = candidates.settle(
                connection,
                standing,
                candidate,
                candidate_id=id,
                vectors=vectors,
                written_in_conversation=queue.written_from(connection, owner, candidate.conversation_id),
                verdict=Verdict(judgement=Judgement.APPROVE, reviewer_id=reviewer.subject_id, at=terms.now, note=note),
            )
            if text is not None:
                _check_edit(settled.decision, candidate)
            connection.enter(reviewer, power=Power.REVIEW)
            entry = _reviewed(id, Judgement.APPROVE, edited=text is not None)
            self._audit.append(connection, reviewer, [entry, *settled.entries])
        settled.announce()
        return _outcome(settled, standing.policy_version)

    def reject(self, reviewer: Principal, id: UUID, reason: Reason, *, note: str | None = None) -> Reviewed:
        """Do not remember what waits, for ``reason``. Raises NotFound, Forbidden for one's own, and Conflict."""
        with self._database.read(reviewer, power=Power.REVIEW) as connection:
            waiting, held = queue.take(connection, reviewer, id)
        _check_other(reviewer, waiting)
        owner = Principal(reviewer.tenant_id, waiting.subject_id, scope=waiting.scope)
        now = datetime.now(UTC)
        reasons = tuple(dict.fromkeys((Reason.REVIEWER, reason)))
        with self._database.write(owner) as connection:
            subjects.lock(connection, owner)
            connection.enter(reviewer, power=Power.REVIEW)
            queue.take(connection, reviewer, id)
            version = subjects.read(connection, reviewer).policy_version
            document = self._terms(now).policies.at(connection, reviewer, version)
            record = decisions.Record(
                id=id,
                writer_id=waiting.writer_id,
                candidate=held.candidate,
                outcome=Outcome.REJECT,
                own=waiting.decision,
                reasons=reasons,
                policy_version=policies.label(document, version),
            )
            verdict = Verdict(judgement=Judgement.REJECT, reviewer_id=reviewer.subject_id, at=now, note=note)
            decided = decisions.settle(connection, reviewer, record, verdict)
            self._audit.append(connection, reviewer, [_reviewed(id, Judgement.REJECT), decided])
        _announce(Outcome.REJECT, reasons)
        return Reviewed(
            id=id,
            judgement=Judgement.REJECT,
            decision=Outcome.REJECT,
            reasons=tuple(one.value for one in reasons),
            policy_version=record.policy_version,
        )

    def decide_each(
        self, reviewer: Principal, ids: list[UUID], judgement: Judgement, *, reason: Reason, note: str | None
    ) -> list[Reviewed]:
        """Approve or reject each on its own, in the order given; one that cannot be decided stops no other."""
        found: list[Reviewed] = []
        for id in dict.fromkeys(ids):
            try:
                if judgement is Judgement.APPROVE:
                    found.append(self.approve(reviewer, id, note=note))
                else:
                    found.append(self.reject(reviewer, id, reason, note=note))
            except IngatanError as error:
                if error.status >= 500:
                    raise
                found.append(Reviewed(id=id, judgement=judgement, error=error.code))
        return found

    def withdraw(self, person: Principal, id: UUID) -> None:
        """Take back what waits about oneself; nothing of it stays. Raises NotFound and Conflict."""
        with self._database.write(person) as connection:
            subjects.lock(connection, person)
            queue.own(connection, person, id)
            queue.withdraw(connection, person, id)
            self._audit.append(connection, person, [_entry(AuditAction.CANDIDATE_WITHDRAWN, id)])
        _announce(Outcome.REJECT, (Reason.WITHDRAWN,))

    def appeal(self, person: Principal, id: UUID, *, text: str | None = None, note: str | None = None) -> None:
        """Let a reviewer look again. What was refused kept no text: the person sends it again.

        Raises NotFound, and Conflict with ``reasons`` where no reviewer may decide otherwise, or where it was asked
        before; PolicyRefused where ``text`` is missing.
        """
        self._check_writable(person)
        terms = self._terms(datetime.now(UTC))
        with self._database.write(person) as connection:
            subjects.lock(connection, person)
            own = queue.own(connection, person, id)
            if own.appealed_at is not None:
                raise Conflict("This was looked at again before, or will be.", code="appealed_before")
            if own.state is State.OPEN:
                queue.appeal(connection, person, id, note)
            else:
                self._reopen(connection, person, own, text, note, terms)
            self._audit.append(connection, person, [_entry(AuditAction.CANDIDATE_APPEALED, id)])

    def _reopen(
        self,
        connection: Connection,
        person: Principal,
        own: queue.Own,
        text: str | None,
        note: str | None,
        terms: Terms,
    ) -> None:
        if own.state is State.WITHDRAWN or own.decision is not Outcome.REJECT:
            raise Conflict("There is nothing to appeal against.", code="not_open")
        _check_appealable([Reason(reason) for reason in own.reasons])
        if text is None:
            raise PolicyRefused(
                "The text was not kept. Send it again as 'text'.",
                code="text_needed",
                extra={"reasons": list(own.reasons)},
            )
        candidate = proposals.proposal(
            person,
            text,
            MemoryType(own.type),
            importance=proposals.IMPORTANCE,
            source=SourceKind.SELF,
            conversation_id=None,
            evidence=(),
            expires_at=None,
            now=terms.now,
        )
        standing = Standing(connection, person, [candidate], terms, turns={})
        [considered] = candidates.consider(standing, [candidate])
        _check_appealable(considered.decision.reasons)
        refused = assess(candidate, {}).refused
        if refused and standing.document.security.decision == "reject":
            raise _no_appeal(refused)
        waiting = Decision(outcome=Outcome.REVIEW, reasons=(Reason.NEEDS_REVIEW,), text=text, slot=candidate.slot)
        queue.reopen(
            connection,
            person,
            own.id,
            payload=candidates.keepsake(standing, candidate, waiting),
            kind=candidate.type,
            policy_version=standing.policy_version,
            note=note,
            expires_at=terms.now + timedelta(days=standing.document.review.expires_days),
        )

    def _check_may(self, reviewer: Principal, waiting: Waiting) -> None:
        _check_other(reviewer, waiting)
        self._check_writable(Principal(reviewer.tenant_id, waiting.subject_id, verified=True))

    def _check_writable(self, person: Principal) -> None:
        allowed = memory_allowed(
            self._settings,
            subject_id=person.subject_id,
            verified=person.verified,
            shared_sentinel=person.shared_sentinel,
        )
        if not (allowed and self._settings.memory.write_enabled):
            raise MemoryDisabled(
                "Memory is not written here, or not for this person. Ask the operator of this service."
            )

    def _standing(
        self, connection: Connection, owner: Principal, candidate: Candidate, terms: Terms, writer: Writer
    ) -> Standing:
        """What an approved ``candidate`` is decided over now, in the owner's scope, which is entered here."""
        speaker = owner if candidate.said_by is None else Principal(owner.tenant_id, candidate.said_by)
        connection.enter(speaker)
        turns = self._cited(connection, speaker, candidate)
        source = sources.get(connection, owner, candidate.source_id) if candidate.source_id is not None else None
        connection.enter(owner)
        return Standing(connection, owner, [candidate], terms, turns=turns, writer=writer, approved=True, source=source)

    def _cited(self, connection: Connection, owner: Principal, candidate: Candidate) -> Mapping[UUID, Turn]:
        """The cited turns that still count; none where the conversation is shared now and that is not allowed."""
        if not candidate.evidence or candidate.conversation_id is None:
            return {}
        with_shared = self._settings.memory.shared_conversations
        if not with_shared and conversations.shared(connection, owner, candidate.conversation_id):
            return {}
        rows = connection.all(
            "sweep.cited_turns",
            tenant_id=owner.tenant_id,
            conversation_id=candidate.conversation_id,
            ids=[evidence.message_id for evidence in candidate.evidence],
        )
        return {row.id: transcript.turn(row) for row in rows}


def _check_other(reviewer: Principal, waiting: Waiting) -> None:
    if reviewer.subject_id in (waiting.writer_id, waiting.subject_id):
        raise Forbidden("You proposed this, or it is about you: another reviewer decides.", code="own_candidate")


def _edited(candidate: Candidate, text: str) -> Candidate:
    """``candidate`` with a reviewer's ``text``. Raises PolicyRefused unless its quote licenses or holds it.

    A stretch of the quote becomes the quote: whether it is a statement by itself is then checked as ever.
    """
    quotes = [evidence.quote for evidence in candidate.evidence] or [candidate.text]
    slot = next((found.slot for found in statements(text) if found.type is candidate.type), None)
    changed = replace(candidate, text=text, slot=slot, language=language_of(text))
    if any(licensed(text, quote, language=candidate.language) for quote in quotes):
        return changed
    holding = next((evidence for evidence in candidate.evidence if text in evidence.quote), None)
    if holding is not None:
        return replace(changed, evidence=(replace(holding, quote=text),))
    raise _refused((Reason.NOT_LICENSED,))


def _check_edit(decision: Decision, candidate: Candidate) -> None:
    """Raise PolicyRefused unless just the edited text would be kept, or its decision is only tried out (``dry``)."""
    own = decision.own or decision.outcome
    if own is not Outcome.ACCEPT:
        raise _refused(decision.reasons)
    if decision.reinforces is None and decision.own is None and decision.text != candidate.text:
        raise _refused((Reason.NOT_LICENSED,))


def _refused(reasons: tuple[Reason, ...]) -> PolicyRefused:
    named = [reason.value for reason in reasons]
    return PolicyRefused("These words may not stand for what was proposed; it waits on.", extra={"reasons": named})


def _check_appealable(reasons: list[Reason] | tuple[Reason, ...]) -> None:
    if decisions.FINAL & set(reasons):
        raise _no_appeal(tuple(reasons))


def _no_appeal(reasons: tuple[Reason, ...]) -> Conflict:
    return Conflict(
        "No reviewer can decide otherwise: this is never remembered, or you asked not to have it remembered.",
        code="not_appealable",
        extra={"reasons": [reason.value for reason in reasons]},
    )


def _reviewed(id: UUID, judgement: Judgement, *, edited: bool = False) -> Entry:
    details = {"verdict": judgement.value, "edited": edited}
    return Entry(action=AuditAction.CANDIDATE_REVIEWED, entity_type="candidate", entity_id=id, details=details)


def _entry(action: AuditAction, id: UUID) -> Entry:
    return Entry(action=action, entity_type="candidate", entity_id=id)


def _announce(outcome: Outcome, reasons: tuple[Reason, ...]) -> None:
    event(
        Event.CANDIDATE_DECIDED,
        level="debug",
        decision=outcome.value,
        reasons=[reason.value for reason in reasons],
        written=0,
        closed=0,
    )


def _outcome(settled: Settled, policy_version: str) -> Reviewed:
    return Reviewed(
        id=settled.candidate_id,
        judgement=Judgement.APPROVE,
        decision=settled.decision.outcome,
        reasons=tuple(reason.value for reason in settled.decision.reasons),
        memory_id=settled.memory_id,
        policy_version=policy_version,
    )
