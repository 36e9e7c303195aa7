"""S1's configuration table, setting by setting: change it, and see what the service does differently.

What other tests change already is in the table of ``tests/test_settings_covered.py``.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from ingatan import abandoned
from ingatan.errors import ExtractionUnavailable, StartRefused
from ingatan.settings import LEGACY_PREFIX, PREFIX
from ingatan.testing import ScriptedExtractor
from tests.api.conftest import Under
from tests.model_server import Asked, hangs, model_server, nothing, operation, proposes, reacts
from tests.serving import Service

STATEMENTS = ("I work at the port of Sabang.", "I prefer short answers.", "I use Python and QGIS.")
SOON_SECONDS = 15.0
A_WHILE_SECONDS = 0.8
QUICK = {"MEMORY__IDLE_MINUTES": "0.002", "MEMORY__SWEEP_INTERVAL_SECONDS": "0.1"}
BOTH = pytest.mark.parametrize("prefix", [PREFIX, LEGACY_PREFIX])


def state(client: httpx.Client, text: str, importance: float = 0.5) -> None:
    """Say ``text`` directly, as a fact of that importance."""
    body = {"text": text, "type": "fact", "importance": importance, "source": {"kind": "self"}}
    assert client.post("/candidates", json=body).raise_for_status().json()["decision"] == "accept"


def recall(client: httpx.Client, query: str, **more: Any) -> list[dict[str, Any]]:
    """What is recalled, best first."""
    found: list[dict[str, Any]] = client.post("/recall", json={"query": query, **more}).json()["memories"]
    return found


def reasons(client: httpx.Client) -> list[list[str]]:
    """Why what was not accepted was not."""
    return [item["reasons"] for item in client.get("/candidates?decision=reject").raise_for_status().json()["items"]]


def by_itself(service: Service, client: httpx.Client, seconds: float) -> int:
    """How many memories the running service wrote by itself within ``seconds``; returns with the first."""
    service.app.run_background()
    deadline = time.monotonic() + seconds
    while not (found := len(service.remembered(client))) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


@pytest.mark.parametrize(
    ("change", "written"),
    [
        ({}, 1),
        ({"MEMORY__ENABLED": "false"}, 0),
        ({"MEMORY__WRITE_ENABLED": "false"}, 0),
        ({"MEMORY__READ_ENABLED": "false"}, 1),
        ({"MEMORY__SWEEP_INTERVAL_SECONDS": "3600"}, 0),
        ({"MEMORY__IDLE_MINUTES": "5"}, 0),
    ],
    ids=["quick", "off", "no writing", "no reading", "seldom", "not idle"],
)
def test_the_sweeper_in_the_process(under: Under, change: dict[str, str], written: int) -> None:
    """Off there is none; otherwise it looks every SWEEP_INTERVAL_SECONDS for what is idle for IDLE_MINUTES."""
    with under(**(QUICK | change)) as service:
        ana = service.client()
        service.say(ana, STATEMENTS[0])
        assert by_itself(service, ana, SOON_SECONDS if written else A_WHILE_SECONDS) == written


def test_a_tester_sees_a_memory_after_idle_time_and_one_interval_at_most(under: Under) -> None:
    with under(MEMORY__IDLE_MINUTES="0.01", MEMORY__SWEEP_INTERVAL_SECONDS="0.5") as service:
        ana = service.client()
        said_at = time.monotonic()
        service.say(ana, STATEMENTS[0])
        assert by_itself(service, ana, SOON_SECONDS) == 1
        assert 0.6 <= time.monotonic() - said_at < 0.6 + 0.5 + 8


def test_the_model_for_extraction_may_be_another_one(under: Under) -> None:
    with model_server() as model:
        for change in ({}, {"INGATAN_MEMORY__EXTRACT_MODEL": "the-small-one"}):
            environ = {name.removeprefix(PREFIX): value for name, value in model.settings(**change).items()}
            with under(**environ) as service:
                service.say(service.client(), STATEMENTS[0])
                service.sweep()
        assert [asked.body["model"] for asked in model.asked] == ["scripted", "the-small-one"]


def test_an_extraction_that_takes_too_long_writes_nothing(under: Under) -> None:
    def slowly(asked: Asked) -> Any:
        time.sleep(1)
        quote = STATEMENTS[0].rstrip(".")
        return proposes(operation("add", ("T1", quote), text=quote))

    with model_server() as model:
        model.always = reacts(slowly)
        environ = {name.removeprefix(PREFIX): value for name, value in model.settings().items()}
        with under(**(environ | {"MEMORY__EXTRACT_TIMEOUT_SECONDS": "0.3"})) as service:
            ana = service.client()
            service.say(ana, STATEMENTS[0])
            report = service.sweep()
            assert (report.failed, report.written) == (1, 0)
            assert service.remembered(ana) == []
        with under(**(environ | {"MEMORY__EXTRACT_TIMEOUT_SECONDS": "10"})) as service:
            assert service.sweep().written == 1


@pytest.mark.parametrize("attempts", [1, 2])
def test_after_so_many_failures_a_conversation_is_set_aside(under: Under, attempts: int) -> None:
    failing = ScriptedExtractor(*[ExtractionUnavailable("timeout")] * 2)
    with under(MEMORY__MAX_EXTRACTION_ATTEMPTS=str(attempts), parts={"extractor": failing}) as service:
        service.say(service.client(), STATEMENTS[0])
        for n in range(1, attempts + 1):
            assert abandoned.listed(service.app.database) == []
            assert service.sweep().abandoned == (1 if n == attempts else 0)
        assert len(abandoned.listed(service.app.database)) == 1
        assert service.sweep().conversations == 0


def turns_read(under: Under, *said: str, **named: str) -> list[str]:
    """What extraction reads of a conversation of these turns under these settings."""
    reading = ScriptedExtractor()
    with under(**named, parts={"extractor": reading}) as service:
        service.say(service.client(), *said)
        service.sweep()
    return [turn.text for turn in reading.calls[-1]] if reading.calls else []


def test_the_transcript_has_a_budget(under: Under) -> None:
    """Half of messages times characters, newest first; each message is cut."""
    said = ["a" * 30, "b" * 30, "c" * 90]
    assert turns_read(under, *said) == said
    each = {"MEMORY__EXTRACT_MAX_CHARS_PER_MESSAGE": "40"}
    assert turns_read(under, *said, **each) == ["a" * 30, "b" * 30, "c" * 40], "only what is longer is cut"
    assert turns_read(under, *said, **each, MEMORY__EXTRACT_MAX_MESSAGES="4") == ["b" * 30, "c" * 40]
    assert turns_read(under, *said, **each, MEMORY__EXTRACT_MAX_MESSAGES="2") == ["c" * 40]


@pytest.mark.parametrize(("cap", "kept"), [(0, 0), (1, 1), (3, 3), (4, 4)])
def test_new_memories_of_one_conversation_are_capped(under: Under, cap: int, kept: int) -> None:
    with under(MEMORY__MAX_NEW_PER_CONVERSATION=str(cap)) as service:
        ana = service.client()
        service.say(ana, *STATEMENTS, "I live in Banda Aceh.")
        assert service.sweep().written == kept
        service.say(ana, "I speak Gayo.")
        assert service.sweep().written == (1 if cap else 0), "another conversation counts anew"


@BOTH
def test_the_length_of_a_memory_is_capped(under: Under, prefix: str) -> None:
    long = "I work at the fisheries office of Sabang together with the harbour."
    body = {"text": long, "type": "fact", "source": {"kind": "self"}}
    with under(prefix=prefix, MEMORY__MAX_CHARS_PER_MEMORY="40") as service:
        ana = service.client()
        answer = ana.post("/candidates", json=body)
        assert service.remembered(ana) == []
        assert "too_long" in answer.json()["reasons"]
        service.say(ana, long, STATEMENTS[1])
        service.sweep()
        assert [item["text"] for item in service.remembered(ana)] == ["I prefer short answers"]
    with under(prefix=prefix) as service:
        state(service.client(), long)


def test_above_the_cap_of_active_memories_only_changes_are_taken(under: Under) -> None:
    with under(MEMORY__MAX_ACTIVE_PER_USER="2") as service:
        ana = service.client()
        state(ana, "I work at the port of Sabang")
        state(ana, "I use QGIS")
        body = {"text": "I live in Takengon", "type": "fact", "source": {"kind": "self"}}
        assert ana.post("/candidates", json=body).json()["reasons"] == ["cap_active_per_user"]
        service.say(ana, "I work at the port of Malahayati now.")
        service.sweep()
        assert len(service.remembered(ana)) == 2
        service.say(ana, "I speak Gayo.")
        service.sweep()
        assert ["cap_active_per_user"] in reasons(ana)
    with under(MEMORY__MAX_ACTIVE_PER_USER="3") as service:
        state(service.client(), "I live in Takengon")


FACTS = ("I work at the port of Sabang", "I use QGIS at the port", "I live beside the port", "I speak Gayo at the port")


def test_recall_carries_so_many_memories(under: Under) -> None:
    with under() as service:
        ana = service.client()
        for text in FACTS:
            state(ana, text)
        assert len(recall(ana, "port")) == 4
    with under(MEMORY__RECALL_TOP_K="2") as service:
        assert len(recall(service.client(), "port")) == 2


def test_recall_carries_so_many_characters(under: Under) -> None:
    with under() as service:
        ana = service.client()
        for text in FACTS:
            state(ana, text)
        whole = ana.post("/recall", json={"query": "port"}).json()["prompt"]
    with under(MEMORY__RECALL_MAX_CHARS="160") as service:
        answer = service.client().post("/recall", json={"query": "port"}).json()
        lines = [line for line in answer["prompt"].splitlines() if line.startswith("- (")]
        assert len(answer["memories"]) == len(lines) == 2
        assert sum(len(line) + 1 for line in lines) <= 160
        assert len(answer["prompt"]) < len(whole)


QUESTION = "Which port do I work at?"
ONLY = {"MEMORY__WEIGHT_RELEVANCE": "0", "MEMORY__WEIGHT_RECENCY": "0", "MEMORY__WEIGHT_IMPORTANCE": "0"}


def known(service: Service) -> httpx.Client:
    """Ana, of whom three things are known; where she works is not what matters most."""
    ana = service.client()
    state(ana, "I work at the port of Sabang", 0.5)
    state(ana, "I use QGIS", 0.4)
    state(ana, "I speak Gayo", 0.95)
    return ana


@pytest.mark.parametrize(
    ("weight", "first"), [("RELEVANCE", "Sabang"), ("IMPORTANCE", "Gayo")], ids=["relevance", "importance"]
)
def test_ranking_follows_its_weights(under: Under, weight: str, first: str) -> None:
    with under() as service:
        known(service)
    with under(**(ONLY | {f"MEMORY__WEIGHT_{weight}": "1"})) as service:
        found = recall(service.client(), QUESTION)
        assert first in found[0]["text"]
    with under(**(ONLY | {f"MEMORY__WEIGHT_{weight}": "2"})) as service:
        doubled = recall(service.client(), QUESTION)
    assert [item["score"] for item in doubled] == pytest.approx([2 * item["score"] for item in found], abs=1e-5)


def test_recency_counts_by_its_weight_and_halves_by_its_half_life(under: Under) -> None:
    with under() as service:
        known(service)
    later = datetime.now(UTC) + timedelta(days=60)
    for half_life, left in ((60, 0.5), (30, 0.25), (20, 0.125)):
        change = {"MEMORY__WEIGHT_RECENCY": "1", "MEMORY__RECENCY_HALF_LIFE_DAYS": str(half_life)}
        with under(**(ONLY | change)) as service:
            assert [item["score"] for item in recall(service.client(), QUESTION)] == pytest.approx([1] * 3, abs=0.001)
            then = service.app.gateway.recall(service.principal(), QUESTION, now=later)
            assert [item.score for item in then.memories] == pytest.approx([left] * 3, abs=0.001)
    with under(**ONLY) as service:
        assert {item["score"] for item in recall(service.client(), QUESTION)} == {0}


def test_only_verified_askers_and_only_where_tokens_are_checked(under: Under) -> None:
    required = {"MEMORY__REQUIRE_VERIFIED_PRINCIPAL": "true"}
    with under(**required) as service:
        state(service.client(), "I use QGIS")
        assert len(recall(service.client(), "QGIS")) == 1
    for fault in ({"SECURITY__RESOLVER": "headers"}, {"SECURITY__REQUIRE_AUTH": "false"}):
        with pytest.raises(StartRefused, match="REQUIRE_VERIFIED_PRINCIPAL"), under(**required, **fault):
            pass
    with under(SECURITY__RESOLVER="headers") as service:
        headers = {"X-Subject": "ana"}
        body = {"text": "I use QGIS", "type": "fact", "source": {"kind": "self"}}
        answer = httpx.post(f"{service.address}/candidates", json=body, headers=headers)
        assert answer.status_code == 201, "without it, forgeable headers have memory"


def test_a_model_that_hangs_holds_the_queue_no_longer_than_its_time(under: Under) -> None:
    with model_server(hangs(5), nothing()) as model:
        environ = {name.removeprefix(PREFIX): value for name, value in model.settings().items()}
        with under(**(environ | {"MEMORY__EXTRACT_TIMEOUT_SECONDS": "0.3"})) as service:
            service.say(service.client("ana"), STATEMENTS[0])
            service.say(service.client("bea"), STATEMENTS[0])
            began = time.monotonic()
            report = service.sweep()
            assert time.monotonic() - began < 4
            assert (report.conversations, report.failed) == (1, 1)
