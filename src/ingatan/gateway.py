"""The recall gateway: who asks, may they, what is eligible, what is useful; then the packet and its audit row.

Steps: refuse by setting or person; embed the question (no transaction is open); find what is eligible in one round
trip; rank and fit (pure); record the use. If the embedder fails, words alone find memories and the answer says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from ingatan.audit import Audit
from ingatan.embeddings import Embedder, EmbedderFailed, Vector
from ingatan.errors import NotFound
from ingatan.memories import ranking
from ingatan.memories.calibration import Calibration
from ingatan.memories.packet import Note, Packet
from ingatan.memories.recall import Bounds, Eligible, check_query, eligible, fit, rank
from ingatan.settings import Settings, memory_allowed
from ingatan.storage.database import Database
from ingatan.telemetry import Event, event
from ingatan.types import Principal


@dataclass(frozen=True, slots=True)
class Question:
    """A question as embedded: None when the embedder failed."""

    vector: Vector | None
    cohorts: Mapping[str, ranking.Cohort]


class RecallGateway:
    """Answers questions from memory for verified callers."""

    def __init__(
        self,
        database: Database,
        *,
        settings: Settings,
        embedder: Embedder,
        audit: Audit,
        model_id: int,
        ignored_words: frozenset[str],
    ) -> None:
        self._database = database
        self._settings = settings
        self._embedder = embedder
        self._calibration = Calibration(embedder)
        self._audit = audit
        self._model_id = model_id
        self._ignored_words = ignored_words
        memory = settings.memory
        self._weights = ranking.Weights(
            relevance=memory.weight_relevance,
            recency=memory.weight_recency,
            importance=memory.weight_importance,
            half_life_days=memory.recency_half_life_days,
        )

    def recall(
        self,
        principal: Principal,
        query: str,
        *,
        conversation_id: UUID | None = None,
        top_k: int | None = None,
        max_chars: int | None = None,
        now: datetime | None = None,
    ) -> Packet:
        """The packet for ``query``: at most ``top_k`` records within ``max_chars`` (defaults and ceilings: settings).

        Raises BadRequest for a blank or overlong query, NotFound for a conversation that is not the caller's.
        """
        check_query(query)
        refusal = self.refusal(principal)
        if refusal is not None:
            return Packet(memories=(), notes=(refusal,))
        if conversation_id is not None and self._closed_by_sharing(principal, conversation_id):
            return Packet(memories=(), notes=(Note.SHARED,))
        question = self._embed(query)
        found = eligible(self._database, principal, vector=question.vector, model_id=self._model_id)
        notes = () if conversation_id is not None else (Note.NO_CONVERSATION,)
        if found.consent == "withdrawn":
            return Packet(memories=(), notes=(Note.CONSENT_WITHDRAWN, *notes))
        return self._answer(
            principal, query, question, found, notes, self._bounds(top_k, max_chars), now or datetime.now(UTC)
        )

    def refusal(self, principal: Principal) -> Note | None:
        """Why this caller gets no memories at all, or None."""
        memory = self._settings.memory
        if not memory.enabled:
            return Note.MEMORY_OFF
        allowed = memory_allowed(
            self._settings,
            subject_id=principal.subject_id,
            verified=principal.verified,
            shared_sentinel=principal.shared_sentinel,
        )
        if not allowed:
            return Note.NOT_FOR_CALLER
        return None if memory.read_enabled else Note.READ_OFF

    def warm(self) -> None:
        """Load the model and embed the cohort, so that the first question is as quick as the next. Never raises."""
        self._embed("warm")

    def _answer(
        self,
        principal: Principal,
        query: str,
        question: Question,
        found: Eligible,
        notes: tuple[Note, ...],
        bounds: Bounds,
        now: datetime,
    ) -> Packet:
        scored = rank(
            found,
            query,
            cohorts=question.cohorts,
            weights=self._weights,
            ignored_words=self._ignored_words,
            now=now,
        )
        chosen = fit(scored, bounds)
        degraded = question.vector is None
        if not found.rows:
            notes = (Note.NOTHING_SAVED, *notes)
        if self._settings.memory.write_enabled:
            notes = (*notes, Note.MAYBE_NOT_SAVED)
        if degraded:
            notes = (*notes, Note.DEGRADED)
        details = {"ranking": "s1", "degraded": degraded}
        self._audit.enqueue_recall(self._database, principal, [record.id for record in chosen], details)
        return Packet(memories=chosen, notes=notes, degraded=degraded)

    def _embed(self, query: str) -> Question:
        try:
            vector = self._embedder.query(query)
            return Question(vector, self._calibration.cohorts(vector))
        except EmbedderFailed as error:
            event(Event.EMBEDDER_FAILED, level="warning", code=error.code, count=1)
            return Question(None, {})

    def _closed_by_sharing(self, principal: Principal, conversation_id: UUID) -> bool:
        """Whether others ask in it or read it, and that is not allowed. Raises NotFound as ever."""
        found = self._database.fetch(
            principal, "conversations.sharing", tenant_id=principal.tenant_id, id=conversation_id
        )
        if not found:
            raise NotFound("There is no such conversation, or it is not yours.")
        return bool(found[0].shared) and not self._settings.memory.shared_conversations

    def _bounds(self, top_k: int | None, max_chars: int | None) -> Bounds:
        memory = self._settings.memory
        return Bounds(
            top_k=min(top_k or memory.recall_top_k, memory.recall_top_k * 10),
            max_chars=min(max_chars or memory.recall_max_chars, memory.recall_max_chars * 10),
        )
