"""Whether a sentence in which the writer leaves themself out, or is one letter, speaks of them: "got the keys",
"sawah yang kugarap", "e đang học". Asked only of what a person proposes about themself: in chat such words may be
anybody's."""

from __future__ import annotations

import re
from functools import cache

from ingatan.memories.wording import fragments, pattern
from ingatan.text import fold


@cache
def _telling() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(fragments("unsaid", "opens")), re.compile(fragments("unsaid", "anywhere"))


def speaks_of_oneself(text: str) -> bool:
    """Whether ``text``, which its author proposes about themself, tells something of them without saying "I"."""
    folded = fold(text).strip(" .!-\u2022*\"'")
    if folded.endswith("?") or pattern("condition").match(folded) or pattern("denial").search(folded):
        return False
    opens, anywhere = _telling()
    return opens.match(folded) is not None or anywhere.search(folded) is not None
