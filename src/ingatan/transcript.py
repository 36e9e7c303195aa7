"""The transcript: what extraction may see of a conversation, within S1's bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from ingatan.settings import MemorySettings
from ingatan.storage.database import Connection
from ingatan.types import Candidate, MessageRole, Principal, Turn


def bounded(turns: Sequence[Turn], subject_id: UUID, settings: MemorySettings) -> tuple[Turn, ...]:
    """The asker's own turns, newest first within half the budget, each cut; returned in order of position.

    The budget is EXTRACT_MAX_MESSAGES x EXTRACT_MAX_CHARS_PER_MESSAGE characters (S1: 20,000 for questions). Replies
    posted from outside have not passed our guard, so none is in the transcript.
    """
    each = settings.extract_max_chars_per_message
    left = settings.extract_max_messages * each // 2
    kept: list[Turn] = []
    for turn in reversed(turns):
        if turn.role is not MessageRole.USER or turn.author_id != subject_id:
            continue
        cut = replace(turn, text=turn.text[:each])
        if len(cut.text) > left:
            break
        left -= len(cut.text)
        kept.append(cut)
    return tuple(reversed(kept))


def cited(connection: Connection, speaker: Principal, candidate: Candidate) -> dict[UUID, Turn]:
    """The turns that ``candidate`` cites and that still stand in its conversation, in the speaker's scope; by id."""
    rows = connection.all(
        "sweep.cited_turns",
        tenant_id=speaker.tenant_id,
        conversation_id=candidate.conversation_id,
        ids=[evidence.message_id for evidence in candidate.evidence],
    )
    return {row.id: turn(row) for row in rows}


def turn(row: Any) -> Turn:
    """A stored message as a turn."""
    return Turn(
        id=row.id,
        seq=row.seq,
        role=MessageRole(row.role),
        author_id=row.author_id,
        text=row.content,
        said_at=row.created_at,
        received_at=row.received_at,
    )
