"""Sources and batches over real HTTP: who registers them, who speaks for them, and what each may write."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from ingatan.types import Role, Scope
from tests.api.house import House
from tests.signing import Signer


def test_content_that_is_passed_on_waits_and_is_not_recalled(house: House) -> None:
    answer = house.bring(house.source(), "I work at the port of Sabang.")
    assert (answer.status_code, answer.json()["decision"]) == (201, "quarantine"), answer.text
    assert answer.json()["reasons"] == ["untrusted_source"]
    assert house.recalled("Where do I work?") == []
    assert house.ana.get("/memories").json()["items"] == []


def test_what_it_repeats_gains_nothing_by_it(house: House) -> None:
    body: dict[str, Any] = {
        "text": "I work at the port of Sabang.",
        "type": "fact",
        "source": {"kind": "self"},
        "importance": 0.4,
    }
    house.ana.post("/candidates", json=body).raise_for_status()
    assert house.bring(house.source(), body["text"], importance=1.0).json()["decision"] == "quarantine"
    assert house.ana.get("/memories").json()["items"][0]["importance"] == pytest.approx(0.4)


def test_its_authority_is_narrow(house: House) -> None:
    narrow = house.source(types=["preference"])
    said = "I work at the port of Sabang."
    assert house.bring(narrow, said).json()["reasons"] == ["writer_not_allowed"]
    assert house.bring(narrow, "I prefer short answers.", type="preference").json()["decision"] == "quarantine"
    scoped = house.source(scopes=["account"], types=["preference"])
    assert house.bring(scoped, "I prefer short answers.", type="preference").json()["reasons"] == ["writer_not_allowed"]
    purposed = house.source(purposes=["billing"])
    assert house.bring(purposed, said).json()["reasons"] == ["writer_not_allowed"]
    wide = house.source(scopes=["user", "account", "organisation"], types=["preference", "fact", "knowledge"])
    for scope in ("organisation",):
        answer = house.bring(wide, said, scope=scope, subject_id=None).json()
        assert (answer["decision"], answer["reasons"]) == ("reject", ["scope_not_allowed"])
    assert house.bring(wide, "The port opens at nine.", type="knowledge").json()["reasons"] == ["type_not_allowed"]


def test_only_its_writer_speaks_for_it(house: House) -> None:
    source, said = house.source(), "I work at the port of Sabang."
    other = house.service.client("other", roles=[Role.WRITER])
    assert house.bring(source, said, other).status_code == 403
    assert house.bring(source, said, house.ana).status_code == 403
    assert house.bring(source, said, house.operator).status_code == 403
    assert other.post("/batches", json={"source_id": source}).status_code == 403
    assert house.bring(str(uuid4()), said).status_code == 404
    assert house.bring(source, said, kind="document").status_code == 422
    stranger = house.service.client("agent", tenant="acme", roles=[Role.WRITER, Role.ADMIN])
    assert house.bring(source, said, stranger).status_code == 404
    assert stranger.get(f"/sources/{source}").status_code == 404
    assert stranger.post(f"/sources/{source}/revoke").status_code == 404
    assert stranger.post("/batches", json={"source_id": source}).status_code == 404
    assert stranger.get("/sources").json()["items"] == []
    assert house.bring(source, said).status_code == 201


def test_a_service_writes_about_nobody_as_themselves(house: House) -> None:
    body = {"text": "I prefer tea.", "type": "preference", "source": {"kind": "self"}, "subject_id": house.person}
    assert house.agent.post("/candidates", json=body).status_code == 403


def test_a_batch_is_its_sources(house: House) -> None:
    one, two = house.source(), house.source()
    batch = house.agent.post("/batches", json={"source_id": one}).raise_for_status().json()["id"]
    assert house.bring(two, "I like tea.", batch_id=batch).status_code == 404
    assert house.bring(one, "I like tea.", batch_id=batch).status_code == 201
    signer = house.events()
    assert house.happened(signer, "Case 4 was opened.", batch=batch).status_code == 404
    assert house.recalled("case 4") == []


def test_what_is_derived_carries_no_further_than_what_it_comes_from(house: House) -> None:
    body = {"text": "I called about order 12.", "type": "episode", "source": {"kind": "self"}}
    told = house.ana.post("/candidates", json=body).json()["memory_id"]
    source = house.source()
    house.approve(house.bring(source, "I use the orders page.", derived_from=[told]).json()["id"])
    house.approve(house.bring(source, "I use the maps page.", derived_from=[str(uuid4())]).json()["id"])
    trusts = house.tables.run("select trust from memories where source_id is not null")
    assert trusts == [("unverified",), ("unverified",)]
    for item in house.ana.get("/memories").json()["items"]:
        if item["id"] != told:
            house.ana.patch(f"/memories/{item['id']}", json={"importance": 0.9}).raise_for_status()
    assert house.recalled("Which page do I use?") == []


def test_repeated_with_a_key_it_is_made_once(house: House) -> None:
    key = {"Idempotency-Key": "k"}
    body = {"name": "S", "kind": "external", "writer_id": str(house.service.principal("agent").subject_id)}
    one, two = (house.operator.post("/sources", json=body, headers=key).json()["id"] for _ in "ab")
    assert one == two
    batches = {house.agent.post("/batches", json={"source_id": one}, headers=key).json()["id"] for _ in "ab"}
    assert len(batches) == 1
    assert (
        house.operator.post("/sources", json=body | {"name": "T"}, headers=key).json()["code"]
        == "idempotency_key_reused"
    )


def test_sources_are_the_administrators(house: House) -> None:
    source = house.source()
    body = {"name": "S", "kind": "external", "writer_id": str(uuid4())}
    for client in (house.ana, house.agent):
        assert client.post("/sources", json=body).status_code == 403
        assert client.post(f"/sources/{source}/revoke").status_code == 403
    assert house.ana.get("/sources").status_code == 403
    assert house.ana.post("/batches", json={"source_id": source}).status_code == 403
    wrong: tuple[dict[str, Any], ...] = (
        {"kind": "event"},
        {"kind": "x"},
        {"writer_id": None},
        {"keys": Signer().keys},
        {"types": []},
        {"z": 1},
    )
    for bad in wrong:
        assert house.operator.post("/sources", json=body | bad).status_code == 422, bad
    assert house.operator.post("/sources", json=body).status_code == 201


def test_a_document_waits_for_a_reviewer_and_is_the_organisations(house: House) -> None:
    source = house.source("document")  # by itself about the organisation
    said = "The port opens at nine."
    fields: dict[str, Any] = {"type": "knowledge", "scope": "organisation", "kind": "document", "subject_id": None}
    answer = house.bring(source, said, **fields).json()
    assert answer["decision"] == "review"
    house.approve(answer["id"])
    ben = house.service.client("ben")
    assert house.recalled("When does the port open?") == house.recalled("When does the port open?", ben) == [said]
    stranger = house.service.client("ana", tenant="acme")
    assert house.recalled("When does the port open?", stranger) == []
    [(id,)] = house.tables.run("select id from memories")
    for client in (house.ana, house.operator):
        assert client.delete(f"/memories/{id}").status_code in (403, 404)
    assert house.ana.patch(f"/memories/{id}", json={"importance": 0.1}).status_code in (403, 422)
    house.ana.delete("/memories").raise_for_status()
    assert house.recalled("When does the port open?", ben) == [said]
    assert Scope.ORGANISATION.value == house.tables.run("select scope from memories")[0][0]
