"""Calibration: what "unrelated" looks like for one question, per language, under one embedding model."""

from __future__ import annotations

import threading
import tomllib
from importlib import resources

from ingatan.embeddings import Embedder, Vector
from ingatan.memories import ranking


class Calibration:
    """The shipped cohort under one embedder. Embedding it takes about a second, once a process, on first use."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._matrix: ranking.CohortMatrix | None = None

    def cohorts(self, query: Vector) -> dict[str, ranking.Cohort]:
        """Cohort statistics of a question by language. Raises EmbedderFailed while the cohort cannot be embedded."""
        return (self._matrix or self._embedded()).of(query)

    def _embedded(self) -> ranking.CohortMatrix:
        with self._lock:
            if self._matrix is None:
                source = resources.files("ingatan.languages").joinpath("cohort.toml")
                sentences: dict[str, list[str]] = tomllib.loads(source.read_text(encoding="utf-8"))
                vectors = {language: self._embedder.passages(texts) for language, texts in sentences.items()}
                self._matrix = ranking.cohort_matrix(vectors)
            return self._matrix
