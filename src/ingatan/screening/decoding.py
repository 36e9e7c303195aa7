"""What a text says once decoded: tag characters, base64, hex, percent, escapes; ROT13, leet, letters turned or spaced.

Bounded in depth, number and length, so that a text cannot buy work. Judged only, never stored. A piece is decoded
where it stands, so that the words around it still belong to it. An exact code is taken when what comes out reads as
text; ROT13 and turned letters, only guesses, when some of the words are common ones, which chance hardly makes.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from urllib.parse import unquote

from ingatan.screening.confusables import latin
from ingatan.text import unaccent, visible

DEPTH_MAX = 3
"""So many codes within each other are opened."""
PIECES_MAX = 8
"""So many pieces of one code are decoded in one text; what follows stays as it is."""
READINGS_MAX = 12
"""So many readings of one text are judged."""
CHARACTERS_DECODED_MAX = 4_000
"""So much of each reading is judged; of a longer text only what was decoded, without the words around it."""
KNOWN_WORDS_MIN = 2
"""So many different common words in ROT13 or turned round make a guess worth judging."""
CUTS_MIN = 2
CUT_OF_MAX = 3
"""So many signs within words, and one for every so many words, make a guess worth judging: honest hyphens are fewer."""
_LEET = str.maketrans("013457@$!", "oieastasi")
_ROT13 = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)
_TAG = re.compile("[\U000e0020-\U000e007e]+")
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{2,6}\U000e007f")
"""The flag of a part of a country: the one honest use of tag characters."""
_BASE64 = re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{12,}+(?:\r?\n[A-Za-z0-9+/_-]{2,}+)*+={0,2}")
_HEX = re.compile(r"(?<![^\W_])(?:0x|\\x)?[0-9a-fA-F]{2}(?:[ :,]?(?:0x|\\x)?[0-9a-fA-F]{2}){7,}+(?![^\W_])")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPE = re.compile(r"\\u\{?([0-9a-fA-F]{4})\}?|\\x([0-9a-fA-F]{2})")
_LONE = (r"(?<![^\W_][^\W_])(?<=[^\W_])", r"(?=[^\W_](?![^\W_]))")
"""After, and before, a letter that stands alone."""
_SIGN = r"(?:[^\w\s]|_)"
_SPACED = re.compile(rf"(?<![^\W_])(?:[^\W_](?: |{_SIGN}){{1,3}}){{4,}}[^\W_](?![^\W_])")
_JOINT = re.compile(rf"{_LONE[0]} ?{_SIGN}{{1,2}} ?{_LONE[1]}")
_GAP = re.compile(rf"{_LONE[0]}(?: |{_SIGN}){_LONE[1]}")
_INNER = re.compile(r"(?<=[^\W\d_])[._*|/~^+=\u00b7\u2022-](?=[^\W\d_])")
"""A sign that cuts a word in two."""
_CHAINED = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?:[.;:!?][^\W\d_]++){3,}+")
"""Words with a stop and no space between them."""
_DOUBLED = re.compile(r"(?<![^\W_])(?:([^\W\d_])\1){2,}+(?![^\W_])")
_STRAY = re.compile("[\u0300-\u036f\u20d0-\u20f0]")
"""Marks that belong to no letter once all that can be composed is."""
_LEETISH = re.compile(r"(?i)(?<![\w@$!])(?=\w{0,40}[a-z])(?=[\w@$!]{0,40}[013457@$!])[\w@$!]{4,40}")
_WORDS = re.compile(r"[a-z]{2,20}")
_COMMON = frozenset(
    [
        "the",
        "and",
        "you",
        "your",
        "that",
        "this",
        "with",
        "for",
        "not",
        "are",
        "is",
        "was",
        "have",
        "has",
        "from",
        "all",
        "any",
        "when",
        "what",
        "who",
        "will",
        "can",
        "must",
        "should",
        "never",
        "always",
        "every",
        "please",
        "tell",
        "now",
        "before",
        "after",
        "about",
        "into",
        "my",
        "me",
        "of",
        "to",
        "in",
        "it",
        "be",
        "do",
        "ignore",
        "disregard",
        "forget",
        "bypass",
        "override",
        "instruction",
        "instructions",
        "previous",
        "above",
        "rules",
        "rule",
        "system",
        "prompt",
        "password",
        "secret",
        "secrets",
        "send",
        "reveal",
        "show",
        "print",
        "user",
        "admin",
        "access",
        "grant",
        "approve",
        "approved",
        "policy",
        "key",
        "token",
        "code",
        "execute",
        "follow",
        "memory",
        "remember",
        "answer",
        "reply",
        "delete",
        "disable",
        "number",
        "card",
        "yang",
        "dan",
        "di",
        "ke",
        "dari",
        "untuk",
        "dengan",
        "saya",
        "kamu",
        "anda",
        "ini",
        "itu",
        "tidak",
        "jangan",
        "semua",
        "harus",
        "selalu",
        "tolong",
        "akan",
        "sudah",
        "ada",
        "pada",
        "abaikan",
        "lupakan",
        "perintah",
        "instruksi",
        "aturan",
        "sebelumnya",
        "sandi",
        "kata",
        "rahasia",
        "kirim",
        "tampilkan",
        "izin",
        "akses",
        "nomor",
        "kode",
        "va",
        "cua",
        "la",
        "cho",
        "khong",
        "toi",
        "ban",
        "moi",
        "tat",
        "ca",
        "hay",
        "luon",
        "dung",
        "cac",
        "nhung",
        "khi",
        "truoc",
        "phai",
        "duoc",
        "voi",
        "cai",
        "nay",
        "bo",
        "qua",
        "huong",
        "dan",
        "quy",
        "tac",
        "lenh",
        "mat",
        "khau",
        "bi",
        "gui",
        "tiet",
        "lo",
        "quyen",
    ]
)
"""Words by which a guess is known to read as language; Vietnamese without marks."""


def readings(raw: str) -> Iterator[tuple[str, bool]]:
    """What ``raw`` says once decoded, at most ``READINGS_MAX`` of it, and whether that is only a guess. May be none."""
    open_texts, seen = [(raw, False)], {raw}
    given = 0
    for _ in range(DEPTH_MAX):
        following: list[tuple[str, bool]] = []
        for text, guess in open_texts:
            for reading, guessed in _decoded(text):
                if reading not in seen and given < READINGS_MAX:
                    seen.add(reading)
                    given += 1
                    following.append((reading, guess or guessed))
                    yield following[-1]
        open_texts = following


def tagged(text: str) -> str:
    """The text written in tag characters, flags left out."""
    if text.isascii():
        return ""
    return "".join(chr(ord(sign) - 0xE0000) for run in _TAG.findall(_FLAG.sub("", text)) for sign in run)


def _decoded(raw: str) -> Iterator[tuple[str, bool]]:
    hidden = tagged(raw)
    if hidden:
        yield hidden[:CHARACTERS_DECODED_MAX], False
    text = raw if raw.isascii() else visible(unicodedata.normalize("NFKC", raw))
    for sign, decode in _CODES:
        if sign in text or sign == "":
            decoded = decode(text)
            if decoded:
                yield decoded, False
    yield from ((guess, True) for guess in _guesses(text[:CHARACTERS_DECODED_MAX]))
    turned = _base64(text[:CHARACTERS_DECODED_MAX].translate(_ROT13))
    if turned:
        yield turned, False


def _guesses(text: str) -> Iterator[str]:
    folded = text if text.isascii() else unaccent(text.lower().translate(latin()))
    words = set(_WORDS.findall(folded.lower()))
    if len(words & _rotated()) >= KNOWN_WORDS_MIN:
        yield text.translate(_ROT13)
    if len(words & _turned()) >= KNOWN_WORDS_MIN:
        yield text[::-1]
        yield " ".join(word[::-1] for word in text.split(" "))
    if _SPACED.search(text):
        yield _SPACED.sub(lambda match: re.sub(rf" |{_SIGN}", "", match[0]), text)
        yield re.sub(r" {2,}", " ", _GAP.sub("", text))  # words parted by more than one space
        yield re.sub(r"[()\[\]{}<>]", "", _JOINT.sub("", text))  # words parted by any
    if len(_INNER.findall(text)) >= max(CUTS_MIN, len(text.split()) / CUT_OF_MAX):
        yield _INNER.sub("", text)
    if _CHAINED.search(text):
        yield _CHAINED.sub(lambda match: re.sub(r"[.;:!?]", " ", match[0]), text)
    if _STRAY.search(text):
        yield _STRAY.sub("", text)
    if _DOUBLED.search(text):
        yield _DOUBLED.sub(lambda match: match[0][::2], text)
    if _LEETISH.search(folded):
        yield _LEETISH.sub(lambda match: match[0].translate(_LEET), folded)


@cache
def _rotated() -> frozenset[str]:
    return frozenset(word.translate(_ROT13) for word in _COMMON) - _COMMON


@cache
def _turned() -> frozenset[str]:
    return frozenset(word[::-1] for word in _COMMON) - _COMMON


def _text(raw: bytes) -> str:
    """``raw`` as text if it reads as one, else nothing."""
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    printable = sum(c.isprintable() or c.isspace() for c in decoded)
    return decoded if len(decoded) > 3 and printable == len(decoded) else ""


def _replaced(pattern: re.Pattern[str], text: str, decode: Callable[[str], str]) -> str:
    """``text`` with its first ``PIECES_MAX`` encoded pieces in the clear, or nothing if none was a text."""
    parts: list[str] = []
    pieces: list[str] = []
    at = 0
    for _, match in zip(range(PIECES_MAX), pattern.finditer(text), strict=False):
        piece = decode(match[0])
        if piece:
            parts += [text[at : match.start()], piece]
            pieces.append(piece)
            at = match.end()
    if not pieces:
        return ""
    whole = "".join([*parts, text[at:]])
    return whole if len(whole) <= CHARACTERS_DECODED_MAX else " ".join(pieces)[:CHARACTERS_DECODED_MAX]


def _base64(text: str) -> str:
    def decode(run: str) -> str:
        piece = "".join(run.split()).rstrip("=").replace("-", "+").replace("_", "/")
        try:
            return _text(base64.b64decode(piece + "=" * (-len(piece) % 4)))
        except (binascii.Error, ValueError):
            return ""

    return _replaced(_BASE64, text, decode)


def _hex(text: str) -> str:
    return _replaced(_HEX, text, lambda run: _text(bytes.fromhex(re.sub(r"0x|\\x|[ :,]", "", run))))


def _percent(text: str) -> str:
    if len(_PERCENT.findall(text[:CHARACTERS_DECODED_MAX])) < 3:
        return ""
    return unquote(text[:CHARACTERS_DECODED_MAX])


def _escapes(text: str) -> str:
    cut = text[:CHARACTERS_DECODED_MAX]
    if len(_ESCAPE.findall(cut)) < 3:
        return ""
    return _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), cut).replace("\x00", "")


def _entities(text: str) -> str:
    return html.unescape(text[:CHARACTERS_DECODED_MAX])


_CODES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", _base64),
    ("", _hex),
    ("%", _percent),
    ("\\", _escapes),
    ("&", _entities),
)
"""Each code with the sign without which it does not occur."""
