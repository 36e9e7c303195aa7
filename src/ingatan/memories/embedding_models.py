"""Embedding models as the database knows them: which serves, which is being built, what still lacks a vector.

One model serves. Another becomes ``building`` beside it and serves once every active memory has a vector of it; the one
it replaces is ``retired``, keeps its vectors for a while and is ``idle`` when they are gone. Functions never commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from ingatan import subjects
from ingatan.embeddings import Vector
from ingatan.errors import StartRefused
from ingatan.storage.database import Connection
from ingatan.types import Principal, Scope


class State(StrEnum):
    """Where a model stands."""

    IDLE = "idle"
    BUILDING = "building"
    SERVING = "serving"
    RETIRED = "retired"


LIVE = (State.SERVING, State.BUILDING)
"""States in which every new memory gets a vector of the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """One model's row. ``left_long_ago``: retired for longer than its vectors are kept."""

    id: int
    name: str
    dimensions: int
    state: State
    left_long_ago: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """Vectors to be made of one model: ``all``, and ``open`` without those that it refused several times."""

    all: int = 0
    open: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """One vector to be made."""

    tenant_id: UUID
    subject_id: UUID
    scope: Scope
    memory_id: UUID
    version: int
    model_id: int


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of a person's active memories by (memory, version), and the erasure epoch they were read under."""

    epoch: int
    by_version: Mapping[tuple[UUID, int], str]


def models(connection: Connection, *, kept: timedelta = timedelta()) -> list[EmbeddingModel]:
    """Every model, oldest first; ``kept`` is how long vectors of a retired one stay."""
    return [
        EmbeddingModel(
            id=row.id,
            name=row.name,
            dimensions=row.dimensions,
            state=State(row.state),
            left_long_ago=row.left_long_ago,
        )
        for row in connection.all("embeddings.models", keep_seconds=kept.total_seconds())
    ]


def register(connection: Connection, name: str, dimensions: int) -> EmbeddingModel:
    """The model of this name, made on first sight; it serves where none does. StartRefused for other dimensions."""
    found = {model.name: model for model in models(connection)}
    if name not in found:
        connection.run("embeddings.add_model", name=name, dimensions=dimensions)
        found = {model.name: model for model in models(connection)}
    model = found[name]
    if model.dimensions != dimensions:
        raise StartRefused(f"The embedding model '{name}' had {model.dimensions} dimensions and now has {dimensions}.")
    if all(other.state is not State.SERVING for other in found.values()):
        connection.run("embeddings.serve_first", id=model.id)
        model = next(other for other in models(connection) if other.id == model.id)
    return model


def build(connection: Connection, model_id: int) -> bool:
    """Begin to build a model that neither serves nor is built; False if it does."""
    states = [State.IDLE.value, State.RETIRED.value]
    return bool(connection.run("embeddings.set_state", id=model_id, state=State.BUILDING.value, states=states))


def stop_building(connection: Connection, model_id: int) -> None:
    """A model is not built any more; what was made of it goes with time."""
    states = [State.BUILDING.value]
    connection.run("embeddings.set_state", id=model_id, state=State.RETIRED.value, states=states)


def serve(connection: Connection, model_id: int) -> bool:
    """Let a built model serve in place of the other; False, and nothing changed, if it is not being built."""
    if all(model.id != model_id or model.state is not State.BUILDING for model in models(connection)):
        return False
    connection.run("embeddings.leave")
    states = [State.BUILDING.value]
    return bool(connection.run("embeddings.set_state", id=model_id, state=State.SERVING.value, states=states))


def empty(connection: Connection, model_id: int) -> None:
    """The vectors of a retired model are gone."""
    states = [State.RETIRED.value]
    connection.run("embeddings.set_state", id=model_id, state=State.IDLE.value, states=states)


def calibration(connection: Connection, model_id: int) -> Mapping[str, Any] | None:
    """What was measured of the cohort under a model (see ``calibration.py``), or None."""
    row = connection.one("embeddings.calibration", id=model_id)
    return row.calibration if row else None


def keep_calibration(connection: Connection, model_id: int, measured: Mapping[str, Any]) -> None:
    """Store what was measured."""
    connection.run("embeddings.set_calibration", id=model_id, calibration=dict(measured))


def gather(connection: Connection, model_id: int, *, everything: bool = False) -> int:
    """Queue what lacks a vector of the model (or all active memories); how many. Needs ``database.jobs``."""
    return connection.run("embeddings.gather", model_id=model_id, everything=everything)


def waiting(connection: Connection) -> dict[int, Waiting]:
    """What is to be made, by model. Needs ``database.jobs``."""
    return {row.model_id: Waiting(row.pending, row.open) for row in connection.all("embeddings.counted")}


def pending(connection: Connection, model_id: int, limit: int) -> list[Pending]:
    """Up to ``limit`` vectors to be made now, person by person. Needs ``database.jobs``."""
    rows = connection.all("embeddings.pending", model_id=model_id, limit=limit)
    return [Pending(**{**row._asdict(), "scope": Scope(row.scope)}) for row in rows]


def texts(connection: Connection, owner: Principal, ids: Sequence[UUID]) -> Texts:
    """The texts of the owner's memories out of ``ids`` that are active."""
    epoch = subjects.read(connection, owner).erasure_epoch
    keys = {"tenant_id": owner.tenant_id, "subject_id": owner.subject_id}
    rows = connection.all("embeddings.texts", **keys, ids=list(ids))
    return Texts(epoch, {(row.id, row.version): row.text for row in rows})


def put(
    connection: Connection,
    owner: Principal,
    found: Texts,
    items: Sequence[Pending],
    vectors: Mapping[str, Vector],
) -> int:
    """Store what was made of ``found`` under the owner's lock; how many. Nothing if something was erased meanwhile.

    Versions that are not served any more leave the queue; texts without a vector get a failed attempt.
    """
    if subjects.lock(connection, owner).erasure_epoch != found.epoch:
        return 0
    made = 0
    for item in items:
        key = {
            "tenant_id": item.tenant_id,
            "memory_id": item.memory_id,
            "version": item.version,
            "model_id": item.model_id,
        }
        text = found.by_version.get((item.memory_id, item.version))
        vector = vectors.get(text) if text is not None else None
        if text is not None and vector is None:
            connection.run("embeddings.failed", **key)
            continue
        if vector is not None:
            made += connection.run("embeddings.put", **key, v=vector)
        connection.run("embeddings.done", **key)
    return made
