"""Projections: the vectors of what is remembered, under the model that serves and one that may be on its way.

The old model serves until the new one has a vector of every active memory; then all questions go to the new one, and a
question is only ever compared with vectors of its own model. Texts come from the registry, never from an extraction
done again. What was erased has no text to embed, and what is erased meanwhile is not written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from ingatan.embeddings import Embedder, EmbedderFailed, Vector, Vectors
from ingatan.errors import IngatanError, StartRefused
from ingatan.leases import Leadership
from ingatan.memories import embedding_models
from ingatan.memories.calibration import Calibration, spreads
from ingatan.memories.candidates import Considered
from ingatan.memories.embedding_models import LIVE, EmbeddingModel, Pending, State, Waiting
from ingatan.screening.meaning import SPACE
from ingatan.storage.database import Database
from ingatan.telemetry import Event, event
from ingatan.types import Outcome, Principal, new_id

SYSTEM = Principal(UUID(int=0), UUID(int=0))
"""Scope of what belongs to no person: the embedding models."""
VECTORS_AT_ONCE_MAX = 200
"""Vectors made in one round of tending."""
REMOVED_AT_ONCE_MAX = 5_000
PROBE = "A short sentence, to see whether the embedder answers."


@dataclass(frozen=True, slots=True)
class Space:
    """A vector space this process can use: its number in the database, its embedder and calibration."""

    model_id: int
    embedder: Embedder
    calibration: Calibration
    partial: bool
    """Whether it answers though it is not complete: the model that was left is not to be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One model's state, as commands and the diagnosis show it. ``calibration`` is what is stored by language."""

    name: str
    state: State
    dimensions: int
    pending: int
    memories: int
    available: bool
    calibration: dict[str, tuple[float, float]]

    def as_json(self) -> dict[str, Any]:
        """The model as commands print it."""
        return {
            "model": self.name,
            "state": self.state.value,
            "dimensions": self.dimensions,
            "pending": self.pending,
            "memories": self.memories,
            "available": self.available,
            "calibration": {
                language: {"mean": mean, "deviation": deviation}
                for language, (mean, deviation) in self.calibration.items()
            },
        }


