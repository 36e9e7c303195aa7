"""/consent: whether one wants to be remembered, and what never again."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends

from ingatan import idempotency, subjects, suppressions
from ingatan.access import Action
from ingatan.api.bodies import ConsentChange, NeverAgain
from ingatan.api.callers import IdempotencyKey, Running, needs
from ingatan.types import Consent, Principal

router = APIRouter(tags=["consent"])
Reader = Annotated[Principal, Depends(needs(Action.MEMORY_READ))]
Consenter = Annotated[Principal, Depends(needs(Action.CONSENT_WRITE))]


@router.get("/consent")
def consent(app: Running, caller: Reader) -> dict[str, Any]:
    """What the caller said about being remembered, and what never again; without any text."""
    with app.database.read(caller) as connection:
        subject = subjects.read(connection, caller)
        found = suppressions.listed(connection, caller)
    return {
        "consent": subject.consent.value,
        "at": subject.consent_at.isoformat() if subject.consent_at else None,
        "never_again": [{"id": str(item.id), "slot": item.slot, "at": item.at.isoformat()} for item in found],
    }


@router.put("/consent")
def set_consent(app: Running, caller: Consenter, body: ConsentChange) -> dict[str, Any]:
    """Say whether one wants to be remembered from now on; erasing is DELETE /memories."""
    app.steward.set_consent(caller, Consent(body.consent))
    return consent(app, caller)


@router.post("/consent/never-again", status_code=201)
def never_again(app: Running, caller: Consenter, body: NeverAgain, key: IdempotencyKey = None) -> dict[str, Any]:
    """Never remember an attribute of the caller again, such as their workplace. What is known stays until erased."""
    claim = idempotency.key_for("POST /consent/never-again", key, body.model_dump(mode="json"))
    return {"id": str(app.steward.suppress(caller, body.slot, claim)), "slot": body.slot.value}


@router.delete("/consent/never-again/{id}")
def lift(app: Running, caller: Consenter, id: UUID) -> dict[str, Any]:
    """Take a "never again" back: what is said from now on may be remembered again."""
    app.steward.lift(caller, id)
    return consent(app, caller)
