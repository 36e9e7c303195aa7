"""The policy service: may this candidate be remembered? Deterministic and pure over its inputs (CONTRACT §4).

The checks run in the order of ``Reason``; the first that fails decides. A model's proposal carries no authority: what
counts is the person's own words, cited. Nothing is merged or dropped because it merely looks alike.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from uuid import UUID

from ingatan.memories import permission, slots
from ingatan.memories.assessment import Assessment, assess
from ingatan.memories.decision_context import Mode, PolicyContext
from ingatan.memories.events import same_event
from ingatan.memories.grounding import Grounding
from ingatan.memories.plausibility import plausible
from ingatan.memories.statements import statements
from ingatan.memories.support import content, stem
from ingatan.memories.trust import carried
from ingatan.memories.wording import pattern, single
from ingatan.text import clean, digest, fold, visible
from ingatan.types import (
    AUTHORITY,
    CAPPED,
    Candidate,
    Consent,
    Decision,
    Memory,
    MemoryType,
    Operation,
    Outcome,
    Reason,
    SourceKind,
    Trust,
)

RULES_VERSION = 7
"""Grows with every change of what the same candidate and state lead to; part of each decision's policy version."""
FORGET_OVERLAP_MIN = 0.6
"""The share of the words to forget that a memory must hold to be meant, when it is the only one that holds so many."""
_NO_TURN = UUID(int=0)
_CLOCK_SKEW_MAX = timedelta(days=1)


def decide(candidate: Candidate, *, context: PolicyContext, assessment: Assessment | None = None) -> Decision:
    """Decide one candidate over fresh state. Accepted, ``text`` is what may be stored; otherwise it is empty.

    A refusal carries reasons only. ``closes`` and ``reinforces`` name active memories of the same person.
    ``assessment`` is what ``assess`` said of the same candidate and turns, where that is known already.
    """
    decision = _decide(candidate, context, assessment)
    tried_out = context.mode is Mode.DRY and candidate.operation is not Operation.DELETE  # a wish to forget is no trial
    if tried_out and decision.outcome is not Outcome.REJECT:
        reasons = (*decision.reasons, Reason.DRY_RUN)
        return replace(
            decision, outcome=Outcome.REJECT, reasons=reasons, own=decision.outcome, closes=(), reinforces=None
        )
    return decision


def _reject(*reasons: Reason) -> Decision:
    return Decision(outcome=Outcome.REJECT, reasons=reasons)


def _decide(candidate: Candidate, context: PolicyContext, assessment: Assessment | None) -> Decision:
    reason = (
        _schema(candidate, context)
        or permission.refused(candidate, context)
        or _consent(candidate, context)
        or (Reason.RATE_LIMITED if context.rate_limited else None)
    )
    if reason is not None:
        return _reject(reason)
    assessed = assessment or assess(candidate, context.turns)
    grounding = assessed.grounding
    if grounding.reason is not None:
        return _reject(grounding.reason)
    if candidate.operation is Operation.DELETE:
        return _delete(candidate, context)
    if _said_before_erasure(candidate, context):
        return _reject(Reason.ERASED)
    if len(grounding.text) > context.limits.max_chars:
        return _reject(Reason.TOO_LONG)
    if assessed.unfit is not None:
        return _reject(assessed.unfit)
    if assessed.refused:
        return permission.set_aside(grounding.text, assessed.refused, context)
    if candidate.importance < context.limits.min_importance:
        return _reject(Reason.LOW_IMPORTANCE)
    trust = carried(candidate, approved=context.approved, lineage=context.lineage)
    ends = context.document.expires_at(candidate, trust)
    if ends is not None and ends <= context.now:
        return _reject(Reason.PAST_RETENTION)  # it would be stored as expired and never be seen
    candidate = _as_stored(candidate, grounding)
    decision = _same(candidate, grounding, context) or _new(candidate, grounding, context)
    return replace(permission.routed(candidate, decision, context), slot=candidate.slot)


def _as_stored(candidate: Candidate, grounding: Grounding) -> Candidate:
    """``candidate`` with the slot of the words that would be stored, where those are not the proposed ones."""
    slot = candidate.slot
    if grounding.text != candidate.text:
        slot = next((found.slot for found in statements(grounding.text) if found.type is candidate.type), None)
    return replace(candidate, slot=slot if slot is None or plausible(slot, grounding.text) else None)


