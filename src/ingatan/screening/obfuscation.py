"""What is refused in the clear and hidden here: split by invisible characters, encoded, spelt in look-alike signs.

Decoding is bounded: one layer, a few pieces, and each decoded text is put to the word lists and to the secrets only.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from urllib.parse import unquote

from ingatan.screening import credentials, delimiters
from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.text import visible
from ingatan.types import Reason

PIECES_MAX = 8
"""So many encoded pieces of one text are decoded."""
CHARACTERS_DECODED_MAX = 4_000
"""So much of each decoded text is judged."""
_LEET = str.maketrans("013457@$!", "oieastasi")
_TRIGGERS = ("ignore", "password", "system", "instruct", "prompt", "reveal", "abaikan", "bypass", "disregard")


@cache
def _signs() -> dict[str, re.Pattern[str]]:
    return {
        "base64": re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{16,}+={0,2}"),
        "hex": re.compile(r"(?<!\w)(?:[0-9a-fA-F]{2}[ :]?){12,}+(?!\w)"),
        "percent": re.compile(r"(?:%[0-9A-Fa-f]{2}.{0,8}?){3}"),
        "spaced": re.compile(r"(?<!\w)(?:\w[ ._*|-]){4,}\w(?!\w)"),
        "leet": re.compile(r"(?i)(?<![\w@$!])(?=\w{0,40}[a-z])(?=[\w@$!]{0,40}[013457@$!])[\w@$!]{4,40}"),
        "tags": re.compile("[\U000e0020-\U000e007e]{2,}|[\u202a\u202b\u202d\u202e\u2066-\u2068]"),
        "split": re.compile("(?<=[A-Za-z])[\u200b-\u200f\u2060-\u2064\ufeff\u034f\u180e]+(?=[A-Za-z])"),
    }


def _text(raw: bytes) -> str:
    """``raw`` as text if it reads as one, else nothing."""
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    printable = sum(c.isprintable() or c.isspace() for c in decoded)
    return decoded if decoded and printable / len(decoded) > 0.95 else ""


def _pieces(text: str) -> Iterator[str]:
    signs = _signs()
    for _, match in zip(range(PIECES_MAX), signs["base64"].finditer(text), strict=False):
        piece = match[0].replace("-", "+").replace("_", "/")
        try:
            yield _text(base64.b64decode(piece + "=" * (-len(piece) % 4)))
        except (binascii.Error, ValueError):
            continue
    for _, match in zip(range(PIECES_MAX), signs["hex"].finditer(text), strict=False):
        try:
            yield _text(bytes.fromhex(match[0].replace(" ", "").replace(":", "")))
        except ValueError:
            continue
    if signs["percent"].search(text):
        yield unquote(text)
    if "&#" in text or "&lt;" in text:
        yield html.unescape(text)
    if signs["spaced"].search(text):
        yield signs["spaced"].sub(lambda match: re.sub(r"[ ._*|-]", "", match[0]), text)
        yield re.sub(r"(?<=\w)[ ._*|-](?=\w\b)", "", re.sub(r" {2,}", "\n", text))
    if signs["leet"].search(text):
        yield signs["leet"].sub(lambda match: match[0].translate(_LEET), text)
    turned = codecs.decode(text, "rot13")
    for candidate in (turned, text[::-1]):
        if any(trigger in candidate.casefold() for trigger in _TRIGGERS):
            yield candidate


def _bad(view: View, known: frozenset[str]) -> bool:
    return bool(view.labels - known) or credentials.DETECTOR.finds(view) or delimiters.DETECTOR.finds(view)


def _finds(view: View) -> bool:
    signs = _signs()
    if signs["tags"].search(view.raw):
        return True
    if signs["split"].search(view.raw) and (
        view.labels or View(raw=signs["split"].sub(" ", view.raw), language=view.language).labels
    ):
        return True
    text = unicodedata.normalize("NFKC", visible(view.raw))[:CHARACTERS_DECODED_MAX]
    clear = credentials.DETECTOR.finds(view) or delimiters.DETECTOR.finds(view)
    for piece in _pieces(text):
        if piece and piece != text:
            other = View(raw=piece[:CHARACTERS_DECODED_MAX], language=view.language)
            if (other.labels - view.labels) or (not clear and _bad(other, view.labels)):
                return True
    return False


DETECTOR = Detector(name="obfuscation", reason=Reason.OBFUSCATED, finds=_finds)
