"""Letters of other scripts and styles that are read as Latin ones. A table of our own (decision 0018).

Unicode's NFKC already folds full-width, mathematical, circled and superscript letters; here is what it leaves: the
look-alikes of Cyrillic, Greek, Armenian, Cherokee, Lisu and Coptic, small capitals, squared and regional letters. One
sign stands for one small Latin letter; letters with Vietnamese marks are left alone.
"""

from __future__ import annotations

import unicodedata
from functools import cache

_ALIKE = {
    "a": "аαɑᎪꓮⲁ\u0251", "b": "ƅЬβᏴꓐвⲃƄ", "c": "сϲᏟꓚⲥᴄ", "d": "ԁɗᏧꓒժ", "e": "еεҽᎬꓰєⲉ", "f": "ƒϝꓝẝք", "g": "ɡցᏀꓖԌɢ",
    "h": "һհᎻꓧнⲏ", "i": "іιıɩᎥꓲⲓ", "j": "јϳᎫꓙյ", "k": "кκᏦꓗⲕҝ", "l": "ⅼᏞꓡⳑӀӏ", "m": "мᎷꓟⲙϻ", "n": "ոռηпꓠⲛ",
    "o": "оοσօᎾꓳⲟ", "p": "рρᏢꓑⲣþ", "q": "ԛզգ", "r": "гᎡꓣᴦⲅ", "s": "ѕꜱᏚꓢտ", "t": "тτᎢꓔⲧ", "u": "υսʋꓴᴜ",
    "v": "ѵνᏙꓦᴠ", "w": "ԝѡωᎳꓪա", "x": "хχꓫⲭ", "y": "уγүᎽꓬⲩ", "z": "ᏃꓜᴢƶⲌ",
}  # fmt: skip
_STYLES = (
    "LATIN LETTER SMALL CAPITAL {}",
    "SQUARED LATIN CAPITAL LETTER {}",
    "NEGATIVE SQUARED LATIN CAPITAL LETTER {}",
    "NEGATIVE CIRCLED LATIN CAPITAL LETTER {}",
    "REGIONAL INDICATOR SYMBOL LETTER {}",
    "TAG LATIN SMALL LETTER {}",
)
DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00b7\u2022\u30fb\u2043"), "-")
"""Signs that separate the groups of a number like a hyphen does."""


@cache
def latin() -> dict[int, str]:
    """Code points to the small Latin letter each is read as, for ``str.translate`` on text that is case folded."""
    table: dict[int, str] = {}
    for letter, signs in _ALIKE.items():
        for sign in signs:
            table[ord(sign)] = letter
            folded = sign.casefold()
            if len(folded) == 1:
                table[ord(folded)] = letter
        for style in _STYLES:
            try:
                table[ord(unicodedata.lookup(style.format(letter.upper())))] = letter
            except KeyError:
                continue
    return table
