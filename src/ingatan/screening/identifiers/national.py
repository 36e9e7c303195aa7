"""Identity and tax numbers of other countries, each by its form and, where it has one, its checksum."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

from ingatan.screening.identifiers.kind import Kind, matched, valid

_EDGE, _END = r"(?<![^\W_])", r"(?![^\W_])"


@cache
def _pattern(form: str) -> re.Pattern[str]:
    return re.compile(_EDGE + form + _END)


def _compact(written: str) -> str:
    return re.sub(r"[\s./-]", "", written)


def _checked(module: str, written: str) -> bool:
    return valid(module, _compact(written))


def singapore(written: str) -> bool:
    """Whether a Singaporean NRIC or FIN carries its check letter."""
    value = _compact(written)
    total = sum(int(digit) * weight for digit, weight in zip(value[1:8], (2, 7, 6, 5, 4, 3, 2), strict=True))
    total += {"S": 0, "T": 4, "F": 0, "G": 4, "M": 3}[value[0]]
    letters = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "F": "XWUTRQPNMLK", "G": "XWUTRQPNMLK", "M": "KLJNPQRTUWX"}
    at = 10 - total % 11 if value[0] == "M" else total % 11
    return letters[value[0]][at] == value[8]


def _kind(
    name: str, form: str, example: str, *, takes: Callable[[str], bool] | str, words: str = "", reads: str
) -> Kind:
    check = partial(_checked, takes) if isinstance(takes, str) else takes
    return matched(
        name, pattern=partial(_pattern, form), takes=check, words=words, reads=reads, example=example, languages=("en",)
    )


KINDS = (
    _kind(
        "my_nric", r"\d{6}-\d{2}-\d{4}", "a Malaysian identity number", takes="my.nric",
        reads="six, two and four digits: date of birth, place, serial",
    ),
    _kind(
        "sg_nric", r"[STFGM]\d{7}[A-Z]", "a Singaporean identity number", takes=singapore,
        reads="a letter, seven digits and a check letter",
    ),
    _kind(
        "in_pan", r"[A-Z]{3}[ABCFGHLJPT][A-Z]\d{4}[A-Z]", "an Indian tax number", takes="in_.pan",
        reads="five letters, four digits, a letter",
    ),
    _kind(
        "in_aadhaar", r"\d{4}[ -]?\d{4}[ -]?\d{4}", "an Indian identity number", takes="in_.aadhaar",
        words=r"aadhaar|aadhar|uidai|uid", reads="twelve digits by checksum beside a word for it",
    ),
    _kind(
        "th_pin", r"\d[- ]?\d{4}[- ]?\d{5}[- ]?\d{2}[- ]?\d", "a Thai identity number", takes="th.pin",
        words=r"thai|thailand|national id|id (?:number|card)|citizen id",
        reads="thirteen digits by checksum beside a word for it",
    ),
    _kind(
        "cn_ric", r"[1-8]\d{16}[\dX]", "a Chinese identity number", takes="cn.ric",
        reads="eighteen signs with a date of birth, by checksum",
    ),
    _kind(
        "kr_rrn", r"\d{6}-[1-8]\d{6}", "a Korean residence number", takes=lambda written: 1 <= int(written[2:4]) <= 12,
        reads="six and seven digits with a date of birth",
    ),
    _kind(
        "gb_nhs", r"\d{3}[ -]?\d{3}[ -]?\d{4}", "a patient's number", takes="gb.nhs",
        words=r"nhs(?: number| no)?|patient (?:number|id)", reads="ten digits by checksum beside a word for it",
    ),
    _kind(
        "br_cpf", r"\d{3}\.\d{3}\.\d{3}-\d{2}", "a Brazilian tax number", takes="br.cpf",
        reads="eleven digits in the written form, by checksum",
    ),
    _kind(
        "it_codice", r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", "an Italian tax code", takes="it.codicefiscale",
        reads="sixteen signs by checksum",
    ),
    _kind(
        "es_dni", r"(?:\d{8}|[XYZ]\d{7})-?[A-HJ-NP-TV-Z]", "a Spanish identity number",
        takes=lambda written: _checked("es.dni", written) or _checked("es.nie", written),
        reads="eight signs and a check letter",
    ),
    _kind(
        "fr_nir", r"[12] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}", "a French insurance number",
        takes="fr.nir", reads="fifteen signs by checksum",
    ),
    _kind(
        "ca_sin", r"\d{3}[- ]\d{3}[- ]\d{3}", "a Canadian insurance number", takes="ca.sin",
        words=r"sin|social insurance(?: number)?", reads="nine digits by checksum beside a word for it",
    ),
    _kind(
        "au_tfn", r"\d{3} ?\d{3} ?\d{3}", "an Australian tax number", takes="au.tfn",
        words=r"tfn|tax file(?: number)?", reads="nine digits by checksum beside a word for it",
    ),
)  # fmt: skip
"""Kinds of other countries in no order that matters."""
