"""Identity: which credentials become which principal, and which never do."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, OKPKey, RSAKey

from ingatan.errors import StartRefused, Unauthenticated
from ingatan.identity import (
    LIFETIME_SECONDS_MAX,
    JwtResolver,
    TrustedIssuer,
    subject_uuid,
    tenant_uuid,
)
from ingatan.keysets import KeySetFile
from ingatan.types import Role

NOW = 1_790_000_000
KEY = RSAKey.generate_key(2048, {"kid": "k1", "alg": "RS256"})
OTHER = RSAKey.generate_key(2048, {"kid": "k1"})
ISSUER, AUDIENCE = "https://id.example", "ingatan"


def resolver(**change: Any) -> JwtResolver:
    keys = KeySet([RSAKey.import_key(KEY.as_dict(private=False))])
    issuer = TrustedIssuer(ISSUER, AUDIENCE, ("RS256",), lambda kid: keys)
    return JwtResolver([issuer], leeway_seconds=30, clock=lambda: NOW, **change)


def claims(**change: Any) -> dict[str, Any]:
    base = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ana", "tenant": "t1", "iat": NOW, "exp": NOW + 3600}
    return {name: value for name, value in (base | change).items() if value is not None}


def token(key: Any = KEY, alg: str = "RS256", header: dict[str, Any] | None = None, **change: Any) -> str:
    return jwt.encode({"alg": alg, "kid": "k1", **(header or {})}, claims(**change), key, algorithms=[alg])


def bearer(value: str) -> list[str]:
    return [f"Bearer {value}"]


def test_a_valid_token_becomes_its_principal() -> None:
    principal = resolver().resolve(bearer(token()))
    assert principal.tenant_id == tenant_uuid("t1")
    assert principal.subject_id == subject_uuid(ISSUER, "ana")
    assert principal.roles == {Role.USER}
    assert principal.verified


@pytest.mark.parametrize("audience", [AUDIENCE, ["other", AUDIENCE]])
def test_an_audience_that_names_us_is_accepted(audience: object) -> None:
    assert resolver().resolve(bearer(token(aud=audience))).verified


def unsigned(alg: str) -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': alg})}.{part(claims())}."


FORGED: dict[str, Callable[[], str]] = {
    "alg none": lambda: unsigned("none"),
    "alg None": lambda: unsigned("None"),
    "alg nOnE": lambda: unsigned("nOnE"),
    "signature cut off": lambda: token().rsplit(".", 1)[0] + ".",
    "hmac with the public key": lambda: jwt.encode(
        {"alg": "HS256"}, claims(), OctKey.import_key(b"x" * 64), algorithms=["HS256"]
    ),
    "another key": lambda: token(OTHER),
    "embedded jwk": lambda: token(OTHER, header={"jwk": OTHER.as_dict(private=False)}),
    "jku": lambda: token(OTHER, header={"jku": "http://127.0.0.1:9/keys"}),
    "kid path": lambda: token(OTHER, header={"kid": "../../dev/null"}),
    "kid sql": lambda: token(OTHER, header={"kid": "' OR 1=1 --"}),
    "other audience": lambda: token(aud="other"),
    "no audience": lambda: token(aud=None),
    "other issuer": lambda: token(iss="https://evil.example"),
    "no subject": lambda: token(sub=None),
    "blank subject": lambda: token(sub="  "),
    "number as subject": lambda: token(sub=5),
    "no expiry": lambda: token(exp=None),
    "expired": lambda: token(exp=NOW - 600),
    "absurd expiry": lambda: token(exp=NOW + LIFETIME_SECONDS_MAX + 60),
    "expiry as text": lambda: token(exp=str(NOW + 60)),
    "expiry not a number": lambda: token(exp=float("nan")),
    "not before far ahead": lambda: token(nbf=NOW + 600),
    "issued far ahead": lambda: token(iat=NOW + 600),
    "issued as text": lambda: token(iat="now"),
    "roles not a list": lambda: token(roles="admin"),
    "tenant not a text": lambda: token(tenant=["t1"]),
    "nonsense": lambda: "a.b.c",
    "too long": lambda: "a" * 20_000,
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_and_foreign_tokens_are_refused_alike(name: str) -> None:
    with pytest.raises(Unauthenticated) as caught:
        resolver().resolve(bearer(FORGED[name]()))
    assert str(caught.value) == "Send one 'Authorization: Bearer <token>' header with a valid token."


@pytest.mark.parametrize("headers", [[], ["Bearer"], ["Bearer "], ["Basic abc"], [""]])
def test_anything_but_one_bearer_header_is_refused(headers: list[str]) -> None:
    with pytest.raises(Unauthenticated):
        resolver().resolve(headers)


def test_two_headers_are_refused_although_each_would_do() -> None:
    with pytest.raises(Unauthenticated):
        resolver().resolve(bearer(token()) * 2)


@pytest.mark.parametrize(
    "change",
    [{"iat": NOW + 2, "nbf": NOW + 2}, {"exp": NOW - 2}, {"exp": NOW}, {"iat": None}, {"exp": NOW + 60.5}],
)
def test_small_skew_is_accepted_at_both_ends(change: dict[str, Any]) -> None:
    assert resolver().resolve(bearer(token(**change))).verified


def test_leeway_lengthens_a_session_by_itself_and_no_more() -> None:
    assert resolver().resolve(bearer(token(exp=NOW - 29))).verified
    with pytest.raises(Unauthenticated):
        resolver().resolve(bearer(token(exp=NOW - 30)))


def test_subjects_are_case_sensitive_and_of_their_issuer() -> None:
    assert subject_uuid("a", "Ana") != subject_uuid("a", "ana") != subject_uuid("b", "ana")
    canonical = "0b6f5a52-6c1e-4d0e-9a57-3f1d6b0a0001"
    assert str(subject_uuid("a", canonical)) == canonical
    assert str(subject_uuid("a", canonical.upper())) != canonical


def test_only_known_roles_count() -> None:
    assert resolver().resolve(bearer(token(roles=["auditor", "root", 5]))).roles == {Role.AUDITOR}
    assert resolver().resolve(bearer(token(roles=[]))).roles == frozenset()


def test_a_key_set_file_follows_changes_and_survives_an_outage(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    first, second = OKPKey.generate_key("Ed25519"), OKPKey.generate_key("Ed25519")

    def write(*keys: OKPKey) -> None:
        path.write_text(json.dumps({"keys": [key.as_dict(private=False) for key in keys]}), encoding="utf-8")

    write(first)
    file = KeySetFile(path)
    kept = JwtResolver([TrustedIssuer(ISSUER, AUDIENCE, ("Ed25519",), file)], clock=lambda: NOW)
    signed = jwt.encode({"alg": "Ed25519"}, claims(), first, algorithms=["Ed25519"])
    assert kept.resolve(bearer(signed)).verified
    path.write_text("{not json", encoding="utf-8")
    time.sleep(1.05)
    assert kept.resolve(bearer(signed)).verified, "an outage of the key source logs nobody out"
    write(second)
    time.sleep(1.05)
    with pytest.raises(Unauthenticated):
        kept.resolve(bearer(signed))


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"keys": 5}'])
def test_a_key_set_that_cannot_be_read_refuses_to_start(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(StartRefused):
        KeySetFile(path)
