"""The nouns every layer shares: identifiers, enums and frozen records. No behaviour beyond construction.

Times are aware UTC ``datetime``s, identifiers UUIDv7, importance and confidence in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import uuid_utils.compat


def new_id() -> UUID:
    """A fresh UUIDv7: unique, and ordered by the millisecond it was made in."""
    return uuid_utils.compat.uuid7()


class Role(StrEnum):
    """What a principal may be (CONTRACT §1)."""

    USER = "user"
    REVIEWER = "reviewer"
    AUDITOR = "auditor"
    ADMIN = "admin"
    WRITER = "writer"


class MessageRole(StrEnum):
    """Who spoke a turn."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class MemoryType(StrEnum):
    """What kind of thing is remembered. ``TYPE_ALIASES`` maps the cognitive names accepted as input."""

    PREFERENCE = "preference"
    FACT = "fact"
    EPISODE = "episode"
    KNOWLEDGE = "knowledge"


CAPPED = frozenset({MemoryType.PREFERENCE, MemoryType.FACT})
"""S1's caps count these; what happened and what is known has lifetimes instead."""
TYPE_ALIASES = {"procedural": MemoryType.PREFERENCE, "semantic": MemoryType.FACT, "episodic": MemoryType.EPISODE}


class MemoryStatus(StrEnum):
    """Where a version stands. Expiry is a time, not a status."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    DELETED = "deleted"  # closed by the user in chat; the text is kept until it is erased (S1)
    ARCHIVED = "archived"
    WITHDRAWN = "withdrawn"  # its source was revoked or its batch rolled back: never served


class Scope(StrEnum):
    """Whose knowledge a memory is."""

    USER = "user"
    ACCOUNT = "account"
    ORGANISATION = "organisation"


class Audience(StrEnum):
    """Who of an account's members may be reminded of a memory of the account."""

    MEMBER = "member"
    ADMIN = "admin"


class Classification(StrEnum):
    """How far a record may go, least protected first. ``personal`` is what a person says about themselves."""

    PUBLIC = "public"
    INTERNAL = "internal"
    PERSONAL = "personal"
    CONFIDENTIAL = "confidential"
    RESTRICTED = "restricted"


class ParentKind(StrEnum):
    """What something remembered can be derived from."""

    MEMORY = "memory"
    MESSAGE = "message"
    EVENT = "event"
    DOCUMENT = "document"


class Trust(StrEnum):
    """How far a record's source carries, least first. What is derived carries no further than what it comes from."""

    UNVERIFIED = "unverified"
    STATED = "stated"  # the person's own words
    CONFIRMED = "confirmed"  # stated or edited directly through API or console
    REVIEWED = "reviewed"  # approved by a reviewer
    SIGNED = "signed"  # a registered source's signed event


def least(*trusts: Trust) -> Trust:
    """The lowest of some levels of trust."""
    order = list(Trust)
    return min(trusts, key=order.index)


class SourceKind(StrEnum):
    """Where a candidate's words come from, weakest authority first (CONTRACT §4)."""

    EXTERNAL = "external"  # content that a registered service passes on: a tool's answer, a page, an upload
    DOCUMENT = "document"
    TURN = "turn"
    SELF = "self"
    SETTINGS = "settings"
    EVENT = "event"
    APPROVAL = "approval"


AUTHORITY = {kind: rank for rank, kind in enumerate(SourceKind)}


