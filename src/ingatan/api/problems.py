"""Errors as ``application/problem+json`` (RFC 9457): a stable code, what to do next, and never what was sent."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ingatan.errors import IngatanError, Unauthenticated, Unavailable
from ingatan.telemetry import Event, event

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = "2"
REPEATING = {"json_invalid", "uuid_parsing", "enum", "literal_error", "union_tag_invalid"}
"""Kinds of mistake whose message repeats what was sent."""
INVALID = "invalid_request"
HTTP_CODES = {
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not take this method."),
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "Stable; may be relied on."},
        "detail": {"type": "string", "description": "What to do next."},
        "errors": {"type": "array", "items": {"type": "object"}},
        "reasons": {"type": "array", "items": {"type": "string"}},
    },
}


def problem(status: int, code: str, detail: str, **extra: object) -> JSONResponse:
    """One problem response."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status == 503:
        headers["Retry-After"] = RETRY_AFTER_SECONDS
    if status == 429:
        headers["Retry-After"] = str(extra.get("retry_after_seconds", RETRY_AFTER_SECONDS))
    body = {"type": "about:blank", "title": code.replace("_", " "), "status": status, "code": code, "detail": detail}
    return JSONResponse({**body, **extra}, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def install(app: FastAPI) -> None:
    """Let ``app`` answer every error as a problem."""
    app.add_exception_handler(IngatanError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


async def _known(request: Request, error: Exception) -> JSONResponse:
    known = cast(IngatanError, error)
    if known.status >= 500:
        level = "warning" if isinstance(known, Unavailable) else "error"
        event(Event.REQUEST_FAILED, level=level, code=known.code, method=request.method, route=_route(request))
    detail = str(known) if known.status != 500 else "Something went wrong here. Nothing was changed; try again."
    code = known.code if not isinstance(known, Unauthenticated) else "unauthenticated"
    return problem(known.status, code, detail, **known.extra)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    errors = [
        {"field": _field(item), "problem": _what(item)} for item in cast(RequestValidationError, error).errors()[:20]
    ]
    fields = ", ".join(sorted({item["field"] for item in errors}))
    return problem(422, INVALID, f"Mend these fields and send again: {fields}.", errors=errors)


def _field(item: dict[str, Any]) -> str:
    """Where the mistake is; a name that the caller made up is not repeated."""
    path = [str(part) for part in item["loc"][1:] or item["loc"]]
    path = [part for part in path if not set("([{-") & set(part)] or ["(body)"]
    if item["type"] == "extra_forbidden":
        path[-1] = "(a field that is not known here)"
    return ".".join(path)


def _what(item: dict[str, Any]) -> str:
    """What is wrong, from the error's kind alone where the message could repeat the input."""
    kind = str(item["type"])
    return kind if kind in REPEATING else str(item["msg"])


async def _http(request: Request, error: Exception) -> JSONResponse:
    status = cast(HTTPException, error).status_code
    code, detail = HTTP_CODES.get(status, ("http_error", "The request cannot be served as it is."))
    return problem(status, code, detail)


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    event(
        Event.REQUEST_FAILED,
        level="error",
        error_type=type(error).__name__,
        where=_where(error),
        method=request.method,
        route=_route(request),
    )
    return problem(500, "internal", "Something went wrong here. Nothing was changed; try again.")


def _where(error: Exception) -> str:
    """File and line of the innermost frame: enough to find a defect, without its message, which may quote content."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown"


def _route(request: Request) -> str:
    return str(getattr(request.scope.get("route"), "path", "unknown"))
