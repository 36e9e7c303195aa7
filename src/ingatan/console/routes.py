"""Routes of the first page: signing in, the page, and one form a thing a person can do on it.

After an act the visitor is sent back to the page (303), unless there is something to show once: a receipt, an answer
to a question, or why a form was not accepted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Request, Response
from starlette.exceptions import HTTPException

from ingatan import clerk, conversations, idempotency
from ingatan import text as texts
from ingatan.access import Action
from ingatan.console.forms import back, bounded, reasons_of
from ingatan.console.labels import LANGUAGES, labels, preferred
from ingatan.console.pages import STATIC, Outcome, PageRoute, Pages, pages_of, sentence
from ingatan.console.sessions import COOKIE, LIFETIME_SECONDS, Session
from ingatan.console.visitors import Acts, Anyone, Visitor, Visits, person_of, visitor_of
from ingatan.demo import people
from ingatan.erasure import Receipt
from ingatan.errors import BadRequest, Forbidden, IngatanError
from ingatan.steward import Correction, Proposed
from ingatan.types import Consent, MessageRole, Principal, new_id

SAID_CHARS_MAX = 8_000
CORRECTION_CHARS_MAX = 2_000
STATIC_SECONDS = 31_536_000

everywhere = APIRouter(route_class=PageRoute, include_in_schema=False)
"""What is there in every environment: the stylesheet and the script."""
development = APIRouter(route_class=PageRoute, include_in_schema=False)
"""The page and its forms; only where the environment is development."""
production = APIRouter(route_class=PageRoute, include_in_schema=False)
"""A page that says where the API is, in place of the page."""

Open = Annotated[Pages, Depends(pages_of)]
Reader = Annotated[Visitor, Depends(Visits(Action.MEMORY_READ))]
Speaker = Annotated[Visitor, Depends(Acts(Action.CONVERSATION_WRITE))]
Corrector = Annotated[Visitor, Depends(Acts(Action.MEMORY_WRITE))]
Eraser = Annotated[Visitor, Depends(Acts(Action.MEMORY_ERASE))]
Consenter = Annotated[Visitor, Depends(Acts(Action.CONSENT_WRITE))]
Asker = Annotated[Visitor, Depends(Acts(Action.RECALL))]
Changer = Annotated[Visitor, Depends(Acts(Action.PUBLIC))]
Words = Annotated[str, Form()]
Shown = Annotated[UUID | None, Form(alias="shown")]


@everywhere.get("/console/static/{name}", dependencies=[Depends(Anyone())])
def static(pages: Open, name: str, v: str = "") -> Response:
    """The stylesheet or the script; kept by browsers for as long as its address carries its hash."""
    if name not in STATIC:
        raise HTTPException(404)
    content, digest = pages.static[name]
    kept = f"public, max-age={STATIC_SECONDS}, immutable" if v == digest else "no-cache"
    return Response(content, media_type=STATIC[name], headers={"Cache-Control": kept})


@production.get("/", dependencies=[Depends(Anyone())])
def closed(pages: Open, request: Request) -> Response:
    """Where the API is, and that nobody signs in here."""
    return pages.message(labels(preferred(request.headers.get("accept-language", ""))), "production", 200)


@development.get("/sign-in", dependencies=[Depends(Anyone())])
def sign_in(pages: Open, request: Request, once: str = "") -> Response:
    """Sign in as the first demo person with the one-time value; used or wrong ones get a page that says what to do."""
    if pages.link is None or not pages.link.take(once):
        if visitor_of(request) is not None:
            return back()
        return pages.message(labels(preferred(request.headers.get("accept-language", ""))), "link_used", 403)
    person = people()[0]
    return _signed_in(pages, request, pages.sessions.begin(person.id, person.language), None)


@development.get("/")
def first(pages: Open, visitor: Reader, conversation: UUID | None = None, new: bool = False) -> Response:
    """The page: conversations, what is remembered, what was refused, and a box to ask."""
    return pages.first(visitor, conversation_id=conversation, fresh=new)


@development.get("/console/{act}", dependencies=[Depends(Anyone())])
def again(act: str) -> Response:
    """The address of an act, opened again without its form: back to the page."""
    return back()


@development.post("/console/say")
def say(
    pages: Open,
    visitor: Speaker,
    text: Words = "",
    conversation: Annotated[UUID | None, Form()] = None,
    act_id: Annotated[UUID | None, Form()] = None,
    shown: Shown = None,
) -> Response:
    """Say something in ``conversation``, or in a new one; the same form sent twice says it once."""
    try:
        said = bounded(text, "text", SAID_CHARS_MAX)
        where = _say(pages, visitor.principal, said, conversation, act_id)
    except IngatanError as error:
        failed = Outcome(alert=sentence(visitor.labels, error), status=error.status, said=text)
        return pages.first(visitor, conversation_id=shown, outcome=failed)
    return back(where, "conversations")


@development.post("/console/correct")
def correct(
    pages: Open,
    visitor: Corrector,
    memory: Annotated[UUID, Form()],
    text: Words = "",
    importance: Annotated[float | None, Form(ge=0, le=1)] = None,
    shown: Shown = None,
) -> Response:
    """Correct a memory; when it is not accepted, the page says why and keeps what was typed."""
    try:
        statement = bounded(text, "text", CORRECTION_CHARS_MAX)
        corrected = pages.app.steward.correct(
            visitor.principal, memory, Correction(text=statement, importance=importance)
        )
    except IngatanError as error:
        reasons = reasons_of(visitor, error)
        failed = Outcome(
            alert=sentence(visitor.labels, error), status=error.status, memory_id=memory, text=text, reasons=reasons
        )
        return pages.first(visitor, conversation_id=shown, outcome=failed)
    if isinstance(corrected, Proposed):
        waits = Outcome(alert=visitor.labels("memories.correction_waits"), status=202)
        return pages.first(visitor, conversation_id=shown, outcome=waits)
    return back(shown, f"memory-{memory}")


@development.post("/console/erase")
def erase(pages: Open, visitor: Eraser, memory: Annotated[UUID, Form()], shown: Shown = None) -> Response:
    """Erase one memory and show the receipt."""
    try:
        receipt = pages.app.steward.erase(visitor.principal, memory_id=memory)
    except IngatanError as error:
        failed = Outcome(alert=sentence(visitor.labels, error), status=error.status)
        return pages.first(visitor, conversation_id=shown, outcome=failed)
    return _with_receipt(pages, visitor, receipt, shown)


@development.post("/console/erase-everything")
def erase_everything(pages: Open, visitor: Eraser, shown: Shown = None) -> Response:
    """Erase everything remembered about the visitor and show the receipt."""
    return _with_receipt(pages, visitor, pages.app.steward.erase(visitor.principal), shown)


@development.post("/console/consent")
def set_consent(pages: Open, visitor: Consenter, consent: Annotated[Consent, Form()], shown: Shown = None) -> Response:
    """Say whether one wants to be remembered from now on."""
    if consent is Consent.UNSET:
        raise BadRequest("Say granted or withdrawn.", code="invalid_request")
    pages.app.steward.set_consent(visitor.principal, consent)
    return back(shown, "consent")


@development.post("/console/recall")
def recall(pages: Open, visitor: Asker, question: Words = "", shown: Shown = None) -> Response:
    """Ask memory a question, within the shown conversation, and show the packet."""
    asked = texts.clean(question)
    try:
        packet = pages.app.gateway.recall(visitor.principal, asked, conversation_id=shown)
    except IngatanError as error:
        failed = Outcome(alert=sentence(visitor.labels, error), status=error.status, question=asked)
        return pages.first(visitor, outcome=failed)
    return pages.first(visitor, conversation_id=shown, outcome=Outcome(question=asked, packet=packet))


@development.post("/console/person")
def change_person(pages: Open, visitor: Changer, request: Request, person: Annotated[UUID, Form()]) -> Response:
    """Go on as another demo person, with a session of its own."""
    other = person_of(person)
    if other is None:
        raise Forbidden("Only the people of the demo can be chosen.")
    return _signed_in(pages, request, pages.sessions.begin(other.id, other.language), None)


@development.post("/console/language")
def change_language(
    pages: Open, visitor: Changer, request: Request, language: Words = "", shown: Shown = None
) -> Response:
    """Let the page speak another language."""
    if language not in LANGUAGES:
        raise BadRequest("The page does not speak this language.", code="invalid_request")
    return _signed_in(pages, request, replace(visitor.session, language=language), shown)


@development.post("/console/sign-out")
def sign_out(pages: Open, visitor: Changer) -> Response:
    """Take the cookie back."""
    answer = pages.message(visitor.labels, "signed_out", 200)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


def _say(pages: Pages, principal: Principal, said: str, conversation: UUID | None, act_id: UUID | None) -> UUID:
    """Append ``said``; returns the conversation it stands in."""
    where, message_id = conversation or new_id(), new_id()
    body = {"text": said, "conversation": str(conversation)}
    claim = idempotency.key_for("POST /console/say", str(act_id) if act_id else None, body)
    turn = conversations.NewMessage(role=MessageRole.USER, content=said)
    audit = pages.app.audit
    with pages.app.database.write(principal) as connection:
        made = idempotency.take(connection, principal, claim, [where])
        if made is not None:
            return made[0]
        if conversation is None:
            clerk.start(connection, principal, audit, id=where)
        clerk.append(connection, principal, audit, where, [turn], ids=[message_id])
    return where


def _with_receipt(pages: Pages, visitor: Visitor, receipt: Receipt, shown: UUID | None) -> Response:
    with pages.app.database.read(visitor.principal) as connection:
        kept = conversations.by_id(connection, visitor.principal, receipt.sources_kept)
    return pages.first(visitor, conversation_id=shown, outcome=Outcome(receipt=receipt, kept=tuple(kept)))


def _signed_in(pages: Pages, request: Request, session: Session, shown: UUID | None) -> Response:
    answer = back(shown)
    answer.set_cookie(
        COOKIE,
        pages.sessions.seal(session),
        max_age=LIFETIME_SECONDS,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return answer
