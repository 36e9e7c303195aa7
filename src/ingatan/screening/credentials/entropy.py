"""Long runs of letters and digits made by chance: keys whose issuer gives them no form of their own."""

from __future__ import annotations

import math
import re
from collections import Counter

from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason

_TURN = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]")
_DENSE = re.compile(
    r"(?<![\w+/=.@-])(?=[\w+/=-]{0,80}\d)(?=[\w+/=-]{0,80}[a-z])(?=[\w+/=-]{0,80}[A-Z])[\w+/=-]{28,200}"
)
ENTROPY_BITS_MIN = 4.0
"""Shannon entropy a sign from which a long run of mixed letters and digits reads as made by chance, not by people."""
TURNS_SHARE_MIN = 0.33
"""So often, by length, a run turns from small letters to capitals or digits; names in camel case turn less."""


def entropy(run: str) -> float:
    """Shannon entropy of the signs of ``run``, in bits a sign."""
    length = len(run)
    return -sum(count / length * math.log2(count / length) for count in Counter(run).values())


def dense(text: str) -> bool:
    """Whether a long run of letters of both cases and digits reads as made by chance; paths and names do not."""
    for match in _DENSE.finditer(text):
        run = match[0].strip("=")
        if len(_TURN.findall(run)) >= len(run) * TURNS_SHARE_MIN and entropy(run) >= ENTROPY_BITS_MIN:
            return True
    return False


def _finds(view: View) -> bool:
    return view.digits and dense(view.mapped.text)


DETECTOR = Detector(
    name="credential.entropy",
    reason=Reason.CREDENTIAL,
    finds=_finds,
    reads="28 signs or more of both cases and digits, without order",
    example="a secret access key",
)
