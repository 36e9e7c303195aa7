"""Sentences and clauses of a chat message. Linear in the text, bounded by ``TEXT_CHARACTERS_MAX``."""

from __future__ import annotations

import re
from dataclasses import dataclass

TEXT_CHARACTERS_MAX = 2_000
"""Of one message, so many characters are read; who states something about themselves does so within them."""

_END = re.compile(r"[.!?…]{1,9}[\"”’')]{0,2}(?=\s|$)|[!?]{1,9}(?=\w)|\n+|[;。]|[=:]\)+(?=\s|$)")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:mrs?|ms|dr|drs|dra|prof|ir|st|no|nr|vs|jl|jln|kab|kec|prov|h|hj|tgk|plt|pjs|bpk|sdr|tp|ts|ths|pgs|gs|art|dll|dsb|dst|e\.g|i\.e|a\.n|s\.h|s\.e|s\.t|s\.pd|m\.si|etc|approx|tn|ny|[a-z])$",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"[\"“”«]([^\"“”«»\n]{1,400})[\"“”»]|(?<!\w)[‘']([^'‘’\n]{1,400}(?:[’'](?=\w)[^'‘’\n]{1,400}){0,9})[’'](?!\w)|`([^`\n]{1,400})`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A verbatim stretch of a message, trimmed; ``mark`` is its closing punctuation ("" if none)."""

    text: str
    mark: str


def split(text: str) -> list[Sentence]:
    """The sentences of ``text`` in order, within ``TEXT_CHARACTERS_MAX``; one cut by that limit is left out."""
    cut = len(text) > TEXT_CHARACTERS_MAX
    text = text[:TEXT_CHARACTERS_MAX]
    quoted = [found.span() for found in _QUOTED.finditer(text)]
    sentences: list[Sentence] = []
    start = 0
    for found in _END.finditer(text):
        if any(begin < found.start() and found.end() < end for begin, end in quoted):
            continue
        if found[0][-1] in "\"”’'" and text[found.end() : found.end() + 2].strip().islower():
            continue  # a quotation inside a sentence that goes on
        if found[0] == "." and _ABBREVIATION.search(text[max(start, found.start() - 12) : found.start()]):
            continue
        _add(sentences, text[start : found.end()], "" if found[0][-1] in "\"”’'" else found[0])
        start = found.end()
    if not cut:
        _add(sentences, text[start:], "")
    return sentences


def _add(sentences: list[Sentence], piece: str, mark: str) -> None:
    trimmed = piece.strip().rstrip(";").strip()
    if any(character.isalnum() for character in trimmed):
        sentences.append(Sentence(text=trimmed, mark=mark.strip()))


def lowered(text: str) -> str:
    """``text`` in lower case with typographic apostrophes and any white space made plain: same length, same offsets."""
    characters = []
    for character in text:
        lower = character.lower()
        if character in "’‘ʼ`":
            characters.append("'")
        elif character.isspace():
            characters.append(" ")
        else:
            characters.append(lower if len(lower) == 1 else character)
    return "".join(characters)


def quotations(text: str) -> list[str]:
    """What stands in quotation marks or backticks, in order."""
    return [next(group for group in found.groups() if group is not None) for found in _QUOTED.finditer(text)]


def masked(text: str) -> str:
    """``text`` with what stands in quotation marks replaced by the same number of ``_``: same length, same offsets."""
    return _QUOTED.sub(lambda found: '"' + "_" * (len(found[0]) - 2) + '"', text)
