"""Every route with the action it needs: a new route without a line here fails, and so does a line without a route."""

from __future__ import annotations

import pytest

from ingatan import api, console
from ingatan.access import GRANTS, Action, allowed
from ingatan.types import Principal, Role, new_id

ROUTES = {
    ("POST", "/conversations"): Action.CONVERSATION_WRITE,
    ("GET", "/conversations"): Action.CONVERSATION_READ,
    ("GET", "/conversations/{id}"): Action.CONVERSATION_READ,
    ("PATCH", "/conversations/{id}"): Action.CONVERSATION_WRITE,
    ("DELETE", "/conversations/{id}"): Action.CONVERSATION_WRITE,
    ("POST", "/conversations/{id}/messages"): Action.CONVERSATION_WRITE,
    ("GET", "/conversations/{id}/messages"): Action.CONVERSATION_READ,
    ("GET", "/conversations/{id}/window"): Action.CONVERSATION_READ,
    ("POST", "/workspaces"): Action.WORKSPACE_WRITE,
    ("GET", "/workspaces"): Action.WORKSPACE_READ,
    ("GET", "/workspaces/{id}"): Action.WORKSPACE_READ,
    ("PATCH", "/workspaces/{id}"): Action.WORKSPACE_WRITE,
    ("DELETE", "/workspaces/{id}"): Action.WORKSPACE_WRITE,
    ("GET", "/workspaces/{id}/members"): Action.WORKSPACE_READ,
    ("POST", "/workspaces/{id}/members"): Action.WORKSPACE_WRITE,
    ("PUT", "/workspaces/{id}/members/{subject_id}"): Action.WORKSPACE_WRITE,
    ("DELETE", "/workspaces/{id}/members/{subject_id}"): Action.WORKSPACE_WRITE,
    ("GET", "/memories"): Action.MEMORY_READ,
    ("GET", "/memories/{id}"): Action.MEMORY_READ,
    ("GET", "/memories/{id}/versions"): Action.MEMORY_READ,
    ("PATCH", "/memories/{id}"): Action.MEMORY_WRITE,
    ("DELETE", "/memories/{id}"): Action.MEMORY_ERASE,
    ("DELETE", "/memories"): Action.MEMORY_ERASE,
    ("POST", "/candidates"): Action.CANDIDATE_PROPOSE,
    ("GET", "/candidates"): Action.CANDIDATE_READ,
    ("POST", "/candidates/{id}/appeal"): Action.CANDIDATE_CONTEST,
    ("POST", "/candidates/{id}/withdraw"): Action.CANDIDATE_CONTEST,
    ("GET", "/review/candidates"): Action.REVIEW_READ,
    ("GET", "/review/candidates/{id}"): Action.REVIEW_READ,
    ("POST", "/review/candidates/bulk"): Action.REVIEW_DECIDE,
    ("POST", "/review/candidates/{id}/approve"): Action.REVIEW_DECIDE,
    ("POST", "/review/candidates/{id}/reject"): Action.REVIEW_DECIDE,
    ("GET", "/policy"): Action.POLICY_READ,
    ("PUT", "/policy"): Action.POLICY_WRITE,
    ("GET", "/policy/versions"): Action.POLICY_READ,
    ("GET", "/policy/versions/{version}"): Action.POLICY_READ,
    ("GET", "/policy/report"): Action.POLICY_REPORT,
    ("GET", "/alerts"): Action.ALERT_READ,
    ("GET", "/consent"): Action.MEMORY_READ,
    ("PUT", "/consent"): Action.CONSENT_WRITE,
    ("POST", "/consent/never-again"): Action.CONSENT_WRITE,
    ("DELETE", "/consent/never-again/{id}"): Action.CONSENT_WRITE,
    ("POST", "/accounts"): Action.ACCOUNT_MAKE,
    ("GET", "/accounts"): Action.ACCOUNT_READ,
    ("GET", "/accounts/{id}"): Action.ACCOUNT_READ,
    ("GET", "/accounts/{id}/members"): Action.ACCOUNT_READ,
    ("PUT", "/accounts/{id}/members/{subject_id}"): Action.ACCOUNT_MANAGE,
    ("DELETE", "/accounts/{id}/members/{subject_id}"): Action.ACCOUNT_MANAGE,
    ("POST", "/sources"): Action.SOURCE_WRITE,
    ("GET", "/sources"): Action.SOURCE_READ,
    ("GET", "/sources/{id}"): Action.SOURCE_READ,
    ("POST", "/sources/{id}/revoke"): Action.SOURCE_WRITE,
    ("POST", "/batches"): Action.BATCH_OPEN,
    ("POST", "/batches/{id}/rollback"): Action.SOURCE_WRITE,
    ("POST", "/episodes"): Action.EPISODE_WRITE,
    ("POST", "/recall"): Action.RECALL,
    ("GET", "/audit"): Action.AUDIT_READ,
    ("GET", "/audit/verify"): Action.AUDIT_VERIFY,
    ("GET", "/metrics"): Action.METRICS_READ,
    ("GET", "/healthz"): Action.PUBLIC,
    ("GET", "/readyz"): Action.PUBLIC,
}


