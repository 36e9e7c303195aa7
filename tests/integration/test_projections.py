"""J01(c): another embedding model, while people read, write and erase; old vectors serve until the new are complete."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan.embeddings import Embedder, EmbedderFailed
from ingatan.errors import StartRefused
from ingatan.memories.embedding_models import State
from ingatan.storage import embedded
from ingatan.storage.database import Connection
from ingatan.testing import WordEmbedder
from tests.endpoint import EmbeddingServer, scripted
from tests.serving import Service, serving

STATEMENTS = ("I work at the port of Sabang.", "I prefer short answers.", "I use Python and QGIS.")
Start = Callable[..., AbstractContextManager[Service]]


@pytest.fixture
def start(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Start:
    """Start a service on the test's database with an embedder and those it may come from."""

    @contextmanager
    def begin(embedder: Embedder, *previous: Embedder, **environ: str) -> Iterator[Service]:
        named = {f"INGATAN_EMBEDDING__{name.upper()}": value for name, value in environ.items()}
        url = server.url(embedded.APP, database_name)
        # None of the settings' own, so that what is not named is not to be had.
        with serving(url, tmp_path, environ=named, embedder=embedder, previous=previous or (embedder,)) as service:
            yield service

    return begin


@pytest.fixture
def endpoint() -> Iterator[EmbeddingServer]:
    with scripted(dimensions=48) as server:
        yield server


def remember(service: Service, *texts: str, subject: str = "ana") -> httpx.Client:
    client = service.client(subject)
    for text in texts:
        body = {"text": text, "type": "fact" if "prefer" not in text else "preference", "source": {"kind": "self"}}
        client.post("/candidates", json=body).raise_for_status()
    return client


def models(service: Service) -> dict[str, tuple[State, int]]:
    """State and what is to be made, by the length of the model's vectors."""
    return {f"{model.dimensions}": (model.state, model.pending) for model in service.app.projections.progress()}


def vectors(service: Service, subject: str = "ana") -> list[Any]:
    owner = service.principal(subject)
    with service.app.database.read(owner) as connection:
        return connection.all("probe.similarities", subject_id=owner.subject_id)


def ask(client: httpx.Client, query: str = "Which port do I work at?") -> dict[str, Any]:
    answer = client.post("/recall", json={"query": query, "top_k": 10}).raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def test_the_old_model_serves_until_the_new_one_is_complete(start: Start, endpoint: EmbeddingServer) -> None:
    old = WordEmbedder()
    with start(old) as service:
        remember(service, *STATEMENTS)
        remember(service, STATEMENTS[0], subject="bea")
        assert models(service) == {"64": (State.SERVING, 0)}
    endpoint.mode = "status"
    with start(endpoint.embedder(), old) as service:
        ana, extracted = service.client(), list(old.seen)
        service.app.projections.tend()
        assert models(service) == {"64": (State.SERVING, 0), "48": (State.IDLE, 0)}, "kept waiting: it does not answer"
        before = ask(ana)
        assert before["degraded"] is False
        assert "Sabang" in before["memories"][0]["text"]
        endpoint.mode = "good"
        assert service.app.projections.tend(limit=2) == 2
        assert models(service) == {"64": (State.SERVING, 0), "48": (State.BUILDING, 2)}
        asked = len(endpoint.asked)
        assert ask(ana) == before | {"memories": ask(ana)["memories"]}
        assert len(endpoint.asked) == asked, "questions go to the model that serves"
        remember(service, "I live in Banda Aceh.")
        assert models(service)["48"] == (State.BUILDING, 3), "what is written meanwhile gets both"
        while models(service)["48"][0] is State.BUILDING:
            assert service.app.projections.tend(limit=2) > 0
        assert models(service) == {"64": (State.RETIRED, 0), "48": (State.SERVING, 0)}
        assert service.app.projections.current.embedder.name == "endpoint/scripted/48"
        seen = len(old.seen)
        after = ask(ana)
        assert after["degraded"] is False
        assert "some_by_words_only" not in [note["code"] for note in after["notes"]]
        assert len(after["memories"]) == 4
        assert len(old.seen) == seen, "and now to the new one"
        assert len({row.memory_id for row in vectors(service)}) == 4
        assert extracted, "texts came from the registry"
    with start(endpoint.embedder()) as service:
        assert ask(service.client())["degraded"] is False


