"""The HTTP face: JSON routes over an App. OpenAPI at /openapi.json; errors are problem+json."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ingatan import __version__
from ingatan.api import conversations, memories, problems, service
from ingatan.api.payload import BodyGate
from ingatan.app import App


def create(app: App) -> FastAPI:
    """The web application of a running ``app``; it neither starts nor closes it."""
    web = FastAPI(title="Ingatan", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    web.state.app = app
    for router in (conversations.router, memories.router, service.router):
        web.include_router(router)
    problems.install(web)
    web.add_middleware(BodyGate)
    web.openapi = lambda: _openapi(web)  # type: ignore[method-assign]
    return web


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
