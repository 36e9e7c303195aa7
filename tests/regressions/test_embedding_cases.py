"""G04: bad embeddings on create, on update and on the question, from a real endpoint that answers badly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan.storage import embedded
from ingatan.types import Role
from tests.endpoint import BAD, EmbeddingServer, scripted
from tests.serving import Service, serving

MODES = [*BAD, "timeout", "status"]
OSLO, PORTO = "I live in Oslo.", "I live in Porto."


@dataclass
class Case:
    """A service whose embedder is the scripted endpoint, and Ana."""

    service: Service
    endpoint: EmbeddingServer
    ana: httpx.Client

    def state(self, text: str) -> dict[str, int]:
        """Active memory, vectors and pending vectors of a text."""
        owner = self.service.principal()
        with self.service.app.database.read(owner) as connection:
            row = connection.one("probe.vectors_of", subject_id=owner.subject_id, text=text)
        return {} if row is None else row._asdict()

    def recall(self, query: str) -> dict[str, Any]:
        """The answer to a question; its scores are finite, whatever happens."""
        answer = self.ana.post("/recall", json={"query": query, "top_k": 5})
        assert answer.status_code == 200
        found: dict[str, Any] = answer.json()
        assert all(math.isfinite(record["score"]) for record in found["memories"])
        return found

    def pending(self) -> float:
        """What the metrics say is still to be made."""
        auditor = self.service.client("auditor", roles=[Role.AUDITOR])
        [line] = [
            line for line in auditor.get("/metrics").text.splitlines() if line.startswith("ingatan_vectors_pending{")
        ]
        return float(line.rpartition(" ")[2])


@pytest.fixture
def case(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Case]:
    with scripted() as endpoint:
        asking = endpoint.embedder(timeout_seconds=2.0, query_timeout_seconds=2.0)
        with serving(server.url(embedded.APP, database_name), tmp_path, embedder=asking) as service:
            service.app.projections.warm()
            yield Case(service, endpoint, service.client())


def texts(answer: dict[str, Any]) -> list[str]:
    return [record["text"] for record in answer["memories"]]


def propose(case: Case, text: str) -> str:
    answer = case.ana.post("/candidates", json={"text": text, "type": "fact", "source": {"kind": "self"}})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["memory_id"])


@pytest.mark.parametrize("mode", MODES)
def test_g04_on_create_the_memory_is_kept_and_its_vector_waits(case: Case, mode: str) -> None:
    case.endpoint.mode = mode
    propose(case, OSLO)
    assert case.state(OSLO) == {"active": 1, "vectors": 0, "pending": 1}
    assert case.pending() == 1
    case.service.app.projections.tend()
    assert case.state(OSLO) == {"active": 1, "vectors": 0, "pending": 1}, "never counted as done"
    assert texts(case.recall("Oslo")) == [OSLO]
    case.endpoint.mode = "good"
    found = case.recall("Oslo")
    assert texts(found) == [OSLO]
    assert found["degraded"] is False
    assert "some_by_words_only" in [note["code"] for note in found["notes"]]
    assert case.service.app.projections.tend() == 1
    assert case.state(OSLO) == {"active": 1, "vectors": 1, "pending": 0}
    assert case.pending() == 0


@pytest.mark.parametrize("mode", MODES)
def test_g04_on_update_the_old_vector_goes_with_the_old_version(case: Case, mode: str) -> None:
    id = propose(case, OSLO)
    assert case.state(OSLO) == {"active": 1, "vectors": 1, "pending": 0}
    case.endpoint.mode = mode
    case.ana.patch(f"/memories/{id}", json={"text": PORTO}).raise_for_status()
    assert case.state(OSLO) == {"active": 0, "vectors": 0, "pending": 0}
    assert case.state(PORTO) == {"active": 1, "vectors": 0, "pending": 1}
    case.endpoint.mode = "good"
    found = case.recall("Oslo")
    assert texts(found) == [PORTO], "the only memory; it is there by its own words, not by the old vector"
    owner = case.service.principal()
    with case.service.app.database.read(owner) as connection:
        assert connection.all("probe.similarities", subject_id=owner.subject_id) == []
    assert texts(case.recall("Porto")) == [PORTO]
    case.service.app.projections.tend()
    assert case.state(PORTO) == {"active": 1, "vectors": 1, "pending": 0}


@pytest.mark.parametrize("mode", MODES)
def test_g04_on_the_question_words_answer_and_it_is_said(case: Case, mode: str) -> None:
    for text in (OSLO, "I use QGIS and Python.", "I prefer short answers."):
        propose(case, text)
    case.endpoint.mode = mode
    found = case.recall("Do I live in Oslo?")
    assert found["degraded"] is True
    assert texts(found)[0] == OSLO
    assert "search_by_words_only" in [note["code"] for note in found["notes"]]
    auditor = case.service.client("auditor", roles=[Role.ADMIN])
    said = auditor.get("/metrics").text
    assert "ingatan_recalls_degraded_total 1.0" in said
    assert "ingatan_embedder_failures_total" in said
    assert "Oslo" not in said


def test_g04_a_text_the_embedder_refuses_blocks_no_other(case: Case) -> None:
    case.endpoint.mode = "timeout"
    for text in (OSLO, "I use QGIS and Python.", "I prefer short answers."):
        propose(case, text)
    case.endpoint.mode, case.endpoint.refused_text = "good", "Oslo"
    assert case.service.app.projections.tend() == 2
    assert case.state(OSLO) == {"active": 1, "vectors": 0, "pending": 1}
    for _ in range(3):
        assert case.service.app.projections.tend() == 0
    asked = len(case.endpoint.asked)
    case.service.app.projections.tend()
    assert len(case.endpoint.asked) == asked, "after three attempts it waits"
    assert case.pending() == 1
    assert texts(case.recall("Oslo"))[0] == OSLO


def test_g04_a_vector_that_got_in_another_way_never_ranks(case: Case) -> None:
    """A zero vector in the table, as an older release or a restored dump might hold: its similarity is no number."""
    propose(case, OSLO)
    propose(case, "I use QGIS and Python.")
    owner = case.service.principal()
    with case.service.app.database.write(owner) as connection:
        connection.run("probe.zero_vectors", subject_id=owner.subject_id, text="I use QGIS and Python.")
    found = case.recall("Where do I live, in Oslo?")
    assert texts(found)[0] == OSLO
    assert len(found["memories"]) == 2
