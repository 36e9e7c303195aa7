"""Readings: what extraction needs to know of one asker in one span, read in one transaction in their own scope."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ingatan import spans, subjects, transcript
from ingatan.memories import registry
from ingatan.settings import MemorySettings
from ingatan.spans import Claim
from ingatan.storage.database import Connection
from ingatan.types import Consent, Memory, Principal, Turn

RECENT_TURNS_MAX = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything extraction needs about ``asker``; plus the epoch that the commit must find unchanged."""

    asker: Principal
    turns: tuple[Turn, ...]
    recent: tuple[Turn, ...]
    offered: tuple[Memory, ...]
    erasure_epoch: int

    def by_id(self) -> dict[UUID, Turn]:
        """All turns that may be cited."""
        return {turn.id: turn for turn in (*self.recent, *self.turns)}


def read(connection: Connection, claim: Claim, asker: Principal, settings: MemorySettings, now: datetime) -> Reading:
    """What ``asker`` said in the span and lately, and what is remembered of them. Takes a connection in their scope.

    Without turns where they withdrew consent, or may not read the conversation any more: nothing is proposed or noted.
    """
    keys = {
        "tenant_id": asker.tenant_id,
        "conversation_id": claim.due.conversation_id,
        "subject_id": asker.subject_id,
        "done_seq": claim.done_seq,
    }
    subject = subjects.read(connection, asker)
    rows = connection.all("sweep.turns", **keys, to_seq=claim.to_seq)
    recent = connection.all(
        "sweep.recent_turns",
        **keys,
        active_after=spans.active_after(settings, now),
        with_shared=settings.shared_conversations,
        limit=RECENT_TURNS_MAX,
    )
    offered = registry.active(connection, asker, now)
    if subject.consent is Consent.WITHDRAWN:
        rows, recent = [], []  # the watermark moves; nothing is read, proposed or noted
    return Reading(
        asker,
        tuple(transcript.turn(row) for row in rows),
        tuple(transcript.turn(row) for row in recent),
        tuple(offered),
        subject.erasure_epoch,
    )
