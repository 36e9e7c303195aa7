"""The labelled texts on which ``screening/classifier.npz`` is fitted: where they are, and a name for what they hold."""

from __future__ import annotations

import hashlib
from pathlib import Path

SETS = Path(__file__).parents[1] / "tests" / "acceptance"
HALVES = {"utterances/fitted": True, "screening/seen": True, "screening/fitted": False}
"""Folders of ``SETS`` that are fitted on, and whether thresholds are taken from them too: not from texts in pairs."""


def fitted_on() -> bytes:
    """The SHA-256 over all files of ``HALVES``, in order of their names."""
    digest = hashlib.sha256()
    for half in HALVES:
        for file in sorted((SETS / half).glob("*.jsonl")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.digest()
