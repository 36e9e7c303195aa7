"""What people do about candidates of their own: take back what waits, and ask for another look."""

from __future__ import annotations

import pytest

from ingatan.types import Role
from tests.api.conftest import WORK, held, queued, reviewer
from tests.serving import Service
from tests.tables import Tables


def test_its_person_takes_it_back(governed: Service, tables: Tables) -> None:
    ana, rita = governed.client(), reviewer(governed)
    id = held(governed, ana, WORK)
    assert governed.client("bea").post(f"/candidates/{id}/withdraw").status_code == 404
    assert ana.post(f"/candidates/{id}/withdraw").json()["state"] == "withdrawn"
    assert queued(rita) == []
    assert tables.run("select state, payload, reasons from candidates") == [("withdrawn", None, ["withdrawn"])]
    assert ana.post(f"/candidates/{id}/withdraw").status_code == 409
    assert rita.post(f"/review/candidates/{id}/approve").status_code == 409
    assert ana.post(f"/candidates/{id}/appeal", json={"text": WORK}).status_code == 409


def test_an_appeal_brings_what_was_refused_back_once(governed: Service) -> None:
    ana, rita = governed.client(), reviewer(governed)
    id = held(governed, ana, WORK)
    rita.post(f"/review/candidates/{id}/reject", json={"note": "unsure"}).raise_for_status()
    needed = ana.post(f"/candidates/{id}/appeal", json={"note": "It is true."})
    assert (needed.status_code, needed.json()["code"]) == (422, "text_needed")
    ana.post(f"/candidates/{id}/appeal", json={"note": "It is true.", "text": WORK}).raise_for_status()
    [again] = queued(rita, appealed="true")
    assert again["id"] == id
    item = rita.get(f"/review/candidates/{id}").json()
    assert (item["text"], item["appeal_note"]) == (WORK, "It is true.")
    assert rita.post(f"/review/candidates/{id}/approve").json()["decision"] == "accept"
    assert [item["text"] for item in governed.remembered(ana)] == [WORK]
    assert ana.post(f"/candidates/{id}/appeal", json={"text": WORK}).status_code == 409


def test_a_held_one_is_marked_by_an_appeal(governed: Service) -> None:
    ana, rita = governed.client(), reviewer(governed)
    id = held(governed, ana, WORK)
    ana.post(f"/candidates/{id}/appeal").raise_for_status()
    [item] = queued(rita, appealed="true")
    assert item["id"] == id
    assert ana.post(f"/candidates/{id}/appeal").json()["code"] == "appealed_before"


@pytest.mark.parametrize("sent", ["I was diagnosed with diabetes.", WORK])
def test_no_appeal_against_what_is_never_stored(governed: Service, tables: Tables, sent: str) -> None:
    ana = governed.client()
    refused = ana.post(
        "/candidates", json={"text": "I was diagnosed with diabetes.", "type": "fact", "source": {"kind": "self"}}
    ).json()
    answer = ana.post(f"/candidates/{refused['id']}/appeal", json={"text": sent})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_appealable")
    assert answer.json()["reasons"] == ["sensitive_health"]
    assert tables.about(["diabetes"]) == {}


def test_an_appeal_cannot_carry_something_else_in(governed: Service, tables: Tables) -> None:
    ana, rita = governed.client(), reviewer(governed)
    id = held(governed, ana, WORK)
    rita.post(f"/review/candidates/{id}/reject").raise_for_status()
    answer = ana.post(f"/candidates/{id}/appeal", json={"text": "My wife has been ill since May."})
    assert answer.status_code == 409
    assert tables.about(["wife"]) == {}


@pytest.mark.parametrize("by", ["page", "attribute", "chat"])
def test_what_is_not_to_be_remembered_waits_no_longer(governed: Service, tables: Tables, by: str) -> None:
    """Whoever wants to be forgotten, or an attribute of theirs, is not read by a reviewer meanwhile."""
    ana, bea, rita = governed.client(), governed.client("bea"), reviewer(governed)
    held(governed, ana, "I work at the harbour office.")
    others = [held(governed, bea, "I work at the town hall.")]
    if by == "page":
        ana.put("/consent", json={"consent": "withdrawn"}).raise_for_status()
    elif by == "attribute":
        others.append(held(governed, ana, "I prefer tables."))
        ana.post("/consent/never-again", json={"slot": "workplace"}).raise_for_status()
    else:
        governed.say(ana, "Never remember anything about me.")
        governed.sweep(minutes=62)
    assert {item["id"] for item in queued(rita)} == set(others)
    assert tables.about(["harbour"]).keys() <= {"messages", "conversations"}
    rows = governed.client("auditor", roles=[Role.AUDITOR]).get("/audit", params={"entity_type": "candidate"}).json()
    assert [row["action"] for row in rows["items"]].count("candidate_withdrawn") == 1
