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
from tests.serving import Service, serving
from tests.tables import Tables

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


def reviewer(service: Service, name: str = "rita", *, tenant: str = "default") -> httpx.Client:
    return service.client(name, roles=[Role.REVIEWER], tenant=tenant)


def queued(client: httpx.Client, **params: str) -> list[dict[str, Any]]:
    return list(client.get("/review/candidates", params=params).raise_for_status().json()["items"])


def proposed(client: httpx.Client, text: str, **more: Any) -> dict[str, Any]:
    body = {"text": text, "type": "preference", "source": {"kind": "self"}, "review": True} | more
    answer = client.post("/candidates", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())
