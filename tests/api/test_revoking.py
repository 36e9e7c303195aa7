"""Taking back what a source or one of its batches brought, with all that came of it, over real HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from ingatan.types import Role
from tests.api.house import WAIT_SECONDS, House


def test_revoking_takes_back_everything_and_what_it_replaced_is_served_again(house: House) -> None:
    house.ana.post(
        "/candidates", json={"text": "I work at the port of Sabang.", "type": "fact", "source": {"kind": "self"}}
    ).raise_for_status()
    source = house.source()
    replaced = house.bring(source, "I work at the bank of Medan.").json()["id"]
    house.approve(replaced)  # the same attribute, by a source with less authority: a conflict
    house.tables.run(
        "update memories set status = 'superseded', retired_at = now(), retired_by = (select candidate_id "
        "from memories where source_id is not null) where source_id is null"
    )
    house.tables.run(
        "delete from memory_embeddings e using memories m where m.id = e.memory_id and m.source_id is null"
    )
    waiting = house.bring(source, "I like the harbour.").json()["id"]
    assert house.recalled("Where do I work?") == ["I work at the bank of Medan."]
    epoch = house.tables.run("select erasure_epoch from subjects where id = %s", UUID(house.person))

    answer = house.operator.post(f"/sources/{source}/revoke")
    assert (answer.status_code, answer.json()["withdrawn"], answer.json()["restored"]) == (200, 1, 1), answer.text
    assert house.operator.post(f"/sources/{source}/revoke").status_code == 409
    assert house.recalled("Where do I work?") == ["I work at the port of Sabang."]
    assert house.tables.run(
        "select state, payload, decision, reasons from candidates where id = %s", UUID(waiting)
    ) == [("withdrawn", None, "reject", ["withdrawn"])]
    assert house.tables.run("select erasure_epoch from subjects where id = %s", UUID(house.person)) != epoch
    assert house.tables.run("select count(*) from memory_embeddings") == [(0,)]
    assert house.service.app.projections.tend() == 1
    assert house.tables.run("select m.text from memory_embeddings e join memories m on m.id = e.memory_id") == [
        ("I work at the port of Sabang.",)
    ]
    assert house.recalled("Where do I work?", as_of=datetime.now(UTC).isoformat()) == ["I work at the port of Sabang."]
    assert [row["details"]["withdrawn"] for row in house.audited("source_revoked")] == [1]
    assert len(house.audited("memory_withdrawn")) == len(house.audited("memory_restored")) == 1
    assert house.bring(source, "I like the sea.").json()["reasons"] == ["source_revoked"]
    assert house.agent.post("/batches", json={"source_id": source}).status_code == 409


def test_what_was_derived_goes_too_through_three_steps(house: House) -> None:
    first, second = house.source(), house.source()
    a = house.approve(house.bring(first, "I work at the port of Sabang.").json()["id"])
    b = house.approve(house.bring(second, "I work with ships.", derived_from=[a]).json()["id"])
    c = house.approve(house.bring(second, "I like ships.", derived_from=[b], type="preference").json()["id"])
    house.approve(house.bring(second, "I like tea.", type="preference").json()["id"])
    waiting = house.bring(second, "I use charts of the sea.", derived_from=[c]).json()["id"]
    assert len(house.recalled("ships and the port")) == 4
    before = datetime.now(UTC).isoformat()
    answer = house.operator.post(f"/sources/{first}/revoke").json()
    assert (answer["withdrawn"], answer["restored"]) == (3, 0)
    assert house.recalled("ships and the port") == ["I like tea."]
    assert house.recalled("ships and the port", as_of=before) == ["I like tea."]
    assert house.tables.run("select state, payload from candidates where id = %s", UUID(waiting)) == [
        ("withdrawn", None)
    ]
    assert {row["entity_id"] for row in house.audited("memory_withdrawn")} == {a, b, c}


def test_a_batch_is_rolled_back_alone(house: House) -> None:
    signer = house.events()
    house.source()
    account = house.operator.post("/accounts", json={"name": "K"}).json()["id"]
    house.operator.put(f"/accounts/{account}/members/{house.person}", json={"role": "member"}).raise_for_status()
    one, two = (house.operator.post("/batches", json={"source_id": signer.source_id}).json()["id"] for _ in "ab")
    assert house.happened(signer, "Case 1 was opened.", batch=one).status_code == 201
    assert house.happened(signer, "Case 2 was opened.", batch=one, account=account).status_code == 201
    assert house.happened(signer, "Case 3 was opened.", batch=two).status_code == 201
    answer = house.operator.post(f"/batches/{one}/rollback")
    assert (answer.status_code, answer.json()["withdrawn"], answer.json()["restored"]) == (200, 2, 0)
    assert house.operator.post(f"/batches/{one}/rollback").status_code == 409
    assert house.operator.post(f"/batches/{uuid4()}/rollback").status_code == 404
    assert house.agent.post(f"/batches/{two}/rollback").status_code == 403
    assert house.recalled("Which case was opened?") == ["Case 3 was opened."]
    assert house.happened(signer, "Case 4 was opened.", batch=one).status_code == 409
    assert house.happened(signer, "Case 5 was opened.", batch=two).status_code == 201
    assert house.operator.post(f"/sources/{signer.source_id}/revoke").json()["withdrawn"] == 2


def test_nothing_approved_in_flight_brings_it_back(house: House) -> None:
    """Revoked while a reviewer's approval is being embedded."""
    source = house.source()
    waiting = house.bring(source, "I work at the port of Sabang.").json()["id"]
    rita = house.service.client("rita", roles=[Role.REVIEWER])
    house.gate.held = True
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(rita.post, f"/review/candidates/{waiting}/approve", json={})
        assert house.gate.arrived.wait(WAIT_SECONDS)
        assert house.operator.post(f"/sources/{source}/revoke").json()["withdrawn"] == 0
        house.gate.opened.set()
        assert sent.result().status_code == 409
    assert house.tables.run("select count(*) from memories") == [(0,)]
    assert house.tables.run("select state, payload from candidates") == [("withdrawn", None)]


