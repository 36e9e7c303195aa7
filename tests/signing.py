"""A system of record for tests: it signs events with a key of its own, as an operator would with any JOSE library."""

from __future__ import annotations

import json
import time
from typing import Any
from uuid import uuid4

from joserfc import jws
from joserfc.jwk import ECKey, KeyParameters, OKPKey


class Signer:
    """Signs compact JWS. ``source_id`` and ``tenant_id`` are filled in once the source is registered."""

    def __init__(self, *, curve: str = "Ed25519", kid: str = "one") -> None:
        parameters: KeyParameters = {"kid": kid}
        if curve == "Ed25519":
            self.key: OKPKey | ECKey = OKPKey.generate_key("Ed25519", parameters)
        else:
            self.key = ECKey.generate_key("P-256", parameters)
        self.algorithm = "Ed25519" if curve == "Ed25519" else "ES256"
        self.kid = kid
        self.source_id = self.tenant_id = ""

    @property
    def keys(self) -> dict[str, Any]:
        """The public key set."""
        return {"keys": [self.key.as_dict(private=False)]}

    def claims(self, text: str, **changes: Any) -> dict[str, Any]:
        """Claims of an event just signed; a change to None leaves one out."""
        now = int(time.time())
        claims = {
            "iss": self.source_id,
            "aud": self.tenant_id,
            "iat": now,
            "exp": now + 300,
            "jti": str(uuid4()),
            "text": text,
            "occurred_at": "2026-09-03T14:12:00+00:00",
        } | changes
        return {name: value for name, value in claims.items() if value is not None}

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        """A compact JWS over ``claims``."""
        protected = {"alg": self.algorithm, "kid": self.kid} | header
        return jws.serialize_compact(protected, json.dumps(claims), self.key, algorithms=[str(protected["alg"])])

    def event(self, text: str, **changes: Any) -> str:
        """A signed event."""
        return self.sign(self.claims(text, **changes))
