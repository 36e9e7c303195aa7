"""A PostgreSQL server of our own in a data directory: one owner, who starts and stops it, and borrowers.

The data directory holds ``postgres/`` (the cluster), ``postgres.log``, ``credentials.json`` (0600), ``server.json``
(where the socket is) and two lock files. There is no TCP; the socket lies in a 0700 directory. As root, the server
runs as 'postgres' or 'nobody'. It ends when its owner does, however that happens.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
import time
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql

from ingatan.errors import StartRefused, Unavailable
from ingatan.storage import binaries, processes, queries
from ingatan.storage.binaries import Account
from ingatan.storage.locks import Lock
from ingatan.storage.server import Child, configuration, run_to_end

OWNER, APP, ADMINISTRATOR = "ingatan_owner", "ingatan_app", "postgres"
DATABASE = "ingatan"
TEMPLATE = "template1"
PORT = 5432
MAJOR_VERSION = "18"
START_SECONDS = 60.0
STOP_SECONDS = 20.0
ATTACH_SECONDS = 15.0
BORROWED_SECONDS = 60.0
LOCK_SECONDS = 0.5  # longer than another process needs to find out whether there is an owner
POLL_SECONDS = 0.01
LOG_BYTES_MAX = 5_000_000
BOOTSTRAP = ("embedded.passwords", "embedded.roles", "embedded.vector")
"""What makes a cluster ours, in order, in one transaction."""


class EmbeddedServer:
    """A running server. Made by ``start``, ``attach`` or ``borrow_or_start``; ``stop`` gives it back."""

    def __init__(self, data: Path, *, socket: Path, lock: Lock, child: Child | None, patience_seconds: float) -> None:
        self._data = data
        self._socket = socket
        self._lock = lock
        self._child = child
        self._patience_seconds = patience_seconds

    @property
    def owned(self) -> bool:
        """Whether ``stop`` stops the server, rather than only letting go of it."""
        return self._child is not None

    @property
    def ended(self) -> bool:
        """Whether a server that we own has ended without being asked to."""
        return self._child is not None and self._child.ended

    @property
    def process_id(self) -> int | None:
        """The server's process id if we own it."""
        return self._child.process_id if self._child else None

    @property
    def log(self) -> Path:
        """The server's log: starts, stops and crashes, and nothing of any statement."""
        return self._data / "postgres.log"

    def url(self, role: str = APP, database: str = DATABASE) -> str:
        """The connection address of ``role``, with its password: handle like one."""
        password = _credentials(self._data)[role]
        where = urlencode({"host": str(self._socket), "port": PORT}, quote_via=quote)
        return f"postgresql://{role}:{password}@/{quote(database)}?{where}"

    def create_database(self, name: str, *, template: str = TEMPLATE) -> None:
        """Make database ``name`` as a copy of ``template``, which nobody may be connected to."""
        self._administer("embedded.create_database", name=name, template=template)

    def drop_database(self, name: str) -> None:
        """Remove database ``name`` if it is there, ending its connections."""
        self._administer("embedded.drop_database", name=name)

    def stop(self) -> None:
        """Stop the server if we own it (fast shutdown, then harder); let go of it otherwise. May be repeated."""
        child, self._child = self._child, None
        if child is None:
            self._lock.release()
            return
        borrowers = Lock(self._data / "borrowers.lock")
        borrowers.acquire(exclusive=True, wait_seconds=self._patience_seconds)
        child.stop(STOP_SECONDS)
        _forget_socket(self._data, self._socket)
        borrowers.release()
        self._lock.release()

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _administer(self, name: str, /, **identifiers: str) -> None:
        statement = sql.SQL(queries.load(name).decode()).format(
            **{key: sql.Identifier(value) for key, value in identifiers.items()}
        )
        with psycopg.connect(self.url(ADMINISTRATOR, "postgres"), autocommit=True) as driver:
            driver.execute(statement)


def start(data_directory: Path) -> EmbeddedServer:
    """Start the server of ``data_directory``, creating it if it is empty, and own it until ``stop``.

    StartRefused, saying what to do, if another process owns it or the server does not come up (see ``postgres.log``).
    """
    data = _prepared(data_directory)
    lock = Lock(data / "owner.lock")
    if not lock.acquire(exclusive=True, wait_seconds=LOCK_SECONDS):
        raise StartRefused(
            f"Another Ingatan service is running on {data}. Stop it, or give this one a data directory of its own."
        )
    return _start_locked(data, lock, patience_seconds=0)


