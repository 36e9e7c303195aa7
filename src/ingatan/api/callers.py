"""Callers: from a request to the Principal that may do what the route does.

``needs(action)`` is the only way a route learns who calls. It verifies the credential, checks the action and refuses
query parameters that the route does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, cast

from fastapi import Depends, Header, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from ingatan.access import Action, require
from ingatan.app import App
from ingatan.errors import UnknownFilter
from ingatan.types import Principal


def app_of(request: Request) -> App:
    """The App behind this request."""
    return cast(App, request.app.state.app)


Running = Annotated[App, Depends(app_of)]
IdempotencyKey = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)]


class Needs:
    """A dependency that returns the caller if they may do ``action``."""

    def __init__(self, action: Action) -> None:
        self.action = action

    def __call__(self, request: Request) -> Principal:
        app = app_of(request)
        principal = app.resolver.principal(request.headers.getlist)
        require(principal, self.action)
        _refuse_unknown_parameters(request)
        return principal


def needs(action: Action) -> Callable[..., Principal]:
    """``Depends(needs(Action.X))``: the verified caller, who may do X."""
    return Needs(action)


def _refuse_unknown_parameters(request: Request) -> None:
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    known = _query_names(route.dependant)
    for name, value in request.query_params.multi_items():
        if name not in known:
            raise UnknownFilter("A query parameter is not known here. Leave it out; see /openapi.json.")
        if not value.strip() or value.strip() in {"*", "%", "null"} or len(request.query_params.getlist(name)) > 1:
            raise UnknownFilter(f"'{name}' is blank, a wildcard or repeated. Give one value or leave it out.")


def _query_names(dependant: Dependant) -> set[str]:
    names = {field.alias for field in dependant.query_params}
    for inner in dependant.dependencies:
        names |= _query_names(inner)
    return names