class Projections:
    """Vectors for reading and writing, and the work behind them.

    ``previous`` are embedders that may still serve while ``wanted`` is built. ``serves`` says that this is a service:
    it begins and ends a switch, and refuses to start where the model that serves is not to be had. A command does not.
    """

    def __init__(
        self,
        database: Database,
        *,
        wanted: Embedder,
        previous: Sequence[Embedder] = (),
        serves: bool = True,
        without_previous: bool = False,
        kept: timedelta = timedelta(hours=24),
    ) -> None:
        self._database = database
        self._wanted = wanted
        self._known = {embedder.name: embedder for embedder in (*previous, wanted)}
        self._kept = kept
        self._calibrations: dict[int, Calibration] = {}
        self._tending = threading.Lock()
        self._lease = Leadership(database, "index", new_id())
        with database.write(SYSTEM) as connection:
            found = embedding_models.register(connection, wanted.name, wanted.dimensions)
        self.wanted_id = found.id
        self._switching = serves and found.state is not State.SERVING
        if self._switching and not without_previous:
            self._refuse_without_previous()
        self.current = self.refresh()

    def refresh(self) -> Space:
        """Look at which model serves now, and use it from here on if this process can. Two small queries at most."""
        serving = next((model for model in self._models() if model.state is State.SERVING), None)
        usable = serving if serving is not None and serving.name in self._known else None
        model_id = usable.id if usable else self.wanted_id
        embedder = self._known[usable.name] if usable else self._wanted
        self.current = Space(model_id, embedder, self._calibration(model_id, embedder), partial=usable is None)
        return self.current

    def vectors(self, texts: Sequence[str], space: Space | None = None) -> Vectors:
        """Vectors of ``texts`` under the model that serves, or in ``space``; none, logged, when it does not answer."""
        space, unique = space or self.current, list(dict.fromkeys(text for text in texts if text))
        try:
            made = space.embedder.passages(unique) if unique else []
        except EmbedderFailed as error:
            event(Event.EMBEDDER_FAILED, level="warning", code=error.code, count=len(unique))
            return Vectors(space.model_id, {})
        return Vectors(space.model_id, dict(zip(unique, made, strict=True)))

    def to_write(self, expected: Sequence[Considered]) -> Vectors:
        """``vectors`` of what would be accepted, and the meanings of all that may come to be, should things change.

        Only the built-in embedder, in this process, sees what is not accepted. EmbedderFailed where it does not answer:
        what screening has not seen whole is not written. Without it, and every service has it, no meanings.
        """
        accepted = [found.decision.text for found in expected if found.decision.outcome is Outcome.ACCEPT]
        space = self.current
        made, reader = self.vectors(accepted, space), self._known.get(SPACE)
        if reader is None:
            return made
        known = made.by_text if space.embedder.name == SPACE else {}
        left = list(dict.fromkeys(text for found in expected for text in found.texts if text not in known))
        seen = dict(zip(left, reader.passages(left), strict=True)) if left else {}
        return replace(made, meanings={**known, **seen})

    def tend(self, limit: int = VECTORS_AT_ONCE_MAX) -> int:
        """One round: begin a switch, make missing vectors, end the switch, remove what was left long ago.

        Returns how many vectors were made. Does nothing where another process or thread is at it.
        """
        made = 0
        if not self._tending.acquire(blocking=False):
            return made
        try:
            with self._lease.held() as leads:
                if leads:
                    self._begin()
                    made = self._fill(limit)
                    self._end()
                    self._clean()
            self.refresh()
        finally:
            self._tending.release()
        return made

    def rebuild(self, *, everything: bool = False, tell: Callable[[int], None] = lambda left: None) -> Progress:
        """Make every missing vector of the wanted model (or all anew) while the old one serves; can be run again.

        ``tell`` hears how many are left. The model is complete afterwards but for what it refused; a service that is
        started with it lets it serve. Raises EmbedderFailed before anything is changed when it does not answer.
        """
        self._wanted.passages([PROBE])
        others = [model for model in self._models() if model.state is State.BUILDING and model.id != self.wanted_id]
        with self._database.write(SYSTEM) as connection:
            for model in others:
                embedding_models.stop_building(connection, model.id)
            embedding_models.build(connection, self.wanted_id)
        with self._database.jobs() as connection:
            embedding_models.gather(connection, self.wanted_id, everything=everything)
        self.calibrate(self.wanted_id)
        while left := self._open(self.wanted_id):
            tell(left)
            if not self._fill(VECTORS_AT_ONCE_MAX, only=self.wanted_id):
                break
        return next(found for found in self.progress() if found.name == self._wanted.name)

    def calibrate(self, model_id: int | None = None) -> dict[str, tuple[float, float]]:
        """Measure the cohort under a model (default: the current one) and store it; mean and deviation by language."""
        id = self.current.model_id if model_id is None else model_id
        embedder = next(self._known[model.name] for model in self._models() if model.id == id)
        measured = Calibration(embedder).measured()
        with self._database.write(SYSTEM) as connection:
            embedding_models.keep_calibration(connection, id, measured)
        self._calibrations[id] = Calibration(embedder, measured)
        return spreads(measured)

    def warm(self) -> None:
        """Load the current model, and measure and store its cohort if that was not done. Never raises."""
        space = self.current
        try:
            space.embedder.query(PROBE)
            if not space.calibration.stored:
                self.calibrate(space.model_id)
                self.refresh()
        except IngatanError as error:
            event(Event.EMBEDDER_FAILED, level="warning", code=error.code, count=1)

    def progress(self) -> list[Progress]:
        """Every model with what is still to be made of it, oldest first."""
        with self._database.jobs() as connection:
            waiting = embedding_models.waiting(connection)
            active = connection.one("embeddings.active")
        found = []
        for model in self._models():
            with self._database.read(SYSTEM) as connection:
                stored = embedding_models.calibration(connection, model.id)
            found.append(
                Progress(
                    name=model.name,
                    state=model.state,
                    dimensions=model.dimensions,
                    pending=waiting.get(model.id, Waiting()).all,
                    memories=active.n if active else 0,
                    available=model.name in self._known,
                    calibration=spreads(stored) if stored else {},
                )
            )
        return found

    def _begin(self) -> None:
        """Begin to build the wanted model once its embedder answers; until then everything stays as it is."""
        wanted = next(model for model in self._models() if model.id == self.wanted_id)
        if not self._switching or wanted.state in LIVE:
            return
        try:
            self._wanted.passages([PROBE])
        except EmbedderFailed as error:
            event(Event.EMBEDDER_FAILED, level="warning", code=error.code, count=1)
            return
        with self._database.write(SYSTEM) as connection:
            embedding_models.build(connection, self.wanted_id)
        with self._database.jobs() as connection:
            count = embedding_models.gather(connection, self.wanted_id)
        event(Event.EMBEDDING_MODEL_BUILDING, model_id=self.wanted_id, count=count)

    def _end(self) -> None:
        """Let the wanted model serve if it is complete and calibrated."""
        if not self._switching:
            return
        wanted = next(model for model in self._models() if model.id == self.wanted_id)
        if wanted.state is State.SERVING:
            self._switching = False
        if wanted.state is not State.BUILDING or self._open(self.wanted_id):
            return
        with self._database.jobs() as connection:
            missed = embedding_models.gather(connection, self.wanted_id)
        if missed or not self._calibrated(wanted):
            return
        with self._database.write(SYSTEM) as connection:
            served = embedding_models.serve(connection, self.wanted_id)
        if served:
            self._switching = False
            event(Event.EMBEDDING_MODEL_SERVES, model_id=self.wanted_id)

    def _calibrated(self, model: EmbeddingModel) -> bool:
        if self._calibration(model.id, self._wanted).stored:
            return True
        try:
            self.calibrate(model.id)
        except EmbedderFailed as error:
            event(Event.EMBEDDER_FAILED, level="warning", code=error.code, count=1)
            return False
        return True

    def _fill(self, limit: int, *, only: int | None = None) -> int:
        """Make up to ``limit`` missing vectors of the models that are live and to be had; how many were made."""
        usable = [model for model in self._models() if model.state in LIVE and model.name in self._known]
        made = 0
        for model in sorted(usable, key=lambda model: model.state is not State.SERVING):
            if only in (None, model.id):
                made += self._fill_model(model, limit)
        return made

    def _fill_model(self, model: EmbeddingModel, limit: int) -> int:
        with self._database.jobs() as connection:
            listed = embedding_models.pending(connection, model.id, limit)
        made = 0
        for (tenant_id, subject_id, scope), group in groupby(
            listed, key=lambda item: (item.tenant_id, item.subject_id, item.scope)
        ):
            count = self._fill_of(Principal(tenant_id, subject_id, scope=scope), self._known[model.name], list(group))
            if count is None:
                break
            made += count
        return made

    def _fill_of(self, owner: Principal, embedder: Embedder, items: list[Pending]) -> int | None:
        """Make one person's vectors; how many, or None when the embedder does not answer at all."""
        with self._database.read(owner) as connection:
            found = embedding_models.texts(connection, owner, [item.memory_id for item in items])
        wanted = {found.by_version.get((item.memory_id, item.version)) for item in items} - {None}
        made = _made(embedder, sorted(text for text in wanted if text is not None))
        if made is None:
            return None
        with self._database.write(owner) as connection:
            return embedding_models.put(connection, owner, found, items, made)

    def _clean(self) -> None:
        """Forget what is to be made for models not in use, and remove vectors of those left long ago."""
        models = self._models()
        unused = [model.id for model in models if model.state not in LIVE]
        if unused:
            with self._database.jobs() as connection:
                connection.run("embeddings.forget_pending", model_ids=unused)
        for model in models:
            if model.left_long_ago:
                with self._database.jobs() as connection:
                    removed = connection.run("embeddings.remove", model_id=model.id, limit=REMOVED_AT_ONCE_MAX)
                if not removed:
                    with self._database.write(SYSTEM) as connection:
                        embedding_models.empty(connection, model.id)

    def _models(self) -> list[EmbeddingModel]:
        with self._database.read(SYSTEM) as connection:
            return embedding_models.models(connection, kept=self._kept)

    def _open(self, model_id: int) -> int:
        with self._database.jobs() as connection:
            return embedding_models.waiting(connection).get(model_id, Waiting()).open

    def _calibration(self, model_id: int, embedder: Embedder) -> Calibration:
        known = self._calibrations.get(model_id)
        if known is None:
            with self._database.read(SYSTEM) as connection:
                stored = embedding_models.calibration(connection, model_id)
            known = self._calibrations.setdefault(model_id, Calibration(embedder, stored))
        return known

    def _refuse_without_previous(self) -> None:
        serving = next((model for model in self._models() if model.state is State.SERVING), None)
        if serving is None or serving.name in self._known:
            return
        with self._database.jobs() as connection:
            used = connection.one("embeddings.any", model_id=serving.id)
        if used is not None:
            raise StartRefused(
                f"Memories are found by the embedding model '{serving.name}', which the settings do not name any more. "
                "Set INGATAN_EMBEDDING__PREVIOUS_BASE_URL, __PREVIOUS_MODEL and __PREVIOUS_DIMENSIONS: it then serves "
                "until the new one is complete; or, if it is gone, INGATAN_EMBEDDING__WITHOUT_PREVIOUS=true."
            )


def _made(embedder: Embedder, texts: Sequence[str]) -> dict[str, Vector] | None:
    """Vectors by text; without those texts it refuses while it answers others; None when it does not answer."""
    if not texts:
        return {}
    try:
        return dict(zip(texts, embedder.passages(texts), strict=True))
    except EmbedderFailed as error:
        event(Event.EMBEDDER_FAILED, level="warning", code=error.code, count=len(texts))
    found: dict[str, Vector] = {}
    try:
        embedder.passages([PROBE])
    except EmbedderFailed:
        return None
    for text in texts:
        try:
            found[text] = embedder.passages([text])[0]
        except EmbedderFailed:
            continue
    return found
