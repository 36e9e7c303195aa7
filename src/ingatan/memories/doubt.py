"""Doubt: a second, learned opinion that can only say no.

A linear model over the embedding of what was said, fitted on labelled utterances of our own (``bench/doubt.py``). It
sees whether words resemble a lasting statement about oneself, or rather a task, a joke, a passing state, the affairs of
somebody else. It never proposes, and what it lets through still meets the policy: two readers that err differently. For
the same words it always says the same.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from ingatan.embeddings import Embedder, EmbedderFailed, Vector
from ingatan.errors import ExtractionUnavailable

TURN_CHARS_MAX = 300
"""A turn up to this length is judged whole, for its context; of a longer one only the quote."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The fitted model: logit = weights . vector + bias; doubt below ``threshold``. Good for one embedder only."""

    model: str
    weights: Vector
    bias: float
    threshold: float

    def logits(self, vectors: Sequence[Vector]) -> list[float]:
        """One logit a vector: how much it resembles a statement to keep."""
        return [float(self.weights @ vector) + self.bias for vector in vectors]


def load() -> Fitted:
    """The model that is shipped."""
    data: dict[str, Any] = json.loads(resources.files("ingatan.languages").joinpath("doubt.json").read_text("utf-8"))
    weights = np.array(data["weights"], dtype=np.float32)
    return Fitted(data["model"], weights, float(data["bias"]), float(data["threshold"]))


class Doubt:
    """Doubts words under the embedder the model was fitted for. Loaded on first use."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._fitted: Fitted | None = None

    def of(self, said: Sequence[tuple[str, str]]) -> list[bool]:
        """Whether each (turn, quote) is doubted. Raises ExtractionUnavailable when the embedder fails."""
        if not said:
            return []
        with self._lock:
            fitted = self._fitted = self._fitted or load()
        if fitted.model != self._embedder.name:
            raise ExtractionUnavailable("doubt is fitted for another embedder")
        texts = [turn if len(turn) <= TURN_CHARS_MAX else quote for turn, quote in said]
        try:
            vectors = self._embedder.passages(texts)
        except EmbedderFailed:
            raise ExtractionUnavailable("embedder") from None
        return [logit < fitted.threshold for logit in fitted.logits(vectors)]
