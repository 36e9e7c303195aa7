"""Passwords inside addresses and settings: connection strings, query parameters, headers, command lines."""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason

_BREAKS = re.compile(r"[\r\n]+")
_SIGNS = ("://", "=", ":", "uthorization", "earer", "asic", "-u ", "ssw", "ssr")


@cache
def _inside() -> re.Pattern[str]:
    setting = (
        r"(?:[a-z0-9]{1,20}[_.-]){0,3}(?:password|passwd|pwd|passphrase|secret(?:[_-]?key)?|api[_-]?key|apikey|access[_-]?key(?:[_-]?id)?"
        r"|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret|private[_-]?key|account[_-]?key|sharedaccesskey)"
    )
    return re.compile(
        r"(?i:\b[a-z][a-z0-9+.-]{1,30}://[^\s/:@]{0,64}:[^\s/@]{1,128}@[\w.\[-]"
        rf"|(?<![a-z0-9]){setting}\s?=\s?[\"']?(?![\s\"'<$%{{])[^\s;,&\"']{{4,}}"
        r"|[?&](?:token|key|apikey|api_key|secret|password|sig|signature|access_token|auth|code)=[\w%./+-]{6,}"
        r"|\b(?:bearer|basic)\s+(?=[\w.=+/~-]*[\d=])[\w.=+/~-]{12,}"
        r"|\b(?:login|machine)\s\S{1,64}\s(?:password|pass)\s\S{3,}"
        r"|\s(?:-u|--user)\s?[^\s:]{1,64}:\S{3,}"
        r"|\b(?:x-api-key|api-key|authorization)\s?:\s?\S{6,})"
    )


def _finds(view: View) -> bool:
    for text in dict.fromkeys((view.raw, view.mapped.text)):
        if not any(sign in text for sign in _SIGNS):
            continue
        if _inside().search(text) or ("\n" in text and _inside().search(_BREAKS.sub("", text))):
            return True
    return False


DETECTOR = Detector(
    name="credential.connection",
    reason=Reason.CREDENTIAL,
    finds=_finds,
    reads="passwords in connection strings, settings, query parameters, headers and command lines",
    example="a database's address with its password",
)
