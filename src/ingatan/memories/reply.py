"""A model's reply read as operations: tolerant of the wrapping, strict about what is in it. Pure.

One JSON object may stand alone, in a fence, among prose or after thinking aloud. Anything else, or one thing in it that
is not as asked, refuses the whole reply with a reason: it is never picked over.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError

from ingatan.memories.events import EVENTS_MAX
from ingatan.memories.interests import TURNS_MIN
from ingatan.text import clean, fold, visible
from ingatan.types import TYPE_ALIASES, MemoryType, Operation

REPLY_CHARACTERS_MAX = 200_000
OBJECTS_TRIED_MAX = 50
"""So many opening braces are tried before a reply counts as one without an object."""
NESTING_MAX = 6
EVIDENCE_MAX = 10
QUOTE_CHARACTERS_MAX = 4_000
INTEGER_DIGITS_MAX = 18
NO_WORDS = frozenset({"none", "null", "n/a", "undefined", "nan"})

_THOUGHT = re.compile(r"<(think|thinking|reasoning|thought)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"^.*</(?:think|thinking|reasoning|thought)>", re.DOTALL | re.IGNORECASE)
_THOUGHT_OPEN = re.compile(r"<(?:think|thinking|reasoning|thought)>", re.IGNORECASE)
_INSIDE = re.compile(r"(?:[\"']\s*:|[\[{]|[}\]\"'\d]\s*,)\s*$")
"""Before an object: it is part of something larger, a list or an object that is itself broken."""
_DECLINES = re.compile(
    r"^\W*(?:(?:i'm|i am) (?:sorry|unable|not able)|sorry|i (?:can't|cannot|can not|won't|will not|must decline)"
    r"|as an ai|maaf|saya (?:tidak (?:dapat|bisa)|menolak)|xin lỗi|tôi (?:không thể|từ chối)|rất tiếc)\b"
)


class ReplyProblem(StrEnum):
    """Why a reply is refused whole; the codes that logs and the abandoned list show."""

    REFUSED = "refused"
    NOT_JSON = "not_json"
    AMBIGUOUS = "ambiguous_json"
    TOO_LARGE = "reply_too_large"
    TOO_DEEP = "too_deep"
    NOT_FINITE = "not_finite"
    DUPLICATE_KEY = "duplicate_key"
    SHAPE = "wrong_shape"
    UNKNOWN_FIELD = "unknown_field"
    BLANK = "blank_text"
    TOO_LONG = "text_too_long"
    UNKNOWN_LABEL = "unknown_label"
    CONFLICTING = "conflicting_operations"
    CAP_NEW = "cap_new_breached"
    CAP_ACTIVE = "cap_active_breached"


class ReplyRefused(ValueError):
    """The reply may not be used, for ``problem``. Carries no text of it."""

    def __init__(self, problem: ReplyProblem) -> None:
        super().__init__(problem.value)
        self.problem = problem


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Cited(_Strict):
    """A turn's label and what the model says stands there."""

    turn: StrictStr
    quote: Annotated[StrictStr, Field(max_length=QUOTE_CHARACTERS_MAX)]


class Proposed(_Strict):
    """One operation as the model put it. ``confidence`` is read and has no say."""

    operation: Operation
    memory: StrictStr | None = None
    type: MemoryType = MemoryType.FACT
    text: StrictStr | None = None
    importance: StrictFloat | StrictInt = 0.5
    confidence: StrictFloat | StrictInt | None = None
    recurring: StrictBool = False
    evidence: Annotated[list[Cited], Field(min_length=1, max_length=EVIDENCE_MAX)]


