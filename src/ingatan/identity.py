"""Identity: from a verified credential to a Principal, and from nothing else.

``JwtResolver.resolve`` takes the values of all Authorization headers and returns a Principal or raises Unauthenticated.
Which check failed is logged as a short reason and never told to the caller.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, OKPKey

from ingatan.errors import StartRefused, Unauthenticated
from ingatan.settings import Environment, Settings
from ingatan.telemetry import Event, event
from ingatan.types import Principal, Role

NAMESPACE = UUID("6e2f6d3b-6f0e-5b52-9d6a-0f3f1c9c7d11")
"""Version-5 namespace of tenant and subject identifiers; changing it would orphan every stored row."""

SENTINEL_SUBJECT = UUID("00000000-0000-0000-0000-000000000000")
"""S1's shared subject of callers without identity. It gets no memory."""

DEVELOPMENT_ISSUER = "ingatan-development"
DEVELOPMENT_AUDIENCE = "ingatan"
DEFAULT_TENANT = "default"
LIFETIME_SECONDS_MAX = 10 * 366 * 86_400
SUBJECT_CHARS_MAX = 255
_CANONICAL_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def tenant_uuid(name: str) -> UUID:
    """The tenant's identifier: its name if that is a canonical UUID, else a version-5 UUID of it (case-sensitive)."""
    return UUID(name) if _CANONICAL_UUID.fullmatch(name) else uuid5(NAMESPACE, f"tenant\0{name}")


def subject_uuid(issuer: str, subject: str) -> UUID:
    """One UUID per issuer and subject, case-sensitively; a canonical lower-case UUID stands for itself."""
    return UUID(subject) if _CANONICAL_UUID.fullmatch(subject) else uuid5(NAMESPACE, f"subject\0{issuer}\0{subject}")


@dataclass(frozen=True, slots=True)
class TrustedIssuer:
    """One issuer that is believed: who it is, for whom its tokens must be, and its keys at this moment."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    keys: Callable[[], KeySet]


class KeySetFile:
    """A JSON key set on disk. A change is seen within a second; an unreadable file leaves the last keys in force."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._checked = 0.0
        self._stamp: tuple[int, int] | None = None
        self._keys = self._load()
        if not self._keys.keys:
            raise StartRefused(f"The key set {path} is empty, so that no token could be accepted.")

    def _load(self) -> KeySet:
        try:
            stat = self._path.stat()
            data = json.loads(self._path.read_bytes())
            keys = KeySet([]) if data == {"keys": []} else KeySet.import_key_set(data)
        except (OSError, ValueError, KeyError, TypeError, RecursionError, JoseError) as error:
            raise StartRefused(f"The key set {self._path} cannot be read: {type(error).__name__}.") from None
        self._stamp = (stat.st_mtime_ns, stat.st_size)
        return keys

    def __call__(self) -> KeySet:
        with self._lock:
            if time.monotonic() - self._checked >= 1.0:
                self._checked = time.monotonic()
                try:
                    stat = self._path.stat()
                    if (stat.st_mtime_ns, stat.st_size) != self._stamp:
                        self._keys = self._load()
                except (OSError, StartRefused):
                    pass  # an outage of the key source logs nobody out; a removed key goes with the next readable file
            return self._keys


