"""Field cases of kind E: forged tokens, clocks, row security in force, identity given by arguments."""

from __future__ import annotations

import base64
import hmac
import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from joserfc import jwt
from joserfc.jwk import OKPKey

from ingatan.errors import StartRefused
from ingatan.identity import DEVELOPMENT_AUDIENCE, DEVELOPMENT_ISSUER
from ingatan.safeguards import refuse_unsafe
from ingatan.settings import load
from ingatan.storage import embedded
from ingatan.storage.database import Database
from ingatan.types import Principal, new_id
from tests.serving import Service

WORK: dict[str, Any] = {"text": "I work at the port of Sabang.", "type": "fact", "source": {"kind": "self"}}


def claims(**change: Any) -> dict[str, Any]:
    now = int(time.time())
    base = {"iss": DEVELOPMENT_ISSUER, "aud": DEVELOPMENT_AUDIENCE, "sub": "ana", "iat": now, "exp": now + 600}
    return {name: value for name, value in (base | change).items() if value is not None}


def signed(service: Service, header: dict[str, Any] | None = None, /, **change: Any) -> str:
    key = service.app.development_key
    assert key is not None
    names = {"alg": "Ed25519", **(header or {})}
    return jwt.encode(names, claims(**change), key, algorithms=["Ed25519"])


def unsigned(algorithm: str, signature: str = "") -> str:
    parts = [json.dumps({"alg": algorithm}), json.dumps(claims())]
    return ".".join(base64.urlsafe_b64encode(part.encode()).rstrip(b"=").decode() for part in parts) + f".{signature}"


