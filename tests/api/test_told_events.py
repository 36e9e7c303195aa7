"""Events told in chat, from the sweep to recall and erasure: kept apart, shown to their person, recalled on request."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan.storage import embedded
from ingatan.types import Role
from tests.api.conftest import Under
from tests.model_server import Asked, Step, model_server, operation, proposes, reacts
from tests.serving import Service, serving
from tests.tables import Tables

EVENT = "I called about order 12 last week"
EVENTS = tuple(f"I called about order {number} last week." for number in range(10, 16))
LASTING = ("I prefer short answers.", "I work at the port of Sabang.", "I use Python and QGIS.")
IN_THREE = (
    EVENT,
    "Minggu lalu saya sudah telepon soal pesanan 12",
    "Tuần trước tôi đã gọi hỏi về đơn hàng số 12",
)
IN_PASSING = (
    "I already called about order 12 last week",
    "Minggu lalu saya juga sudah telepon soal pesanan 12",
    "Tuần trước tôi cũng đã gọi hỏi về đơn hàng số 12",
)


def recalled(client: httpx.Client, query: str = "What about order 12?", **more: Any) -> list[dict[str, Any]]:
    answer = client.post("/recall", json={"query": query} | more).raise_for_status().json()
    return list(answer["memories"])


def texts(service: Service, client: httpx.Client, kind: str | None = None) -> list[str]:
    return sorted(each["text"] for each in service.remembered(client) if kind in (None, each["type"]))


@pytest.mark.parametrize("said", IN_THREE)
def test_an_event_is_kept_unverified_for_ninety_days_and_its_person_sees_it(service: Service, said: str) -> None:
    ana = service.client()
    service.say(ana, f"{said}.")
    assert service.sweep().written == 1
    [row] = service.remembered(ana)
    assert (row["type"], row["trust"], row["text"], row["source"]["quote"]) == ("episode", "unverified", said, said)
    lifetime = datetime.fromisoformat(row["expires_at"]) - datetime.fromisoformat(row["created_at"])
    assert timedelta(days=89, hours=23) < lifetime < timedelta(days=90, minutes=1)
    assert ana.get(f"/memories/{row['id']}").json()["trust"] == "unverified"
    [decision] = ana.get("/candidates").json()["items"]
    assert (decision["decision"], decision["type"], decision["memory_id"]) == ("accept", "episode", row["id"])


def test_how_long_is_for_the_policy_to_say(service: Service) -> None:
    ana, admin = service.client(), service.client("admin", roles=[Role.ADMIN])
    document = admin.get("/policy").raise_for_status().json()["document"]
    document["types"]["episode"]["unverified_lifetime_days"] = 7
    admin.put("/policy", json=document).raise_for_status()
    service.say(ana, EVENT)
    service.sweep()
    [row] = service.remembered(ana)
    lifetime = datetime.fromisoformat(row["expires_at"]) - datetime.fromisoformat(row["created_at"])
    assert timedelta(days=6, hours=23) < lifetime < timedelta(days=7, minutes=1)


def test_it_is_in_no_answer_unless_asked_for_and_then_marked(service: Service) -> None:
    ana, bea = service.client(), service.client("bea")
    service.say(ana, f"{EVENT}.", "I work at the port of Sabang.")
    service.sweep()
    asked, then = {"query": "Did I call about order 12 last week?"}, {"as_of": datetime.now(UTC).isoformat()}
    for more in ({}, {"unverified_episodes": False}, {"ranking": "s2"}, then):
        answer = ana.post("/recall", json=asked | more).raise_for_status().json()
        assert [each["type"] for each in answer["memories"]] == ["fact"], more
        assert "order 12" not in answer["prompt"]
        assert "unverified" not in answer["prompt"]
    for more in ({}, {"ranking": "s2"}, then):
        answer = ana.post("/recall", json=asked | more | {"unverified_episodes": True}).raise_for_status().json()
        [event, fact] = answer["memories"]
        assert (event["type"], event["trust"], event["text"]) == ("episode", "unverified", EVENT)
        assert fact["trust"] == "stated"
        assert f', turn, unverified) "{EVENT}"' in answer["prompt"]
        assert "Records marked 'unverified'" in answer["prompt"]
    assert recalled(bea, unverified_episodes=True) == []
    assert ana.post("/recall", json=asked | {"unverified_episodes": "all"}).status_code == 422


def test_asking_for_episodes_lifts_nothing_else(service: Service, tables: Tables) -> None:
    """Only episodes: what else carries no trust is served to nobody."""
    ana = service.client()
    service.say(ana, EVENT, LASTING[1])
    service.sweep()
    tables.run("update memories set trust = 'unverified'")
    assert [each["type"] for each in recalled(ana, unverified_episodes=True)] == ["episode"]


def test_events_use_up_no_cap_and_push_nothing_out(under: Under) -> None:
    """S1's caps, 3 a conversation and 3 a person here, are there for what lasts, in one span and over several."""
    with under(MEMORY__MAX_ACTIVE_PER_USER="3") as service:
        ana = service.client()
        id = service.say(ana, *EVENTS)
        assert service.sweep().written == len(EVENTS)
        service.say(ana, *EVENTS[:2], *LASTING, "I live in Medan.", conversation_id=id)
        service.sweep(minutes=62)
        assert texts(service, ana, "episode") == [text.rstrip(".") for text in EVENTS]
        kept = [row for row in service.remembered(ana) if row["type"] != "episode"]
        assert len(kept) == 3
        reasons = {reason for each in ana.get("/candidates").json()["items"] for reason in each["reasons"]}
        assert "cap_new_per_conversation" in reasons or "cap_active_memories" in reasons
        service.say(ana, "I called about order 99 yesterday.")
        assert service.sweep(minutes=93).written == 1


