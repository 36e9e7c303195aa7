"""Everything through a transaction pooler with two server sessions: no lock left behind, no statement lost (F04)."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import psycopg
import pytest

from ingatan.errors import DatabaseUnavailable
from ingatan.settings import Prepared
from ingatan.storage import embedded
from ingatan.storage.checks import keeps_prepared
from ingatan.storage.database import Database
from ingatan.storage.migrate import current_version, expected_version
from ingatan.types import Principal, new_id
from tests.integration.test_migrate import MIGRATE
from tests.pooler.conftest import Pooler
from tests.serving import Service, serving

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["auto", "off", "on"])
def prepared(request: pytest.FixtureRequest, pooler: Pooler) -> str:
    """The setting; ``on`` is for poolers that follow prepared statements, and for others ``auto`` stands in."""
    chosen = str(request.param)
    return chosen if chosen != "on" or pooler.follows_prepared else "auto"


@pytest.fixture
def pooled(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, pooler: Pooler, prepared: str
) -> Iterator[Service]:
    """A service whose every statement goes through the pooler."""
    url = pooler.url(server.url(embedded.APP, database_name))
    with serving(url, tmp_path, environ={"INGATAN_DATABASE__PREPARED_STATEMENTS": prepared}) as running:
        yield running


def locks(server: embedded.EmbeddedServer, database_name: str) -> list[Any]:
    """Advisory locks in the database: after an act there may be none."""
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name)) as driver:
        return driver.execute(
            "select l.pid from pg_locks l join pg_database d on d.oid = l.database"
            " where l.locktype = 'advisory' and d.datname = current_database()"
        ).fetchall()


def test_f04_a_thousand_mixed_requests(pooled: Service, server: embedded.EmbeddedServer, database_name: str) -> None:
    """Five people at once: write, read, recall, list, correct. Nothing fails, nothing mixes."""
    answers: list[int] = []
    mixed: list[str] = []

    def use(name: str) -> None:
        client = pooled.client(name)
        said = pooled.say(client, "I use QGIS every week.")
        text = f"My office is called {name}."
        stated = {"text": text, "type": "fact", "source": {"kind": "self"}}
        answers.append(client.post("/candidates", json=stated).status_code)
        for n in range(49):
            turns = {"messages": [{"role": "user", "content": f"note {n}"}]}
            answers.append(client.post(f"/conversations/{said}/messages", json=turns).status_code)
            recalled = client.post("/recall", json={"query": "office"})
            listed = client.get("/memories")
            answers.extend((recalled.status_code, listed.status_code, client.get("/conversations").status_code))
            mixed.extend(item["text"] for item in listed.json()["items"] if item["text"] != text)

    names = ["ana", "budi", "chi", "dewi", "eko"]
    threads = [threading.Thread(target=use, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 5 * (1 + 49 * 4)
    assert set(answers) <= {200, 201}
    assert mixed == []
    assert pooled.sweep().written == len(names)
    assert pooled.app.seal() > 0
    assert locks(server, database_name) == []


def test_f04_two_sweepers_through_the_pooler(
    pooled: Service, server: embedded.EmbeddedServer, database_name: str
) -> None:
    """They exclude each other by lease, and a leader that vanished holds nobody up beyond it."""
    for name in ("ana", "budi", "chi"):
        pooled.say(pooled.client(name), "I work at the port.")
    later = datetime.now(UTC) + timedelta(minutes=31)
    reports = []
    threads = [threading.Thread(target=lambda: reports.append(pooled.app.sweeper.sweep(later))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(report.written for report in reports) == 3
    assert locks(server, database_name) == []


def test_f04_a_holder_killed_in_mid_work_holds_nobody_up(
    pooled: Service, server: embedded.EmbeddedServer, database_name: str, tmp_path: Path, pooler: Pooler
) -> None:
    """Once its lease has run out another one does the work; no lock of the dead one is left at the server."""
    ana = pooled.client()
    pooled.say(ana, "I work at the port.")
    url = pooler.url(server.url(embedded.APP, database_name))
    moment = (datetime.now(UTC) + timedelta(minutes=31)).isoformat()
    command = [sys.executable, "-m", "tests.integration.sweep_process", url, str(tmp_path), moment, "thought", "0"]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert killed.returncode == -9, killed.stderr
    assert locks(server, database_name) == []
    assert pooled.sweep().written == 0, "in hand until the lease has run out"
    with psycopg.connect(server.url(embedded.ADMINISTRATOR, database_name)) as driver:
        driver.execute("update leases set lease_until = now() - interval '1 second'")
        driver.execute("update sweep_state set lease_until = now() - interval '1 second'")
        driver.execute("update subjects set lease_until = now() - interval '1 second'")
    assert pooled.sweep().written == 1
    assert len(pooled.remembered(ana)) == 1
    assert locks(server, database_name) == []


def test_f04_three_replicas_migrate_through_the_pooler(
    server: embedded.EmbeddedServer, fresh: Callable[..., str], pooler: Pooler
) -> None:
    url = pooler.url(server.url(embedded.OWNER, fresh("template1")))
    replicas = [
        subprocess.Popen([sys.executable, "-c", MIGRATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    answers = [replica.communicate(url, timeout=60)[0].strip() for replica in replicas]
    assert answers == [expected_version()] * 3
    assert current_version(url) == expected_version()


def test_the_probe_tells_a_pooler_from_a_direct_connection(
    server: embedded.EmbeddedServer, database_name: str, pooler: Pooler
) -> None:
    direct = server.url(embedded.APP, database_name)
    assert keeps_prepared(direct, timeout_seconds=5)
    assert keeps_prepared(pooler.url(direct), timeout_seconds=5) is pooler.follows_prepared


@pytest.mark.parametrize("prepared", [Prepared.AUTO, Prepared.OFF])
def test_prepared_statements_are_given_up_where_they_get_lost(
    server: embedded.EmbeddedServer, database_name: str, pooler: Pooler, prepared: Prepared
) -> None:
    database = Database(pooler.url(server.url(embedded.APP, database_name)), prepared=prepared)
    database.open()
    try:
        assert database.prepares is (prepared is Prepared.AUTO and pooler.follows_prepared)
    finally:
        database.close()


def test_a_pooler_that_comes_between_later_is_noticed(
    server: embedded.EmbeddedServer, database_name: str, pooler: Pooler, tmp_path: Path
) -> None:
    """Statements that got lost are answered with 503, and from then on nothing is prepared."""
    direct = server.url(embedded.APP, database_name)
    socket = parse_qs(urlsplit(direct).query)["host"][0]
    way = tmp_path / "way"
    way.symlink_to(socket)
    database = Database(direct.replace(quote(socket, safe=""), quote(str(way), safe="")), pool_size=4)
    database.open()
    assert database.prepares
    way.unlink()
    way.symlink_to(pooler.directory)
    try:
        first = read_at_random(database)
        assert database.prepares is pooler.follows_prepared
        assert bool(first) is not pooler.follows_prepared
        assert read_at_random(database) == 0
    finally:
        database.close()


def read_at_random(database: Database) -> int:
    """Four threads, a hundred reads each of three queries in any order; how many were answered with 503."""
    person, refused = Principal(new_id(), new_id()), list[int]()

    def read(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(100):
            try:
                with database.read(person) as connection:
                    connection.all(chance.choice(["probe.subjects", "probe.scope", "probe.titles"]))
            except DatabaseUnavailable:
                refused.append(seed)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(refused)


def test_the_service_answers_while_the_pooler_is_busy(pooled: Service) -> None:
    """Twenty at once over two server sessions: they wait their turn."""
    clients = [pooled.client(f"person-{n}") for n in range(20)]
    codes: list[int] = []
    threads = [
        threading.Thread(target=lambda each=client: codes.append(each.get("/memories").status_code))
        for client in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [200] * 20
    assert httpx.get(f"{pooled.address}/readyz").status_code == 200
