"""What the policy service is told besides the candidate: the fresh state a decision is made over. Pure records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from ingatan.memories.policy_document import PolicyDocument, shipped
from ingatan.sources import Source
from ingatan.types import Consent, Memory, Trust, Turn


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
    """Who proposes: a person by subject id (the sweeper for them), or a service.

    ``account_admin`` is someone with authority in the account that the candidate is about.
    """

    subject_id: UUID
    is_service: bool = False
    account_admin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyContext:
    """The state a candidate is decided over.

    ``turns`` are the cited turns by id; ``active`` and ``expired`` are this person's memories, the expired ones still
    kept; ``erased_at`` says when the person last erased what these words say, ``suppressed`` that they never want
    it remembered; ``written_in_conversation`` counts new memories written from it. ``document`` is the policy,
    ``approved`` that a reviewer agreed, ``registered`` the source it is from.
    ``lineage`` is the least trust among what the candidate is derived from.
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
    document: PolicyDocument = field(default_factory=lambda: shipped("assistant"))
    approved: bool = False
    registered: Source | None = None
    rate_limited: bool = False
    lineage: Trust | None = None
    writer: Writer
    now: datetime
