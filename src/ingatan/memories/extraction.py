"""From the turns of one conversation to candidates, by rules. Pure: the same turns give the same candidates.

Only the person's own words are proposed, verbatim, in their language; a policy decides what becomes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

from ingatan.languages import CODES, load
from ingatan.languages.detect import language_of
from ingatan.languages.sentences import TEXT_CHARACTERS_MAX, lowered, split
from ingatan.memories.events import EVENTS_MAX
from ingatan.memories.interests import Interest, phrases, recurring
from ingatan.memories.resemblance import SAID_CHARS_MAX, Judgement, Resemblance, Said
from ingatan.memories.slots import Slot, same_value, single_valued
from ingatan.memories.statement import stated
from ingatan.memories.statements import Statement, pasted, statements
from ingatan.screening import FITTED, SECURITY_REASONS, screen
from ingatan.text import digest
from ingatan.types import Candidate, Evidence, Memory, MemoryStatus, MemoryType, MessageRole, Operation, Turn

IMPORTANCE_EXPLICIT = 0.8  # "remember that ..."
IMPORTANCE_NAME = 0.7
IMPORTANCE_PLAIN = 0.6
IMPORTANCE_REGULATION = 0.5
IMPORTANCE_TOPIC = 0.4  # above S2's threshold of 0.3
IMPORTANCE_EVENT = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionLimits:
    """S1's caps on what one conversation may propose. The defaults are overridden by settings.

    ``new_per_conversation`` is how many proposals are asked of rules, which choose among theirs. A model's reply is
    refused whole when it adds more than ``additions`` or more than there is room for among ``active`` memories.
    ``attempt`` counts from 1; a further one should not ask the same again.
    """

    new_per_conversation: int = 5
    characters_per_memory: int = 300
    additions: int = 3
    active: int = 30
    attempt: int = 1


class Extractor(Protocol):
    """Turns of one conversation in, proposals out; decides nothing and writes nothing."""

    def extract(
        self,
        turns: Sequence[Turn],
        *,
        subject_id: UUID,
        conversation_id: UUID,
        offered: Sequence[Memory],
        recent: Sequence[Turn],
        limits: ExtractionLimits,
    ) -> tuple[Candidate, ...]:
        """Candidates about ``subject_id`` in the order they were said.

        ``turns`` are the new turns since the last sweep in ``seq`` order; ``offered`` what is already remembered;
        ``recent`` the person's own earlier turns within the lookback, in any conversation.
        """
        ...


class RulesExtractor:
    """Deterministic extraction for English, Indonesian and Vietnamese. Precision first.

    With ``resemblance``, what the rules find is dropped where it is doubted, and of a turn in which they find nothing a
    sentence may be nominated; the policy decides on either as on any other candidate.
    """

    def __init__(self, resemblance: Resemblance | None = None) -> None:
        self._resemblance = resemblance

    def extract(
        self,
        turns: Sequence[Turn],
        *,
        subject_id: UUID,
        conversation_id: UUID,
        offered: Sequence[Memory],
        recent: Sequence[Turn],
        limits: ExtractionLimits,
    ) -> tuple[Candidate, ...]:
        """See ``Extractor``. Above ``new_per_conversation`` the most important stay, earlier before later."""
        said = [turn for turn in turns if own(turn, subject_id) and not hostile(turn.text)]
        before = [turn for turn in recent if own(turn, subject_id)]
        found = [
            _candidate(statement, turn, subject_id=subject_id, conversation_id=conversation_id, offered=offered)
            for turn in said
            for statement in statements(turn.text)
        ]
        known = [memory.text for memory in offered if memory.slot == Slot.INTEREST]
        found += [
            _interest(interest, subject_id=subject_id, conversation_id=conversation_id)
            for interest in (recurring(said, before) or phrases(said, before))
            if not any(interest.latest.words.casefold() in text.casefold() for text in known)
        ]
        if self._resemblance is not None:
            found = self._seconded(
                self._resemblance, said, found, subject_id=subject_id, conversation_id=conversation_id
            )
        fitting = [candidate for candidate in found if len(candidate.text) <= limits.characters_per_memory]
        return _chosen(_latest(fitting), limits.new_per_conversation)

    @staticmethod
    def _seconded(
        resemblance: Resemblance,
        turns: Sequence[Turn],
        found: Sequence[Candidate],
        *,
        subject_id: UUID,
        conversation_id: UUID,
    ) -> list[Candidate]:
        """``found`` without what is doubted, in order, and what is nominated of turns in which nothing was found."""
        by_id = {turn.id: turn for turn in turns}
        lasting = [candidate for candidate in found if candidate.type is not MemoryType.EPISODE]
        doubtful = [each for each in lasting if not each.recurring and each.operation is not Operation.DELETE]
        cited = {evidence.message_id for candidate in lasting for evidence in candidate.evidence}
        silent = [
            (turn, sentence) for turn in turns if turn.id not in cited if (sentence := _stated_sentence(turn.text))
        ]
        said = [_said(by_id[each.evidence[0].message_id].text, each) for each in doubtful]
        judged = resemblance.judge([*said, *(Said(turn.text, language_of(sentence)) for turn, sentence in silent)])
        verdicts = {id(candidate): verdict for candidate, verdict in zip(doubtful, judged, strict=False)}
        kept = [_retyped(each, verdicts.get(id(each))) for each in found if not _doubted(verdicts.get(id(each)))]
        for (turn, sentence), verdict in zip(silent, judged[len(doubtful) :], strict=True):
            if verdict.nominated:
                statement = Statement(
                    text=sentence, type=verdict.type, slot=None, explicit=False, language=language_of(sentence)
                )
                kept.append(
                    _candidate(statement, turn, subject_id=subject_id, conversation_id=conversation_id, offered=())
                )
        return kept


def _doubted(verdict: Judgement | None) -> bool:
    return verdict is not None and verdict.doubted


def _retyped(candidate: Candidate, verdict: Judgement | None) -> Candidate:
    """``candidate`` with the type that the models are sure of; a slot belongs to the rule's type and goes with it."""
    if verdict is None or not verdict.sure_of_type or verdict.type is candidate.type or candidate.slot is not None:
        return candidate
    return replace(candidate, type=verdict.type)


