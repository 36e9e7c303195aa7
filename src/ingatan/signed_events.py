"""Signed events: what a registered system of record says happened, as a compact JWS (RFC 7515). Verified, never trusted
for more than its source was registered for. Pure but for the clock that is passed in.

Claims: ``iss`` the source's id, ``aud`` the tenant's id, ``iat``, ``exp``, optional ``nbf``, ``jti``; ``sub`` a person
or ``account`` an account; ``text`` and ``occurred_at``; optional ``audience``, ``purposes``, ``importance``,
``expires_at``, ``batch``. Unknown claims are refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ingatan import text as texts
from ingatan.errors import BadRequest
from ingatan.sources import Kind, Source
from ingatan.telemetry import Event, event
from ingatan.types import Audience, Principal

BYTES_MAX = 65_536
LEEWAY = timedelta(seconds=60)
WINDOW_MAX = timedelta(hours=24)
"""How long at most an event may be believed after it was signed: so long its replay must be remembered."""
ALGORITHMS = {
    "OKP": ["Ed25519", "EdDSA"],
    "EC": ["ES256", "ES384"],
    "RSA": ["PS256", "RS256", "PS384", "RS384", "PS512", "RS512"],
}
EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
"""Between which an event can have happened, and end."""
Seconds = Annotated[float, Field(ge=0, le=32_503_680_000)]


class EventRefused(BadRequest):
    """A signed event that is not believed (422); ``extra['reason']`` says why, for whoever signs events."""

    code = "event_refused"


class _Claims(BaseModel):
    """The payload."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    iss: UUID
    aud: UUID
    iat: Seconds
    exp: Seconds
    nbf: Seconds | None = None
    jti: Annotated[str, Field(min_length=8, max_length=200)]
    sub: UUID | None = None
    account: UUID | None = None
    type: Literal["episode"] = "episode"
    text: Annotated[str, Field(min_length=1, max_length=2_000)]
    occurred_at: datetime
    audience: Audience = Audience.MEMBER
    purposes: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    importance: Annotated[float, Field(ge=0, le=1)] = 0.6
    expires_at: datetime | None = None
    batch: UUID | None = None

    @field_validator("iat", "exp", "nbf", mode="before")
    @classmethod
    def _a_number(cls, value: Any) -> Any:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError("a number of seconds since 1970")
        return value

    @field_validator("occurred_at", "expires_at", mode="before")
    @classmethod
    def _a_moment(cls, value: Any) -> Any:
        if value is None:
            return value
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else None
            moment = moment.astimezone(UTC) if moment is not None and moment.tzinfo is not None else None
        except (ValueError, OverflowError):
            moment = None
        if moment is None or not EARLIEST <= moment <= LATEST:
            raise ValueError("a time of this century as a string with its offset")
        return moment

    @model_validator(mode="after")
    def _whole(self) -> _Claims:
        if (self.sub is None) == (self.account is None):
            raise ValueError("name 'sub' (a person) or 'account', one of the two")
        if texts.clean(self.text) != self.text or not texts.visible(self.text).strip():
            raise ValueError("'text' is blank or not in NFC")
        return self

    @property
    def owner_id(self) -> UUID:
        """The person's or the account's id."""
        owner = self.account or self.sub
        assert owner is not None, "one of the two was named"
        return owner


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedEvent:
    """An event that may be believed, about ``owner_id``: the account where there is one, else a person.

    ``digest`` (32 bytes) marks it as taken until ``believed_until``.
    """

    source_id: UUID
    owner_id: UUID
    account_id: UUID | None
    text: str
    occurred_at: datetime
    audience: Audience
    purposes: tuple[str, ...]
    importance: float
    expires_at: datetime | None
    batch_id: UUID | None
    digest: bytes
    believed_until: datetime


def claimed_source(token: str) -> UUID:
    """Which source a token says it is from, unverified: only to look its keys up. Raises EventRefused."""
    if len(token) > BYTES_MAX:
        raise refused("too_long")
    try:
        payload = json.loads(jws.extract_compact(token.encode("ascii")).payload)
        return UUID(str(payload["iss"]))
    except (JoseError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise refused("malformed") from None


def verify(token: str, source: Source, principal: Principal, now: datetime) -> SignedEvent:
    """The event in ``token`` by ``source``, for the caller's tenant. Raises EventRefused with the reason."""
    if source.kind is not Kind.EVENT or source.keys is None:
        raise refused("source_signs_nothing")
    if source.revoked_at is not None:
        raise refused("source_revoked")
    claims = _claims(_payload(token, source.keys))
    if claims.iss != source.id:
        raise refused("issuer")
    if claims.aud != principal.tenant_id:
        raise refused("audience")
    signed, ends = _moment(claims.iat), _moment(claims.exp)
    if signed > now + LEEWAY or (claims.nbf is not None and _moment(claims.nbf) > now + LEEWAY):
        raise refused("not_yet_valid")
    if ends <= now:
        raise refused("stale")
    if not signed < ends <= signed + WINDOW_MAX:
        raise refused("window")
    if claims.occurred_at > now + LEEWAY:
        raise refused("occurred_in_the_future")
    return SignedEvent(
        source_id=source.id,
        owner_id=claims.owner_id,
        account_id=claims.account,
        text=claims.text,
        occurred_at=claims.occurred_at,
        audience=claims.audience,
        purposes=claims.purposes,
        importance=claims.importance,
        expires_at=claims.expires_at,
        batch_id=claims.batch,
        digest=hashlib.sha256(claims.jti.encode()).digest(),
        believed_until=ends,
    )


def refused(reason: str) -> EventRefused:
    """The error, noted for security review without anything of the event."""
    event(Event.SIGNED_EVENT_REFUSED, level="warning", reason=reason)
    return EventRefused(
        "The signed event is not believed. See 'reason', and docs/signed-events.md for what is expected.",
        extra={"reason": reason},
    )


def _payload(token: str, keys: dict[str, Any]) -> dict[str, Any]:
    key_set = KeySet.import_key_set(keys)  # type: ignore[arg-type]
    try:
        header = jws.extract_compact(token.encode("ascii")).headers()
        kid = header.get("kid")
        key = next((key for key in key_set.keys if kid is not None and key.kid == kid), None)
        if key is None:
            raise refused("unknown_key")
        if not set(header) <= {"alg", "kid", "typ"}:
            raise refused("header")
        verified = jws.deserialize_compact(token, key, algorithms=ALGORITHMS[key.key_type])
        payload = json.loads(verified.payload, parse_constant=_no_constant)
    except (JoseError, ValueError, KeyError, TypeError, RecursionError):
        raise refused("signature") from None
    if not isinstance(payload, dict):
        raise refused("malformed")
    return payload


def _claims(payload: dict[str, Any]) -> _Claims:
    try:
        return _Claims.model_validate(payload)
    except ValidationError as error:
        where = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, where["loc"])) or "claims"
        raise refused(
            f"claim:{field}" if field in _Claims.model_fields or field == "claims" else "claim:unknown"
        ) from None


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _no_constant(name: str) -> float:
    raise ValueError(name)
