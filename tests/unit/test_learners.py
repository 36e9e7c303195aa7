"""Who learns from a conversation: the sharing rule, the allowlist, and never the shared sentinel (S1)."""

from __future__ import annotations

import json
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from ingatan.identity import SENTINEL_SUBJECT
from ingatan.settings import load
from ingatan.spans import learners

PEOPLE = [SENTINEL_SUBJECT, *(UUID(int=n) for n in range(1, 6))]
SUBSETS = st.lists(st.sampled_from(PEOPLE), unique=True)


@given(askers=SUBSETS, listed=SUBSETS, shared=st.booleans(), allowed=st.booleans())
def test_everyone_who_has_memory_and_nobody_else(
    askers: list[UUID], listed: list[UUID], shared: bool, allowed: bool
) -> None:
    environ = {
        "INGATAN_MEMORY__SUBJECT_ALLOWLIST": json.dumps([str(id) for id in listed]),
        "INGATAN_MEMORY__SHARED_CONVERSATIONS": str(allowed).lower(),
    }
    found = learners(load(environ).memory, askers, shared=shared)
    assert found == sorted(found)
    if shared and not allowed:
        assert found == []
        return
    assert set(found) == {id for id in askers if id != SENTINEL_SUBJECT and (not listed or id in listed)}


def test_one_person_alone_learns() -> None:
    assert learners(load({}).memory, [PEOPLE[1]], shared=False) == [PEOPLE[1]]
