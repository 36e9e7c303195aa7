"""Pages: templates become answers. One place for the headers that keep a page full of strangers' words harmless."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from typing import Any, cast
from uuid import UUID

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined

from ingatan import demo
from ingatan.api.bodies import REJECTIONS
from ingatan.app import App
from ingatan.console import view
from ingatan.console.labels import LANGUAGES, Labels, labels, preferred
from ingatan.console.sessions import Sessions, SignInLink
from ingatan.console.visitors import SignInNeeded, Visitor, visitor_of
from ingatan.conversations import Message
from ingatan.erasure import Receipt
from ingatan.errors import BadRequest, IngatanError
from ingatan.memories.packet import Packet
from ingatan.memories.queue import Item, Waiting
from ingatan.telemetry import Event, event
from ingatan.types import Reason, new_id

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STATIC = {"style.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}
"""The files that are served, with their type; nothing else is."""

REMOVED = ("memories", "versions", "quotes", "vectors", "vectors_pending", "use_counters", "candidates")
"""What a receipt counts, in the order in which it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an act led to, shown once on the page that answers it. Sentences are in the visitor's language."""

    alert: str = ""
    status: int = 200
    said: str = ""
    memory_id: UUID | None = None
    text: str = ""
    reasons: tuple[str, ...] = ()
    receipt: Receipt | None = None
    kept: tuple[Message, ...] = ()
    question: str = ""
    packet: Packet | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """What the reviewer's page shows: what waits, the chosen one, the cursor behind it, and what was just done."""

    waiting: tuple[Waiting, ...]
    item: Item | None
    following: str | None
    done: str


class Pages:
    """Renders the pages of ``app``. ``link`` is None where nobody can sign in (production)."""

    def __init__(self, app: App, *, link: SignInLink | None) -> None:
        self.app = app
        self.link = link
        self.sessions = Sessions(app.secrets.sessions)
        self.static = {name: _static(name) for name in STATIC}
        self._templates = Environment(
            loader=PackageLoader("ingatan.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals["asset"] = self._asset
        self._templates.filters["moment"] = moment

    def first(
        self,
        visitor: Visitor,
        *,
        conversation_id: UUID | None = None,
        fresh: bool = False,
        outcome: Outcome | None = None,
    ) -> Response:
        """The first page for ``visitor``."""
        outcome = outcome or Outcome()
        shown = view.look(self.app, visitor.principal, conversation_id=conversation_id, fresh=fresh)
        return self._answer(
            "first.html",
            visitor.labels,
            outcome.status,
            view=shown,
            visitor=visitor,
            own_id=str(visitor.principal.subject_id),
            people=demo.people(),
            languages=LANGUAGES,
            csrf=visitor.session.csrf,
            outcome=outcome,
            act_id=new_id(),
            removed=REMOVED,
            shown_ids={memory.id for memory in shown.memories},
        )

    def review(self, visitor: Visitor, shown: Queue, outcome: Outcome) -> Response:
        """The reviewer's page."""
        return self._answer(
            "review.html",
            visitor.labels,
            outcome.status,
            waiting=shown.waiting,
            item=shown.item,
            following=shown.following,
            done=shown.done,
            alert=outcome.alert,
            reasons=outcome.reasons,
            typed=outcome.text,
            rejections=sorted(REJECTIONS, key=list(Reason).index, reverse=True),
            csrf=visitor.session.csrf,
        )

    def message(self, words: Labels, name: str, status: int) -> Response:
        """A short page about one thing: ``name`` is a group of labels with title and text."""
        return self._answer("message.html", words, status, title=words(f"{name}.title"), text=words(f"{name}.text"))

    def failure(self, request: Request, error: IngatanError) -> Response:
        """The page for an error that no form could show in its place."""
        if error.status >= 500:
            event(Event.REQUEST_FAILED, level="warning", code=error.code, method=request.method, route="console")
        visitor = visitor_of(request)
        words = visitor.labels if visitor else labels(preferred(request.headers.get("accept-language", "")))
        if isinstance(error, SignInNeeded):
            return self.message(words, "sign_in_needed", 401)
        title = words("failure.title")
        return self._answer("message.html", words, error.status, title=title, text=sentence(words, error))

    def _answer(self, template: str, words: Labels, status: int, **values: Any) -> Response:
        page = self._templates.get_template(template).render(t=words, **values)
        return HTMLResponse(page, status_code=status, headers={"Cache-Control": "no-store"})

    def _asset(self, name: str) -> str:
        return f"/console/static/{name}?v={self.static[name][1]}"


def pages_of(request: Request) -> Pages:
    """The pages behind this request."""
    return cast(Pages, request.app.state.console)


def sentence(words: Labels, error: IngatanError) -> str:
    """What the visitor can do about ``error``, in their language."""
    return words.first(f"error.{error.code}", "error.other")


def moment(value: datetime) -> str:
    """A time for people without JavaScript, with its zone; the element around it carries the exact one."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _static(name: str) -> tuple[bytes, str]:
    """A file's content and the start of its SHA-256, by which its address changes with it."""
    content = resources.files("ingatan.console").joinpath("static", name).read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:16]


class PageRoute(APIRoute):
    """A route that answers errors with a page, and every answer with HEADERS."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler, wrapped."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                response = await handle(request)
            except IngatanError as error:
                response = await run_in_threadpool(pages_of(request).failure, request, error)
            except RequestValidationError:
                refused = BadRequest("A field cannot be read.", code="invalid_request")
                response = await run_in_threadpool(pages_of(request).failure, request, refused)
            response.headers.update(HEADERS)
            response.headers.setdefault("Cache-Control", "no-store")
            return response

        return guarded
