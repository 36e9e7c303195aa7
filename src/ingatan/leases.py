"""Leases: who leads a periodic job of a database. A row with an end, safe behind a transaction pooler.

Leading saves work; nothing relies on it for correctness.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from ingatan.storage.database import Database

LEASE_SECONDS = 120.0


class Leadership:
    """One process's claim to lead the job ``name``."""

    def __init__(self, database: Database, name: str, holder: UUID) -> None:
        self._database = database
        self.name = name
        self.holder = holder

    def take(self) -> bool:
        """Lead, or go on leading, for LEASE_SECONDS; False when another process leads."""
        with self._database.jobs() as connection:
            keys = {"name": self.name, "holder": self.holder, "lease_seconds": LEASE_SECONDS}
            return connection.one("sweep.lead", **keys) is not None

    def resign(self) -> None:
        """Let others lead at once."""
        with self._database.jobs() as connection:
            connection.run("sweep.resign", name=self.name, holder=self.holder)

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Lead for the length of a ``with`` block; yields False when another process leads."""
        leads = self.take()
        try:
            yield leads
        finally:
            if leads:
                self.resign()