@pytest.mark.parametrize("whole", [True, False])
def test_nothing_in_flight_brings_it_back(house: House, whole: bool) -> None:
    """Revoked while what it says is being embedded, for a person of whom nothing was remembered before."""
    signer = house.events()
    batch = house.operator.post("/batches", json={"source_id": signer.source_id}).json()["id"]
    house.gate.held = True
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(house.happened, signer, "Case 1 was opened.", batch=batch)
        assert house.gate.arrived.wait(WAIT_SECONDS)
        path = f"/sources/{signer.source_id}/revoke" if whole else f"/batches/{batch}/rollback"
        assert house.operator.post(path).json()["withdrawn"] == 0
        house.gate.opened.set()
        assert sent.result().status_code in (409, 422)
    assert house.recalled("Which case was opened?") == []
    assert house.tables.run("select count(*) from memories") == [(0,)]


def test_what_was_superseded_twice_stays_superseded(house: House) -> None:
    """The person's later word replaced what the source had put in place of their earlier one: that stays as it is."""

    def state(text: str) -> object:
        return house.tables.run("select status from memories where text = %s", text)[0][0]

    def say(text: str) -> None:
        body = {"text": text, "type": "fact", "source": {"kind": "self"}}
        house.ana.post("/candidates", json=body).raise_for_status()

    source = house.source()
    say("I work at the port of Sabang.")
    house.approve(house.bring(source, "I work at the bank of Medan.").json()["id"])
    house.tables.run(
        "update memories set status = 'superseded', retired_at = now(), retired_by = (select candidate_id "
        "from memories where source_id is not null) where source_id is null"
    )
    say("I work at the school of Padang.")
    assert state("I work at the bank of Medan.") == "superseded"
    answer = house.operator.post(f"/sources/{source}/revoke").json()
    assert (answer["withdrawn"], answer["restored"]) == (1, 0)
    assert state("I work at the port of Sabang.") == "superseded"
    assert house.recalled("Where do I work?") == ["I work at the school of Padang."]


def test_what_the_person_had_closed_stays_closed(house: House) -> None:
    source = house.source()
    house.approve(house.bring(source, "I work at the port of Sabang.").json()["id"])
    house.service.say(house.ana, "Forget where I work.")
    house.service.sweep()
    assert house.recalled("Where do I work?") == []
    assert house.operator.post(f"/sources/{source}/revoke").json()["withdrawn"] == 0
    assert house.tables.run("select status from memories") == [("deleted",)]


def test_a_change_of_weight_makes_nothing_ones_own_word(house: House) -> None:
    """Its text as it was, a version carries no further than before, and goes with the source that brought it."""
    first, second = house.source(), house.source()
    a = house.approve(house.bring(first, "I work at the port of Sabang.").json()["id"])
    b = house.approve(house.bring(second, "I work with ships.").json()["id"])
    house.ana.patch(f"/memories/{a}", json={"importance": 0.9}).raise_for_status()
    changed = house.ana.patch(f"/memories/{a}", json={"importance": 0.8}).raise_for_status().json()
    assert (changed["version"], changed["trust"]) == (3, "confirmed")
    own = house.ana.patch(f"/memories/{b}", json={"text": "I work with small ships."}).raise_for_status().json()
    assert own["trust"] == "confirmed"
    assert house.operator.post(f"/sources/{first}/revoke").json()["withdrawn"] == 3
    assert house.operator.post(f"/sources/{second}/revoke").json()["withdrawn"] == 1
    assert house.recalled("ships and the port") == ["I work with small ships."]
