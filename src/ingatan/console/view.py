"""The view: everything the first page shows of one person at one moment, read in one transaction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ingatan import access, conversations, spans, subjects
from ingatan.access import Action
from ingatan.app import App
from ingatan.conversations import Conversation, Message
from ingatan.memories import decisions, registry
from ingatan.memories.decisions import Decided, State
from ingatan.types import Consent, Memory, MemoryStatus, Outcome, Principal

CONVERSATIONS_SHOWN = 50
TURNS_SHOWN = 100
MEMORIES_SHOWN = 100
DECISIONS_SHOWN = 30
NEEDED = (Action.CONVERSATION_READ, Action.MEMORY_READ, Action.CANDIDATE_READ)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What the page shows. ``due_at`` is when something said will be looked at; None when nothing waits."""

    conversations: tuple[Conversation, ...]
    chosen: Conversation | None
    turns: tuple[Message, ...]
    memories: tuple[Memory, ...]
    contested: frozenset[UUID]
    refused: tuple[Decided, ...]
    held: tuple[Decided, ...]
    reviews: bool
    consent: Consent
    due_at: datetime | None
    learning: bool
    reading: bool

    @property
    def remembering(self) -> bool:
        """Whether the person lets themselves be remembered; not having said anything counts as yes (S1)."""
        return self.consent is not Consent.WITHDRAWN


def look(app: App, principal: Principal, *, conversation_id: UUID | None, fresh: bool = False) -> View:
    """Read the view: the named conversation, else the newest, or none if ``fresh``. Raises Forbidden, NotFound."""
    for action in NEEDED:
        access.require(principal, action)
    now = datetime.now(UTC)
    memory = app.settings.memory
    with app.database.read(principal) as connection:
        listed = conversations.page(connection, principal, before=None, limit=CONVERSATIONS_SHOWN)
        chosen: Conversation | None = None
        if conversation_id is not None:
            chosen = conversations.get(connection, principal, conversation_id)
        elif listed and not fresh:
            chosen = listed[0]
        turns = conversations.window(connection, principal, chosen.id, last=TURNS_SHOWN) if chosen else []
        memories: list[Memory] = []
        contested: dict[str, tuple[UUID, ...]] = {}
        if app.steward.sees_memories(principal):
            memories = registry.page(
                connection, principal, status=MemoryStatus.ACTIVE, before=None, limit=MEMORIES_SHOWN, now=now
            )
            contested = registry.conflicts(connection, principal)
        refused = decisions.page(connection, principal, decision=Outcome.REJECT, before=None, limit=DECISIONS_SHOWN)
        held = decisions.page(
            connection, principal, decision=None, state=State.OPEN, before=None, limit=DECISIONS_SHOWN
        )
        consent = subjects.read(connection, principal).consent
        ends_at = spans.ends_at(connection, memory, principal.tenant_id, principal.subject_id)
    learning = memory.enabled and memory.write_enabled
    return View(
        conversations=tuple(listed),
        chosen=chosen,
        turns=tuple(turns),
        memories=tuple(memories),
        contested=frozenset(id for ids in contested.values() for id in ids),
        refused=tuple(one for one in refused if one.state is not State.OPEN),
        held=tuple(held),
        reviews=access.allowed(principal, Action.REVIEW_READ),
        consent=consent,
        due_at=due(ends_at, app.next_sweep_at, memory.sweep_interval_seconds) if learning else None,
        learning=learning,
        reading=memory.enabled and memory.read_enabled,
    )


def due(ends_at: datetime | None, next_sweep_at: datetime | None, interval_seconds: float) -> datetime | None:
    """The first sweep at or after ``ends_at``; ``ends_at`` where none is scheduled; None if nothing waits."""
    if ends_at is None or next_sweep_at is None or ends_at <= next_sweep_at:
        return ends_at if ends_at is None or next_sweep_at is None else next_sweep_at
    sweeps = math.ceil((ends_at - next_sweep_at).total_seconds() / interval_seconds)
    return next_sweep_at + timedelta(seconds=sweeps * interval_seconds)
