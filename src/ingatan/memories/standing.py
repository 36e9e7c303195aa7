"""Standing: what is known of a person at the moment of deciding, read once for several candidates.

What each candidate's words bear (marks of erasures, wishes never to remember) is read for all of them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ingatan import erasure, subjects, suppressions
from ingatan.memories import registry
from ingatan.memories.decision_context import Limits, Mode, PolicyContext, Writer
from ingatan.storage.database import Connection
from ingatan.types import Candidate, Principal, Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What stays the same for all candidates of one act."""

    limits: Limits
    mode: Mode
    erasure_key: bytes
    now: datetime


class Standing:
    """All but the candidate that a decision depends on, in one transaction; the ``read_`` methods keep it true."""

    def __init__(
        self,
        connection: Connection,
        principal: Principal,
        proposed: Sequence[Candidate],
        terms: Terms,
        *,
        turns: Mapping[UUID, Turn],
    ) -> None:
        self.principal = principal
        self.terms = terms
        self.turns = turns
        self._proposed = tuple(proposed)
        self._marks = {id(candidate): self._marked(candidate) for candidate in proposed}
        marks = {mark for found in self._marks.values() for mark in found}
        self._erased = erasure.erased_at(connection, principal, marks)
        self.read_memories(connection)
        self.read_wishes(connection)

    def read_memories(self, connection: Connection) -> None:
        """Read anew what is remembered."""
        self._active, self._expired = registry.standing(connection, self.principal, self.terms.now)

    def read_wishes(self, connection: Connection) -> None:
        """Read anew whether they consent, and what they never want remembered."""
        self._subject = subjects.read(connection, self.principal)
        self._suppressed = {
            id(candidate)
            for candidate in (self._proposed if self._subject.has_wishes else ())
            if suppressions.held(connection, self.principal, self._borne(candidate))
        }

    def context(self, candidate: Candidate, written_in_conversation: int = 0) -> PolicyContext:
        """What the policy needs to know about the person and ``candidate``, one of those proposed."""
        erased = [self._erased[mark] for mark in self._marks[id(candidate)] if mark in self._erased]
        return PolicyContext(
            turns=self.turns,
            active=self._active,
            expired=self._expired,
            consent=self._subject.consent,
            writer=Writer(subject_id=self.principal.subject_id),
            erased_at=max(erased, default=None),
            suppressed=id(candidate) in self._suppressed,
            written_in_conversation=written_in_conversation,
            limits=self.terms.limits,
            mode=self.terms.mode,
            now=self.terms.now,
        )

    def _marked(self, candidate: Candidate) -> list[bytes]:
        return erasure.marks(
            self.terms.erasure_key,
            self.principal.subject_id,
            texts=_texts(candidate),
            slot=candidate.slot,
            turns=[evidence.message_id for evidence in candidate.evidence],
        )

    def _borne(self, candidate: Candidate) -> suppressions.Borne:
        return suppressions.borne(
            self.terms.erasure_key, self.principal.subject_id, texts=_texts(candidate), slot=candidate.slot
        )


def _texts(candidate: Candidate) -> list[str]:
    return [candidate.text, *(evidence.quote for evidence in candidate.evidence)]
