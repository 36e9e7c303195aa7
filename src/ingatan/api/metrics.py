"""/metrics, and the middleware that times requests by their route's template."""

from __future__ import annotations

import hmac
import time
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ingatan.access import Action
from ingatan.api.callers import Needs, Running
from ingatan.app import App
from ingatan.errors import IngatanError
from ingatan.memories import embedding_models
from ingatan.metrics import OTHER
from ingatan.projections import SYSTEM
from ingatan.types import Principal, Role

router = APIRouter()
SCRAPER = Principal(SYSTEM.tenant_id, SYSTEM.subject_id, roles=frozenset[Role]())
"""Who reads metrics by the token of the settings: nobody with any other right."""


class Scrapes(Needs):
    """The caller may read metrics: by role, or by the token of ``SERVER__METRICS_TOKEN``."""

    def __call__(self, request: Request) -> Principal:
        app: App = request.app.state.app
        token = app.settings.server.metrics_token.get_secret_value()
        given = request.headers.getlist("authorization")
        if token and len(given) == 1:
            scheme, _, said = given[0].partition(" ")
            if scheme.lower() == "bearer" and hmac.compare_digest(said.strip().encode(), token.encode()):
                return SCRAPER
        return super().__call__(request)


@router.get("/metrics", tags=["health"])
def metrics(app: Running, caller: Annotated[Principal, Depends(Scrapes(Action.METRICS_READ))]) -> Response:
    """What the service did and what waits, in Prometheus's text format; no id and no text of anybody."""
    _look(app)
    return Response(app.metrics.text(), media_type=CONTENT_TYPE_LATEST)


def _look(app: App) -> None:
    """Read what waits; the counters are answered even when the database is not."""
    pool = app.database.pool_usage()
    app.metrics.set("pool_connections", {("open",): pool.open, ("idle",): pool.idle, ("limit",): pool.limit})
    app.metrics.set("pool_requests_waiting", {(): pool.waiting})
    try:
        with app.database.jobs() as connection:
            waiting = embedding_models.waiting(connection)
            counted = connection.one("metrics.waiting")
        with app.database.read(SYSTEM) as connection:
            models = embedding_models.models(connection)
    except IngatanError:
        app.metrics.set("database_up", {(): 0})
        return
    app.metrics.set("database_up", {(): 1})
    live = {model.id: model for model in models if model.state in embedding_models.LIVE}
    none = embedding_models.Waiting()
    app.metrics.set("vectors_pending", {(model.name,): waiting.get(id, none).all for id, model in live.items()})
    serving = embedding_models.State.SERVING
    app.metrics.set("embedding_model_serves", {(model.name,): model.state is serving for model in live.values()})
    app.metrics.set("audit_rows_waiting", {(): counted.audit_rows if counted else 0})
    app.metrics.set("spans_set_aside", {(): counted.abandoned if counted else 0})


class RequestMeter:
    """Times every request; one that reached no route counts as OTHER, so that no address becomes a label."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and report it when its answer is complete."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            running: App = scope["app"].state.app
            route = getattr(scope.get("route"), "path", OTHER)
            running.metrics.request(scope["method"], str(route), status, time.perf_counter() - started)
