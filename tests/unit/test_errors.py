"""Errors: the tree that is drawn is the tree there is, and every code stands on the reference page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingatan import api, console, errors, reference, sweeper
from ingatan.errors import IngatanError

READ = (api, console, sweeper)
"""With these, every module has been read that defines errors."""


def kinds(kind: type[IngatanError] = IngatanError) -> Iterator[type[IngatanError]]:
    for inner in kind.__subclasses__():
        if inner.__module__.startswith("ingatan."):
            yield inner
            yield from kinds(inner)


def test_the_tree_names_every_error_with_its_status_under_its_parent() -> None:
    drawn = {}
    for line in str(errors.__doc__).splitlines():
        if line.startswith(("\u251c", "\u2514")):
            above, _, below = line[4:].partition(" \u2500\u2500 ")
            for name in re.findall(r"[A-Z]\w+", above):
                drawn[name] = "IngatanError"
            for name in re.findall(r"[A-Z]\w+", below):
                drawn[name] = re.findall(r"\w+", above)[0]
            for name, status in re.findall(r"(\w+) (\d{3})", above):
                assert getattr(errors, name, None) is None or getattr(errors, name).status == int(status)
    assert drawn == {kind.__name__: kind.__mro__[1].__name__ for kind in kinds()}


def test_the_page_has_codes_of_classes_and_codes_that_are_given_where_one_is_made() -> None:
    codes = set(re.findall(r"^\| `(\w+)`", reference.errors_page(), re.MULTILINE))
    assert {kind.code for kind in kinds()} - codes <= {"sign_in_needed", "form_refused"}
    assert {"invalid_request", "method_not_allowed", "own_candidate", "not_open", "json_too_deep"} <= codes
