"""Where a quote stands in a turn, and which clause of the person a quote that is none by itself points at. Pure.

A model copies inexactly: other capitals, spaces, marks, an ellipsis for what it left out. Where that names one stretch
of the turn and no other, the stretch is the quote; otherwise there is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ingatan.languages.sentences import split
from ingatan.memories.statement import stated
from ingatan.memories.statements import statements
from ingatan.memories.support import content, licensed
from ingatan.text import visible
from ingatan.types import Operation

ELLIPSIS_CHARACTERS_MAX = 200
"""What an ellipsis stands for is no longer than this."""
PIECE_CHARACTERS_MIN = 6
"""A piece beside an ellipsis is at least so long, or it names nothing."""

_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…|\[\.{3}\]|\[…\])\s*")
_EDGES = " \t\n\"'“”‘’«»`"
_PLAIN = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "«": '"', "»": '"', "–": "-", "—": "-"})


def located(quote: str, turn: str) -> str | None:
    """The verbatim stretch of ``turn`` that ``quote`` names, or None where it names none or several."""
    if quote in turn:
        return quote
    trimmed = visible(quote).strip(_EDGES)
    if trimmed and trimmed in turn:
        return trimmed
    view, places = _view(turn)
    pieces = [_view(piece)[0].strip() for piece in _ELLIPSIS.split(trimmed) if piece.strip()]
    if not pieces or (len(pieces) > 1 and any(len(piece) < PIECE_CHARACTERS_MIN for piece in pieces)):
        return None
    pattern = f".{{0,{ELLIPSIS_CHARACTERS_MAX}}}?".join(re.escape(piece) for piece in pieces)
    found = {
        turn[places[match.start()] : places[match.end() - 1] + 1]
        for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", view)
    }
    return found.pop() if len(found) == 1 else None


def _view(text: str) -> tuple[str, list[int]]:
    """``text`` in lower case with plain marks and one space a gap, and where each of its characters came from."""
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text.translate(_PLAIN)):
        if not visible(character):
            continue
        lower = " " if character.isspace() else character.lower()
        if lower == " " and characters and characters[-1] == " ":
            continue
        characters.append(lower if len(lower) == 1 else character)
        places.append(place)
    return "".join(characters), places


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A stretch of a turn that states something about the person; ``read`` if the rules know what."""

    text: str
    start: int
    end: int
    read: bool


def clause(quote: str, turn: str, text: str, *, used: Collection[str] = (), language: str) -> str:
    """The person's own clause at which ``quote``, verbatim in ``turn``, points; ``quote`` itself if it is one or if
    there is none.

    Of several clauses: one that licenses ``text``, else the one that shares most words with it. Where none shares a
    word (a translation, an invention), one that the rules read and that is not ``used``, else none.
    """
    single = len(split(quote)) == 1
    if single and (stated(turn, quote) or licensed(text, quote, language=language)):
        return quote
    start = turn.find(quote)
    within = [each for each in _clauses(turn) if each.start < start + len(quote) and start < each.end]
    if single and any(each.text == quote for each in within):
        return quote
    wanted = set(content(text))
    near = [each for each in within if wanted & set(content(each.text))]
    if not near:
        return next((each.text for each in within if each.read and each.text not in used), quote)

    def rank(each: Clause) -> tuple[bool, int, bool, bool]:
        shared = len(wanted & set(content(each.text)))
        return licensed(text, each.text, language=language), shared, each.text not in used, each.read

    return max(near, key=rank).text


def _clauses(turn: str) -> list[Clause]:
    """The clauses of ``turn`` that the rules read as statements and the sentences that stand as one, in order."""
    found: list[Clause] = []
    for statement in statements(turn):
        if statement.operation is Operation.ADD:
            _add(found, statement.text, turn, read=True)
    for sentence in split(turn):
        if stated(turn, sentence.text):
            _add(found, sentence.text, turn, read=False)
    return sorted(found, key=lambda each: each.start)


def _add(found: list[Clause], text: str, turn: str, *, read: bool) -> None:
    """Add ``text`` unless what stands there is already among ``found``."""
    start = turn.find(text)
    end = start + len(text)
    if start >= 0 and not any(each.start < end and start < each.end for each in found):
        found.append(Clause(text=text, start=start, end=end, read=read))
