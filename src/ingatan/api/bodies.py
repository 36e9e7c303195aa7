"""Request bodies: what clients may send. Unknown fields are refused, text is cleaned by the one rule."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ingatan import text as texts
from ingatan.accounts import AccountRole
from ingatan.memories.decisions import Judgement
from ingatan.memories.policy_document import PURPOSE
from ingatan.memories.proposals import IMPORTANCE
from ingatan.memories.ranking import Ranking
from ingatan.memories.slots import Slot
from ingatan.screening import SECURITY_REASONS
from ingatan.sources import Kind as SourceType
from ingatan.types import NEVER_STORED, TYPE_ALIASES, Audience, Classification, MemoryType, MessageRole, Reason, Scope

CONTENT_BYTES_MAX = 1_000_000
TITLE_CHARS_MAX = 200
FUTURE_SECONDS_MAX = 300
REASON_CHARS_MAX = 300
NOTE_CHARS_MAX = 500
BULK_MAX = 50
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
_OFFSET = re.compile(r"(Z|[+-]\d{2}:?\d{2})$", re.IGNORECASE)


REJECTIONS = (
    NEVER_STORED
    | SECURITY_REASONS
    | {
        Reason.REVIEWER, Reason.NOT_STATED_BY_SUBJECT, Reason.NOT_A_STATEMENT, Reason.NOT_LICENSED, Reason.UNTRUSTED,
        Reason.LOW_IMPORTANCE, Reason.DUPLICATE, Reason.CONTRADICTION, Reason.PURPOSE, Reason.CLASSIFICATION,
        Reason.TYPE, Reason.SCOPE,
    }
)  # fmt: skip
"""For which a reviewer may reject."""


def _clean(value: str) -> str:
    return texts.clean(value)


def _visible(value: str) -> str:
    if not texts.visible(value).strip():
        raise ValueError("blank: send text with at least one visible character")
    return value


def _sized(value: str) -> str:
    if len(value.encode()) > CONTENT_BYTES_MAX:
        raise ValueError(f"longer than {CONTENT_BYTES_MAX:,} bytes")
    return value


def _instant(value: Any) -> Any:
    if value is None or isinstance(value, datetime):
        return value
    if not isinstance(value, str) or not _OFFSET.search(value):
        raise ValueError("a time as a string with its offset, for example 2026-11-29T10:00:00+07:00")
    try:
        moment = datetime.fromisoformat(value.upper().replace("Z", "+00:00")).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("not a time of the calendar (ISO 8601)") from None
    return moment


def _past(value: datetime | None) -> datetime | None:
    if value is not None and not EARLIEST <= value <= datetime.now(UTC) + timedelta(seconds=FUTURE_SECONDS_MAX):
        raise ValueError("before 2000 or in the future")
    return value


def _future(value: datetime | None) -> datetime | None:
    if value is not None and not datetime.now(UTC) < value < datetime.now(UTC) + timedelta(days=36_525):
        raise ValueError("a moment within the next hundred years")
    return value


def _tree(value: Any) -> Any:
    """Clean every string in ``value``, keys included; its depth was bounded by the body gate."""
    if isinstance(value, str):
        return texts.clean(value)
    if isinstance(value, list):
        return [_tree(item) for item in value]
    if isinstance(value, dict):
        return {texts.clean(str(key)): _tree(item) for key, item in value.items()}
    return value


def _type(value: Any) -> Any:
    return TYPE_ALIASES.get(value, value) if isinstance(value, str) else value


def _rejection(value: Reason) -> Reason:
    if value not in REJECTIONS:
        raise ValueError("not a reason for which a reviewer rejects; see docs/governed-writes.md")
    return value


Text = Annotated[str, AfterValidator(_clean)]
Statement = Annotated[str, AfterValidator(_clean), AfterValidator(_visible)]
Content = Annotated[str, AfterValidator(_clean), AfterValidator(_visible), AfterValidator(_sized)]
Metadata = Annotated[dict[str, Any], AfterValidator(_tree)]
Said = Annotated[datetime | None, BeforeValidator(_instant), AfterValidator(_past)]
Expiry = Annotated[datetime | None, BeforeValidator(_instant), AfterValidator(_future)]
Kind = Annotated[MemoryType, BeforeValidator(_type)]
Share = Annotated[float, Field(ge=0, le=1)]


class Body(BaseModel):
    """Base of all bodies."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NewConversation(Body):
    """A conversation to start."""

    title: Annotated[Text, Field(max_length=TITLE_CHARS_MAX)] = ""
    metadata: Metadata = {}
    off_record: bool = False
    workspace_id: UUID | None = None


