"""SSN of the United States: nine digits 3-2-4, with the areas never given out left out."""

from __future__ import annotations

import re

from ingatan.screening.identifiers.kind import numbered
from ingatan.screening.numbers import Number

_WRITTEN = re.compile(r"(?!000|666)\d{3}[- ](?!00)\d{2}[- ](?!0000)\d{4}")

KIND = numbered(
    "ssn",
    lengths=frozenset({9}),
    bare=lambda number: _written(number),
    words=r"ssn|social security(?: number| no)?|social security card",
    reads="nine digits in the written form 3-2-4, or beside a word for it",
    example="a social security number",
    languages=("en",),
)


def _written(number: Number) -> bool:
    return bool(_WRITTEN.fullmatch(number.written))
