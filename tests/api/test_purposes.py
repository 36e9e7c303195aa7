"""Purposes over real HTTP: a memory is used for what it may be used for, and for nothing else."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ingatan.identity import tenant_uuid
from ingatan.memories.policy_document import shipped
from ingatan.storage import embedded
from ingatan.storage.database import json_value
from ingatan.types import Role
from tests.serving import Service
from tests.signing import Signer
from tests.tables import Tables

JOSE = {"Content-Type": "application/jose"}


@pytest.fixture
def tables(server: embedded.EmbeddedServer, database_name: str) -> Tables:
    return Tables.of(server, database_name)


def govern(tables: Tables, version: int = 1, **types: list[str]) -> None:
    """A version of the tenant's policy with three purposes and two tasks."""
    document = shipped("assistant").model_dump(mode="json")
    document["purposes"] = ["assistance", "billing", "support"]
    document["tasks"] = {"invoice": ["billing"], "ticket": ["support", "assistance"]}
    for name, purposes in types.items():
        document["types"][name]["purposes"] = purposes
    tables.run(
        "insert into policy_versions (tenant_id, version, document, made_by) values (%s, %s, %s, gen_random_uuid())",
        tenant_uuid("default"),
        version,
        json_value(document),
    )


def recalled(client: httpx.Client, **fields: Any) -> list[str]:
    answer = client.post("/recall", json={"query": "What happened to the case?", **fields}).raise_for_status().json()
    return sorted(item["text"] for item in answer["memories"])


@pytest.fixture
def events(service: Service, tables: Tables) -> Signer:
    """Three events about Ana: for assistance, for billing, for billing and support."""
    govern(tables)
    signer = Signer()
    operator, agent = service.client("op", roles=[Role.ADMIN]), service.client("agent", roles=[Role.WRITER])
    body = {"name": "T", "kind": "event", "keys": signer.keys}
    signer.source_id = operator.post("/sources", json=body).raise_for_status().json()["id"]
    signer.tenant_id = str(tenant_uuid("default"))
    ana = str(service.principal("ana").subject_id)
    for text, purposes in (("Case 1.", None), ("Case 2.", ["billing"]), ("Case 3.", ["billing", "support"])):
        token = signer.event(f"The customer opened {text}", sub=ana, purposes=purposes)
        agent.post("/episodes", content=token, headers=JOSE).raise_for_status()
    return signer


def cases(*numbers: int) -> list[str]:
    return [f"The customer opened Case {number}." for number in numbers]


def test_recall_draws_on_what_the_question_is_for(service: Service, events: Signer) -> None:
    ana = service.client("ana")
    assert recalled(ana) == cases(1)
    assert recalled(ana, purpose="assistance") == cases(1)
    assert recalled(ana, purpose="billing") == cases(2, 3)
    assert recalled(ana, purpose="support") == cases(3)
    assert recalled(ana, task_type="invoice") == cases(2, 3)
    assert recalled(ana, task_type="ticket") == cases(1, 3)
    assert recalled(ana, task_type="ticket", purpose="support") == cases(3)
    for ranking in ("s1", "s2"):
        assert recalled(ana, purpose="support", ranking=ranking) == cases(3)
    shown = {tuple(row["purposes"]) for row in ana.get("/memories").json()["items"]}
    assert shown == {("assistance",), ("billing",), ("billing", "support")}


@pytest.mark.parametrize(
    "fields",
    [
        {"purpose": "marketing"},
        {"task_type": "marketing"},
        {"task_type": "invoice", "purpose": "support"},
        {"task_type": "assistance"},
        {"purpose": ""},
        {"purpose": "*"},
        {"purpose": ["billing", "support"]},
        {"purpose": "Billing"},
    ],
)
def test_what_the_policy_does_not_name_is_refused(service: Service, events: Signer, fields: dict[str, Any]) -> None:
    ana = service.client("ana")
    assert ana.post("/recall", json={"query": "x", **fields}).status_code == 422
    assert ana.post("/recall", json={"query": "x", "purpose": "billing"}).status_code == 200


def test_without_a_policy_of_ones_own_there_is_one_purpose(service: Service, tables: Tables) -> None:
    ana = service.client("ana")
    assert recalled(ana, purpose="assistance") == []
    for fields in ({"purpose": "billing"}, {"task_type": "invoice"}):
        assert ana.post("/recall", json={"query": "x", **fields}).status_code == 422
    govern(tables)
    assert recalled(ana, purpose="billing") == []
    stranger = service.client("ana", tenant="acme")
    assert stranger.post("/recall", json={"query": "x", "purpose": "billing"}).status_code == 422


def test_a_memory_takes_the_purposes_of_its_type_and_keeps_them(service: Service, tables: Tables) -> None:
    govern(tables, preference=["support"])
    ana = service.client("ana")
    body = {"text": "I prefer short answers.", "type": "preference", "source": {"kind": "self"}}
    id = ana.post("/candidates", json=body).raise_for_status().json()["memory_id"]
    assert (recalled(ana), recalled(ana, purpose="support")) == ([], [body["text"]])
    govern(tables, 2, preference=["billing"])
    changed = ana.patch(f"/memories/{id}", json={"text": "I prefer very short answers."}).raise_for_status().json()
    assert changed["purposes"] == ["support"]
    assert recalled(ana, purpose="billing") == []


def test_a_source_brings_nothing_for_other_purposes_than_its_own(service: Service, events: Signer) -> None:
    signer = Signer()
    operator, agent = service.client("op", roles=[Role.ADMIN]), service.client("agent", roles=[Role.WRITER])
    body = {"name": "B", "kind": "event", "keys": signer.keys, "purposes": ["billing"]}
    signer.source_id = operator.post("/sources", json=body).raise_for_status().json()["id"]
    signer.tenant_id = events.tenant_id
    ana = str(service.principal("ana").subject_id)

    def send(*purposes: str) -> httpx.Response:
        token = signer.event("The customer paid invoice 9.", sub=ana, purposes=list(purposes))
        return agent.post("/episodes", content=token, headers=JOSE)

    assert send().json()["reasons"] == ["writer_not_allowed"]  # its type's purposes are not its own
    assert send("support").json()["reasons"] == ["writer_not_allowed"]
    assert send("billing", "support").json()["reasons"] == ["writer_not_allowed"]
    assert send("billing").status_code == 201
