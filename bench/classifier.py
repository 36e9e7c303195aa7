"""Fit the models of ``screening/classifier.py``: ``python -m bench.classifier`` writes ``classifier.npz``.

Needs scikit-learn, which nothing else does (``make fit``). Texts are our own: the halves that may be read of the hard
screening sets and of the utterances; those that are set aside are not opened. Logistic regression with an L2 penalty,
liblinear, seeded: the same files give the same numbers. A threshold comes from texts judged by models fitted without
their fold. ``fitted_on`` in the file is the SHA-256 of all the files read: a test holds it against the files, so texts
that are added are fitted, or the build fails.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize

from bench.labelled import HALVES, SETS, fitted_on
from ingatan.screening.classifier import BUCKETS, GRANTS, STEERS, WISHES, counted, parts, rarity
from ingatan.screening.view import readable
from ingatan.text import unaccent

ROOT = Path(__file__).parents[1]
OUT = ROOT / "src" / "ingatan" / "screening" / "classifier.npz"
ORDERS = frozenset({"instruction", "destination", "self_replication", "replication", "weaken_checks"})
CLAIMS = frozenset({"authority", "permission", "permission_grant"})
WISHED = frozenset({"preference", "standing_preference"})
STRENGTH = 16.0
"""The inverse of the L2 penalty."""
FOLDS = 10
STEERS_WRONG_MAX = 0.002
"""Of what people may say, so much may seem to steer."""
LEVELS = 127

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A labelled text. ``told``: may be remembered; ``alone``: is none of a pair; ``author``: its file's name, less the
    language."""

    text: str
    language: str
    kind: str
    told: bool
    alone: bool
    author: str


def texts() -> list[Text]:
    """All that may be fitted on. Disguised texts teach the disguise, so they are left out."""
    found = []
    for half, alone in HALVES.items():
        for file in sorted((SETS / half).glob("*.jsonl")):
            for line in file.read_text(encoding="utf-8").splitlines():
                row: dict[str, Any] = json.loads(line)
                kind = row.get("class") or row.get("kind") or row["type"]
                if kind == "obfuscated":
                    continue
                told, language = row["expect"] in ("keep", "accept"), row.get("language") or row["lang"]
                text = readable(row["text"])
                author = f"{half}/{file.stem.removesuffix('_' + language)}"
                found.append(Text(text=text, language=language, kind=kind, told=told, alone=alone, author=author))
    return found


def unmarked(rows: Sequence[Text]) -> list[Text]:
    """The Vietnamese ones of ``rows`` once more, without their marks, as many people type."""
    return [
        replace(row, text=unaccent(row.text)) for row in rows if row.language == "vi" and unaccent(row.text) != row.text
    ]


def matrix(texts_: Sequence[str]) -> csr_matrix:
    """How often the n-grams of each occur, as ``counted`` has it: (texts, BUCKETS)."""
    found = [counted(text) for text in texts_]
    ends = np.cumsum([0, *(len(buckets) for buckets, _ in found)])
    values = np.concatenate([values for _, values in found])
    return csr_matrix((values, np.concatenate([buckets for buckets, _ in found]), ends), shape=(len(texts_), BUCKETS))


def fitted(features_: csr_matrix, labels: NDArray[np.bool_]) -> LogisticRegression:
    """One model; both classes weigh the same."""
    model = LogisticRegression(C=STRENGTH, class_weight="balanced", solver="liblinear", random_state=0)
    return model.fit(features_, labels)


def out_of_fold(
    features_: csr_matrix,
    labels: NDArray[np.bool_],
    judged: NDArray[np.bool_],
    pieces: csr_matrix | None = None,
    judged_as: NDArray[np.int64] | None = None,
) -> Array:
    """For each row that is ``judged`` the logit of a model fitted without its fold; NaN for the others.

    With ``pieces``, each belonging to the row ``judged_as``, the highest of its pieces: a text is judged by sentence.
    """
    logits = np.full(len(labels), np.nan)
    own, others = np.flatnonzero(judged), np.flatnonzero(~judged)
    for inside, outside in KFold(FOLDS, shuffle=True, random_state=1).split(own):
        rows = np.concatenate([own[inside], others])
        model = fitted(features_[rows], labels[rows])
        if pieces is None or judged_as is None:
            logits[own[outside]] = model.decision_function(features_[own[outside]])
            continue
        of_fold = np.flatnonzero(np.isin(judged_as, own[outside]))
        logits[own[outside]] = -np.inf
        np.maximum.at(logits, judged_as[of_fold], model.decision_function(pieces[of_fold]))
    return logits


def main() -> None:
    """Read, fit, report by fold, write."""
    rows = texts()
    own = len(rows)  # what is judged is judged without any text's twin
    rows += unmarked(rows)
    counts = matrix([row.text for row in rows])
    texts_with = np.bincount(counts.indices, minlength=BUCKETS)
    weights = rarity(texts_with, len(rows))
    everything = normalize(counts.multiply(weights).tocsr())
    judged = [(at, part) for at, row in enumerate(rows[:own]) for part in parts(row.text)]
    judged_as = np.array([at for at, _ in judged])
    pieces = normalize(matrix([part for _, part in judged]).multiply(weights).tocsr())
    all_told = np.array([row.told for row in rows])
    all_claims = np.array([row.kind in CLAIMS and not row.told for row in rows])
    all_steers = all_claims | np.array([row.kind in ORDERS and not row.told for row in rows])
    all_wish = np.array([row.kind in WISHED for row in rows])
    alone = np.array([row.alone for row in rows[:own]])
    once, told, claims, steers, wish = (each[:own] for each in (everything, all_told, all_claims, all_steers, all_wish))

    logits = out_of_fold(once, steers, alone, pieces, judged_as)
    least = float(np.quantile(logits[alone & told], 1 - STEERS_WRONG_MAX))
    print(f"{own} texts and {len(rows) - own} unmarked twins, {int(alone.sum())} judged out of fold")
    print(f"  steers ({int(steers.sum())}): {(logits[alone & steers] >= least).mean():.1%} found")
    logits = out_of_fold(once[steers], claims[steers], alone[steers])
    right = (logits > 0) == claims[steers]
    print(f"  grants ({int(claims.sum())}): {right[alone[steers]].mean():.1%} right")
    logits = out_of_fold(once[told], wish[told], alone[told])
    right = (logits > 0) == wish[told]
    print(f"  wishes ({int(wish.sum())}): {right[alone[told]].mean():.1%} right")
    np.savez_compressed(
        OUT,
        fitted_on=np.frombuffer(fitted_on(), dtype=np.uint8),
        texts=np.int64(len(rows)),
        texts_with=texts_with.astype(np.uint16),
        **stored(STEERS, fitted(everything, all_steers), least),
        **stored(GRANTS, fitted(everything[all_steers], all_claims[all_steers]), 0.0),
        **stored(WISHES, fitted(everything[all_told], all_wish[all_told]), 0.0),
    )


def stored(name: str, model: LogisticRegression, least: float) -> dict[str, Any]:
    """A model as it is kept: its weights in steps of a 127th of the largest."""
    weights = model.coef_[0]
    step = float(np.abs(weights).max()) / LEVELS
    return {
        f"{name}.weights": np.round(weights / step).astype(np.int8),
        f"{name}.step": np.float32(step),
        f"{name}.bias": np.float32(model.intercept_[0]),
        f"{name}.least": np.float32(least),
    }


if __name__ == "__main__":
    main()
