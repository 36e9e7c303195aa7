"""The steward: what people do with their own memories, outside any conversation.

Propose, correct, list, erase; consent. A correction or proposal meets the same policy as a sweep. The embedder is asked
between transactions, never inside one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from ingatan import accounts, conversations, erasure, idempotency, sources, spans, subjects, suppressions, transcript
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.erasure import Receipt
from ingatan.errors import Conflict, Forbidden, MemoryDisabled, NotFound, PolicyRefused, RateLimited
from ingatan.idempotency import Key
from ingatan.identity import SENTINEL_SUBJECT
from ingatan.memories import candidates, proposals, queue, registry
from ingatan.memories.candidates import Settled
from ingatan.memories.decision_context import Writer
from ingatan.memories.slots import Slot
from ingatan.memories.standing import RATE_WINDOW, Standing, Terms
from ingatan.projections import Projections
from ingatan.settings import Settings, check_writable
from ingatan.sources import Source
from ingatan.storage.database import Connection, Database, Power
from ingatan.telemetry import Event, event
from ingatan.types import (
    Candidate,
    Consent,
    Memory,
    Outcome,
    Principal,
    Reason,
    Scope,
    SourceKind,
    Turn,
    new_id,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What a person changes about a memory; None leaves a value. ``clear_expiry`` lets it never expire."""

    text: str | None = None
    importance: float | None = None
    expires_at: datetime | None = None
    clear_expiry: bool = False


@dataclass(frozen=True, slots=True)
class Proposed:
    """What became of a proposal. ``wrote`` is False when what is remembered already said the same."""

    id: UUID
    outcome: Outcome
    reasons: tuple[str, ...]
    memory_id: UUID | None
    policy_version: str
    wrote: bool


