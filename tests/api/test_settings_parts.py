"""The settings of the database, the keys, the policy, the rankings, the models and the process, one by one."""

from __future__ import annotations

import base64
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan import embedders, settings
from ingatan.app import App
from ingatan.errors import StartRefused
from ingatan.memories.embedding_models import State
from ingatan.settings import LEGACY_PREFIX, PREFIX
from ingatan.storage import embedded
from ingatan.testing import WordEmbedder
from tests.acceptance.processes import INGATAN, environment, free_port
from tests.api.conftest import Under
from tests.endpoint import EmbeddingServer, scripted
from tests.model_server import Asked, model_server
from tests.serving import Service

BOTH = pytest.mark.parametrize("prefix", [PREFIX, LEGACY_PREFIX])
STATEMENTS = ("I work at the port of Sabang", "I use QGIS", "I live in Takengon")


def remember(client: httpx.Client, *texts: str) -> None:
    for text in texts:
        body = {"text": text, "type": "fact", "source": {"kind": "self"}}
        client.post("/candidates", json=body).raise_for_status()


# The database.


def test_the_owners_address_builds_the_schema(
    server: embedded.EmbeddedServer, fresh: Callable[..., str], tmp_path: Path
) -> None:
    empty = fresh("template1")
    environ = {
        "INGATAN_ENVIRONMENT": "development",
        "INGATAN_DATABASE__URL": server.url(embedded.APP, empty),
        "INGATAN_SERVER__DATA_DIRECTORY": str(tmp_path),
    }
    with pytest.raises(StartRefused, match="ingatan migrate"):
        App.start(settings.load(environ), embedder=WordEmbedder())
    owner = {"INGATAN_DATABASE__ADMIN_URL": server.url(embedded.OWNER, empty)}
    App.start(settings.load(environ | owner), embedder=WordEmbedder()).close()
    App.start(settings.load(environ), embedder=WordEmbedder()).close()
    with pytest.raises(StartRefused, match="ADMIN_URL"):
        App.start(settings.load({**environ, **owner, "INGATAN_DATABASE__URL": ""}), embedder=WordEmbedder())


@BOTH
def test_a_full_pool_is_waited_for_so_long(under: Under, prefix: str) -> None:
    named = {"DATABASE__POOL_SIZE": "2", "DATABASE__TIMEOUT_SECONDS": "0.3"}
    with under(prefix=prefix, **named) as service:
        ana, owner = service.client(), service.principal()
        with service.app.database.read(owner), service.app.database.read(owner):
            began = time.monotonic()
            answer = ana.get("/memories")
            assert (answer.status_code, answer.headers["Retry-After"] != "") == (503, True)
            assert time.monotonic() - began < 3
        assert ana.get("/memories").status_code == 200
    with under(prefix=prefix, **(named | {"DATABASE__POOL_SIZE": "4"})) as service:
        ana, owner = service.client(), service.principal()
        with service.app.database.read(owner), service.app.database.read(owner):
            assert ana.get("/memories").status_code == 200
    with under(prefix=prefix, **(named | {"DATABASE__TIMEOUT_SECONDS": "20"})) as service:
        ana, owner = service.client(), service.principal()
        with ExitStack() as held:
            for _ in range(2):
                held.enter_context(service.app.database.read(owner))
            answers: list[int] = []
            asking = threading.Thread(target=lambda: answers.append(ana.get("/memories").status_code))
            asking.start()
            time.sleep(0.6)
            assert answers == [], "still waiting"
        asking.join(20)
        assert answers == [200]


# Keys, policy, ranking.


@BOTH
def test_what_one_master_key_signed_another_does_not_know(under: Under, prefix: str) -> None:
    keys = [base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2)]
    with under(prefix=prefix, KEYS__MASTER_KEY=keys[0]) as service:
        ana = service.client()
        remember(ana, *STATEMENTS)
        cursor = ana.get("/memories", params={"limit": "1"}).json()["next_cursor"]
    for key, status in zip(keys, (200, 400), strict=True):
        with under(prefix=prefix, KEYS__MASTER_KEY=key) as service:
            answer = service.client().get("/memories", params={"limit": "1", "cursor": cursor})
            assert answer.status_code == status
    with pytest.raises(StartRefused, match="MASTER_KEY"), under(prefix=prefix, KEYS__MASTER_KEY="c2hvcnQ="):
        pass


@BOTH
def test_a_profile_that_is_not_shipped_does_not_start(under: Under, prefix: str) -> None:
    with under(prefix=prefix, POLICY__PROFILE="assistant") as service:
        remember(service.client(), STATEMENTS[0])
    with pytest.raises(StartRefused, match="POLICY__PROFILE"), under(prefix=prefix, POLICY__PROFILE="anything"):
        pass


