"""A real transaction pooler, PgBouncer, between the service and the database.

Where there is none, these tests are not collected and the summary says so; INGATAN_TEST_POOLER=required ends the run
instead. INGATAN_TEST_PGBOUNCER names another one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import psycopg
import pytest

from ingatan.storage import embedded

NAMES = ("pgbouncer", "/usr/sbin/pgbouncer", "/usr/local/sbin/pgbouncer")
PGBOUNCER = os.environ.get("INGATAN_TEST_PGBOUNCER") or next(filter(None, map(shutil.which, NAMES)), None)
MISSING = "pooler tests: not collected, no PgBouncer found (install one, or name it in INGATAN_TEST_PGBOUNCER)"
SERVER_SESSIONS = 2
FOLLOWING_SINCE = (1, 21)
"""The first version that can follow prepared statements in transaction mode (its release notes)."""
SETTINGS = """\
[databases]
* = host={socket} port={port}
[pgbouncer]
listen_addr =
unix_socket_dir = {directory}
listen_port = {port}
auth_type = scram-sha-256
auth_file = {directory}/users.txt
admin_users = postgres
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 200
query_wait_timeout = 20
server_idle_timeout = 600
logfile = {directory}/pgbouncer.log
pidfile = {directory}/pgbouncer.pid
{more}
"""

collect_ignore_glob = [] if PGBOUNCER else ["test_*.py"]
if not PGBOUNCER and os.environ.get("INGATAN_TEST_POOLER") == "required":
    pytest.exit(MISSING, returncode=1)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say that the pooler tests did not run."""
    if not PGBOUNCER:
        terminalreporter.write_line(MISSING)


@dataclass(frozen=True)
class Pooler:
    """A running pooler: ``url`` turns the address of a database into the one through the pooler."""

    url: Callable[[str], str]
    directory: Path
    follows_prepared: bool


def version() -> tuple[int, ...]:
    """The pooler's version."""
    said = subprocess.run([str(PGBOUNCER), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"PgBouncer (\d+)\.(\d+)", said)
    assert found is not None, said
    return tuple(map(int, found.groups()))


@pytest.fixture(scope="session")
def pooler(server: embedded.EmbeddedServer) -> Iterator[Pooler]:
    """One pooler in transaction mode with two server sessions a role and database."""
    where = parse_qs(urlsplit(server.url()).query)
    socket, port = where["host"][0], where["port"][0]
    owner = Path(socket).stat()
    with tempfile.TemporaryDirectory(prefix="ingatan-pooler-") as name:
        directory = Path(name)
        roles = (embedded.APP, embedded.OWNER, embedded.ADMINISTRATOR)
        users = [f'"{role}" "{urlsplit(server.url(role)).password}"' for role in roles]
        (directory / "users.txt").write_text("\n".join(users) + "\n", encoding="utf-8")
        follows = version() >= FOLLOWING_SINCE
        more = "max_prepared_statements = 100" if follows else ""
        text = SETTINGS.format(socket=socket, port=port, directory=directory, sessions=SERVER_SESSIONS, more=more)
        (directory / "pgbouncer.ini").write_text(text, encoding="utf-8")
        as_owner: dict[str, Any] = {}
        if os.geteuid() == 0:  # it refuses to run as root; the database's account may reach the database's socket
            for path in (directory, *directory.iterdir()):
                os.chown(path, owner.st_uid, owner.st_gid)
            as_owner = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
        process = subprocess.Popen(
            [str(PGBOUNCER), "-q", str(directory / "pgbouncer.ini")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **as_owner,
        )

        def through(url: str) -> str:
            parts = urlsplit(url)
            query = urlencode({"host": str(directory), "port": port}, quote_via=quote)
            return f"postgresql://{parts.username}:{parts.password}@{parts.path}?{query}"

        _wait(through(server.url()), directory)
        yield Pooler(through, directory, follows)
        process.terminate()
        process.wait(10)


def _wait(url: str, directory: Path) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            psycopg.connect(url, connect_timeout=2).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                pytest.fail((directory / "pgbouncer.log").read_text(encoding="utf-8"))
            time.sleep(0.05)
        else:
            return
