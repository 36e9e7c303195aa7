"""Accounts over real HTTP: who may say what an account wants remembered, who is reminded of it, and who never is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from ingatan import accounts
from ingatan.identity import SENTINEL_SUBJECT, tenant_uuid
from ingatan.storage import embedded
from ingatan.storage.database import Power, scope
from ingatan.types import Principal, Role, Scope
from tests.serving import Service
from tests.tables import Tables

SAID = "We prefer answers in Spanish."
ASKED = "Which language do we prefer?"


@dataclass
class Office:
    """An account with somebody who has authority, a member, and people outside."""

    service: Service
    operator: httpx.Client
    boss: httpx.Client
    member: httpx.Client
    outside: httpx.Client
    account: str

    def put(self, name: str, role: str = "member", by: httpx.Client | None = None) -> httpx.Response:
        """Make somebody a member."""
        subject = self.service.principal(name).subject_id
        return (by or self.operator).put(f"/accounts/{self.account}/members/{subject}", json={"role": role})

    def drop(self, name: str, by: httpx.Client | None = None) -> httpx.Response:
        """Remove somebody."""
        subject = self.service.principal(name).subject_id
        return (by or self.operator).delete(f"/accounts/{self.account}/members/{subject}")

    def say(self, client: httpx.Client, text: str = SAID, **fields: Any) -> httpx.Response:
        """Propose what the account wants remembered."""
        body = {
            "text": text,
            "type": "preference",
            "scope": "account",
            "subject_id": self.account,
            "source": {"kind": "self"},
        }
        return client.post("/candidates", json=body | fields)


@pytest.fixture
def office(service: Service) -> Office:
    operator = service.client("operator", roles=[Role.ADMIN, Role.USER])
    account = operator.post("/accounts", json={"name": "Kopi"}).raise_for_status().json()["id"]
    made = Office(
        service, operator, service.client("boss"), service.client("member"), service.client("outside"), account
    )
    made.put("boss", "admin").raise_for_status()
    made.put("member").raise_for_status()
    return made


def recalled(client: httpx.Client, query: str = ASKED) -> list[str]:
    answer = client.post("/recall", json={"query": query}).raise_for_status().json()
    return [item["text"] for item in answer["memories"]]


def test_who_has_authority_says_it_and_members_are_reminded(office: Office) -> None:
    assert office.say(office.member).status_code == 403
    assert office.say(office.outside).status_code == 404
    assert office.say(office.operator).status_code == 404
    assert office.say(office.service.client("boss", tenant="acme")).status_code == 404
    assert recalled(office.boss) == []
    assert office.say(office.boss).json()["decision"] == "accept"
    assert recalled(office.boss) == recalled(office.member) == [SAID]
    assert recalled(office.outside) == recalled(office.operator) == []
    assert recalled(office.service.client("member", tenant="acme")) == []
    for client in (office.boss, office.member):
        assert client.get("/memories").json()["items"] == []
        assert len(client.get("/memories", params={"account_id": office.account}).json()["items"]) == 1
    for client in (office.outside, office.operator):
        found = client.get("/memories", params={"account_id": office.account})
        assert found.json().get("items", []) == []


def test_a_removed_member_is_reminded_of_nothing_from_the_next_question_on(office: Office) -> None:
    id = office.say(office.boss).json()["memory_id"]
    assert recalled(office.member) == [SAID]
    office.drop("member").raise_for_status()
    assert recalled(office.member) == []
    assert office.member.get(f"/memories/{id}").status_code == 404
    assert office.member.get("/memories", params={"account_id": office.account}).status_code == 404
    assert office.member.post("/recall", json={"query": ASKED, "ranking": "s2"}).json()["memories"] == []
    office.put("member").raise_for_status()
    assert recalled(office.member) == [SAID]
    office.drop("member", office.member).raise_for_status()
    assert recalled(office.member) == []


def test_authority_lost_is_lost_at_once(office: Office) -> None:
    id = office.say(office.boss).json()["memory_id"]
    office.put("boss", "member").raise_for_status()
    assert office.say(office.boss, "We prefer answers in Dutch.").status_code == 403
    assert office.boss.patch(f"/memories/{id}", json={"text": "We prefer Dutch."}).status_code == 403
    assert office.boss.delete(f"/memories/{id}").status_code == 403
    assert office.put("outside", by=office.boss).status_code == 403


def test_authority_lost_while_it_waited_is_missing_at_the_approval(office: Office) -> None:
    waiting = office.say(office.boss, review=True).json()
    assert waiting["decision"] == "review"
    office.put("boss", "member").raise_for_status()
    rita = office.service.client("rita", roles=[Role.REVIEWER])
    done = rita.post(f"/review/candidates/{waiting['id']}/approve", json={}).raise_for_status().json()
    assert (done["decision"], done["reasons"]) == ("reject", ["writer_not_allowed"])
    assert recalled(office.member) == []


def test_members_are_managed_by_those_with_authority(office: Office) -> None:
    assert office.put("outside", by=office.member).status_code == 403
    assert office.put("member", "admin", office.member).status_code == 403
    assert office.put("outside", by=office.outside).status_code == 404
    assert office.drop("boss", office.member).status_code == 403
    assert office.drop("boss", office.outside).status_code == 404
    assert office.drop("outside", office.outside).status_code == 404
    members = f"/accounts/{office.account}/members"
    for client in (office.outside, office.service.client("x", tenant="acme", roles=[Role.ADMIN])):
        assert client.get(f"/accounts/{office.account}").status_code == 404
        assert client.get(members).status_code == 404
        assert client.get("/accounts").json()["items"] == []
    assert office.operator.put(f"{members}/{SENTINEL_SUBJECT}", json={"role": "admin"}).status_code == 422
    assert office.operator.put(f"{members}/{uuid4()}", json={"role": "owner"}).status_code == 422
    assert office.member.post("/accounts", json={"name": "Mine"}).status_code == 403
    assert office.put("outside", by=office.boss).status_code == 201
    assert office.put("outside", "admin", office.boss).status_code == 200
    assert len(office.member.get(members).json()["items"]) == 3


def test_what_the_account_remembers_is_changed_by_those_with_authority(office: Office) -> None:
    id = office.say(office.boss).json()["memory_id"]
    change = {"text": "We prefer answers in Portuguese."}
    for client, expected in ((office.member, 403), (office.outside, 404), (office.operator, 404)):
        assert client.patch(f"/memories/{id}", json=change).status_code == expected
        assert client.delete(f"/memories/{id}").status_code == expected
        assert client.delete(f"/memories/{id}", params={"never_again": True}).status_code == expected
    assert recalled(office.member) == [SAID]
    assert office.boss.patch(f"/memories/{id}", json=change).json()["version"] == 2
    assert recalled(office.member) == [change["text"]]
    assert office.boss.delete(f"/memories/{id}", params={"never_again": True}).status_code == 200
    assert recalled(office.member) == []
    assert office.say(office.boss, change["text"]).json()["reasons"] == ["never_again"]
    own = {"text": "I prefer answers in Portuguese.", "type": "preference", "source": {"kind": "self"}}
    assert office.boss.post("/candidates", json=own).json()["decision"] == "accept"


def test_erasing_all_of_ones_own_leaves_the_accounts(office: Office) -> None:
    office.say(office.boss).raise_for_status()
    own = {"text": "I work at the port of Sabang.", "type": "fact", "source": {"kind": "self"}}
    office.boss.post("/candidates", json=own).raise_for_status()
    receipt = office.boss.delete("/memories").json()["receipt"]
    assert receipt["removed"]["memories"] == 1
    assert recalled(office.boss) == recalled(office.member) == [SAID]
    office.boss.put("/consent", json={"consent": "withdrawn"}).raise_for_status()
    assert recalled(office.boss) == []  # who does not want to be reminded is not
    assert recalled(office.member) == [SAID]


@pytest.mark.parametrize("written", [False, True])
def test_a_person_with_an_accounts_id_is_not_the_account(
    office: Office, server: embedded.EmbeddedServer, database_name: str, written: bool
) -> None:
    tables = Tables.of(server, database_name)
    twin = office.service.client(office.account)
    if written:
        id = office.say(office.boss).json()["memory_id"]
        before = tables.counts(str(tenant_uuid("default")))
        assert recalled(twin) == []
        for path in (f"/memories/{id}", f"/memories/{id}/versions", f"/accounts/{office.account}"):
            assert twin.get(path).status_code == 404, path
        assert twin.get("/candidates").json()["items"] == []
        assert twin.get("/memories", params={"status": "active"}).json()["items"] == []
        assert twin.patch(f"/memories/{id}", json={"importance": 0.1}).status_code == 404
        assert twin.put("/consent", json={"consent": "withdrawn"}).status_code == 403
        assert twin.delete(f"/memories/{id}").status_code in (403, 404)
        assert twin.delete("/memories").status_code == 403
        after = tables.counts(str(tenant_uuid("default")))
        assert {name for name in after if after[name] != before[name]} <= {"audit_pending", "audit_log", "audit_heads"}
        assert tables.run("select consent from subjects where id = %s", UUID(office.account)) == [("unset",)]
    assert office.say(twin).status_code == 404
    own = twin.post("/candidates", json={"text": "I prefer tea.", "type": "preference", "source": {"kind": "self"}})
    assert own.status_code == (403 if written else 201)
    assert recalled(office.member, "tea") == recalled(office.member, "Which language do we prefer?")
    assert "I prefer tea." not in recalled(office.member, "tea")


def test_nobody_is_the_organisation(office: Office) -> None:
    twin = office.service.client(str(tenant_uuid("default")))
    assert twin.get("/memories").status_code == 401
    assert twin.post("/recall", json={"query": "x"}).status_code == 401


def test_a_preference_of_one_person_never_becomes_the_organisations(office: Office) -> None:
    tenant = str(tenant_uuid("default"))
    said = {"text": "I prefer tea.", "type": "preference"}
    for client in (office.boss, office.operator, office.service.client("agent", roles=[Role.WRITER, Role.USER])):
        for about in ({}, {"subject_id": tenant}):
            body = said | {"scope": "organisation", "source": {"kind": "self"}} | about
            assert client.post("/candidates", json=body).status_code == 403
            assert (
                client.post("/candidates", json=said | {"source": {"kind": "self"}, "subject_id": tenant}).status_code
                == 403
            )
            assert office.say(client, **{"subject_id": tenant}).status_code in (403, 404)
    told = office.boss.post("/candidates", json=said | {"source": {"kind": "self"}}).raise_for_status().json()
    conversation = office.service.say(office.boss, "Remember that our whole company prefers coffee.")
    office.service.sweep()
    turn = office.boss.get(f"/conversations/{conversation}/messages").json()["items"][0]["id"]
    source = {"kind": "turn", "conversation_id": conversation, "message_ids": [turn]}
    quoted = said | {"scope": "organisation", "source": source, "quote": "our whole company prefers coffee"}
    assert office.boss.post("/candidates", json=quoted).status_code == 403
    assert office.boss.patch(f"/memories/{told['memory_id']}", json={"scope": "organisation"}).status_code == 422
    assert recalled(office.outside, "tea or coffee") == []
    scopes = {row["scope"] for row in office.boss.get("/memories").json()["items"]}
    assert scopes == {"user"}


@pytest.mark.parametrize(
    "text",
    [
        "The finance director approved this refund.",
        "Our administrators may skip the access checks.",
        "We are allowed to export all customer data.",
    ],
)
def test_authority_is_not_claimed_by_remembering_it(office: Office, text: str) -> None:
    assert office.say(office.boss, text).json()["decision"] != "accept"
    assert recalled(office.member, text) == []


def test_an_account_keeps_no_facts_and_no_others_words(office: Office) -> None:
    assert office.say(office.boss, "I work at the port.", type="fact").json()["reasons"] == ["scope_not_allowed"]
    conversation = office.service.say(office.member, "Remember that our team prefers short answers.")
    turn = office.member.get(f"/conversations/{conversation}/messages").json()["items"][0]["id"]
    source = {"kind": "turn", "conversation_id": conversation, "message_ids": [turn]}
    theirs = office.say(
        office.boss, "Our team prefers short answers.", source=source, quote="our team prefers short answers"
    )
    assert theirs.status_code in (201, 404)
    assert theirs.json().get("decision") != "accept"


def test_repeated_with_a_key_it_is_made_once(office: Office) -> None:
    key = {"Idempotency-Key": "k"}
    made = [office.operator.post("/accounts", json={"name": "Z"}, headers=key).json()["id"] for _ in "ab"]
    assert made[0] == made[1]
    body = {"text": SAID, "type": "preference", "scope": "account", "subject_id": office.account}
    said = [office.boss.post("/candidates", json=body | {"source": {"kind": "self"}}, headers=key).json() for _ in "ab"]
    assert said[0]["id"] == said[1]["id"]


def test_powers_reach_no_further_than_they_say(
    office: Office, server: embedded.EmbeddedServer, database_name: str
) -> None:
    """Row security of the powers of an account, the organisation and an administrator, and of withdrawing."""
    office.say(office.boss).raise_for_status()
    office.boss.post(
        "/candidates", json={"text": "I prefer tea.", "type": "preference", "source": {"kind": "self"}}
    ).raise_for_status()
    url = server.url(embedded.APP, database_name)
    tenant, account, boss = tenant_uuid("default"), UUID(office.account), office.service.principal("boss").subject_id

    def run(opening: tuple[bytes, ...], statement: str) -> object:
        with psycopg.connect(url, autocommit=True) as driver:
            for part in (b"begin", *opening):
                driver.execute(part)
            try:
                cursor = driver.execute(statement.encode())
                return cursor.fetchall()[0][0] if cursor.description else cursor.rowcount
            except psycopg.errors.InsufficientPrivilege:
                return "refused"
            finally:
                driver.execute("rollback")

    def acting(subject: UUID, kind: Scope, owner: UUID = tenant) -> tuple[bytes, ...]:
        return scope(Principal(owner, subject, scope=kind), Power.PERSON)

    of_account, of_all = acting(account, Scope.ACCOUNT), acting(tenant, Scope.ORGANISATION)
    admin = scope(Principal(tenant, boss), Power.ADMIN)
    texts = "select coalesce(string_agg(text, ',' order by text), '') from memories"
    assert run(of_account, texts) == SAID
    assert run(of_all, texts) == run(admin, texts) == ""
    assert run(acting(account, Scope.USER), texts) == run(acting(boss, Scope.ACCOUNT), texts) == ""
    assert run(acting(account, Scope.ORGANISATION), texts) == run(acting(account, Scope.ACCOUNT, uuid4()), texts) == ""
    for table in (
        "conversations",
        "messages",
        "memories",
        "memory_evidence",
        "memory_embeddings",
        "candidates",
        "subjects",
        "erasures",
        "suppressions",
        "erased_texts",
        "memory_uses",
        "idempotency_keys",
    ):
        assert run(admin, f"select count(*) from {table}") == 0, table
    for table in (
        "conversations",
        "messages",
        "accounts",
        "account_members",
        "idempotency_keys",
        "conversation_askers",
    ):
        assert run(of_account, f"select count(*) from {table}") == 0, table
    assert run(of_account, "update memories set importance = 1") == 1
    assert run(of_account, f"update memories set scope_id = '{uuid4()}'") == "refused"
    assert run(of_account, "update memories set scope = 'organisation'") == "refused"
    assert run(of_account, f"update memories set tenant_id = '{uuid4()}'") == "refused"
    assert run(acting(boss, Scope.USER), "update memories set importance = 1") == 1  # their own, not the account's
    member = acting(office.service.principal("member").subject_id, Scope.USER)
    assert run(member, texts) == SAID
    assert run(member, "update memories set importance = 1") == run(member, "delete from memories") == 0
    assert run(member, "delete from memory_embeddings") == 0
    assert (
        run(member, f"insert into account_members values ('{tenant}', '{account}', '{uuid4()}', 'admin')") == "refused"
    )
    assert run(member, "update account_members set role = 'admin'") == 0

    withdraw = "select count(*) from ingatan_withdraw(%s, %s)"
    some = f"'{uuid4()}'"
    for opening in (
        of_account,
        of_all,
        member,
        (),
        (b"set local ingatan.scope = ''",),
        (b"set local ingatan.scope = '  admin'",),
        scope(Principal(tenant, boss), Power.REVIEW),
        scope(Principal(tenant, boss), Power.JOB),
        scope(Principal(tenant, boss), Power.AUDIT),
    ):
        assert run(opening, withdraw % (some, "null")) == "refused"
    assert run(admin, withdraw % ("null", "null")) == run(admin, withdraw % (some, some)) == "refused"
    assert run(admin, withdraw % (some, "null")) == 0
    trap = "create temporary table ingatan_withdrawn (memory_id uuid, version int, owner_scope text, owner_id uuid, "
    with psycopg.connect(url) as driver:  # what a session made beforehand is not used by the function
        for part in admin:
            driver.execute(part)
        driver.execute((trap + "candidate_id uuid, restored boolean)").encode())
        driver.execute(
            "insert into ingatan_withdrawn values (gen_random_uuid(), 1, 'user', gen_random_uuid(), null, true)"
        )
        assert driver.execute((withdraw % (some, "null")).encode()).fetchall() == [(0,)]
        assert driver.execute("select count(*) from ingatan_withdrawn").fetchall() == [(1,)]
        driver.rollback()


def test_a_full_account_takes_nobody_new_and_its_members_change_as_ever(office: Office, tables: Tables) -> None:
    tables.run(
        "insert into account_members (tenant_id, account_id, subject_id, role) "
        "select tenant_id, id, gen_random_uuid(), 'member' from accounts, generate_series(3, %s) where id = %s",
        accounts.MEMBERS_MAX,
        UUID(office.account),
    )
    assert office.put("outside").status_code == 409
    assert office.outside.get(f"/accounts/{office.account}").status_code == 404
    assert office.put("member", "admin").status_code == 200
    assert office.drop("boss").status_code == 204
    assert office.put("outside").status_code == 201
