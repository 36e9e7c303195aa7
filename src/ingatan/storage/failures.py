"""Where driver errors become ours: the one seam. What leaves here names a query and an SQLSTATE, never SQL or data."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import psycopg
from psycopg import errors

from ingatan.errors import Conflict, DatabaseUnavailable, IngatanError

Result = TypeVar("Result")

RETRY = "The database did not answer or gave way to another act. Nothing was half done; repeat the call."
PREPARED_LOST = "prepared_statement_lost"
LOST = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.IdleInTransactionSessionTimeout,
    errors.IdleSessionTimeout,
    errors.TransactionTimeout,
)


def guarded(what: str, act: Callable[[], Result]) -> Result:
    """``act()``; a driver error is raised as ours, without the original as cause or context, for that carries data.

    Lost connection, full pool, deadlock, serialisation, timeout, shutdown, a statement that a pooler lost:
    DatabaseUnavailable. A unique or foreign
    key: Conflict. Anything else: IngatanError.
    """
    try:
        return act()
    except (psycopg.Error, ValueError, OverflowError) as error:
        failure = translated(what, error)
    raise failure


def silence_driver() -> None:
    """Keep the driver from logging the errors that it ignores, for they quote values. The pool's own words are safe."""
    logging.getLogger("psycopg").setLevel(logging.CRITICAL + 1)
    logging.getLogger("psycopg.pool").setLevel(logging.WARNING)


def translated(what: str, error: Exception) -> IngatanError:
    """Our error for the driver's. Constraint names are schema, not data, and are kept."""
    if isinstance(error, LOST):
        return DatabaseUnavailable(RETRY)
    if isinstance(error, errors.InvalidSqlStatementName | errors.DuplicatePreparedStatement):
        return DatabaseUnavailable(RETRY, code=PREPARED_LOST)
    constraint = error.diag.constraint_name if isinstance(error, psycopg.Error) else None
    if isinstance(error, errors.UniqueViolation):
        return Conflict(f"This exists already ({constraint}). Read it and decide anew.")
    if isinstance(error, errors.ForeignKeyViolation):
        return Conflict(f"What this belongs to is gone or still in use ({constraint}). Read it and decide anew.")
    state = (error.sqlstate if isinstance(error, psycopg.Error) else None) or type(error).__name__
    where = f", {constraint}" if constraint else ""
    return IngatanError(f"The database refused '{what}' ({state}{where}). This is a defect: report it with this line.")
