"""The way to a row: a pool of connections whose every transaction carries the caller's scope.

Row-level security reads ``ingatan.scope`` (tenant, subject, power: one statement), set by SET LOCAL together with
the first query, in its round trip. Nothing here logs a query or a parameter.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import namedtuple_row
from psycopg.types.json import Jsonb, JsonbDumper, set_json_dumps
from psycopg_pool import ConnectionPool

from ingatan.errors import DatabaseUnavailable, IngatanError
from ingatan.settings import Prepared
from ingatan.storage import checks, failures, queries, times
from ingatan.storage.failures import PREPARED_LOST, guarded
from ingatan.types import Principal, Scope

Driver = psycopg.Connection[Any]

RECONNECT_SECONDS = 4
PREPARE_THRESHOLD = 5
DRAIN_PAUSE_SECONDS = 1.0


class Power(StrEnum):
    """In which capacity a transaction acts; row-level security grants each only what it needs (DATA)."""

    PERSON = "person"  # of an account or the organisation where the principal's scope says so
    REVIEW = "review"
    AUDIT = "audit"
    ADMIN = "admin"
    JOB = "job"


def json_value(value: object) -> object:
    """``value`` as a jsonb parameter. Dicts need no wrapping; lists do, for bare lists are sent as arrays."""
    return Jsonb(value)


class Connection:
    """One open transaction in one scope; of one thread, and gone when its ``with`` ends.

    Names are those of ``queries.load``. Rows are named tuples in the query's order. The transaction begins with the
    first statement, in the same round trip. Rows travel in binary form: cast what Python has no type for to text.
    """

    def __init__(self, driver: Driver, opening: tuple[bytes, ...]) -> None:
        self._driver = driver
        self._opening = opening
        self._begun = False
        self._pipelined = False

    def all(self, name: str, /, **params: Any) -> list[Any]:
        """Every row."""
        cursor = self._execute(name, params)
        return guarded(name, cursor.fetchall)

    def one(self, name: str, /, **params: Any) -> Any | None:
        """The row, or None; IngatanError for more than one."""
        rows = self.all(name, **params)
        if len(rows) > 1:
            raise IngatanError(f"The query '{name}' returned several rows where one may be. This is a defect.")
        return rows[0] if rows else None

    def run(self, name: str, /, **params: Any) -> int:
        """The number of rows affected; -1 inside ``pipeline()``, where it is not known yet."""
        cursor = self._execute(name, params)
        return -1 if self._pipelined else cursor.rowcount

    def many(self, name: str, rows: Sequence[Mapping[str, Any]], /) -> int:
        """Run once a mapping, all in one round trip; the sum of rows affected (-1 inside ``pipeline()``)."""
        if not rows:
            return 0
        cursor = self._driver.cursor(binary=True)
        query = queries.load(name)
        self._together(name, lambda: cursor.executemany(query, rows))
        return -1 if self._pipelined else cursor.rowcount

    def enter(self, principal: Principal, *, power: Power = Power.PERSON) -> None:
        """Act in the scope of another person from the next statement on, in the same transaction.

        For acts that must commit together for several people; row-level security holds for each statement as ever.
        """
        statements = scope(principal, power)
        if not self._begun:
            self._opening = (*self._opening, *statements)
            return
        for statement in statements:
            guarded("enter", partial(self._driver.execute, statement, prepare=False))

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """Send several ``run`` and ``many`` in one round trip; their errors surface at the end of the block."""
        stack = self._driver.pipeline()
        guarded("pipeline", stack.__enter__)
        self._pipelined = True
        try:
            yield
        except BaseException as error:
            self._pipelined = False
            _quietly(partial(stack.__exit__, type(error), error, error.__traceback__))
            raise
        self._pipelined = False
        guarded("pipeline", partial(stack.__exit__, None, None, None))

    def finish(self) -> None:
        """Commit. IngatanError, after rolling back, if a statement failed and the failure was swallowed."""
        if not self._begun:
            return
        if self._driver.info.transaction_status != TransactionStatus.INTRANS:
            raise IngatanError("A failed statement was ignored inside a transaction; all of it is undone. A defect.")
        guarded("commit", lambda: self._driver.execute(b"commit", prepare=False))

    def _execute(self, name: str, params: Mapping[str, Any]) -> psycopg.Cursor[Any]:
        query = queries.load(name)
        cursor = self._driver.cursor(binary=True)
        if self._begun:
            guarded(name, lambda: cursor.execute(query, params))
        else:
            self._together(name, lambda: cursor.execute(query, params))
        return cursor

    def _together(self, name: str, act: Callable[[], object]) -> None:
        """``act`` with what opens the transaction before it, in one round trip."""
        if self._pipelined:
            guarded(name, lambda: self._opened(act))
        else:
            guarded(name, lambda: self._in_one_trip(act))

    def _in_one_trip(self, act: Callable[[], object]) -> None:
        with self._driver.pipeline():
            self._opened(act)

    def _opened(self, act: Callable[[], object]) -> None:
        self._open()
        act()

    def _open(self) -> None:
        if not self._begun:
            self._begun = True
            for statement in self._opening:
                self._driver.execute(statement, prepare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUsage:
    """Connections of a pool at one moment, and requests that wait for one."""

    open: int
    idle: int
    limit: int
    waiting: int


class Database:
    """A pool of at most ``pool_size`` connections as the unprivileged service role.

    ``timeout_seconds`` bounds the wait for a connection. A statement is prepared when it comes again, unless
    ``prepared`` is off, or is auto and a transaction pooler that does not follow them is found or met later.
    """

    def __init__(
        self, url: str, *, pool_size: int = 8, timeout_seconds: float = 10, prepared: Prepared = Prepared.AUTO
    ) -> None:
        failures.silence_driver()
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._drained_at = 0.0
        self._drain_lock = threading.Lock()
        self._prepared = prepared
        self._prepares = prepared is not Prepared.OFF
        self._pool = ConnectionPool(
            url,
            min_size=1,
            max_size=pool_size,
            timeout=timeout_seconds,
            reconnect_timeout=RECONNECT_SECONDS,
            open=False,
            configure=configure,
            kwargs={
                "autocommit": True,
                "prepare_threshold": PREPARE_THRESHOLD if self._prepares else None,
                "row_factory": namedtuple_row,
                "connect_timeout": max(2, int(timeout_seconds)),
            },
        )

    def open(self) -> None:
        """Check the server, the role and the schema, then fill the pool.

        StartRefused, saying what to change, where the service may not run; DatabaseUnavailable where none answers.
        """
        checks.check(self._url, timeout_seconds=self._timeout_seconds)
        if self._prepared is Prepared.AUTO:
            self._prepares = guarded(
                "probe", lambda: checks.keeps_prepared(self._url, timeout_seconds=self._timeout_seconds)
            )
        guarded("open", lambda: self._pool.open(wait=True, timeout=self._timeout_seconds))

    @property
    def prepares(self) -> bool:
        """Whether statements are prepared on the server."""
        return self._prepares

    def close(self) -> None:
        """Give all connections back to the server; what is still running fails."""
        self._pool.close()

    def pool_usage(self) -> PoolUsage:
        """How many connections are open and idle, and who waits."""
        found = self._pool.get_stats()
        return PoolUsage(
            open=found["pool_size"],
            idle=found["pool_available"],
            limit=found["pool_max"],
            waiting=found["requests_waiting"],
        )

    def read(self, principal: Principal, *, power: Power = Power.PERSON) -> AbstractContextManager[Connection]:
        """A read-only transaction in the principal's scope."""
        return self._transaction((b"begin read only", *scope(principal, power)))

    def write(
        self, principal: Principal, *, power: Power = Power.PERSON, durable: bool = True
    ) -> AbstractContextManager[Connection]:
        """One transaction in the principal's scope: committed at the end, rolled back on any exception.

        ``durable=False`` answers before the commit is on disk: a crash of the server may lose the last acts whole.
        """
        relaxed = () if durable else (b"set local synchronous_commit = off",)
        return self._transaction((b"begin", *scope(principal, power), *relaxed))

    def jobs(self) -> AbstractContextManager[Connection]:
        """A transaction that sees every tenant's content-free tables and nothing else."""
        return self._transaction((b"begin", b"set local role ingatan_jobs"))

    def fetch(self, principal: Principal, name: str, /, *, power: Power = Power.PERSON, **params: Any) -> list[Any]:
        """The rows of one query in a read-only transaction of its own, in one round trip."""
        opening = (b"begin read only", *scope(principal, power))
        query = queries.load(name)
        with self._borrowed() as driver:
            cursor = driver.cursor(binary=True)
            guarded(name, lambda: _trip(driver, cursor, opening, query, params))
            return guarded(name, cursor.fetchall)

    def act(
        self, principal: Principal, name: str, /, *, power: Power = Power.PERSON, durable: bool = True, **params: Any
    ) -> None:
        """One statement in a transaction of its own, committed, in one round trip; see ``write`` for ``durable``."""
        relaxed = () if durable else (b"set local synchronous_commit = off",)
        query = queries.load(name)
        with self._borrowed() as driver:
            guarded(
                name,
                lambda: _trip(driver, driver.cursor(), (b"begin", *scope(principal, power), *relaxed), query, params),
            )

    @contextmanager
    def _transaction(self, opening: tuple[bytes, ...]) -> Iterator[Connection]:
        with self._borrowed() as driver:
            connection = Connection(driver, opening)
            yield connection
            connection.finish()

    @contextmanager
    def _borrowed(self) -> Iterator[Driver]:
        """A connection that goes back idle and scopeless, or closed, whatever happens inside."""
        driver = guarded("connect", self._pool.getconn)
        if not self._prepares:
            driver.prepare_threshold = None
        try:
            yield driver
        except DatabaseUnavailable as error:
            if error.code == PREPARED_LOST and self._prepared is Prepared.AUTO:
                self._prepares = False  # a pooler came between, or had hidden from the probe
            raise
        finally:
            try:
                _quietly(partial(_cleanse, driver))
            finally:
                self._pool.putconn(driver)
            if driver.closed:
                self._renew()

    def _renew(self) -> None:
        """After a lost connection, replace the idle ones, which are likely lost too; at most once a second."""
        with self._drain_lock:
            if time.monotonic() - self._drained_at < DRAIN_PAUSE_SECONDS:
                return
            self._drained_at = time.monotonic()
        if not self._pool.closed:
            self._pool.drain()


