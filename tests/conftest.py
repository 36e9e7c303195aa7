"""What every test may use: one real server a session, a fresh database a test, and people."""

from __future__ import annotations

import ipaddress
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from ingatan.storage import embedded, queries
from ingatan.storage.database import Database
from ingatan.storage.migrate import migrate
from ingatan.storage.server import configuration
from ingatan.types import Principal, new_id
from tests.serving import Service, serving

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")  # the same examples everywhere; new ones with --hypothesis-profile=default


def _stay_at_home(event: str, arguments: tuple[Any, ...]) -> None:
    """No test talks to a model, or to anybody else, beyond this machine: neither a look-up nor a connection leaves."""
    if event not in {"socket.connect", "socket.getaddrinfo"}:
        return
    target = arguments[1] if event == "socket.connect" else arguments[0]
    if event == "socket.connect" and not isinstance(target, tuple):
        return  # a socket in the file system
    host = target[0] if isinstance(target, tuple) else target
    host = host.decode() if isinstance(host, bytes) else host
    try:
        home = host in {None, "", "localhost"} or ipaddress.ip_address(host).is_loopback
    except ValueError:
        home = False
    if not home:
        raise PermissionError("A test may not reach beyond loopback.")


sys.addaudithook(_stay_at_home)

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several workers share the cores: threads that spin slow all of them

TEMPLATE = "ingatan_template"
LONGEST_FIRST = ("acceptance", "browser", "regressions", "pooler", "integration", "api")
"""Folders whose tests start processes or databases, by how long a test takes; the others come after them."""
_numbers = itertools.count(1)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, else in any order: short ones fill up the end, so that no worker waits for another."""
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)


@dataclass(frozen=True, kw_only=True)
class Principals:
    """Two people of one tenant, and one of another."""

    alice: Principal
    bob: Principal
    carol: Principal


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded.EmbeddedServer]:
    """A server with a template database that the real migrations built. It waits for no disk: no test cuts the power,
    and what must outlive a killed server is tested on servers as they ship."""
    quick = {"fsync": "off", "full_page_writes": "off"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "configuration", lambda *where: configuration(*where) | quick)
        running = embedded.start(tmp_path_factory.mktemp("server"))
    with running:
        running.create_database(TEMPLATE)
        migrate(running.url(embedded.OWNER, TEMPLATE))
        yield running


@pytest.fixture
def fresh(server: embedded.EmbeddedServer) -> Iterator[Callable[..., str]]:
    """Make a database from the migrated template, or from ``template``; returns its name. Removed afterwards."""
    made: list[str] = []

    def make(template: str = TEMPLATE) -> str:
        made.append(f"test_{next(_numbers)}")
        server.create_database(made[-1], template=template)
        return made[-1]

    yield make
    for name in made:
        server.drop_database(name)


@pytest.fixture
def database_name(fresh: Callable[..., str]) -> str:
    """The name of the test's own migrated database."""
    return fresh()


@pytest.fixture
def database(server: embedded.EmbeddedServer, database_name: str) -> Iterator[Database]:
    """The test's own database, opened as the service role."""
    opened = Database(server.url(embedded.APP, database_name))
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def principals() -> Principals:
    """Alice and Bob in one tenant, Carol in another."""
    return people()


def people() -> Principals:
    """Three people nobody has met."""
    tenant = new_id()
    return Principals(
        alice=Principal(tenant, new_id()), bob=Principal(tenant, new_id()), carol=Principal(new_id(), new_id())
    )


@pytest.fixture
def service(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    """A running service on a fresh database, with memory on and S1's defaults."""
    with serving(server.url(embedded.APP, database_name), tmp_path) as running:
        yield running


@pytest.fixture(scope="session", autouse=True)
def _probes() -> None:
    """Queries of the tests' own, beside the shipped ones."""
    for noun in ("rows", "probe"):
        file = Path(__file__).parent / "integration" / f"{noun}.sql"
        queries.register(file.read_text(encoding="utf-8"), noun)