def test_a_switch_goes_on_after_a_restart_and_a_command_can_do_it_before(
    start: Start, endpoint: EmbeddingServer
) -> None:
    old = WordEmbedder()
    with start(old) as running:
        remember(running, *STATEMENTS)
        with start(endpoint.embedder(), old) as service:
            service.app.projections.tend(limit=1)
            assert models(service)["48"] == (State.BUILDING, 2)
        told: list[int] = []
        with start(endpoint.embedder(), old) as command:
            found = command.app.projections.rebuild(tell=told.append)
            assert (found.state, found.pending, found.memories) == (State.BUILDING, 0, 3)
            assert told == [2]
        running.app.projections.tend()
        assert running.app.projections.current.embedder is old, "the service beside it is not disturbed"
        assert ask(running.client())["degraded"] is False
    with start(endpoint.embedder(), old) as service:
        assert service.app.projections.tend() == 0
        assert models(service)["48"] == (State.SERVING, 0)


def test_people_read_and_write_throughout_a_switch(start: Start, endpoint: EmbeddingServer) -> None:
    old = WordEmbedder()
    with start(old) as service:
        for n in range(6):
            remember(service, *STATEMENTS, subject=f"person-{n}")
    with start(endpoint.embedder(timeout_seconds=5, query_timeout_seconds=5), old) as service:
        done = threading.Event()

        def live(n: int) -> set[tuple[int, bool, int]]:
            client, answers = service.client(f"person-{n}"), set[tuple[int, bool, int]]()
            for round in itertools.count():
                body = {"text": f"I use tool {round} for maps.", "type": "fact", "source": {"kind": "self"}}
                written = client.post("/candidates", json=body) if round < 5 else None
                answer = client.post("/recall", json={"query": "Which port do I work at?"})
                answers.add((answer.status_code, answer.json()["degraded"], written.status_code if written else 201))
                if done.is_set():
                    return answers
            return answers

        with ThreadPoolExecutor(3) as pool:
            running = [pool.submit(live, n) for n in range(3)]
            while models(service)["48"][0] is not State.SERVING:
                service.app.projections.tend(limit=3)
            done.set()
            assert set[tuple[int, bool, int]]().union(*(future.result() for future in running)) == {(200, False, 201)}
        service.app.projections.tend()
        new = service.app.model_id
        for n in range(6):
            subject = f"person-{n}"
            active = {item["id"] for item in service.remembered(service.client(subject))}
            assert {str(row.memory_id) for row in vectors(service, subject) if row.model_id == new} == active


def test_a_rebuild_is_refused_when_the_embedder_does_not_answer(start: Start, endpoint: EmbeddingServer) -> None:
    old = WordEmbedder()
    with start(old) as service:
        remember(service, *STATEMENTS)
    endpoint.mode = "timeout"
    with start(endpoint.embedder(), old) as service:
        with pytest.raises(EmbedderFailed):
            service.app.projections.rebuild()
        assert models(service) == {"64": (State.SERVING, 0), "48": (State.IDLE, 0)}
        assert len(vectors(service)) == 3


def test_every_vector_can_be_made_anew(start: Start) -> None:
    old = WordEmbedder()
    with start(old) as service:
        remember(service, *STATEMENTS)
        seen = len(old.seen)
        assert service.app.projections.rebuild().pending == 0
        assert len(old.seen) == seen + 1 + 96, "the probe and the cohort; nothing was missing"
        assert service.app.projections.rebuild(everything=True).pending == 0
        assert [text for text in old.seen[seen:] if text in STATEMENTS] != []
        assert len(vectors(service)) == 3


class Erasing(WordEmbedder):
    """An embedder of another space during whose work something happens."""

    name = "testing/erasing"
    dimensions = 32

    def __init__(self) -> None:
        super().__init__()
        self.during: list[Callable[[], object]] = []

    def passages(self, texts: Sequence[str]) -> Any:
        """As the stand-in; then what is to happen."""
        made = super().passages(texts)
        while self.during and any(text in STATEMENTS for text in texts):
            self.during.pop()()
        return made


