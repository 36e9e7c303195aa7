"""Which clauses of one message state something about the person who wrote it, or tell an event (see ``events``).

Precision first: a sentence in which anything is asked, supposed, guessed, quoted, translated, joked, granted or ordered
yields nothing, and what follows a frame ("here is my letter:") is not the person's own statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingatan.languages import Language, load
from ingatan.languages.detect import language_of, present
from ingatan.languages.sentences import TEXT_CHARACTERS_MAX, lowered, masked, quotations, split
from ingatan.languages.spelling import Spelled, spelled
from ingatan.memories.events import tells_event
from ingatan.memories.evidence import WISH_SIGNS_MIN, evident
from ingatan.types import MemoryType, Operation

STATEMENT_WORDS_MIN = 2
SENTENCES_MAX = 60
WISH_SIGNS_SURE = 3
"""So many signs of a wish outweigh a word that could tell of an event."""
CUTS_MAX = 4
"""So many lead-ins ("hi", "by the way", "please note that") are cut from one sentence."""

_PASTED = re.compile(
    r"```|[{\[]\s*[\"'][^\n]{0,80}[\"']\s*:|\w\s*=\s*[\"'{\[(]|\w\(\s*[\"']|</?[a-z]\w*[^>\n]{0,80}>|//|/\*"
    r"|(?:^|\n)[ \t]{0,20}(?:def \w+\(|import \w+\s*\n|from \w+ import|select .{1,60} from |insert into|>|\|)"
    r"|(?:^|\n)(?:subject|from|to|cc|fw|re):|\n--\s*\n|[^\W\d]\w*,\w+,\w+|\w+;\w+;\w+|\w+\t\w+\t\w+",
    re.IGNORECASE,
)
_EDGES = " \t\n,;:.!?…-–—("
_PAUSES = re.compile(r"[,;.–—:]+ | - ")
_BRACES = re.compile(r"[{}\\<>]{1}")
_Kind = tuple[MemoryType, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    """A sentence as typed, its closing mark, and its plain spelling, which alone the patterns read."""

    typed: str
    mark: str
    plain: Spelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One verbatim clause and what it is. ``slot`` is None where no attribute could be named.

    ``said`` is the whole sentence where the clause alone does not show what was asked ("forget that ...").
    """

    text: str
    type: MemoryType
    slot: str | None
    explicit: bool
    language: str
    operation: Operation = Operation.ADD
    said: str = ""
    never_again: bool = False


def statements(text: str) -> list[Statement]:
    """The statements of one message in order. Linear in its length; nothing is read beyond the limit of ``split``."""
    if pasted(text):
        return []
    found: list[Statement] = []
    codes = present(text)
    languages = [load(code) for code in codes]
    sentences = [
        _Sentence(typed=sentence.text, mark=sentence.mark, plain=spelled(sentence.text, codes))
        for sentence in split(text)[:SENTENCES_MAX]
    ]
    if any(_is_material(sentence, languages) for sentence in sentences):
        return []
    explicit_before = False
    for sentence in sentences:
        view = lowered(masked(sentence.plain.text))
        if _framed(view, languages):
            break
        statement = _read(sentence, languages, explicit_before)
        if statement is not None:
            found.append(statement)
        explicit_before = statement is None and len(view.split()) <= 6 and _any(languages, "remember", view)
    return found


def pasted(text: str) -> bool:
    """Whether ``text`` holds code, markup, a table or a forwarded mail: nobody's statement."""
    return _PASTED.search(text[:TEXT_CHARACTERS_MAX]) is not None


def _any(languages: Sequence[Language], name: str, view: str) -> bool:
    return any(language.search(name, view) is not None for language in languages)


def _is_material(sentence: _Sentence, languages: Sequence[Language]) -> bool:
    view = lowered(masked(sentence.plain.text))
    return _any(languages, "whole_frame", view)


def _framed(view: str, languages: Sequence[Language]) -> bool:
    if not _any(languages, "frame", view) or _any(languages, "unframed", view):
        return False
    return not (_any(languages, "standing_strong", view) and _any(languages, "direct", view))


