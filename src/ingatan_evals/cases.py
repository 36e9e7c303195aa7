"""Cases: what people say and do in order, and what must be true afterwards. Read from ``suites/*.jsonl``.

Each line is one case of a person nobody has met. The texts are ours, written for this and for nothing else: no rule and
no model was made with them.
"""

from __future__ import annotations

from enum import StrEnum
from importlib import resources
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ingatan.errors import StartRefused
from ingatan.languages import CODES
from ingatan.types import MemoryType


class Suite(StrEnum):
    """What a case is about."""

    MUST_WRITE = "must_write"
    MUST_NOT_WRITE = "must_not_write"
    CHANGE = "change"
    RECALL = "recall"


class Record(BaseModel):
    """Base of everything read from a line: frozen, unknown names refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Match(Record):
    """A memory whose text holds every word of ``has`` (any case), of this type if one is given."""

    has: Annotated[tuple[str, ...], Field(min_length=1)]
    type: MemoryType | None = None


class Turn(Record):
    """Something said in a conversation by someone other than the asker."""

    role: Literal["assistant", "tool", "user"]
    text: str


class Say(Record):
    """A whole conversation of the asker, which then ends; plain texts are the asker's."""

    do: Literal["say"]
    turns: Annotated[tuple[str | Turn, ...], Field(min_length=1)]


class State(Record):
    """Something a person states directly. ``by`` other is of the same tenant, foreign of another one."""

    do: Literal["state"]
    text: str
    type: MemoryType
    by: Literal["asker", "other", "foreign"] = "asker"


class Erase(Record):
    """The asker erases the one memory that matches."""

    do: Literal["erase"]
    memory: Match


class Correct(Record):
    """The asker corrects the one memory that matches."""

    do: Literal["correct"]
    memory: Match
    text: str


class Ask(Record):
    """A question: what must be recalled at all, what first, and what never; ``nothing`` means an empty answer."""

    do: Literal["ask"]
    query: str
    recalled: tuple[Match, ...] = ()
    first: Match | None = None
    not_recalled: tuple[Match, ...] = ()
    nothing: bool = False


Step = Annotated[Say | State | Erase | Correct | Ask, Field(discriminator="do")]


class Expected(Record):
    """What must be true at the end: exactly these active memories, these reasons among the decisions, these events."""

    memories: tuple[Match, ...] | None = None
    reasons: tuple[str, ...] = ()
    audit: tuple[str, ...] = ()


class Case(Record):
    """One case. ``kind`` groups cases in the report; ``why`` says what it is for."""

    id: str
    suite: Suite
    language: Literal["en", "id", "vi"]
    kind: str
    why: str = ""
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    expect: Expected = Expected()


def read(suites: tuple[Suite, ...] = tuple(Suite), languages: tuple[str, ...] = CODES) -> list[Case]:
    """All shipped cases of these suites and languages, in the order of the files. StartRefused for a malformed line."""
    found: list[Case] = []
    root = resources.files("ingatan_evals").joinpath("suites")
    for file in sorted(root.iterdir(), key=lambda each: each.name):
        if not file.name.endswith(".jsonl"):
            continue
        for n, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            if line.strip():
                found.append(_case(file.name, n, line))
    if len({case.id for case in found}) != len(found):
        raise StartRefused("Two cases have the same id.")
    return [case for case in found if case.suite in suites and case.language in languages]


def _case(file: str, n: int, line: str) -> Case:
    try:
        return Case.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise StartRefused(f"{file}, line {n}: {where}: {first['msg']}") from None
