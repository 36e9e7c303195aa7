"""Who may write what, and who has to agree: the part of a decision that the policy document governs. Pure.

A document can ask for more people to agree, or for fewer types and purposes; no document lets a check be left out.
"""

from __future__ import annotations

from dataclasses import replace

from ingatan.memories.decision_context import PolicyContext
from ingatan.memories.policy_document import Origin, origin
from ingatan.screening import SECURITY_REASONS
from ingatan.sources import allowed
from ingatan.types import Candidate, Decision, MemoryType, Operation, Outcome, Reason, Scope, SourceKind

_SIGNED = frozenset({SourceKind.SETTINGS, SourceKind.EVENT, SourceKind.APPROVAL})
_PASSED_ON = frozenset({SourceKind.EXTERNAL, SourceKind.DOCUMENT})
_WITHOUT_PEOPLE = frozenset({Origin.EXTERNAL, Origin.DOCUMENT})


def refused(candidate: Candidate, context: PolicyContext) -> Reason | None:
    """Why this writer may not write this at all, whatever it says; None if they may."""
    source = context.registered
    if source is not None and source.revoked_at is not None:
        return Reason.SOURCE_REVOKED
    purposes = context.document.purposes_of(candidate) if candidate.type in context.document.types else ()
    if source is not None and not allowed(source, type=candidate.type, scope=candidate.scope, purposes=purposes):
        return Reason.NO_AUTHORITY
    if not _has_authority(candidate, context):
        return Reason.NO_AUTHORITY
    if candidate.operation is Operation.DELETE:
        return None
    kind = context.document.types.get(candidate.type)
    if kind is None or (candidate.type is MemoryType.KNOWLEDGE and candidate.source is not SourceKind.DOCUMENT):
        return Reason.TYPE
    if candidate.scope not in kind.scopes:
        return Reason.SCOPE
    if not set(candidate.purposes) <= set(context.document.purposes):
        return Reason.PURPOSE
    return None if candidate.classification in context.document.classifications else Reason.CLASSIFICATION


def _has_authority(candidate: Candidate, context: PolicyContext) -> bool:
    writer = context.writer
    if candidate.source in _SIGNED or candidate.source in _PASSED_ON:
        return writer.is_service or (candidate.source is SourceKind.SETTINGS and writer.account_admin)
    if candidate.scope is Scope.ORGANISATION:
        return False  # what a person says about themselves never becomes the organisation's truth
    if candidate.scope is Scope.ACCOUNT:
        return writer.account_admin and not writer.is_service
    own = writer.subject_id == candidate.subject_id
    return own and not writer.is_service if candidate.source is SourceKind.SELF else own or writer.is_service


def set_aside(text: str, reasons: tuple[Reason, ...], context: PolicyContext) -> Decision:
    """The decision for what screening refused. Only orders, grants and claims of authority may wait for a reviewer."""
    if context.document.security.decision == "quarantine" and set(reasons) <= SECURITY_REASONS:
        return Decision(outcome=Outcome.QUARANTINE, reasons=reasons, text=text)
    return Decision(outcome=Outcome.REJECT, reasons=reasons)


def routed(candidate: Candidate, decision: Decision, context: PolicyContext) -> Decision:
    """``decision``, or a wait for a reviewer where the policy asks for one. Said again by the person, it needs none."""
    if decision.outcome is not Outcome.ACCEPT or context.approved:
        return decision
    said_again = decision.reinforces is not None and not decision.closes
    if said_again and origin(candidate) not in _WITHOUT_PEOPLE:
        return decision
    outcome = context.document.outcome(candidate)
    if outcome is Outcome.ACCEPT:
        return decision
    reason = Reason.UNTRUSTED if outcome is Outcome.QUARANTINE else Reason.NEEDS_REVIEW
    if outcome is Outcome.REJECT:
        return Decision(outcome=outcome, reasons=(Reason.UNTRUSTED,))
    return replace(decision, outcome=outcome, reasons=(reason,), closes=(), reinforces=None)