class WorkspaceName(Body):
    """A workspace to start, or its new name."""

    name: Annotated[Statement, Field(max_length=TITLE_CHARS_MAX)]


class NewMember(Body):
    """A person to add to a workspace: their subject id, as in their tokens."""

    subject_id: UUID


class ConversationChange(Body):
    """What to change; a field left out stays."""

    title: Annotated[Statement, Field(max_length=TITLE_CHARS_MAX)] | None = None
    off_record: bool | None = None


class TextPart(Body):
    """One part of a message; only text parts are read, others are kept as they are."""

    model_config = ConfigDict(extra="allow", frozen=True)
    type: Annotated[Text, Field(max_length=64)]
    text: Text | None = None


class NewTurn(Body):
    """One turn to append; ``content`` is text or a list of parts."""

    role: MessageRole
    content: Content | Annotated[list[TextPart], Field(min_length=1, max_length=100)]
    created_at: Said = None
    metadata: Metadata = {}

    @property
    def text(self) -> str:
        """The words of the turn: its content, or its text parts joined by line breaks."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.type == "text" and part.text)

    @property
    def parts(self) -> list[Any] | None:
        """The parts as they came, cleaned; None for plain text."""
        if isinstance(self.content, str):
            return None
        return [_tree(part.model_dump(exclude_none=True)) for part in self.content]

    @model_validator(mode="after")
    def _bounded(self) -> NewTurn:
        if not isinstance(self.content, str):
            _sized(self.text)
            _visible(self.text or ("part" if any(part.type != "text" for part in self.content) else ""))
        return self


class NewTurns(Body):
    """Turns to append, all or none."""

    messages: Annotated[list[NewTurn], Field(min_length=1, max_length=100)]


class MemoryChange(Body):
    """Fields that are left out stay as they are; ``expires_at: null`` lets the memory never expire."""

    text: Annotated[Statement, Field(max_length=2_000)] | None = None
    importance: Share | None = None
    expires_at: Expiry = None

    @model_validator(mode="after")
    def _something(self) -> MemoryChange:
        blank = {
            name for name in ("text", "importance") if name in self.model_fields_set and getattr(self, name) is None
        }
        if not self.model_fields_set or blank:
            raise ValueError("send at least one of text, importance, expires_at")
        return self


class RecallQuestion(Body):
    """A question to answer from memory."""

    query: Text
    purpose: Annotated[str, Field(pattern=PURPOSE)] | None = None
    task_type: Annotated[str, Field(pattern=PURPOSE)] | None = None
    conversation_id: UUID | None = None
    top_k: Annotated[int, Field(ge=1, le=50)] | None = None
    max_chars: Annotated[int, Field(ge=100, le=20_000)] | None = None
    ranking: Ranking | None = None
    as_of: Said = None
    unverified_episodes: bool = False


class SelfSource(Body):
    """The person states it directly; the text is its own quote."""

    kind: Literal["self"]


class TurnSource(Body):
    """The person said it in turns of theirs."""

    kind: Literal["turn"]
    conversation_id: UUID
    message_ids: Annotated[list[UUID], Field(min_length=1, max_length=10)]


class SourcedBy(Body):
    """Content of a registered source: passed on by a service, or a document. ``derived_from`` are memories."""

    kind: Literal["external", "document"]
    source_id: UUID
    batch_id: UUID | None = None
    derived_from: Annotated[list[UUID], Field(max_length=50)] = []


class NewAccount(Body):
    """A customer organisation."""

    name: Annotated[Statement, Field(max_length=TITLE_CHARS_MAX)]


class AccountMember(Body):
    """What a person is in an account."""

    role: AccountRole


class NewSource(Body):
    """What may bring candidates besides people. ``keys`` is a JSON Web Key Set of public keys, for signed events."""

    name: Annotated[Statement, Field(max_length=TITLE_CHARS_MAX)]
    kind: SourceType
    writer_id: UUID | None = None
    keys: dict[str, Any] | None = None
    types: Annotated[list[Kind], Field(min_length=1)] = []
    scopes: Annotated[list[Scope], Field(min_length=1)] = []
    purposes: Annotated[list[Annotated[str, Field(pattern=PURPOSE)]], Field(max_length=20)] = []

    @model_validator(mode="after")
    def _whole(self) -> NewSource:
        if (self.kind is SourceType.EVENT) != (self.keys is not None):
            raise ValueError("a source of signed events needs 'keys', and no other source has any")
        if self.kind is not SourceType.EVENT and self.writer_id is None:
            raise ValueError("'writer_id' names the service that speaks for it")
        return self


class NewBatch(Body):
    """A batch to open."""

    source_id: UUID


class NewCandidate(Body):
    """A memory that the caller proposes: about themselves, an account of theirs, or for a source they speak for.

    ``subject_id`` is the account's id where ``scope`` is ``account``. Without ``type`` it is read off the words.
    """

    text: Annotated[Statement, Field(max_length=2_000)]
    type: Kind | None = None
    importance: Share = IMPORTANCE
    subject_id: UUID | None = None
    scope: Scope = Scope.USER
    audience: Audience = Audience.MEMBER
    source: Annotated[SelfSource | TurnSource | SourcedBy, Field(discriminator="kind")]
    quote: Annotated[Statement, Field(max_length=2_000)] | None = None
    expires_at: Expiry = None
    confidence: Share | None = None
    reason: Annotated[Text, Field(max_length=REASON_CHARS_MAX)] = ""
    classification: Classification = Classification.PERSONAL
    purposes: Annotated[list[Annotated[str, Field(pattern=PURPOSE)]], Field(max_length=20)] = []
    review: bool = False

    @model_validator(mode="after")
    def _quoted(self) -> NewCandidate:
        if self.source.kind == "turn" and self.quote is None:
            raise ValueError("a candidate from a turn needs the person's own words in 'quote'")
        if self.scope is Scope.ACCOUNT and self.subject_id is None:
            raise ValueError("name the account in 'subject_id'")
        if self.source.kind in ("external", "document") and self.scope is Scope.USER and self.subject_id is None:
            raise ValueError("name the person in 'subject_id'")
        if self.source.kind in ("external", "document") and self.type is None:
            raise ValueError("a source names the 'type' of what it brings")
        return self


Note = Annotated[Statement, Field(max_length=NOTE_CHARS_MAX)] | None


class Approval(Body):
    """To remember what waits; with ``text``, in other words of its quote."""

    text: Annotated[Statement, Field(max_length=2_000)] | None = None
    note: Note = None


RejectionReason = Annotated[Reason, AfterValidator(_rejection)]


class Rejection(Body):
    """Not to remember what waits, and why."""

    reason: RejectionReason = Reason.REVIEWER
    note: Note = None


class Verdicts(Body):
    """One verdict on several that wait; each is decided on its own."""

    ids: Annotated[list[UUID], Field(min_length=1, max_length=BULK_MAX)]
    verdict: Judgement
    reason: RejectionReason = Reason.REVIEWER
    note: Note = None


class Appeal(Body):
    """Why a reviewer should look again; ``text`` is what was said, where it was refused and not kept."""

    text: Annotated[Statement, Field(max_length=2_000)] | None = None
    note: Note = None


class NeverAgain(Body):
    """An attribute that is never to be remembered again."""

    slot: Slot


class ConsentChange(Body):
    """What the caller says about being remembered."""

    consent: Literal["granted", "withdrawn"]
