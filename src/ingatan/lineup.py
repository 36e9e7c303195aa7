"""The line-up: conversations waiting to be swept by several workers, at most one in work a person, in their order."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from uuid import UUID

from ingatan.spans import Due


class Lineup:
    """Hands out ``waiting`` in order. A conversation waits while an earlier one with an asker of its own is unfinished.

    So what one person said is read in the order in which it ended, and ``take`` cannot wait for ever: the first one
    waiting is free once nothing is in work.
    """

    def __init__(self, waiting: Sequence[Due]) -> None:
        self._waiting = list(waiting)
        self._working: list[Due] = []
        self._changed = threading.Condition()

    def take(self) -> Due | None:
        """The next free conversation, waiting for one if need be; None when none is left, or after ``close``."""
        with self._changed:
            while self._waiting:
                free = self._free()
                if free is not None:
                    self._waiting.remove(free)
                    self._working.append(free)
                    return free
                self._changed.wait()
            return None

    def finish(self, due: Due) -> None:
        """``due`` is done, whatever became of it."""
        with self._changed:
            self._working.remove(due)
            self._changed.notify_all()

    def close(self) -> None:
        """Hand out nothing more; what is in work goes on."""
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()

    def _free(self) -> Due | None:
        busy: set[tuple[UUID, UUID]] = set()
        for due in self._working:
            busy |= _people(due)
        for due in self._waiting:
            people = _people(due)
            if not people & busy:
                return due
            busy |= people
        return None


def _people(due: Due) -> set[tuple[UUID, UUID]]:
    return {(due.tenant_id, asker) for asker in due.askers}
