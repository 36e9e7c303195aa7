"""Whether words that name no person are a standing wish on how to be answered: "when a village comes up, add its
district", "code first, talk after". Closed word lists only; asked of what a person proposes about themself."""

from __future__ import annotations

import re
from functools import cache

from ingatan.memories.wording import fragments, listed, pattern, single
from ingatan.text import fold, unaccent, words

WISH_WORDS_MAX = 32
FRAGMENT_WORDS_MAX = 12
"""A wish without an occasion and without a person is a note of so few words."""
SUBJECT_WORDS_MAX = 8
"""What a wish is about, where it comes first, is named in so few words."""


@cache
def _said(name: str) -> re.Pattern[str]:
    """What ``languages/*/statement.toml`` names so in its section ``wish``.

    ``this_one`` is one answer or text, or words to be put into it, and ``now`` what is at hand: tasks, no wishes that
    stand. Of ``persons`` it is said what they ought to do. ``request`` asks for something lasting as a question,
    ``order`` names what comes first and what after, ``fragment`` what answers are to be like, ``done`` what is to be
    done with them.
    """
    return re.compile(fragments("wish", name))


@cache
def _errand() -> re.Pattern[str]:
    """An errand to be run now, whatever follows."""
    return re.compile(rf"(?:(?:{fragments('wish', 'politely')}) )?(?:{fragments('wish', 'errand')})")


@cache
def _for_a_tool() -> re.Pattern[str]:
    """For which tool code is written."""
    act, code, link, tool = (fragments("wish", name) for name in ("tool_act", "tool_code", "tool_for", "tool_name"))
    return re.compile(rf"(?:{act}) (?:\w+ )?(?:{code}) (?:[\w.]+ ){{0,3}}?(?:{link}) (?:{tool})\b")


def _any(*names: str) -> str:
    entries = {entry for name in names for entry in listed(name)}
    return "|".join(map(re.escape, sorted(entries, key=len, reverse=True)))


def _act(name: str) -> str:
    """What is to be done: a verb of the list ``name``, or one that by its form asks for what it says."""
    return rf"(?:{_any(name)}|{fragments('wish', 'verb')})"


@cache
def _occasion() -> re.Pattern[str]:
    """An occasion, then after a pause or a word that leads over to it what is to be done."""
    over = rf"(?:,| -|:| (?:{fragments('wish', 'over')}))"
    return re.compile(
        rf"(?:{_any('occasion')})(?!\w)[^.!?;]{{2,160}}?{over}(?:\W+\w+){{0,2}}?\W+{_act('wish_act')}(?!\w)"
    )


@cache
def _topic() -> re.Pattern[str]:
    """A subject matter, then after a pause or a word for "then" what is to be done about it."""
    politely = rf"(?:\W+(?:{fragments('wish', 'topic_politely')})){{0,2}}"
    named = rf"(?:{_any('topic')})(?!\w)[^.!?;,:]{{2,80}}(?:,| -|:)"
    then = rf"[^.!?;:]{{2,80}}? (?:{fragments('wish', 'then')})"
    return re.compile(rf"(?:{named}|{then}){politely}\W+{_act('topic_act')}(?!\w)")


@cache
def _topic_unmarked() -> re.Pattern[str]:
    """The same with a word for "then", in Vietnamese typed without marks."""
    acts = "|".join(sorted({re.escape(unaccent(act)) for act in listed("topic_act")}))
    politely = rf"(?:(?:{fragments('wish', 'topic_politely_unmarked')}) )?"
    return re.compile(rf"[^.!?;:]{{2,80}}? (?:{fragments('wish', 'then_unmarked')}) {politely}(?:{acts})(?!\w)")


@cache
def _shape() -> re.Pattern[str]:
    """What is to be shown, and that it should be so and so, or in Indonesian and Vietnamese what is to be done with it:
    "margin figures should be rounded", "jarak lari tulis dalam kilometer", "biên bản họp viết theo mẫu"."""
    subject = rf"\w[\w'/+-]*(?: [\w'/+-]+){{0,{SUBJECT_WORDS_MAX - 1}}}?"
    ought = rf"(?:{_any('should')}) (?:\w+ ){{0,1}}?(?:{_any('should_be')})(?!\w)"
    return re.compile(rf"{subject} (?:{ought}|{fragments('wish', 'done')})")


@cache
def _manner() -> re.Pattern[str]:
    """Something to be done, and when, where or how: so it holds for more than once."""
    politely = rf"(?:(?:{fragments('wish', 'manner_politely')}) )?"
    how = _any("wish_when", "wish_where")
    return re.compile(rf"{politely}{_act('imperative')} [^.!?;]{{2,160}}?(?<!\w)(?:{how})(?!\w)")


def is_wish(text: str) -> bool:
    """Whether ``text``, one sentence, says how answers are to look or what to do on an occasion that recurs."""
    folded = fold(text).strip(" .!-\u2022*\"'")
    found = words(folded)
    if not found or len(found) > WISH_WORDS_MAX:
        return False
    if _said("this_one").search(folded) or pattern("third_party").search(folded):
        return False
    if folded.endswith("?"):
        return _said("request").match(folded) is not None
    if pattern("rendering").match(folded) and _topic().match(folded) is None:
        return False
    if _occasion().match(folded):
        return True
    if _said("now").search(folded):
        return False
    if _for_a_tool().match(folded) or (not _errand().match(folded) and _recurs(folded, found)):
        return True
    if len(found) > FRAGMENT_WORDS_MAX or pattern("task").match(folded):
        return False
    return pattern("shape_noun").search(folded) is not None and pattern("shape_word").search(folded) is not None


def _recurs(folded: str, found: list[str]) -> bool:
    """Whether it asks for something about a kind of thing, rather than about one."""
    asks = (_topic(), _manner(), _said("order"))
    if any(each.match(folded) for each in asks) or (unaccent(folded) == folded and _topic_unmarked().match(folded)):
        return True
    shaped = _shape().match(folded)
    if shaped is not None:
        return _said("persons").search(shaped[0]) is None
    return found[0] not in single("task") | single("imperative") and _said("fragment").match(folded) is not None
