"""The HTTP face: JSON routes over an App. OpenAPI at /openapi.json; errors are problem+json."""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from ingatan import __version__
from ingatan.access import Action
from ingatan.api import (
    accounts,
    consent,
    conversations,
    episodes,
    memories,
    metrics,
    policy,
    problems,
    review,
    service,
    sources,
    workspaces,
)
from ingatan.api.payload import BodyGate
from ingatan.app import App


def create(app: App) -> FastAPI:
    """The web application of a running ``app``; it neither starts nor closes it."""
    web = FastAPI(title="Ingatan", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    web.state.app = app
    routers = (
        conversations, workspaces, memories, review, policy, consent, accounts, sources, episodes, service, metrics,
    )  # fmt: skip
    for router in (module.router for module in routers):
        web.include_router(router)
    problems.install(web)
    web.add_middleware(BodyGate)
    web.add_middleware(metrics.RequestMeter)
    web.openapi = lambda: _openapi(web)  # type: ignore[method-assign]
    return web


def actions() -> list[tuple[tuple[str, str], Action]]:
    """Every route of the API, (method, path), with the action it needs; PUBLIC where it needs none."""
    web = create(cast(App, None))
    found: list[tuple[tuple[str, str], Action]] = []
    for context in iter_route_contexts(web.routes):
        if isinstance(context.original_route, APIRoute):
            needed = _declared(context.dependant) or [Action.PUBLIC]
            found += [((method, context.path or ""), needed[0]) for method in sorted(context.methods or ())]
    return found


def _declared(dependant: Dependant) -> list[Action]:
    action = getattr(dependant.call, "action", None)
    own = [action] if isinstance(action, Action) else []
    return own + [inner for dependency in dependant.dependencies for inner in _declared(dependency)]


def _openapi(web: FastAPI) -> dict[str, Any]:
    """The schema, with our error shape in place of the framework's."""
    if web.openapi_schema is None:
        schema = get_openapi(title=web.title, version=web.version, routes=web.routes)
        schemas = schema.setdefault("components", {}).setdefault("schemas", {})
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        schemas["Problem"] = problems.SCHEMA
        answer = {"content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
        for path in schema["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
                operation["responses"]["default"] = {"description": "A problem: what to do next.", **answer}
        schemas_security = schema["components"].setdefault("securitySchemes", {})
        schemas_security["bearer"] = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
        schema["security"] = [{"bearer": []}]
        web.openapi_schema = schema
    return web.openapi_schema
