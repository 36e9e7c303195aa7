"""Vectors between numpy and PostgreSQL's halfvec: float32 in Python, two bytes a number in the database."""

from __future__ import annotations

from typing import Any

import numpy as np
import psycopg
from pgvector import HalfVector
from pgvector.psycopg.halfvec import HalfVectorBinaryDumper, register_halfvec_info
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from ingatan.errors import StartRefused


class ArrayDumper(HalfVectorBinaryDumper):
    """A one-dimensional numpy array as halfvec; ValueError for another shape."""

    def dump(self, obj: Any) -> Buffer | None:
        return bytes(HalfVector(obj).to_binary())


class ArrayLoader(Loader):
    """halfvec in binary form as a float32 array."""

    format = Format.BINARY

    def load(self, data: Buffer) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.frombuffer(bytes(data)[4:], dtype=">f2").astype(np.float32)


def register(driver: psycopg.Connection[Any]) -> None:
    """Register the adapters on one connection; one query. StartRefused if the vector extension is missing."""
    info = TypeInfo.fetch(driver, "halfvec")
    if info is None:
        raise StartRefused("The extension 'vector' is missing in this database. Run 'ingatan migrate' first.")
    register_halfvec_info(driver, info)
    driver.adapters.register_dumper(np.ndarray, type("", (ArrayDumper,), {"oid": info.oid}))
    driver.adapters.register_loader(info.oid, ArrayLoader)