def test_every_route_needs_its_action() -> None:
    assert sorted(api.actions()) == sorted(ROUTES.items())


PAGE = {
    ("GET", "/", Action.MEMORY_READ),  # in development, with a session
    ("GET", "/", Action.PUBLIC),  # in production: a notice, no data
    ("GET", "/sign-in", Action.PUBLIC),
    ("GET", "/console/static/{name}", Action.PUBLIC),
    ("GET", "/console/{act}", Action.PUBLIC),  # a form's address opened by hand: back to the page
    ("POST", "/console/say", Action.CONVERSATION_WRITE),
    ("POST", "/console/correct", Action.MEMORY_WRITE),
    ("POST", "/console/erase", Action.MEMORY_ERASE),
    ("POST", "/console/erase-everything", Action.MEMORY_ERASE),
    ("GET", "/review", Action.REVIEW_READ),
    ("POST", "/console/approve", Action.REVIEW_DECIDE),
    ("POST", "/console/reject", Action.REVIEW_DECIDE),
    ("POST", "/console/appeal", Action.CANDIDATE_CONTEST),
    ("POST", "/console/withdraw", Action.CANDIDATE_CONTEST),
    ("POST", "/console/consent", Action.CONSENT_WRITE),
    ("POST", "/console/recall", Action.RECALL),
    ("POST", "/console/person", Action.PUBLIC),  # the session itself: form token needed, nothing of a person's is read
    ("POST", "/console/language", Action.PUBLIC),
    ("POST", "/console/sign-out", Action.PUBLIC),
}


def test_every_route_of_the_page_needs_its_action() -> None:
    assert set(console.actions()) == PAGE


def test_nothing_but_public_routes_answers_without_a_role() -> None:
    nobody = Principal(new_id(), new_id(), roles=frozenset())
    assert [action for action in Action if allowed(nobody, action)] == [Action.PUBLIC]


@pytest.mark.parametrize(
    ("role", "may", "may_not"),
    [
        (Role.USER, Action.MEMORY_ERASE, Action.AUDIT_READ),
        (Role.USER, Action.RECALL, Action.SYSTEM_TURN_WRITE),
        (Role.AUDITOR, Action.AUDIT_READ, Action.MEMORY_READ),
        (Role.ADMIN, Action.AUDIT_VERIFY, Action.MEMORY_READ),
        (Role.REVIEWER, Action.REVIEW_DECIDE, Action.POLICY_WRITE),
        (Role.ADMIN, Action.POLICY_WRITE, Action.REVIEW_DECIDE),
        (Role.USER, Action.CANDIDATE_CONTEST, Action.REVIEW_READ),
        (Role.WRITER, Action.SYSTEM_TURN_WRITE, Action.MEMORY_READ),
    ],
)
def test_roles_are_narrow(role: Role, may: Action, may_not: Action) -> None:
    principal = Principal(new_id(), new_id(), roles=frozenset({role}))
    assert allowed(principal, may)
    assert not allowed(principal, may_not)


def test_every_role_is_in_the_table() -> None:
    assert GRANTS.keys() == set(Role)
