"""Sessions: the one-time sign-in link of development, and the signed cookie that follows it."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

COOKIE = "ingatan_console"
LIFETIME_SECONDS = 12 * 3600
LINK_SECONDS = 600
LINK_BYTES = 32
COOKIE_CHARS_MAX = 2_000
ISSUER = "ingatan-console"
ALGORITHM = "HS256"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Who is signed in, in which language the page speaks to them, the secret of their forms, and until when."""

    subject_id: UUID
    language: str
    csrf: str
    expires_at: int


class Sessions:
    """Issues and reads session cookies: compact JWS, HMAC-SHA256 with a key of their own. No bearer door takes them."""

    def __init__(self, key: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._key = OctKey.import_key(key)
        self._clock = clock

    def begin(self, subject_id: UUID, language: str) -> Session:
        """A new session with a form secret of its own, for LIFETIME_SECONDS from now."""
        expires_at = int(self._clock()) + LIFETIME_SECONDS
        return Session(
            subject_id=subject_id, language=language, csrf=secrets.token_urlsafe(LINK_BYTES), expires_at=expires_at
        )

    def seal(self, session: Session) -> str:
        """The cookie's value."""
        claims: dict[str, Any] = {
            "iss": ISSUER,
            "sub": str(session.subject_id),
            "lang": session.language,
            "csrf": session.csrf,
            "exp": session.expires_at,
        }
        return jwt.encode({"alg": ALGORITHM}, claims, self._key, algorithms=[ALGORITHM])

    def open(self, value: str | None) -> Session | None:
        """The session of a cookie's value; None for anything that is not ours, was changed or has run out."""
        if not value or len(value) > COOKIE_CHARS_MAX:
            return None
        try:
            claims = jwt.decode(value, self._key, algorithms=[ALGORITHM]).claims
            session = Session(
                subject_id=UUID(claims["sub"]),
                language=str(claims["lang"]),
                csrf=str(claims["csrf"]),
                expires_at=int(claims["exp"]),
            )
        except (JoseError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return session if claims.get("iss") == ISSUER and self._clock() < session.expires_at else None


class SignInLink:
    """A random value that signs in exactly one visitor, within LINK_SECONDS of its making."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.value = secrets.token_urlsafe(LINK_BYTES)
        self._clock = clock
        self._until = clock() + LINK_SECONDS
        self._used = False
        self._lock = threading.Lock()

    def take(self, value: str) -> bool:
        """True for the first caller with the right value in time; False for everyone else, also side by side."""
        if not hmac.compare_digest(value.encode(), self.value.encode()):
            return False
        with self._lock:
            if self._used or self._clock() >= self._until:
                return False
            self._used = True
            return True
