"""What becomes of a model's replies: ModelExtractor and the real policy over one conversation, counted.

Every memory is checked once more on its own: it must be a verbatim stretch of a turn it cites, or be licensed by the
quote it cites; anything else counts as invented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ingatan.errors import ExtractionFailed
from ingatan.memories import policy
from ingatan.memories.decision_context import PolicyContext, Writer
from ingatan.memories.extraction import ExtractionLimits
from ingatan.memories.model_extraction import ModelExtractor
from ingatan.memories.support import licensed, recurring
from ingatan.types import Candidate, Memory, MessageRole, Operation, Outcome, Turn, new_id


@dataclass(slots=True)
class Outcomes:
    """Counts over some conversations. ``model_words`` were kept as the model put them, ``copied`` are those among them
    that only repeat the turn, ``own_words`` were kept in the person's clause in place of the model's text."""

    conversations: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    proposed: int = 0
    model_words: int = 0
    copied: int = 0
    own_words: int = 0
    known: int = 0
    closed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    invented: int = 0

    @property
    def kept(self) -> int:
        """Memories written."""
        return self.model_words + self.own_words

    def add(self, other: Outcomes) -> None:
        """Add the counts of ``other``."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def __str__(self) -> str:
        return (
            f"{self.conversations} replies, refused whole {sum(self.failed.values())} "
            f"{dict(self.failed.most_common())}; "
            f"proposals {self.proposed}: kept in the model's words {self.model_words} (of these copied {self.copied}), "
            f"in the person's words {self.own_words}, known already {self.known}, closed {self.closed}, refused "
            f"{sum(self.refused.values())} {dict(self.refused.most_common())}; invented {self.invented}"
        )


def turn(text: str, seq: int, subject: UUID, *, role: MessageRole = MessageRole.USER) -> Turn:
    """A turn as it would be read from the database, said a while ago."""
    at = datetime.now(UTC) - timedelta(hours=1) + timedelta(seconds=seq)
    author = subject if role is MessageRole.USER else None
    return Turn(id=new_id(), seq=seq, role=role, author_id=author, text=text, said_at=at, received_at=at)


def run(
    extractor: ModelExtractor,
    turns: Sequence[Turn],
    subject: UUID,
    outcomes: Outcomes,
    *,
    limits: ExtractionLimits,
    offered: Sequence[Memory] = (),
) -> list[str]:
    """Extract and decide as the sweep does; count, and return the texts kept."""
    outcomes.conversations += 1
    try:
        found = extractor.extract(
            turns, subject_id=subject, conversation_id=new_id(), offered=offered, recent=[], limits=limits
        )
    except ExtractionFailed as failure:
        outcomes.failed[failure.reason] += 1
        return []
    by_id = {turn.id: turn for turn in turns}
    context = PolicyContext(turns=by_id, active=offered, writer=Writer(subject_id=subject), now=datetime.now(UTC))
    kept: dict[str, None] = {}
    for candidate in found:
        outcomes.proposed += 1
        decision = policy.decide(candidate, context=context)
        if decision.outcome is not Outcome.ACCEPT:
            outcomes.refused[decision.reasons[0].value] += 1
        elif candidate.operation is Operation.DELETE:
            outcomes.closed += 1
        elif decision.reinforces is not None or decision.text in kept:
            outcomes.known += 1
        else:
            kept[decision.text] = None
            by_model = decision.text == candidate.text
            outcomes.model_words += by_model
            outcomes.own_words += not by_model
            outcomes.copied += by_model and any(decision.text in each.text for each in turns)
            outcomes.invented += not stands(decision.text, candidate, by_id)
    return list(kept)


def stands(text: str, candidate: Candidate, turns: dict[UUID, Turn]) -> bool:
    """Whether ``text`` is the person's own words in a turn it cites, or licensed by a quote from one."""
    cited = [(evidence.quote, turns[evidence.message_id]) for evidence in candidate.evidence]
    if not all(turn.role is MessageRole.USER and quote in turn.text for quote, turn in cited):
        return False
    if any(text in turn.text for _, turn in cited):
        return True
    if candidate.recurring:
        return recurring(text, [quote for quote, _ in cited])
    return any(licensed(text, quote, language=candidate.language) for quote, _ in cited)
