"""A fitted second opinion on what a text is, beside the word lists: linear models over hashed n-grams.

``STEERS``: how much a text resembles orders, grants and claims that would steer the assistant, rather than anything
else people say; ``GRANTS``: whether such a text rather grants or claims than orders; ``WISHES``: whether a statement of
a person is rather a wish, a preference, than a fact. Fitted on labelled texts of our own (``bench/classifier.py``,
decision 0023). Pure, the same everywhere, linear in the text. Each sentence is judged alone too, so harmless neighbours
do not wash it out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

BUCKETS = 1 << 18
LETTERS = range(3, 7)
"""Lengths of the letter n-grams within a word and its two edges."""
WORDS = range(1, 4)
"""Lengths of the word n-grams."""
WORD_CHARS_MAX = 40
"""Of a longer word, which is a code or noise, only the beginning is read."""
STEERS, GRANTS, WISHES = "steers", "grants", "wishes"
MODELS = (STEERS, GRANTS, WISHES)

_WORD = re.compile(r"[^\W_]+")
_DIGIT = re.compile(r"\d")
_SENTENCE = re.compile(r"(?<=[.!?;\n])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """logit = weights . features + bias; ``least`` is the logit from which it counts. ``weights``: (BUCKETS,)."""

    weights: NDArray[np.float32]
    bias: float
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """``rarity`` (BUCKETS,) is what an n-gram weighs: the rarer among the fitted texts, the more."""

    rarity: NDArray[np.float32]
    models: Mapping[str, Model]


def counted(text: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The buckets of the n-grams of a readable ``text``, and 1 + ln of how often each occurs; both empty for none."""
    counts = Counter(crc32(gram.encode()) % BUCKETS for gram in _grams(text))
    return np.array(list(counts), dtype=np.int64), 1 + np.log(np.array(list(counts.values()), dtype=np.float32))


def rarity(texts_with: NDArray[np.int64], texts: int) -> NDArray[np.float32]:
    """Inverse document frequency, smoothed: ``texts_with`` (BUCKETS,) of all ``texts`` hold the n-gram."""
    return (np.log((1 + texts) / (1 + texts_with)) + 1).astype(np.float32)


def _grams(text: str) -> Iterator[str]:
    words = [word[:WORD_CHARS_MAX] for word in _WORD.findall(_DIGIT.sub("0", text))]
    for word in words:
        padded = f" {word} "
        for length in LETTERS:
            for at in range(len(padded) - length + 1):
                yield padded[at : at + length]
    for length in WORDS:
        for at in range(len(words) - length + 1):
            yield "w:" + " ".join(words[at : at + length])


def parts(text: str) -> list[str]:
    """What is judged alone of a readable ``text``: what stands between any marks that end a thought, and all of it.

    Coarser than the policy's sentences, and before them: a semicolon hides nothing.
    """
    found = [part for part in _SENTENCE.split(text) if _WORD.search(part)]
    return list(dict.fromkeys([*found, text]))


@cache
def _fitted() -> Fitted:
    with files("ingatan.screening").joinpath("classifier.npz").open("rb") as source, np.load(source) as data:
        return Fitted(
            rarity=rarity(data["texts_with"].astype(np.int64), int(data["texts"])),
            models={
                name: Model(
                    weights=data[f"{name}.weights"].astype(np.float32) * np.float32(data[f"{name}.step"]),
                    bias=float(data[f"{name}.bias"]),
                    least=float(data[f"{name}.least"]),
                )
                for name in MODELS
            },
        )


def logit(name: str, text: str) -> float:
    """What model ``name`` makes of a readable ``text`` as one sentence."""
    fitted = _fitted()
    buckets, values = counted(text)
    values = values * fitted.rarity[buckets]
    model = fitted.models[name]
    return float(model.weights[buckets] @ values) / (float(np.linalg.norm(values)) or 1.0) + model.bias


def steering(text: str) -> str | None:
    """``GRANTS`` or ``STEERS`` for the first sentence of a readable ``text`` that would steer, or None."""
    least = _fitted().models[STEERS].least
    for part in parts(text):
        if logit(STEERS, part) >= least:
            return GRANTS if logit(GRANTS, part) > 0 else STEERS
    return None


def wishes(text: str) -> bool:
    """Whether a readable ``text``, which states something of a person, rather states a wish than a fact."""
    return logit(WISHES, text) > 0
