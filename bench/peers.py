"""Recall beside mem0's search, in one run on one server: ``python -m bench.peers [ROWS]`` (default 100,000).

Needs ``mem0ai==2.2.1`` and ``openai`` beside Ingatan, in a virtual environment of their own. Both get ROWS memories, 30
a person, the same ready vectors of 384 dimensions, and are asked for 5 in turn for the same people. mem0 makes its own
table and index by its own pgvector adapter and first insert; the other rows are copied in, and its index is built after
loading, which is kinder to it than its own order. At 1,000,000 rows that index takes a quarter of an hour.
Prints milliseconds, ratios, and how many of the person's own memories each returned of the 5 asked for.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from pgvector import HalfVector, Vector

from bench.recall import BARE, DIMENSIONS, PER_PERSON, ReadyEmbedder, load
from ingatan import settings, telemetry
from ingatan.app import App
from ingatan.storage import embedded, migrate
from ingatan.types import Principal

ASKED = 5
ROUNDS = 400
WARM_UP = 50
PEER = "peer"
INDEX = "select indexname, indexdef from pg_indexes where tablename = 'peer' and indexdef like '%hnsw%'"


def peer(server: embedded.EmbeddedServer, people: tuple[Principal, ...], embedder: ReadyEmbedder) -> Any:
    """A mem0 Memory over a database of its own on the same server, loaded like ours."""
    os.environ["MEM0_TELEMETRY"] = "False"
    server.create_database(PEER)
    url = server.url(embedded.ADMINISTRATOR, PEER)
    config = {
        "vector_store": {
            "provider": "pgvector",
            "config": {"connection_string": url, "collection_name": PEER, "embedding_model_dims": DIMENSIONS},
        },
        "embedder": {"provider": "openai", "config": {"api_key": "none", "embedding_dims": DIMENSIONS}},
        "llm": {"provider": "openai", "config": {"api_key": "none"}},
    }
    memory = importlib.import_module("mem0").Memory.from_config(config)
    memory.embedding_model = _Ready(memory.embedding_model.config, embedder)
    rows = [(person, n) for person in people for n in range(PER_PERSON)]
    memory.vector_store.insert(
        vectors=[vector.tolist() for vector in embedder.passages([""] * PER_PERSON)],
        payloads=[payload(*row) for row in rows[:PER_PERSON]],
        ids=[str(uuid.uuid4()) for _ in range(PER_PERSON)],
    )
    with psycopg.connect(url, autocommit=True) as driver:
        indexes = driver.execute(INDEX).fetchall()
        assert indexes, "mem0 made its index with its table"
        for name, _ in indexes:
            driver.execute(f"drop index {name}")
        with driver.cursor() as cursor, cursor.copy("copy peer (id, vector, payload) from stdin") as copy:
            for row in rows[PER_PERSON:]:
                vector = Vector(embedder.passages([""])[0]).to_text()
                copy.write_row((uuid.uuid4(), vector, json.dumps(payload(*row))))
        driver.execute("set maintenance_work_mem = '4GB'")
        for _, definition in indexes:
            driver.execute(definition)
        driver.execute("vacuum analyze peer")
    return memory


def payload(person: Principal, n: int) -> dict[str, str]:
    """What mem0 keeps beside a vector."""
    return {"data": f"I use tool number {n}", "user_id": str(person.subject_id), "hash": str(n)}


class _Ready:
    """The same ready vectors, in the shape mem0 asks for."""

    def __init__(self, config: Any, embedder: ReadyEmbedder) -> None:
        self.config = config
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The next ready vector."""
        return [float(value) for value in self._embedder.query(text)]

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        """One vector a text."""
        return [self.embed(text) for text in texts]


def measure(directory: Path, rows: int) -> None:
    """Load both, ask both in turn, print."""
    embedder = ReadyEmbedder()
    with embedded.start(directory) as server:
        migrate.migrate(server.url(embedded.OWNER))
        began = time.perf_counter()
        people = load(server.url(embedded.ADMINISTRATOR), rows, embedder)
        print(
            f"{rows:,} memories, {len(people):,} people; ours loaded in {time.perf_counter() - began:.0f} s", flush=True
        )
        began = time.perf_counter()
        memory = peer(server, people, embedder)
        print(f"mem0 loaded and indexed in {time.perf_counter() - began:.0f} s", flush=True)
        environ = {
            "INGATAN_ENVIRONMENT": "development",
            "INGATAN_MEMORY__ENABLED": "true",
            "INGATAN_DATABASE__URL": server.url(),
            "INGATAN_SERVER__DATA_DIRECTORY": str(directory),
        }
        app = App.start(settings.load(environ), embedder=embedder)
        try:
            compare(app, server.url(embedded.ADMINISTRATOR), memory, people, embedder)
        finally:
            app.close()
            memory.vector_store.connection_pool.close()


def compare(app: App, admin_url: str, memory: Any, people: tuple[Principal, ...], embedder: ReadyEmbedder) -> None:
    """One act after the other for the same person."""
    with psycopg.connect(admin_url, autocommit=True) as connection:

        def bare(person: Principal) -> int:
            values = (HalfVector(embedder.query("")).to_text(), app.model_id, person.tenant_id, person.subject_id)
            return min(ASKED, len(connection.execute(BARE, values, prepare=True, binary=True).fetchall()))

        def ours(person: Principal) -> int:
            return len(app.gateway.recall(person, "Which tool do I use?", top_k=ASKED).memories)

        def theirs(person: Principal) -> int:
            found = memory.search("tool", filters={"user_id": str(person.subject_id)}, top_k=ASKED, threshold=0.0)
            return len(found["results"])

        acts: dict[str, Callable[[Principal], int]] = {"bare query": bare, "recall": ours, "mem0 search": theirs}
        times: dict[str, list[float]] = {name: [] for name in acts}
        returned: dict[str, list[int]] = {name: [] for name in acts}
        for n in range(WARM_UP + ROUNDS):
            person = people[(n * 7919) % len(people)]
            for name, act in acts.items():
                began = time.perf_counter()
                count = act(person)
                if n >= WARM_UP:
                    times[name].append((time.perf_counter() - began) * 1000)
                    returned[name].append(count)
    middle = {name: statistics.median(values) for name, values in times.items()}
    for name in acts:
        high = statistics.quantiles(times[name], n=20)[-1]
        ratio, mean = middle[name] / middle["bare query"], statistics.mean(returned[name])
        print(f"{name:<14} p50 {middle[name]:8.3f} ms   p95 {high:8.3f} ms   {ratio:6.2f} x bare", end="   ")
        print(f"{mean:.2f} of {ASKED} returned")
    print(f"mem0 takes {middle['mem0 search'] / middle['recall']:.2f} times as long as recall")
    print(f"Python {platform.python_version()}, {platform.machine()}, PostgreSQL 18, {ROUNDS} rounds each")


if __name__ == "__main__":
    telemetry.configure("error")
    with tempfile.TemporaryDirectory() as made:
        measure(Path(made), int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