def scope(principal: Principal, power: Power) -> tuple[bytes, ...]:
    """The SET LOCAL statement of a scope. Only UUIDs and members of our enums become literals; TypeError otherwise."""
    name = Power(power).value
    if power is Power.PERSON and principal.scope is not Scope.USER:
        name = Scope(principal.scope).value
    words = (_literal(principal.tenant_id), _literal(principal.subject_id), name.encode())
    return (b"set local ingatan.scope = '%s'" % b" ".join(words),)


def _literal(value: object) -> bytes:
    if not isinstance(value, UUID):
        raise TypeError("A principal's tenant and subject must be UUIDs.")
    return str(value).encode()


def configure(driver: Driver) -> None:
    """Teach a new connection dicts as jsonb, times in UTC, and numpy arrays as halfvec (float32 on reading)."""
    from ingatan.storage import vectors  # noqa: PLC0415 - numpy is slow to import and only needed once connected

    driver.adapters.register_dumper(dict, JsonbDumper)
    set_json_dumps(partial(json.dumps, allow_nan=False, separators=(",", ":")), driver)
    times.register(driver)
    vectors.register(driver)


def _trip(
    driver: Driver, cursor: psycopg.Cursor[Any], opening: tuple[bytes, ...], query: bytes, params: dict[str, Any]
) -> None:
    with driver.pipeline():
        for statement in opening:
            driver.execute(statement, prepare=False)
        cursor.execute(query, params)
        driver.execute(b"commit", prepare=False)


def _cleanse(driver: Driver) -> None:
    """Leave no transaction behind; close what is in a state that cannot be left."""
    status = driver.info.transaction_status
    if status == TransactionStatus.IDLE and driver.pgconn.pipeline_status == PipelineStatus.OFF:
        return
    try:
        if status not in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            raise DatabaseUnavailable("The connection is busy.")
        driver.execute(b"rollback", prepare=False)
    except BaseException:
        driver.close()
        raise


def _quietly(act: Callable[[], object]) -> None:
    """``act()`` where another error is already on its way, or the connection is closed on failure: not reported."""
    try:
        act()
    except (psycopg.Error, IngatanError):
        return
