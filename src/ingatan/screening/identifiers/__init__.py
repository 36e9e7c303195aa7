"""Identifiers of persons: numbers and addresses by checksum, by structure, or by the words around them.

One kind a file. ``spans`` says where the values stand, for masking and measuring; each kind is also a detector.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingatan.screening.detector import Detector
from ingatan.screening.identifiers import (
    address,
    bpjs,
    card,
    cccd,
    cmnd,
    coordinates,
    email,
    iban,
    insurance,
    kk,
    mst,
    named,
    national,
    network,
    nik,
    nino,
    npwp,
    passport,
    phone,
    plate,
    spelled,
    ssn,
)
from ingatan.screening.identifiers.kind import Kind, Span
from ingatan.screening.view import View

__all__ = ["DETECTORS", "KINDS", "SPANNED_CHARACTERS_MAX", "Span", "spans"]

SPANNED_CHARACTERS_MAX = 100_000
"""``spans`` looks no further; a caller that masks a longer text gives it piece by piece."""
KINDS: tuple[Kind, ...] = (
    email.KIND,
    iban.KIND,
    network.KIND,
    card.KIND,
    kk.KIND,
    npwp.KIND,
    bpjs.KIND,
    mst.KIND,
    insurance.KIND,
    nik.KIND,
    cccd.KIND,
    cmnd.KIND,
    passport.KIND,
    ssn.KIND,
    nino.KIND,
    *national.KINDS,
    coordinates.KIND,
    plate.KIND,
    phone.KIND,
    address.KIND,
    spelled.KIND,
    named.KIND,
)
"""All kinds; where two claim the same place, the earlier one names it."""
DETECTORS: tuple[Detector, ...] = tuple(kind.detector() for kind in KINDS)


def spans(text: str) -> Sequence[Span]:
    """Every identifier in the first ``SPANNED_CHARACTERS_MAX`` characters of ``text``, in order; none overlap.

    Places are those of the raw text, also where a value is split by spaces, line ends or invisible signs or written in
    full-width digits. What is hidden in a code has no place and is not listed; ``screen`` refuses it.
    """
    view = View(raw=text[:SPANNED_CHARACTERS_MAX], language="")
    taken = bytearray(len(view.raw))
    found: list[Span] = []
    for kind in KINDS:
        for span in kind.spans(view):
            if not any(taken[span.start : span.end]):
                taken[span.start : span.end] = b"\x01" * (span.end - span.start)
                found.append(span)
    return tuple(sorted(found, key=lambda span: span.start))
