"""/workspaces: who may start, see, rename, delete and fill one; and what its members do in its conversations."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from ingatan import workspaces
from ingatan.types import Role
from tests.serving import Service
from tests.tables import Tables

PEOPLE = {name: str(uuid4()) for name in ("ana", "bea", "cia", "dan")}


def person(service: Service, name: str) -> httpx.Client:
    """A client of one of the people of this page."""
    return service.client(PEOPLE[name])


def workspace(client: httpx.Client, *members: str) -> str:
    """A workspace of the client's person with these members."""
    id = str(client.post("/workspaces", json={"name": "Port team"}).raise_for_status().json()["id"])
    for name in members:
        client.post(f"/workspaces/{id}/members", json={"subject_id": PEOPLE[name]}).raise_for_status()
    return id


def conversation(client: httpx.Client, workspace_id: str) -> str:
    """A conversation of the client's person in the workspace."""
    return str(client.post("/conversations", json={"workspace_id": workspace_id}).raise_for_status().json()["id"])


def test_anyone_starts_a_workspace_and_only_its_owner_manages_it(service: Service) -> None:
    ana, bea, dan = person(service, "ana"), person(service, "bea"), person(service, "dan")
    id = workspace(ana, "bea")
    mine = ana.get(f"/workspaces/{id}").json()
    assert (mine["name"], mine["role"], mine["members"], mine["owner_id"]) == ("Port team", "owner", 2, PEOPLE["ana"])
    assert bea.get(f"/workspaces/{id}").json()["role"] == "member"
    assert {item["subject_id"]: item["role"] for item in bea.get(f"/workspaces/{id}/members").json()["items"]} == {
        PEOPLE["ana"]: "owner",
        PEOPLE["bea"]: "member",
    }
    acts: list[tuple[str, str, dict[str, Any] | None]] = [
        ("PATCH", f"/workspaces/{id}", {"name": "Ours"}),
        ("DELETE", f"/workspaces/{id}", None),
        ("POST", f"/workspaces/{id}/members", {"subject_id": PEOPLE["cia"]}),
        ("PUT", f"/workspaces/{id}/members/{PEOPLE['cia']}", None),
        ("DELETE", f"/workspaces/{id}/members/{PEOPLE['ana']}", None),
    ]
    for method, path, body in acts:
        assert bea.request(method, path, json=body).status_code == 403
        assert dan.request(method, path, json=body).status_code == 404
    for path in (f"/workspaces/{id}", f"/workspaces/{id}/members"):
        assert dan.get(path).status_code == 404
        assert dan.get(path).json() == dan.get(path.replace(id, str(uuid4()))).json()
    assert ana.patch(f"/workspaces/{id}", json={"name": "Harbour team"}).json()["name"] == "Harbour team"
    assert ana.put(f"/workspaces/{id}/members/{PEOPLE['cia']}").status_code == 201
    assert ana.put(f"/workspaces/{id}/members/{PEOPLE['cia']}").status_code == 200
    assert ana.delete(f"/workspaces/{id}/members/{PEOPLE['cia']}").status_code == 204
    assert ana.delete(f"/workspaces/{id}/members/{PEOPLE['cia']}").status_code == 404
    assert ana.delete(f"/workspaces/{id}/members/{PEOPLE['ana']}").status_code == 409
    assert bea.delete(f"/workspaces/{id}/members/{PEOPLE['bea']}").status_code == 204, "anyone may leave"
    assert bea.get(f"/workspaces/{id}").status_code == 404


def test_another_tenant_sees_none_of_it(service: Service) -> None:
    id = workspace(person(service, "ana"), "bea")
    elsewhere = service.client(PEOPLE["bea"], tenant="other")
    assert elsewhere.get(f"/workspaces/{id}").status_code == 404
    assert elsewhere.get("/workspaces").json()["items"] == []
    assert elsewhere.post("/conversations", json={"workspace_id": id}).status_code == 404


