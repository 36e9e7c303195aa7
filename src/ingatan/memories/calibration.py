"""Calibration: what "unrelated" looks like for one question, per language, under one embedding model.

A cohort of sentences is shipped (``languages/cohort.toml``). Its vectors under a model, and how similar its sentences
are to one another (mean and deviation by language), are measured once and stored with the model; a question is compared
with the stored vectors.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from ingatan.embeddings import Embedder, EmbedderFailed, Vector, usable
from ingatan.memories import ranking


class Calibration:
    """The cohort under one embedder: the ``stored`` measurement where it fits, else measured on first use."""

    def __init__(self, embedder: Embedder, stored: Mapping[str, Any] | None = None) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._vectors = _restored(stored, embedder.dimensions)
        self._matrix = _matrix(self._vectors) if self._vectors else None
        self.stored = self._matrix is not None

    def cohorts(self, query: Vector) -> dict[str, ranking.Cohort]:
        """Cohort statistics of a question by language. Raises EmbedderFailed while the cohort cannot be embedded."""
        return (self._matrix or self._embedded()).of(query)

    def measured(self) -> dict[str, Any]:
        """The measurement as it is stored; made if it is missing. Raises EmbedderFailed."""
        self._embedded()
        assert self._vectors is not None
        return {
            "cohort": _digest(),
            "languages": {
                language: {
                    **_spread(vectors),
                    "vectors": base64.b64encode(vectors.astype("<f4").tobytes()).decode("ascii"),
                }
                for language, vectors in self._vectors.items()
            },
        }

    def _embedded(self) -> ranking.CohortMatrix:
        with self._lock:
            if self._matrix is None:
                cohort: dict[str, list[str]] = tomllib.loads(_source())
                vectors = {language: np.stack(self._embedder.passages(texts)) for language, texts in cohort.items()}
                self._vectors = vectors
                self._matrix = _matrix(vectors)
            return self._matrix


def spreads(stored: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Mean and deviation of a stored measurement by language: similarity of unrelated sentences to one another."""
    return {language: (found["mean"], found["deviation"]) for language, found in stored["languages"].items()}


def _matrix(vectors: Mapping[str, Vector]) -> ranking.CohortMatrix:
    return ranking.cohort_matrix({language: list(rows) for language, rows in vectors.items()})


def _spread(vectors: Vector) -> dict[str, float]:
    among = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
    return {"mean": round(float(among.mean()), 6), "deviation": round(float(among.std()), 6)}


def _restored(stored: Mapping[str, Any] | None, dimensions: int) -> dict[str, Vector] | None:
    """The stored vectors by language; None if there are none, of another cohort, or not usable."""
    if not stored or stored.get("cohort") != _digest():
        return None
    found: dict[str, Vector] = {}
    for language, measured in stored["languages"].items():
        flat = np.frombuffer(base64.b64decode(measured["vectors"]), dtype="<f4").astype(np.float32)
        if flat.size == 0 or flat.size % dimensions:
            return None
        rows = flat.reshape(-1, dimensions)
        try:
            usable(list(rows), count=len(rows), dimensions=dimensions)
        except EmbedderFailed:
            return None
        found[language] = rows
    return found


@cache
def _source() -> str:
    return resources.files("ingatan.languages").joinpath("cohort.toml").read_text(encoding="utf-8")


@cache
def _digest() -> str:
    return hashlib.sha256(_source().encode()).hexdigest()[:16]
