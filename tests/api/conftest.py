"""A service under settings of a test's choosing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingatan.settings import PREFIX
from ingatan.storage import embedded
from ingatan.types import Role
from tests.api.desk import Desk
from tests.api.house import Gate, House
from tests.serving import Service, serving
from tests.signing import Signer
from tests.tables import Tables

WORK = "I work at the port of Sabang."
KEPT = WORK.rstrip(".")
"""As the rules read it."""
TEA = "I prefer green tea in the morning."

Under = Callable[..., AbstractContextManager[Service]]
"""Serve the test's one database, again and again, each time under other settings: ``under(MEMORY__IDLE_MINUTES="2")``.

``prefix`` is that of the variables; ``parts`` are what ``serving`` takes besides the environment.
"""


@pytest.fixture
def under(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Under:
    @contextmanager
    def serve(*, prefix: str = PREFIX, parts: dict[str, Any] | None = None, **named: str) -> Iterator[Service]:
        environ = {f"{prefix}{name}": value for name, value in named.items()}
        with serving(server.url(embedded.APP, database_name), tmp_path, environ=environ, **(parts or {})) as running:
            yield running

    return serve


@pytest.fixture
def tables(server: embedded.EmbeddedServer, database_name: str) -> Tables:
    """The tables of the test's own database."""
    return Tables.of(server, database_name)


@pytest.fixture
def governed(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    """A service under the profile by which what is read out of conversations waits for a reviewer."""
    environ = {"INGATAN_POLICY__PROFILE": "governed"}
    with serving(server.url(embedded.APP, database_name), tmp_path, environ=environ) as running:
        yield running


@pytest.fixture
def house(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[House]:
    gate = Gate()
    with serving(server.url(embedded.APP, database_name), tmp_path, embedder=gate) as service:
        yield House(
            service,
            gate,
            Tables.of(server, database_name),
            service.client("operator", roles=[Role.ADMIN]),
            service.client("agent", roles=[Role.WRITER]),
            service.client("ana"),
            str(service.principal("ana").subject_id),
        )


@pytest.fixture
def desk(service: Service) -> Desk:
    operator = service.client("operator", roles=[Role.ADMIN])
    person = str(service.principal("ana").subject_id)
    account = operator.post("/accounts", json={"name": "Kopi"}).raise_for_status().json()["id"]
    operator.put(f"/accounts/{account}/members/{person}", json={"role": "member"}).raise_for_status()
    made = Desk(service, operator, service.client("agent", roles=[Role.WRITER]), Signer(), account, person)
    assert made.source(made.signer).status_code == 201
    return made


def reviewer(service: Service, name: str = "rita", *, tenant: str = "default") -> httpx.Client:
    return service.client(name, roles=[Role.REVIEWER], tenant=tenant)


def queued(client: httpx.Client, **params: str) -> list[dict[str, Any]]:
    return list(client.get("/review/candidates", params=params).raise_for_status().json()["items"])


def proposed(client: httpx.Client, text: str, **more: Any) -> dict[str, Any]:
    body = {"text": text, "type": "preference", "source": {"kind": "self"}, "review": True} | more
    answer = client.post("/candidates", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def held(service: Service, client: httpx.Client, *texts: str) -> str:
    """Say something that is then held; the newest held candidate's id."""
    service.say(client, *texts)
    service.sweep()
    items = client.get("/candidates", params={"state": "open"}).raise_for_status().json()["items"]
    return str(items[0]["id"])
