"""The embedder behind an OpenAI-compatible ``/embeddings`` endpoint: batches, deadlines, bounded answers.

Nothing of the environment is used (no proxy, no key), no redirect is followed, and no answer is quoted in an error.
Every vector passes ``embeddings.usable``.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import httpx

from ingatan.certificates import authorities
from ingatan.embeddings import EmbedderFailed, Vector, prepared, usable

NUMBER_BYTES_MAX = 32
"""More than any JSON number of a vector takes; what an answer may weigh follows from it."""
ENVELOPE_BYTES_MAX = 65_536
UNDER_WAY_MAX = 64
"""Requests of one embedder that may be unfinished at once, those that were given up included."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where a model is, and how it is asked. ``base_url`` is up to and without ``/embeddings``; times in seconds."""

    base_url: str
    model: str
    dimensions: int
    api_key: str = ""
    send_dimensions: bool = False
    query_prefix: str = ""
    passage_prefix: str = ""
    timeout_seconds: float = 20.0
    query_timeout_seconds: float = 2.0
    batch_size: int = 32

    @property
    def space(self) -> str:
        """The name of the vector space: model, dimensions and, where there are any, the prefixes' digest."""
        prefixes = f"{self.query_prefix}\0{self.passage_prefix}"
        mark = "" if prefixes == "\0" else "/" + sha256(prefixes.encode()).hexdigest()[:8]
        return f"endpoint/{self.model}/{self.dimensions}{mark}"


class EndpointEmbedder:
    """Asks an endpoint for vectors; thread-safe. A failed call is not repeated here: the caller knows when to."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._client: Any = None
        self._places = threading.BoundedSemaphore(UNDER_WAY_MAX)
        self.name = endpoint.space
        self.dimensions = endpoint.dimensions

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """One unit vector a text, in order, a batch a call. Raises EmbedderFailed for the first batch that fails."""
        where = self._endpoint
        ready = [where.passage_prefix + prepared(text) for text in texts]
        batches = [ready[at : at + where.batch_size] for at in range(0, len(ready), where.batch_size)]
        return [vector for batch in batches for vector in self._ask(batch, where.timeout_seconds)]

    def query(self, text: str) -> Vector:
        """The unit vector of a question. Raises EmbedderFailed, at the latest soon after the query's time is up."""
        where = self._endpoint
        return self._ask([where.query_prefix + prepared(text)], where.query_timeout_seconds)[0]

    def _http(self) -> Any:
        with self._lock:
            if self._client is None:
                key = self._endpoint.api_key
                self._client = httpx.Client(
                    verify=authorities(),
                    trust_env=False,
                    follow_redirects=False,
                    headers={"Authorization": f"Bearer {key}"} if key else {},
                )
            return self._client

    def _ask(self, inputs: list[str], seconds: float) -> list[Vector]:
        where = self._endpoint
        wanted: dict[str, Any] = {"model": where.model, "input": inputs, "encoding_format": "float"}
        if where.send_dimensions:
            wanted["dimensions"] = where.dimensions
        try:
            found = json.loads(self._answer(wanted, len(inputs), seconds))
        except (ValueError, RecursionError):
            raise EmbedderFailed("The embedding endpoint answered with something that is no JSON.") from None
        return usable(_listed(found), count=len(inputs), dimensions=where.dimensions)

    def _answer(self, wanted: dict[str, Any], count: int, seconds: float) -> bytes:
        """The body of a 200 answer, within ``seconds`` in all. It is fetched in a thread of its own, because the time
        of HTTP clients is a time between bytes; one that is left behind ends with its next byte of body or silence,
        and only so many may be under way."""
        deadline = time.monotonic() + seconds
        if not self._places.acquire(timeout=seconds):
            raise EmbedderFailed("The embedding endpoint leaves too many questions unanswered.")
        outcome: list[bytes | EmbedderFailed] = []

        def fetch() -> None:
            try:
                outcome.append(self._fetch(wanted, count, deadline))
            except EmbedderFailed as failed:
                outcome.append(failed)
            finally:
                self._places.release()

        thread = threading.Thread(target=fetch, name="ingatan-embedding", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._places.release()
            raise EmbedderFailed("There is no thread left to ask the embedding endpoint.") from None
        thread.join(max(deadline - time.monotonic(), 0))
        result = outcome[0] if outcome else EmbedderFailed("The embedding endpoint did not finish in time.")
        if isinstance(result, EmbedderFailed):
            raise result
        return result

    def _fetch(self, wanted: dict[str, Any], count: int, deadline: float) -> bytes:
        """The body, read within its bound. Raises EmbedderFailed, and nothing else."""
        bound = count * self._endpoint.dimensions * NUMBER_BYTES_MAX + ENVELOPE_BYTES_MAX
        body = bytearray()
        left = deadline - time.monotonic()
        if left <= 0:
            raise EmbedderFailed("The embedding endpoint did not finish in time.")
        try:
            url = self._endpoint.base_url.rstrip("/") + "/embeddings"
            with self._http().stream("POST", url, json=wanted, timeout=left) as response:
                if response.status_code != 200:
                    raise EmbedderFailed(f"The embedding endpoint answered with status {response.status_code}.")
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > bound:
                        raise EmbedderFailed("The embedding endpoint's answer is longer than vectors can be.")
                    if time.monotonic() > deadline:
                        raise EmbedderFailed("The embedding endpoint did not finish in time.")
        except EmbedderFailed:
            raise
        except Exception as error:  # whatever it was, its words must not end in the trace of a thread
            raise EmbedderFailed(f"The embedding endpoint did not answer ({type(error).__name__}).") from None
        return bytes(body)


def _listed(found: Any) -> list[Any]:
    """The vectors of an answer in the order of the texts; EmbedderFailed when it is not of the documented shape."""
    data = found.get("data") if isinstance(found, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise EmbedderFailed("The embedding endpoint's answer has no list of vectors.")
    places = [item.get("index", n) for n, item in enumerate(data)]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(len(data))):
        raise EmbedderFailed("The embedding endpoint's vectors are not numbered one by one.")
    ordered = [item.get("embedding") for _, item in sorted(zip(places, data, strict=True), key=lambda pair: pair[0])]
    for vector in ordered:
        if not isinstance(vector, list) or not all(type(number) in (int, float) for number in vector):
            raise EmbedderFailed("The embedding endpoint returned a vector that is no list of numbers.")
    return ordered