def test_told_again_it_is_no_second_memory_and_another_number_is_another(service: Service) -> None:
    ana = service.client()
    service.say(ana, f"{EVENT}.", f"{EVENT}!")
    service.sweep()
    service.say(ana, "Last week I called about order 12.", "I called about order 13 last week.")
    service.sweep(minutes=62)
    assert texts(service, ana) == [EVENT, "I called about order 13 last week"]
    again = [each for each in ana.get("/candidates").json()["items"] if each["reasons"] == ["duplicate"]]
    assert len(again) == 1


def test_told_again_after_it_ran_out_it_runs_out_again(service: Service, tables: Tables) -> None:
    ana = service.client()
    service.say(ana, EVENT)
    service.sweep()
    tables.run("update memories set expires_at = now() - interval '1 day'")
    assert recalled(ana, unverified_episodes=True) == []
    service.say(ana, EVENT)
    service.sweep(minutes=62)
    [row] = service.remembered(ana)
    left = datetime.fromisoformat(row["expires_at"]) - datetime.fromisoformat(row["created_at"])
    assert timedelta(days=89) < left < timedelta(days=91)


def test_it_is_erased_like_anything_else_and_does_not_come_back(service: Service) -> None:
    ana = service.client()
    service.say(ana, EVENTS[0], EVENTS[1])
    service.sweep()
    first, second = service.remembered(ana)
    receipt = ana.delete(f"/memories/{first['id']}").raise_for_status().json()["receipt"]
    assert receipt["removed"]["memories"] == 1
    assert [row["id"] for row in service.remembered(ana)] == [second["id"]]
    ana.delete("/memories").raise_for_status()
    service.sweep(minutes=62)
    assert service.remembered(ana) == recalled(ana, unverified_episodes=True) == []


@pytest.mark.parametrize(("said", "again"), list(zip(IN_THREE, IN_PASSING, strict=True)))
def test_told_in_passing_words_it_stays_away_too(service: Service, said: str, again: str) -> None:
    """What was never to be remembered again, or was erased, is the same event with a word like "already" in it."""
    ana, bea = service.client(), service.client("bea")
    for client in (ana, bea):
        service.say(client, f"{said}.")
    service.sweep()
    service.say(bea, f"{again}.")
    for client, wish in ((ana, {"never_again": "true"}), (bea, {})):
        [row] = service.remembered(client)
        client.delete(f"/memories/{row['id']}", params=wish).raise_for_status()
    service.say(ana, f"{again}.")
    service.sweep(minutes=62)
    assert service.remembered(ana) == service.remembered(bea) == []
    reasons = [client.get("/candidates").json()["items"][0]["reasons"] for client in (ana, bea)]
    assert reasons == [["never_again"], ["erased_before"]]


def test_an_event_without_a_type_is_an_event(service: Service) -> None:
    """Whether stated directly or cited from a turn: told as a fact it would be refused."""
    ana = service.client()
    answer = ana.post("/candidates", json={"text": EVENT, "source": {"kind": "self"}}).raise_for_status().json()
    assert (answer["decision"], answer["reasons"]) == ("accept", ["accepted"])
    assert [(row["type"], row["trust"]) for row in service.remembered(ana)] == [("episode", "unverified")]
    id = service.say(ana, "I called about order 13 last week.")
    [turn] = ana.get(f"/conversations/{id}/messages").json()["items"]
    source = {"kind": "turn", "conversation_id": id, "message_ids": [turn["id"]]}
    body = {"text": "I called about order 13 last week", "quote": "I called about order 13 last week", "source": source}
    assert ana.post("/candidates", json=body).raise_for_status().json()["decision"] == "accept"
    assert texts(service, ana, "episode") == [EVENT, "I called about order 13 last week"]


def test_no_claim_becomes_an_event_by_a_correction(service: Service) -> None:
    ana = service.client()
    service.say(ana, EVENT)
    service.sweep()
    [row] = service.remembered(ana)
    answer = ana.patch(f"/memories/{row['id']}", json={"text": "I was informed that my case 12 has priority"})
    assert (answer.status_code, answer.json()["reasons"]) == (422, ["not_a_statement"])
    assert texts(service, ana) == [EVENT]


