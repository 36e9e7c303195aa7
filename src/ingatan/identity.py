"""Identity: from a verified credential to a Principal, and from nothing else.

Three resolvers (S1): ``jwt`` verifies bearer tokens, ``headers`` believes what a gateway in front wrote, ``none``
knows nobody. Which check failed is logged as a short reason and never told to the caller.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID, uuid5

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, OKPKey

from ingatan.errors import Unauthenticated
from ingatan.keysets import KeySetFile, KeySetUrl, KeySource
from ingatan.settings import Environment, Resolution, SecuritySettings, Settings
from ingatan.telemetry import Event, event
from ingatan.types import Principal, Role

NAMESPACE = UUID("6e2f6d3b-6f0e-5b52-9d6a-0f3f1c9c7d11")
"""Version-5 namespace of tenant and subject identifiers; changing it would orphan every stored row."""

SENTINEL_SUBJECT = UUID("00000000-0000-0000-0000-000000000000")
"""S1's shared subject of callers without identity. It gets no memory."""

DEVELOPMENT_ISSUER = "ingatan-development"
DEVELOPMENT_AUDIENCE = "ingatan"
DEFAULT_TENANT = "default"
HEADERS_ISSUER = "headers"
"""The issuer under which subjects of the ``headers`` resolver get their UUID."""
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
    keys: KeySource


Headers = Callable[[str], Sequence[str]]
"""All values of the request header with this (lower-case) name, in order; empty when it was not sent."""


class Resolver(Protocol):
    """From the headers of a request to who calls."""

    def principal(self, headers: Headers) -> Principal:
        """The caller. Raises Unauthenticated, and KeysUnavailable when no token can be checked now."""
        ...


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

    def principal(self, headers: Headers) -> Principal:
        """The caller by their Authorization header. See ``resolve``."""
        return self.resolve(headers("authorization"))

    def resolve(self, authorization: Sequence[str]) -> Principal:
        """Return the principal of exactly one ``Bearer`` header value; raise Unauthenticated for anything else."""
        if len(authorization) != 1:
            raise _refused("header_missing" if not authorization else "header_repeated")
        scheme, _, token = authorization[0].partition(" ")
        if scheme.lower() != "bearer" or not token.strip() or len(token) > 16_384:
            raise _refused("not_bearer")
        reason, kid = "no_trusted_issuer", _key_identifier(token.strip())
        for trusted in self._issuers:
            keys = trusted.keys(kid)
            try:
                decoded = jwt.decode(token.strip(), keys, algorithms=list(trusted.algorithms))
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
        return _principal(
            trusted.issuer,
            claims["sub"],
            claims.get(self._tenant_claim, DEFAULT_TENANT),
            _roles(claims.get(self._roles_claim)),
            verified=True,
        )


class HeadersResolver:
    """Believes the headers that a gateway in front of the service writes. Whoever reaches the service can forge them.

    The principal is never ``verified``. A header sent twice, blank or missing (the tenant and the roles may be) is
    Unauthenticated.
    """

    def __init__(self, *, subject_header: str, tenant_header: str, roles_header: str) -> None:
        self.subject_header = subject_header.lower()
        self._tenant_header, self._roles_header = tenant_header.lower(), roles_header.lower()

    def principal(self, headers: Headers) -> Principal:
        """The caller as the headers say."""
        subject = _single(headers, self.subject_header)
        if subject is None:
            raise _refused("header_missing")
        tenant = _single(headers, self._tenant_header)
        roles = _single(headers, self._roles_header)
        return _principal(
            HEADERS_ISSUER,
            subject,
            DEFAULT_TENANT if tenant is None else tenant,
            _roles(None if roles is None else [role.strip() for role in roles.split(",")]),
            verified=False,
        )


class Anonymous:
    """Everybody who sends none of the ``credentials`` headers is S1's shared sentinel; others are ``inner``'s."""

    def __init__(self, inner: Resolver | None, credentials: Sequence[str]) -> None:
        self._inner, self._credentials = inner, tuple(credentials)

    def principal(self, headers: Headers) -> Principal:
        """The caller, or the sentinel."""
        if self._inner is None or not any(headers(name) for name in self._credentials):
            return Principal(tenant_uuid(DEFAULT_TENANT), SENTINEL_SUBJECT, shared_sentinel=True)
        return self._inner.principal(headers)


def _principal(issuer: str, subject: object, tenant: object, roles: frozenset[Role], *, verified: bool) -> Principal:
    if not isinstance(subject, str) or not subject.strip() or len(subject) > SUBJECT_CHARS_MAX:
        raise _refused("subject_malformed")
    if not isinstance(tenant, str) or not tenant.strip() or len(tenant) > SUBJECT_CHARS_MAX:
        raise _refused("tenant_malformed")
    try:
        tenant_id, subject_id = tenant_uuid(tenant), subject_uuid(issuer, subject)
    except UnicodeEncodeError:  # a lone surrogate
        raise _refused("subject_malformed") from None
    if subject_id == tenant_id:  # the organisation's own id is nobody's
        raise _refused("subject_malformed")
    return Principal(
        tenant_id=tenant_id,
        subject_id=subject_id,
        roles=roles,
        verified=verified,
        shared_sentinel=subject_id == SENTINEL_SUBJECT,
    )


def _single(headers: Headers, name: str) -> str | None:
    values = headers(name)
    if len(values) > 1:
        raise _refused("header_repeated")
    return values[0] if values else None


def _key_identifier(token: str) -> str | None:
    """The ``kid`` a token claims, unverified: it only says whether a fresh key set is worth a look."""
    try:
        kid = jws.extract_compact(token.encode()).headers().get("kid")
    except (JoseError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return kid if isinstance(kid, str) else None


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


def resolver_for(settings: Settings, development_key: OKPKey | None) -> Resolver:
    """The resolver that ``settings`` ask for; the development key counts only where the environment is development."""
    security = settings.security
    if security.resolver is Resolution.NONE:
        return Anonymous(None, ())
    if security.resolver is Resolution.HEADERS:
        believing = HeadersResolver(
            subject_header=security.subject_header,
            tenant_header=security.tenant_header,
            roles_header=security.roles_header,
        )
        return believing if security.require_auth else Anonymous(believing, (believing.subject_header,))
    verifying = JwtResolver(
        _issuers(settings, development_key),
        leeway_seconds=security.leeway_seconds,
        tenant_claim=security.tenant_claim,
        roles_claim=security.roles_claim,
    )
    return verifying if security.require_auth else Anonymous(verifying, ("authorization",))


def _issuers(settings: Settings, development_key: OKPKey | None) -> list[TrustedIssuer]:
    security, issuers = settings.security, list[TrustedIssuer]()
    source = _key_source(security)
    if source is not None:
        issuers.append(TrustedIssuer(security.issuer, security.audience, security.algorithms, source))
    if settings.environment is Environment.DEVELOPMENT and development_key is not None:
        public = KeySet([OKPKey.import_key(development_key.as_dict(private=False))])
        issuers.append(TrustedIssuer(DEVELOPMENT_ISSUER, DEVELOPMENT_AUDIENCE, ("Ed25519",), lambda kid: public))
    return issuers


def _key_source(security: SecuritySettings) -> KeySource | None:
    if security.jwks_file is not None:
        return KeySetFile(security.jwks_file)
    if security.jwks_url:
        return KeySetUrl(
            security.jwks_url,
            refresh_seconds=security.jwks_refresh_seconds,
            stale_seconds=security.jwks_stale_seconds,
            timeout_seconds=security.jwks_timeout_seconds,
        )
    return None
