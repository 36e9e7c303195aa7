"""Episodes over real HTTP: signed events that are believed once, and what was only told."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from joserfc.jwk import RSAKey

from ingatan import signed_events
from ingatan.identity import SENTINEL_SUBJECT, tenant_uuid
from ingatan.types import Role
from tests.api.desk import HAPPENED, Desk, recalled
from tests.api.test_policy import YAML, administrator, changed
from tests.signing import Signer


def test_an_event_is_remembered_of_its_person_and_nobody_else(desk: Desk) -> None:
    answer = desk.send(desk.event())
    assert answer.status_code == 201, answer.text
    ana, ben = desk.service.client("ana"), desk.service.client("ben")
    assert recalled(ana) == [HAPPENED]
    assert recalled(ben) == []
    assert ben.get(f"/memories/{answer.json()['memory_id']}").status_code == 404
    [row] = ana.get("/memories").json()["items"]
    assert (row["type"], row["trust"], row["source"]["kind"]) == ("episode", "signed", "event")
    assert row["expires_at"].startswith("2027-09-03")


@pytest.mark.parametrize("kind", ["Ed25519", "ES256", "RS256"])
def test_keys_of_each_kind_sign(desk: Desk, kind: str) -> None:
    signer = Signer(curve="P-256" if kind == "ES256" else "Ed25519", kid="k")
    if kind == "RS256":
        signer.key, signer.algorithm = RSAKey.generate_key(2048, {"kid": "k"}), "RS256"  # type: ignore[assignment]
    assert desk.source(signer).status_code == 201
    assert desk.send(signer.event(HAPPENED, sub=desk.person)).status_code == 201


def test_only_a_writer_sends_events(desk: Desk) -> None:
    assert desk.send(desk.event(), desk.service.client("ana")).status_code == 403
    assert desk.send(desk.event(), desk.operator).status_code == 403
    assert desk.send(desk.event()).status_code == 201


def test_a_sooner_end_is_kept(desk: Desk) -> None:
    end = (datetime.now(UTC) + timedelta(days=3)).replace(microsecond=0)
    assert desk.send(desk.event(expires_at=end.isoformat())).status_code == 201
    [row] = desk.service.client("ana").get("/memories").json()["items"]
    assert datetime.fromisoformat(row["expires_at"]) == end


def test_an_event_is_taken_once(desk: Desk) -> None:
    token = desk.event()
    assert desk.send(token).status_code == 201
    again = desk.send(token)
    assert (again.status_code, again.json()["code"]) == (409, "event_replayed")
    jti = str(uuid4())
    assert desk.send(desk.event(jti=jti, text="Case 418 was opened.")).status_code == 201
    assert desk.send(desk.event(jti=jti, text="Case 419 was opened.")).status_code == 409
    rows = desk.service.client("aud", roles=[Role.AUDITOR]).get("/audit", params={"limit": 100}).json()["items"]
    assert [row["details"]["reason"] for row in rows if row["action"] == "event_refused"] == ["replayed"] * 2


def test_of_many_at_once_exactly_one_is_taken(desk: Desk) -> None:
    token = desk.event(account=desk.account)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: desk.send(token).status_code, range(6)))
    assert sorted(answers) == [201, 409, 409, 409, 409, 409]
    assert recalled(desk.service.client("ana")) == [HAPPENED]


def test_the_same_key_gets_the_same_answer(desk: Desk) -> None:
    token = desk.event()
    first, second = desk.send(token, key="once"), desk.send(token, key="once")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["memory_id"] == second.json()["memory_id"]
    assert desk.send(desk.event(text="Case 9 was closed."), key="once").json()["code"] == "idempotency_key_reused"
    with ThreadPoolExecutor(4) as pool:
        other = desk.event(text="Case 10 was closed.")
        ids = list(pool.map(lambda _: desk.send(other, key="two").json()["memory_id"], range(4)))
    assert len(set(ids)) == 1


def test_events_of_another_tenant_are_unknown(desk: Desk) -> None:
    assert desk.reason(desk.event(aud=str(tenant_uuid("acme")))) == "audience"
    stranger = desk.service.client("agent", tenant="acme", roles=[Role.WRITER])
    answer = desk.send(desk.event(aud=str(tenant_uuid("acme"))), stranger)
    assert (answer.status_code, answer.json()["reason"]) == (422, "unknown_source")
    answer = desk.send(desk.event(), stranger)
    assert (answer.status_code, answer.json()["reason"]) == (422, "unknown_source")
    assert desk.reason(desk.event(iss=str(uuid4()))) == "unknown_source"


def test_who_or_what_it_is_about(desk: Desk) -> None:
    there = desk.service.client("op", tenant="acme", roles=[Role.ADMIN]).post("/accounts", json={"name": "X"}).json()
    assert desk.reason(desk.event(sub=desk.person, account=desk.account)) == "claim:claims"
    assert desk.reason(desk.event(sub=None)) == "claim:claims"
    assert desk.send(desk.event(account=there["id"])).status_code == 404
    assert desk.send(desk.event(account=str(uuid4()))).status_code == 404
    assert desk.send(desk.event(account=desk.person)).status_code == 404
    assert desk.send(desk.event(sub=str(SENTINEL_SUBJECT))).status_code == 403
    assert desk.send(desk.event(sub=str(tenant_uuid("default")))).status_code == 403
    assert desk.send(desk.event(account=desk.account)).status_code == 201


def test_an_account_is_no_person(desk: Desk) -> None:
    assert desk.send(desk.event(account=desk.account)).status_code == 201
    assert desk.send(desk.event(sub=desk.account, text="Case 1 was closed.")).status_code == 403


def test_who_withdrew_consent_is_not_written_about(desk: Desk) -> None:
    ana = desk.service.client("ana")
    ana.put("/consent", json={"consent": "withdrawn"}).raise_for_status()
    assert desk.reason(desk.event()) == "no_consent"
    ana.put("/consent", json={"consent": "granted"}).raise_for_status()
    assert desk.send(desk.event()).status_code == 201


def test_a_revoked_source_is_believed_no_more(desk: Desk) -> None:
    token = desk.event()
    desk.operator.post(f"/sources/{desk.signer.source_id}/revoke").raise_for_status()
    assert desk.reason(token) == "source_revoked"


def test_a_source_speaks_of_what_it_was_registered_for(desk: Desk) -> None:
    narrow, named = Signer(), Signer()
    desk.source(narrow, scopes=["account"])
    assert desk.reason(narrow.event(HAPPENED, sub=desk.person)) == "writer_not_allowed"
    assert desk.send(narrow.event(HAPPENED, account=desk.account)).status_code == 201
    desk.source(named, writer_id=str(desk.service.principal("other").subject_id))
    token = named.event("Case 2 was opened.", sub=desk.person)
    assert desk.send(token).status_code == 403
    assert desk.send(token, desk.service.client("other", roles=[Role.WRITER])).status_code == 201


def test_what_is_for_those_with_authority_is_theirs_alone_also_once_corrected(desk: Desk) -> None:
    boss = desk.service.client("boss")
    subject = desk.service.principal("boss").subject_id
    desk.operator.put(f"/accounts/{desk.account}/members/{subject}", json={"role": "admin"}).raise_for_status()
    id = desk.send(desk.event(account=desk.account, audience="admin")).json()["memory_id"]
    ana = desk.service.client("ana")

    def seen(client: httpx.Client) -> tuple[int, int, int]:
        listed = client.get("/memories", params={"account_id": desk.account}).json()["items"]
        return len(recalled(client)), len(listed), client.get(f"/memories/{id}").status_code

    assert (seen(boss), seen(ana)) == ((1, 1, 200), (0, 0, 404))
    said = {"text": "We prefer answers in Spanish.", "type": "preference", "scope": "account", "audience": "admin"}
    own = boss.post("/candidates", json=said | {"subject_id": desk.account, "source": {"kind": "self"}}).json()
    assert own["decision"] == "accept"
    boss.patch(f"/memories/{own['memory_id']}", json={"importance": 0.9}).raise_for_status()
    boss.patch(f"/memories/{own['memory_id']}", json={"text": "We prefer answers in Dutch."}).raise_for_status()
    assert ana.get(f"/memories/{own['memory_id']}").status_code == 404
    assert recalled(ana, "Which language do we prefer?") == []
    assert recalled(boss, "Which language do we prefer?") == ["We prefer answers in Dutch.", HAPPENED]


def test_told_in_passing_an_episode_is_kept_apart(desk: Desk) -> None:
    """Unverified: not recalled, 90 days, outside S1's caps; and what a system of record says takes its place."""
    ana = desk.service.client("ana")
    body = {"text": HAPPENED, "type": "episode", "source": {"kind": "self"}}
    told = ana.post("/candidates", json=body)
    assert (told.status_code, told.json()["decision"]) == (201, "accept"), told.text
    [row] = ana.get("/memories").json()["items"]
    assert (row["type"], row["trust"]) == ("episode", "unverified")
    lifetime = datetime.fromisoformat(row["expires_at"]) - datetime.fromisoformat(row["created_at"])
    assert timedelta(days=89, hours=23) < lifetime < timedelta(days=90, minutes=1)
    assert recalled(ana) == []
    longer = ana.patch(f"/memories/{row['id']}", json={"importance": 0.9, "expires_at": None}).raise_for_status().json()
    assert longer["trust"] == "unverified"
    assert recalled(ana) == []
    assert desk.send(desk.event()).json()["decision"] == "accept"
    assert recalled(ana) == [HAPPENED]
    [row] = ana.get("/memories").json()["items"]
    assert row["trust"] == "signed"
    assert ana.post("/candidates", json=body).status_code == 200
    [row] = ana.get("/memories").json()["items"]
    assert row["trust"] == "signed"