class JwtResolver:
    """Verifies bearer tokens (RFC 7519) of the trusted issuers and makes Principals of them."""

    def __init__(
        self,
        issuers: Sequence[TrustedIssuer],
        *,
        leeway_seconds: int = 30,
        tenant_claim: str = "tenant",
        roles_claim: str = "roles",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._issuers = tuple(issuers)
        self._leeway = leeway_seconds
        self._tenant_claim, self._roles_claim = tenant_claim, roles_claim
        self._clock = clock

    def resolve(self, authorization: Sequence[str]) -> Principal:
        """Return the principal of exactly one ``Bearer`` header value; raise Unauthenticated for anything else."""
        if len(authorization) != 1:
            raise _refused("header_missing" if not authorization else "header_repeated")
        scheme, _, token = authorization[0].partition(" ")
        if scheme.lower() != "bearer" or not token.strip() or len(token) > 16_384:
            raise _refused("not_bearer")
        reason = "no_trusted_issuer"
        for trusted in self._issuers:
            try:
                decoded = jwt.decode(token.strip(), trusted.keys(), algorithms=list(trusted.algorithms))
            except (JoseError, ValueError, KeyError, TypeError, RecursionError):
                reason = "signature"
                continue
            return self._principal(decoded.claims, trusted)
        raise _refused(reason)

    def _principal(self, claims: dict[str, Any], trusted: TrustedIssuer) -> Principal:
        now = int(self._clock())
        registry = jwt.JWTClaimsRegistry(
            now=now,
            leeway=self._leeway,
            iss={"essential": True, "value": trusted.issuer},
            aud={"essential": True, "value": trusted.audience},
            exp={"essential": True},
            sub={"essential": True},
        )
        for name in ("exp", "nbf", "iat"):
            value = claims.get(name)
            if value is not None and not _is_time(value):
                raise _refused(f"{name}_not_a_number")
        try:
            registry.validate(claims)
        except (JoseError, ValueError, TypeError) as error:
            raise _refused(type(error).__name__) from None
        if claims["exp"] > now + LIFETIME_SECONDS_MAX:
            raise _refused("exp_absurd")
        subject, tenant = claims["sub"], claims.get(self._tenant_claim, DEFAULT_TENANT)
        if not isinstance(subject, str) or not subject.strip() or len(subject) > SUBJECT_CHARS_MAX:
            raise _refused("subject_malformed")
        if not isinstance(tenant, str) or not tenant.strip() or len(tenant) > SUBJECT_CHARS_MAX:
            raise _refused("tenant_malformed")
        try:
            tenant_id, subject_id = tenant_uuid(tenant), subject_uuid(trusted.issuer, subject)
        except UnicodeEncodeError:  # a lone surrogate
            raise _refused("subject_malformed") from None
        return Principal(
            tenant_id=tenant_id,
            subject_id=subject_id,
            roles=_roles(claims.get(self._roles_claim)),
            verified=True,
            shared_sentinel=subject_id == SENTINEL_SUBJECT,
        )


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _roles(claim: object) -> frozenset[Role]:
    if claim is None:
        return frozenset({Role.USER})
    if not isinstance(claim, list):
        raise _refused("roles_malformed")
    known = {role.value for role in Role}
    return frozenset(Role(item) for item in claim if isinstance(item, str) and item in known)


def _refused(reason: str) -> Unauthenticated:
    event(Event.CREDENTIAL_REFUSED, level="warning", reason=reason)
    return Unauthenticated("Send one 'Authorization: Bearer <token>' header with a valid token.")


def development_token(
    key: OKPKey,
    *,
    subject: str,
    tenant: str = DEFAULT_TENANT,
    roles: Sequence[Role] = (Role.USER,),
    ttl_seconds: int = 3600,
) -> str:
    """A token signed by the data directory's development key; only a development service believes it."""
    now = int(time.time())
    claims: dict[str, Any] = {
        "iss": DEVELOPMENT_ISSUER,
        "aud": DEVELOPMENT_AUDIENCE,
        "sub": subject,
        "tenant": tenant,
        "roles": [role.value for role in roles],
        "iat": now,
        "exp": now + ttl_seconds,
    }
    return jwt.encode({"alg": "Ed25519"}, claims, key, algorithms=["Ed25519"])


def resolver_for(settings: Settings, development_key: OKPKey | None) -> JwtResolver:
    """The resolver that ``settings`` ask for; the development key counts only where the environment is development."""
    security = settings.security
    issuers: list[TrustedIssuer] = []
    if security.jwks_file is not None:
        issuers.append(
            TrustedIssuer(security.issuer, security.audience, security.algorithms, KeySetFile(security.jwks_file))
        )
    if settings.environment is Environment.DEVELOPMENT and development_key is not None:
        public = KeySet([OKPKey.import_key(development_key.as_dict(private=False))])
        issuers.append(TrustedIssuer(DEVELOPMENT_ISSUER, DEVELOPMENT_AUDIENCE, ("Ed25519",), lambda: public))
    return JwtResolver(
        issuers,
        leeway_seconds=security.leeway_seconds,
        tenant_claim=security.tenant_claim,
        roles_claim=security.roles_claim,
    )