def _schema(candidate: Candidate, context: PolicyContext) -> Reason | None:
    text, limits = candidate.text, context.limits
    if not math.isfinite(candidate.importance) or not math.isfinite(candidate.confidence or 0):
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
    """The decision for a statement already known: an active one is reinforced, an expired one renewed as its type.

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
            if _verifies(candidate, memory, context):
                return _verified(candidate, memory, grounding.text, context)
            return _again(candidate, memory, Reason.DUPLICATE, context)
    for memory in _own(list(context.expired), candidate):
        if digest(memory.text) == key or (not correcting and _same_event(candidate, grounding.text, memory)):
            if correcting:
                return _reject(Reason.DUPLICATE)
            if _verifies(candidate, memory, context) or memory.type not in context.document.types:
                return _verified(candidate, memory, grounding.text, context)
            if _full(candidate, context):
                return _reject(Reason.CAP_ACTIVE)
            return _again(candidate, memory, Reason.RENEWED, context)
    return None


def _verifies(candidate: Candidate, memory: Memory, context: PolicyContext) -> bool:
    """Whether ``memory`` says the same, unverified, and ``candidate`` does not: then it is no reason to say nothing."""
    trust = carried(candidate, approved=context.approved, lineage=context.lineage)
    return memory.trust is Trust.UNVERIFIED and trust is not Trust.UNVERIFIED


def _verified(candidate: Candidate, memory: Memory, text: str, context: PolicyContext) -> Decision:
    """The decision for what takes the place of ``memory``, which says the same unproven or as a type gone since."""
    decision = _capped(candidate, Reason.SUPERSEDES, text, context)
    return replace(decision, closes=(memory.id,)) if decision.outcome is Outcome.ACCEPT else decision


def _again(candidate: Candidate, memory: Memory, reason: Reason, context: PolicyContext) -> Decision:
    """Said again, ``memory`` is confirmed; what contradicts it and is weaker or older is closed by that."""
    rivals = [other for other in _rivals(candidate, context) if other.id != memory.id]
    closes = tuple(other.id for other in rivals if _standing(candidate, other, context) is Standing.REPLACES)
    reasons = (reason, Reason.SUPERSEDES) if closes else (reason,)
    return Decision(outcome=Outcome.ACCEPT, reasons=reasons, text=memory.text, closes=closes, reinforces=memory.id)


class Standing(Enum):
    """How a new statement stands to one that it contradicts."""

    REPLACES = "replaces"
    CONFLICTS = "conflicts"
    OUTDATED = "outdated"


def _standing(candidate: Candidate, memory: Memory, context: PolicyContext) -> Standing:
    """By authority, then by date: what neither settles is a conflict, and both stay until the person settles it."""
    age = _newness(candidate, memory, waited=context.approved)
    if age < 0:
        return Standing.OUTDATED
    weaker = AUTHORITY[candidate.source] < AUTHORITY[memory.source]
    return Standing.CONFLICTS if weaker or age == 0 else Standing.REPLACES


def _newness(candidate: Candidate, memory: Memory, *, waited: bool) -> int:
    """1 if the candidate was said after the memory, -1 before it, 0 if that cannot be told.

    Told directly: now, unless it waited for a reviewer meanwhile.
    """
    if candidate.source is not SourceKind.TURN:
        return -1 if waited and candidate.effective_at < memory.effective_at else 1
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


def _same_event(candidate: Candidate, text: str, memory: Memory) -> bool:
    """Whether what was told is told again, in another order of words."""
    return candidate.type is memory.type is MemoryType.EPISODE and same_event(text, memory.text)


def _same_value(candidate: Candidate, text: str, memory: Memory) -> bool:
    if _same_event(candidate, text, memory):
        return True
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
    standings = [_standing(candidate, memory, context) for memory in rivals]
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
    if candidate.type in CAPPED and context.written_in_conversation >= context.limits.max_new:
        return _reject(Reason.CAP_NEW)
    if _full(candidate, context):
        return _reject(Reason.CAP_ACTIVE)
    return Decision(outcome=Outcome.ACCEPT, reasons=(reason,), text=text)


def _full(candidate: Candidate, context: PolicyContext) -> bool:
    """Whether there is no room for one more: by S1's cap, or by the policy's for this type."""
    own = _own(list(context.active), candidate)
    most = context.document.types[candidate.type].active_max
    if most is not None and sum(memory.type is candidate.type for memory in own) >= most:
        return True
    capped = sum(memory.type in CAPPED for memory in own)
    return candidate.type in CAPPED and capped >= context.limits.max_active


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
