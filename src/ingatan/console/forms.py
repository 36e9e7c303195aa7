"""Forms: what their fields hold, why one was not accepted, and the way back to the page."""

from __future__ import annotations

from uuid import UUID

from fastapi import Response
from fastapi.responses import RedirectResponse

from ingatan import text as texts
from ingatan.console.visitors import Visitor
from ingatan.errors import IngatanError, TooLarge


def bounded(value: str, field: str, chars_max: int) -> str:
    """The text of a form field as every door stores it, lines ended by LF. Raises InvalidText, TooLarge."""
    cleaned = texts.required(value.replace("\r\n", "\n").strip(), field)
    if len(cleaned) > chars_max:
        raise TooLarge(f"'{field}' is longer than {chars_max:,} characters.")
    return cleaned


def reasons_of(visitor: Visitor, error: IngatanError) -> tuple[str, ...]:
    """Why something was refused, in the visitor's words."""
    codes = error.extra.get("reasons")
    if not isinstance(codes, list):
        return ()
    return tuple(visitor.labels(f"reason.{code}") for code in codes)


def back(conversation_id: UUID | None = None, place: str = "") -> Response:
    """Back to the page, at ``place``, with the conversation that was shown."""
    query = f"?conversation={conversation_id}" if conversation_id else ""
    return RedirectResponse(f"/{query}{f'#{place}' if place else ''}", status_code=303)
