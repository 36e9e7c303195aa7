"""Ranking: pure arithmetic that orders eligible memories for one question.

Score = weight_relevance * relevance + weight_recency * recency + weight_importance * importance, each in [0, 1] (S1).
Relevance mixes calibrated semantic similarity with lexical overlap. Raw cosines of one model bunch together (S2's
thresholds would hold for nearly every pair), so each is centred and scaled by the question's own similarity to a
shipped cohort of sentences in the memory's language, then squashed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ingatan.embeddings import Vector
from ingatan.text import fold, unaccent

SQUASH_STEEPNESS = 1.6
"""How fast relevance rises around the centre, per standard deviation of the cohort."""
SQUASH_CENTRE = 1.0
"""Standard deviations above the cohort's mean at which semantic relevance is one half."""
LEXICAL_SHARE = 0.15
"""Part of relevance that comes from shared words when a vector is there; without one it is all of it."""
STEM_CHARS = 5
"""Words of this length or more that begin alike count as alike: a light stemming that serves all three languages."""


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


def cohorts(query: Vector, matrices: Mapping[str, Vector]) -> dict[str, Cohort]:
    """Cohort statistics of ``query`` (d,) by language; ``matrices`` holds one (n, d) matrix a language."""
    result: dict[str, Cohort] = {}
    for language, matrix in matrices.items():
        similarities = matrix @ query
        result[language] = Cohort(float(similarities.mean()), max(float(similarities.std()), 1e-4))
    return result


def semantic(similarity: float, cohort: Cohort) -> float:
    """Calibrated relevance in (0, 1) of a raw cosine; 0 for a similarity that is not finite."""
    if not math.isfinite(similarity):
        return 0.0
    z = (similarity - cohort.mean) / cohort.deviation
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, SQUASH_STEEPNESS * (z - SQUASH_CENTRE)))))


@dataclass(frozen=True, slots=True)
class Wording:
    """The comparable beginnings of a question's words, and one pattern that finds any of them in a memory's view."""

    stems: frozenset[str]
    pattern: re.Pattern[str]

    def shared(self, text: str) -> frozenset[str]:
        """Which of the question's stems begin a word of ``text``."""
        return frozenset(self.pattern.findall(view(text)))


def view(text: str) -> str:
    """``text`` as it is compared: folded and unaccented."""
    return unaccent(fold(text))


def wording(query_words: Sequence[str], ignored: frozenset[str]) -> Wording:
    """The stems of the question's words without ``ignored`` ones; longest first, so that the longest is found."""
    stems = {unaccent(word)[:STEM_CHARS] for word in query_words if word not in ignored}
    options = "|".join(re.escape(stem) for stem in sorted(stems, key=lambda stem: (-len(stem), stem)))
    return Wording(frozenset(stems), re.compile(rf"(?<![^\W_])(?:{options})" if options else r"(?!)"))


def overlaps(asked: Wording, texts: Sequence[str]) -> list[float]:
    """For each text the share in [0, 1] of the question's stems it holds, each weighted by its rarity among texts."""
    shared = [asked.shared(text) for text in texts]
    counts = Counter(stem for stems in shared for stem in stems)
    weights = {stem: math.log(1 + len(texts) / (counts[stem] or 1)) for stem in asked.stems}
    total = sum(weights.values())
    return [sum(weights[stem] for stem in stems) / total if total else 0.0 for stems in shared]


def relevance(similarity: float | None, cohort: Cohort | None, overlap: float) -> float:
    """Meaning and words together, in [0, 1]; the words alone where there is no vector."""
    if similarity is None or cohort is None:
        return overlap
    return (1 - LEXICAL_SHARE) * semantic(similarity, cohort) + LEXICAL_SHARE * overlap


def recency(age_days: float, half_life_days: float) -> float:
    """0.5 ** (age / half-life) in (0, 1]; a time in the future counts as now and gains nothing."""
    return 0.5 ** min(max(age_days, 0.0) / half_life_days, 1_000.0)


def score(*, relevance: float, recency: float, importance: float, weights: Weights) -> float:
    """The S1 score; always finite."""
    return weights.relevance * relevance + weights.recency * recency + weights.importance * importance


def stack(vectors: Sequence[Vector]) -> Vector:
    """One (n, d) matrix of ``vectors``."""
    return np.stack(vectors).astype(np.float32)