def _said(turn: str, candidate: Candidate) -> Said:
    """What is judged of a candidate: a short turn whole, for its context; beside a question the quote alone."""
    quote = candidate.evidence[0].quote
    whole = len(turn) <= SAID_CHARS_MAX and "?" not in turn
    return Said(turn if whole else quote, candidate.language)


def _stated_sentence(turn: str) -> str | None:
    """The first sentence of a short turn without questions that states something about the person, or None."""
    if len(turn) > SAID_CHARS_MAX or "?" in turn or pasted(turn) or _laughing(turn):
        return None
    events = [each.text for each in statements(turn) if each.type is MemoryType.EPISODE]
    for sentence in split(turn):
        text = sentence.text.rstrip(" .!\u2026")
        if any(event in text for event in events):
            continue
        if text and stated(turn, text):
            return text
    return None


def _laughing(turn: str) -> bool:
    """Whether a turn shows laughter: what no rule reads in it is not nominated either."""
    view = lowered(turn)
    return any(load(code).search("laughter", view) is not None for code in CODES)


def hostile(text: str) -> bool:
    """Whether a message, read whole, gives orders, rights or authority: then nothing in it is proposed.

    By the lists alone: the classifier judges sentences that would be stored, and knows little of other talk.
    """
    findings = screen((text[:TEXT_CHARACTERS_MAX],), language="")
    return any(finding.reason in SECURITY_REASONS and finding.detector not in FITTED for finding in findings)


def never_again(turns: Sequence[Turn], *, subject_id: UUID, conversation_id: UUID) -> list[Candidate]:
    """What is never to be remembered again, as the rules read it: honoured whoever extracts the rest."""
    return [
        _candidate(statement, turn, subject_id=subject_id, conversation_id=conversation_id, offered=())
        for turn in turns
        for statement in statements(turn.text)
        if statement.never_again
    ]


def own(turn: Turn, subject_id: UUID) -> bool:
    """Whether ``subject_id`` said this turn."""
    return turn.role is MessageRole.USER and turn.author_id == subject_id


def _candidate(
    statement: Statement, turn: Turn, *, subject_id: UUID, conversation_id: UUID, offered: Sequence[Memory]
) -> Candidate:
    operation, target = statement.operation, None
    if operation is Operation.ADD and statement.slot is not None and single_valued(statement.slot):
        for memory in offered:
            differs = memory.slot == statement.slot and not same_value(statement.slot, memory.text, statement.text)
            if differs and memory.status is MemoryStatus.ACTIVE:
                operation, target = Operation.UPDATE, memory.id
                break
    return Candidate(
        operation=operation,
        type=statement.type,
        text=statement.text,
        slot=statement.slot,
        subject_id=subject_id,
        importance=_importance(statement),
        language=statement.language,
        conversation_id=conversation_id,
        evidence=(Evidence(message_id=turn.id, quote=statement.said or statement.text),),
        explicit=statement.explicit,
        never_again=statement.never_again,
        target_id=target,
        effective_at=turn.said_at,
    )


def _importance(statement: Statement) -> float:
    if statement.type is MemoryType.EPISODE:
        return IMPORTANCE_EVENT
    if statement.explicit:
        return IMPORTANCE_EXPLICIT
    return IMPORTANCE_NAME if statement.slot == Slot.NAME else IMPORTANCE_PLAIN


def _interest(interest: Interest, *, subject_id: UUID, conversation_id: UUID) -> Candidate:
    return Candidate(
        type=MemoryType.FACT,
        text=interest.text,
        slot=Slot.INTEREST,
        subject_id=subject_id,
        importance=IMPORTANCE_REGULATION if interest.regulation else IMPORTANCE_TOPIC,
        language=interest.language,
        conversation_id=conversation_id,
        evidence=tuple(
            Evidence(message_id=mention.turn.id, quote=mention.words) for mention in (interest.first, interest.latest)
        ),
        recurring=True,
        effective_at=interest.latest.turn.said_at,
    )


def _latest(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Said twice, the later stands; so does the later of two wishes for one way of answering."""
    kept: dict[object, Candidate] = {}
    for candidate in candidates:
        wish = candidate.type is MemoryType.PREFERENCE and single_valued(candidate.slot)
        key = (candidate.operation is Operation.DELETE, candidate.slot if wish else digest(candidate.text))
        kept.pop(key, None)
        kept[key] = candidate
    return list(kept.values())


def _chosen(candidates: Sequence[Candidate], limit: int) -> tuple[Candidate, ...]:
    """All deletes, the latest EVENTS_MAX events, and the ``limit`` most important of the others, in the order given."""
    adding = [candidate for candidate in candidates if candidate.operation is not Operation.DELETE]
    events = [candidate for candidate in adding if candidate.type is MemoryType.EPISODE][-EVENTS_MAX:]
    others = [candidate for candidate in adding if candidate.type is not MemoryType.EPISODE]
    others = sorted(others, key=lambda each: -each.importance)[: max(limit, 0)]
    chosen = {id(candidate) for candidate in (*events, *others)}
    return tuple(each for each in candidates if each.operation is Operation.DELETE or id(each) in chosen)