class Steward:
    """Carries out what people ask about their memories."""

    def __init__(
        self,
        database: Database,
        *,
        settings: Settings,
        projections: Projections,
        audit: Audit,
        erasure_key: bytes,
        terms: Callable[[datetime], Terms],
    ) -> None:
        self._database = database
        self._settings = settings
        self._projections = projections
        self._audit = audit
        self._erasure_key = erasure_key
        self._terms = terms

    def sees_memories(self, principal: Principal) -> bool:
        """Whether the /memories routes show the caller anything: an unlisted subject sees and erases nothing (S1)."""
        allowlist = self._settings.memory.subject_allowlist
        return not principal.shared_sentinel and (not allowlist or principal.subject_id in allowlist)

    def check_sees(self, principal: Principal) -> None:
        """Raise NotFound for a caller whom the /memories routes show nothing."""
        if not self.sees_memories(principal):
            raise NotFound("There is no such memory, or it is not yours.")

    def propose(self, principal: Principal, candidate: Candidate, key: Key | None = None) -> Proposed:
        """Let the policy decide on a candidate the caller proposes: about themselves, or an account in which they have
        authority; once for the same ``key``.

        Raises MemoryDisabled, KeyReused, NotFound and Forbidden for an account, and Conflict when something was erased
        while the embedder was asked.
        """
        check_writable(self._settings, principal)
        return self._decide(principal, candidate, key=key)

    def submit(
        self,
        principal: Principal,
        candidate: Candidate,
        source: Source,
        *,
        take: Callable[[Connection, Principal], None] | None = None,
        key: Key | None = None,
    ) -> Proposed:
        """Let the policy decide on what a registered source brings, by the service that speaks for it.

        ``take`` runs first in the deciding transaction, in the owner's scope; what it raises undoes everything. Raises
        as ``propose``, and MemoryDisabled for a person who has no memory.
        """
        if candidate.scope is Scope.USER:
            person = candidate.subject_id
            if person == principal.tenant_id:
                raise Forbidden("This is the organisation's id. Name a person.")
            sentinel = person == SENTINEL_SUBJECT
            owner = Principal(principal.tenant_id, person, frozenset(), principal.verified, sentinel)
            check_writable(self._settings, owner)
        elif not (self._settings.memory.enabled and self._settings.memory.write_enabled):
            raise MemoryDisabled("Memory is not written here. Ask the operator of this service.")
        return self._decide(principal, candidate, key=key, source=source, take=take)

    def correct(self, principal: Principal, id: UUID, correction: Correction) -> Memory | Proposed:
        """Write a new version of a memory; the old one is superseded. A proposal where it waits for a reviewer.

        Raises NotFound, MemoryDisabled, and PolicyRefused with reasons, in which case the old version stays.
        """
        check_writable(self._settings, principal)
        now = datetime.now(UTC)
        with self._database.read(principal) as connection:
            memory = registry.get(connection, principal, id)
        if memory.source in (SourceKind.EVENT, SourceKind.DOCUMENT):
            raise PolicyRefused(
                "What a system of record or a document says is corrected there. You may erase it here.",
                extra={"reasons": [Reason.NO_AUTHORITY.value]},
            )
        expires_at = correction.expires_at or (None if correction.clear_expiry else memory.expires_at)
        candidate = proposals.correction(
            memory,
            text=correction.text if correction.text is not None else memory.text,
            importance=memory.importance if correction.importance is None else correction.importance,
            expires_at=expires_at,
            now=now,
        )
        proposed = self._decide(principal, candidate)
        if proposed.outcome is Outcome.REVIEW:
            return proposed
        if proposed.outcome is not Outcome.ACCEPT:
            reasons = list(proposed.reasons)
            raise PolicyRefused(
                "The correction was not accepted; the memory stays as it was.", extra={"reasons": reasons}
            )
        with self._database.read(principal) as connection:
            return registry.get(connection, principal, id)

    def erase(
        self,
        principal: Principal,
        *,
        memory_id: UUID | None = None,
        conversation_id: UUID | None = None,
        never_again: bool = False,
    ) -> Receipt:
        """Erase one memory, those of a conversation, or all of the caller's, for good. Raises NotFound for one.

        With ``never_again`` what one memory says is not learned anew, whenever it is said.
        """
        if memory_id is not None:
            self.check_sees(principal)
        elif not self.sees_memories(principal):
            return Receipt.empty()
        with self._database.write(principal) as connection:
            owner = self._owner_of(connection, principal, memory_id) if memory_id is not None else principal
            connection.enter(owner)
            entries: list[Entry] = []
            if never_again and memory_id is not None:
                entries += self._suppress_memory(connection, owner, memory_id)
            receipt = erasure.erase_memories(
                connection,
                owner,
                self._audit,
                self._erasure_key,
                memory_id=memory_id,
                conversation_id=conversation_id,
                actor=principal,
            )
            if entries:
                self._audit.append(connection, principal, entries)
        event(Event.MEMORY_ERASED, subject_id=principal.subject_id, count=receipt.removed["memories"])
        return receipt

    def suppress(self, principal: Principal, slot: Slot, key: Key | None = None) -> UUID:
        """Never remember what fills ``slot`` again; the suppression's id. What is known of it stays until it is erased,
        what waits for a reviewer is taken back.

        Once for the same ``key``. Raises KeyReused.
        """
        id = new_id()
        with self._database.write(principal) as connection:
            subjects.lock(connection, principal)
            made = idempotency.take(connection, principal, key, [id])
            if made is not None:
                return made[0]
            suppressions.suppress(connection, principal, self._erasure_key, texts=(), slot=slot, id=id)
            suppressed = _about(principal, AuditAction.MEMORY_SUPPRESSED, slot=slot)
            self._audit.append(connection, principal, [suppressed, *queue.take_back(connection, principal, slot=slot)])
        return id

    def lift(self, principal: Principal, id: UUID) -> None:
        """Take a "never again" back. Raises NotFound."""
        with self._database.write(principal) as connection:
            subjects.lock(connection, principal)
            suppressions.lift(connection, principal, id)
            lifted = _about(principal, AuditAction.SUPPRESSION_LIFTED, wish_id=str(id))
            self._audit.append(connection, principal, [lifted])

    def _suppress_memory(self, connection: Connection, principal: Principal, memory_id: UUID) -> list[Entry]:
        """Never again what any version of a memory says; the audit rows. Raises NotFound."""
        subjects.lock(connection, principal)
        chapters = registry.history(connection, principal, memory_id)
        versions = [chapter.memory for chapter in chapters if chapter.memory.id == memory_id]
        newest = versions[0]
        suppressions.suppress(
            connection,
            principal,
            self._erasure_key,
            texts=[version.text for version in versions] + [item.quote for item in newest.evidence],
            slot=newest.slot,
        )
        suppressed = _about(principal, AuditAction.MEMORY_SUPPRESSED, memory_id=str(memory_id))
        return [suppressed, *(queue.take_back(connection, principal, slot=newest.slot) if newest.slot else ())]

    def set_consent(self, principal: Principal, consent: Consent) -> None:
        """Record whether the caller wants to be remembered from now on; if not, what waits is taken back."""
        with self._database.write(principal) as connection:
            before = subjects.lock(connection, principal).consent
            subjects.set_consent(connection, principal, consent)
            if before is Consent.WITHDRAWN and consent is Consent.GRANTED:  # what was said meanwhile stays unlearned
                spans.skip_pending(connection, principal)
            changed = Entry(
                action=AuditAction.CONSENT_CHANGED,
                entity_type="subject",
                entity_id=principal.subject_id,
                details={"consent": consent.value},
            )
            taken_back = queue.take_back(connection, principal, everything=True) if consent is Consent.WITHDRAWN else []
            self._audit.append(connection, principal, [changed, *taken_back])

    def _decide(
        self,
        principal: Principal,
        candidate: Candidate,
        *,
        key: Key | None = None,
        source: Source | None = None,
        take: Callable[[Connection, Principal], None] | None = None,
    ) -> Proposed:
        """Consider, embed what would be stored, then decide anew under the lock and carry it out."""
        terms = self._terms(datetime.now(UTC))
        expected, epoch = self._expected(principal, candidate, source, terms)
        vectors = self._projections.to_write([expected])
        candidate_id = new_id()
        with self._database.write(principal) as connection:
            if source is not None:
                source = sources.hold(connection, principal, source.id, candidate.batch_id)
            turns = self._cited(connection, principal, candidate)
            owner, writer = _acting(connection, principal, candidate, source)
            if subjects.lock(connection, owner).erasure_epoch != epoch:
                raise Conflict("Something of yours was erased meanwhile. Look at what is left, and send this again.")
            made = _made_before(connection, principal, owner, key, candidate_id)
            if made is not None:
                return made
            if take is not None:
                take(connection, owner)
            standing = Standing(connection, owner, [candidate], terms, turns=turns, writer=writer, source=source)
            _check_rate(standing, terms.now)
            settled = candidates.settle(connection, standing, candidate, candidate_id=candidate_id, vectors=vectors)
            self._audit.append(connection, principal, settled.entries)
        settled.announce()
        return _proposed(settled, standing.policy_version)

    def _expected(
        self, principal: Principal, candidate: Candidate, source: Source | None, terms: Terms
    ) -> tuple[candidates.Considered, int]:
        """What would be decided as things stand, and the owner's erasure epoch then; nothing is written."""
        with self._database.read(principal) as connection:
            turns = self._cited(connection, principal, candidate)
            owner, writer = _acting(connection, principal, candidate, source)
            epoch = subjects.read(connection, owner).erasure_epoch
            standing = Standing(connection, owner, [candidate], terms, turns=turns, writer=writer, source=source)
        [considered] = candidates.consider(standing, [candidate])
        return considered, epoch

    def _owner_of(self, connection: Connection, principal: Principal, memory_id: UUID) -> Principal:
        """Whose memory it is, for a caller who may change it. Raises NotFound, Forbidden."""
        row = connection.one("registry.owner", tenant_id=principal.tenant_id, id=memory_id)
        if row is None or row.scope == Scope.USER.value:
            return principal
        if row.scope == Scope.ORGANISATION.value:
            raise Forbidden("What the organisation remembers is changed by its source or a reviewer.")
        accounts.require_admin(connection, principal, row.scope_id)
        return accounts.owner(principal, row.scope_id)

    def _cited(self, connection: Connection, principal: Principal, candidate: Candidate) -> dict[UUID, Turn]:
        """The cited turns that stand, now, in the candidate's conversation. Raises MemoryDisabled if it is shared."""
        if not candidate.evidence or candidate.conversation_id is None:
            return {}
        with_shared = self._settings.memory.shared_conversations
        if not with_shared and conversations.shared(connection, principal, candidate.conversation_id):
            raise MemoryDisabled(
                "Several people ask in this conversation or read it, so nothing is remembered from it here. State it "
                "directly, without a conversation.",
                extra={"reasons": ["shared_conversation"]},
            )
        return transcript.cited(connection, principal, candidate)


