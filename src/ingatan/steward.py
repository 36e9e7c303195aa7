"""The steward: what people do with their own memories, outside any conversation.

Propose, correct, list, erase; consent. A correction or proposal meets the same policy as a sweep. The embedder is asked
between transactions, never inside one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from ingatan import erasure, subjects, transcript
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.embeddings import Embedder, EmbedderFailed, Vector
from ingatan.erasure import Receipt
from ingatan.errors import MemoryDisabled, NotFound, PolicyRefused
from ingatan.memories import candidates, registry
from ingatan.memories.candidates import Settled, Terms
from ingatan.settings import Settings, memory_allowed
from ingatan.storage.database import Database
from ingatan.telemetry import Event, event
from ingatan.types import Candidate, Consent, Memory, Outcome, Principal, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What a person changes about a memory; None leaves a value. ``clear_expiry`` lets it never expire."""

    text: str | None = None
    importance: float | None = None
    expires_at: datetime | None = None
    clear_expiry: bool = False


class Steward:
    """Carries out what people ask about their memories."""

    def __init__(
        self,
        database: Database,
        *,
        settings: Settings,
        embedder: Embedder,
        audit: Audit,
        erasure_key: bytes,
        terms: Callable[[datetime], Terms],
    ) -> None:
        self._database = database
        self._settings = settings
        self._embedder = embedder
        self._audit = audit
        self._erasure_key = erasure_key
        self._terms = terms

    def sees_memories(self, principal: Principal) -> bool:
        """Whether the /memories routes show the caller anything: an unlisted subject sees and erases nothing (S1)."""
        allowlist = self._settings.memory.subject_allowlist
        return not principal.shared_sentinel and (not allowlist or principal.subject_id in allowlist)

    def propose(self, principal: Principal, candidate: Candidate) -> Settled:
        """Let the policy decide on a candidate the caller proposes about themselves. Raises MemoryDisabled."""
        self._check_writable(principal)
        turns = self._turns(principal, candidate)
        now = datetime.now(UTC)
        terms = self._terms(now)
        with self._database.read(principal) as connection:
            decision = candidates.consider(connection, principal, candidate, terms, turns=turns)
        vectors = self._embed(decision.text) if decision.outcome is Outcome.ACCEPT else {}
        return self._settle(principal, candidate, terms, turns, vectors)

    def correct(self, principal: Principal, id: UUID, correction: Correction) -> Memory:
        """Write a new version of a memory; the old one is superseded.

        Raises NotFound, MemoryDisabled, and PolicyRefused with reasons, in which case the old version stays.
        """
        self._check_writable(principal)
        now = datetime.now(UTC)
        with self._database.read(principal) as connection:
            memory = registry.get(connection, principal, id)
        expires_at = correction.expires_at or (None if correction.clear_expiry else memory.expires_at)
        candidate = candidates.correction(
            memory,
            text=correction.text if correction.text is not None else memory.text,
            importance=memory.importance if correction.importance is None else correction.importance,
            expires_at=expires_at,
            now=now,
        )
        terms = self._terms(now)
        with self._database.read(principal) as connection:
            decision = candidates.consider(connection, principal, candidate, terms, turns={})
        vectors = self._embed(decision.text) if decision.outcome is Outcome.ACCEPT else {}
        settled = self._settle(principal, candidate, terms, {}, vectors)
        if settled.decision.outcome is not Outcome.ACCEPT or not settled.wrote:
            reasons = [reason.value for reason in settled.decision.reasons]
            raise PolicyRefused(
                "The correction was not accepted; the memory stays as it was.", extra={"reasons": reasons}
            )
        with self._database.read(principal) as connection:
            return registry.get(connection, principal, id)

    def erase(
        self, principal: Principal, *, memory_id: UUID | None = None, conversation_id: UUID | None = None
    ) -> Receipt:
        """Erase one memory, those of a conversation, or all of the caller's, for good. Raises NotFound for one."""
        if not self.sees_memories(principal):
            if memory_id is not None:
                raise NotFound("There is no such memory, or it is not yours.")
            return Receipt.empty()
        with self._database.write(principal) as connection:
            receipt = erasure.erase_memories(
                connection,
                principal,
                self._audit,
                self._erasure_key,
                memory_id=memory_id,
                conversation_id=conversation_id,
            )
        event(Event.MEMORY_ERASED, subject_id=principal.subject_id, count=receipt.removed["memories"])
        return receipt

    def set_consent(self, principal: Principal, consent: Consent) -> None:
        """Record whether the caller wants to be remembered from now on."""
        with self._database.write(principal) as connection:
            subjects.set_consent(connection, principal, consent)
            changed = Entry(
                action=AuditAction.CONSENT_CHANGED,
                entity_type="subject",
                entity_id=principal.subject_id,
                details={"consent": consent.value},
            )
            self._audit.append(connection, principal, [changed])

    def _settle(
        self,
        principal: Principal,
        candidate: Candidate,
        terms: Terms,
        turns: Mapping[UUID, Turn],
        vectors: Mapping[str, Vector],
    ) -> Settled:
        with self._database.write(principal) as connection:
            subjects.lock(connection, principal)
            settled = candidates.settle(connection, principal, candidate, terms, turns=turns, vectors=vectors)
            self._audit.append(connection, principal, settled.entries)
        return settled

    def _turns(self, principal: Principal, candidate: Candidate) -> dict[UUID, Turn]:
        ids = [evidence.message_id for evidence in candidate.evidence]
        if not ids:
            return {}
        with self._database.read(principal) as connection:
            rows = connection.all("sweep.cited_turns", tenant_id=principal.tenant_id, ids=ids)
        return {row.id: transcript.turn(row) for row in rows}

    def _embed(self, text: str) -> dict[str, Vector]:
        if not text:
            return {}
        try:
            return {text: self._embedder.passages([text])[0]}
        except EmbedderFailed as error:
            event(Event.EMBEDDER_FAILED, level="warning", code=error.code, count=1)
            return {}

    def _check_writable(self, principal: Principal) -> None:
        memory = self._settings.memory
        allowed = memory_allowed(
            self._settings,
            subject_id=principal.subject_id,
            verified=principal.verified,
            shared_sentinel=principal.shared_sentinel,
        )
        if not (allowed and memory.write_enabled):
            raise MemoryDisabled("Memory is not written here, or not for you. Ask the operator of this service.")
