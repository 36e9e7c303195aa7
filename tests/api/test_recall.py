"""Recall over HTTP."""

from __future__ import annotations

import json

import pytest

from ingatan.testing import WordEmbedder
from tests.serving import Service

STATEMENTS = ("I work at the harbour of Sabang.", "I prefer short answers.", "I use Python and QGIS.", "Call me Rina.")


@pytest.fixture
def filled(service: Service) -> Service:
    """A service that remembers STATEMENTS about ana."""
    ana = service.client()
    for statement in STATEMENTS:
        service.say(ana, statement)
    service.sweep()
    assert len(service.remembered(ana)) == len(STATEMENTS)
    return service


def test_the_useful_memory_comes_first_with_source_and_prompt(filled: Service) -> None:
    answer = filled.client().post("/recall", json={"query": "Which harbour do I work at?", "top_k": 2}).json()
    assert len(answer["memories"]) == 2
    best = answer["memories"][0]
    assert "harbour of Sabang" in best["text"]
    assert (best["type"], best["trust"], best["source"]["kind"]) == ("fact", "stated", "turn")
    assert answer["memories"][0]["score"] >= answer["memories"][1]["score"]
    assert answer["degraded"] is False
    assert answer["conflicts"] == []
    assert answer["prompt"].count("MEMORY>>>") == 1
    assert "answered_for_the_caller_alone" in [note["code"] for note in answer["notes"]]
    assert "may_not_be_saved_yet" in [note["code"] for note in answer["notes"]]


def test_nothing_saved_yet_is_said(service: Service) -> None:
    answer = service.client().post("/recall", json={"query": "What do you remember about me?"}).json()
    assert answer["memories"] == []
    assert answer["notes"][0]["code"] == "nothing_saved_yet"
    assert answer["notes"][0]["text"] in answer["prompt"]


def test_nobody_recalls_what_is_not_theirs(filled: Service) -> None:
    for stranger in (filled.client("bea"), filled.client("ana", tenant="other")):
        answer = stranger.post("/recall", json={"query": "harbour of Sabang"})
        assert answer.json()["memories"] == []
        assert "Sabang" not in answer.text


@pytest.mark.parametrize(
    "extra", [{"user_id": "ana"}, {"filters": {"user_id": "ana"}}, {"filters": {"usr": "bea"}}, {"tenant": "other"}]
)
def test_identity_in_the_body_is_refused(filled: Service, extra: dict[str, object]) -> None:
    answer = filled.client("bea").post("/recall", json={"query": "harbour", **extra})
    assert answer.status_code == 422
    assert "Sabang" not in answer.text


def test_a_forged_identity_header_changes_nothing(filled: Service) -> None:
    headers = {"X-User-Id": str(filled.principal().subject_id), "X-Tenant": "default"}
    assert filled.client("bea").post("/recall", json={"query": "harbour"}, headers=headers).json()["memories"] == []


def test_a_conversation_must_be_the_callers(filled: Service) -> None:
    ana, bea = filled.client(), filled.client("bea")
    own = filled.say(ana, "hello")
    answer = ana.post("/recall", json={"query": "harbour", "conversation_id": own}).json()
    assert answer["memories"]
    assert "answered_for_the_caller_alone" not in [note["code"] for note in answer["notes"]]
    assert bea.post("/recall", json={"query": "harbour", "conversation_id": own}).status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "What's Ana's e-mail?",
        "Ana <ana@x.io>",
        "dept:blue",
        "C++ & | !",
        "\"':&*",
        "a\\",
        "ʼName",
        "the of and",
        "%",
        "(" * 10_000,
    ],
)
def test_no_query_breaks_the_search(filled: Service, query: str) -> None:
    answer = filled.client().post("/recall", json={"query": query})
    assert answer.status_code == 200
    assert len(answer.json()["memories"]) == len(STATEMENTS)


@pytest.mark.parametrize("query", ["", "   ", "\u200b", "\ufeff\n", "x" * 20_001])
def test_blank_and_overlong_queries_are_refused_without_the_embedder(service: Service, query: str) -> None:
    assert isinstance(service.embedder, WordEmbedder)
    seen = len(service.embedder.seen)
    answer = service.client().post("/recall", json={"query": query})
    assert answer.status_code == 422
    assert len(service.embedder.seen) == seen
    for word in ("select", "psycopg", "memories m", "Traceback"):
        assert word not in answer.text


def test_the_budget_bounds_the_block(filled: Service) -> None:
    ana = filled.client()
    small = ana.post("/recall", json={"query": "work", "max_chars": 100}).json()
    assert 0 < len(small["memories"]) < len(STATEMENTS)
    assert len(ana.post("/recall", json={"query": "work", "top_k": 1}).json()["memories"]) == 1
    assert ana.post("/recall", json={"query": "work", "top_k": 0}).status_code == 422


def test_without_the_embedder_words_alone_find_memories(filled: Service) -> None:
    assert isinstance(filled.embedder, WordEmbedder)
    filled.embedder.down = True
    answer = filled.client().post("/recall", json={"query": "harbour Sabang"})
    assert answer.status_code == 200
    assert answer.json()["degraded"] is True
    assert "harbour of Sabang" in answer.json()["memories"][0]["text"]


def test_a_memory_written_without_the_embedder_gets_its_vector_later(service: Service) -> None:
    assert isinstance(service.embedder, WordEmbedder)
    ana = service.client()
    service.embedder.down = True
    service.say(ana, STATEMENTS[0])
    assert service.sweep().written == 1
    answer = ana.post("/recall", json={"query": "harbour Sabang"}).json()
    assert answer["degraded"] is True
    assert answer["memories"]
    service.embedder.down = False
    assert service.sweep().conversations == 0
    with service.app.database.read(service.principal()) as connection:
        rows = connection.all(
            "recall.eligible",
            tenant_id=service.principal().tenant_id,
            subject_id=service.principal().subject_id,
            types=["fact"],
            vector=service.embedder.query("harbour"),
            model_id=service.app.model_id,
            unverified=False,
            purposes=["assistance"],
        )
    assert rows[0].similarity is not None


def test_no_answer_repeats_the_query(filled: Service) -> None:
    canary = "canary-4417"
    answer = filled.client().post("/recall", json={"query": f"{canary} harbour", "top_k": "many"})
    assert answer.status_code == 422
    assert canary not in json.dumps(answer.json())
