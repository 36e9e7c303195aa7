"""Private keys and the like in the forms of files: PEM, PGP, PuTTY, ssh lines, one-time password links."""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason

_BREAKS = re.compile(r"\s+")


@cache
def _blocks() -> re.Pattern[str]:
    return re.compile(
        r"-{3,5}\s?BEGIN[A-Z0-9 ]{0,40}(?:PRIVATE ?KEY|CERTIFICATE|SECRET)|PuTTY-User-Key-File|PRIVATE ?KEY-{4,5}"
        r"|ssh-(?:rsa|ed25519|dss)\s{0,3}AAAA|ecdsa-sha2-nistp\d{3}\s{0,3}AAAA|otpauth://|(?<![^\W_])b3BlbnNzaC1rZXktdjE"
        r"|(?<![^\W_])MII[A-Za-z0-9+/]{40}"
    )


def _finds(view: View) -> bool:
    for text in dict.fromkeys((view.raw, view.mapped.text)):
        if _blocks().search(text):
            return True
        if ("BEGIN" in text or "AAAA" in text or "ssh" in text) and _blocks().search(_BREAKS.sub("", text)):
            return True
    return False


DETECTOR = Detector(
    name="credential.key",
    reason=Reason.CREDENTIAL,
    finds=_finds,
    reads="PEM, OpenSSH, PGP and PuTTY keys, ssh public lines, otpauth links",
    example="a private key's first line",
)
