"""Opaque cursors: a position in a total order, sealed to one caller and one list.

A cursor that was changed, belongs to someone else or to another list is refused and tells nothing (400).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from datetime import datetime
from typing import Any
from uuid import UUID

from ingatan.errors import IngatanError
from ingatan.types import Principal

TAG_BYTES = 16


class BadCursor(IngatanError):
    """A cursor that this list did not give to this caller (400)."""

    code, status = "bad_cursor", 400


class Cursors:
    """Seals and opens cursors with a key of the service's own."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, principal: Principal, listing: str, *position: datetime | UUID | int) -> str:
        """The cursor behind the last row: ``listing`` names route and filter, ``position`` its order's values."""
        body = json.dumps([part.isoformat() if isinstance(part, datetime) else str(part) for part in position]).encode()
        return _written(self._tag(principal, listing, body) + body)

    def open(self, principal: Principal, listing: str, cursor: str | None) -> list[str] | None:
        """The position as strings, or None without a cursor. Raises BadCursor."""
        if cursor is None:
            return None
        try:
            raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        except (binascii.Error, ValueError):
            raw = b""
        if _written(raw) != cursor:  # the decoder passes over what is no letter of its alphabet
            raw = b""
        tag, body = raw[:TAG_BYTES], raw[TAG_BYTES:]
        if not hmac.compare_digest(tag, self._tag(principal, listing, body)):
            raise BadCursor("This cursor is not one that this list gave you. Start again without a cursor.")
        position: Any = json.loads(body)
        return [str(part) for part in position]

    def _tag(self, principal: Principal, listing: str, body: bytes) -> bytes:
        scope = principal.tenant_id.bytes + principal.subject_id.bytes + listing.encode() + b"\0" + body
        return hmac.digest(self._key, scope, hashlib.sha256)[:TAG_BYTES]


def _written(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