def test_posts_with_a_key_happen_once(service: Service) -> None:
    ana = person(service, "ana")
    key = {"Idempotency-Key": "one"}
    first = ana.post("/workspaces", json={"name": "Port team"}, headers=key)
    again = ana.post("/workspaces", json={"name": "Port team"}, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["id"] == again.json()["id"]
    assert len(ana.get("/workspaces").json()["items"]) == 1
    assert ana.post("/workspaces", json={"name": "Other"}, headers=key).status_code == 409
    path = f"/workspaces/{first.json()['id']}/members"
    added = [ana.post(path, json={"subject_id": PEOPLE["bea"]}, headers=key).status_code for _ in range(2)]
    assert added == [201, 201]
    assert ana.post(path, json={"subject_id": PEOPLE["bea"]}).status_code == 200
    body = {"workspace_id": first.json()["id"]}
    started = {ana.post("/conversations", json=body, headers=key).json()["id"] for _ in range(2)}
    assert len(started) == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/workspaces", {}),
        ("/workspaces", {"name": "  "}),
        ("/workspaces", {"name": "x" * 201}),
        ("/workspaces", {"name": "x", "owner_id": PEOPLE["bea"]}),
        ("/workspaces/{id}/members", {"subject_id": "00000000-0000-0000-0000-000000000000"}),
        ("/workspaces/{id}/members", {"subject_id": "ana"}),
        ("/workspaces/{id}/members", {"subject_id": PEOPLE["bea"], "role": "owner"}),
    ],
)
def test_bad_bodies_are_refused(service: Service, path: str, body: dict[str, Any]) -> None:
    ana = person(service, "ana")
    assert ana.post(path.format(id=workspace(ana)), json=body).status_code == 422


