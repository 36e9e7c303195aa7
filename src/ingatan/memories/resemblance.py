"""Resemblance: a learned second opinion beside the rules of extraction.

Two linear models over the embedding of what was said, fitted on labelled utterances of our own
(``bench/resemblance.py``): how much words resemble a lasting statement about oneself, rather than a task, a joke, a
passing state or the affairs of somebody else; and whether such a statement is rather a preference or a fact. It may
doubt what the rules found, and it may nominate a whole sentence that no rule knows. Either way the policy decides, and
the words stored are the person's own. For the same words it always says the same.
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
from ingatan.types import MemoryType

SAID_CHARS_MAX = 300
"""A turn up to this length is judged whole, for its context; of a longer one the quote, and nothing is nominated."""


SURE_LOGIT = 1.0
"""Beyond this leaning, preference or fact as the model has it counts, rather than as the rule has it."""


@dataclass(frozen=True, slots=True)
class Linear:
    """logit = weights . vector + bias."""

    weights: Vector
    bias: float

    def of(self, vector: Vector) -> float:
        """The logit of one vector."""
        return float(self.weights @ vector) + self.bias


@dataclass(frozen=True, slots=True)
class Fitted:
    """Both models and their thresholds; good for one embedder only."""

    embedder: str
    keep: Linear
    preference: Linear
    doubt_below: dict[str, float]
    nominate_above: float


@dataclass(frozen=True, slots=True)
class Said:
    """What is judged: the words, and the language they are in (its threshold of doubt applies)."""

    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the models say of one text."""

    doubted: bool
    nominated: bool
    type: MemoryType
    sure_of_type: bool


def load() -> Fitted:
    """The models that are shipped."""
    source = resources.files("ingatan.languages").joinpath("resemblance.json")
    data: dict[str, Any] = json.loads(source.read_text("utf-8"))
    return Fitted(
        data["embedder"],
        _linear(data["keep"]),
        _linear(data["preference"]),
        {language: float(value) for language, value in data["doubt_below"].items()},
        float(data["nominate_above"]),
    )


def _linear(data: dict[str, Any]) -> Linear:
    return Linear(np.array(data["weights"], dtype=np.float32), float(data["bias"]))


class Resemblance:
    """Judges words under the embedder the models were fitted for. Thread-safe; loaded on first use."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        self._fitted: Fitted | None = None

    def judge(self, said: Sequence[Said]) -> list[Judgement]:
        """One judgement each, in order. Raises ExtractionUnavailable when the embedder fails."""
        if not said:
            return []
        fitted = self._models()
        try:
            vectors = self._embedder.passages([each.text for each in said])
        except EmbedderFailed:
            raise ExtractionUnavailable("embedder") from None
        return [_judged(fitted, vector, each.language) for vector, each in zip(vectors, said, strict=True)]

    def _models(self) -> Fitted:
        with self._lock:
            if self._fitted is None:
                self._fitted = load()
            if self._fitted.embedder != self._embedder.name:
                raise ExtractionUnavailable("fitted for another embedder")
            return self._fitted


def _judged(fitted: Fitted, vector: Vector, language: str) -> Judgement:
    logit, leaning = fitted.keep.of(vector), fitted.preference.of(vector)
    return Judgement(
        doubted=logit < fitted.doubt_below[language],
        nominated=logit >= fitted.nominate_above,
        type=MemoryType.PREFERENCE if leaning > 0 else MemoryType.FACT,
        sure_of_type=abs(leaning) >= SURE_LOGIT,
    )
