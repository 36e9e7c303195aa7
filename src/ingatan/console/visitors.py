"""Visitors: from a session cookie to the person who may do what the route does. No bearer token is looked at."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Form, Request

from ingatan import demo
from ingatan.access import Action, require
from ingatan.console.labels import Labels, labels
from ingatan.console.sessions import COOKIE, Session, Sessions
from ingatan.errors import Forbidden, Unauthenticated
from ingatan.types import Principal


class SignInNeeded(Unauthenticated):
    """No session, or one that has run out (401)."""

    code = "sign_in_needed"


class FormRefused(Forbidden):
    """A form without the secret of the session it was sent from (403)."""

    code = "form_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A demo person at the page, with their session."""

    person: demo.Person
    session: Session

    @property
    def principal(self) -> Principal:
        """The person as every part of the service knows them."""
        return self.person.principal

    @property
    def labels(self) -> Labels:
        """The words of the page in the session's language."""
        return labels(self.session.language)


def person_of(subject_id: object) -> demo.Person | None:
    """The demo person with this id (UUID or its text), or None: nobody else signs in to the page."""
    return next((person for person in demo.people() if str(person.id) == str(subject_id)), None)


def visitor_of(request: Request) -> Visitor | None:
    """Who sent this request by its cookie, or None."""
    sessions = cast(Sessions, request.app.state.console_sessions)
    session = sessions.open(request.cookies.get(COOKIE))
    person = person_of(session.subject_id) if session else None
    return Visitor(person=person, session=session) if person and session else None


class Anyone:
    """The dependency of a route that needs no session."""

    action = Action.PUBLIC

    def __call__(self) -> None:
        """Nothing is asked."""


class Visits:
    """A dependency that returns the visitor if they may do ``action``. For routes that change nothing."""

    def __init__(self, action: Action) -> None:
        self.action = action

    def __call__(self, request: Request) -> Visitor:
        visitor = visitor_of(request)
        if visitor is None:
            raise SignInNeeded("Open the link that 'ingatan serve' printed.")
        require(visitor.principal, self.action)
        return visitor


class Acts:
    """A dependency that returns the visitor if they may do ``action`` and the form is one this session was given."""

    def __init__(self, action: Action) -> None:
        self.action = action
        self._visits = Visits(action)

    def __call__(self, request: Request, csrf: Annotated[str, Form()] = "") -> Visitor:
        visitor = self._visits(request)
        if not hmac.compare_digest(csrf.encode(errors="surrogatepass"), visitor.session.csrf.encode()):
            raise FormRefused("This form is not from your session. Load the page again.")
        return visitor
