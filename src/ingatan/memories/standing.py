"""Standing: what is known of a person at the moment of deciding, read once for several candidates.

What each candidate's words bear (marks of erasures, suppressions) is read for all of them together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ingatan import erasure, subjects, suppressions
from ingatan.memories import policies, registry
from ingatan.memories.decision_context import Limits, Mode, PolicyContext, Writer
from ingatan.memories.policies import Policies
from ingatan.memories.trust import carried
from ingatan.sources import Source
from ingatan.storage.database import Connection
from ingatan.types import Candidate, Operation, Principal, Trust, Turn, least

RATE_WINDOW = erasure.SHARE_WINDOW
"""Over which the policy's rates count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What stays the same for all candidates of one act."""

    limits: Limits
    mode: Mode
    policies: Policies
    erasure_key: bytes
    now: datetime


class Standing:
    """All but the candidate that a decision depends on, in one transaction; ``refresh`` keeps it true.

    ``principal`` is whose knowledge it is, ``writer`` who proposes (themselves if not said), ``approved`` that a
    reviewer agreed, ``source`` the registered source that it is from.
    """

    def __init__(
        self,
        connection: Connection,
        principal: Principal,
        proposed: Sequence[Candidate],
        terms: Terms,
        *,
        turns: Mapping[UUID, Turn],
        writer: Writer | None = None,
        approved: bool = False,
        source: Source | None = None,
    ) -> None:
        self.principal = principal
        self.writer = writer or Writer(subject_id=principal.subject_id)
        self._approved = approved
        self._source = source
        self._stale = self._subject_stale = False
        self.settled = 0  # candidates settled over this
        self.terms = terms
        self.turns = turns
        self._proposed = tuple(proposed)
        self._marks = {id(candidate): self._marked(candidate) for candidate in proposed}
        marks = {mark for found in self._marks.values() for mark in found}
        self._erased = erasure.erased_at(connection, principal, marks)
        self._lineage = self._least(connection)
        self.read_memories(connection)
        self.read_subject(connection)

    @property
    def policy_version(self) -> str:
        """What is recorded with each decision made over this."""
        return policies.label(self.document, self._subject.policy_version)

    def changed(self, *, suppressing: bool) -> None:
        """What is remembered has changed, and where ``suppressing`` what is never to be: ``refresh`` reads it anew."""
        self._stale = True
        self._subject_stale = self._subject_stale or suppressing

    def refresh(self, connection: Connection) -> None:
        """Read anew what has changed since it was read."""
        if self._stale:
            self.read_memories(connection)
        if self._subject_stale:
            self.read_subject(connection)
        self._stale = self._subject_stale = False

    def read_memories(self, connection: Connection) -> None:
        """Read anew what is remembered."""
        self._active, self._expired = registry.standing(connection, self.principal, self.terms.now)

    def read_subject(self, connection: Connection) -> None:
        """Read anew whether they consent, and what they never want remembered."""
        self._subject, self.brought = subjects.standing(
            connection,
            self.principal,
            writer_id=self.writer.subject_id,
            source_id=next((candidate.source_id for candidate in self._proposed if candidate.source_id), None),
            since=self.terms.now - RATE_WINDOW,
        )
        self.settled = 0
        self.document = self.terms.policies.at(connection, self.principal, self._subject.policy_version)
        self._suppressed = {
            id(candidate)
            for candidate in (self._proposed if self._subject.has_suppressions else ())
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
            writer=self.writer,
            document=self.document,
            approved=self._approved,
            registered=self._source,
            lineage=self._lineage,
            rate_limited=self._rate_limited(candidate),
            erased_at=max(erased, default=None),
            suppressed=id(candidate) in self._suppressed,
            written_in_conversation=written_in_conversation,
            limits=self.terms.limits,
            mode=self.terms.mode,
            now=self.terms.now,
        )

    @property
    def writer_has_had_their_share(self) -> bool:
        """Whether the writer brought as many candidates within RATE_WINDOW as the policy lets them.

        What comes by a source is of the source's share alone.
        """
        return self._source is None and self.brought.by_writer + self.settled >= self.document.rates.actor_per_hour

    def _rate_limited(self, candidate: Candidate) -> bool:
        """Whether too many came lately; what a reviewer approved, and what asks to forget, is not held up."""
        if self._approved or candidate.operation is Operation.DELETE:
            return False
        rates, brought = self.document.rates, self.brought
        by_source = candidate.source_id is not None and brought.by_source + self.settled >= rates.source_per_hour
        by_subject = brought.by_subject + self.settled >= rates.subject_per_hour
        return by_source or by_subject or self.writer_has_had_their_share

    def trust(self, candidate: Candidate) -> Trust:
        """How far a memory of ``candidate`` carries."""
        return carried(candidate, approved=self._approved, lineage=self._lineage)

    def _least(self, connection: Connection) -> Trust | None:
        """The least trust in the lineage: the source's, where no reviewer agreed, and that of every parent."""
        found = [self._source.trust] if self._source is not None and not self._approved else []
        parents = [parent.id for candidate in self._proposed for parent in candidate.parents]
        if parents:
            found.append(registry.least_trusted(connection, self.principal, parents))
        return least(*found) if found else None

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
