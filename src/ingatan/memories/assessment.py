"""What the words of a candidate come to, whatever else is known: their grounding, and what screening finds in them.

Pure over the candidate and the turns it cites, and the dear part of a decision: a sweep assesses once, outside any
transaction, and decides under the lock over the state of that moment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from ingatan.memories.grounding import Grounding, ground
from ingatan.memories.slots import Slot
from ingatan.memories.statement import is_statement
from ingatan.screening import screen
from ingatan.text import visible
from ingatan.types import Candidate, Memory, MemoryType, Operation, Reason, SourceKind, Turn

SENTENCES_MAX = 2
"""Of so many sentences one is kept; more are refused, because what is remembered is one sentence (S1)."""
_INNER_END = re.compile(
    r"(?<!\b[A-Za-z])(?<!\b(?:Mr|Dr|No|Jl|St|Ir|vs|Tn|Ny|Tp|TP|Kp))(?<!\b(?:Mrs|Plt|dll|dsb|ThS|etc|Jln|Kab|Kec))"
    r"[.!?]+[\"')\u201d]*\s+(?=[^\W\d_])"
)
_LINE = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029\u3002\uff61]")
"""What ends a line or, in other scripts, a sentence: never inside one memory."""
_SPOKEN = frozenset({SourceKind.SELF, SourceKind.TURN})
_RECORDS = frozenset({SourceKind.EVENT, SourceKind.DOCUMENT})
_CLAIMS = frozenset({Reason.LAW_CLAIM, Reason.DOCUMENT_FACT})
_OF_RECORD = frozenset({Reason.NOT_A_STATEMENT, Reason.LAW_CLAIM, Reason.DOCUMENT_FACT, Reason.AUTHORITY_CLAIM})
"""What a system of record or an approved document may say, and a person in a conversation may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """``grounding`` holds what may be stored, ``unfit`` a fault of its shape, ``refused`` what screening found."""

    grounding: Grounding
    unfit: Reason | None = None
    refused: tuple[Reason, ...] = ()


def assess(candidate: Candidate, turns: Mapping[UUID, Turn]) -> Assessment:
    """Ground and screen ``candidate``. ``turns`` are the cited ones by id. A request to forget is grounded only."""
    grounding = ground(candidate, turns)
    if grounding.reason is not None or candidate.operation is Operation.DELETE:
        return Assessment(grounding=grounding)
    grounding = _first_sentence(candidate, grounding)
    if not _one_sentence(grounding.text):
        return Assessment(grounding=grounding, unfit=Reason.NOT_ONE_SENTENCE)
    return Assessment(grounding=grounding, refused=_screened(candidate, grounding))


def _one_sentence(text: str) -> bool:
    return _LINE.search(text.strip()) is None and _INNER_END.search(visible(text).strip()) is None


def _first_sentence(candidate: Candidate, grounding: Grounding) -> Grounding:
    """Of two sentences by the person, the first that is a statement; the quotes stay whole and are screened whole."""
    text = grounding.text.strip()
    ends = [match.end() for match in _INNER_END.finditer(text)]
    if candidate.source not in _SPOKEN or len(ends) != SENTENCES_MAX - 1:
        return grounding
    parts = (text[: ends[0]].strip(), text[ends[0] :].strip())
    kept = next((part for part in parts if is_statement(part)), None)
    return grounding if kept is None else replace(grounding, text=kept, quotes=(*grounding.quotes, text))


def screened(memory: Memory) -> tuple[Reason, ...]:
    """Why a memory's text or its quotes may not be stored, as of this release; empty if they may."""
    quotes = tuple(evidence.quote for evidence in memory.evidence)
    recurring = memory.slot == Slot.INTEREST
    found = _reasons(memory.text, quotes, language=memory.language, recurring=recurring)
    return _without(found, memory.source, memory.type)


def screened_whole(text: str, language: str) -> tuple[Reason, ...]:
    """Why ``text``, which a person states directly, may not be kept, whether or not it could become a memory."""
    return _without(_reasons(text, (), language=language, recurring=False), SourceKind.SELF, MemoryType.FACT)


def by_meaning(candidate: Candidate) -> bool:
    """Whether the meaning of what would be stored of ``candidate`` is looked at: not what systems of record and
    documents say, whose language the look was not fitted on, nor a request to forget.
    """
    return candidate.source not in _RECORDS and candidate.operation is not Operation.DELETE


def _screened(candidate: Candidate, grounding: Grounding) -> tuple[Reason, ...]:
    """Why the text or a quote kept with it may not be stored."""
    quotes, recurring = grounding.quotes, candidate.recurring
    found = _reasons(grounding.text, quotes, language=candidate.language, recurring=recurring)
    return _without(found, candidate.source, candidate.type)


def _reasons(text: str, quotes: Sequence[str], *, language: str, recurring: bool) -> tuple[Reason, ...]:
    """The bare name of a law, or a question about it, claims nothing: where a recurring subject is cited, only the text
    can claim something about the law or a document."""
    if not recurring:
        findings = screen((text, *quotes), language=language)
    else:
        cited = screen(quotes, language=language)
        findings = (*screen((text,), language=language), *(f for f in cited if f.reason not in _CLAIMS))
    return tuple(dict.fromkeys(finding.reason for finding in findings))


def _without(reasons: tuple[Reason, ...], source: SourceKind, kind: MemoryType) -> tuple[Reason, ...]:
    """``reasons`` but for what its source may say, or what a person may tell as a thing that happened."""
    direct = source is SourceKind.SELF or kind is MemoryType.EPISODE  # in chat a passing event is no lasting fact
    allowed = frozenset({Reason.NOT_A_STATEMENT}) if direct else frozenset[Reason]()
    if source in _RECORDS:
        allowed = _OF_RECORD
    return tuple(reason for reason in reasons if reason not in allowed)
