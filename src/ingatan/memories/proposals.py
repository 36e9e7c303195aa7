"""Proposals: the candidates that people make directly, by stating or correcting something about themselves. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from ingatan.languages.detect import language_of
from ingatan.memories.statements import statements
from ingatan.memories.wording import pattern
from ingatan.screening.classifier import wishes
from ingatan.screening.view import readable
from ingatan.signed_events import SignedEvent
from ingatan.text import fold
from ingatan.types import (
    Audience,
    Candidate,
    Evidence,
    Memory,
    MemoryType,
    Operation,
    Parent,
    ParentKind,
    Principal,
    Scope,
    SourceKind,
)

IMPORTANCE = 0.7
"""Of what a person proposes without saying how important it is."""


def type_of(text: str) -> MemoryType:
    """What a person states of themself: as the rules read it, and where they read nothing as it most resembles.

    A choice told with what it was made for ("I chose the train over flying") says what they prefer, even where the
    rules read a fact in it.
    """
    read = {found.type for found in statements(text) if found.operation is not Operation.DELETE}
    if read == {MemoryType.EPISODE}:
        return MemoryType.EPISODE
    if MemoryType.PREFERENCE in read or _chooses(text) or (not read and wishes(readable(text))):
        return MemoryType.PREFERENCE
    return MemoryType.FACT


def _chooses(text: str) -> bool:
    folded = fold(text)
    chosen = pattern("chosen").match(folded)
    return chosen is not None and pattern("ground").search(folded, chosen.end()) is not None


def _slot(text: str, kind: MemoryType) -> str | None:
    return next((found.slot for found in statements(text) if found.type is kind), None)


def correction(
    memory: Memory, *, text: str, importance: float, expires_at: datetime | None, now: datetime
) -> Candidate:
    """The candidate by which a person corrects a memory directly: the text is its own quote.

    Where its words stay as they were, what a source brought stays that source's, and carries no further.
    """
    kind, slot, language = memory.type, memory.slot, memory.language
    passed_on_before = text == memory.text and memory.source_id is not None
    if text != memory.text:
        read = next(iter(statements(text)), None)
        kind, slot = (read.type, read.slot) if read is not None else (memory.type, None)
        kind = kind if memory.scope is Scope.USER else memory.type  # what is read is about one person
        language = language_of(text)
    return Candidate(
        operation=Operation.UPDATE,
        type=kind,
        text=text,
        slot=slot,
        subject_id=memory.subject_id,
        importance=importance,
        language=language,
        source=SourceKind.SELF,
        conversation_id=memory.conversation_id,
        evidence=(),
        explicit=True,
        target_id=memory.id,
        effective_at=now,
        expires_at=expires_at,
        scope=memory.scope,
        audience=memory.audience,
        classification=memory.classification,
        purposes=memory.purposes,
        source_id=memory.source_id if passed_on_before else None,
        batch_id=memory.batch_id if passed_on_before else None,
        parents=(Parent(kind=ParentKind.MEMORY, id=memory.id),) if passed_on_before else (),
    )


def passed_on(
    text: str,
    kind: MemoryType,
    *,
    subject_id: UUID,
    scope: Scope,
    audience: Audience,
    importance: float,
    source: SourceKind,
    source_id: UUID,
    batch_id: UUID | None,
    derived_from: Sequence[UUID],
    expires_at: datetime | None,
    now: datetime,
) -> Candidate:
    """The candidate that a registered source brings about a person, an account or the organisation."""
    return Candidate(
        type=kind,
        text=text,
        slot=_slot(text, kind),
        subject_id=subject_id,
        importance=importance,
        language=language_of(text),
        source=source,
        effective_at=now,
        expires_at=expires_at,
        scope=scope,
        audience=audience,
        source_id=source_id,
        batch_id=batch_id,
        parents=tuple(Parent(kind=ParentKind.MEMORY, id=id) for id in derived_from),
    )


def happened(signed: SignedEvent) -> Candidate:
    """The episode that a signed event tells."""
    return Candidate(
        type=MemoryType.EPISODE,
        text=signed.text,
        subject_id=signed.owner_id,
        importance=signed.importance,
        language=language_of(signed.text),
        source=SourceKind.EVENT,
        effective_at=signed.occurred_at,
        expires_at=signed.expires_at,
        scope=Scope.USER if signed.account_id is None else Scope.ACCOUNT,
        audience=signed.audience,
        purposes=signed.purposes,
        source_id=signed.source_id,
        batch_id=signed.batch_id,
    )


def proposal(
    principal: Principal,
    text: str,
    kind: MemoryType,
    *,
    importance: float,
    source: SourceKind,
    conversation_id: UUID | None,
    evidence: tuple[Evidence, ...],
    expires_at: datetime | None,
    now: datetime,
) -> Candidate:
    """The candidate by which a person proposes a memory about themselves; slot and language are read off its words."""
    return Candidate(
        type=kind,
        text=text,
        slot=_slot(text, kind),
        subject_id=principal.subject_id,
        importance=importance,
        language=language_of(text),
        source=source,
        conversation_id=conversation_id,
        evidence=evidence,
        explicit=True,
        effective_at=now,
        expires_at=expires_at,
    )