def with_public_key_as_secret(service: Service) -> str:
    key = service.app.development_key
    assert key is not None
    parts = [json.dumps({"alg": "HS256"}), json.dumps(claims())]
    text = ".".join(base64.urlsafe_b64encode(part.encode()).rstrip(b"=").decode() for part in parts)
    mac = hmac.digest(key.as_pem(private=False), text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def with_own_key(header: str) -> str:
    mine = OKPKey.generate_key("Ed25519")
    value: Any = mine.as_dict(private=False) if header == "jwk" else "http://127.0.0.1:9/keys"
    return jwt.encode({"alg": "Ed25519", header: value}, claims(), mine, algorithms=["Ed25519"])


E01: dict[str, Callable[[Service], str]] = {
    "alg none": lambda s: unsigned("none"),
    "alg None": lambda s: unsigned("None"),
    "alg nOnE with a signature": lambda s: unsigned("nOnE", "AAAA"),
    "HS256 with the public key": with_public_key_as_secret,
    "embedded jwk": lambda s: with_own_key("jwk"),
    "jku": lambda s: with_own_key("jku"),
    "x5u": lambda s: with_own_key("x5u"),
    "another service's audience": lambda s: signed(s, aud="other"),
    "no audience": lambda s: signed(s, aud=None),
    "another issuer": lambda s: signed(s, iss="other"),
    "kid is a path": lambda s: signed(s, {"kid": "../../dev/null"}) + "x",
    "kid is an injection": lambda s: signed(s, {"kid": "' OR 1=1 --"})[:-6] + "AAAAAA",
    "expired": lambda s: signed(s, exp=int(time.time()) - 3_600),
}


@pytest.mark.parametrize("name", E01)
def test_e01_forged_and_foreign_tokens_get_one_terse_answer(service: Service, name: str) -> None:
    token = E01[name](service)
    answer = httpx.get(f"{service.address}/memories", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthenticated"
    assert answer.json()["detail"] == "Send one 'Authorization: Bearer <token>' header with a valid token."


def test_e01_an_audience_list_that_names_us_passes_and_two_headers_do_not(service: Service) -> None:
    token = signed(service, aud=["other", DEVELOPMENT_AUDIENCE])
    address, header = f"{service.address}/memories", ("Authorization", f"Bearer {token}")
    assert httpx.get(address, headers=[header]).status_code == 200
    assert httpx.get(address, headers=[header, header]).status_code == 401


@pytest.mark.parametrize("unset", ["ISSUER", "AUDIENCE", "JWKS_FILE", "ALGORITHMS"])
def test_e01_without_issuer_audience_keys_or_algorithms_nothing_starts(unset: str) -> None:
    environ = {
        "INGATAN_SECURITY__ISSUER": "https://id.example",
        "INGATAN_SECURITY__AUDIENCE": "ingatan",
        "INGATAN_SECURITY__JWKS_FILE": "keys.json",
    }
    refuse_unsafe(load(environ))
    environ[f"INGATAN_SECURITY__{unset}"] = "[]" if unset == "ALGORITHMS" else ""
    if unset == "JWKS_FILE":
        del environ["INGATAN_SECURITY__JWKS_FILE"]
    with pytest.raises(StartRefused):
        refuse_unsafe(load(environ))


@pytest.mark.parametrize(
    ("offsets", "passes"),
    [
        ({"iat": 2, "nbf": 2}, True),
        ({"iat": 600, "nbf": 600}, False),
        ({"exp": -2}, True),
        ({"exp": -600}, False),
        ({"exp": 0}, True),
        ({"iat": None}, True),
    ],
)
def test_e03_clocks_that_disagree(service: Service, offsets: dict[str, int | None], passes: bool) -> None:
    now = int(time.time())
    change: dict[str, Any] = {name: None if offset is None else now + offset for name, offset in offsets.items()}
    answer = httpx.get(f"{service.address}/memories", headers={"Authorization": f"Bearer {signed(service, **change)}"})
    assert answer.status_code == (200 if passes else 401)


@pytest.mark.parametrize("exp", [10**18, float("nan"), float("inf"), "soon", True, [1]])
def test_e03_absurd_times_are_401_and_not_500(service: Service, exp: Any) -> None:
    header, payload = json.dumps({"alg": "Ed25519"}), json.dumps(claims() | {"exp": exp})
    key = service.app.development_key
    assert key is not None
    parts = [base64.urlsafe_b64encode(part.encode()).rstrip(b"=") for part in (header, payload)]
    signature = key.private_key.sign(b".".join(parts))  # type: ignore[union-attr]
    token = b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()
    answer = httpx.get(f"{service.address}/memories", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401


SCOPES = ["", "set local ingatan.scope = ''", "set local ingatan.scope = 'not-a-uuid x person'", "tenant only"]


@pytest.mark.parametrize("scope", SCOPES)
def test_e05_without_a_scope_no_row_is_seen(
    service: Service, server: embedded.EmbeddedServer, database_name: str, scope: str
) -> None:
    """The count has no predicate at all: row-level security alone holds it."""
    ana = service.client("ana")
    ana.post("/candidates", json=WORK).raise_for_status()
    if scope == "tenant only":
        scope = f"set local ingatan.scope = '{service.principal('ana').tenant_id}'"
    with psycopg.connect(server.url(embedded.APP, database_name)) as driver:
        if scope:
            driver.execute(scope.encode())
        try:
            row = driver.execute("select count(*) from memories").fetchone()
        except psycopg.errors.InvalidTextRepresentation:
            return  # a scope that is none: a clean error, and nothing is seen
        assert row == (0,)


def test_e05_interleaved_and_cancelled_requests_never_see_a_foreign_row(
    server: embedded.EmbeddedServer, database_name: str
) -> None:
    """1,000 reads of two tenants on two connections, a fifth of them broken off in the middle."""
    people = [Principal(new_id(), new_id()) for _ in range(2)]
    database = Database(server.url(embedded.APP, database_name), pool_size=2)
    database.open()
    for person in people:
        with database.write(person) as connection:
            connection.run(
                "conversations.create",
                tenant_id=person.tenant_id, id=new_id(), user_id=person.subject_id, title=str(person.tenant_id),
                metadata={}, off_record=False, workspace_id=None,
            )  # fmt: skip
    wrong: list[str] = []

    def read(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(250):
            person = chance.choice(people)
            try:
                with database.read(person) as connection:
                    rows = connection.all("probe.titles")
                    wrong.extend(row.title for row in rows if row.title != str(person.tenant_id))
                    if not rows:
                        wrong.append("nothing")
                    if chance.random() < 0.2:
                        raise KeyboardInterrupt
            except KeyboardInterrupt:
                continue

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    assert wrong == []


@pytest.mark.parametrize("extra", [{"user_id": "ana"}, {"tenant": "T2"}, {"subject_id": str(uuid4())}])
def test_e06_identity_given_by_arguments_is_refused_and_not_ignored(service: Service, extra: dict[str, str]) -> None:
    bob = service.client("bob")
    assert bob.post("/recall", json={"query": "port", **extra}).status_code == 422
    assert bob.get("/memories", params=extra).status_code == 422
    assert bob.delete("/memories", params=extra).status_code == 422
    proposed = bob.post("/candidates", json=WORK | extra)
    assert proposed.status_code in {403, 422}


def test_e06_a_foreign_conversation_is_nobodys(service: Service) -> None:
    ana, bob = service.client("ana"), service.client("bob")
    said = service.say(ana, "I work at the port of Sabang.")
    assert bob.post("/recall", json={"query": "port", "conversation_id": said}).status_code == 404
    turns = {"messages": [{"role": "user", "content": "I am Bob."}]}
    assert bob.post(f"/conversations/{said}/messages", json=turns).status_code == 404


def test_e06_interleaved_sessions_never_mix(service: Service) -> None:
    ana, bob = service.client("ana"), service.client("bob")
    ana.post("/candidates", json=WORK).raise_for_status()
    bob.post("/candidates", json=WORK | {"text": "I prefer short answers.", "type": "preference"}).raise_for_status()
    for _ in range(20):
        mine = {item["text"] for item in ana.get("/memories").json()["items"]}
        theirs = {item["text"] for item in bob.get("/memories").json()["items"]}
        assert mine == {"I work at the port of Sabang."}
        assert theirs == {"I prefer short answers."}
