"""Diagnosis: one finding a thing that Ingatan needs, with what to do where it is missing. Nothing is changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import UUID

from ingatan import embedders
from ingatan.app import App
from ingatan.errors import IngatanError
from ingatan.llm import ChatRequest, ModelFailed, ModelFailure
from ingatan.memories.embedding_models import LIVE
from ingatan.memories.model_extraction import ModelExtractor
from ingatan.memories.reply import SCHEMA
from ingatan.settings import Settings
from ingatan.storage import migrate
from ingatan.storage.database import Power
from ingatan.types import Principal

PROBE = ChatRequest(
    system='Answer with this JSON object: {"operations": []}',
    user="Is anybody there?",
    schema_name="operations",
    schema=SCHEMA,
    output_tokens=64,
    seconds=15,
)
"""A question to see whether a model answers; it holds nothing of anybody."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was looked at, whether it is sound, and a sentence about it."""

    what: str
    sound: bool
    detail: str

    def as_json(self) -> dict[str, object]:
        """The finding as the command prints it with --json."""
        return {"what": self.what, "sound": self.sound, "detail": self.detail}


def examine(settings: Settings) -> list[Finding]:
    """All checks, in the order in which one would mend them. Starts or borrows the embedded server."""
    findings = [
        _check("Python", lambda: f"{sys.version_info.major}.{sys.version_info.minor}"),
        _check("data directory", lambda: _data_directory(settings)),
        _check("embedder", lambda: _embedder(settings)),
    ]
    try:
        app = App.start(settings, borrow=True)
    except IngatanError as error:
        return [*findings, Finding("service", False, str(error))]
    try:
        findings.append(Finding("settings", True, f"environment {settings.environment.value}, {_memory(settings)}"))
        findings.append(_check("extraction", lambda: _extraction(app)))
        findings.append(_check("database", lambda: _database(app)))
        findings.append(_check("index", lambda: _index(app)))
        findings.append(_check("audit chains", lambda: _audit(app)))
    finally:
        app.close()
    return findings


def _check(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, look())
    except (IngatanError, OSError) as error:
        return Finding(what, False, str(error) if isinstance(error, IngatanError) else type(error).__name__)


def _data_directory(settings: Settings) -> str:
    directory = settings.server.data_directory
    if not directory.exists():
        return f"{directory} will be made"
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        raise IngatanError(f"{directory} is not writable by this user. Give it to them, or choose another --data-dir.")
    mode = directory.stat().st_mode & 0o777
    if mode & 0o022:
        raise IngatanError(f"{directory} can be written by others (mode {mode:o}). Run: chmod 700 {directory}")
    return str(directory)


def _embedder(settings: Settings) -> str:
    embedder = embedders.wanted(settings.embedding)
    vector = embedder.query("check")
    return f"{embedder.name}, {vector.shape[0]} dimensions"


def _index(app: App) -> str:
    found = [model for model in app.projections.progress() if model.state in LIVE]
    for model in found:
        if not model.available:
            raise IngatanError(
                f"The embedding model '{model.name}' is {model.state}, and these settings do not name it. Set "
                "INGATAN_EMBEDDING__PREVIOUS_*, or run 'ingatan index rebuild' with the settings of the service."
            )
    return "; ".join(
        f"{model.name} {model.state}, {model.pending} of {model.memories} vectors to be made"
        + ("" if model.calibration else ", not calibrated yet")
        for model in found
    )


def _memory(settings: Settings) -> str:
    memory = settings.memory
    if not memory.enabled:
        return "memory off (INGATAN_MEMORY__ENABLED=true switches it on)"
    return f"memory on, idle {memory.idle_minutes:g} minutes, sweep every {memory.sweep_interval_seconds:g} s"


def _extraction(app: App) -> str:
    if not isinstance(app.extractor, ModelExtractor):
        return "rules (INGATAN_LLM__BASE_URL and INGATAN_LLM__MODEL would set a model)"
    model, host = app.extractor.model, urlsplit(app.settings.llm.base_url).netloc
    try:
        model.answer(PROBE)
    except ModelFailed as failed:
        if failed.failure not in {ModelFailure.TRUNCATED, ModelFailure.EMPTY, ModelFailure.REFUSED}:
            raise IngatanError(
                f"llm, model {model.name} at {host} gives no answer ({failed.failure.value}). Conversations wait for "
                "it and are set aside after INGATAN_MEMORY__MAX_EXTRACTION_ATTEMPTS; there is no falling back to rules."
            ) from None
    return f"llm, model {model.name} at {host} answers"


def _database(app: App) -> str:
    if not app.ready():
        raise IngatanError("The database does not answer. Check INGATAN_DATABASE__URL, or the embedded server's log.")
    kind = "given by INGATAN_DATABASE__URL" if app.settings.database.url.get_secret_value() else "embedded"
    return f"{kind}, schema {migrate.expected_version()}, service role unprivileged"


def _audit(app: App) -> str:
    with app.database.jobs() as connection:
        tenants = [row.id for row in connection.all("sweep.tenants")]
    rows = 0
    for tenant_id in tenants:
        with app.database.read(Principal(tenant_id, UUID(int=0)), power=Power.AUDIT) as connection:
            found = app.audit.verify(connection, tenant_id)
        if not found.sound:
            raise IngatanError(f"The chain of tenant {tenant_id} is broken at row {found.broken_seq}: {found.reason}.")
        rows += found.rows
    return f"{len(tenants)} tenants, {rows} rows, sound"
