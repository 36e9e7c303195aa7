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
from ingatan.embeddings import EmbedderFailed, Vector
from ingatan.errors import BadRequest, NotFound
from ingatan.memories import ranking
from ingatan.memories.packet import Note, Packet
from ingatan.memories.policies import Policies
from ingatan.memories.ranking import Ranking
from ingatan.memories.recall import (
    DEFAULT_PURPOSE,
    Bounds,
    Eligible,
    check_query,
    conflicts,
    eligible,
    eligible_then,
    fit,
    keeps_any,
    rank,
    with_similarities,
)
from ingatan.projections import Projections, Space
from ingatan.settings import Settings, memory_allowed
from ingatan.storage.database import Database
from ingatan.telemetry import Event, event
from ingatan.types import Principal

THEN_EMBEDDED_MAX = 40
"""Closed versions have no vector; for a question about the past so many are embedded on the spot, the rest are found
by their words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, the space it was embedded in, its vector (None when the embedder failed), and how it is ranked."""

    text: str
    space: Space
    vector: Vector | None
    cohorts: Mapping[str, ranking.Cohort]
    formula: Ranking
    as_of: datetime | None

    @property
    def degraded(self) -> bool:
        """Whether meaning finds less than it should."""
        return self.vector is None or self.space.partial


class RecallGateway:
    """Answers questions from memory for verified callers."""

    def __init__(
        self,
        database: Database,
        *,
        settings: Settings,
        projections: Projections,
        audit: Audit,
        policies: Policies,
        ignored_words: frozenset[str],
    ) -> None:
        self._database = database
        self._settings = settings
        self._projections = projections
        self._audit = audit
        self._policies = policies
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
        formula: Ranking | None = None,
        as_of: datetime | None = None,
        purpose: str | None = None,
        task_type: str | None = None,
        unverified_episodes: bool = False,
        now: datetime | None = None,
    ) -> Packet:
        """The packet for ``query``: at most ``top_k`` records within ``max_chars`` (defaults and ceilings: settings).

        ``as_of`` asks what was known at a moment of the past, without what was closed on request or erased since.
        Only what may be used for ``purpose``, or for the purposes of ``task_type`` by the policy, is eligible.
        ``unverified_episodes`` also asks for what the caller only told as having happened; it is never there unasked.
        Raises BadRequest for a blank or overlong query or an unknown purpose, NotFound for a conversation that is not
        the caller's.
        """
        check_query(query)
        refusal = self.refusal(principal)
        if refusal is not None:
            return Packet(memories=(), notes=(refusal,))
        if conversation_id is not None and self._closed_by_sharing(principal, conversation_id):
            return Packet(memories=(), notes=(Note.SHARED,))
        now = now or datetime.now(UTC)
        formula = formula or Ranking(self._settings.recall.ranking)
        question = self._embed(query, formula, min(as_of, now) if as_of else None)
        purposes = self._purposes(principal, purpose, task_type)
        found = self._find(principal, question, purposes, unverified_episodes=unverified_episodes)
        notes = () if conversation_id is not None else (Note.NO_CONVERSATION,)
        if found.consent == "withdrawn":
            return Packet(memories=(), notes=(Note.CONSENT_WITHDRAWN, *notes))
        return self._answer(principal, question, found, notes, self._bounds(top_k, max_chars), now)

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

    def _answer(
        self,
        principal: Principal,
        question: Question,
        found: Eligible,
        notes: tuple[Note, ...],
        bounds: Bounds,
        now: datetime,
    ) -> Packet:
        scored = rank(
            found,
            question.text,
            cohorts=question.cohorts,
            weights=self._weights,
            ignored_words=self._ignored_words,
            now=question.as_of or now,
            formula=question.formula,
        )
        contests = conflicts(found)
        contested = frozenset(id for conflict in contests for id in conflict.memory_ids)
        chosen = fit(scored, bounds, contested)
        ids = [record.id for record in chosen]
        details: dict[str, object] = {"ranking": question.formula.value, "degraded": question.degraded}
        if question.as_of is not None:
            details["as_of"] = question.as_of.isoformat()
        self._audit.enqueue_recall(self._database, principal, ids, details)
        if question.degraded:
            event(Event.RECALL_DEGRADED, level="warning", count=len(found.rows))
        return Packet(
            memories=chosen,
            notes=(*self._before(principal, question, found), *notes, *self._after(question, found)),
            degraded=question.degraded,
            conflicts=tuple(conflict for conflict in contests if not {*ids}.isdisjoint(conflict.memory_ids)),
        )

    def _before(self, principal: Principal, question: Question, found: Eligible) -> tuple[Note, ...]:
        """What is said first: of which time this is, and whether there was anything at all.

        Where something is kept that this question may not use, nothing is said of it, and not that there is nothing.
        """
        nothing = not found.rows and not keeps_any(self._database, principal, question.as_of)
        if question.as_of is not None:
            return (Note.AS_OF, Note.NOTHING_SAVED_THEN) if nothing else (Note.AS_OF,)
        return (Note.NOTHING_SAVED,) if nothing else ()

    def _after(self, question: Question, found: Eligible) -> tuple[Note, ...]:
        """What is said last: what may be missing."""
        notes: tuple[Note, ...] = ()
        if self._settings.memory.write_enabled and question.as_of is None:
            notes = (Note.MAYBE_NOT_SAVED,)
        if question.vector is None:
            return (*notes, Note.DEGRADED)
        return (*notes, Note.SOME_BY_WORDS) if any(row.similarity is None for row in found.rows) else notes

    def _purposes(self, principal: Principal, purpose: str | None, task_type: str | None) -> tuple[str, ...]:
        """What memories may be for, to answer this. Raises BadRequest for what the tenant's policy does not name."""
        if purpose is None and task_type is None:
            return (DEFAULT_PURPOSE,)
        with self._database.read(principal) as connection:
            document = self._policies.of(connection, principal)
        allowed = document.purposes if task_type is None else document.tasks.get(task_type)
        if allowed is None:
            raise BadRequest(f"The task type is not one of the policy's: {', '.join(document.tasks) or 'it has none'}.")
        if purpose is None:
            return allowed
        if purpose not in allowed:
            raise BadRequest(
                f"The purpose is not one of the allowed ones: {', '.join(allowed)}.", code="unknown_purpose"
            )
        return (purpose,)

    def _find(
        self, principal: Principal, question: Question, purposes: tuple[str, ...], *, unverified_episodes: bool
    ) -> Eligible:
        """What the caller may be reminded of, in one round trip; closed versions are embedded after it."""
        model_id = question.space.model_id
        if question.as_of is None:
            with_uses = question.formula is Ranking.S2
            return eligible(
                self._database,
                principal,
                vector=question.vector,
                model_id=model_id,
                purposes=purposes,
                with_uses=with_uses,
                unverified_episodes=unverified_episodes,
            )
        found = eligible_then(
            self._database,
            principal,
            question.as_of,
            vector=question.vector,
            model_id=model_id,
            purposes=purposes,
            unverified_episodes=unverified_episodes,
        )
        if question.vector is None or found.consent == "withdrawn":
            return found
        texts = [row.text for row in found.rows if row.similarity is None][:THEN_EMBEDDED_MAX]
        return with_similarities(found, question.vector, self._projections.vectors(texts, question.space))

    def _embed(self, query: str, formula: Ranking, as_of: datetime | None) -> Question:
        space, vector, cohorts = self._projections.current, None, dict[str, ranking.Cohort]()
        try:
            vector = space.embedder.query(query)
            cohorts = space.calibration.cohorts(vector)
        except EmbedderFailed as error:
            event(Event.EMBEDDER_FAILED, level="warning", code=error.code, count=1)
            vector = None
        return Question(text=query, space=space, vector=vector, cohorts=cohorts, formula=formula, as_of=as_of)

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
