"""What a detector is: a name, a reason and a pure question to a view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ingatan.screening.view import View
from ingatan.types import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """``finds(view)`` is true when the view holds what ``reason`` names. Pure and linear in the text."""

    name: str
    reason: Reason
    finds: Callable[[View], bool]


def lexical(label: str, reason: Reason) -> Detector:
    """A detector over the word lists ``label`` of ``languages/*/screening.toml``."""
    return Detector(name=f"words.{label}", reason=reason, finds=lambda view: label in view.labels)