def _read(sentence: _Sentence, languages: Sequence[Language], explicit_before: bool) -> Statement | None:
    plain = sentence.plain.text
    if any(_any(languages, "about_self", lowered(quoted)) and " " in quoted.strip() for quoted in quotations(plain)):
        return None
    if _BRACES.search(plain):
        return None
    view = lowered(masked(plain))
    denied = _denied(sentence, view, languages)
    if denied is not None:
        return denied
    if _any(languages, "never", view) or _any(languages, "laughter", view):
        return None
    forgotten = _forgotten(sentence, view, languages)
    if forgotten is not None:
        return forgotten
    explicit = explicit_before or _any(languages, "remember", view)
    told, event = _clause(sentence, view, languages, explicit), _event(sentence, view, languages, explicit)
    return event if event is not None and (told is None or told.type is MemoryType.FACT) else told


def _event(sentence: _Sentence, view: str, languages: Sequence[Language], explicit: bool) -> Statement | None:
    """The event that the sentence tells, or the part of it before what is asked about that event."""
    start, end = _own_words(view, languages)
    if _starts_question(view[start:end], languages) or _introduced(sentence.plain.text[start:end], languages):
        return None
    ends = [end]
    if "?" in sentence.mark:
        ends = [start + found.start() for found in _PAUSES.finditer(view[start:end])]
    for cut in reversed(ends):
        first, last = _trimmed(view, start, cut)
        rest = view[cut:end].strip(_EDGES)
        if tells_event(view[first:last], languages) and not _any(languages, "event_tag", rest):
            return _statement(sentence, first, last, (MemoryType.EPISODE, None), explicit=explicit)
    return None


def _statement(sentence: _Sentence, start: int, end: int, kind: _Kind, *, explicit: bool) -> Statement:
    """What is said between ``start`` and ``end`` of the plain sentence, as it was typed."""
    first, last = sentence.plain.span(start, end)
    typed, language = sentence.typed[first:last].strip(_EDGES), language_of(sentence.plain.text[start:end])
    return Statement(text=typed, type=kind[0], slot=kind[1], explicit=explicit, language=language)


def _clause(sentence: _Sentence, view: str, languages: Sequence[Language], explicit: bool) -> Statement | None:
    """The lasting statement of the sentence: a preference or a fact."""
    plain = sentence.plain.text
    start, end = _own_words(view, languages)
    polite = _polite(view[start:end], languages)
    if polite is not None:
        start += polite
    else:
        before = _before_question(view[start:end], languages)
        if before is None or ("?" in sentence.mark and before == end - start):
            before = _before_comma(view[start:end], languages)
        if before is None:
            return None
        end = start + before
    start, end = _trimmed(plain, start, end)
    clause = plain[start:end]
    if len(clause.split()) < STATEMENT_WORDS_MIN or _introduced(clause, languages):
        return None
    if "?" in sentence.mark and polite is None and _any(languages, "conditional", view[start:end]):
        return None
    kind = _kind(clause, languages, explicit=explicit, polite=polite is not None)
    if kind is None:
        return None
    return _statement(sentence, start, end, kind, explicit=explicit)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """``start`` and ``end`` moved inwards over punctuation at the edges."""
    while start < end and text[start] in _EDGES:
        start += 1
    while start < end and text[end - 1] in _EDGES:
        end -= 1
    return start, end


def _introduced(clause: str, languages: Sequence[Language]) -> bool:
    """Whether a colon brings in a first person whom the words before it do not speak for: a text to work on."""
    before, colon, after = lowered(masked(clause)).partition(": ")
    if not colon or any(_any(languages, name, before) for name in ("about_self", "standing", "change")):
        return False
    return _any(languages, "about_self", after)


def _own_words(view: str, languages: Sequence[Language]) -> tuple[int, int]:
    """The offsets of ``view`` between lead-ins and closing words."""
    start, end = 0, len(view)
    for _ in range(CUTS_MAX):
        cuts = [found.end for language in languages if (found := language.search("lead", view[start:end])) is not None]
        if not cuts or start + max(cuts) >= end:
            break
        start += max(cuts)
    for _ in range(2):
        tails = [
            found.start for language in languages if (found := language.search("tail", view[start:end])) is not None
        ]
        if not tails or min(tails) < 4:
            break
        end = start + min(tails)
    return start, end