def test_what_is_erased_meanwhile_gets_no_vector(start: Start) -> None:
    old, new = WordEmbedder(), Erasing()
    with start(old) as service:
        remember(service, *STATEMENTS)
        remember(service, STATEMENTS[0], subject="bea")
    with start(new, old) as service:
        ana = service.client()
        new.during.append(lambda: ana.delete("/memories").raise_for_status())
        service.app.projections.tend()
        service.app.projections.tend()
        assert new.during == []
        assert vectors(service) == []
        assert models(service)["32"] == (State.SERVING, 0)
        assert len(vectors(service, "bea")) == 2
        assert service.remembered(ana) == []


def test_what_is_corrected_or_closed_meanwhile_keeps_no_vector_of_its_old_words(start: Start) -> None:
    old, new = WordEmbedder(), Erasing()
    with start(old) as service:
        remember(service, *STATEMENTS)
    with start(new, old) as service:
        ana = service.client()
        [port] = [item["id"] for item in service.remembered(ana) if "Sabang" in item["text"]]
        new.during.append(lambda: ana.patch(f"/memories/{port}", json={"text": "I work at the port of Belawan."}))
        while models(service)["32"][0] is not State.SERVING:
            service.app.projections.tend()
        found = {(row.memory_id, row.version) for row in vectors(service) if str(row.memory_id) == port}
        assert {version for _, version in found} == {2}


def test_a_model_that_is_not_to_be_had_stops_the_start_unless_asked_for(
    start: Start, endpoint: EmbeddingServer
) -> None:
    with start(WordEmbedder()) as service:
        remember(service, *STATEMENTS)
    with ExitStack() as stack, pytest.raises(StartRefused, match="PREVIOUS_BASE_URL"):
        stack.enter_context(start(endpoint.embedder()))
    with start(endpoint.embedder(), without_previous="true") as service:
        ana = service.client()
        found = ask(ana)
        assert found["degraded"] is True
        assert "Sabang" in found["memories"][0]["text"]
        service.app.projections.tend()
        assert models(service) == {"64": (State.RETIRED, 0), "48": (State.SERVING, 0)}
        assert ask(ana)["degraded"] is False


def test_vectors_of_a_model_left_long_ago_go_and_going_back_is_another_switch(
    start: Start, endpoint: EmbeddingServer
) -> None:
    old = WordEmbedder()
    with start(old) as service:
        remember(service, *STATEMENTS)
    with start(endpoint.embedder(), old) as service:
        service.app.projections.tend()
        service.app.projections.tend()
        assert len(vectors(service)) == 6, "kept for a day"
    with start(endpoint.embedder(), old, keep_previous_hours="0") as service:
        service.app.projections.tend()
        service.app.projections.tend()
        assert len(vectors(service)) == 3
        assert models(service) == {"64": (State.IDLE, 0), "48": (State.SERVING, 0)}
    with start(old, endpoint.embedder()) as service:
        service.app.projections.tend()
        service.app.projections.tend()
        assert models(service) == {"64": (State.SERVING, 0), "48": (State.RETIRED, 0)}


def test_a_bad_calibration_is_measured_anew_and_a_stored_one_is_used(start: Start) -> None:
    old = WordEmbedder()
    with start(old) as service:
        measured = service.app.projections.calibrate()
        assert set(measured) == {"en", "id", "vi"}
        assert all(-1 < mean < 1 and 0 < deviation < 1 for mean, deviation in measured.values())
        remember(service, *STATEMENTS)
        best = ask(service.client())["memories"]
    fresh = WordEmbedder()
    with start(fresh) as service:
        assert service.app.projections.current.calibration.stored
        again = ask(service.client())["memories"]
        assert [item["id"] for item in again] == [item["id"] for item in best]
        assert len(fresh.seen) == 1, "the question alone: the cohort was stored"
        service.app.projections.warm()
        with service.app.database.write(service.principal()) as connection:
            _spoil(connection, service.app.model_id)
    with start(WordEmbedder()) as service:
        assert not service.app.projections.current.calibration.stored
        service.app.projections.warm()
        assert service.app.projections.current.calibration.stored


def _spoil(connection: Connection, model_id: int) -> None:
    spoiled = {"cohort": "of another release", "languages": {}}
    connection.run("embeddings.set_calibration", id=model_id, calibration=spoiled)