def attach(data_directory: Path) -> EmbeddedServer:
    """Borrow the server that a running service owns. Unavailable if none comes up in time."""
    data = data_directory.resolve()
    borrowed = Lock(data / "borrowers.lock")
    deadline = time.monotonic() + ATTACH_SECONDS
    while time.monotonic() < deadline and data.is_dir():
        if borrowed.acquire(exclusive=False):
            if _is_owned(data) and (socket := _ready_socket(data)) is not None:
                return EmbeddedServer(data, socket=socket, lock=borrowed, child=None, patience_seconds=0)
            borrowed.release()
            if not _is_owned(data):
                break
        time.sleep(POLL_SECONDS * 5)
    raise Unavailable(f"No Ingatan service is running on {data}. Start one with 'ingatan serve'.")


def borrow_or_start(data_directory: Path) -> EmbeddedServer:
    """For commands: borrow a running service's server, else own one until ``stop``, which waits for its borrowers."""
    data = _prepared(data_directory)
    lock = Lock(data / "owner.lock")
    if lock.acquire(exclusive=True):
        return _start_locked(data, lock, patience_seconds=BORROWED_SECONDS)
    try:
        return attach(data)
    except Unavailable:  # the owner went meanwhile, or another command only looked
        if lock.acquire(exclusive=True, wait_seconds=LOCK_SECONDS):
            return _start_locked(data, lock, patience_seconds=BORROWED_SECONDS)
        raise


def _start_locked(data: Path, lock: Lock, *, patience_seconds: float) -> EmbeddedServer:
    child: Child | None = None
    socket: Path | None = None
    try:
        cluster = data / "postgres"
        whom = binaries.account(cluster)
        record = _read_json(data / "server.json")
        processes.evict(cluster)
        _forget_socket(data, _path(record.get("socket")))
        programs = binaries.usable(whom, binaries.installed(), _path(record.get("programs")))
        _initialise(data, programs, whom)
        socket = _socket_directory(data, whom)
        record = {"socket": str(socket), "programs": str(programs), "bootstrapped": record.get("bootstrapped", "")}
        _write_private(data / "server.json", json.dumps(record))
        log = _rotated_log(data)
        child = Child(whom, cluster, programs / "bin" / "postgres", configuration(socket, PORT), log)
        _await_ready(data, child)
        server = EmbeddedServer(data, socket=socket, lock=lock, child=child, patience_seconds=patience_seconds)
        if record["bootstrapped"] != (edition := _bootstrap_edition()):
            _bootstrap(server, data)
            _write_private(data / "server.json", json.dumps(record | {"bootstrapped": edition}))
        return server
    except BaseException:
        if child is not None:
            child.stop(STOP_SECONDS)
        _forget_socket(data, socket)
        lock.release()
        raise


def _initialise(data: Path, programs: Path, whom: Account) -> None:
    """Make the cluster in a directory beside, and move it into place when it is whole."""
    cluster = data / "postgres"
    if cluster.exists():
        version = (cluster / "PG_VERSION").read_text(encoding="ascii").strip()
        if version != MAJOR_VERSION:
            raise StartRefused(f"{cluster} was made by PostgreSQL {version}; this release has {MAJOR_VERSION}.")
        if not (data / "credentials.json").exists():
            raise StartRefused(f"{data / 'credentials.json'} is missing. Restore it from a backup of {data}.")
        return
    for old in data.glob("postgres.new-*"):
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink()
    names = (ADMINISTRATOR, OWNER, APP)
    _write_private(data / "credentials.json", json.dumps({name: secrets.token_urlsafe(24) for name in names}))
    new = data / f"postgres.new-{secrets.token_hex(4)}"
    new.mkdir(mode=0o700)
    secret = new.with_name(f"{new.name}.password")
    _write_private(secret, _credentials(data)[ADMINISTRATOR])
    try:
        if whom.drop:
            os.chown(new, whom.user_id, whom.group_id)
            os.chown(secret, whom.user_id, whom.group_id)
        run_to_end(whom, new, programs / "bin" / "initdb", secret)
    finally:
        secret.unlink()
    new.rename(cluster)


