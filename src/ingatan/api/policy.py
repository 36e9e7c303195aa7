"""/policy and /alerts: the document by which a tenant decides, how it agrees with reviewers, and what is unusual."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from ingatan import text as texts
from ingatan.access import Action
from ingatan.api import answers
from ingatan.api.bodies import Said
from ingatan.api.callers import Running, needs
from ingatan.api.page import Limit, Page
from ingatan.errors import BadRequest, TooLarge
from ingatan.memories import alerts, policy_document
from ingatan.memories.alerts import Alert
from ingatan.memories.policies import SHIPPED, PolicyVersion
from ingatan.memories.policy_document import CHARACTERS_MAX, PolicyDocument
from ingatan.storage.database import Power
from ingatan.types import AlertKind, Principal, Role

router = APIRouter(tags=["policy"])
Reader = Annotated[Principal, Depends(needs(Action.POLICY_READ))]
Administrator = Annotated[Principal, Depends(needs(Action.POLICY_WRITE))]
Reporter = Annotated[Principal, Depends(needs(Action.POLICY_REPORT))]
Watcher = Annotated[Principal, Depends(needs(Action.ALERT_READ))]
From = Annotated[Said, Query(alias="from")]
To = Annotated[Said, Query(alias="to")]
VERSION_MAX = 2_147_483_647
BYTES_PER_CHARACTER_MAX = 4
Number = Annotated[int, Query(ge=0, le=VERSION_MAX)]


BODY = {
    "requestBody": {
        "required": True,
        "description": "The policy document.",
        "content": {
            "application/yaml": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        },
    }
}


async def sent(request: Request) -> bytes:
    """The body as it came; the body gate has bounded it."""
    return await request.body()


@router.get("/policy")
def in_force(app: Running, caller: Reader, response: Response) -> dict[str, Any]:
    """The policy document in force for the caller's tenant."""
    version = app.regulator.in_force(caller)
    response.headers["ETag"] = f'"{version.number}"'
    return {"mode": app.regulator.mode, **_whole(version, app.regulator.label(version))}


@router.put("/policy", openapi_extra=BODY)
def change(
    app: Running,
    caller: Administrator,
    request: Request,
    response: Response,
    body: Annotated[bytes, Depends(sent)],
    expected_version: Number | None = None,
    if_match: Annotated[str | None, Header(alias="If-Match", max_length=40)] = None,
) -> dict[str, Any]:
    """Govern the tenant by the document in the body (YAML or JSON) from now on: a new version, unless it says the same.

    With ``If-Match`` (the ``ETag`` of GET) or ``expected_version`` only if that version is in force, else 412.
    """
    document = _document(body, request.headers.get("content-type", ""))
    version = app.regulator.set(caller, document, expected=_expected(expected_version, if_match))
    response.headers["ETag"] = f'"{version.number}"'
    return {"mode": app.regulator.mode, **_whole(version, app.regulator.label(version))}


@router.get("/policy/versions")
def versions(app: Running, caller: Reader, cursor: str | None = None, limit: Limit = 50) -> dict[str, Any]:
    """The tenant's own versions, newest first, without their documents."""
    page = Page(app, caller, "policy", cursor, limit)
    found = app.regulator.history(caller, before=page.behind_number, limit=page.reads)
    return page.answer(found, lambda item: _about(item, app.regulator.label(item)), lambda item: (item.number,))


@router.get("/policy/versions/{version}")
def one(app: Running, caller: Reader, version: int) -> dict[str, Any]:
    """One version with its document; 0 is the one that ships."""
    if not SHIPPED <= version <= VERSION_MAX:
        raise BadRequest("A version is a number from 0.")
    found = app.regulator.version(caller, version)
    return _whole(found, app.regulator.label(found))


@router.get("/policy/report")
def report(app: Running, caller: Reporter, from_at: From = None, to_at: To = None) -> dict[str, Any]:
    """How the policy's own decisions compare with reviewers' verdicts: precision, recall, disagreement by reason."""
    found = app.regulator.report(caller, from_at=from_at, to_at=to_at)
    return {"from": answers.moment(from_at), "to": answers.moment(to_at), **found.as_json()}


@router.get("/alerts", tags=["audit"])
def raised(
    app: Running,
    caller: Watcher,
    kind: AlertKind | None = None,
    from_at: From = None,
    to_at: To = None,
    cursor: str | None = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """What was unusual in the tenant, newest first; each once a kind, key and day."""
    page = Page(app, caller, f"alerts:{kind}:{from_at}:{to_at}", cursor, limit)
    before, reads = page.behind_moment, page.reads
    power = Power.ADMIN if Role.ADMIN in caller.roles else Power.AUDIT
    with app.database.read(caller, power=power) as connection:
        found = alerts.page(connection, caller, kind=kind, from_at=from_at, to_at=to_at, before=before, limit=reads)
    return page.answer(found, _alert, lambda item: (item.at, item.id))


def _alert(item: Alert) -> dict[str, Any]:
    return {
        "id": str(item.id),
        "kind": item.kind.value,
        "key": str(item.key),
        "day": item.day.isoformat(),
        "count": item.count,
        "at": item.at.isoformat(),
    }


def _document(body: bytes, content_type: str) -> PolicyDocument:
    if len(body) > CHARACTERS_MAX * BYTES_PER_CHARACTER_MAX:
        raise TooLarge(f"The policy is longer than {CHARACTERS_MAX} characters.")
    try:
        text = body.decode("utf-8")
        if "json" in content_type.lower():  # the body gate has read it as JSON already
            text = json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        raise BadRequest("The policy is not text in UTF-8, or no JSON.", code="policy_invalid") from None
    return policy_document.parse(texts.clean(text))


def _expected(version: int | None, if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return version
    told = if_match.strip().removeprefix("W/").strip('"')
    if not told.isdecimal() or not told.isascii() or (version is not None and int(told) != version):
        raise BadRequest("If-Match takes the ETag of GET /policy.")
    return int(told)


def _about(version: PolicyVersion, label: str) -> dict[str, Any]:
    return {
        "version": version.number,
        "label": label,
        "profile": version.document.profile,
        "sha256": version.sha256,
        "made_by": str(version.made_by) if version.made_by else None,
        "made_at": answers.moment(version.made_at),
    }


def _whole(version: PolicyVersion, label: str) -> dict[str, Any]:
    return {**_about(version, label), "document": version.document.model_dump(mode="json")}