def test_it_is_forgotten_when_its_person_says_so(service: Service) -> None:
    ana = service.client()
    service.say(ana, f"{EVENT}.")
    service.sweep()
    service.say(ana, f"Please forget that {EVENT}.")
    service.sweep(minutes=62)
    assert service.remembered(ana) == []
    assert recalled(ana, unverified_episodes=True) == []


@pytest.mark.parametrize("said", ["I went to the beach yesterday.", "I called the clinic about case 12 yesterday."])
def test_the_rest_of_life_is_not_kept(service: Service, said: str) -> None:
    ana = service.client()
    service.say(ana, said)
    service.sweep()
    assert service.remembered(ana) == []


def test_under_governed_it_waits_unless_it_was_asked_to_be_remembered(under: Under) -> None:
    """The policy document's table, as for all that is read out of a conversation; a reviewer vouches by approving."""
    with under(POLICY__PROFILE="governed") as service:
        ana, rita = service.client(), service.client("rita", roles=[Role.REVIEWER])
        service.say(ana, f"{EVENT}.", "Please remember that I called about order 13 last week.")
        service.sweep()
        [asked] = service.remembered(ana)
        assert (asked["text"], asked["trust"]) == ("I called about order 13 last week", "unverified")
        [held] = ana.get("/candidates", params={"state": "open"}).json()["items"]
        assert (held["decision"], held["type"], held["text"]) == ("review", "episode", EVENT)
        assert recalled(ana, unverified_episodes=True)[0]["text"] == asked["text"]
        rita.post(f"/review/candidates/{held['id']}/approve").raise_for_status()
        [approved] = [row for row in service.remembered(ana) if row["text"] == EVENT]
        assert approved["trust"] == "reviewed"
        assert [each["text"] for each in recalled(ana)] == [EVENT]


@pytest.fixture
def modelled(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Service]:
    """A service whose extraction is by a model with the given script."""
    script: list[Step] = request.param
    url = server.url(embedded.APP, database_name)
    with model_server(*script) as model, serving(url, tmp_path, environ=model.settings()) as running:
        yield running


def calls_it(kind: str) -> Step:
    """A model that calls the event ``kind``, in words of its own, and brings three facts besides."""

    def react(asked: Asked) -> Step:
        lasting = [operation("add", (asked.label(text), text), text=text) for text in LASTING]
        told = operation("add", (asked.label(EVENT), EVENT), text="User called about order 12", type=kind)
        return proposes(told, *lasting) if kind == "episode" else proposes(told, *lasting[:2])

    return reacts(react)


@pytest.mark.parametrize(
    "modelled", [[calls_it("episode")], [calls_it("fact")]], indirect=True, ids=["episode", "fact"]
)
def test_a_models_event_is_the_same_whatever_it_calls_it(modelled: Service) -> None:
    ana = modelled.client()
    modelled.say(ana, EVENT, *LASTING)
    report = modelled.sweep()
    assert (report.failed, report.rejected) == (0, 0)
    [row] = [row for row in modelled.remembered(ana) if row["type"] == "episode"]
    assert (row["text"], row["trust"], row["source"]["quote"]) == (EVENT, "unverified", EVENT)
    assert len(modelled.remembered(ana)) == report.written >= 3
    assert all(each["type"] != "episode" for each in recalled(ana))


def invents(said: str, text: str) -> Step:
    """A model that calls ``said`` an episode."""
    return reacts(lambda asked: proposes(operation("add", (asked.label(said), said), text=text, type="episode")))


@pytest.mark.parametrize(
    "modelled",
    [
        [invents("I went to the beach yesterday.", "Went to the beach")],
        [invents("My refund for order 12 was approved last week.", "Refund for order 12 was approved")],
        [invents("I will call about order 12 tomorrow.", "Called about order 12")],
    ],
    indirect=True,
    ids=["a day off", "an approval", "a plan"],
)
def test_a_model_makes_no_event_of_what_the_rules_do_not_read_as_one(modelled: Service) -> None:
    ana = modelled.client()
    modelled.say(
        ana,
        "I went to the beach yesterday.",
        "My refund for order 12 was approved last week.",
        "I will call about order 12 tomorrow.",
    )
    assert modelled.sweep().written == 0
    assert modelled.remembered(ana) == []


def test_nothing_saved_is_not_said_where_only_an_event_is_kept(service: Service) -> None:
    ana, bo = service.client(), service.client("bo")
    service.say(ana, f"{EVENT}.")
    service.sweep()

    def notes(client: httpx.Client, **more: str) -> str:
        asked = {"query": "What do you know of me?"} | more
        return str(client.post("/recall", json=asked).raise_for_status().json())

    assert "nothing_saved_yet" in notes(bo)
    assert "nothing_saved_yet" not in notes(ana)
    assert "nothing_saved_then" not in notes(ana, as_of=datetime.now(UTC).isoformat())
    assert "nothing_saved_then" in notes(ana, as_of="2020-01-01T00:00:00Z")
