"""B02, B04, B05 and CONTRACT §4-5: what supersedes, what conflicts, what history shows and what the past answers."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from ingatan.memories.policy import RULES_VERSION
from ingatan.testing import WordEmbedder
from ingatan.types import Role
from tests.serving import Service

PORT, SCHOOL, MILL = "I work at the port of Sabang.", "I work at a school in Medan.", "I work at a mill in Binjai."


def state(client: httpx.Client, text: str, kind: str = "fact") -> dict[str, Any]:
    """The person states ``text`` directly."""
    body = {"text": text, "type": kind, "source": {"kind": "self"}}
    answer: dict[str, Any] = client.post("/candidates", json=body).raise_for_status().json()
    return answer


def ask(client: httpx.Client, query: str = "Where do I work?", **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/recall", json={"query": query, **more}).raise_for_status().json()
    return answer


def texts(items: list[dict[str, Any]]) -> set[str]:
    return {item["text"].rstrip(".") for item in items}


def codes(answer: dict[str, Any]) -> list[str]:
    return [note["code"] for note in answer["notes"]]


@pytest.fixture
def ana(service: Service) -> httpx.Client:
    return service.client()


@pytest.fixture
def contested(service: Service, ana: httpx.Client) -> dict[str, str]:
    """She stated one workplace herself and told another in a chat; ids by text."""
    state(ana, PORT)
    service.say(ana, SCHOOL)
    service.sweep()
    return {item["text"].rstrip("."): item["id"] for item in service.remembered(ana)}


def test_what_is_said_in_chat_against_what_was_stated_is_a_conflict(
    service: Service, ana: httpx.Client, contested: dict[str, str]
) -> None:
    assert contested.keys() == texts([{"text": PORT}, {"text": SCHOOL}])
    found = ask(ana)
    ids = sorted(contested.values())
    assert found["conflicts"] == [{"slot": "workplace", "memory_ids": ids}]
    assert [item["in_conflict"] for item in found["memories"]] == [True, True]
    assert found["prompt"].count(", in conflict)") == 2
    assert "Do not choose" in found["prompt"]
    decisions = ana.get("/candidates").json()["items"]
    assert ["conflict"] in [item["reasons"] for item in decisions]
    for item in service.remembered(ana):
        assert item["conflicts_with"] == [id for id in ids if id != item["id"]]
    assert ask(service.client("bea"))["conflicts"] == []


@pytest.mark.parametrize("kept", [PORT, SCHOOL])
@pytest.mark.parametrize("way", ["erase", "correct", "state"])
def test_a_conflict_is_settled_by_the_person(
    service: Service, ana: httpx.Client, contested: dict[str, str], kept: str, way: str
) -> None:
    wrong = contested[(SCHOOL if kept == PORT else PORT).rstrip(".")]
    if way == "erase":
        ana.delete(f"/memories/{wrong}").raise_for_status()
    elif way == "correct":
        ana.patch(f"/memories/{contested[kept.rstrip('.')]}", json={"text": kept}).raise_for_status()
    else:
        state(ana, kept)
    assert texts(service.remembered(ana)) == texts([{"text": kept}])
    found = ask(ana)
    assert found["conflicts"] == []
    assert "in conflict" not in found["prompt"]


def test_a_conflict_is_settled_in_chat_by_saying_what_was_stated(
    service: Service, ana: httpx.Client, contested: dict[str, str]
) -> None:
    service.say(ana, MILL)
    service.sweep()
    assert texts(service.remembered(ana)) == texts([{"text": PORT}, {"text": MILL}]), (
        "the newer chat replaces the older"
    )
    service.say(ana, PORT)
    service.sweep()
    assert texts(service.remembered(ana)) == texts([{"text": PORT}])
    assert ask(ana)["conflicts"] == []


def test_a_conflict_of_one_person_is_not_in_another_slot(service: Service, ana: httpx.Client) -> None:
    state(ana, "I use Python.")
    service.say(ana, "I use QGIS.")
    service.sweep()
    assert ask(ana, "Which tools do I use?")["conflicts"] == []
    assert len(service.remembered(ana)) == 2


def test_b04_a_superseded_memory_never_answers_and_the_past_returns_it(service: Service, ana: httpx.Client) -> None:
    old, new = "The entrance of my office opens with badge A.", "My office's entrance now opens with the blue badge."
    id = state(ana, old)["memory_id"]
    before = datetime.now(UTC)
    time.sleep(0.01)
    ana.patch(f"/memories/{id}", json={"text": new}).raise_for_status()
    assert texts(ask(ana, old, top_k=3)["memories"]) == texts([{"text": new}])
    then = ask(ana, old, top_k=3, as_of=before.isoformat())
    assert texts(then["memories"]) == texts([{"text": old}])
    assert then["degraded"] is False
    assert codes(then)[0] == "as_of"
    assert "not what is known now" in then["prompt"]
    assert "may_not_be_saved_yet" not in codes(then)
    history = ana.get(f"/memories/{id}/versions").json()["items"]
    assert [(item["version"], item["text"], item["status"]) for item in history] == [
        (2, new, "active"),
        (1, old, "superseded"),
    ]
    me = str(service.principal().subject_id)
    assert (history[0]["written"]["by"], history[0]["written"]["reasons"]) == (me, ["supersedes"])
    assert history[0]["policy_version"] == f"assistant-{RULES_VERSION}"
    assert history[1]["closed"] == history[0]["written"] | {"at": history[1]["closed_at"]}
    assert history[1]["written"]["reasons"] == ["accepted"]
    assert service.client("bea").get(f"/memories/{id}/versions").status_code == 404


def test_b04_history_follows_a_fact_from_one_memory_to_the_next(service: Service, ana: httpx.Client) -> None:
    for text in (PORT, SCHOOL, MILL):
        state(ana, text)
    [current] = service.remembered(ana)
    history = ana.get(f"/memories/{current['id']}/versions").json()["items"]
    assert [item["text"] for item in history] == [MILL, SCHOOL, PORT]
    assert len({item["id"] for item in history}) == 3
    assert [item["closed"]["candidate_id"] if item["closed"] else None for item in history] == [
        None,
        history[0]["written"]["candidate_id"],
        history[1]["written"]["candidate_id"],
    ]
    assert ana.get(f"/memories/{history[2]['id']}/versions").json()["items"] == history
    ana.delete(f"/memories/{history[1]['id']}").raise_for_status()
    left = ana.get(f"/memories/{current['id']}/versions").json()["items"]
    assert texts(left) == texts([{"text": MILL}]), "the chain ends where something was erased"


def test_the_past_does_not_return_what_was_erased_or_closed_since(service: Service, ana: httpx.Client) -> None:
    erased, corrected = state(ana, "I use Python.")["memory_id"], state(ana, PORT)["memory_id"]
    service.say(ana, "I like green tea.")
    service.sweep()
    ana.patch(f"/memories/{corrected}", json={"text": SCHOOL}).raise_for_status()
    moment = datetime.now(UTC).isoformat()
    then = ask(ana, "anything", as_of=moment, top_k=10)["memories"]
    assert texts(then) == {"I use Python", "I like green tea", SCHOOL.rstrip(".")}
    ana.delete(f"/memories/{erased}").raise_for_status()
    service.say(ana, "Forget that I like green tea.")
    service.sweep()
    assert texts(ask(ana, "anything", as_of=moment, top_k=10)["memories"]) == {SCHOOL.rstrip(".")}
    ana.put("/consent", json={"consent": "withdrawn"}).raise_for_status()
    withdrawn = ask(ana, "anything", as_of=moment)
    assert withdrawn["memories"] == []
    assert "consent_withdrawn" in codes(withdrawn)


def test_before_anything_was_known_the_past_says_so(service: Service, ana: httpx.Client) -> None:
    state(ana, PORT)
    then = ask(ana, as_of=(datetime.now(UTC) - timedelta(days=2)).isoformat())
    assert then["memories"] == []
    assert codes(then)[:2] == ["as_of", "nothing_saved_then"]
    assert "nothing_saved_yet" not in codes(then)


def test_without_the_embedder_the_past_is_found_by_words(service: Service, ana: httpx.Client) -> None:
    assert isinstance(service.embedder, WordEmbedder)
    id = state(ana, PORT)["memory_id"]
    state(ana, "I use Python.")
    moment = datetime.now(UTC).isoformat()
    ana.patch(f"/memories/{id}", json={"text": SCHOOL}).raise_for_status()
    service.embedder.down = True
    then = ask(ana, "Which port, Sabang?", as_of=moment)
    assert then["degraded"] is True
    assert then["memories"][0]["text"] == PORT
    assert "search_by_words_only" in codes(then)


@pytest.mark.parametrize(
    "moment",
    [
        "2026-11-29T10:00:00",
        "2026-11-29",
        1_764_400_000,
        1_764_400_000_000,
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        pytest.param((datetime.now(UTC) + timedelta(days=10)).isoformat(), id="in ten days"),
        "yesterday",
        "",
    ],
)
def test_h01_a_time_that_is_naive_absurd_or_to_come_is_refused_by_its_name(ana: httpx.Client, moment: object) -> None:
    answer = ana.post("/recall", json={"query": "anything", "as_of": moment})
    assert answer.status_code == 422
    assert [item["field"] for item in answer.json()["errors"]] == ["as_of"]


def test_asking_about_the_past_is_audited_and_is_no_use(service: Service, ana: httpx.Client) -> None:
    state(ana, PORT)
    ask(ana, as_of=datetime.now(UTC).isoformat())
    assert service.app.seal() > 0
    auditor = service.client("auditor", roles=[Role.AUDITOR])
    [row] = [row for row in auditor.get("/audit").json()["items"] if row["action"] == "memory_recalled"]
    assert row["details"].keys() == {"memory_ids", "ranking", "degraded", "as_of"}
    owner = service.principal()
    with service.app.database.read(owner) as connection:
        assert [use.count for use in connection.all("probe.uses", subject_id=owner.subject_id)] == [0]
    ask(ana)
    service.app.seal()
    with service.app.database.read(owner) as connection:
        assert [use.count for use in connection.all("probe.uses", subject_id=owner.subject_id)] == [1]


def test_b05_a_mention_retires_no_other_fact_and_a_denial_supports_none(service: Service, ana: httpx.Client) -> None:
    id = state(ana, "I am treasurer of the rowing club.")["memory_id"]
    service.say(ana, "I repaired the rowing club's boat trailer.")
    service.say(ana, "That wasn't me; the man in the chat said he had a pilot licence.")
    service.sweep()
    assert id in [item["id"] for item in service.remembered(ana)]
    assert all("pilot" not in item["text"] for item in service.remembered(ana))
    assert ask(ana, "rowing club")["conflicts"] == []


def test_rankings_differ_by_use_and_the_default_is_s1(service: Service, ana: httpx.Client) -> None:
    assert isinstance(service.embedder, WordEmbedder)
    often = state(ana, "I use Python.")["memory_id"]
    state(ana, "I use QGIS.")
    for _ in range(10):
        ask(ana, "Python", top_k=1)
    service.app.seal()
    scores = {
        formula: {item["id"]: item["score"] for item in ask(ana, "zzz", **chosen)["memories"]}
        for formula, chosen in {"default": {}, "s1": {"ranking": "s1"}, "s2": {"ranking": "s2"}}.items()
    }
    assert scores["default"] == pytest.approx(scores["s1"], abs=1e-3)
    [other] = scores["s2"].keys() - {often}
    used = ask(ana, "zzz", ranking="s2")["memories"]
    assert used[0]["id"] == often
    assert scores["s2"][often] - scores["s2"][other] > 0.05
    assert all(0 <= item["score"] <= 1 for item in used)
    assert ana.post("/recall", json={"query": "x", "ranking": "s3"}).status_code == 422
