"""The three resolvers through the door: bearer tokens, a gateway's headers, nobody; and the shared sentinel (S1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan.identity import HEADERS_ISSUER, SENTINEL_SUBJECT, subject_uuid
from ingatan.storage import embedded
from tests.serving import Service, serving

ANA = subject_uuid(HEADERS_ISSUER, "ana")
WORK: dict[str, Any] = {"text": "I work at the port of Sabang.", "type": "fact", "source": {"kind": "self"}}


def environ(**more: str) -> dict[str, str]:
    return {f"INGATAN_{name}": value for name, value in more.items()}


@pytest.fixture
def behind_gateway(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    """A service that believes the headers of a gateway."""
    settings = environ(SECURITY__RESOLVER="headers", SECURITY__SUBJECT_HEADER="X-User")
    with serving(server.url(embedded.APP, database_name), tmp_path, environ=settings) as running:
        yield running


def test_the_gateways_headers_say_who_calls(behind_gateway: Service) -> None:
    with httpx.Client(base_url=behind_gateway.address) as client:
        made = client.post("/candidates", json=WORK, headers={"X-User": "ana"})
        assert made.status_code == 201
        assert client.get("/memories", headers={"X-User": "ana"}).json()["items"]
        assert client.get("/memories", headers={"X-User": "Ana"}).json()["items"] == [], "subjects are case-sensitive"
        other = {"X-User": "ana", "X-Tenant": "other"}
        assert client.get("/memories", headers=other).json()["items"] == []
        assert client.get("/audit", headers={"X-User": "ana", "X-Roles": "user, auditor"}).status_code == 200
        assert client.get("/audit", headers={"X-User": "ana", "X-Roles": "user"}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [[], [("X-User", "")], [("X-User", "ana"), ("X-User", "bob")], [("X-User", "a" * 256)],
     [("X-User", "ana"), ("X-Tenant", "a"), ("X-Tenant", "b")], [("Authorization", "Bearer x")]],
)  # fmt: skip
def test_missing_blank_and_repeated_headers_are_401(behind_gateway: Service, headers: list[tuple[str, str]]) -> None:
    answer = httpx.get(f"{behind_gateway.address}/memories", headers=headers)
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthenticated"


def test_headers_never_make_a_verified_principal(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path
) -> None:
    """With an allowlist the listed subject has memory, an unlisted one has none (S1's test API)."""
    settings = environ(SECURITY__RESOLVER="headers", MEMORY__SUBJECT_ALLOWLIST=f'["{ANA}"]')
    url = server.url(embedded.APP, database_name)
    with (
        serving(url, tmp_path, environ=settings) as running,
        httpx.Client(base_url=running.address) as client,
    ):
        assert client.post("/candidates", json=WORK, headers={"X-Subject": "ana"}).status_code == 201
        assert client.post("/candidates", json=WORK, headers={"X-Subject": "bob"}).status_code == 403


def test_headers_are_not_read_by_the_jwt_resolver(service: Service) -> None:
    service.client("ana").post("/candidates", json=WORK).raise_for_status()
    bob = service.client("bob")
    for name in ("X-Subject", "X-User-Id", "X-Tenant", "X-Roles"):
        assert bob.get("/memories", headers={name: "ana"}).json()["items"] == []
    assert httpx.get(f"{service.address}/memories", headers={"X-Subject": "ana"}).status_code == 401


@pytest.mark.parametrize("resolver", ["none", "jwt", "headers"])
def test_callers_without_identity_are_the_sentinel_and_have_no_memory(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, resolver: str
) -> None:
    settings = environ(
        SECURITY__RESOLVER=resolver, SECURITY__REQUIRE_AUTH="false", MEMORY__SUBJECT_ALLOWLIST=f'["{SENTINEL_SUBJECT}"]'
    )
    url = server.url(embedded.APP, database_name)
    with (
        serving(url, tmp_path, environ=settings) as running,
        httpx.Client(base_url=running.address) as client,
    ):
        said = client.post("/conversations", json={}).raise_for_status().json()["id"]
        turns = [{"role": "user", "content": "I work at the port of Sabang."}]
        client.post(f"/conversations/{said}/messages", json={"messages": turns}).raise_for_status()
        running.sweep()
        assert client.get("/memories").json()["items"] == []
        assert client.post("/candidates", json=WORK).status_code == 403
        assert client.post("/recall", json={"query": "port"}).json()["notes"][0]["code"] == "memory_not_for_this_caller"
        assert client.get("/audit").status_code == 403
        if resolver == "jwt":
            assert client.get("/memories", headers={"Authorization": "Bearer forged"}).status_code == 401
