"""Recall in process against the bare query, in one run: ``make bench`` or ``python bench/recall.py [ROWS]``.

Loads ROWS memories (default 10,000), 30 a person, into a fresh embedded server. Then, one after the other for a person:
the bare query (what one would write by hand: the same columns, one person, exact distance, prepared, as
administrator without row-level security), the scoped query (``database.fetch``), and ``RecallGateway.recall`` with a
question whose vector is ready (embedding left out), audit row and use counts included. HTTP is measured beside it.
Prints milliseconds and the ratio to the bare query; writes nothing.
"""

from __future__ import annotations

import itertools
import platform
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np
import psycopg
import uvicorn
from pgvector import HalfVector

from ingatan import api, settings
from ingatan.app import App
from ingatan.embeddings import Vector
from ingatan.identity import DEFAULT_TENANT, development_token, tenant_uuid
from ingatan.memories.recall import eligible
from ingatan.storage import embedded, migrate
from ingatan.text import digest
from ingatan.types import Principal, new_id

PER_PERSON = 30
ROUNDS = 600
WARM_UP = 60
DIMENSIONS = 384
MODEL = "bench/random"

BARE = """
select m.id, m.version, m.type, m.slot, m.text, m.language, m.importance, m.trust, m.source_kind, m.conversation_id,
       m.effective_at, m.confirmed_at, 1 - (e.v <=> %s::halfvec) as similarity
from memories m
join memory_embeddings e on e.tenant_id = m.tenant_id and e.scope_id = m.scope_id and e.model_id = %s
                        and e.memory_id = m.id and e.version = m.version
where m.tenant_id = %s and m.scope_id = %s and m.status = 'active'
"""


class ReadyEmbedder:
    """Vectors that are there already: what is left is recall without embedding."""

    name = MODEL
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)
        self._queries = [self._unit() for _ in range(64)]
        self._next = 0

    def _unit(self) -> Vector:
        vector = self._random.standard_normal(DIMENSIONS).astype(np.float32)
        return vector / np.float32(np.linalg.norm(vector))

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """One random unit vector a text."""
        return [self._unit() for _ in texts]

    def query(self, text: str) -> Vector:
        """The next of a few ready vectors."""
        self._next = (self._next + 1) % len(self._queries)
        return self._queries[self._next]