class _Reply(_Strict):
    operations: list[Proposed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a reply may name and how much: the labels given, additions left, room left, and the length of a text."""

    turns: frozenset[str]
    earlier: frozenset[str]
    memories: frozenset[str]
    additions: int
    room: int
    characters: int


def read(text: str, allowed: Allowed) -> list[Proposed]:
    """The operations of a reply in order; none of them is a fine answer. Raises ReplyRefused."""
    found = _validated(_object(text))
    operations = [_cleaned(operation, allowed) for operation in found.operations]
    operations = [each for n, each in enumerate(operations) if each not in operations[:n] or each.memory is not None]
    targets = [operation.memory for operation in operations if operation.memory is not None]
    if len(set(targets)) != len(targets):
        raise ReplyRefused(ReplyProblem.CONFLICTING)
    adding = [operation for operation in operations if operation.operation is Operation.ADD]
    additions = sum(operation.type is not MemoryType.EPISODE for operation in adding)
    if len(adding) - additions > EVENTS_MAX:
        raise ReplyRefused(ReplyProblem.CAP_NEW)
    if additions > allowed.room:
        raise ReplyRefused(ReplyProblem.CAP_ACTIVE)
    if additions > allowed.additions:
        raise ReplyRefused(ReplyProblem.CAP_NEW)
    return operations


def _object(text: str) -> dict[str, Any]:
    """The one JSON object in ``text``; the same object twice is one."""
    if len(text) > REPLY_CHARACTERS_MAX:
        raise ReplyRefused(ReplyProblem.TOO_LARGE)
    said = _THOUGHT_END.sub("", _THOUGHT.sub(" ", text))
    if _THOUGHT_OPEN.search(said):
        raise ReplyRefused(ReplyProblem.NOT_JSON)
    found: list[dict[str, Any]] = []
    start = said.find("{")
    for _ in range(OBJECTS_TRIED_MAX):
        if start < 0:
            break
        value, end = _decoded(said, start)
        if value is not None and _INSIDE.search(said[max(start - 40, 0) : start]):
            raise ReplyRefused(ReplyProblem.SHAPE)
        if value is not None and value not in found:
            found.append(value)
        start = said.find("{", end)
    if len(found) > 1:
        raise ReplyRefused(ReplyProblem.AMBIGUOUS)
    if found:
        return found[0]
    if said.lstrip(" \n\t`json")[:1] in {"[", '"'} or said.strip() in {"null", "true", "false"}:
        raise ReplyRefused(ReplyProblem.SHAPE)
    declined = _DECLINES.search(fold(said).replace("\u2019", "'"))
    raise ReplyRefused(ReplyProblem.REFUSED if declined else ReplyProblem.NOT_JSON)


def _decoded(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """The object that begins at ``start`` and where it ends, or None and where to look on."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ReplyRefused:
        raise
    except RecursionError:
        raise ReplyRefused(ReplyProblem.TOO_DEEP) from None
    except ValueError:
        return None, start + 1
    _measure(value)
    return value, end


def _measure(value: object) -> None:
    level: list[object] = [value]
    for _ in range(NESTING_MAX + 1):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise ReplyRefused(ReplyProblem.TOO_DEEP)


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse_constant(name: str) -> Any:
    raise ReplyRefused(ReplyProblem.NOT_FINITE)


def _integer(digits: str) -> int:
    if len(digits) > INTEGER_DIGITS_MAX:
        raise ReplyRefused(ReplyProblem.NOT_FINITE)
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ReplyRefused(ReplyProblem.NOT_FINITE)
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ReplyRefused(ReplyProblem.DUPLICATE_KEY)
    return dict(pairs)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_number
)


def _validated(value: dict[str, Any]) -> _Reply:
    given = value.get("operations")
    for operation in given if isinstance(given, list) else ():
        name = operation.get("type", "") if isinstance(operation, dict) else ""
        if name is None:
            del operation["type"]
        elif isinstance(name, str) and name in TYPE_ALIASES:
            operation["type"] = TYPE_ALIASES[name]
    try:
        return _Reply.model_validate(value)
    except ValidationError as error:
        kinds = {item["type"] for item in error.errors(include_input=False, include_url=False, include_context=False)}
    unknown = "extra_forbidden" in kinds
    raise ReplyRefused(ReplyProblem.UNKNOWN_FIELD if unknown else ReplyProblem.SHAPE)


def _cleaned(proposed: Proposed, allowed: Allowed) -> Proposed:
    """``proposed`` with clean text and importance within [0, 1], if labels, text and length are as asked."""
    adding = proposed.operation is Operation.ADD
    if (proposed.memory is None) != adding or (proposed.recurring and not adding):
        raise ReplyRefused(ReplyProblem.SHAPE)
    if proposed.memory is not None and proposed.memory not in allowed.memories:
        raise ReplyRefused(ReplyProblem.UNKNOWN_LABEL)
    turns = {cited.turn for cited in proposed.evidence}
    if not turns <= (allowed.turns | allowed.earlier if proposed.recurring else allowed.turns):
        raise ReplyRefused(ReplyProblem.UNKNOWN_LABEL)
    if proposed.recurring and (len(turns) < TURNS_MIN or not turns & allowed.turns):
        raise ReplyRefused(ReplyProblem.SHAPE)
    text = clean(proposed.text or "").strip()
    if proposed.operation is not Operation.DELETE:
        if _blank(text):
            raise ReplyRefused(ReplyProblem.BLANK)
        if len(text) > allowed.characters:
            raise ReplyRefused(ReplyProblem.TOO_LONG)
    if any(_blank(cited.quote) for cited in proposed.evidence):
        raise ReplyRefused(ReplyProblem.BLANK)
    importance = min(max(float(proposed.importance), 0.0), 1.0)
    return proposed.model_copy(update={"text": text, "importance": importance})


def _blank(text: str) -> bool:
    seen = visible(text).strip()
    return not any(character.isalnum() for character in seen) or fold(seen).strip(" .") in NO_WORDS


SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["operations"],
    "properties": {
        "operations": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["operation", "memory", "type", "text", "importance", "recurring", "evidence"],
                "properties": {
                    "operation": {"type": "string", "enum": ["add", "update", "delete"]},
                    "memory": {"type": ["string", "null"]},
                    "type": {"type": "string", "enum": ["preference", "fact", "episode"]},
                    "text": {"type": ["string", "null"]},
                    "importance": {"type": "number"},
                    "recurring": {"type": "boolean"},
                    "evidence": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["turn", "quote"],
                            "properties": {"turn": {"type": "string"}, "quote": {"type": "string"}},
                        },
                    },
                },
            },
        }
    },
}
"""The answer asked for, in the part of JSON Schema that strict structured output takes."""
