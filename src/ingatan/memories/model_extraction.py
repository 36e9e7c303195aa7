"""From the turns of one conversation to candidates, by a model (S1, S2).

It points at the person's words; a reply that is not wholly as asked is refused whole, and whether and in which words
anything is kept is for the policy to say.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from uuid import UUID

from ingatan.errors import ExtractionRejected, ExtractionUnavailable
from ingatan.languages.detect import language_of
from ingatan.llm import ChatModel, ChatRequest, ModelFailed
from ingatan.memories.briefing import Briefing, briefing, parts
from ingatan.memories.extraction import ExtractionLimits, hostile, never_again, own
from ingatan.memories.quotes import clause, located
from ingatan.memories.reply import SCHEMA, Proposed, ReplyRefused, read
from ingatan.memories.slots import Slot
from ingatan.memories.statements import Statement, statements
from ingatan.prompts import load
from ingatan.types import CAPPED, Candidate, Evidence, Memory, MemoryType, Operation, Turn

PROMPT = "extraction"
PARTS_MAX = 4
BUDGET_GROWTH_MAX = 4
"""A further attempt asks in twice as many parts with twice the output budget, up to these: never the same again."""


class ModelExtractor:
    """Extraction by a chat model, behind the same protocol as the rules. No falling back: when it is down, it says so.

    ``timeout_seconds`` is the time for one conversation, however many requests that takes.
    """

    def __init__(self, model: ChatModel, *, timeout_seconds: float, output_tokens: int) -> None:
        self.model = model
        self._timeout_seconds = timeout_seconds
        self._output_tokens = output_tokens
        self._prompt = load(PROMPT)

    def extract(
        self,
        turns: Sequence[Turn],
        *,
        subject_id: UUID,
        conversation_id: UUID,
        offered: Sequence[Memory],
        recent: Sequence[Turn],
        limits: ExtractionLimits,
    ) -> tuple[Candidate, ...]:
        """See ``Extractor``. Raises ExtractionRejected or ExtractionUnavailable; then nothing of it may be used.

        A turn that, read whole, gives orders, rights or authority is not shown to the model.
        """
        ends_at = time.monotonic() + self._timeout_seconds
        shown = [turn for turn in turns if own(turn, subject_id) and not hostile(turn.text)]
        before = [turn for turn in recent if own(turn, subject_id) and not hostile(turn.text)]
        if not shown:
            return ()
        growth = 2 ** max(limits.attempt - 1, 0)
        found: list[Candidate] = []
        for part in parts(shown, min(growth, PARTS_MAX)):
            named = {candidate.target_id for candidate in found}
            added = sum(each.operation is Operation.ADD and each.type in CAPPED for each in found)
            told = briefing(
                part,
                offered=[memory for memory in offered if memory.id not in named],
                recent=before,
                additions=limits.additions - added,
                room=limits.active - sum(memory.type in CAPPED for memory in offered) - added,
                characters=limits.characters_per_memory,
            )
            budget = self._output_tokens * min(growth, BUDGET_GROWTH_MAX)
            operations = self._ask(told, budget, ends_at - time.monotonic())
            whole = {turn.id: turn for turn in (*before, *shown)}
            found += _candidates(operations, told, whole, subject_id=subject_id, conversation_id=conversation_id)
        asked = {evidence.message_id for each in found if each.never_again for evidence in each.evidence}
        heard = [turn for turn in shown if turn.id not in asked]
        return tuple(found + never_again(heard, subject_id=subject_id, conversation_id=conversation_id))

    def _ask(self, told: Briefing, output_tokens: int, seconds: float) -> list[Proposed]:
        request = ChatRequest(
            system=told.system(self._prompt),
            user=told.user(),
            schema_name="operations",
            schema=SCHEMA,
            output_tokens=output_tokens,
            seconds=seconds,
        )
        try:
            return read(self.model.answer(request), told.allowed)
        except ModelFailed as failed:
            kind = ExtractionUnavailable if failed.unavailable else ExtractionRejected
            raise kind(failed.failure.value) from None
        except ReplyRefused as refused:
            raise ExtractionRejected(refused.problem.value) from None


def _candidates(
    operations: Sequence[Proposed],
    told: Briefing,
    whole: dict[UUID, Turn],
    *,
    subject_id: UUID,
    conversation_id: UUID,
) -> list[Candidate]:
    """One candidate an operation. A quote that stands nowhere stays as it is: the policy refuses it as no evidence."""
    found: list[Candidate] = []
    for operation in operations:
        cited = [whole[told.turn(item.turn).id] for item in operation.evidence]
        quotes = [
            located(item.quote, turn.text) or item.quote for item, turn in zip(operation.evidence, cited, strict=True)
        ]
        if operation.operation is not Operation.DELETE and not operation.recurring:
            used = {evidence.quote for candidate in found for evidence in candidate.evidence}
            quotes = [
                _pointed(quote, turn, operation.text or "", used) for quote, turn in zip(quotes, cited, strict=True)
            ]
        found.append(_candidate(operation, told, cited, quotes, subject_id=subject_id, conversation_id=conversation_id))
    return found


def _pointed(quote: str, turn: Turn, text: str, used: set[str]) -> str:
    if quote not in turn.text:
        return quote
    return clause(quote, turn.text, text, used=used, language=language_of(quote))


def _candidate(
    operation: Proposed,
    told: Briefing,
    cited: Sequence[Turn],
    quotes: Sequence[str],
    *,
    subject_id: UUID,
    conversation_id: UUID,
) -> Candidate:
    target = told.memories[operation.memory] if operation.memory is not None else None
    closing = operation.operation is Operation.DELETE
    said = None if operation.recurring else _said(quotes[0], cited[0], closing=closing)
    kind, slot = operation.type, Slot.INTEREST.value if operation.recurring else None
    if operation.recurring:
        kind = MemoryType.FACT
    elif target is not None and closing:
        kind = target.type
    elif said is not None:
        kind, slot = said.type, said.slot  # what the rules read in the words outranks what the model calls it
    text = (said.text if said is not None else quotes[0]) if closing else operation.text or ""
    return Candidate(
        operation=operation.operation,
        type=kind,
        text=text,
        slot=slot,
        subject_id=subject_id,
        importance=float(operation.importance),
        language=language_of(quotes[0]),
        conversation_id=conversation_id,
        evidence=tuple(Evidence(message_id=turn.id, quote=quote) for turn, quote in zip(cited, quotes, strict=True)),
        explicit=said is not None and said.explicit,
        never_again=closing and said is not None and said.never_again,
        recurring=operation.recurring,
        target_id=None if target is None else target.id,
        effective_at=max(turn.said_at for turn in cited),
    )


def _said(quote: str, turn: Turn, *, closing: bool) -> Statement | None:
    """What the rules read in ``turn`` where ``quote`` stands, if that is one thing."""
    found = [
        statement
        for statement in statements(turn.text)
        if (statement.operation is Operation.DELETE) == closing
        and ((statement.said or statement.text) in quote or quote in (statement.said or statement.text))
    ]
    return found[0] if len(found) == 1 else None