@BOTH
def test_the_ranking_of_questions_that_name_none(under: Under, prefix: str) -> None:
    def scores(service: Service, **more: str) -> list[float]:
        answer = service.client().post("/recall", json={"query": "QGIS", **more}).raise_for_status()
        return [item["score"] for item in answer.json()["memories"]]

    with under(prefix=prefix) as service:
        remember(service.client(), *STATEMENTS)
        first, second = scores(service, ranking="s1"), scores(service, ranking="s2")
        assert scores(service) == pytest.approx(first, abs=1e-4)
    with under(prefix=prefix, RECALL__RANKING="s2") as service:
        assert max(scores(service)) < 1 < max(first)
        assert scores(service, ranking="s1") == pytest.approx(first, abs=1e-4)
        assert scores(service) == pytest.approx(second, abs=0.1)


# The chat model.


def asked_of_a_model(under: Under, prefix: str = PREFIX, **named: str) -> Asked:
    """What a model is asked when something was said, under these settings."""
    with model_server() as model:
        environ = {name.removeprefix(PREFIX): value for name, value in model.settings().items()} | named
        with under(prefix=prefix, **environ) as service:
            service.say(service.client(), STATEMENTS[0])
            service.sweep()
        return model.asked[-1]


@BOTH
def test_a_model_is_asked_by_its_name_with_its_key(under: Under, prefix: str) -> None:
    asked = asked_of_a_model(under, prefix, LLM__MODEL="the-large-one", LLM__API_KEY="canary-key-4712")
    assert asked.path == "/v1/chat/completions"
    assert asked.body["model"] == "the-large-one"
    assert asked.headers["authorization"] == "Bearer canary-key-4712"


def test_a_model_is_asked_in_the_form_its_endpoint_knows(under: Under) -> None:
    usual = asked_of_a_model(under)
    assert (usual.native, usual.body["max_completion_tokens"]) == (True, 2_000)
    assert asked_of_a_model(under, LLM__STRUCTURED_OUTPUT="native").native
    assert not asked_of_a_model(under, LLM__STRUCTURED_OUTPUT="prompt").native
    older = asked_of_a_model(under, LLM__OUTPUT_LIMIT_FIELD="max_tokens", LLM__MAX_OUTPUT_TOKENS="321").body
    assert older["max_tokens"] == 321
    assert "max_completion_tokens" not in older


# The embedding model.


def by_settings(endpoint: EmbeddingServer, prefix: str = "", **change: str) -> dict[str, str]:
    """Settings that name the scripted endpoint; ``prefix`` PREVIOUS_ for the model that is left."""
    named = {"BASE_URL": endpoint.address, "MODEL": "scripted", "DIMENSIONS": str(endpoint.words.dimensions)} | change
    return {f"EMBEDDING__{prefix}{name}": value for name, value in named.items()}


def parts(named: dict[str, str], prefix: str = PREFIX, *, built_in: bool = False) -> dict[str, Any]:
    """The embedders that these settings name, as the service makes them; the built-in one only if it is to be had."""
    chosen = settings.load({f"{prefix}{name}": value for name, value in named.items()}).embedding
    return {"embedder": embedders.wanted(chosen), "previous": tuple(embedders.previous(chosen)[0 if built_in else 1 :])}


@BOTH
def test_an_embedding_endpoint_is_asked_as_the_settings_say(under: Under, prefix: str) -> None:
    with scripted(dimensions=48) as endpoint:
        for more in ({}, {"SEND_DIMENSIONS": "true", "API_KEY": "canary", "MODEL": "other", "BATCH_SIZE": "1",
                          "QUERY_PREFIX": "query: ", "PASSAGE_PREFIX": "passage: "}):  # fmt: skip
            named = by_settings(endpoint, **more) | {"EMBEDDING__WITHOUT_PREVIOUS": "true"}
            endpoint.asked.clear()
            endpoint.headers.clear()
            with under(prefix=prefix, **named, parts=parts(named, prefix)) as service:
                service.app.projections.tend()
                ana = service.client()
                service.say(ana, *(f"{text}." for text in STATEMENTS[1:]))
                service.sweep()
                ana.post("/recall", json={"query": "which port?"}).raise_for_status()
            texts = [text for asked in endpoint.asked for text in asked["input"]]
            assert {asked["model"] for asked in endpoint.asked} == {more.get("MODEL", "scripted")}
            assert {asked.get("dimensions") for asked in endpoint.asked} == {48 if more else None}
            assert {headers.get("Authorization") for headers in endpoint.headers} == {"Bearer canary" if more else None}
            assert ("query: " * bool(more) + "which port?") in texts
            assert ("passage: " * bool(more) + STATEMENTS[1]) in texts
            assert (max(len(asked["input"]) for asked in endpoint.asked) == 1) is bool(more)


