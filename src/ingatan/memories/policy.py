"""The policy service: may this candidate be remembered? Deterministic and pure over its inputs (CONTRACT §4).

The checks run in the order of ``Reason``; the first that fails decides. A model's proposal carries no authority: what
counts is the person's own words, cited. Nothing is merged or dropped because it merely looks alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from uuid import UUID

from ingatan.memories import slots
from ingatan.memories.decision_context import Mode, PolicyContext
from ingatan.memories.grounding import Grounding, ground
from ingatan.memories.plausibility import plausible
from ingatan.memories.statement import is_statement
from ingatan.memories.statements import statements
from ingatan.memories.support import content, stem
from ingatan.memories.wording import pattern, single
from ingatan.screening import screen
from ingatan.text import clean, digest, fold, visible
from ingatan.types import (
    AUTHORITY,
    Candidate,
    Consent,
    Decision,
    Memory,
    MemoryType,
    Operation,
    Outcome,
    Reason,
    SourceKind,
)

POLICY_VERSION = "assistant-2"
FORGET_OVERLAP_MIN = 0.6
"""The share of the words to forget that a memory must hold to be meant, when it is the only one that holds so many."""
SENTENCES_MAX = 2
"""Of so many sentences one is kept; more are refused, because what is remembered is one sentence (S1)."""
_NO_TURN = UUID(int=0)
_CLOCK_SKEW_MAX = timedelta(days=1)
_INNER_END = re.compile(
    r"(?<!\b[A-Za-z])(?<!\b(?:Mr|Dr|No|Jl|St|Ir|vs|Tn|Ny|Tp|TP|Kp))(?<!\b(?:Mrs|Plt|dll|dsb|ThS|etc|Jln|Kab|Kec))"
    r"[.!?]+[\"')\u201d]*\s+(?=[^\W\d_])"
)
_LINE = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029\u3002\uff61]")
"""What ends a line or, in other scripts, a sentence: never inside one memory."""
_REMEMBERED = frozenset({MemoryType.PREFERENCE, MemoryType.FACT})
_SPOKEN = frozenset({SourceKind.SELF, SourceKind.TURN})
_CLAIMS = frozenset({Reason.LAW_CLAIM, Reason.DOCUMENT_FACT})
_SIGNED = frozenset({SourceKind.SETTINGS, SourceKind.EVENT, SourceKind.APPROVAL})


def decide(candidate: Candidate, *, context: PolicyContext) -> Decision:
    """Decide one candidate over fresh state. Accepted, ``text`` is what may be stored; otherwise it is empty.

    A refusal carries reasons only. ``closes`` and ``reinforces`` name active memories of the same person.
    """
    decision = _decide(candidate, context)
    if context.mode is Mode.DRY and decision.outcome is Outcome.ACCEPT:
        return Decision(outcome=Outcome.REJECT, reasons=(*decision.reasons, Reason.DRY_RUN))
    return decision


def _reject(*reasons: Reason) -> Decision:
    return Decision(outcome=Outcome.REJECT, reasons=reasons)


def _decide(candidate: Candidate, context: PolicyContext) -> Decision:
    reason = _schema(candidate, context) or _authority(candidate, context) or _consent(candidate, context)
    if reason is not None:
        return _reject(reason)
    grounding = ground(candidate, context)
    if grounding.reason is not None:
        return _reject(grounding.reason)
    if candidate.operation is Operation.DELETE:
        return _delete(candidate, context)
    if _said_before_erasure(candidate, context):
        return _reject(Reason.ERASED)
    grounding = _first_sentence(candidate, grounding)
    if reason := _size(grounding.text, context):
        return _reject(reason)
    if refused := _screened(candidate, grounding):
        return _reject(*refused)
    if candidate.importance < context.limits.min_importance:
        return _reject(Reason.LOW_IMPORTANCE)
    candidate = _as_stored(candidate, grounding)
    decision = _same(candidate, grounding, context) or _new(candidate, grounding, context)
    return replace(decision, slot=candidate.slot)


def screened(memory: Memory) -> tuple[Reason, ...]:
    """Why a memory's text or its quotes may not be stored, as of this release; empty if they may."""
    quotes = tuple(evidence.quote for evidence in memory.evidence)
    return _reasons(memory.text, quotes, language=memory.language, recurring=memory.slot == slots.Slot.INTEREST)


