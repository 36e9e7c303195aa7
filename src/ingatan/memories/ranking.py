"""Ranking: pure arithmetic that orders eligible memories for one question.

Score = weight_relevance * relevance + weight_recency * recency + weight_importance * importance, each in [0, 1] (S1).
S2's alternative adds how often a memory was used, and takes recency from its last use.
Relevance mixes calibrated semantic similarity with lexical overlap. Raw cosines of one model bunch together (S2's
thresholds would hold for nearly every pair), so each is centred and scaled by the question's own similarity to a
shipped cohort of sentences in the memory's language, then squashed.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ingatan.embeddings import Vector
from ingatan.text import unaccent, visible

SQUASH_STEEPNESS = 1.6
"""How fast relevance rises around the centre, per standard deviation of the cohort."""
SQUASH_CENTRE = 1.5
"""Standard deviations above the cohort's mean at which semantic relevance is one half."""
LEXICAL_SHARE = 0.15
"""Part of relevance that comes from shared words when a vector is there; without one it is all of it."""
STEM_CHARS = 5
"""Words of this length or more that begin alike count as alike: a light stemming that serves all three languages."""


_WORD = re.compile(r"[^\W_]+")


S2_RELEVANCE, S2_RECENCY, S2_IMPORTANCE, S2_ACCESS = 0.4, 0.2, 0.3, 0.1
S2_RECENCY_DAYS = 30.0
S2_USES_FULL = 10
"""S2's weights; recency is exp(-days / 30) since the last use, access min(uses / 10, 1)."""


class Ranking(StrEnum):
    """Which formula orders memories."""

    S1 = "s1"
    S2 = "s2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """S1's weights and half-life."""

    relevance: float
    recency: float
    importance: float
    half_life_days: float


@dataclass(frozen=True, slots=True)
class Cohort:
    """Mean and standard deviation of one question's similarity to the cohort of one language."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class CohortMatrix:
    """All cohorts under one embedder: rows (n, d) language by language, and where each language begins and ends."""

    rows: Vector
    spans: Mapping[str, tuple[int, int]]

    def of(self, query: Vector) -> dict[str, Cohort]:
        """Cohort statistics of ``query`` (d,) by language."""
        similarities = self.rows @ query
        squares = similarities * similarities
        result: dict[str, Cohort] = {}
        for language, (start, end) in self.spans.items():
            mean = float(similarities[start:end].sum()) / (end - start)
            variance = float(squares[start:end].sum()) / (end - start) - mean * mean
            result[language] = Cohort(mean, math.sqrt(max(variance, 1e-8)))
        return result


def cohort_matrix(vectors: Mapping[str, Sequence[Vector]]) -> CohortMatrix:
    """The matrix of one list of vectors a language."""
    spans: dict[str, tuple[int, int]] = {}
    start = 0
    for language, of_language in vectors.items():
        spans[language] = (start, start + len(of_language))
        start += len(of_language)
    return CohortMatrix(np.stack([vector for of in vectors.values() for vector in of]).astype(np.float32), spans)


def semantic(similarity: float, cohort: Cohort) -> float:
    """Calibrated relevance in (0, 1) of a raw cosine; 0 for a similarity that is not finite."""
    if not math.isfinite(similarity):
        return 0.0
    z = (similarity - cohort.mean) / cohort.deviation
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, SQUASH_STEEPNESS * (z - SQUASH_CENTRE)))))


def view(text: str) -> str:
    """``text`` as it is compared: lower case, unaccented, without what is not seen; line breaks stay."""
    return text.lower() if text.isascii() else unaccent(visible(unicodedata.normalize("NFKC", text)).casefold())


def stems(text: str, ignored: frozenset[str] = frozenset()) -> frozenset[str]:
    """The beginnings of the words of ``text``, without ``ignored`` words (unaccented, lower case)."""
    return frozenset(word[:STEM_CHARS] for word in _WORD.findall(view(text)) if word not in ignored)


def overlaps(asked: frozenset[str], texts: Sequence[str]) -> list[float]:
    """For each text the share in [0, 1] of the question's stems it holds, each weighted by its rarity among texts."""
    lines = view("\n".join(text.replace("\n", " ") for text in texts)).split("\n") if texts else []
    shared = [{word[:STEM_CHARS] for word in _WORD.findall(line)} & asked for line in lines]
    counts = Counter(stem for found in shared for stem in found)
    weights = {stem: math.log(1 + len(texts) / (counts[stem] or 1)) for stem in asked}
    total = sum(weights.values())
    return [sum(weights[stem] for stem in found) / total if total else 0.0 for found in shared]


def relevance(similarity: float | None, cohort: Cohort | None, overlap: float) -> float:
    """Meaning and words together, in [0, 1]; the words alone where there is no vector."""
    if similarity is None or cohort is None:
        return overlap
    return (1 - LEXICAL_SHARE) * semantic(similarity, cohort) + LEXICAL_SHARE * overlap


def recency(age_days: float, half_life_days: float) -> float:
    """0.5 ** (age / half-life) in (0, 1]; a time in the future counts as now and gains nothing."""
    return float(0.5 ** min(max(age_days, 0.0) / half_life_days, 1_000.0))


def score(*, relevance: float, recency: float, importance: float, weights: Weights) -> float:
    """The S1 score; always finite."""
    return weights.relevance * relevance + weights.recency * recency + weights.importance * importance


def score_s2(*, relevance: float, used_days_ago: float, importance: float, uses: int) -> float:
    """The S2 score in [0, 1]; always finite. A use in the future counts as now."""
    recent = math.exp(-min(max(used_days_ago, 0.0) / S2_RECENCY_DAYS, 700.0))
    used = min(max(uses, 0) / S2_USES_FULL, 1.0)
    return S2_RELEVANCE * relevance + S2_RECENCY * recent + S2_IMPORTANCE * importance + S2_ACCESS * used