def _acting(
    connection: Connection, principal: Principal, candidate: Candidate, source: Source | None
) -> tuple[Principal, Writer]:
    """Whose knowledge ``candidate`` would become, entered from here on, and the caller as its writer."""
    if candidate.scope is Scope.USER and source is None:
        return principal, Writer(subject_id=principal.subject_id)
    if source is None and candidate.scope is Scope.ORGANISATION:
        raise Forbidden("What the organisation knows comes from its sources, not from one person.")
    if source is None:
        accounts.require_admin(connection, principal, candidate.subject_id)
        writer = Writer(subject_id=principal.subject_id, account_admin=True)
    else:
        writer = Writer(subject_id=principal.subject_id, is_service=True)
        if candidate.scope is Scope.ACCOUNT:
            connection.enter(principal, power=Power.ADMIN)  # a service is a member of no account
            accounts.get(connection, principal, candidate.subject_id)
    owner = Principal(principal.tenant_id, candidate.subject_id, scope=candidate.scope)
    connection.enter(owner)
    return owner, writer


def _check_rate(standing: Standing, now: datetime) -> None:
    if standing.writer_has_had_their_share:
        oldest = standing.brought.oldest_at or now
        seconds = max(1, math.ceil((oldest + RATE_WINDOW - now).total_seconds()))
        raise RateLimited("You proposed as much as you may for now. Try again later.", retry_after_seconds=seconds)


def _about(principal: Principal, action: AuditAction, **details: str) -> Entry:
    return Entry(action=action, entity_type="subject", entity_id=principal.subject_id, details=details)


def _proposed(settled: Settled, policy_version: str) -> Proposed:
    decision = settled.decision
    reasons = tuple(reason.value for reason in decision.reasons)
    return Proposed(
        settled.candidate_id, decision.outcome, reasons, settled.memory_id, policy_version, wrote=settled.wrote
    )


def _made_before(
    connection: Connection, principal: Principal, owner: Principal, key: Key | None, candidate_id: UUID
) -> Proposed | None:
    """What an earlier act with the caller's ``key`` made in the owner's scope, which stays entered; None to go ahead.

    Raises NotFound where that has been erased.
    """
    if key is None:
        return None
    connection.enter(principal)
    made = idempotency.take(connection, principal, key, [candidate_id])
    connection.enter(owner)
    if made is None:
        return None
    row = connection.one("candidates.get", tenant_id=owner.tenant_id, subject_id=owner.subject_id, id=made[0])
    if row is None:
        raise NotFound("What this key made has been erased.")
    return Proposed(row.id, Outcome(row.decision), tuple(row.reasons), row.memory_id, row.policy_version, wrote=True)
