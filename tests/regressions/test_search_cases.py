"""Field cases of kind C: who decides whose memory is read, and questions that break or empty a search.

| case | what is shown here |
|------|--------------------|
| C01 | identity in body, filter, parameter, header; unknown filters; each ranking; counts; logs, audit, metrics |
| C03 | odd and blank questions through each door: 200 with hits, or 422 without the embedder; no inner text |
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan import console
from ingatan.storage import embedded
from ingatan.testing import WordEmbedder
from ingatan.types import Role
from tests.api.test_console import Visit
from tests.serving import Service, serving

FOREIGN = ("tulip", "marble")
OFFICE = {
    "ana": "I work at the Tulip office.",
    "bea": "I work at the Cobalt office.",
    "zoe": "I work at the Marble office.",
}
TOOL = {"ana": "I use Tulip every day.", "bea": "I use Cobalt every day.", "zoe": "I use Marble every day."}
SELF: dict[str, Any] = {"type": "fact", "source": {"kind": "self"}}
INNER = ("psycopg", "traceback", "memories m", "tsquery", "syntax error", "relation ", "sqlstate", "select m.")


@pytest.fixture
def service(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    """A service with the page."""
    with serving(server.url(embedded.APP, database_name), tmp_path, install=console.install) as running:
        yield running


@pytest.fixture
def people(service: Service) -> dict[str, httpx.Client]:
    """Ana and Bea in one tenant and Zoe, who has Ana's name, in another; each with an office and a tool."""
    clients = {
        "ana": service.client("ana"),
        "bea": service.client("bea"),
        "zoe": service.client("ana", tenant="other"),
    }
    for name, client in clients.items():
        service.say(client, OFFICE[name], TOOL[name])
    service.sweep()
    for name, client in clients.items():
        assert len(service.remembered(client)) == 2, name
    return clients


def test_c01_only_ones_own_is_read_whatever_is_sent_along(
    service: Service, people: dict[str, httpx.Client], heard: io.StringIO
) -> None:
    assert isinstance(service.embedder, WordEmbedder)
    bea, ana_id = people["bea"], str(service.principal("ana").subject_id)
    own = len(service.remembered(bea))
    ask = {"query": "office, every day", "top_k": 50}
    answers = []
    for extra in ({}, {"ranking": "s1"}, {"ranking": "s2"}, {"as_of": datetime.now(UTC).isoformat()}):
        for down in (False, True):
            service.embedder.down = down
            answers.append(bea.post("/recall", json=ask | extra))
    service.embedder.down = False
    answers.append(bea.post("/recall", json=ask | {"query": "zzz qqq"}))  # by meaning alone
    for name in ("X-User-Id", "X-Subject", "X-Tenant", "X-Forwarded-User", "Remote-User"):
        answers.append(bea.post("/recall", json=ask, headers={name: ana_id}))
    for answer in answers:
        assert answer.status_code == 200
        found = answer.json()["memories"]
        assert len(found) == own, "as many as are hers, no more"
        assert "Cobalt" in answer.text
    refused = [
        bea.post("/recall", json=ask | extra)
        for extra in (
            {"filters": {"user_id": ana_id}}, {"filters": {"usr": "bea"}}, {"filters": None}, {"user_id": ana_id},
            {"subject_id": ana_id}, {"tenant_id": "other"}, {"namespace": ["ana"]}, {"scope": "organisation"},
        )
    ]  # fmt: skip
    for name in ("user_id", "subject_id", "tenant", "usr", "filters", "filter[user_id]"):
        refused += [bea.get(path, params={name: ana_id}) for path in ("/memories", "/candidates", "/conversations")]
        refused.append(bea.post("/recall", json=ask, params={name: ana_id}))
    assert {answer.status_code for answer in refused} == {422}
    foreign = [item["id"] for item in service.remembered(people["ana"])]
    refused += [bea.get(f"/memories/{id}") for id in foreign]
    refused += [bea.get(f"/memories/{id}/versions") for id in foreign]
    refused += [bea.post("/recall", json=ask | {"conversation_id": foreign[0]})]
    refused += [bea.post("/candidates", json=SELF | {"text": "I use QGIS.", "subject_id": ana_id})]
    assert {answer.status_code for answer in refused} == {422, 404, 403}
    for status in ("active", "superseded", "deleted", "archived"):
        answers.append(bea.get("/memories", params={"status": status}))
    answers += [bea.get("/candidates"), bea.get("/conversations"), bea.get("/consent")]
    service.app.seal()
    auditor = service.client("auditor", roles=[Role.AUDITOR])
    answers += [auditor.get("/audit", params={"limit": "100"}), auditor.get("/metrics")]
    said = heard.getvalue().casefold() + " ".join(answer.text.casefold() for answer in [*answers, *refused])
    for word in FOREIGN:
        assert word not in said


