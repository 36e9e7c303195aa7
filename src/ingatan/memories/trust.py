"""Trust: how far what a candidate says would carry, by where it comes from. Pure."""

from __future__ import annotations

from ingatan.types import Candidate, MemoryType, SourceKind, Trust, least

_TRUST = {
    SourceKind.EXTERNAL: Trust.UNVERIFIED,
    SourceKind.DOCUMENT: Trust.UNVERIFIED,
    SourceKind.TURN: Trust.STATED,
    SourceKind.SELF: Trust.CONFIRMED,
    SourceKind.SETTINGS: Trust.CONFIRMED,
    SourceKind.EVENT: Trust.SIGNED,
    SourceKind.APPROVAL: Trust.REVIEWED,
}


def carried(candidate: Candidate, *, approved: bool, lineage: Trust | None) -> Trust:
    """As its source, as a reviewer where one ``approved``, and never further than its ``lineage``.

    What happened, told in a conversation, is not verified by telling it.
    """
    trust = _TRUST[candidate.source]
    if approved:
        trust = Trust.REVIEWED
    elif candidate.type is MemoryType.EPISODE and candidate.source is not SourceKind.EVENT:
        trust = Trust.UNVERIFIED
    return trust if lineage is None else least(trust, lineage)