def _screened(candidate: Candidate, grounding: Grounding) -> tuple[Reason, ...]:
    """Why the text or a quote kept with it may not be stored."""
    return _reasons(grounding.text, grounding.quotes, language=candidate.language, recurring=candidate.recurring)


def _reasons(text: str, quotes: Sequence[str], *, language: str, recurring: bool) -> tuple[Reason, ...]:
    """The bare name of a law, or a question about it, claims nothing: where a recurring subject is cited, only the text
    can claim something about the law or a document."""
    if not recurring:
        findings = screen((text, *quotes), language=language)
    else:
        cited = screen(quotes, language=language)
        findings = (*screen((text,), language=language), *(f for f in cited if f.reason not in _CLAIMS))
    return tuple(dict.fromkeys(finding.reason for finding in findings))


def _as_stored(candidate: Candidate, grounding: Grounding) -> Candidate:
    """``candidate`` with the slot of the words that would be stored, where those are not the proposed ones."""
    slot = candidate.slot
    if grounding.text != candidate.text:
        slot = next((found.slot for found in statements(grounding.text) if found.type is candidate.type), None)
    return replace(candidate, slot=slot if slot is None or plausible(slot, grounding.text) else None)


def _schema(candidate: Candidate, context: PolicyContext) -> Reason | None:
    text, limits = candidate.text, context.limits
    if candidate.type not in _REMEMBERED or not math.isfinite(candidate.importance):
        return Reason.SCHEMA
    if clean(text) != text or not visible(text).strip() or not 0 <= candidate.importance <= 1:
        return Reason.SCHEMA
    if candidate.effective_at.tzinfo is None or candidate.effective_at > context.now + _CLOCK_SKEW_MAX:
        return Reason.SCHEMA
    if candidate.expires_at is not None and (
        candidate.expires_at.tzinfo is None or candidate.expires_at <= context.now
    ):
        return Reason.SCHEMA
    if candidate.operation is Operation.UPDATE and candidate.target_id is None:
        return Reason.SCHEMA
    return Reason.TOO_LONG if len(text) > limits.max_chars else None


def _size(text: str, context: PolicyContext) -> Reason | None:
    if len(text) > context.limits.max_chars:
        return Reason.TOO_LONG
    seen = visible(text).strip()
    return Reason.NOT_ONE_SENTENCE if _LINE.search(text.strip()) or _INNER_END.search(seen) else None


def _first_sentence(candidate: Candidate, grounding: Grounding) -> Grounding:
    """Of two sentences by the person, the first that is a statement; the quotes stay whole and are screened whole."""
    text = grounding.text.strip()
    ends = [match.end() for match in _INNER_END.finditer(text)]
    if candidate.source not in _SPOKEN or len(ends) != SENTENCES_MAX - 1:
        return grounding
    parts = (text[: ends[0]].strip(), text[ends[0] :].strip())
    kept = next((part for part in parts if is_statement(part)), None)
    return grounding if kept is None else replace(grounding, text=kept, quotes=(*grounding.quotes, text))


def _authority(candidate: Candidate, context: PolicyContext) -> Reason | None:
    own = context.writer.subject_id == candidate.subject_id
    if candidate.source in _SIGNED:
        allowed = context.writer.is_service
    elif candidate.source is SourceKind.SELF:
        allowed = own and not context.writer.is_service
    else:
        allowed = own or context.writer.is_service
    return None if allowed else Reason.NO_AUTHORITY


def _consent(candidate: Candidate, context: PolicyContext) -> Reason | None:
    if candidate.operation is Operation.DELETE:
        return None
    if context.consent is Consent.WITHDRAWN:
        return Reason.NO_CONSENT
    if context.off_record:
        return Reason.OFF_RECORD
    return Reason.NEVER_AGAIN if context.suppressed else None