ODD = [
    "What's Ana's e-mail?", "Ana <ana@x.io>", "dept:blue", "C++ & | !", "\"':&*", "a\\", "ʼName", "the of and", "%",
    "_", "';drop table memories;--", "$1 %(tenant_id)s %s", "{{}} {0}", "office:* & !x", "(" * 10_000, "a\u0000b",
    "\ud800",
]  # fmt: skip
BLANK = ["", "   ", "\u200b", "\ufeff\n\t", "\u00ad\u2060", "\u3000"]


def doors(service: Service, ana: httpx.Client) -> dict[str, Callable[[str], httpx.Response]]:
    """Every door that asks memory, by name."""
    visit = Visit(service)
    now = datetime.now(UTC).isoformat()

    def post(query: str, **more: Any) -> httpx.Response:
        body = json.dumps({"query": query, **more})  # escaped, so that odd characters reach the service
        return ana.post("/recall", content=body, headers={"Content-Type": "application/json"})

    return {
        "recall": post,
        "recall s2": lambda query: post(query, ranking="s2"),
        "recall as of": lambda query: post(query, as_of=now),
        "page": lambda query: visit.send("/console/recall", question=query.encode("utf-8", "replace").decode()),
    }


@pytest.mark.parametrize("down", [False, True])
def test_c03_odd_questions_are_answered_with_hits(
    service: Service, people: dict[str, httpx.Client], down: bool
) -> None:
    assert isinstance(service.embedder, WordEmbedder)
    asked = doors(service, people["bea"])
    own = len(service.remembered(people["bea"]))
    service.embedder.down = down
    for query in ODD:
        for name, ask in asked.items():
            answer = ask(query)
            assert answer.status_code == 200, (name, query[:20])
            if name != "page":
                assert len(answer.json()["memories"]) == own, (name, query[:20])
                assert answer.json()["degraded"] is down
                assert not any(word in answer.text.casefold() for word in (*INNER, *FOREIGN))


def test_c03_blank_questions_are_refused_the_same_way_everywhere_without_the_embedder(
    service: Service, people: dict[str, httpx.Client]
) -> None:
    assert isinstance(service.embedder, WordEmbedder)
    asked = doors(service, people["bea"])
    seen = len(service.embedder.seen)
    for query in BLANK:
        codes = set()
        for name, ask in asked.items():
            answer = ask(query)
            assert answer.status_code == 422, (name, query)
            codes |= {answer.json()["code"]} if name != "page" else set()
            assert "Cobalt" not in answer.text, "a blank question is not a wish to see everything"
            assert not any(word in answer.text.casefold() for word in INNER)
        assert len(codes) == 1
    assert len(service.embedder.seen) == seen


def test_c03_words_that_carry_nothing_find_by_meaning_alone(service: Service, people: dict[str, httpx.Client]) -> None:
    bea = people["bea"]
    plain = bea.post("/recall", json={"query": "the of and", "top_k": 50}).json()
    assert plain["degraded"] is False
    assert plain["memories"]
    scores = [record["score"] for record in plain["memories"]]
    assert scores == sorted(scores, reverse=True)
