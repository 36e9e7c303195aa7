"""From pattern templates to regular expressions.

A template is a regular expression over whole words in which ``{name}`` stands for any entry of that word list,
``<n>`` for a gap of up to n words, and one space for one or more. Word lists become prefix trees, so that a list of
hundreds costs about as much as one word. Every gap is bounded; nothing here backtracks without limit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ingatan.text import unaccent

_REFERENCE = re.compile(r"\{([a-z_]+)\}")
_GAP = re.compile(r"<(\d)>")
_WORD = r"[^\s,;:!?()]{1,40}[ ,]{1,3}"

Tree = dict[str, "Tree"]


def compiled(
    templates: Sequence[str], lists: Mapping[str, Sequence[str]], *, bare: bool = False, open_ended: bool = False
) -> re.Pattern[str]:
    """One expression that finds any of ``templates`` at word borders.

    ``bare`` drops diacritics from templates and lists; ``open_ended`` asks for no word border at the end.
    """
    expanded = [_REFERENCE.sub(lambda found: alternatives(lists[found[1]]), template) for template in templates]
    joined = "|".join(f"(?:{template})" for template in expanded)
    joined = _GAP.sub(lambda found: f"(?:{_WORD}){{0,{found[1]}}}", joined)
    if bare:
        joined = unaccent(joined)
    return re.compile(rf"(?<!\w)(?:{joined})" + ("" if open_ended else r"(?!\w)"))


def alternatives(entries: Sequence[str]) -> str:
    """An expression for exactly ``entries``, as a prefix tree, longest first."""
    tree: Tree = {}
    for entry in entries:
        node = tree
        for character in entry:
            node = node.setdefault(character, {})
        node[""] = {}
    return _expression(tree)


def _expression(tree: Tree) -> str:
    branches = []
    for character, below in sorted(tree.items()):
        if character == "":
            continue
        literal = re.escape(character)
        while len(below) == 1 and "" not in below:
            character, below = next(iter(below.items()))
            literal += re.escape(character)
        branches.append(literal + _expression(below) if set(below) != {""} else literal)
    body = "(?:" + "|".join(branches) + ")"
    return body + "?" if "" in tree else body