def test_what_was_told_as_an_episode_can_be_stated_as_a_fact(desk: Desk) -> None:
    ana, said = desk.service.client("ana"), "I work at the port of Sabang."
    ana.post("/candidates", json={"text": said, "type": "episode", "source": {"kind": "self"}}).raise_for_status()
    assert recalled(ana, "Where do I work?") == []
    ana.post("/candidates", json={"text": said, "type": "fact", "source": {"kind": "self"}}).raise_for_status()
    assert recalled(ana, "Where do I work?") == [said]


def test_episodes_take_no_room_of_what_is_known(desk: Desk) -> None:
    ana = desk.service.client("ana")
    for number in range(35):
        body = {"text": f"I called about order {number}.", "type": "episode", "source": {"kind": "self"}}
        assert ana.post("/candidates", json=body).json()["decision"] == "accept"
    body = {"text": "I prefer short answers.", "type": "preference", "source": {"kind": "self"}}
    assert ana.post("/candidates", json=body).json()["decision"] == "accept"


def test_what_is_corrected_at_its_source_is_not_corrected_here(desk: Desk) -> None:
    ana = desk.service.client("ana")
    id = desk.send(desk.event()).json()["memory_id"]
    refused = ana.patch(f"/memories/{id}", json={"importance": 0.9})
    assert (refused.status_code, refused.json()["reasons"]) == (422, ["writer_not_allowed"])
    assert ana.delete(f"/memories/{id}").status_code == 200
    assert recalled(ana) == []


