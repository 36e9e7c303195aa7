"""Every error a caller can meet, one tree:

IngatanError
├── BadCursor 400
├── BadRequest 422 ── InvalidText, UnknownFilter, PolicyRefused, EventRefused
├── TooLarge 413
├── Unauthenticated 401 ── SignInNeeded   (pages)
├── Forbidden 403 ── MemoryDisabled, FormRefused   (pages)
├── NotFound 404
├── Conflict 409 ── KeyReused, EventReplayed
├── Outdated 412
├── RateLimited 429
├── Unavailable 503 ── DatabaseUnavailable, EmbedderFailed, KeysUnavailable
├── ExtractionFailed ── ExtractionRejected, ExtractionUnavailable   (inside a sweep only)
├── ModelFailed, Stale   (inside a sweep only)
└── StartRefused       (never leaves the process; the service does not start)

``code`` is stable and may be relied on; the message tells the caller what to do next and never carries memory text,
message text, a query or a secret.
"""

from __future__ import annotations


class IngatanError(Exception):
    """Base of all errors. ``code`` is stable, ``status`` the HTTP status, ``str(error)`` what to do next."""

    code = "internal"
    status = 500

    def __init__(self, message: str, *, code: str | None = None, extra: dict[str, object] | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.extra: dict[str, object] = extra or {}


class BadRequest(IngatanError):
    """The request is understood and cannot be carried out as it is (422)."""

    code, status = "bad_request", 422


class InvalidText(BadRequest):
    """Text that no door accepts, for example blank (422)."""

    code = "invalid_text"


class UnknownFilter(BadRequest):
    """A filter that is unknown, blank, null or a wildcard (422)."""

    code = "unknown_filter"


class PolicyRefused(BadRequest):
    """The policy service did not accept what a person proposed (422); ``extra['reasons']`` holds reason codes."""

    code = "policy_refused"


class TooLarge(IngatanError):
    """More than a documented limit (413)."""

    code, status = "too_large", 413


class Unauthenticated(IngatanError):
    """No credential, or one that is not accepted (401). The answer never says which check failed."""

    code, status = "unauthenticated", 401


class Forbidden(IngatanError):
    """The caller's role does not include this action (403)."""

    code, status = "forbidden", 403


class MemoryDisabled(Forbidden):
    """Memory is off here, or not for this caller (403)."""

    code = "memory_disabled"


class NotFound(IngatanError):
    """No such object, or not for this caller: the two are not told apart (404)."""

    code, status = "not_found", 404


class Conflict(IngatanError):
    """The state does not allow the act (409)."""

    code, status = "conflict", 409


class KeyReused(Conflict):
    """An idempotency key came back with another body (409)."""

    code = "idempotency_key_reused"


class Outdated(IngatanError):
    """What the caller means to replace was replaced by somebody else meanwhile (412)."""

    code, status = "outdated", 412


class RateLimited(IngatanError):
    """The caller proposed as much as the policy lets them for now (429 with Retry-After, in seconds)."""

    code, status = "rate_limited", 429

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(message, extra={"retry_after_seconds": retry_after_seconds})


class Unavailable(IngatanError):
    """Something this act needs does not answer; the same call may be repeated (503 with Retry-After)."""

    code, status = "unavailable", 503


class DatabaseUnavailable(Unavailable):
    """The database was lost; the act happened entirely or not at all, and may be repeated (503)."""

    code = "database_unavailable"


class ExtractionFailed(IngatanError):
    """An extraction gave nothing that may be used; the watermark stays. ``reason`` is a short code, never content."""

    code = "extraction_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(f"Extraction failed: {reason}.")
        self.reason = reason


class ExtractionRejected(ExtractionFailed):
    """The extractor answered with something malformed, truncated, refused, filtered or beyond its caps."""

    code = "extraction_rejected"


class ExtractionUnavailable(ExtractionFailed):
    """The extractor did not answer in time or at all."""

    code = "extraction_unavailable"


class StartRefused(IngatanError):
    """The configuration or the database is not one this service may run on. The message says what to change."""

    code = "start_refused"
