"""Whether words that name no person are a standing wish on how to be answered: "when a village comes up, add its
district", "code first, talk after". Closed word lists only; asked of what a person proposes about themself."""

from __future__ import annotations

import re
from functools import cache

from ingatan.memories.wording import listed, pattern
from ingatan.text import fold, words

WISH_WORDS_MAX = 24
FRAGMENT_WORDS_MAX = 12
"""A wish without an occasion and without a person is a note of so few words."""


_THIS_ONE = re.compile(
    r"\b(?:your|this|the (?:next|following|above|below)) (?:\w+ )?(?:reply|response|answer|output"
    r"|text|message|summary)\b"
    r"|\b(?:jawaban|balasan|pesan|teks)(?:mu\b| (?:kamu|anda|ini|berikut)\b)"
    r"|(?:câu trả lời|tin nhắn|đoạn|văn bản) (?:của bạn|này|sau)(?!\w)|[\"\u201c\u201d\u00ab]"
)
"""One answer or text, or words to be put into it: a task, no wish that stands."""


@cache
def _occasion() -> re.Pattern[str]:
    """An occasion, then after a pause or a word that leads over to it what is to be done."""
    opened = "|".join(map(re.escape, sorted(listed("occasion"), key=len, reverse=True)))
    asked = "|".join(map(re.escape, sorted(listed("wish_act"), key=len, reverse=True)))
    over = r"(?:,| -|:| thì| maka| ya| itu| is| wait| please| tolong| mohon| cứ)"
    return re.compile(rf"(?:{opened})(?!\w)[^.!?;]{{2,120}}?{over}(?:\W+\w+){{0,2}}?\W+(?:{asked})(?!\w)")


def is_wish(text: str) -> bool:
    """Whether ``text``, one sentence, says how answers are to look or what to do on an occasion that recurs."""
    folded = fold(text).strip(" .!-\u2022*\"'")
    found = words(folded)
    if not found or len(found) > WISH_WORDS_MAX or folded.endswith("?"):
        return False
    if _THIS_ONE.search(folded) or pattern("third_party").search(folded) or pattern("rendering").match(folded):
        return False
    if _occasion().match(folded):
        return True
    if len(found) > FRAGMENT_WORDS_MAX or pattern("task").match(folded):
        return False
    return pattern("shape_noun").search(folded) is not None and pattern("shape_word").search(folded) is not None
