"""Text as it enters: one rule for every door, and the views used to compare text without changing it.

The rule: text is NFC; NUL and lone surrogates become U+FFFD; nothing else is touched. Bytes are counted in UTF-8.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from ingatan.errors import InvalidText

REPLACEMENT = "\ufffd"
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
_MARK = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_WORD = re.compile(r"[^\W_]+(?:['’.\-/][^\W_]+)*")


def clean(value: str) -> str:
    """Return ``value`` as every door stores it: NFC, with NUL and lone surrogates replaced by U+FFFD."""
    return unicodedata.normalize("NFC", _FORBIDDEN.sub(REPLACEMENT, value))


def required(value: str, field: str) -> str:
    """Return ``clean(value)``; raise InvalidText naming ``field`` if nothing visible is left."""
    cleaned = clean(value)
    if not visible(cleaned).strip():
        raise InvalidText(f"'{field}' is blank. Send text with at least one visible character.")
    return cleaned


def visible(value: str) -> str:
    """Drop characters that are not seen: zero-width, bidi controls, tags, variation selectors."""
    return _INVISIBLE.sub("", value)


def fold(value: str) -> str:
    """A view for comparing, never for storing: NFKC, invisible characters dropped, case folded, one space a gap."""
    if value.isascii():  # the same result, on the path of every answer
        return " ".join(value.lower().split())
    return " ".join(visible(unicodedata.normalize("NFKC", value)).casefold().split())


def unaccent(value: str) -> str:
    """``value`` without combining marks, đ as d: the way Vietnamese is often typed. For comparing only."""
    if value.isascii():
        return value
    decomposed = unicodedata.normalize("NFD", value.replace("đ", "d").replace("Đ", "D"))
    return unicodedata.normalize("NFC", _MARK.sub("", decomposed))


def words(value: str) -> list[str]:
    """The folded words of ``value`` in order; numbers with separators and hyphenated names stay whole."""
    return _WORD.findall(fold(value))


def digest(value: str) -> bytes:
    """SHA-256 of the folded text without closing punctuation (32 bytes): equal for what reads as the same statement."""
    return hashlib.sha256(fold(value).rstrip(" .!。").encode()).digest()
