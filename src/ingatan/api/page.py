"""One page of a list: where it begins, how much of the list is read for it, and the cursor behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import Query

from ingatan.api import answers
from ingatan.app import App
from ingatan.types import Principal

Limit = Annotated[int, Query(ge=1, le=100)]
Position = tuple[datetime | UUID | int, ...]
Item = TypeVar("Item")


class Page:
    """A page of ``listing``, which names the route and its filter, for ``caller``. Raises BadCursor.

    ``behind`` is where the page before it ended, as the list's order has it, None for the first page; ``reads`` is one
    row more than is shown, which tells whether another page follows.
    """

    def __init__(self, app: App, caller: Principal, listing: str, cursor: str | None, limit: int) -> None:
        self._cursors, self._caller, self._listing, self._limit = app.cursors, caller, listing, limit
        self._position = app.cursors.open(caller, listing, cursor)
        self.reads = limit + 1

    @property
    def behind_id(self) -> UUID | None:
        """Of a list in the order of ids."""
        return UUID(self._position[0]) if self._position else None

    @property
    def behind_number(self) -> int | None:
        """Of a list in the order of numbers."""
        return int(self._position[0]) if self._position else None

    @property
    def behind_moment(self) -> tuple[datetime, UUID] | None:
        """Of a list in the order of moments, then ids."""
        return (datetime.fromisoformat(self._position[0]), UUID(self._position[1])) if self._position else None

    @property
    def behind_version(self) -> tuple[datetime, UUID, int] | None:
        """Of a list in the order of moments, then ids, then versions."""
        if self._position is None:
            return None
        return datetime.fromisoformat(self._position[0]), UUID(self._position[1]), int(self._position[2])

    def answer(
        self, found: Sequence[Item], shown: Callable[[Item], dict[str, Any]], position: Callable[[Item], Position]
    ) -> dict[str, Any]:
        """The rows ``found``, at most ``reads``, each as ``shown``, and the cursor at the last one's ``position``."""
        items, following = found[: self._limit], None
        if len(found) > self._limit:
            following = self._cursors.seal(self._caller, self._listing, *position(items[-1]))
        return answers.listing([shown(item) for item in items], following)
