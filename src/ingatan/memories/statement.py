"""Whether words are a person's statement about themselves, or a question, supposition, quotation, rendering or task.

Word lists and punctuation only. It does not understand a sentence; when unsure it says no.
"""

from __future__ import annotations

import re

from ingatan.languages import CODES, load
from ingatan.languages.sentences import lowered
from ingatan.memories.wording import pattern, single
from ingatan.text import fold, words

_SENTENCE_END = re.compile(r"[.!?\n]+(?=\s|$)")
_OPENERS = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|so|please|pls|well|and|also|btw|no|yes|tolong|mohon|halo|hai|ya|dan|xin|chào|dạ"
    r"|ơi)\W+)+"
)
_MARKS = re.compile('["\u201c\u201d\u00ab\u00bb]')
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'"})
_QUOTED = re.compile('["\u201c\u00ab][^"\u201d\u00bb]*["\u201d\u00bb]')
_WHOLLY_QUOTED = re.compile('["\u201c]([^"\u201c\u201d]*)["\u201d]')
_ONE_REPLY = re.compile(r"\byour (?:reply|response|answer)\b")
_ONESELF = re.compile(r"\s(?:\w+ing\s)?(?:i|my|we|saya|aku|tôi)\b")
_ABOUT_ONE = frozenset(
    {"prefers", "likes", "works", "lives", "uses", "speaks", "dislikes", "avoids", "wants", "is", "has"}
)

_OWN_THING = re.compile(
    r"\b(?!(?:(?:ber|per|pe|se|me|ke)?laku|bangku|tungku|pangku|memangku|buku|saku|kaku|suku|kuku|baku|beku|paku|siku|liku"
    r"|haiku|aku|daku|waku)\b)[a-z]{3,}ku\b(?=.* (?:namanya|bernama|di|pakai|pake|dari|itu|ini|adalah"
    r"|jadi|sekarang|yang"
    r"|jalan|dipanggil|sudah|udah|lagi|sedang|masih|selalu|[A-Z0-9])\b|$)"
)
"""An Indonesian thing of one's own: "kucingku", "laptopku"."""

_NOTE = re.compile(
    r"\b(?:about me|of myself|remember|note|notes|save|for your memory|tentang saya|soal saya|catat|ingat|simpan"
    r"|về tôi|về mình|ghi nhớ|nhớ|lưu)\b"
)
"""What introduces a note about oneself, rather than another text."""

_FOLLOWS = re.compile(
    r"\s*(?:[.,;:!?)\]\u2013\u2014\n-]|(?:and|but|so|because|since|dan|tapi|tetapi|jadi|karena|soalnya|terus|v\u00e0"
    r"|nh\u01b0ng|n\u00ean|v\u00ec)\b)",
    re.IGNORECASE,
)
"""After a quote: a mark or a word that begins something new. Anything else may turn its meaning round."""

_CONDITIONALS = frozenset(
    {"if", "unless", "whether", "kalau", "jika", "bila", "nếu", "giá", "trừ", "kecuali", "once", "would", "could"}
)

_TURNED = re.compile(
    r"^(?:i|we|my|our)\b.*\b(?:no more|no longer)\W*$|\b(?:is|was) what (?!i\b|we\b|you\b)[\w'-]+(?: [\w'-]+)? (?:wrote"
    r"|said|says|claims?|told)\b|, (?:begitu tulis|begitu kata|kata|tulis|ujar) (?!saya\b|aku\b)\w+\W*$"
    r"|\blà (?:câu|lời|điều) (?!tôi\b|mình\b|em\b)\w+ (?:viết|nói)\b|\b(?:tapi|tetapi) itu dulu\W*$"
)
"""What at its end turns a sentence round: it holds no more, or somebody else said it."""


def _folded(text: str) -> str:
    return fold(text).translate(_APOSTROPHES)


