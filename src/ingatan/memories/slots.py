"""Attributes a memory may fill. A minimal stand-in: two single-valued slots are known, values are the folded text."""

from __future__ import annotations

from ingatan.text import fold

_SINGLE = frozenset({"name", "workplace", "answer_language"})


def single_valued(slot: str) -> bool:
    """Whether a person has one value at a time for ``slot``."""
    return slot in _SINGLE


def value_of(slot: str, text: str) -> str | None:
    """The value ``text`` gives for ``slot``, in a form to compare, or None if it gives none."""
    return fold(text) if slot in _SINGLE else None