def test_the_example_of_the_page_runs(desk: Desk) -> None:
    """docs/signed-events.md: its program sends an event, and its table names every reason there is."""
    page = (Path(__file__).parents[2] / "docs" / "signed-events.md").read_text(encoding="utf-8")
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(program, "signed-events.md", "exec"), names)
    token = str(desk.agent.headers["Authorization"]).removeprefix("Bearer ")
    signer = desk.signer
    about = {"source": signer.source_id, "tenant": signer.tenant_id, "person": desk.person}
    assert names["send"](desk.service.address, token, signer.key, **about).status_code == 201
    assert recalled(desk.service.client("ana")) == ["Case 417 was escalated to engineering."]
    code = Path(str(signed_events.__file__)).read_text(encoding="utf-8")
    for reason in set(re.findall(r'refused\("(\w+)"\)', code)) - {"issuer", "source_signs_nothing"}:
        assert f"`{reason}`" in page, reason


def test_a_service_brings_as_much_as_its_source_may(desk: Desk) -> None:
    """The service is the source's hand: what it brings is of the source's share, not of its own."""
    rates = {"actor_per_hour": 1, "subject_per_hour": 9, "source_per_hour": 3}
    administrator(desk.service).put("/policy", content=changed(rates=rates), headers=YAML).raise_for_status()
    for n in range(3):
        assert desk.send(desk.event(text=f"Case {n} was escalated to engineering.")).status_code == 201
    assert desk.reason(desk.event(text="Case 4 was escalated to engineering.")) == "rate_limited"
