"""The reviewer: what people with that role do with candidates that wait.

An approval decides anew over the state of that moment, under the subject's lock: consent, suppressions, erasures,
duplicates and caps hold as ever, and what may not be remembered any more ends as rejected, with its reasons. Nobody
approves what they proposed, or what is about themselves. The embedder is asked between transactions, never inside one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from ingatan import accounts, conversations, idempotency, sources, subjects, transcript
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.errors import Conflict, Forbidden, IngatanError, PolicyRefused
from ingatan.idempotency import Key
from ingatan.languages.detect import language_of
from ingatan.memories import candidates, decisions, policies, queue
from ingatan.memories.candidates import Settled
from ingatan.memories.decision_context import Writer
from ingatan.memories.decisions import Judgement, Verdict
from ingatan.memories.held import check_note
from ingatan.memories.queue import Item, Waiting
from ingatan.memories.standing import Standing, Terms
from ingatan.memories.statements import statements
from ingatan.memories.support import licensed
from ingatan.projections import Projections
from ingatan.settings import Settings, check_writable
from ingatan.storage.database import Connection, Database, Power
from ingatan.types import (
    Candidate,
    Decision,
    Outcome,
    Principal,
    Reason,
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
    """Carries out what reviewers decide."""

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

    def approve(
        self,
        reviewer: Principal,
        id: UUID,
        *,
        text: str | None = None,
        note: str | None = None,
        key: Key | None = None,
    ) -> Reviewed:
        """Remember what waits, or what it says in other words of its quote (``text``), as far as it may be.

        Once for the same ``key``. Raises NotFound, Forbidden for one's own, Conflict where it waits no more,
        MemoryDisabled, KeyReused, and PolicyRefused with reasons for a ``text`` that may not stand for it; then it
        waits on, and for a ``note`` that may not be kept.
        """
        check_note(note)
        with self._database.read(reviewer) as connection:
            made = idempotency.taken(connection, reviewer, key)
            connection.enter(reviewer, power=Power.REVIEW)
            if made is not None:
                return _before(connection, reviewer, id, Judgement.APPROVE, made)
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
        vectors = self._projections.to_write([considered])
        self._pause("considered")
        with self._database.write(owner) as connection:
            if candidate.source_id is not None:
                sources.hold(connection, owner, candidate.source_id, candidate.batch_id)
            subjects.lock(connection, owner)
            made = _made_before(connection, reviewer, id, key)
            if made is not None:
                return _before(connection, reviewer, id, Judgement.APPROVE, made)
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

    def reject(
        self, reviewer: Principal, id: UUID, reason: Reason, *, note: str | None = None, key: Key | None = None
    ) -> Reviewed:
        """Do not remember what waits, for ``reason``; once for the same ``key``.

        Raises NotFound, Forbidden for one's own, Conflict, KeyReused, and PolicyRefused for a ``note`` that may not be
        kept.
        """
        check_note(note)
        with self._database.read(reviewer) as connection:
            made = idempotency.taken(connection, reviewer, key)
            connection.enter(reviewer, power=Power.REVIEW)
            if made is not None:
                return _before(connection, reviewer, id, Judgement.REJECT, made)
            waiting, held = queue.take(connection, reviewer, id)
        _check_other(reviewer, waiting)
        owner = Principal(reviewer.tenant_id, waiting.subject_id, scope=waiting.scope)
        now = datetime.now(UTC)
        reasons = tuple(dict.fromkeys((Reason.REVIEWER, reason)))
        with self._database.write(owner) as connection:
            subjects.lock(connection, owner)
            made = _made_before(connection, reviewer, id, key)
            if made is not None:
                return _before(connection, reviewer, id, Judgement.REJECT, made)
            if queue.take(connection, reviewer, id) != (waiting, held):
                raise Conflict("This changed meanwhile. Look at it again.", code="changed_meanwhile")
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
        candidates.announce(Outcome.REJECT, reasons)
        return Reviewed(
            id=id,
            judgement=Judgement.REJECT,
            decision=Outcome.REJECT,
            reasons=tuple(one.value for one in reasons),
            policy_version=record.policy_version,
        )

    def decide_each(
        self,
        reviewer: Principal,
        ids: list[UUID],
        judgement: Judgement,
        *,
        reason: Reason,
        note: str | None,
        key: Key | None = None,
    ) -> list[Reviewed]:
        """Approve or reject each on its own, in the order given; one that cannot be decided stops no other.

        Once each for the same ``key``: sent again, it decides what was not reached before. Raises KeyReused, before
        anything is decided, where the key came with another body.
        """
        if key is not None:
            with self._database.write(reviewer) as connection:
                idempotency.take(connection, reviewer, key, ids)
        found: list[Reviewed] = []
        for id in dict.fromkeys(ids):
            each = replace(key, route=f"{key.route}/{id}") if key is not None else None
            try:
                if judgement is Judgement.APPROVE:
                    found.append(self.approve(reviewer, id, note=note, key=each))
                else:
                    found.append(self.reject(reviewer, id, reason, note=note, key=each))
            except IngatanError as error:
                if error.status >= 500:
                    raise
                found.append(Reviewed(id=id, judgement=judgement, error=error.code))
        return found

    def _check_may(self, reviewer: Principal, waiting: Waiting) -> None:
        _check_other(reviewer, waiting)
        check_writable(self._settings, Principal(reviewer.tenant_id, waiting.subject_id, verified=True))

    def _standing(
        self, connection: Connection, owner: Principal, candidate: Candidate, terms: Terms, writer: Writer
    ) -> Standing:
        """What an approved ``candidate`` is decided over now, in the owner's scope, which is entered here."""
        speaker = owner if candidate.said_by is None else Principal(owner.tenant_id, candidate.said_by)
        connection.enter(speaker)
        turns = self._cited(connection, speaker, candidate)
        if writer.account_admin:  # authority is what it is now
            proposer = Principal(owner.tenant_id, writer.subject_id)
            connection.enter(proposer)
            writer = replace(writer, account_admin=accounts.is_admin(connection, proposer, owner.subject_id))
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
        return transcript.cited(connection, owner, candidate)


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


def _reviewed(id: UUID, judgement: Judgement, *, edited: bool = False) -> Entry:
    details = {"verdict": judgement.value, "edited": edited}
    return Entry(action=AuditAction.CANDIDATE_REVIEWED, entity_type="candidate", entity_id=id, details=details)


def _made_before(connection: Connection, reviewer: Principal, id: UUID, key: Key | None) -> idempotency.Made | None:
    """Take ``key`` in the reviewer's own scope, or what an act with it made; the power to review is entered after."""
    connection.enter(reviewer)
    known = idempotency.take(connection, reviewer, key, [id])
    made = idempotency.taken(connection, reviewer, key) if known is not None else None
    connection.enter(reviewer, power=Power.REVIEW)
    return made


def _before(
    connection: Connection, reviewer: Principal, id: UUID, judgement: Judgement, made: idempotency.Made
) -> Reviewed:
    """What an earlier act with the same key came to. Raises Conflict where its verdict stands no more."""
    verdict = queue.decided(connection, reviewer, id)
    reopened = verdict.appealed_at is not None and verdict.appealed_at > made.at
    if reopened or (verdict.judgement, verdict.reviewer_id) != (judgement, reviewer.subject_id):
        raise Conflict("An appeal reopened this after your verdict. Look at it again.", code="changed_meanwhile")
    return Reviewed(
        id=id,
        judgement=judgement,
        decision=verdict.decision,
        reasons=verdict.reasons,
        memory_id=verdict.memory_id,
        policy_version=verdict.policy_version,
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
