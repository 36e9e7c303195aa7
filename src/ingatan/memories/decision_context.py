"""What the policy service is told besides the candidate: the fresh state a decision is made over. Pure records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from ingatan.types import Consent, Memory, Turn


class Mode(StrEnum):
    """``dry`` decides and records, and nothing is written."""

    ENFORCE = "enforce"
    DRY = "dry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Caps. ``max_new`` counts new memories a conversation, ``max_active`` active memories a person."""

    max_new: int = 3
    max_chars: int = 300
    max_active: int = 30
    min_importance: float = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who proposes: a person by subject id, or a service of ours (the sweeper, a connector)."""

    subject_id: UUID
    is_service: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyContext:
    """The state a candidate is decided over.

    ``turns`` are the cited turns by id; ``active`` and ``expired`` are this person's memories, the expired ones still
    kept; ``erased_at`` says when the person last erased what these words say, ``suppressed`` that they wished never to
    have it remembered; ``written_in_conversation`` counts new memories written from it.
    """

    turns: Mapping[UUID, Turn] = field(default_factory=dict)
    active: Sequence[Memory] = ()
    expired: Sequence[Memory] = ()
    consent: Consent = Consent.UNSET
    erased_at: datetime | None = None
    off_record: bool = False
    suppressed: bool = False
    written_in_conversation: int = 0
    limits: Limits = field(default_factory=Limits)
    mode: Mode = Mode.ENFORCE
    profile: str = "assistant"
    writer: Writer
    now: datetime
