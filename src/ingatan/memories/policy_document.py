"""The policy document: what may be remembered, by whom, for what, for how long, and who decides (S3). Data, validated.

It widens or narrows what the policy service does with a candidate that passed every check; it switches no check off.
What is never stored is refused by any document, and nothing that others pass on is accepted without a person.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ingatan import policies
from ingatan.errors import BadRequest
from ingatan.text import clean
from ingatan.types import Candidate, Classification, MemoryType, Outcome, Scope, SourceKind, Trust

CHARACTERS_MAX = 50_000
"""A longer document is refused before it is read."""
PURPOSE = r"^[a-z][a-z0-9_-]{0,39}$"
Purpose = Annotated[str, Field(pattern=PURPOSE)]
Days = Annotated[int, Field(ge=1, le=36_500)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Sentence = Annotated[str, Field(min_length=1, max_length=500)]


class Origin(StrEnum):
    """How a candidate came to be, which decides who has to agree."""

    STATED = "stated"  # by the person, directly: API, console, settings
    REQUESTED = "requested"  # the person asked in a conversation to remember it
    EXTRACTED = "extracted"  # read out of a conversation, by rules or a model
    EVENT = "event"  # a registered source's signed event
    DOCUMENT = "document"
    EXTERNAL = "external"  # a service passes it on


def origin(candidate: Candidate) -> Origin:
    """How ``candidate`` came to be, by its source."""
    if candidate.source is SourceKind.TURN:
        return Origin.REQUESTED if candidate.explicit else Origin.EXTRACTED
    if candidate.source in (SourceKind.SELF, SourceKind.SETTINGS, SourceKind.APPROVAL):
        return Origin.STATED
    return {SourceKind.EVENT: Origin.EVENT, SourceKind.DOCUMENT: Origin.DOCUMENT}.get(candidate.source, Origin.EXTERNAL)


class Part(BaseModel):
    """Base of all parts: unknown keys are refused, values are final."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TypePolicy(Part):
    """One type of memory. Lifetimes count from the moment it was said; None lasts until it is changed or erased."""

    benefit: Sentence
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]
    purposes: Annotated[tuple[Purpose, ...], Field(min_length=1)]
    lifetime_days: Days | None = None
    unverified_lifetime_days: Days | None = None
    active_max: Count | None = None


class Decisions(Part):
    """What happens to a candidate that passed every check, by how it came to be."""

    stated: Literal["accept", "review"]
    requested: Literal["accept", "review"]
    extracted: Literal["accept", "review", "reject"]
    event: Literal["accept", "review", "reject"]
    document: Literal["review", "reject"]
    external: Literal["quarantine", "review", "reject"]


class Correction(Part):
    """Who corrects a memory, by its scope."""

    user: Literal["person"]
    account: Literal["account_admin"]
    organisation: Literal["reviewer"]


class Security(Part):
    """What happens to orders, grants and claims of authority: never stored; kept for a reviewer, or not at all."""

    decision: Literal["reject", "quarantine"]


class Review(Part):
    """How long something waits for a reviewer, and how much of the turn around the quote they see."""

    expires_days: Days
    context_characters: Annotated[int, Field(ge=0, le=2_000)]


class Rates(Part):
    """How many candidates an hour may come of one writer by no source, about one subject, and by one source."""

    actor_per_hour: Count
    subject_per_hour: Count
    source_per_hour: Count


class Alerts(Part):
    """From how many a day on an alert is raised: changes and contradictions a subject, subjects a source."""

    changes_per_day: Count
    contradictions_per_day: Count
    subjects_per_source_per_day: Count


