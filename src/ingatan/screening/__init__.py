"""Screening: what a text must not hold if it is to be remembered. Pure; the word lists are read lazily.

A finding names a reason and the detector, never the value. When unsure a detector refuses; ordinary sentences about
one's work and wishes pass. Nothing here proves a text harmless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingatan.screening import obfuscation, steering
from ingatan.screening.catalogue import CATALOGUE
from ingatan.screening.detector import Detector
from ingatan.screening.view import CHARACTERS_MAX, View
from ingatan.types import Reason

__all__ = ["FITTED", "SECURITY_REASONS", "Finding", "screen"]

SECURITY_REASONS = frozenset({Reason.INSTRUCTION, Reason.PERMISSION, Reason.AUTHORITY_CLAIM, Reason.OBFUSCATED})
"""Reasons that are also logged for security review (S3)."""
FITTED = frozenset(detector.name for detector in steering.DETECTORS)
"""Detectors that judge by likeness to what they were fitted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Why a text is refused and by which detector. The value found is never kept."""

    reason: Reason
    detector: str


def screen(texts: Sequence[str], *, language: str) -> tuple[Finding, ...]:
    """Judge the text that would be stored and every quote kept with it; the findings in the order of ``CATALOGUE``.

    Each text is judged alone and all joined, so a secret cut in two is seen whole, and each of their decoded readings:
    what only a reading shows bears its own reason and ``OBFUSCATED``. ``language`` is the language the person used; all
    lists are always applied, and ``vi`` also reads single Vietnamese words typed without marks. Linear in the length;
    what is longer than ``CHARACTERS_MAX`` is a finding, because it was not judged to its end.
    """
    parts = list(dict.fromkeys(texts))
    if len(parts) > 1:
        parts.append(" ".join(parts))
    views = [View(raw=part[:CHARACTERS_MAX], language=language) for part in parts]
    clear = {detector.name for detector in CATALOGUE if any(detector.finds(view) for view in views)}
    hidden = _hidden(views, clear)
    if hidden:
        clear |= hidden | {obfuscation.DETECTOR.name}
    named = {detector.name for detector in CATALOGUE if detector.reason in SECURITY_REASONS} - FITTED
    if clear & named:
        clear -= FITTED  # what a list names needs no likeness beside it
    found = [
        Finding(reason=detector.reason, detector=detector.name) for detector in CATALOGUE if detector.name in clear
    ]
    if any(len(part) > CHARACTERS_MAX for part in parts):
        found.append(Finding(reason=Reason.TOO_LONG, detector="length"))
    return tuple(found)


def _hidden(views: Sequence[View], clear: set[str]) -> set[str]:
    """The detectors that find something in a decoded reading and nothing in the clear."""
    readings = [reading for view in views for reading in view.readings]
    return {
        detector.name
        for detector in CATALOGUE
        if detector.name not in clear and any(_reveals(detector, view, guess=guess) for view, guess in readings)
    }


def _reveals(detector: Detector, view: View, *, guess: bool) -> bool:
    return (detector.guessed or not guess) and detector.judges_readings and detector.finds(view)
