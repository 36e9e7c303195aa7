"""Health, audit, errors and identity over HTTP."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psycopg
import pytest

from ingatan.storage import embedded, queries
from ingatan.types import Role
from tests.serving import Service, serving

GET_ROUTES = ("/conversations", "/memories", "/candidates", "/consent", "/audit", "/audit/verify")


def test_health_needs_no_credential(service: Service) -> None:
    assert httpx.get(f"{service.address}/healthz").json() == {"status": "ok"}
    assert httpx.get(f"{service.address}/readyz").json() == {"status": "ready"}


def test_not_ready_without_a_database(service: Service) -> None:
    service.app.database.close()
    assert httpx.get(f"{service.address}/healthz").status_code == 200
    assert httpx.get(f"{service.address}/readyz").status_code == 503


@pytest.mark.parametrize("path", GET_ROUTES)
@pytest.mark.parametrize("header", [None, "Bearer nonsense", "Basic YTpi"])
def test_every_route_refuses_without_a_valid_credential(service: Service, path: str, header: str | None) -> None:
    answer = httpx.get(service.address + path, headers={"Authorization": header} if header else {})
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["code"] == "unauthenticated"


def test_an_action_beyond_the_role_is_forbidden(service: Service) -> None:
    assert service.client().get("/audit").status_code == 403
    assert service.client(roles=[Role.AUDITOR]).get("/memories").status_code == 403
    assert service.client(roles=[]).get("/memories").status_code == 403


def test_what_happened_is_in_the_audit_and_holds_no_text(service: Service) -> None:
    ana = service.client()
    service.say(ana, "I work at the port of Quillonvex.", "Please remember that I have diabetes.")
    service.sweep()
    ana.post("/recall", json={"query": "port of Quillonvex"}).raise_for_status()
    [memory] = service.remembered(ana)
    ana.delete(f"/memories/{memory['id']}").raise_for_status()
    assert service.app.seal() == 1
    auditor = service.client("auditor", roles=[Role.AUDITOR])
    rows = auditor.get("/audit", params={"limit": "100"}).json()["items"]
    actions = [row["action"] for row in rows]
    for action in (
        "conversation_created", "turns_appended", "candidate_decided", "memory_written", "memory_recalled",
        "memory_erasure",
    ):  # fmt: skip
        assert action in actions
    assert "Quillonvex" not in json.dumps(rows)
    assert [row["seq"] for row in rows] == sorted((row["seq"] for row in rows), reverse=True)
    erased = auditor.get("/audit", params={"entity_type": "user_memory", "entity_id": memory["id"]}).json()["items"]
    assert {row["action"] for row in erased} == {"memory_written", "memory_erasure"}
    assert auditor.get("/audit/verify").json()["sound"] is True
    foreign = service.client("auditor", tenant="other", roles=[Role.AUDITOR])
    assert foreign.get("/audit").json()["items"] == []


@pytest.mark.parametrize(
    ("tamper", "broken"),
    [("probe.edit_audit", 2), ("probe.remove_audit", 2), ("probe.swap_audit", 2), ("probe.cut_audit", 3)],
)
def test_any_tampering_is_found_and_the_first_row_named(
    server: embedded.EmbeddedServer, database_name: str, service: Service, tamper: str, broken: int
) -> None:
    ana = service.client()
    service.say(ana, "hello")
    ana.put("/consent", json={"consent": "granted"}).raise_for_status()
    auditor = service.client("auditor", roles=[Role.AUDITOR])
    assert auditor.get("/audit/verify").json() == {"sound": True, "rows": 3, "broken_seq": None, "reason": None}
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name)) as intruder:
        intruder.execute(queries.load(tamper))
    found = auditor.get("/audit/verify").json()
    assert (found["sound"], found["broken_seq"]) == (False, broken)


def test_the_service_role_cannot_change_the_audit(service: Service) -> None:
    service.say(service.client(), "hello")
    for tamper in ("probe.edit_audit", "probe.remove_audit"):
        with pytest.raises(Exception, match="42501"), service.app.database.write(service.principal()) as connection:
            connection.run(tamper)


def test_errors_are_problems_and_repeat_nothing(service: Service) -> None:
    ana = service.client()
    for answer in (
        ana.post("/conversations", content=b'{"title": "canary-1"', headers={"Content-Type": "application/json"}),
        ana.post("/conversations", json={"title": {"canary-1": 1}}),
        ana.post("/conversations", json={"canary-1": 1}),
        ana.get("/memories/canary-1"),
        ana.get("/memories", params={"status": "canary-1"}),
        ana.get("/nowhere/canary-1"),
        ana.request("PATCH", "/recall", json={}),
    ):
        assert answer.status_code in {404, 405, 422}
        assert answer.headers["content-type"] == "application/problem+json"
        assert {"type", "title", "status", "code", "detail"} <= answer.json().keys()
        assert "canary-1" not in answer.json()["detail"]
        assert '"input"' not in answer.text


def test_a_body_beyond_the_limit_is_refused_before_it_is_read(service: Service) -> None:
    host, port = service.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as raw:
        raw.sendall(b"POST /conversations HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n{")
        answer = b""
        while b"}" not in answer:
            answer += raw.recv(65_536)
    assert b" 413 " in answer.split(b"\r\n")[0]
    assert b"8,000,000 bytes" in answer


def test_openapi_describes_our_errors(service: Service) -> None:
    schema = httpx.get(f"{service.address}/openapi.json").json()
    assert "HTTPValidationError" not in json.dumps(schema)
    assert schema["components"]["schemas"]["Problem"]["required"]


@pytest.fixture
def off(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    url = server.url(embedded.APP, database_name)
    with serving(url, tmp_path, environ={"INGATAN_MEMORY__ENABLED": "false"}) as running:
        yield running


def test_with_memory_off_people_still_see_and_erase_theirs(off: Service) -> None:
    ana = off.client()
    answer = ana.post("/recall", json={"query": "anything"})
    assert answer.status_code == 200
    assert answer.json()["memories"] == []
    assert answer.json()["notes"][0]["code"] == "memory_off"
    assert ana.get("/memories").json()["items"] == []
    assert ana.delete("/memories").status_code == 200
    body = {"text": "I prefer short answers.", "type": "preference", "source": {"kind": "self"}}
    refused = ana.post("/candidates", json=body)
    assert (refused.status_code, refused.json()["code"]) == (403, "memory_disabled")


def test_in_shadow_mode_memories_are_written_and_not_used(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path
) -> None:
    url = server.url(embedded.APP, database_name)
    with serving(url, tmp_path, environ={"INGATAN_MEMORY__READ_ENABLED": "false"}) as shadow:
        ana = shadow.client()
        shadow.say(ana, "I prefer short answers.")
        shadow.sweep()
        assert len(shadow.remembered(ana)) == 1
        answer = ana.post("/recall", json={"query": "How should I answer?"}).json()
        assert answer["memories"] == []
        assert answer["notes"][0]["code"] == "memory_not_used_in_answers"


def test_an_allowlist_narrows_who_has_memory(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path
) -> None:
    url = server.url(embedded.APP, database_name)
    with serving(url, tmp_path) as everyone:
        for name in ("ana", "bea"):
            everyone.say(everyone.client(name), "I prefer short answers.")
        everyone.sweep()
        listed = str(everyone.principal("ana").subject_id)
    with serving(url, tmp_path, environ={"INGATAN_MEMORY__SUBJECT_ALLOWLIST": json.dumps([listed])}) as scoped:
        ana, bea = scoped.client("ana"), scoped.client("bea")
        assert len(scoped.remembered(ana)) == 1
        assert scoped.remembered(bea) == []
        assert bea.post("/recall", json={"query": "answers"}).json()["notes"][0]["code"] == "memory_not_for_this_caller"
        assert bea.delete("/memories").json()["receipt"]["removed"]["memories"] == 0
        for name in ("ana", "bea"):
            scoped.say(scoped.client(name), "I use QGIS and Python.")
        assert scoped.sweep().written == 1
        assert len(scoped.remembered(ana)) == 2
    with serving(url, tmp_path) as everyone:
        assert len(everyone.remembered(everyone.client("bea"))) == 1


def test_in_dry_mode_decisions_are_recorded_and_nothing_is_written(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path
) -> None:
    url = server.url(embedded.APP, database_name)
    with serving(url, tmp_path, environ={"INGATAN_POLICY__MODE": "dry"}) as dry:
        ana = dry.client()
        dry.say(ana, "I prefer short answers.")
        assert dry.sweep().written == 0
        assert dry.remembered(ana) == []
        [decision] = ana.get("/candidates").json()["items"]
        assert decision["reasons"] == ["accepted", "dry_run"]


def test_head_answers_like_get_without_a_body(service: Service) -> None:
    for path in ("/healthz", "/readyz", "/openapi.json"):
        answer = httpx.head(f"{service.address}{path}")
        assert (answer.status_code, answer.content) == (200, b"")
    assert httpx.head(f"{service.address}/memories").status_code == 401


def test_a_row_whose_time_is_none_is_named(
    service: Service, server: embedded.EmbeddedServer, database_name: str
) -> None:
    ana = service.client()
    service.say(ana, "hello")
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name), autocommit=True) as driver:
        driver.execute("update audit_log set at = 'infinity' where seq = 1")
    auditor = service.client("auditor", roles=(Role.AUDITOR,))
    found = auditor.get("/audit/verify").raise_for_status().json()
    assert (found["sound"], found["broken_seq"]) == (False, 1)


def test_old_idempotency_keys_are_forgotten_and_young_ones_kept(service: Service) -> None:
    ana = service.client()
    for _ in range(2):
        made = ana.post("/conversations", json={}, headers={"Idempotency-Key": "k1"})
        assert made.status_code == 201
    assert service.app.tidy() == 0
    assert service.app.tidy(datetime.now(UTC) + timedelta(days=8)) == 1


def test_an_act_that_waits_too_long_for_a_lock_is_503(
    service: Service, server: embedded.EmbeddedServer, database_name: str
) -> None:
    """The service role's limits are set with the role: nothing waits for ever behind a lock."""
    ana = service.client()
    said = service.say(ana, "hello")
    with psycopg.connect(server.url(embedded.APP, database_name)) as driver:
        limits = driver.execute(
            "select current_setting('statement_timeout'), current_setting('lock_timeout'),"
            " current_setting('idle_in_transaction_session_timeout')"
        ).fetchone()
        assert limits == ("30s", "10s", "1min")
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name)) as driver:
        driver.execute("select from conversations where id = %s for update", [said])
        turns = {"messages": [{"role": "user", "content": "more"}]}
        answer = ana.post(f"/conversations/{said}/messages", json=turns)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