class PolicyDocument(Part):
    """The whole document. ``tasks`` names the purposes that a task type may draw on."""

    profile: Literal["assistant", "governed"]
    benefit: Sentence
    purposes: Annotated[tuple[Purpose, ...], Field(min_length=1, max_length=50)]
    tasks: dict[Purpose, tuple[Purpose, ...]]
    classifications: Annotated[tuple[Classification, ...], Field(min_length=1)]
    decisions: Decisions
    types: dict[MemoryType, TypePolicy]
    correction: Correction
    security: Security
    review: Review
    rates: Rates
    alerts: Alerts

    @model_validator(mode="after")
    def _purposes_known(self) -> Self:
        used = {purpose for kind in self.types.values() for purpose in kind.purposes}
        used |= {purpose for purposes in self.tasks.values() for purpose in purposes}
        if used - set(self.purposes):
            raise ValueError("a purpose that 'types' or 'tasks' name is not listed under 'purposes'")
        return self

    def outcome(self, candidate: Candidate) -> Outcome:
        """What happens to ``candidate`` once it passed every check."""
        decided = Outcome(getattr(self.decisions, origin(candidate).value))
        return Outcome.REVIEW if candidate.review and decided is Outcome.ACCEPT else decided

    def purposes_of(self, candidate: Candidate) -> tuple[str, ...]:
        """What ``candidate`` may be used for: its own purposes, or those of its type."""
        return candidate.purposes or self.types[candidate.type].purposes

    def expires_at(self, candidate: Candidate, trust: Trust) -> datetime | None:
        """When the memory of ``candidate`` ends: as proposed, and at the latest after the lifetime of its type."""
        kind = self.types[candidate.type]
        days = kind.lifetime_days
        if trust is Trust.UNVERIFIED and kind.unverified_lifetime_days is not None:
            days = kind.unverified_lifetime_days
        ends = [candidate.expires_at] if candidate.expires_at is not None else []
        if days is not None:
            ends.append(candidate.effective_at + timedelta(days=days))
        return min(ends, default=None)


_UNREADABLE = (RecursionError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What reading YAML raises beside its own errors, for example where a tag does not fit its value."""
_PARTS = (PolicyDocument, TypePolicy, Decisions, Correction, Security, Review, Rates, Alerts)
_KNOWN = frozenset({name for part in _PARTS for name in part.model_fields} | {kind.value for kind in MemoryType})


def parse(text: str) -> PolicyDocument:
    """The document in YAML ``text``. Raises BadRequest saying what to change; nothing is left to guess or ignored."""
    if len(text) > CHARACTERS_MAX:
        raise BadRequest(f"The policy is longer than {CHARACTERS_MAX} characters.", code="policy_invalid")
    try:
        return PolicyDocument.model_validate(_tree(yaml.compose(text, Loader=yaml.SafeLoader)))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        where = "; ".join(f"{_place(item['loc'], item['type'])}: {item['msg']}" for item in found[:5])
        raise BadRequest(f"The policy is not valid. {where}.", code="policy_invalid") from None
    except (yaml.YAMLError, *_UNREADABLE) as error:
        mark = getattr(error, "problem_mark", None)
        at = f" (line {mark.line + 1})" if mark is not None else ""
        problem = f": {error}" if type(error) is ValueError else ""  # others repeat what was sent
        raise BadRequest(f"The policy is no YAML that can be read{at}{problem}.", code="policy_invalid") from None


def _place(path: tuple[int | str, ...], kind: str) -> str:
    """Where a mistake is; a name that its writer made up is not repeated."""
    names = [str(part) for part in path]
    if kind == "extra_forbidden":
        names[-1] = "(a key that is not known)"
    return ".".join(name if name in _KNOWN or name.startswith("(") else "(a name)" for name in names) or "policy"


def _tree(root: yaml.Node | None) -> Any:
    """Plain values of a document without anchors, tags or a key given twice."""
    seen: set[int] = set()

    def plain(node: yaml.Node) -> Any:
        if id(node) in seen:
            raise ValueError("aliases are not allowed; write the value out")
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            if not all(isinstance(key, yaml.ScalarNode) for key, _ in node.value):
                raise ValueError(f"a key is a list or a mapping (line {node.start_mark.line + 1})")
            pairs = [(plain(key), plain(value)) for key, value in node.value]
            found = dict(pairs)
            if len(found) != len(pairs):
                raise ValueError(f"a key is given twice (line {node.start_mark.line + 1})")
            return found
        if isinstance(node, yaml.SequenceNode):
            return [plain(item) for item in node.value]
        constructor = yaml.SafeLoader("")
        value = constructor.construct_object(node)
        return clean(value) if isinstance(value, str) else value

    return None if root is None else plain(root)


@cache
def shipped(profile: str) -> PolicyDocument:
    """The document of a profile as it ships."""
    return parse(policies.source(profile))