def _said_before_erasure(candidate: Candidate, context: PolicyContext) -> bool:
    """Whether this was erased after it was said; said anew, it may be learned again."""
    cited = [context.turns[item.message_id] for item in candidate.evidence if item.message_id in context.turns]
    return context.erased_at is not None and any(turn.received_at <= context.erased_at for turn in cited)


def _own(memories: tuple[Memory, ...] | list[Memory], candidate: Candidate) -> list[Memory]:
    return [memory for memory in memories if memory.subject_id == candidate.subject_id]


def _same(candidate: Candidate, grounding: Grounding, context: PolicyContext) -> Decision | None:
    """The decision for a statement already known: an active one is reinforced, an expired one renewed.

    A correction never touches another memory: one that would say the same as another is refused.
    """
    key = digest(grounding.text)
    correcting = candidate.operation is Operation.UPDATE and candidate.source is SourceKind.SELF
    for memory in _own(list(context.active), candidate):
        if memory.id == candidate.target_id and (correcting or digest(memory.text) != key):
            continue
        if digest(memory.text) == key or (not correcting and _same_value(candidate, grounding.text, memory)):
            if correcting:
                return _reject(Reason.DUPLICATE)
            return _again(candidate, memory, Reason.DUPLICATE, context)
    for memory in _own(list(context.expired), candidate):
        if digest(memory.text) == key:
            if correcting:
                return _reject(Reason.DUPLICATE)
            if len(_own(list(context.active), candidate)) >= context.limits.max_active:
                return _reject(Reason.CAP_ACTIVE)
            return _again(candidate, memory, Reason.RENEWED, context)
    return None


def _again(candidate: Candidate, memory: Memory, reason: Reason, context: PolicyContext) -> Decision:
    """Said again, ``memory`` is confirmed; what contradicts it and is weaker or older is closed by that."""
    rivals = [other for other in _rivals(candidate, context) if other.id != memory.id]
    closes = tuple(other.id for other in rivals if _standing(candidate, other) is Standing.REPLACES)
    reasons = (reason, Reason.SUPERSEDES) if closes else (reason,)
    return Decision(outcome=Outcome.ACCEPT, reasons=reasons, text=memory.text, closes=closes, reinforces=memory.id)


class Standing(Enum):
    """How a new statement stands to one that it contradicts."""

    REPLACES = "replaces"
    CONFLICTS = "conflicts"
    OUTDATED = "outdated"


def _standing(candidate: Candidate, memory: Memory) -> Standing:
    """By authority, then by date: what neither settles is a conflict, and both stay until the person settles it."""
    age = _newness(candidate, memory)
    if age < 0:
        return Standing.OUTDATED
    weaker = AUTHORITY[candidate.source] < AUTHORITY[memory.source]
    return Standing.CONFLICTS if weaker or age == 0 else Standing.REPLACES


def _newness(candidate: Candidate, memory: Memory) -> int:
    """1 if the candidate was said after the memory, -1 before it, 0 if that cannot be told. Told directly: now."""
    if candidate.source is not SourceKind.TURN:
        return 1
    said = (candidate.effective_at, max((item.message_id for item in candidate.evidence), default=_NO_TURN))
    known = (memory.effective_at, max((item.message_id for item in memory.evidence), default=_NO_TURN))
    if said[0] == known[0] and _NO_TURN in (said[1], known[1]):
        return 0
    return (said > known) - (said < known)


def _rivals(candidate: Candidate, context: PolicyContext) -> list[Memory]:
    """The person's active memories that fill the candidate's slot, if that holds one value at a time."""
    if candidate.slot is None or not slots.single_valued(candidate.slot):
        return []
    return [memory for memory in _own(list(context.active), candidate) if memory.slot == candidate.slot]


def _same_value(candidate: Candidate, text: str, memory: Memory) -> bool:
    if candidate.slot is None or candidate.slot != memory.slot or not slots.single_valued(candidate.slot):
        return False
    return slots.same_value(candidate.slot, text, memory.text)