def _bootstrap_edition() -> str:
    """What the bootstrap does, as a digest: a directory that an older release bootstrapped goes through it again."""
    done = b"\0".join(queries.load(name) for name in BOOTSTRAP)
    return sha256(done).hexdigest()[:16]


def _bootstrap(server: EmbeddedServer, data: Path) -> None:
    """Roles, extension and our database. Every step may be repeated after a crash between two."""
    passwords = _credentials(data)
    hand_over, roles, extension = map(queries.load, BOOTSTRAP)
    with psycopg.connect(server.url(ADMINISTRATOR, TEMPLATE)) as driver:
        driver.execute(hand_over, {"owner": passwords[OWNER], "app": passwords[APP]})
        driver.execute(roles, {})
        driver.execute(extension)
    with psycopg.connect(server.url(ADMINISTRATOR, "postgres")) as driver:
        exists = driver.execute(queries.load("embedded.database_exists"), {"name": DATABASE}).fetchone()
    if exists is None:
        server.create_database(DATABASE)


def _await_ready(data: Path, child: Child) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if child.ended:
            raise StartRefused(f"The database server did not start; {data / 'postgres.log'} says why.")
        if _is_ready(data):
            return
        time.sleep(POLL_SECONDS)
    raise StartRefused(f"The database server was not ready in {START_SECONDS:.0f} s; see {data / 'postgres.log'}.")


def _is_ready(data: Path) -> bool:
    """Whether the process id file, whose eighth line is the state, says so. Its first line is checked by ``evict``."""
    try:
        lines = (data / "postgres" / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, PermissionError):
        return False
    return len(lines) >= 8 and lines[7].strip() == "ready"


def _ready_socket(data: Path) -> Path | None:
    socket = _path(_read_json(data / "server.json").get("socket"))
    return socket if socket is not None and (socket / f".s.PGSQL.{PORT}").exists() and _is_ready(data) else None


def _is_owned(data: Path) -> bool:
    if not (data / "owner.lock").exists():
        return False
    probe = Lock(data / "owner.lock")
    if probe.acquire(exclusive=False):
        probe.release()
        return False
    return True


def _prepared(data_directory: Path) -> Path:
    try:
        data_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartRefused(f"The data directory {data_directory} cannot be made: {error.strerror}.") from None
    data = data_directory.resolve()
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise StartRefused(f"{data} belongs to another user. Run as that user, or use another data directory.")
    return data


def _socket_directory(data: Path, whom: Account) -> Path:
    """A 0700 directory of the server's user: in the data directory if it fits and can be reached, else temporary."""
    inside = data / "run"
    if not whom.drop and len(os.fsencode(inside)) + len(f"/.s.PGSQL.{PORT}.lock") < binaries.SOCKET_PATH_BYTES_MAX:
        inside.mkdir(mode=0o700, exist_ok=True)
        inside.chmod(0o700)
        return inside
    directory = binaries.temporary_directory("ingatan-", whom)
    if whom.drop:
        os.chown(directory, whom.user_id, whom.group_id)
    return directory


def _forget_socket(data: Path, directory: Path | None) -> None:
    """Remove a socket directory of ours that is no longer in use; nothing else in it is touched."""
    if directory is None or directory.is_symlink() or not directory.is_dir():
        return
    if directory.name == "run" or directory.name.startswith("ingatan-"):
        for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
            (directory / name).unlink(missing_ok=True)
        if directory.parent != data:
            try:
                directory.rmdir()
            except OSError:
                return


def _rotated_log(data: Path) -> Path:
    log = data / "postgres.log"
    if log.exists() and log.stat().st_size > LOG_BYTES_MAX:
        log.replace(data / "postgres.log.1")
    return log


def _credentials(data: Path) -> dict[str, str]:
    found = _read_json(data / "credentials.json")
    if not found:
        raise StartRefused(f"{data / 'credentials.json'} is missing or cannot be read by this user.")
    return found


def _read_json(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, PermissionError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_private(path: Path, text: str) -> None:
    """Replace ``path`` at once with a 0600 file."""
    new = path.with_name(f"{path.name}.{threading.get_ident()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _path(value: str | None) -> Path | None:
    return Path(value) if value else None