def _polite(view: str, languages: Sequence[Language]) -> int | None:
    for language in languages:
        found = language.search("polite", view)
        if found is not None and (language.search("standing", view) or language.search("direct", view[found.end :])):
            return found.end if found.start == 0 else 0
    return None


def _before_question(clause: str, languages: Sequence[Language]) -> int | None:
    """Where in ``clause`` the statement ends: at its end, or where a question begins; None if all of it asks."""
    if "?" not in clause and _any(languages, "on_asking", clause):
        return len(clause)  # "whenever I ask about fees, ...": a wish about questions
    cut = _asking(clause, languages)
    if cut is not None and clause[:cut].rstrip().endswith(":"):
        return None  # "in one sentence: who ...": how to answer this question, not how to answer
    if "?" not in clause and _any(languages, "unasked", clause):
        return len(clause) if cut is None else cut
    if _any(languages, "question", clause) and not _strong_statement(clause, languages):
        return None if _starts_question(clause, languages) else cut
    return len(clause) if cut is None else cut


def _before_comma(clause: str, languages: Sequence[Language]) -> int | None:
    """Where in a question the part before its last comma or dash ends, if nothing in that part asks or supposes."""
    cuts = [found.start() for found in _PAUSES.finditer(clause)][-1:]
    for cut in cuts:
        before = clause[:cut]
        if len(before.split()) < STATEMENT_WORDS_MIN:
            continue
        if not any(_any(languages, name, before) for name in ("question", "asking", "doubt", "guess")):
            return cut
    return None


def _starts_question(clause: str, languages: Sequence[Language]) -> bool:
    return any(
        (found := language.search("question", clause)) is not None and found.start == 0 for language in languages
    )


def _strong_statement(clause: str, languages: Sequence[Language]) -> bool:
    return "?" not in clause and _any(languages, "standing_strong", clause) and _any(languages, "direct", clause)


def _asking(clause: str, languages: Sequence[Language]) -> int | None:
    cuts = [found.start for language in languages if (found := language.search("asking", clause)) is not None]
    cuts = [cut for cut in cuts if len(clause[:cut].split()) >= STATEMENT_WORDS_MIN]
    return min(cuts) if cuts else None


def _kind(clause: str, languages: Sequence[Language], *, explicit: bool, polite: bool) -> _Kind | None:
    view = lowered(masked(clause))
    if _any(languages, "others", view):
        return None
    oneoff = _any(languages, "oneoff", view) and not _any(languages, "regularly", view)
    standing = _any(languages, "standing", view)
    wish = not oneoff and _any(languages, "direct", view)
    hint = not oneoff and not wish and standing and _hint(view, languages, polite=polite)
    shown = evident(clause, languages, oneoff=oneoff, explicit=explicit)
    told = wish or hint or shown.signs >= WISH_SIGNS_SURE
    if _doubtful(view, languages, standing_wish=standing and (wish or hint), wish=told, signs=shown.signs):
        return None
    if not wish and _any(languages, "pastime", view):
        return MemoryType.FACT, "hobby"
    named = _named(clause, languages)
    if named and not oneoff and _any(languages, "titled", view):
        return MemoryType.PREFERENCE, "form_of_address"
    if _any(languages, "likes", view) or (wish and not named):
        return MemoryType.PREFERENCE, _preference_slot(view, languages)
    slot = "name" if named else _fact_slot(view, languages)
    acts = _any(languages, "finite", view) and not _any(languages, "about_self", view)
    if slot is not None and not (slot == "role" and acts):  # "teachers in X got a raise"
        return MemoryType.FACT, slot
    if hint:
        return MemoryType.PREFERENCE, _preference_slot(view, languages)
    if shown.type is not None:
        preferred = shown.type is MemoryType.PREFERENCE
        return shown.type, _preference_slot(view, languages) if preferred else None
    if explicit and not oneoff and _any(languages, "about_self", view):
        wished = standing and _any(languages, "form", view)
        return (MemoryType.PREFERENCE, _preference_slot(view, languages)) if wished else (MemoryType.FACT, None)
    return None


