"""The settings of SECURITY__, one by one, on a service that checks the tokens of an issuer of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OKPKey

from ingatan.errors import StartRefused
from ingatan.settings import LEGACY_PREFIX, PREFIX
from tests.api.conftest import Under
from tests.key_server import KeyServer, key_server, key_set
from tests.serving import Service

KEY = OKPKey.generate_key("Ed25519", {"kid": "one"})
OTHER = OKPKey.generate_key("Ed25519", {"kid": "two"})
ISSUER, AUDIENCE = "https://id.example", "ingatan"
SOON_SECONDS = 15.0


def token(key: OKPKey = KEY, **change: Any) -> str:
    """A token of ``key``, good for ten minutes unless changed."""
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ana", "exp": now + 600} | change
    return jwt.encode({"alg": "Ed25519", "kid": key.kid}, claims, key, algorithms=["Ed25519"])


def answer(service: Service, given: str, path: str = "/memories") -> int:
    """The status that the token's bearer gets."""
    headers = {"Authorization": f"Bearer {given}"}
    return httpx.get(f"{service.address}{path}", headers=headers, timeout=30).status_code


def until(wanted: int, ask: Callable[[], int]) -> bool:
    """Whether ``ask`` answers ``wanted`` before long."""
    deadline = time.monotonic() + SOON_SECONDS
    while (found := ask()) != wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    return found == wanted


@pytest.fixture
def trusted(tmp_path: Path) -> dict[str, str]:
    """Settings under which KEY's tokens are believed, from a file."""
    file = tmp_path / "keys.json"
    file.write_bytes(key_set(KEY))
    return {"SECURITY__ISSUER": ISSUER, "SECURITY__AUDIENCE": AUDIENCE, "SECURITY__JWKS_FILE": str(file)}


@pytest.mark.parametrize("prefix", [PREFIX, LEGACY_PREFIX])
def test_tokens_are_believed_of_one_issuer_for_one_audience(under: Under, trusted: dict[str, str], prefix: str) -> None:
    with under(prefix=prefix, **trusted) as service:
        assert [answer(service, token()), answer(service, token(OTHER))] == [200, 401]
    for name, accepted in (("ISSUER", token(iss="another")), ("AUDIENCE", token(aud="another"))):
        with under(prefix=prefix, **(trusted | {f"SECURITY__{name}": "another"})) as service:
            assert [answer(service, token()), answer(service, accepted)] == [401, 200]


def test_the_key_file_is_read_again_when_it_changes(under: Under, trusted: dict[str, str]) -> None:
    with under(**trusted) as service:
        assert answer(service, token()) == 200
        Path(trusted["SECURITY__JWKS_FILE"]).write_bytes(key_set(OTHER))
        assert until(401, lambda: answer(service, token()))
        assert answer(service, token(OTHER)) == 200


def test_only_the_listed_algorithms_count(under: Under, trusted: dict[str, str]) -> None:
    with under(**trusted, SECURITY__ALGORITHMS='["ES256"]') as service:
        assert answer(service, token()) == 401
    with under(**trusted, SECURITY__ALGORITHMS='["ES256", "Ed25519"]') as service:
        assert answer(service, token()) == 200


def test_leeway_covers_clocks_that_disagree(under: Under, trusted: dict[str, str]) -> None:
    ended = int(time.time()) - 15
    for leeway, status in ((0, 401), (5, 401), (120, 200)):
        with under(**trusted, SECURITY__LEEWAY_SECONDS=str(leeway)) as service:
            assert answer(service, token(exp=ended)) == status


def test_claims_of_other_names_say_tenant_and_roles(under: Under, trusted: dict[str, str]) -> None:
    body = {"text": "I use QGIS", "type": "fact", "source": {"kind": "self"}}
    north = token(org="north", groups=["user", "auditor"])
    headers = {"Authorization": f"Bearer {north}"}
    with under(**trusted, SECURITY__TENANT_CLAIM="org", SECURITY__ROLES_CLAIM="groups") as service:
        assert httpx.post(f"{service.address}/candidates", json=body, headers=headers).status_code == 201
        assert answer(service, north, "/audit") == 200
        south = {"Authorization": f"Bearer {token(org='south', groups=['user'])}"}
        assert httpx.get(f"{service.address}/memories", headers=headers).json()["items"]
        assert httpx.get(f"{service.address}/memories", headers=south).json()["items"] == []
    with under(**trusted) as service:
        assert answer(service, north, "/audit") == 403
        assert httpx.get(f"{service.address}/memories", headers=headers).json()["items"] == [], "another tenant"


