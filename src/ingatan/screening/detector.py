"""What a detector is: a name, a reason, a pure question to a view, and what the catalogue page says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ingatan.languages import CODES
from ingatan.screening.view import View
from ingatan.types import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """``finds(view)`` is true when the view holds what ``reason`` names. Pure and linear in the text.

    ``judges_readings`` is false where a decoded piece, cut from its sentence, would mean nothing to it; ``guessed``
    says whether it also judges a reading that is only a guess (ROT13, leet, letters turned round or spaced).
    ``reads``, ``languages`` (empty: any) and ``example``, a kind and never a value, stand on the catalogue page.
    """

    name: str
    reason: Reason
    finds: Callable[[View], bool]
    judges_readings: bool = True
    guessed: bool = False
    reads: str = ""
    languages: tuple[str, ...] = ()
    example: str = ""


def lexical(label: str, reason: Reason, example: str) -> Detector:
    """A detector over the word lists ``label`` of ``languages/*/screening.toml``."""
    return Detector(
        name=f"words.{label}",
        reason=reason,
        finds=lambda view: label in view.labels,
        guessed=True,
        reads=f"word patterns of the lists `{label}`",
        languages=CODES,
        example=example,
    )
