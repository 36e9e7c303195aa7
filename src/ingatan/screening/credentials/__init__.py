"""Secrets that open something: by the form of the token, the file or the address, or by the words around them."""

from __future__ import annotations

from ingatan.screening.credentials import connections, entropy, keys, mnemonics, spoken, tokens
from ingatan.screening.detector import Detector

__all__ = ["DETECTORS"]

DETECTORS: tuple[Detector, ...] = (
    tokens.DETECTOR,
    entropy.DETECTOR,
    keys.DETECTOR,
    connections.DETECTOR,
    spoken.DETECTOR,
    mnemonics.DETECTOR,
)