@pytest.fixture
def provider() -> Iterator[KeyServer]:
    with key_server(KEY) as serving:
        yield serving


def behind(provider: KeyServer, **more: str) -> dict[str, str]:
    """Settings under which its keys are believed."""
    return {"SECURITY__ISSUER": ISSUER, "SECURITY__AUDIENCE": AUDIENCE, "SECURITY__JWKS_URL": provider.address, **more}


def test_keys_behind_an_address_are_fetched_again(under: Under, provider: KeyServer) -> None:
    with under(**behind(provider, SECURITY__JWKS_REFRESH_SECONDS="1")) as service:
        assert answer(service, token()) == 200
        provider.publish(OTHER)
        assert until(401, lambda: answer(service, token())), "a removed key stops working"
    provider.publish(KEY)
    provider.asked = 0
    with under(**behind(provider, SECURITY__JWKS_REFRESH_SECONDS="3600")) as service:
        assert answer(service, token()) == 200
        time.sleep(1.2)
        assert answer(service, token()) == 200
        assert provider.asked == 1


def test_keys_too_old_are_given_up_in_an_outage(under: Under, provider: KeyServer) -> None:
    for stale, status in (("1", 503), ("86400", 200)):
        provider.status = 200
        named = {"SECURITY__JWKS_REFRESH_SECONDS": "1", "SECURITY__JWKS_STALE_SECONDS": stale}
        with under(**behind(provider, **named)) as service:
            assert answer(service, token()) == 200
            provider.status = 500
            time.sleep(1.2)
            assert answer(service, token()) == status


def test_a_slow_key_address_is_waited_for_so_long(under: Under, provider: KeyServer) -> None:
    provider.delay = 0.8
    for seconds, status in (("0.2", 503), ("10", 200)):
        with under(**behind(provider, SECURITY__JWKS_TIMEOUT_SECONDS=seconds)) as service:
            assert answer(service, token()) == status


def test_a_gateway_may_write_other_headers(under: Under) -> None:
    names = {"SECURITY__SUBJECT_HEADER": "X-Who", "SECURITY__TENANT_HEADER": "X-Org", "SECURITY__ROLES_HEADER": "X-May"}
    body = {"text": "I use QGIS", "type": "fact", "source": {"kind": "self"}}
    north = {"X-Who": "ana", "X-Org": "north", "X-May": "user,auditor"}
    with under(SECURITY__RESOLVER="headers", **names) as service, httpx.Client(base_url=service.address) as client:
        assert client.post("/candidates", json=body, headers=north).status_code == 201
        assert client.get("/audit", headers=north).status_code == 200
        assert client.get("/memories", headers=north).json()["items"]
        assert client.get("/memories", headers=north | {"X-Org": "south"}).json()["items"] == []
        usual = {"X-Subject": "ana", "X-Tenant": "north", "X-Roles": "user,auditor"}
        assert client.get("/memories", headers=usual).status_code == 401
        assert client.get("/audit", headers={"X-Who": "ana", "X-Roles": "auditor"}).status_code == 403


def test_the_production_template_serves_verified_callers_only(under: Under, provider: KeyServer) -> None:
    """With its three empty values given it starts, and has memory for who signs in by the issuer."""
    template = Path(__file__).parents[2] / "deploy" / "production.env"
    lines = template.read_text(encoding="utf-8").splitlines()
    named = dict(line.removeprefix(PREFIX).split("=", 1) for line in lines if line and not line.startswith("#"))
    with pytest.raises(StartRefused, match="ISSUER"), under(**named):
        pass
    with under(**(named | behind(provider))) as service:
        assert service.app.development_key is None
        assert httpx.get(f"{service.address}/memories").status_code == 401
        assert answer(service, token(OTHER)) == 401
        signed = {"Authorization": f"Bearer {token()}"}
        body = {"text": "I use QGIS", "type": "fact", "source": {"kind": "self"}}
        assert httpx.post(f"{service.address}/candidates", json=body, headers=signed).status_code == 201
        found = httpx.post(f"{service.address}/recall", json={"query": "QGIS"}, headers=signed).json()
        assert len(found["memories"]) == 1
    with under(**(named | behind(provider) | {"ENVIRONMENT": "development"})) as service:
        assert service.client().get("/memories").status_code == 200, "only there development tokens count"
    with pytest.raises(StartRefused), under(**(named | behind(provider, MEMORY__REQUIRE_VERIFIED_PRINCIPAL="false"))):
        pass