def _new(candidate: Candidate, grounding: Grounding, context: PolicyContext) -> Decision:
    """The decision for a new statement: it supersedes what it replaces, conflicts with it, or stands beside it."""
    active = _own(list(context.active), candidate)
    rivals = _rivals(candidate, context)
    if candidate.operation is Operation.UPDATE:
        target = next((memory for memory in active if memory.id == candidate.target_id), None)
        if target is None:
            return _reject(Reason.NOTHING_TO_CLOSE)
        if target not in rivals and _replaces(candidate):
            rivals.append(target)
    standings = [_standing(candidate, memory) for memory in rivals]
    if Standing.OUTDATED in standings:
        return _reject(Reason.CONTRADICTION)
    reason = Reason.CONFLICT if Standing.CONFLICTS in standings else Reason.SUPERSEDES if rivals else Reason.ACCEPTED
    closes = tuple(
        memory.id for memory, standing in zip(rivals, standings, strict=True) if standing is Standing.REPLACES
    )
    if closes:
        return Decision(outcome=Outcome.ACCEPT, reasons=(reason,), text=grounding.text, closes=closes)
    return _capped(candidate, reason, grounding.text, context)


def _replaces(candidate: Candidate) -> bool:
    """Whether the person replaces the memory they name, directly. In a conversation only a single-valued attribute is
    replaced (CONTRACT §4): what merely shares a word with another stands beside it."""
    return candidate.source is not SourceKind.TURN


def _capped(candidate: Candidate, reason: Reason, text: str, context: PolicyContext) -> Decision:
    if context.written_in_conversation >= context.limits.max_new:
        return _reject(Reason.CAP_NEW)
    if len(_own(list(context.active), candidate)) >= context.limits.max_active:
        return _reject(Reason.CAP_ACTIVE)
    return Decision(outcome=Outcome.ACCEPT, reasons=(reason,), text=text)


def _delete(candidate: Candidate, context: PolicyContext) -> Decision:
    """Close what the person asked to forget; the text stays until it is erased."""
    active = _own(list(context.active), candidate)
    named = _named(candidate, active)
    if candidate.target_id is not None:
        target = [memory for memory in active if memory.id == candidate.target_id]
        spoken = candidate.source is SourceKind.TURN
        named = [memory for memory in target if not spoken or memory in named or _mostly(candidate, memory)]
    if not named and candidate.never_again:
        return Decision(outcome=Outcome.ACCEPT, reasons=(Reason.SUPPRESSED,))
    if not named:
        return _reject(Reason.NOTHING_TO_CLOSE)
    return Decision(outcome=Outcome.ACCEPT, reasons=(Reason.CLOSED,), closes=tuple(memory.id for memory in named))


def _named(candidate: Candidate, active: list[Memory]) -> list[Memory]:
    """The memories the words to forget name: all that hold every word, else the only one that holds most of them."""
    if candidate.slot is not None and (whole := [memory for memory in active if memory.slot == candidate.slot]):
        return whole  # the words name an attribute as a whole
    wanted = _wanted(candidate)
    if not wanted:
        return active if concerns_everything(candidate) else []
    shares = [(len(wanted & set(content(memory.text))) / len(wanted), memory) for memory in active]
    whole = [memory for share, memory in shares if share == 1]
    if whole:
        return whole
    most = [memory for share, memory in shares if share >= FORGET_OVERLAP_MIN]
    return most if len(most) == 1 else []


def concerns_everything(candidate: Candidate) -> bool:
    """Whether a request to forget names nothing in particular, but everything."""
    said = " ".join((candidate.text, *(evidence.quote for evidence in candidate.evidence)))
    return not _wanted(candidate) and pattern("everything").search(fold(said)) is not None


def _wanted(candidate: Candidate) -> set[str]:
    """The words to forget, without those that only ask for it."""
    return set(content(candidate.text)) - {stem(word) for word in single("forget") | single("everything")}


def _mostly(candidate: Candidate, memory: Memory) -> bool:
    """Whether ``memory`` holds most of the words to forget: enough where the proposal names it too."""
    wanted = _wanted(candidate)
    return bool(wanted) and len(wanted & set(content(memory.text))) / len(wanted) >= FORGET_OVERLAP_MIN