class Operation(StrEnum):
    """What a candidate asks for."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


class Consent(StrEnum):
    """What a person said about being remembered. ``unset`` counts as allowed under profile ``assistant`` (S1)."""

    UNSET = "unset"
    GRANTED = "granted"
    WITHDRAWN = "withdrawn"


class Outcome(StrEnum):
    """What the policy service decided."""

    ACCEPT = "accept"
    REJECT = "reject"
    QUARANTINE = "quarantine"
    REVIEW = "review"


class Reason(StrEnum):
    """Why; the stable codes people see. The order is the order of the checks (CONTRACT §4)."""

    SCHEMA = "schema"
    TOO_LONG = "too_long"
    NOT_ONE_SENTENCE = "not_one_sentence"
    NO_AUTHORITY = "writer_not_allowed"
    SCOPE = "scope_not_allowed"
    TYPE = "type_not_allowed"
    PURPOSE = "purpose_not_allowed"
    CLASSIFICATION = "classification_not_allowed"
    SOURCE_REVOKED = "source_revoked"
    NO_CONSENT = "no_consent"
    OFF_RECORD = "off_the_record"
    NEVER_AGAIN = "never_again"
    ERASED = "erased_before"
    NO_EVIDENCE = "no_evidence"
    NOT_STATED_BY_SUBJECT = "not_stated_by_subject"
    NOT_LICENSED = "not_licensed_by_quote"
    NOT_A_STATEMENT = "not_a_statement"
    OTHER_PERSON = "about_another_person"
    HEALTH = "sensitive_health"
    RELIGION = "sensitive_religion"
    ETHNICITY = "sensitive_ethnicity"
    POLITICS = "sensitive_politics"
    SEXUAL_LIFE = "sensitive_sexual_life"
    UNION = "sensitive_union"
    BIOMETRICS = "sensitive_biometrics"
    GENETICS = "sensitive_genetics"
    CRIME = "sensitive_crime"
    CHILDREN = "sensitive_children"
    FINANCE = "sensitive_finance"
    CREDENTIAL = "credential"
    IDENTIFIER = "personal_identifier"
    INSTRUCTION = "instruction"
    PERMISSION = "permission_grant"
    AUTHORITY_CLAIM = "claim_of_authority"
    OBFUSCATED = "obfuscated"
    LAW_CLAIM = "law_claim"
    DOCUMENT_FACT = "document_fact"
    LOW_IMPORTANCE = "low_importance"
    PAST_RETENTION = "past_retention"
    DUPLICATE = "duplicate"
    RENEWED = "renewed"
    CONTRADICTION = "contradiction"
    CONFLICT = "conflict"
    NOTHING_TO_CLOSE = "nothing_to_close"
    CAP_NEW = "cap_new_per_conversation"
    CAP_ACTIVE = "cap_active_per_user"
    RATE_LIMITED = "rate_limited"
    NEEDS_REVIEW = "needs_review"
    UNTRUSTED = "untrusted_source"
    DRY_RUN = "dry_run"
    ACCEPTED = "accepted"
    APPROVED = "approved"
    REVIEWER = "rejected_in_review"
    WITHDRAWN = "withdrawn"
    UNREVIEWED = "not_reviewed_in_time"
    SUPERSEDES = "supersedes"
    CLOSED = "closed"
    SUPPRESSED = "suppressed"


class AlertKind(StrEnum):
    """What is unusual, and what ``key`` then names."""

    ACTOR_VOLUME = "actor_volume"  # a writer brought as many candidates in an hour as the policy lets them
    SUBJECT_VOLUME = "subject_volume"  # as many came about one person or account
    SOURCE_VOLUME = "source_volume"  # as many came from one source
    CHURN = "churn"  # what is remembered of one person changed so often in a day
    CONTRADICTIONS = "contradictions"  # so much said of one person in a day contradicted what is remembered
    SOURCE_SPREAD = "source_spread"  # one source wrote about so many people in a day


NEVER_STORED = frozenset(
    {
        Reason.OTHER_PERSON, Reason.HEALTH, Reason.RELIGION, Reason.ETHNICITY, Reason.POLITICS, Reason.SEXUAL_LIFE,
        Reason.UNION, Reason.BIOMETRICS, Reason.GENETICS, Reason.CRIME, Reason.CHILDREN, Reason.FINANCE,
        Reason.CREDENTIAL, Reason.IDENTIFIER, Reason.LAW_CLAIM, Reason.DOCUMENT_FACT,
    }
)  # fmt: skip
"""Reasons that stand for S1's classes of what is never stored."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls, from the verified credential only; or whose knowledge is acted on, once that was allowed.

    With another ``scope`` than ``user``, ``subject_id`` is an account's id, or the tenant's for the organisation.
    """

    tenant_id: UUID
    subject_id: UUID
    roles: frozenset[Role] = frozenset({Role.USER})
    verified: bool = False
    shared_sentinel: bool = False
    scope: Scope = Scope.USER


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation. ``said_at`` is the speaker's time, ``received_at`` the server's."""

    id: UUID
    seq: int
    role: MessageRole
    author_id: UUID | None
    text: str
    said_at: datetime
    received_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A verbatim quote of the asker's own words and the turn it stands in."""

    message_id: UUID
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """One thing a memory is derived from."""

    kind: ParentKind
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A proposed change to what is remembered about ``subject_id``. Nothing in it carries authority of its own.

    ``text`` is one sentence in the language the person used. ``slot`` names the attribute it fills (see
    ``memories/slots.py``), or None. ``target_id`` is the memory an update or delete is about; for a delete by rules it
    is None and ``text`` holds the person's words on what to forget. ``never_again`` is a delete that also holds for
    what is said later. ``explicit`` says the person asked to remember. ``purposes`` empty means those of its type by
    the policy; ``confidence`` and ``reason`` are what its writer says of it and carry no authority; ``review`` asks for
    a reviewer. ``subject_id`` is an account's id or the tenant's where ``scope`` is theirs; ``said_by`` then is who
    said it, None where that is the subject.
    """

    operation: Operation = Operation.ADD
    type: MemoryType
    text: str
    slot: str | None = None
    subject_id: UUID
    importance: float = 0.5
    language: str
    source: SourceKind = SourceKind.TURN
    conversation_id: UUID | None = None
    evidence: tuple[Evidence, ...] = ()
    explicit: bool = False
    recurring: bool = False  # a subject the person keeps returning to, rather than a statement
    never_again: bool = False
    target_id: UUID | None = None
    effective_at: datetime
    expires_at: datetime | None = None
    scope: Scope = Scope.USER
    audience: Audience = Audience.MEMBER
    purposes: tuple[str, ...] = ()
    classification: Classification = Classification.PERSONAL
    confidence: float | None = None
    reason: str = ""
    review: bool = False
    source_id: UUID | None = None
    batch_id: UUID | None = None
    parents: tuple[Parent, ...] = ()
    said_by: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One version of a memory, as read from the registry."""

    id: UUID
    version: int
    subject_id: UUID
    type: MemoryType
    slot: str | None
    text: str
    language: str
    importance: float
    trust: Trust
    status: MemoryStatus
    source: SourceKind
    conversation_id: UUID | None
    effective_at: datetime
    recorded_at: datetime
    confirmed_at: datetime
    expires_at: datetime | None = None
    evidence: tuple[Evidence, ...] = ()
    scope: Scope = Scope.USER
    audience: Audience = Audience.MEMBER
    classification: Classification = Classification.PERSONAL
    purposes: tuple[str, ...] = ()
    source_id: UUID | None = None
    batch_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the policy service says about one candidate, and what follows when it is accepted.

    ``closes`` are the ids of active memories this one supersedes or, for a delete, closes. ``reinforces`` is the id of
    the active memory that already says the same; then nothing new is written. ``text`` is what may finally be stored,
    ``slot`` the attribute that this text fills; where it waits for a reviewer, both are what would be stored. ``own``
    is the outcome by the policy where ``dry`` put another in its place.
    """

    outcome: Outcome
    reasons: tuple[Reason, ...]
    own: Outcome | None = None
    text: str = ""
    slot: str | None = None
    closes: tuple[UUID, ...] = field(default=())
    reinforces: UUID | None = None
