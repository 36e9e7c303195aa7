"""Leases: who leads a periodic job of a database. A row with an end, safe behind a transaction pooler.

Leading saves work; nothing relies on it for correctness.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from ingatan.storage.database import Database

LEASE_SECONDS = 120.0
RENEWED_AFTER_SECONDS = 10.0
"""So long a lease just taken is believed without asking again."""


class Leadership:
    """One process's claim to lead the job ``name``."""

    def __init__(self, database: Database, name: str, holder: UUID) -> None:
        self._database = database
        self.name = name
        self.holder = holder
        self._taken_at = -math.inf

    def take(self) -> bool:
        """Lead, or go on leading, for LEASE_SECONDS; False when another process leads."""
        if time.monotonic() - self._taken_at < RENEWED_AFTER_SECONDS:
            return True
        with self._database.jobs() as connection:
            keys = {"name": self.name, "holder": self.holder, "lease_seconds": LEASE_SECONDS}
            leads = connection.one("sweep.lead", **keys) is not None
        self._taken_at = time.monotonic() if leads else -math.inf
        return leads

    def resign(self) -> None:
        """Let others lead at once."""
        self._taken_at = -math.inf
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
