"""Appeals: what people do about candidates of their own that wait or were refused: take back, ask for another look.

What was refused kept no text, so its person sends it again; no reviewer is asked about what is never remembered. For an
account its administrators do so about what waits.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ingatan import accounts, subjects
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.errors import Conflict, PolicyRefused
from ingatan.memories import candidates, decisions, proposals, queue
from ingatan.memories.assessment import screened_whole
from ingatan.memories.decisions import State
from ingatan.memories.held import check_note
from ingatan.memories.standing import Standing, Terms
from ingatan.settings import Settings, check_writable
from ingatan.storage.database import Connection, Database
from ingatan.types import Decision, MemoryType, Outcome, Principal, Reason, SourceKind


class Appeals:
    """Carries out what people ask about their candidates."""

    def __init__(
        self, database: Database, *, settings: Settings, audit: Audit, terms: Callable[[datetime], Terms]
    ) -> None:
        self._database = database
        self._settings = settings
        self._audit = audit
        self._terms = terms

    def withdraw(self, person: Principal, id: UUID, *, account_id: UUID | None = None) -> None:
        """Take back what waits about oneself, or about an account; nothing of it stays.

        Raises NotFound, Conflict, and Forbidden to a member of the account without authority in it.
        """
        with self._database.write(person) as connection:
            owner = accounts.speaking_for(connection, person, account_id)
            subjects.lock(connection, owner)
            queue.own(connection, owner, id)
            queue.withdraw(connection, owner, id)
            self._audit.append(connection, person, [_entry(AuditAction.CANDIDATE_WITHDRAWN, id)])
        candidates.announce(Outcome.REJECT, (Reason.WITHDRAWN,))

    def appeal(
        self,
        person: Principal,
        id: UUID,
        *,
        account_id: UUID | None = None,
        text: str | None = None,
        note: str | None = None,
    ) -> None:
        """Let a reviewer look again. What was refused kept no text: the person sends it again, for an account as a new
        proposal.

        Raises NotFound, and Conflict with ``reasons`` where no reviewer may decide otherwise, or where it was asked
        before; PolicyRefused where ``text`` is missing, or ``note`` may not be kept; MemoryDisabled; Forbidden as
        ``withdraw``.
        """
        check_note(note)
        check_writable(self._settings, person)
        terms = self._terms(datetime.now(UTC))
        with self._database.write(person) as connection:
            owner = accounts.speaking_for(connection, person, account_id)
            subjects.lock(connection, owner)
            own = queue.own(connection, owner, id)
            if own.appealed_at is not None:
                raise Conflict("This was looked at again before, or will be.", code="appealed_before")
            if own.state is State.OPEN:
                queue.appeal(connection, owner, id, note)
            elif account_id is not None:
                raise Conflict(
                    "This waits no more. Propose it for the account again, with 'review': true.", code="not_open"
                )
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
        refused = screened_whole(text, candidate.language)  # whatever else was found first
        _check_appealable(refused)
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


def _check_appealable(reasons: list[Reason] | tuple[Reason, ...]) -> None:
    if decisions.FINAL & set(reasons):
        raise _no_appeal(tuple(reasons))


def _no_appeal(reasons: tuple[Reason, ...]) -> Conflict:
    return Conflict(
        "No reviewer can decide otherwise: this is never remembered, or you asked not to have it remembered.",
        code="not_appealable",
        extra={"reasons": [reason.value for reason in reasons]},
    )


def _entry(action: AuditAction, id: UUID) -> Entry:
    return Entry(action=action, entity_type="candidate", entity_id=id)