def is_statement(text: str) -> bool:
    """Whether ``text`` alone reads as a statement about oneself or a standing wish on how to be answered."""
    whole = _WHOLLY_QUOTED.fullmatch(text.strip())
    text = whole[1] if whole else text
    folded = _QUOTED.sub(" ", _OPENERS.sub("", _folded(text).lstrip("-*\u2022 ")))
    if folded.rstrip(" \"'").endswith("?") or pattern("condition").match(folded) or pattern("rendering").match(folded):
        return False
    if pattern("denial").search(folded) or _TURNED.search(folded):
        return False
    found = words(folded)
    if not found:
        return False
    own = any(word in single("first_person") for word in found) or pattern("first_person").search(folded) is not None
    own = own or _OWN_THING.search(folded) is not None
    standing = pattern("standing").search(folded) is not None
    asked = pattern("question").match(folded)
    if asked is not None and not (own and (standing or _ONESELF.match(folded, asked.end()))):
        return False
    if not standing and (pattern("task").match(folded) or _ONE_REPLY.search(folded)):
        return False
    if own or standing or found[0] in _ABOUT_ONE:
        return True
    return found[0] in single("style_verb") and pattern("style_noun").search(folded) is not None


def _begins_elsewhere(quote: str) -> bool:
    """Whether ``quote`` opens with a doubt, or with someone's words that are then quoted."""
    lead = _OPENERS.sub("", _folded(quote))
    doubt = pattern("hedge").match(lead)
    if doubt is not None and doubt[0] not in _CONDITIONALS:
        return True
    marked = re.split("[\"\u201c\u201d\u00ab]|(?<=\\W)'", lead, maxsplit=1)
    return len(marked) > 1 and pattern("reported").search(marked[0]) is not None


def _whole(before: str, quote: str, after: str) -> bool:
    """Whether ``quote`` begins and ends with whole words, and nothing that belongs to it follows it."""
    if (before[-1:].isalnum() and quote[:1].isalnum()) or (after[:1].isalnum() and quote[-1:].isalnum()):
        return False
    if quote.rstrip().endswith((".", "!", "?", ";")) or not after.strip():
        return True
    return _FOLLOWS.match(after) is not None


def _once(quote: str) -> bool:
    """Whether ``quote`` is a wish for this answer alone."""
    view, languages = lowered(quote), [load(code) for code in CODES]
    if any(language.search("standing_sure", view) is not None for language in languages):
        return False
    return any(language.search("oneoff", view) is not None for language in languages)


def _introduced(before: str) -> bool:
    """Whether the line before ends with a colon, so that what follows is a text of somebody's, unless it is a note."""
    lines = before.rstrip().splitlines()
    opened = bool(lines) and "\n" in before[len(before.rstrip()) :] and lines[-1].rstrip().endswith(":")
    return opened and _NOTE.search(_folded(lines[-1])) is None


def stated(turn: str, quote: str) -> bool:
    """Whether ``quote``, which stands in ``turn``, is stated there: not asked, supposed, quoted or rendered."""
    at = turn.find(quote)
    if at < 0 or not is_statement(quote) or _begins_elsewhere(quote):
        return False
    before, after = turn[:at], turn[at + len(quote) :]
    if not _whole(before, quote, after) or _introduced(before) or _once(quote):
        return False
    if len(_MARKS.findall(before)) % 2 and _MARKS.search(after):
        return False
    ends = list(_SENTENCE_END.finditer(before))
    prefix = _folded(before[ends[-1].end() :] if ends else before)
    lead = _OPENERS.sub("", _folded(turn))
    if pattern("rendering").match(lead) or (prefix and pattern("rendering").search(prefix)):
        return False
    if pattern("condition").search(f"{prefix} {_folded(quote)}") and not pattern("standing").search(_folded(quote)):
        return False
    if pattern("reported").search(prefix):
        return False
    clause = re.split(r"[,;:()\u2013\u2014]", prefix)[-1].strip()
    if words(prefix) and words(_folded(quote))[0] in _ABOUT_ONE:
        return False  # "works at the port" after other words is said of whoever they name
    if pattern("denial").search(prefix) or (clause and pattern("hedge").search(clause)):
        return False
    if clause and set(clause.split()) & {"not", "never", "don't", "no", "tidak", "bukan", "gak", "không", "chưa"}:
        return False
    if clause and pattern("question").match(clause):
        return False
    if quote.rstrip("\"' ").endswith((".", "!", "?")):
        return True
    rest = re.split(r"[,;:.!\n]", after, maxsplit=1)[0]
    return "?" not in rest