def test_a_slow_embedding_endpoint_is_waited_for_so_long(under: Under) -> None:
    with scripted() as endpoint:
        patient = {"TIMEOUT_SECONDS": "20", "QUERY_TIMEOUT_SECONDS": "20"}
        for more, degraded, waiting in (
            (patient, False, 0),
            (patient | {"QUERY_TIMEOUT_SECONDS": "0.2"}, True, 0),
            (patient | {"TIMEOUT_SECONDS": "1"}, False, 1),
        ):
            endpoint.delay = 0.0
            named = by_settings(endpoint, **more)
            with under(**named, parts=parts(named)) as service:
                service.app.projections.tend()
                service.app.projections.warm()
                ana = service.client()
                ana.delete("/memories").raise_for_status()
                endpoint.delay = 1.5
                remember(ana, STATEMENTS[0])
                assert service.app.projections.progress()[0].pending == waiting
                assert ana.post("/recall", json={"query": "port"}).json()["degraded"] is degraded


def test_the_model_being_left_serves_as_its_settings_say(under: Under) -> None:
    was = {
        "MODEL": "old",
        "API_KEY": "canary",
        "SEND_DIMENSIONS": "true",
        "QUERY_PREFIX": "q: ",
        "PASSAGE_PREFIX": "p: ",
    }
    with scripted(dimensions=48) as old, scripted(dimensions=32) as new:
        named = by_settings(old, **was)
        with under(**named, parts=parts(named)) as service:
            remember(service.client(), STATEMENTS[0])
        named = by_settings(new) | by_settings(old, "PREVIOUS_", **was)
        new.mode = "status"
        old.asked.clear()
        old.headers.clear()
        with under(**named, parts=parts(named)) as service:
            ana = service.client()
            remember(ana, STATEMENTS[1])
            assert ana.post("/recall", json={"query": "which port?"}).json()["degraded"] is False
            assert {asked["model"] for asked in old.asked} == {"old"}
            assert {asked["dimensions"] for asked in old.asked} == {48}
            assert {headers["Authorization"] for headers in old.headers} == {"Bearer canary"}
            texts = [text for asked in old.asked for text in asked["input"]]
            assert {"q: which port?", f"p: {STATEMENTS[1]}"} <= set(texts)
        for name, value in (("MODEL", "unknown"), ("DIMENSIONS", "49"), ("QUERY_PREFIX", ""), ("PASSAGE_PREFIX", "")):
            other = named | {f"EMBEDDING__PREVIOUS_{name}": value}
            with pytest.raises(StartRefused), under(**other, parts=parts(other)):
                pass
        lost = by_settings(new)
        with pytest.raises(StartRefused), under(**lost, parts=parts(lost)):
            pass
        new.mode = "good"
        lost |= {"EMBEDDING__WITHOUT_PREVIOUS": "true"}
        with under(**lost, parts=parts(lost)) as service:
            assert service.app.projections.current.embedder.name == "endpoint/scripted/32"


@pytest.mark.parametrize(("hours", "left"), [("0", 0), ("24", 1)])
def test_vectors_of_a_model_left_are_kept_so_long(under: Under, hours: str, left: int) -> None:
    with scripted(dimensions=48) as old, scripted(dimensions=32) as new:
        named = by_settings(old)
        with under(**named, parts=parts(named)) as service:
            remember(service.client(), STATEMENTS[0])
        named = by_settings(new) | by_settings(old, "PREVIOUS_") | {"EMBEDDING__KEEP_PREVIOUS_HOURS": hours}
        with under(**named, parts=parts(named)) as service:
            for _ in range(3):
                service.app.projections.tend()
            found = {model.dimensions: model.state for model in service.app.projections.progress()}
            assert found[32] is State.SERVING
            with service.app.database.read(service.principal()) as connection:
                owner = service.principal()
                rows = connection.all("probe.similarities", subject_id=owner.subject_id)
            assert len(rows) == 1 + left


# The process.


def test_keys_live_in_the_data_directory(under: Under, tmp_path: Path) -> None:
    other = tmp_path / "another" / "place"
    with under(SERVER__DATA_DIRECTORY=str(other)) as service:
        assert service.client().get("/memories").status_code == 200
    assert {file.name for file in (other / "keys").iterdir()} == {"master.key", "development.jwk"}


@pytest.mark.parametrize(
    ("prefix", "level", "said"), [(PREFIX, "info", True), (PREFIX, "error", False), (LEGACY_PREFIX, "error", False)]
)
def test_what_is_less_than_the_level_is_not_logged(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, prefix: str, level: str, said: bool
) -> None:
    """The command, on a port that is taken by nobody, until it is ready."""
    port = free_port()
    environ = {
        "INGATAN_ENVIRONMENT": "development",
        "INGATAN_DATABASE__URL": server.url(embedded.APP, database_name),
        f"{prefix}SERVER__LOG_LEVEL": level,
    }
    command = [INGATAN, "serve", "--port", str(port), "--data-dir", str(tmp_path / "data")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(**environ)
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                break
        except httpx.TransportError:
            time.sleep(0.1)
    httpx.get(f"http://127.0.0.1:{port}/memories", headers={"Authorization": "Bearer forged"})
    process.terminate()
    output, _ = process.communicate(timeout=40)
    assert ("service started" in output) is said, output
    assert ("credential refused" in output) is said, output
