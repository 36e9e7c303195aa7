"""Times out of PostgreSQL: aware, and in UTC whatever zone the server or the session is set to."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


class InstantLoader(Loader):
    """timestamptz in binary form, microseconds from 2000; OverflowError for infinity, which no column of ours holds."""

    format = Format.BINARY

    def load(self, data: Buffer) -> datetime:
        return EPOCH + timedelta(microseconds=struct.unpack("!q", data)[0])


def register(driver: psycopg.Connection[Any]) -> None:
    """Register the loader on one connection; no query."""
    driver.adapters.register_loader("timestamptz", InstantLoader)