def test_lists_page_without_gap_or_repeat(service: Service) -> None:
    ana, bea = person(service, "ana"), person(service, "bea")
    ids = [workspace(ana) for _ in range(5)]
    for _ in range(5):
        ana.post(f"/workspaces/{ids[0]}/members", json={"subject_id": str(uuid4())}).raise_for_status()
    ana.post(f"/workspaces/{ids[0]}/members", json={"subject_id": PEOPLE["bea"]}).raise_for_status()
    talks = [conversation(client, ids[0]) for client in (ana, bea, ana)] + [
        str(bea.post("/conversations", json={}).json()["id"]) for _ in range(3)
    ]

    def walk(client: httpx.Client, path: str, key: str) -> list[str]:
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = client.get(path, params={"limit": "2"} | ({"cursor": cursor} if cursor else {})).json()
            found += [item[key] for item in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    assert walk(ana, "/workspaces", "id") == ids[::-1]
    members = walk(ana, f"/workspaces/{ids[0]}/members", "subject_id")
    assert members == sorted(set(members))
    assert len(members) == 7
    assert walk(bea, "/conversations", "id") == talks[::-1]
    assert walk(ana, "/conversations", "id") == talks[2::-1]


def test_members_read_and_continue_and_only_maker_and_owner_change(service: Service) -> None:
    ana, bea, cia, dan = (person(service, name) for name in PEOPLE)
    team = workspace(ana, "bea", "cia")
    id = conversation(bea, team)
    service.say(bea, "Where is berth four?", conversation_id=id)
    service.say(cia, "And berth five?", conversation_id=id)
    for member in (ana, bea, cia):
        seen = member.get(f"/conversations/{id}").json()
        assert (seen["workspace_id"], seen["user_id"], seen["shared"]) == (team, PEOPLE["bea"], True)
        assert (seen["askers"], seen["members"]) == (2, 3)
        turns = member.get(f"/conversations/{id}/messages").json()["items"]
        assert [turn["metadata"]["author_id"] for turn in turns] == [PEOPLE["bea"], PEOPLE["cia"]]
        assert [item["id"] for item in member.get("/conversations").json()["items"]] == [id]
    assert dan.get("/conversations").json()["items"] == []
    for path in ("", "/messages", "/window"):
        assert dan.get(f"/conversations/{id}{path}").status_code == 404
    turn = {"messages": [{"role": "user", "content": "hello"}]}
    assert dan.post(f"/conversations/{id}/messages", json=turn).status_code == 404
    assert dan.patch(f"/conversations/{id}", json={"title": "x"}).status_code == 404
    assert dan.delete(f"/conversations/{id}").status_code == 404
    assert cia.patch(f"/conversations/{id}", json={"title": "x"}).status_code == 403
    assert cia.delete(f"/conversations/{id}").status_code == 403
    assert bea.patch(f"/conversations/{id}", json={"title": "Berths"}).json()["title"] == "Berths"
    assert ana.patch(f"/conversations/{id}", json={"title": "All berths"}).json()["title"] == "All berths"
    assert ana.delete(f"/conversations/{id}").status_code == 204
    for member in (ana, bea, cia):
        assert member.get(f"/conversations/{id}").status_code == 404


def test_a_conversation_of_ones_own_is_not_shared(service: Service) -> None:
    ana = person(service, "ana")
    alone = ana.post("/conversations", json={}).json()
    assert (alone["workspace_id"], alone["shared"], alone["askers"], alone["members"]) == (None, False, 1, 1)
    team = workspace(ana)
    assert ana.get(f"/conversations/{conversation(ana, team)}").json()["shared"] is False
    assert ana.post("/conversations", json={"workspace_id": str(uuid4())}).status_code == 404


def test_a_deleted_workspace_takes_its_views_along(service: Service) -> None:
    ana, bea = person(service, "ana"), person(service, "bea")
    team = workspace(ana, "bea")
    id = conversation(bea, team)
    service.say(bea, "I prefer short answers.", conversation_id=id)
    assert ana.delete(f"/workspaces/{team}").status_code == 204
    for member in (ana, bea):
        assert member.get(f"/workspaces/{team}").status_code == 404
        assert member.get("/workspaces").json()["items"] == []
        assert member.get(f"/conversations/{id}").status_code == 404
    assert ana.put(f"/workspaces/{team}/members/{PEOPLE['cia']}").status_code == 404
    assert service.sweep().conversations == 0


def test_administrative_acts_are_audited_without_names(service: Service) -> None:
    ana = person(service, "ana")
    team = workspace(ana, "bea")
    ana.patch(f"/workspaces/{team}", json={"name": "Quillon"}).raise_for_status()
    ana.delete(f"/workspaces/{team}/members/{PEOPLE['bea']}").raise_for_status()
    ana.delete(f"/workspaces/{team}").raise_for_status()
    auditor = service.client("auditor", roles=[Role.AUDITOR])
    rows = auditor.get("/audit", params={"entity_type": "workspace", "entity_id": team}).json()["items"]
    assert [row["action"] for row in rows][::-1] == [
        "workspace_created",
        "member_added",
        "workspace_renamed",
        "member_removed",
        "workspace_deleted",
    ]
    assert {row["actor"] for row in rows} == {PEOPLE["ana"]}
    assert "Quillon" not in str(rows)
    assert auditor.get("/audit/verify").json()["sound"] is True


def test_a_full_workspace_takes_nobody_new_and_a_member_again(service: Service, tables: Tables) -> None:
    ana = person(service, "ana")
    id = workspace(ana, "bea")
    tables.run(
        "insert into workspace_members (tenant_id, workspace_id, subject_id, role) "
        "select tenant_id, id, gen_random_uuid(), 'member' from workspaces, generate_series(3, %s) where id = %s",
        workspaces.MEMBERS_MAX,
        UUID(id),
    )
    assert ana.put(f"/workspaces/{id}/members/{PEOPLE['cia']}").status_code == 409
    assert person(service, "cia").get(f"/workspaces/{id}").status_code == 404
    assert ana.put(f"/workspaces/{id}/members/{PEOPLE['bea']}").status_code == 200
    assert ana.delete(f"/workspaces/{id}/members/{PEOPLE['bea']}").status_code == 204
    assert ana.put(f"/workspaces/{id}/members/{PEOPLE['cia']}").status_code == 201
