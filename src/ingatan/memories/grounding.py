"""Whether a candidate's words are the person's own: grounding by source kind (CONTRACT §4). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from ingatan.memories.events import claims
from ingatan.memories.interests import TURNS_MIN, named_topic, regulated
from ingatan.memories.statement import is_statement, stated
from ingatan.memories.statements import statements
from ingatan.memories.support import licensed, recurring
from ingatan.memories.unsaid import speaks_of_oneself
from ingatan.memories.wishes import is_wish
from ingatan.text import visible
from ingatan.types import Candidate, MemoryType, MessageRole, Operation, Reason, Scope, SourceKind, Turn

_NAME = re.compile(r"[^\W\d_a-z][^\W\d_A-Z]+(?: [^\W\d_a-z][^\W\d_A-Z]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounding:
    """``text`` is what may be stored; ``quotes`` are kept with it; ``reason`` says why not, if not."""

    text: str = ""
    quotes: tuple[str, ...] = ()
    reason: Reason | None = None


def ground(candidate: Candidate, turns: Mapping[UUID, Turn]) -> Grounding:
    """The text the source supports, or the reason it supports none.

    A turn must hold every quote verbatim, by the subject, as a statement. A text the quote does not
    license is replaced by the quote, the person's own clause. Stated directly, a text is its own quote.
    Signed sources speak for themselves.
    """
    if candidate.source is SourceKind.TURN:
        return _from_turns(candidate, turns)
    quotes = tuple(evidence.quote for evidence in candidate.evidence)
    if candidate.source is SourceKind.SELF and candidate.operation is not Operation.DELETE:
        about_oneself = candidate.scope is Scope.USER and candidate.type is not MemoryType.EPISODE
        claimed = claims(candidate.text, happened=candidate.type is not MemoryType.EPISODE)
        if (about_oneself and not _told(candidate.text)) or claimed or _asks(candidate.text):
            return Grounding(reason=Reason.NOT_A_STATEMENT)
    return Grounding(text=candidate.text, quotes=quotes or (candidate.text,))


def _from_turns(candidate: Candidate, turns: Mapping[UUID, Turn]) -> Grounding:
    if not candidate.evidence:
        return Grounding(reason=Reason.NO_EVIDENCE)
    for evidence in candidate.evidence:
        turn = turns.get(evidence.message_id)
        if turn is None or not visible(evidence.quote).strip() or evidence.quote not in turn.text:
            return Grounding(reason=Reason.NO_EVIDENCE)
        if turn.role is not MessageRole.USER or turn.author_id != (candidate.said_by or candidate.subject_id):
            return Grounding(reason=Reason.NOT_STATED_BY_SUBJECT)
    quotes = tuple(evidence.quote for evidence in candidate.evidence)
    if candidate.recurring:
        cited = {evidence.message_id for evidence in candidate.evidence}
        if len(cited) < TURNS_MIN:
            return Grounding(reason=Reason.NO_EVIDENCE)
        if not recurring(candidate.text, list(quotes)):
            return Grounding(reason=Reason.NOT_LICENSED)
        if _a_name(candidate.text, quotes):
            return Grounding(reason=Reason.OTHER_PERSON)
        return Grounding(text=candidate.text, quotes=quotes)
    if candidate.operation is Operation.DELETE:
        asked = any(_closes(turns[evidence.message_id].text, evidence.quote) for evidence in candidate.evidence)
        return Grounding(text=candidate.text, quotes=quotes, reason=None if asked else Reason.NOT_LICENSED)
    if candidate.type is MemoryType.EPISODE:
        return _event(candidate, turns, quotes)
    return _lasting(candidate, turns, quotes)


def _lasting(candidate: Candidate, turns: Mapping[UUID, Turn], quotes: tuple[str, ...]) -> Grounding:
    """The text if a quote licenses it, else the first quote, where the turns state what is quoted."""
    if not all(_said(turns[evidence.message_id].text, evidence.quote) for evidence in candidate.evidence):
        return Grounding(reason=Reason.NOT_A_STATEMENT)
    if any(licensed(candidate.text, quote, language=candidate.language) for quote in quotes):
        return Grounding(text=candidate.text, quotes=quotes)
    return Grounding(text=quotes[0].strip(), quotes=quotes)


def _event(candidate: Candidate, turns: Mapping[UUID, Turn], quotes: tuple[str, ...]) -> Grounding:
    """The one clause in which the rules read an event where the quotes stand, whoever proposed it.

    What the proposer made of it is not stored: half a clause can tell another event.
    """
    told: set[str | None] = set()
    for evidence in candidate.evidence:
        events = [each.text for each in statements(turns[evidence.message_id].text) if each.type is MemoryType.EPISODE]
        told.add(next((each for each in events if each in evidence.quote or evidence.quote in each), None))
    text = told.pop()
    if text is None or told:
        return Grounding(reason=Reason.NOT_A_STATEMENT)
    return Grounding(text=text, quotes=quotes)


def _said(turn: str, quote: str) -> bool:
    """Whether ``turn`` states ``quote``: a clause that the rules read in it, or a statement by the closed lists.

    What stands within a request to forget, or a denial, is not stated by it.
    """
    found = statements(turn)
    if any(quote in each.text or each.text in quote for each in found if each.type is MemoryType.EPISODE):
        return False  # what was told as an event is nothing lasting
    if claims(quote, happened=True):
        return False  # nor is what would be one, but for what somebody is said to have allowed
    if any(each.text == quote for each in found if each.operation is not Operation.DELETE):
        return True
    if any(quote in (each.said or each.text) for each in found if each.operation is Operation.DELETE):
        return False
    return stated(turn, quote)


def _told(text: str) -> bool:
    """Whether a person who proposes ``text`` says something of themself by it, or how they wish to be answered."""
    if is_statement(text) or is_wish(text) or speaks_of_oneself(text):
        return True
    return any(found.operation is not Operation.DELETE for found in statements(text))


def _asks(text: str) -> bool:
    """Whether ``text`` is a question or a request to forget, which is no memory."""
    asked = text.rstrip().endswith("?") and not is_wish(text)
    return asked or any(found.operation is Operation.DELETE for found in statements(text))


def _closes(turn: str, quote: str) -> bool:
    """Whether the rules read in ``turn``, where ``quote`` stands, that something is to be forgotten or holds no longer.

    A word like "forget" alone asks for nothing: "don't forget that ..." does the opposite.
    """
    closing = [found.said or found.text for found in statements(turn) if found.operation is Operation.DELETE]
    return any(quote in said or said in quote for said in closing)


def _a_name(text: str, quotes: tuple[str, ...]) -> bool:
    """Whether the recurring subject is only a name of one or two words, as of a person; acronyms are none."""
    if regulated(text) or named_topic(text):
        return False
    return all(_NAME.fullmatch(quote.strip()) is not None for quote in quotes)
