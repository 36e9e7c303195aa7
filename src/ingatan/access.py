"""Access: one pure function says whether a principal may act. Which rows it then sees is row-level security's part.

An action the role lacks is Forbidden (403); an object that is not the caller's is NotFound (404), the same as one that
does not exist.
"""

from __future__ import annotations

from enum import StrEnum

from ingatan.errors import Forbidden
from ingatan.types import Principal, Role


class Action(StrEnum):
    """Everything a caller can ask for. Each route and command names one (tests/test_route_policy.py)."""

    PUBLIC = "public"
    CONVERSATION_READ = "conversation.read"
    CONVERSATION_WRITE = "conversation.write"
    SYSTEM_TURN_WRITE = "system_turn.write"
    WORKSPACE_READ = "workspace.read"
    WORKSPACE_WRITE = "workspace.write"
    MEMORY_READ = "memory.read"
    MEMORY_WRITE = "memory.write"
    MEMORY_ERASE = "memory.erase"
    CONSENT_WRITE = "consent.write"
    CANDIDATE_READ = "candidate.read"
    CANDIDATE_PROPOSE = "candidate.propose"
    ACCOUNT_READ = "account.read"
    ACCOUNT_MAKE = "account.make"
    ACCOUNT_MANAGE = "account.manage"
    SOURCE_READ = "source.read"
    SOURCE_WRITE = "source.write"
    BATCH_OPEN = "batch.open"
    EPISODE_WRITE = "episode.write"
    CANDIDATE_CONTEST = "candidate.contest"
    REVIEW_READ = "review.read"
    REVIEW_DECIDE = "review.decide"
    POLICY_READ = "policy.read"
    POLICY_WRITE = "policy.write"
    POLICY_REPORT = "policy.report"
    ALERT_READ = "alert.read"
    RECALL = "recall"
    AUDIT_READ = "audit.read"
    AUDIT_VERIFY = "audit.verify"
    METRICS_READ = "metrics.read"


_PERSON = frozenset(
    {
        Action.CONVERSATION_READ, Action.CONVERSATION_WRITE, Action.WORKSPACE_READ, Action.WORKSPACE_WRITE,
        Action.MEMORY_READ, Action.MEMORY_WRITE, Action.MEMORY_ERASE, Action.CONSENT_WRITE, Action.CANDIDATE_READ,
        Action.CANDIDATE_PROPOSE, Action.CANDIDATE_CONTEST, Action.ACCOUNT_READ, Action.ACCOUNT_MANAGE, Action.RECALL,
        Action.POLICY_READ,
    }
)  # fmt: skip

GRANTS: dict[Role, frozenset[Action]] = {
    Role.USER: _PERSON,
    Role.WRITER: frozenset(
        {
            Action.CONVERSATION_READ, Action.CONVERSATION_WRITE, Action.SYSTEM_TURN_WRITE, Action.CANDIDATE_PROPOSE,
            Action.BATCH_OPEN, Action.EPISODE_WRITE, Action.POLICY_READ,
        }
    ),
    Role.REVIEWER: frozenset(
        {Action.REVIEW_READ, Action.REVIEW_DECIDE, Action.POLICY_READ, Action.POLICY_REPORT, Action.SOURCE_READ}
    ),
    Role.AUDITOR: frozenset(
        {
            Action.AUDIT_READ, Action.AUDIT_VERIFY, Action.METRICS_READ, Action.POLICY_READ, Action.ALERT_READ,
            Action.SOURCE_READ,
        }
    ),
    Role.ADMIN: frozenset(
        {
            Action.AUDIT_VERIFY, Action.METRICS_READ, Action.POLICY_READ, Action.POLICY_WRITE, Action.POLICY_REPORT,
            Action.ALERT_READ, Action.ACCOUNT_READ, Action.ACCOUNT_MAKE, Action.ACCOUNT_MANAGE, Action.SOURCE_READ,
            Action.SOURCE_WRITE, Action.BATCH_OPEN,
        }
    ),
}  # fmt: skip
"""What each role may do, on its own data unless the action says otherwise. Nothing is implied by another role."""


def allowed(principal: Principal, action: Action) -> bool:
    """True if any role of ``principal`` includes ``action``. Pure; no role means nothing but PUBLIC."""
    return action is Action.PUBLIC or any(action in GRANTS[role] for role in principal.roles)


def require(principal: Principal, action: Action) -> None:
    """Raise Forbidden unless ``allowed(principal, action)``."""
    if not allowed(principal, action):
        raise Forbidden(f"Your role does not include '{action.value}'. Ask your administrator for it.")
