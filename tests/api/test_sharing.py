"""S1's sharing rule through every door: several askers or members mean no memory, unless SHARED_CONVERSATIONS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from ingatan.errors import ExtractionUnavailable
from ingatan.memories.extraction import RulesExtractor
from ingatan.storage import embedded
from ingatan.testing import ScriptedExtractor, WordEmbedder
from tests.api.test_workspaces import PEOPLE, conversation, person, workspace
from tests.serving import Service, serving

ON = {"INGATAN_MEMORY__SHARED_CONVERSATIONS": "true"}
ANAS, BEAS = "I work at the port of Sabang.", "I prefer short answers."


class Serve:
    """Services of a test's own database, with chosen settings."""

    def __init__(self, url: str, directory: Path) -> None:
        self.url = url
        self.directory = directory

    def __call__(self, environ: dict[str, str] | None = None, **parts: Any) -> Any:
        return serving(self.url, self.directory, environ=environ, **parts)


@pytest.fixture
def serve(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Serve:
    return Serve(server.url(embedded.APP, database_name), tmp_path)


@pytest.fixture
def sharing(serve: Serve) -> Iterator[Service]:
    """A service with SHARED_CONVERSATIONS on."""
    with serve(ON) as service:
        yield service


def talk(service: Service) -> tuple[httpx.Client, httpx.Client, str, str]:
    """Ana's workspace with Bea, and a conversation in which both said something about themselves."""
    ana, bea = person(service, "ana"), person(service, "bea")
    team = workspace(ana, "bea")
    id = conversation(ana, team)
    service.say(ana, ANAS, conversation_id=id)
    service.say(bea, BEAS, conversation_id=id)
    return ana, bea, team, id


def texts(service: Service, client: httpx.Client) -> list[str]:
    return sorted(item["text"] for item in service.remembered(client))


def notes(client: httpx.Client, conversation_id: str) -> tuple[list[str], list[str]]:
    """The texts recalled within a conversation, and the codes of the notes."""
    body = {"query": "where do I work, how do I like answers?", "conversation_id": conversation_id}
    answer = client.post("/recall", json=body)
    assert answer.status_code == 200
    found = answer.json()
    return [item["text"] for item in found["memories"]], [note["code"] for note in found["notes"]]


def test_off_a_shared_conversation_moves_its_watermark_and_teaches_nothing(service: Service) -> None:
    ana, bea, _, id = talk(service)
    report = service.sweep()
    assert (report.conversations, report.written, report.rejected) == (1, 0, 0)
    assert texts(service, ana) == texts(service, bea) == []
    assert ana.get("/candidates").json()["items"] == bea.get("/candidates").json()["items"] == []
    assert service.sweep().conversations == 0
    metadata = ana.get(f"/conversations/{id}").json()["metadata"]
    assert metadata["memory_extraction_failures"] == 0
    newest = ana.get(f"/conversations/{id}/messages").json()["items"][-1]["created_at"]
    assert metadata["memory_consolidated_through"] == newest


def test_on_every_asker_learns_from_their_own_turns_only(sharing: Service) -> None:
    ana, bea, _, id = talk(sharing)
    report = sharing.sweep()
    assert (report.conversations, report.written) == (1, 2)
    assert texts(sharing, ana) == [ANAS.rstrip(".")]
    assert texts(sharing, bea) == [BEAS.rstrip(".")]
    assert "memory_consolidated_through" in bea.get(f"/conversations/{id}").json()["metadata"]
    sharing.say(bea, "I use Python and QGIS.", conversation_id=id)
    assert sharing.sweep().written == 1
    assert len(texts(sharing, bea)) == 2
    assert len(texts(sharing, ana)) == 1


def test_one_asker_among_several_readers_is_shared_too(service: Service) -> None:
    ana = person(service, "ana")
    team = workspace(ana)
    alone = conversation(ana, team)
    service.say(ana, ANAS, conversation_id=alone)
    assert service.sweep().written == 1, "a workspace of one is nobody else's"
    ana.put(f"/workspaces/{team}/members/{PEOPLE['bea']}").raise_for_status()
    service.say(ana, BEAS, conversation_id=alone)
    assert service.sweep().written == 0
    assert notes(ana, alone) == ([], ["shared_conversation"])


def test_several_askers_stay_shared_when_one_has_left(service: Service) -> None:
    ana, bea, team, id = talk(service)
    bea.delete(f"/workspaces/{team}/members/{PEOPLE['bea']}").raise_for_status()
    seen = ana.get(f"/conversations/{id}").json()
    assert (seen["askers"], seen["members"], seen["shared"]) == (2, 1, True)
    service.sweep()
    assert texts(service, ana) == []
    assert notes(ana, id) == ([], ["shared_conversation"])


def test_recall_in_a_shared_conversation(serve: Serve) -> None:
    with serve() as service:
        ana, bea, _, id = talk(service)
        for client, said in ((ana, ANAS), (bea, BEAS)):
            service.say(client, said)
        service.sweep()
        assert notes(ana, id) == ([], ["shared_conversation"])
        own = str(ana.post("/conversations", json={}).json()["id"])
        assert notes(ana, own)[0] == [ANAS.rstrip(".")]
        dan = person(service, "dan")
        assert dan.post("/recall", json={"query": "x", "conversation_id": id}).status_code == 404
    with serve(ON) as service:
        ana, bea = person(service, "ana"), person(service, "bea")
        assert notes(ana, id)[0] == [ANAS.rstrip(".")]
        assert notes(bea, id)[0] == [BEAS.rstrip(".")]


def cite(client: httpx.Client, conversation_id: str, message_id: str, quote: str) -> httpx.Response:
    """Propose what a turn says."""
    source = {"kind": "turn", "conversation_id": conversation_id, "message_ids": [message_id]}
    body = {"text": quote, "type": "preference", "quote": quote, "source": source}
    return client.post("/candidates", json=body)


def test_proposing_from_a_turn_of_a_shared_conversation(serve: Serve) -> None:
    with serve() as service:
        ana, bea, _, id = talk(service)
        turns = ana.get(f"/conversations/{id}/messages").json()["items"]
        refused = cite(bea, id, turns[1]["id"], BEAS)
        assert (refused.status_code, refused.json()["code"]) == (403, "memory_disabled")
        assert refused.json()["reasons"] == ["shared_conversation"]
        assert bea.get("/candidates").json()["items"] == []
        told = {"text": BEAS, "type": "preference", "source": {"kind": "self"}}
        assert bea.post("/candidates", json=told).json()["decision"] == "accept"
        bea.delete("/memories").raise_for_status()
    with serve(ON) as service:
        ana, bea = person(service, "ana"), person(service, "bea")
        assert cite(ana, id, turns[1]["id"], BEAS).json()["reasons"] == ["not_stated_by_subject"]
        service.say(bea, "I prefer long answers.", conversation_id=id)
        newest = bea.get(f"/conversations/{id}/messages").json()["items"][-1]["id"]
        assert cite(bea, id, newest, "I prefer long answers.").json()["decision"] == "accept"
        assert texts(service, ana) == []


def paused_at(step: str, act: list[Callable[[], object]]) -> Callable[[str], None]:
    """A pause that runs ``act`` once, when ``step`` is reached."""

    def pause(reached: str) -> None:
        if reached == step and act:
            act.pop()()

    return pause


@pytest.mark.parametrize("step", ["claimed", "read", "thought"])
def test_someone_who_joins_while_the_model_thinks_stops_it(serve: Serve, step: str) -> None:
    act: list[Callable[[], object]] = []
    with serve(pause=paused_at(step, act)) as service:
        ana = person(service, "ana")
        team = workspace(ana)
        id = conversation(ana, team)
        service.say(ana, ANAS, conversation_id=id)
        act.append(lambda: ana.put(f"/workspaces/{team}/members/{PEOPLE['bea']}").raise_for_status())
        report = service.sweep()
        assert act == []
        assert (report.written, report.stale) == (0, 1)
        assert service.sweep().conversations == 1
        assert texts(service, ana) == []
        assert service.sweep().conversations == 0


@pytest.mark.parametrize("step", ["claimed", "read", "thought"])
def test_a_member_removed_while_the_model_thinks_learns_nothing(serve: Serve, step: str) -> None:
    act: list[Callable[[], object]] = []
    with serve(ON, pause=paused_at(step, act)) as service:
        ana, bea, team, _ = talk(service)
        act.append(lambda: ana.delete(f"/workspaces/{team}/members/{PEOPLE['bea']}").raise_for_status())
        service.sweep()
        service.sweep()
        assert texts(service, ana) == [ANAS.rstrip(".")]
        assert texts(service, bea) == []


def test_a_removed_member_is_out_at_once_and_keeps_what_is_theirs(sharing: Service) -> None:
    """C07, with a token that stays valid and steady polling."""
    ana, bea, team, id = talk(sharing)
    sharing.sweep()
    [memory] = sharing.remembered(bea)
    ana.delete(f"/workspaces/{team}/members/{PEOPLE['bea']}").raise_for_status()
    turn = {"messages": [{"role": "user", "content": "still here?"}]}
    for _ in range(3):
        for path in ("", "/messages", "/window"):
            assert bea.get(f"/conversations/{id}{path}").status_code == 404
        assert bea.get("/conversations").json()["items"] == []
        assert bea.post(f"/conversations/{id}/messages", json=turn).status_code == 404
        assert bea.post("/recall", json={"query": "berths", "conversation_id": id}).status_code == 404
        assert bea.get(f"/workspaces/{team}").status_code == 404
    assert texts(sharing, bea) == [BEAS.rstrip(".")]
    assert bea.get(f"/memories/{memory['id']}").json()["source"]["quote"] == BEAS.rstrip(".")
    for path in ("/memories", "/candidates", "/conversations", "/workspaces"):
        assert "Sabang" not in bea.get(path).text


def test_a_maker_who_was_removed_is_out_too(sharing: Service) -> None:
    ana, bea = person(sharing, "ana"), person(sharing, "bea")
    team = workspace(ana, "bea")
    id = conversation(bea, team)
    sharing.say(bea, BEAS, conversation_id=id)
    sharing.say(ana, ANAS, conversation_id=id)
    ana.delete(f"/workspaces/{team}/members/{PEOPLE['bea']}").raise_for_status()
    assert bea.get(f"/conversations/{id}").status_code == 404
    assert bea.patch(f"/conversations/{id}", json={"title": "x"}).status_code == 404
    assert bea.delete(f"/conversations/{id}").status_code == 404
    assert sharing.sweep().written == 1
    assert texts(sharing, bea) == []
    assert texts(sharing, ana) == [ANAS.rstrip(".")]


def test_an_asker_without_memory_is_skipped_and_the_others_are_served(serve: Serve) -> None:
    only_ana = {"INGATAN_MEMORY__SUBJECT_ALLOWLIST": f'["{PEOPLE["ana"]}"]'}
    with serve(ON | only_ana) as service:
        ana, bea, _, id = talk(service)
        report = service.sweep()
        assert (report.conversations, report.written) == (1, 1)
        assert texts(service, ana) == [ANAS.rstrip(".")]
        assert notes(bea, id) == ([], ["memory_not_for_this_caller"])
        assert bea.get("/candidates").json()["items"] == []
    asked = ScriptedExtractor()
    with serve(ON, extractor=asked) as service:
        ana, bea, _, _ = talk(service)
        bea.put("/consent", json={"consent": "withdrawn"}).raise_for_status()
        service.sweep()
        assert [turn.text for call in asked.calls for turn in call] == [ANAS, ANAS], "of two talks; no model reads Bea"
        assert texts(service, bea) == []


def test_one_failing_asker_leaves_the_whole_conversation_for_the_next_sweep(serve: Serve) -> None:
    embedder = WordEmbedder()
    rules = RulesExtractor()
    down = ScriptedExtractor((), ExtractionUnavailable("timeout"))
    with serve(ON, embedder=embedder, extractor=down) as service:
        ana, _, _, id = talk(service)
        report = service.sweep()
        assert (report.failed, report.written) == (1, 0)
        assert [[turn.text for turn in call] for call in down.calls] in ([[ANAS], [BEAS]], [[BEAS], [ANAS]])
        assert ana.get(f"/conversations/{id}").json()["metadata"]["memory_extraction_failures"] == 1
    with serve(ON, embedder=embedder, extractor=rules) as service:
        assert service.sweep().written == 2


def test_nobodys_reading_holds_what_others_asked_or_were_answered(serve: Serve) -> None:
    seen = ScriptedExtractor()
    with serve(ON, extractor=seen) as service:
        ana, bea = person(service, "ana"), person(service, "bea")
        id = conversation(ana, workspace(ana, "bea"))
        for client, question, reply in ((ana, "Berth four?", "It is free."), (bea, "Berth five?", "It is taken.")):
            turns = [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
            client.post(f"/conversations/{id}/messages", json={"messages": turns}).raise_for_status()
        for name, expected in (("ana", ["Berth four?", "It is free."]), ("bea", ["Berth five?", "It is taken."])):
            reader = service.principal(PEOPLE[name])
            keys = {"tenant_id": reader.tenant_id, "subject_id": reader.subject_id, "conversation_id": UUID(id)}
            with service.app.database.read(reader) as connection:
                rows = connection.all("sweep.turns", **keys, done_seq=0, to_seq=4)
            assert [row.content for row in rows] == expected
        service.sweep()
        assert sorted([turn.text for turn in call] for call in seen.calls) == [["Berth five?"], ["Berth four?"]]


def test_subjects_of_shared_conversations_do_not_count_as_recurring(service: Service) -> None:
    """A recurring interest needs two turns of the person's own; those that others read are none."""
    ana = person(service, "ana")
    team = workspace(ana, "bea")
    service.say(ana, "What does the mooring tariff say about tugs?", conversation_id=conversation(ana, team))
    service.say(ana, "How is the mooring tariff computed?")
    service.sweep()
    assert texts(service, ana) == []
    service.say(ana, "Who sets the mooring tariff?")
    service.sweep()
    found = [item["source"]["message_ids"] for item in service.remembered(ana)]
    shared = ana.get(f"/conversations/{conversation(ana, team)}").json()
    assert shared["shared"] is True
    assert all(len(ids) == 2 for ids in found)


def test_erasing_covers_what_one_said_in_conversations_of_others(sharing: Service) -> None:
    ana, bea, _, id = talk(sharing)
    sharing.sweep()
    sharing.say(bea, "I use Python and QGIS.", conversation_id=id)
    sharing.say(ana, "I live in Banda Aceh.", conversation_id=id)
    receipt = bea.delete("/memories", params={"conversation_id": id}).json()["receipt"]
    assert (receipt["removed"]["memories"], receipt["removed"]["quotes"]) == (1, 1)
    assert len(receipt["sources_kept"]) == 1
    sharing.sweep()
    assert texts(sharing, bea) == [], "what was said before the erasure is not learned from any more"
    assert len(texts(sharing, ana)) == 2
    turns = ana.get(f"/conversations/{id}/messages").json()["items"]
    assert len(turns) == 4, "turns stay with the conversation, as the receipt says"
    assert bea.get("/candidates").json()["items"] == []
    sharing.say(bea, "I use Python and QGIS.", conversation_id=id)
    sharing.sweep()
    assert len(texts(sharing, bea)) == 1, "said anew"


def test_erasing_works_for_a_person_who_was_removed(sharing: Service) -> None:
    ana, bea, team, id = talk(sharing)
    sharing.sweep()
    sharing.say(bea, "I use Python and QGIS.", conversation_id=id)
    ana.delete(f"/workspaces/{team}/members/{PEOPLE['bea']}").raise_for_status()
    assert bea.delete("/memories").json()["receipt"]["removed"]["memories"] == 1
    ana.put(f"/workspaces/{team}/members/{PEOPLE['bea']}").raise_for_status()
    sharing.sweep()
    assert texts(sharing, bea) == []
    assert texts(sharing, ana) == [ANAS.rstrip(".")]


@pytest.mark.parametrize("step", ["read", "thought"])
def test_an_erasure_by_one_asker_in_flight_leaves_the_others_unharmed(serve: Serve, step: str) -> None:
    act: list[Callable[[], object]] = []
    with serve(ON, pause=paused_at(step, act)) as service:
        ana, bea, _, _ = talk(service)
        act.append(lambda: bea.delete("/memories").raise_for_status())
        assert service.sweep().written == 0
        service.sweep()
        assert texts(service, bea) == []
        assert texts(service, ana) == [ANAS.rstrip(".")]
