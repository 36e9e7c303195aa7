"""The line-up: everything is handed out once, in each person's order, and never two of one person at once."""

from __future__ import annotations

import threading
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from ingatan.lineup import Lineup
from ingatan.spans import Due
from ingatan.types import new_id

TENANT = new_id()
PEOPLE = [UUID(int=n) for n in range(1, 5)]


def due(*askers: UUID) -> Due:
    return Due(TENANT, new_id(), PEOPLE[0], askers)


@given(st.lists(st.lists(st.sampled_from(PEOPLE), max_size=3, unique=True), max_size=12), st.integers(1, 4))
def test_every_conversation_is_taken_once_and_nobody_is_in_two_hands(talks: list[list[UUID]], workers: int) -> None:
    listed = [due(*askers) for askers in talks]
    lineup = Lineup(listed)
    lock, busy, taken, clashes = threading.Lock(), set[UUID](), list[Due](), list[UUID]()

    def work() -> None:
        while (mine := lineup.take()) is not None:
            with lock:
                clashes.extend(busy & set(mine.askers))
                busy.update(mine.askers)
                taken.append(mine)
            with lock:
                busy.difference_update(mine.askers)
            lineup.finish(mine)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert clashes == []
    assert sorted(taken, key=listed.index) == listed
    assert len(taken) == len(listed)
    for person in PEOPLE:
        order = [listed.index(item) for item in taken if person in item.askers]
        assert order == sorted(order)


def test_a_person_in_hand_waits_and_others_go_on() -> None:
    first, second, third = due(PEOPLE[0]), due(PEOPLE[0], PEOPLE[1]), due(PEOPLE[2])
    lineup = Lineup([first, second, third])
    assert lineup.take() is first
    assert lineup.take() is third
    lineup.finish(first)
    assert lineup.take() is second


def test_closed_it_hands_out_nothing_more() -> None:
    lineup = Lineup([due(PEOPLE[0]), due(PEOPLE[0])])
    taken = lineup.take()
    assert taken is not None
    lineup.close()
    lineup.finish(taken)
    assert lineup.take() is None
