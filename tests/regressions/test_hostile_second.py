"""What a hostile tester found on the second visit, each as a test of its kind."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from joserfc import jwt
from joserfc.jwk import OKPKey
from prometheus_client.parser import text_string_to_metric_families

from ingatan.embedding_endpoint import UNDER_WAY_MAX, Endpoint, EndpointEmbedder
from ingatan.embeddings import EmbedderFailed
from ingatan.errors import StartRefused, Unauthenticated
from ingatan.identity import SENTINEL_SUBJECT, JwtResolver, TrustedIssuer
from ingatan.keysets import KeySetUrl, KeysUnavailable
from ingatan.safeguards import refuse_unsafe
from ingatan.settings import load
from ingatan.storage import embedded
from ingatan.storage.migrate import MIGRATIONS, current_version, expected_version
from ingatan.types import Role
from tests.acceptance.processes import INGATAN, environment
from tests.dripping import IN_BODY, IN_HEADERS, dripping
from tests.serving import Service, serving

WORK = "I work at the port of Sabang"
NOW = 1_790_000_000
OLD_RELEASE = ("0001_foundation.sql", "0002_row_security.sql")
OLD_TURN = "01a00000-0000-7000-8000-000000000009"


def run(url: str, statement: str, params: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as driver:
        cursor = driver.execute(statement.encode(), params)
        return cursor.fetchall() if cursor.description else []


def written_by_an_older_release(data: Path, subject_id: str, tenant_id: str) -> None:
    """A data directory as release 0002 left it: no role for administrators, no timeouts, one memory."""
    with embedded.start(data) as server:
        with psycopg.connect(server.url(embedded.OWNER)) as owner:
            owner.execute("create table alembic_version (version_num varchar(32) not null primary key)")
            owner.execute("insert into alembic_version values ('0002')")
            for file in OLD_RELEASE:
                owner.execute((MIGRATIONS / file).read_bytes())
        admin = server.url(embedded.ADMINISTRATOR)
        run(admin, "drop role ingatan_dba")
        run(admin, "alter role ingatan_app reset all")
        ids = {"t": tenant_id, "s": subject_id, "turn": OLD_TURN, "text": WORK, "m": OLD_TURN}
        run(admin, "insert into tenants (id, name) values (%(t)s, 'old')", ids)
        run(admin, "insert into subjects (tenant_id, id) values (%(t)s, %(s)s)", ids)
        run(
            admin,
            "insert into memories (tenant_id, id, version, scope_id, subject_id, type, text, language, text_hash,"
            " importance, trust, status, source_kind, policy_version, effective_at) values (%(t)s, %(m)s, 1, %(s)s,"
            " %(s)s, 'fact', %(text)s, 'en', decode(repeat('ab', 32), 'hex'), 0.6, 'stated', 'active', 'turn', 'old',"
            " now())",
            ids,
        )
        run(
            admin,
            "insert into memory_evidence (tenant_id, memory_id, version, n, message_id, quote)"
            " values (%(t)s, %(m)s, 1, 0, %(turn)s, %(text)s)",
            ids,
        )
    record = json.loads((data / "server.json").read_text("utf-8"))
    (data / "server.json").write_text(json.dumps(record | {"bootstrapped": "1"}), "utf-8")


def test_a_directory_of_an_older_release_starts_and_upgrades_itself(service: Service, tmp_path: Path) -> None:
    ana = service.principal("ana")
    data = tmp_path / "old"
    written_by_an_older_release(data, str(ana.subject_id), str(ana.tenant_id))
    with serving("", data, environ={"INGATAN_DATABASE__URL": ""}) as upgraded:
        server = upgraded.app.server
        assert server is not None
        assert current_version(server.url(embedded.OWNER)) == expected_version()
        assert [item["text"] for item in upgraded.remembered(upgraded.client("ana"))] == [WORK]
        app = server.url(embedded.APP)
        assert run(app, "show statement_timeout") == [("30s",)], "the service role's own timeouts came with it"
        # What was remembered before there were marks is marked, so that erasing by SQL leaves what it must.
        assert (upgraded.app.mark_old(), upgraded.app.mark_old()) == (1, 0)
        dba = "set role ingatan_dba; select erase_user_memory('" + str(ana.subject_id) + "')"
        with psycopg.connect(server.url(embedded.ADMINISTRATOR)) as admin:
            admin.execute(dba.encode())
        assert upgraded.remembered(upgraded.client("ana")) == []
        digests = run(server.url(embedded.ADMINISTRATOR), "select count(*) from erased_texts")
        assert digests[0][0] >= 3, "text, words and turn"
    assert json.loads((data / "server.json").read_text("utf-8"))["bootstrapped"] not in {"", "1"}


def test_marks_made_later_are_those_that_would_have_been_made(
    service: Service, server: embedded.EmbeddedServer, database_name: str
) -> None:
    admin = server.url(embedded.ADMINISTRATOR, database_name)
    for name in ("ana", "bob"):
        service.say(service.client(name), WORK, "I live in Oslo.")
    service.sweep()
    every = "select id, version, marks from memories order by 1, 2"
    before = run(admin, every)
    assert len(before) == 4
    run(admin, "update memories set marks = '{}'")
    assert service.app.mark_old() == 4
    assert run(admin, every) == before
    assert service.app.mark_old() == 0


def test_marking_is_bounded_resumes_and_runs_by_itself(
    service: Service, server: embedded.EmbeddedServer, database_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingatan.app.OLD_VERSIONS_MAX", 1)
    admin = server.url(embedded.ADMINISTRATOR, database_name)
    service.say(service.client("ana"), WORK, "I live in Oslo.")
    service.sweep()
    run(admin, "update memories set marks = '{}'")
    assert service.app.mark_old() == 1
    service.app.run_background()
    deadline = time.monotonic() + 10
    while run(admin, "select count(*) from memories where marks = '{}'") != [(0,)]:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_erasing_by_sql_reaches_what_is_still_to_be_learned(
    service: Service, server: embedded.EmbeddedServer, database_name: str
) -> None:
    admin = server.url(embedded.ADMINISTRATOR, database_name)
    ana, bob = service.client("ana"), service.client("bob")
    service.say(ana, WORK)
    service.say(bob, "I live in Oslo.")
    subject = service.principal("ana").subject_id
    with psycopg.connect(admin) as driver:
        driver.execute("set role ingatan_dba")
        found = driver.execute(b"select erase_user_memory('%s')" % str(subject).encode()).fetchall()
    assert found == [(0,)], "nothing was remembered yet"
    for role in ("ingatan_dba", "ingatan_app"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(admin, f"set role {role}; select ingatan_erase_person(gen_random_uuid(), gen_random_uuid())")
    service.sweep()
    assert service.remembered(ana) == []
    assert len(service.remembered(bob)) == 1
    assert run(admin, "select erasure_epoch > 0 from subjects where id = %(id)s", {"id": subject}) == [(True,)]
    receipts = run(admin, "select receipt from erasures where subject_id = %(id)s", {"id": subject})
    assert [receipt["removed"]["versions"] for (receipt,) in receipts] == [0]
    assert service.app.seal() >= 1
    service.say(ana, "I prefer short answers.")
    service.sweep()
    assert len(service.remembered(ana)) == 1, "what is said afterwards is learned"


def key(kid: str) -> OKPKey:
    return OKPKey.generate_key("Ed25519", {"kid": kid})


def bearer(signer: OKPKey) -> list[str]:
    claims = {"iss": "i", "aud": "a", "sub": "ana", "exp": NOW + 60}
    return ["Bearer " + jwt.encode({"alg": "Ed25519", "kid": signer.kid}, claims, signer, algorithms=["Ed25519"])]


def fetching() -> int:
    return sum(thread.name == "ingatan-keys" for thread in threading.enumerate())


@pytest.mark.parametrize("opening", [IN_HEADERS, IN_BODY], ids=["headers", "body"])
def test_a_source_that_drips_and_forged_keys_lock_nobody_out(opening: bytes) -> None:
    good, forged, clock = key("k1"), [bearer(key(f"forged-{n}")) for n in range(40)], [1_000.0]
    body = json.dumps({"keys": [good.as_dict(private=False)]}).encode()
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    with dripping(head + body) as source:
        keys = KeySetUrl(
            source.address, refresh_seconds=300, stale_seconds=3_600, timeout_seconds=1.0, clock=lambda: clock[0]
        )
        known = JwtResolver([TrustedIssuer("i", "a", ("Ed25519",), keys)], clock=lambda: NOW)
        valid = bearer(good)
        assert known.resolve(valid).verified
        source.opening = opening
        clock[0] += 301
        most: list[int] = []

        def ask(token: list[str]) -> tuple[bool, float]:
            began = time.monotonic()
            try:
                passed = known.resolve(token).verified
            except Unauthenticated:
                passed = False
            most.append(fetching())
            return passed, time.monotonic() - began

        with ThreadPoolExecutor(100) as pool:
            false = [pool.submit(ask, token) for token in forged]
            true = [pool.submit(ask, valid) for _ in range(60)]
            answers, refusals = [each.result() for each in true], [each.result() for each in false]
        assert all(passed for passed, _ in answers)
        assert not any(passed for passed, _ in refusals)
        assert max(took for _, took in answers) < 0.9
        assert sum(took > 0.9 for _, took in refusals) <= 1, "only the one who set the fetch off waits for it"
        assert max(most) == 1
        assert source.asked == 2
        deadline = time.monotonic() + 3
        while fetching():
            assert time.monotonic() < deadline, "a fetch ends within its time"
            time.sleep(0.02)
        clock[0] += 11
        source.opening = head + body
        assert known.resolve(valid).verified


def test_without_keys_the_wait_is_bounded() -> None:
    with dripping() as source:
        keys = KeySetUrl(source.address, refresh_seconds=300, stale_seconds=3_600, timeout_seconds=0.5)
        began = time.monotonic()
        with pytest.raises(KeysUnavailable):
            keys("k1")
        with pytest.raises(KeysUnavailable):
            keys("k2")
        assert time.monotonic() - began < 2
        assert source.asked == 1


def dripping_embedder(address: str, seconds: float) -> EndpointEmbedder:
    where = Endpoint(base_url=address, model="m", dimensions=64, timeout_seconds=seconds, query_timeout_seconds=seconds)
    return EndpointEmbedder(where)


@pytest.mark.parametrize("opening", [IN_HEADERS, IN_BODY], ids=["headers", "body"])
def test_an_embedder_that_drips_degrades_recall_in_time(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, opening: bytes
) -> None:
    with (
        dripping(opening) as endpoint,
        serving(
            server.url(embedded.APP, database_name), tmp_path, embedder=dripping_embedder(endpoint.address, 0.5)
        ) as service,
    ):
        ana = service.client()
        stated = {"text": WORK, "type": "fact", "source": {"kind": "self"}}
        ana.post("/candidates", json=stated).raise_for_status()
        began = time.monotonic()
        found = ana.post("/recall", json={"query": "Which port?"}).raise_for_status().json()
        assert time.monotonic() - began < 2
        assert found["degraded"]
        assert [record["text"] for record in found["memories"]] == [WORK]


def test_questions_left_unanswered_are_bounded() -> None:
    with dripping() as endpoint:
        embedder = dripping_embedder(endpoint.address, 0.2)

        def ask(_: int) -> float:
            began = time.monotonic()
            with pytest.raises(EmbedderFailed):
                embedder.query("Which port?")
            return time.monotonic() - began

        with ThreadPoolExecutor(16) as pool:
            took = list(pool.map(ask, range(UNDER_WAY_MAX + 16)))
        assert max(took) < 1.5
        assert sum(thread.name == "ingatan-embedding" for thread in threading.enumerate()) <= UNDER_WAY_MAX


@pytest.mark.parametrize("option", ["--json-file", "--html-file"])
def test_a_report_that_cannot_be_written_is_said_before_anything_runs(tmp_path: Path, option: str) -> None:
    began = time.monotonic()
    done = subprocess.run(
        [INGATAN, "eval", "--html-file", str(tmp_path / "r.html"), option, str(tmp_path / "no" / "x")],
        capture_output=True, text=True, timeout=120, env=environment(), cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert option in done.stderr
    assert done.stdout == ""
    assert time.monotonic() - began < 20
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("token", [" " * 24, "a scraper token with spaces", "\t" * 24, "tøken" * 6])
def test_a_metrics_token_that_no_header_carries_well_is_refused(token: str) -> None:
    with pytest.raises(StartRefused, match="METRICS_TOKEN"):
        refuse_unsafe(load({"INGATAN_ENVIRONMENT": "development", "INGATAN_SERVER__METRICS_TOKEN": token}))


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer"])
def test_the_scheme_of_the_scrapers_credential_has_any_case(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, scheme: str
) -> None:
    token = "a-scraper-token-of-the-test"
    environ = {"INGATAN_SERVER__METRICS_TOKEN": token}
    with serving(server.url(embedded.APP, database_name), tmp_path, environ=environ) as service:
        asked = f"{service.address}/metrics"
        assert httpx.get(asked, headers={"Authorization": f"{scheme} {token}"}).status_code == 200
        assert httpx.get(asked, headers={"Authorization": f"{scheme} {token}x"}).status_code == 401


def test_head_counts_under_the_route_it_reached(service: Service) -> None:
    ana = service.client()
    assert ana.head("/memories").status_code == 200
    assert ana.head("/nowhere").status_code == 404
    text = service.client("operator", roles=[Role.AUDITOR]).get("/metrics").text
    [requests] = [family for family in text_string_to_metric_families(text) if family.name == "ingatan_requests"]
    heads = {sample.labels["route"] for sample in requests.samples if sample.labels["method"] == "HEAD"}
    assert heads == {"/memories", "other"}


@pytest.mark.parametrize("required", ["true", "false"])
def test_the_shared_sentinel_starts_no_workspace(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, required: str
) -> None:
    environ = {
        "INGATAN_SECURITY__RESOLVER": "headers",
        "INGATAN_SECURITY__REQUIRE_AUTH": required,
        "INGATAN_MEMORY__SUBJECT_ALLOWLIST": '["0b6f5a52-6c1e-4d0e-9a57-3f1d6b0a0001"]',
    }
    sentinel = {"X-Subject": str(SENTINEL_SUBJECT)}
    with serving(server.url(embedded.APP, database_name), tmp_path, environ=environ) as service:
        asked: Callable[..., httpx.Response] = httpx.post
        for headers in [sentinel] + ([{}] if required == "false" else []):
            made = asked(f"{service.address}/workspaces", json={"name": "all"}, headers=headers)
            assert made.status_code == 403, made.text
        person = {"X-Subject": "ana"}
        made = asked(f"{service.address}/workspaces", json={"name": "ours"}, headers=person)
        assert made.status_code == 201
        members = f"{service.address}/workspaces/{made.json()['id']}/members"
        added = asked(members, json={"subject_id": str(SENTINEL_SUBJECT)}, headers=person)
        assert added.status_code == 422


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("ACEH_RAG_MEMORY__IDLE_MINUTE", "ACEH_RAG_MEMORY__IDLE_MINUTES"),
        ("ACEH_RAG_SECURITY__REQUIRE_AUHT", "ACEH_RAG_SECURITY__REQUIRE_AUTH"),
    ],
)
def test_an_unknown_name_in_a_group_of_ours_is_refused_under_the_old_prefix(name: str, near: str) -> None:
    with pytest.raises(StartRefused, match=f"Unknown setting {name}. Did you mean {near}"):
        load({name: "1"})
    assert load({"ACEH_RAG_CORPUS__PATH": "x", "ACEH_RAG_MEMORIES": "y", "ACEH_RAG_MEMORY": "z"}).memory.idle_minutes


def test_a_second_start_of_the_same_release_changes_no_role(tmp_path: Path) -> None:
    with embedded.start(tmp_path / "data") as server:
        run(server.url(embedded.ADMINISTRATOR), "alter role ingatan_app set statement_timeout = '7s'")
    with embedded.start(tmp_path / "data") as server:
        assert run(server.url(embedded.APP), "show statement_timeout") == [("7s",)]
