"""Recall: permission and eligibility first, in SQL; then ranking; then as much as fits.

One database round trip finds everything eligible for the caller (about 30 rows, scanned exactly); the rest is pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ingatan.embeddings import Vector
from ingatan.errors import BadRequest
from ingatan.memories import packet, ranking
from ingatan.memories.packet import Recalled
from ingatan.memories.registry import SERVED_TYPES
from ingatan.storage.database import Database
from ingatan.text import visible
from ingatan.types import MemoryType, Principal, SourceKind, Trust

QUERY_CHARS_MAX = 20_000
"""A longer query is refused (422); what is embedded and compared is cut further."""
COMPARED_CHARS_MAX = 2_000
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


def eligible(database: Database, principal: Principal, *, vector: Vector | None, model_id: int) -> Eligible:
    """Everything the caller may be reminded of now, in one round trip; with ``vector`` also the similarities."""
    rows = database.fetch(
        principal,
        "recall.eligible",
        tenant_id=principal.tenant_id,
        subject_id=principal.subject_id,
        types=SERVED_TYPES,
        vector=vector,
        model_id=model_id,
    )
    consent = rows[0].consent if rows else "unset"
    return Eligible(consent, [row for row in rows if row.id is not None])


def rank(
    found: Eligible,
    query: str,
    *,
    cohorts: Mapping[str, ranking.Cohort],
    weights: ranking.Weights,
    ignored_words: frozenset[str],
    now: datetime,
) -> list[Scored]:
    """All of ``found``, best first by (score, id). Rows without a vector are ranked by their words."""
    asked = ranking.stems(query[:COMPARED_CHARS_MAX], ignored_words)
    shares = ranking.overlaps(asked, [row.text for row in found.rows])
    likely = next(iter(cohorts.values()), None)
    at = now.timestamp()
    scored = [
        Scored(
            ranking.score(
                relevance=ranking.relevance(row.similarity, cohorts.get(row.language, likely), overlap),
                recency=ranking.recency((at - row.confirmed_at) / DAY_SECONDS, weights.half_life_days),
                importance=row.importance,
                weights=weights,
            ),
            row,
        )
        for row, overlap in zip(found.rows, shares, strict=True)
    ]
    return sorted(scored, key=lambda item: (-item.score, item.row.id.bytes))


def fit(ranked: Sequence[Scored], bounds: Bounds) -> tuple[Recalled, ...]:
    """The best ``top_k`` that fit into ``max_chars`` of prompt block; one too long for the rest is passed over."""
    chosen: list[Recalled] = []
    left = bounds.max_chars
    for item in ranked:
        if len(chosen) == bounds.top_k:
            break
        record = _recalled(item)
        cost = len(packet.line(record)) + 1
        if cost <= left:
            chosen.append(record)
            left -= cost
    return tuple(chosen)


def _recalled(item: Scored) -> Recalled:
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
    )