def _hint(view: str, languages: Sequence[Language], *, polite: bool) -> bool:
    """A standing wish told by no more than a sign that it stands, or by how an answer may look and no first person."""
    if _any(languages, "standing_sure", view):
        return True
    if not _any(languages, "form", view):
        return False
    return polite or not _any(languages, "about_self", view) or _any(languages, "standing_strong", view)


def _doubtful(view: str, languages: Sequence[Language], *, standing_wish: bool, wish: bool, signs: int) -> bool:
    guesses = [found.start for language in languages if (found := language.search("guess", view)) is not None]
    if 0 in guesses:
        return True
    if not _any(languages, "candid", view):
        if guesses:
            return True
        if not standing_wish and any(_supposes(view, language, signs) for language in languages):
            return True
    return not wish and _any(languages, "passing", view) and not _any(languages, "change", view)


def _supposes(view: str, language: Language, signs: int) -> bool:
    """Whether a doubt stands in ``view``; having to do something is none in a wish."""
    found = language.search("doubt", view)
    if found is None:
        return False
    return signs < WISH_SIGNS_MIN or view[found.start : found.end] not in language.lists["obliged"]


def _named(clause: str, languages: Sequence[Language]) -> bool:
    plain = clause.replace("’", "'")
    return any(language.search("names", plain, table="cased") is not None for language in languages)


def _fact_slot(view: str, languages: Sequence[Language]) -> str | None:
    for language in languages:
        for slot in language.facts:
            if language.search(slot, view, table="facts") is not None:
                return slot
    return None


def _preference_slot(view: str, languages: Sequence[Language]) -> str | None:
    for language in languages:
        for slot in language.preference_slots:
            if language.search(slot, view, table="preference_slots") is not None:
                return slot
    return None


def _forgotten(sentence: _Sentence, view: str, languages: Sequence[Language]) -> Statement | None:
    for language in languages:
        found = language.search("forget_everything", view)
        if found is None:
            found = language.search("forget", view)
            if found is None or found.start != 0 or language.search("forget_not", view) is not None:
                continue
        ended = language.search("never_again_end", view)
        closing = _closing(sentence, found.end, len(view) if ended is None else ended.start, language)
        if closing is not None:
            never = language.search("never_again", view) is not None
            return replace(closing, slot=_matter(closing.text, languages), never_again=never)
    return None


def _matter(words: str, languages: Sequence[Language]) -> str | None:
    """The attribute that is named by these words as a whole ("where I work"), or None."""
    view = lowered(words)
    for language in languages:
        for slot in language.matters:
            found = language.search(slot, view, table="matters")
            if found is not None and (found.start, found.end) == (0, len(view)):
                return slot
    return None


def _denied(sentence: _Sentence, view: str, languages: Sequence[Language]) -> Statement | None:
    """What a sentence that only says that something holds no longer ("... any more") closes, or None."""
    start, end = _trimmed(view, *_own_words(view, languages))
    clause = view[start:end]
    if "?" in sentence.mark or _PAUSES.search(clause) or _any(languages, "direct", clause):
        return None  # a question, a sentence that goes on, or a wish ("I don't want tables any more")
    for language in languages:
        found, ended = language.search("denied", clause), language.search("denied_end", clause)
        if found is None or (ended is None and language.search("denied_sure", clause) is None):
            continue
        return _closing(sentence, start + found.end, end if ended is None else start + ended.start, language)
    return None


def _closing(sentence: _Sentence, start: int, end: int, language: Language) -> Statement | None:
    """A request to close what the words between ``start`` and ``end`` of the plain sentence name."""
    first, last = sentence.plain.span(start, max(start, end))
    words = sentence.typed[first:last].strip(_EDGES)
    if not words:
        return None
    return Statement(
        text=words, type=MemoryType.FACT, slot=None, explicit=True, language=language.code,
        operation=Operation.DELETE, said=sentence.typed,
    )  # fmt: skip
