"""Subjects a person keeps returning to: regulations, sectors and datasets named in several turns of theirs (S1).

The one case where a question counts. What is remembered is a small frame in the person's language around the subject in
their own letters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ingatan.languages import CODES, load
from ingatan.languages.detect import language_of, present
from ingatan.languages.sentences import TEXT_CHARACTERS_MAX, lowered
from ingatan.memories.statements import pasted
from ingatan.text import fold, unaccent
from ingatan.types import Turn

TURNS_MIN = 2
"""A subject counts from so many separate turns of the person (CONTRACT §3)."""
PHRASE_TURNS_MIN = {3: 2, 2: 3}
"""What is on no list counts by its own words: three in a row from two questions, two in a row from three (ours)."""
WORD_LETTERS_MIN = 2
TOPICS = ("names", "phrases")
FRAMES = {"en": "Often asks about {}", "id": "Sering bertanya tentang {}", "vi": "Thường hỏi về {}"}

_ASKING = re.compile(r"[^.?!\n]+\?")
_WORD = re.compile(r"[^\W\d_]+")
_REGULATION = re.compile(
    r"(?<!\w)(?:"
    r"(?:qanun|uu|undang-undang|perda|pp|perpres|permen[a-z]{0,12}|pergub|perbup|perwal|keppres|inpres|peraturan"
    r" (?:pemerintah|daerah|presiden|menteri|gubernur|bupati))(?: aceh| kabupaten| kota)?(?: (?:nomor|no\.?))?"
    r" ?\d{1,4}(?: tahun \d{4}|/\d{4})?"
    r"|(?:law|act|decree|directive|ordinance|(?:(?:government|presidential|ministerial|regional) )?regulation)"
    r"(?: (?:number|no\.?))? ?\d{1,4}(?:/\d{4}| of \d{4})?(?:/[a-z-]{2,10})?"
    r"|(?:nghị định|thông tư|luật|quyết định|nghị quyết|chỉ thị|nghi dinh|thong tu|quyet dinh|nghi quyet)"
    r"(?: số| so)? ?\d{1,4}/\d{4}(?:/[a-zđ0-9-]{2,20})?"
    r")(?![\w/])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A subject as it stands in one turn. ``key`` is equal for what names the same subject."""

    key: str
    words: str
    turn: Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """A recurring subject: its sentence, and the first and the latest mention."""

    text: str
    language: str
    first: Mention
    latest: Mention
    regulation: bool


def recurring(turns: Sequence[Turn], recent: Sequence[Turn]) -> list[Interest]:
    """Subjects named in at least ``TURNS_MIN`` of the person's turns, one of them in ``turns``, most often named first.

    Both sequences hold the person's own turns only; turns given twice count once.
    """
    fresh = {turn.id for turn in turns}
    told = {turn.id: turn for turn in (*recent, *turns)}
    named: dict[str, dict[object, Mention]] = {}
    for turn in sorted(told.values(), key=lambda turn: (turn.said_at, turn.seq)):
        for mention in mentions(turn):
            named.setdefault(mention.key, {}).setdefault(turn.id, mention)
    found = []
    for key, by_turn in named.items():
        told_in = list(by_turn.values())
        if len(told_in) < TURNS_MIN or not fresh.intersection(by_turn):
            continue
        latest = told_in[-1]
        language = language_of(latest.turn.text)
        text = FRAMES[language].format(latest.words)
        regulation = key.startswith("regulation")
        found.append(
            (
                len(told_in),
                Interest(text=text, language=language, first=told_in[0], latest=latest, regulation=regulation),
            )
        )
    return [interest for _, interest in sorted(found, key=lambda pair: -pair[0])]


def phrases(turns: Sequence[Turn], recent: Sequence[Turn]) -> list[Interest]:
    """Subjects on no list that come back word for word in the person's questions, the longest first, at most one.

    A phrase is a run of words none of which is a function word, a number or a negation, in one sentence that asks.
    """
    fresh = {turn.id for turn in turns}
    told = {turn.id: turn for turn in (*recent, *turns)}
    asked: dict[str, dict[object, Mention]] = {}
    for turn in sorted(told.values(), key=lambda turn: (turn.said_at, turn.seq)):
        for size in PHRASE_TURNS_MIN:
            for mention in _runs(turn, size):
                asked.setdefault(mention.key, {}).setdefault(turn.id, mention)
    for size, least in PHRASE_TURNS_MIN.items():
        for key, by_turn in sorted(asked.items(), key=lambda item: (-len(item[1]), item[0])):
            if len(key.split()) == size and len(by_turn) >= least and fresh.intersection(by_turn):
                told_in = list(by_turn.values())
                language = language_of(told_in[-1].turn.text)
                text = FRAMES[language].format(told_in[-1].words)
                return [Interest(text=text, language=language, first=told_in[0], latest=told_in[-1], regulation=False)]
    return []


def _runs(turn: Turn, size: int) -> list[Mention]:
    """Every run of ``size`` content words in the sentences of ``turn`` that ask; none in pasted text."""
    text = turn.text[:TEXT_CHARACTERS_MAX]
    if "?" not in text or pasted(text):
        return []
    found = []
    for sentence in _ASKING.finditer(text):
        words = [match for match in _WORD.finditer(sentence[0])]
        for at in range(len(words) - size + 1):
            run = words[at : at + size]
            between = sentence[0][run[0].start() : run[-1].end()]
            plain = [unaccent(fold(match[0])) for match in run]
            if any(mark in between for mark in ',;:.()"') or any(word in _function_words() for word in plain):
                continue
            if all(len(word) >= WORD_LETTERS_MIN and word.isalpha() for word in plain):
                found.append(Mention(key=" ".join(plain), words=between, turn=turn))
    return found


@cache
def _function_words() -> frozenset[str]:
    lists = (load(code).lists["function_words"] for code in CODES)
    return frozenset(unaccent(word) for words in lists for word in words)


def regulated(text: str) -> bool:
    """Whether ``text`` names a regulation by its kind and number."""
    return _REGULATION.search(lowered(text)) is not None


def named_topic(text: str) -> bool:
    """Whether ``text`` names a sector, subject or dataset of the lists."""
    view = lowered(text)
    return any(load(code).search(name, view, table="topics") is not None for code in CODES for name in TOPICS)


def mentions(turn: Turn) -> list[Mention]:
    """The regulations, sectors and datasets named in ``turn``; none in pasted text."""
    text = turn.text[:TEXT_CHARACTERS_MAX]
    if pasted(text):
        return []
    view = lowered(text)
    found = []
    for regulation in _REGULATION.finditer(view):
        kind = unaccent(re.split(r"[\d ]", regulation[0])[0])
        numbers = ".".join(re.findall(r"\d+", regulation[0]))
        found.append(
            Mention(key=f"regulation {kind} {numbers}", words=text[regulation.start() : regulation.end()], turn=turn)
        )
    for code in present(text):
        language = load(code)
        for name in TOPICS:
            topic = language.search(name, view, table="topics")
            if topic is not None:
                words = text[topic.start : topic.end].strip()
                found.append(Mention(key=unaccent(fold(words)), words=words, turn=turn))
                break
    return found
