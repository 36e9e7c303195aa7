"""The first page: what a person sees and changes of what is remembered about them, in a browser.

Sessions exist in development only, for the people of the demo. The API takes no cookie and the page takes no token.
"""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import FastAPI
from fastapi.routing import APIRoute

from ingatan.access import Action
from ingatan.app import App
from ingatan.console import reviewing, routes
from ingatan.console.pages import Pages
from ingatan.console.sessions import SignInLink
from ingatan.console.visitors import Acts, Anyone, Visits
from ingatan.settings import Environment


def install(web: FastAPI, app: App) -> str | None:
    """Add the page to ``web``; returns the path of the one-time sign-in link, or None in production."""
    in_development = app.settings.environment is Environment.DEVELOPMENT
    link = SignInLink() if in_development else None
    pages = Pages(app, link=link)
    web.state.console, web.state.console_sessions = pages, pages.sessions
    web.include_router(routes.everywhere)
    if in_development:
        web.include_router(reviewing.router)
    web.include_router(routes.development if in_development else routes.production)
    return f"/sign-in?{urlencode({'once': link.value})}" if link else None


def actions() -> list[tuple[str, str, Action]]:
    """Method, path and action of every console route, those of development and of production; for the policy test."""
    table: list[tuple[str, str, Action]] = []
    for router in (routes.everywhere, reviewing.router, routes.development, routes.production):
        for route in router.routes:
            if isinstance(route, APIRoute):
                asked = [item.call for item in route.dependant.dependencies]
                [action] = [call.action for call in asked if isinstance(call, Anyone | Visits | Acts)]
                table += [(method, route.path, action) for method in sorted(route.methods or ())]
    return table
