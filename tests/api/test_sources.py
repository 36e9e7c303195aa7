"""Sources and batches over real HTTP: what each may write, and taking back all that one brought."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from ingatan.embeddings import Vector
from ingatan.identity import tenant_uuid
from ingatan.storage import embedded
from ingatan.testing import WordEmbedder
from ingatan.types import Role, Scope
from tests.serving import Service, serving
from tests.signing import Signer
from tests.tables import Tables

JOSE = {"Content-Type": "application/jose"}
WAIT_SECONDS = 20.0


class Gate(WordEmbedder):
    """An embedder that can be held while it embeds what would be stored."""

    def __init__(self) -> None:
        super().__init__()
        self.held = False
        self.arrived, self.opened = threading.Event(), threading.Event()

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors, once the gate is open."""
        if self.held:
            self.held = False
            self.arrived.set()
            assert self.opened.wait(WAIT_SECONDS)
        return list(super().passages(texts))


@dataclass
class House:
    """A tenant with an operator, a service that writes, and the tables behind."""

    service: Service
    gate: Gate
    tables: Tables
    operator: httpx.Client
    agent: httpx.Client
    ana: httpx.Client
    person: str

    def source(self, kind: str = "external", **fields: Any) -> str:
        """A registered source; the agent speaks for it."""
        agent = str(self.service.principal("agent").subject_id)
        named = {"name": kind, "kind": kind} | ({} if kind == "event" else {"writer_id": agent})
        return str(self.operator.post("/sources", json=named | fields).raise_for_status().json()["id"])

    def events(self, **fields: Any) -> Signer:
        """A registered source of signed events."""
        signer = Signer()
        signer.tenant_id = str(tenant_uuid("default"))
        signer.source_id = self.source("event", keys=signer.keys, scopes=["user", "account"], **fields)
        return signer

    def happened(self, signer: Signer, text: str, **claims: Any) -> httpx.Response:
        """An event about Ana, unless it says otherwise."""
        about = {} if "account" in claims else {"sub": self.person}
        return self.agent.post("/episodes", content=signer.event(text, **about, **claims), headers=JOSE)

    def bring(self, source: str, text: str, client: httpx.Client | None = None, **fields: Any) -> httpx.Response:
        """Pass content on about Ana."""
        given = {name: fields.pop(name) for name in ("batch_id", "derived_from", "kind") if name in fields}
        body = {
            "text": text,
            "type": "fact",
            "subject_id": self.person,
            "source": {"kind": "external", "source_id": source} | given,
        } | fields
        return (client or self.agent).post("/candidates", json=body)

    def approve(self, candidate_id: str) -> str:
        """A reviewer approves what waits; the memory's id."""
        rita = self.service.client("rita", roles=[Role.REVIEWER])
        answer = rita.post(f"/review/candidates/{candidate_id}/approve", json={})
        assert answer.json().get("memory_id"), answer.text
        return str(answer.json()["memory_id"])

    def recalled(self, query: str, client: httpx.Client | None = None, **fields: Any) -> list[str]:
        """Texts recalled, sorted."""
        asked = (client or self.ana).post("/recall", json={"query": query, **fields}).raise_for_status().json()
        return sorted(item["text"] for item in asked["memories"])

    def audited(self, action: str) -> list[dict[str, Any]]:
        """Audit rows of one action."""
        auditor = self.service.client("aud", roles=[Role.AUDITOR])
        rows = auditor.get("/audit", params={"limit": 100}).raise_for_status().json()["items"]
        return [row for row in rows if row["action"] == action]


@pytest.fixture
def house(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[House]:
    gate = Gate()
    with serving(server.url(embedded.APP, database_name), tmp_path, embedder=gate) as service:
        yield House(
            service,
            gate,
            Tables.of(server, database_name),
            service.client("operator", roles=[Role.ADMIN]),
            service.client("agent", roles=[Role.WRITER]),
            service.client("ana"),
            str(service.principal("ana").subject_id),
        )


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
    source = house.source("document", scopes=["organisation"])
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
