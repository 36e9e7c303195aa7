"""Recall: permission and eligibility first, in SQL; then ranking; then as much as fits.

One database round trip finds everything eligible for the caller (about 30 rows, scanned exactly); the rest is pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from ingatan.embeddings import Vector, Vectors
from ingatan.errors import BadRequest
from ingatan.memories import packet, ranking, slots
from ingatan.memories.packet import Conflict, Recalled
from ingatan.memories.ranking import Ranking
from ingatan.memories.registry import SERVED_TYPES
from ingatan.storage.database import Database
from ingatan.text import visible
from ingatan.types import MemoryType, Principal, SourceKind, Trust

QUERY_CHARS_MAX = 20_000
"""A longer query is refused (422); what is embedded and compared is cut further."""
COMPARED_CHARS_MAX = 2_000
DEFAULT_PURPOSE = "assistance"
"""What a question without a purpose is for, and a memory whose policy names no other."""
DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much one answer may carry (S1: 5 memories, 1,500 characters of prompt block)."""

    top_k: int
    max_chars: int


@dataclass(frozen=True, slots=True)
class Eligible:
    """What the database found for one question: the person's consent and the rows they may be reminded of."""

    consent: str
    rows: Sequence[Any]


class Scored(NamedTuple):
    """An eligible row with its score."""

    score: float
    row: Any


def check_query(query: str) -> str:
    """Return ``query`` if it can be answered; raise BadRequest for a blank or overlong one."""
    if not visible(query).strip():
        raise BadRequest("'query' is blank. Ask something.", code="blank_query")
    if len(query) > QUERY_CHARS_MAX:
        raise BadRequest(f"'query' is longer than {QUERY_CHARS_MAX} characters. Send the question alone.")
    return query


def eligible(
    database: Database,
    principal: Principal,
    *,
    vector: Vector | None,
    model_id: int,
    purposes: Sequence[str] = (DEFAULT_PURPOSE,),
    with_uses: bool = False,
    unverified_episodes: bool = False,
) -> Eligible:
    """Everything the caller may be reminded of now, in one round trip; with ``vector`` also the similarities.

    ``with_uses`` reads how often and when each was last used too, which ranking ``s2`` needs; ``unverified_episodes``
    also what was only told as having happened.
    """
    rows = database.fetch(
        principal,
        "recall.eligible_used" if with_uses else "recall.eligible",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        types=SERVED_TYPES,
        vector=vector,
        model_id=model_id,
        purposes=list(purposes),
        unverified=unverified_episodes,
    )
    return _found(rows)


def eligible_then(
    database: Database,
    principal: Principal,
    as_of: datetime,
    *,
    vector: Vector | None,
    model_id: int,
    purposes: Sequence[str] = (DEFAULT_PURPOSE,),
    unverified_episodes: bool = False,
) -> Eligible:
    """What the caller could have been reminded of at ``as_of``, without what was closed on request or erased since."""
    rows = database.fetch(
        principal,
        "recall.as_of",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        types=SERVED_TYPES,
        vector=vector,
        model_id=model_id,
        purposes=list(purposes),
        unverified=unverified_episodes,
        as_of=as_of,
    )
    return _found(rows)


def keeps_any(database: Database, principal: Principal, as_of: datetime | None) -> bool:
    """Whether anything of the caller's own is kept, or was at ``as_of``, also what a question may not use."""
    [row] = database.fetch(
        principal,
        "recall.keeps_any",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        as_of=as_of,
    )
    return bool(row.any)


def _found(rows: Sequence[Any]) -> Eligible:
    consent = rows[0].consent if rows else "unset"
    return Eligible(consent, [row for row in rows if row.id is not None])


def with_similarities(found: Eligible, query: Vector, vectors: Vectors) -> Eligible:
    """``found`` with the similarity of those rows that had none and whose text has a vector in ``vectors``."""
    rows = []
    for row in found.rows:
        vector = vectors.get(row.text) if row.similarity is None else None
        rows.append(row if vector is None else row._replace(similarity=float(query @ vector)))
    return Eligible(found.consent, rows)


def rank(
    found: Eligible,
    query: str,
    *,
    cohorts: Mapping[str, ranking.Cohort],
    weights: ranking.Weights,
    ignored_words: frozenset[str],
    now: datetime,
    formula: Ranking = Ranking.S1,
) -> list[Scored]:
    """All of ``found``, best first by (score, id). Rows without a vector are ranked by their words.

    ``s2`` needs rows read with their uses.
    """
    asked = ranking.stems(query[:COMPARED_CHARS_MAX], ignored_words)
    shares = ranking.overlaps(asked, [row.text for row in found.rows])
    likely = next(iter(cohorts.values()), None)
    at = now.timestamp()
    scored: list[Scored] = []
    for row, overlap in zip(found.rows, shares, strict=True):
        relevance = ranking.relevance(row.similarity, cohorts.get(row.language, likely), overlap)
        if formula is Ranking.S2:
            used = row.used_at if row.used_at is not None else row.confirmed_at
            score = ranking.score_s2(
                relevance=relevance,
                used_days_ago=(at - used) / DAY_SECONDS,
                importance=row.importance,
                uses=row.uses or 0,
            )
        else:
            score = ranking.score(
                relevance=relevance,
                recency=ranking.recency((at - row.confirmed_at) / DAY_SECONDS, weights.half_life_days),
                importance=row.importance,
                weights=weights,
            )
        scored.append(Scored(score, row))
    return sorted(scored, key=lambda item: (-item.score, item.row.id.bytes))


def conflicts(found: Eligible) -> tuple[Conflict, ...]:
    """Slots that hold one value at a time and that several of ``found`` fill, by slot: neither source, scope nor date
    settled which holds."""
    by_slot: dict[str, list[UUID]] = {}
    for row in found.rows:
        if row.slot is not None and slots.single_valued(row.slot):
            by_slot.setdefault(row.slot, []).append(row.id)
    return tuple(
        Conflict(slot, tuple(sorted(ids, key=lambda id: id.bytes)))
        for slot, ids in sorted(by_slot.items())
        if len(ids) > 1
    )


def fit(ranked: Sequence[Scored], bounds: Bounds, contested: frozenset[UUID] = frozenset()) -> tuple[Recalled, ...]:
    """The best ``top_k`` that fit into ``max_chars`` of prompt block; one too long for the rest is passed over.

    Those of ``contested`` are marked as being in conflict.
    """
    chosen: list[Recalled] = []
    left = bounds.max_chars
    for item in ranked:
        if len(chosen) == bounds.top_k:
            break
        record = _recalled(item, item.row.id in contested)
        cost = len(packet.line(record)) + 1
        if cost <= left:
            chosen.append(record)
            left -= cost
    return tuple(chosen)


def _recalled(item: Scored, contested: bool) -> Recalled:
    row = item.row
    return Recalled(
        id=row.id,
        type=MemoryType(row.type),
        text=row.text,
        score=item.score,
        trust=Trust(row.trust),
        source=SourceKind(row.source_kind),
        source_erased=row.source_erased,
        conversation_id=row.conversation_id,
        effective_at=datetime.fromtimestamp(row.effective_at, UTC),
        contested=contested,
    )
