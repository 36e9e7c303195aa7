"""Proposals: the candidates that people make directly, by stating or correcting something about themselves. Pure."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from ingatan.languages.detect import language_of
from ingatan.memories.statements import statements
from ingatan.types import Candidate, Evidence, Memory, MemoryType, Operation, Principal, SourceKind

IMPORTANCE = 0.7
"""Of what a person proposes without saying how important it is."""


def correction(
    memory: Memory, *, text: str, importance: float, expires_at: datetime | None, now: datetime
) -> Candidate:
    """The candidate by which a person corrects a memory directly: the text is its own quote."""
    kind, slot, language = memory.type, memory.slot, memory.language
    if text != memory.text:
        read = next(iter(statements(text)), None)
        kind, slot = (read.type, read.slot) if read is not None else (memory.type, None)
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
    slot = next((statement.slot for statement in statements(text) if statement.type is kind), None)
    return Candidate(
        type=kind,
        text=text,
        slot=slot,
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
