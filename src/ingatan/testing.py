"""Stand-ins at the ports, for tests of Ingatan and of what is built on it. Nothing inside is ever replaced.

The embedder's contract suite in ``tests/contract`` runs over the stand-in and over the real thing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from uuid import UUID

import numpy as np

from ingatan.embeddings import EmbedderFailed, Vector, usable
from ingatan.memories.extraction import ExtractionLimits
from ingatan.text import visible, words
from ingatan.types import Candidate, Memory, Turn

Step = Exception | Sequence[Candidate] | Callable[[Sequence[Turn]], Sequence[Candidate]]


class WordEmbedder:
    """Deterministic vectors from words: texts that share words are near. Set ``down`` to make it fail."""

    name = "testing/words"
    dimensions = 64

    def __init__(self) -> None:
        self.down = False
        self.seen: list[str] = []

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """One unit vector a text; EmbedderFailed while ``down`` or for blank text."""
        if self.down:
            raise EmbedderFailed("The embedder is down (testing).")
        self.seen.extend(texts)
        return usable([_vector(text, self.dimensions) for text in texts], count=len(texts), dimensions=self.dimensions)

    def query(self, text: str) -> Vector:
        """The vector of a question."""
        return self.passages([text])[0]


def _vector(text: str, dimensions: int) -> Vector:
    if not visible(text).strip():
        raise EmbedderFailed("Blank text has no meaning to embed.")
    total = np.full(dimensions, 0.01, dtype=np.float32)
    for word in words(text) or [text]:
        seed = int.from_bytes(hashlib.sha256(word[:5].encode()).digest()[:8], "big")
        total += np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)
    return total


class ScriptedExtractor:
    """Answers each extraction with the next of ``script``: candidates, a function of the turns, or an error."""

    def __init__(
        self, *script: Exception | Sequence[Candidate] | Callable[[Sequence[Turn]], Sequence[Candidate]]
    ) -> None:
        self.script = list(script)
        self.calls: list[tuple[Turn, ...]] = []

    def extract(
        self,
        turns: Sequence[Turn],
        *,
        subject_id: UUID,
        conversation_id: UUID,
        offered: Sequence[Memory],
        recent: Sequence[Turn],
        limits: ExtractionLimits,
    ) -> tuple[Candidate, ...]:
        """The next of the script; nothing when it has run out."""
        self.calls.append(tuple(turns))
        step = self.script.pop(0) if self.script else ()
        if isinstance(step, Exception):
            raise step
        return tuple(step(turns) if callable(step) else step)
