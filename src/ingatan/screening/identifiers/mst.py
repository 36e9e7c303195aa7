"""MST, the Vietnamese tax number: ten digits with a checksum, for a branch three more."""

from __future__ import annotations

import re

from ingatan.screening.identifiers.kind import numbered, valid
from ingatan.screening.numbers import Number

_BRANCH = re.compile(r"\d{10}-\d{3}")


def _bare(number: Number) -> bool:
    return bool(_BRANCH.fullmatch(number.written)) and valid("vn.mst", number.digits)


KIND = numbered(
    "mst",
    lengths=frozenset({10, 12, 13}),
    bare=_bare,
    checked=True,
    words=r"mst|ma so thue|tax (?:code|id|number)|thue ca nhan",
    reads="10 digits, a hyphen and 3 by checksum, or 10, 12 or 13 beside a word for it",
    example="a taxpayer's number",
    languages=("vi", "en"),
)
