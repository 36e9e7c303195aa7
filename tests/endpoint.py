"""A scripted embedding endpoint: a real HTTP server on loopback that answers well or badly, as told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ingatan.embedding_endpoint import Endpoint, EndpointEmbedder
from ingatan.testing import WordEmbedder
from tests.loopback import Handler, serving_http

Vectors = list[Any]
BAD: dict[str, Callable[[Vectors], Vectors]] = {
    "zeros": lambda good: [[0.0] * len(vector) for vector in good],
    "nan": lambda good: [[float("nan"), *vector[1:]] for vector in good],
    "infinity": lambda good: [[float("inf"), *vector[1:]] for vector in good],
    "overflow": lambda good: [[1e300, *vector[1:]] for vector in good],
    "wrong length": lambda good: [vector[:-16] for vector in good],
    "empty vector": lambda good: [[] for _ in good],
    "empty list": lambda good: [],
    "one too many": lambda good: [*good, good[0]],
    "one too few": lambda good: good[:-1],
    "strings": lambda good: [[str(number) for number in vector] for vector in good],
    "nested": lambda good: [[vector, vector] for vector in good],
    "null": lambda good: [None for _ in good],
}
"""Ways in which an answer of the right shape holds no usable vectors."""
BROKEN = ("status", "no json", "no list", "numbered twice", "endless", "redirect", "hung up", "timeout")
"""Ways in which there is no answer of the right shape."""


class EmbeddingServer:
    """What the server was asked, and how it answers, after ``delay`` seconds: ``mode`` is 'good' or one of BAD and
    BROKEN."""

    def __init__(self, dimensions: int) -> None:
        self.mode = "good"
        self.delay = 0.0
        self.refused_text = "\0"
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self.words = WordEmbedder()
        self.words.dimensions = dimensions
        self.address = ""

    def embedder(self, **changes: Any) -> EndpointEmbedder:
        """An embedder that asks this server."""
        chosen: dict[str, Any] = {
            "base_url": self.address,
            "model": "scripted",
            "dimensions": self.words.dimensions,
            "timeout_seconds": 0.5,
            "query_timeout_seconds": 0.5,
            "batch_size": 4,
        }
        return EndpointEmbedder(Endpoint(**(chosen | changes)))

    def vectors(self, texts: list[str]) -> Vectors:
        """Good vectors, as JSON has them."""
        return [[float(number) for number in vector] for vector in self.words.passages(texts)]


class _Handler(Handler):
    state: EmbeddingServer

    def do_POST(self) -> None:
        state = self.state
        asked = json.loads(self.body())
        state.asked.append(asked)
        state.headers.append(dict(self.headers))
        time.sleep(state.delay)
        if state.mode == "timeout":
            state.released.wait(3)
        elif state.mode == "hung up":
            self.close_connection = True
        else:
            self._answer(state, asked["input"])

    def _answer(self, state: EmbeddingServer, texts: list[str]) -> None:
        unusable = {
            "status": (400, b'{"error": "the text was bad"}'),
            "no json": (200, b"<html>"),
            "no list": (200, b'{"data": {"embedding": [1.0]}}'),
            "endless": (200, b'{"data": [' + b" " * 2_000_000),
        }
        mode = "status" if any(state.refused_text in text for text in texts) else state.mode
        if mode == "redirect":
            self.reply(307, b"", Location=f"{state.address}/embeddings")
            return
        if mode in unusable:
            self.reply(*unusable[mode])
            return
        good = state.vectors(texts)
        made = BAD[mode](good) if mode in BAD else good
        data = [{"index": n, "embedding": vector} for n, vector in enumerate(made)]
        if mode == "numbered twice":
            data = [{**item, "index": 0} for item in data] * 2
        self.reply(200, json.dumps({"data": data[::-1]}).encode())


@contextmanager
def scripted(dimensions: int = 64) -> Iterator[EmbeddingServer]:
    """Serve until the block ends."""
    scripted = EmbeddingServer(dimensions)

    class Answering(_Handler):
        state = scripted

    with serving_http(Answering) as address:
        scripted.address = f"{address}/v1"
        try:
            yield scripted
        finally:
            scripted.released.set()