def load(url: str, rows: int, embedder: ReadyEmbedder) -> tuple[Principal, ...]:
    """Fill the tables by COPY as their owner; returns the people."""
    tenant = tenant_uuid(DEFAULT_TENANT)
    people = tuple(Principal(tenant, new_id(), verified=True) for _ in range(max(1, rows // PER_PERSON)))
    now = datetime.now(UTC)
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("insert into tenants (id, name) values (%s, 'default') on conflict do nothing", (tenant,))
        cursor.execute(
            "insert into embedding_models (name, dimensions) values (%s, %s) on conflict do nothing",
            (MODEL, DIMENSIONS),
        )
        cursor.execute("select id from embedding_models where name = %s", (MODEL,))
        row = cursor.fetchone()
        assert row is not None
        made = [(person, [new_id() for _ in range(PER_PERSON)]) for person in people]
        with cursor.copy("copy subjects (tenant_id, id) from stdin") as copy:
            for person in people:
                copy.write_row((tenant, person.subject_id))
        columns = (
            "tenant_id, id, version, scope_id, subject_id, type, text, text_hash, language, importance, trust, status, "
            "source_kind, policy_version, effective_at, recorded_at, confirmed_at"
        )
        with cursor.copy(f"copy memories ({columns}) from stdin") as copy:
            for person, ids in made:
                for n, id in enumerate(ids):
                    text = f"I use tool number {n} for report {id.hex[-6:]} of my office"
                    said = now - timedelta(days=n)
                    head = (tenant, id, 1, person.subject_id, person.subject_id, "fact", text, digest(text), "en")
                    copy.write_row((*head, 0.6, "stated", "active", "turn", "bench", said, said, said))
        with cursor.copy(
            "copy memory_embeddings (tenant_id, scope_id, model_id, memory_id, version, v) from stdin"
        ) as copy:
            for person, ids in made:
                for id, vector in zip(ids, embedder.passages([""] * PER_PERSON), strict=True):
                    copy.write_row((tenant, person.subject_id, row[0], id, 1, HalfVector(vector).to_text()))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("vacuum analyze memories, memory_embeddings, subjects")
    return people


def timed(acts: dict[str, Callable[[Principal], object]], people: tuple[Principal, ...]) -> dict[str, list[float]]:
    """Milliseconds of each act for ROUNDS people, one act after the other for the same person, after a warm-up."""
    result: dict[str, list[float]] = {name: [] for name in acts}
    for n in range(WARM_UP + ROUNDS):
        person = people[(n * 7919) % len(people)]
        for name, act in acts.items():
            started = time.perf_counter()
            act(person)
            if n >= WARM_UP:
                result[name].append((time.perf_counter() - started) * 1000)
    return result


def line(name: str, values: list[float], bare: float) -> str:
    """One line of the report."""
    middle, high = statistics.median(values), statistics.quantiles(values, n=20)[-1]
    return f"{name:<34} p50 {middle:7.3f} ms   p95 {high:7.3f} ms   {middle / bare:5.2f} x bare"


def measure(directory: Path, rows: int) -> None:
    """Load, measure, print."""
    embedder = ReadyEmbedder()
    with embedded.start(directory) as server:
        migrate.migrate(server.url(embedded.OWNER))
        started = time.perf_counter()
        people = load(server.url(embedded.ADMINISTRATOR), rows, embedder)
        print(f"{rows:,} memories, {len(people):,} people, loaded in {time.perf_counter() - started:.1f} s")
        environ = {
            "INGATAN_ENVIRONMENT": "development",
            "INGATAN_MEMORY__ENABLED": "true",
            "INGATAN_DATABASE__URL": server.url(),
            "INGATAN_SERVER__DATA_DIRECTORY": str(directory),
        }
        app = App.start(settings.load(environ), embedder=embedder)
        try:
            report(app, server.url(embedded.ADMINISTRATOR), people, embedder)
        finally:
            app.close()


def report(app: App, admin_url: str, people: tuple[Principal, ...], embedder: ReadyEmbedder) -> None:
    """Measure every way in turn for the same people, and print."""
    questions = itertools.cycle(
        f"Which tool number {n} do I use for the {n}th report of my office?" for n in range(997)
    )
    with psycopg.connect(admin_url, autocommit=True) as connection:

        def bare(person: Principal) -> object:
            values = (HalfVector(embedder.query("")).to_text(), app.model_id, person.tenant_id, person.subject_id)
            return connection.execute(BARE, values, prepare=True, binary=True).fetchall()

        assert len(bare(people[0])) == PER_PERSON  # type: ignore[arg-type]
        acts: dict[str, Callable[[Principal], object]] = {
            "bare query": bare,
            "scoped query (fetch)": lambda person: eligible(
                app.database, person, vector=embedder.query(""), model_id=app.model_id
            ),
            "recall in process": lambda person: app.gateway.recall(person, next(questions)),
            "recall over HTTP": http_recall(app, questions),
        }
        values = timed(acts, people)
    middle = statistics.median(values["bare query"])
    for name in acts:
        print(line(name, values[name], middle))
    print(f"Python {platform.python_version()}, {platform.machine()}, PostgreSQL 18, {ROUNDS} rounds each")


def http_recall(app: App, questions: Iterator[str]) -> Callable[[Principal], object]:
    """A function that asks over HTTP on loopback as a person."""
    server = uvicorn.Server(uvicorn.Config(api.create(app), port=0, log_config=None, access_log=False))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}")
    tokens: dict[Principal, str] = {}
    key = app.development_key
    assert key is not None

    def ask(person: Principal) -> object:
        if person not in tokens:
            tokens[person] = development_token(key, subject=str(person.subject_id))
        return client.post(
            "/recall", json={"query": next(questions)}, headers={"Authorization": f"Bearer {tokens[person]}"}
        ).raise_for_status()

    return ask


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        measure(Path(made), int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
