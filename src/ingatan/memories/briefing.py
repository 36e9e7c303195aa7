"""The briefing: what a model is shown of one person for one extraction, under labels, within bounds. Pure.

Texts are JSON strings on a line of their own, so none can end the line or pose as a label.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ingatan.languages.detect import language_of
from ingatan.memories.events import EVENTS_MAX
from ingatan.memories.reply import Allowed
from ingatan.prompts import Prompt
from ingatan.types import CAPPED, Memory, Trust, Turn

MEMORIES_MAX = 100
MEMORY_CHARACTERS_MAX = 20_000
"""Of what is remembered, the newest are shown until either is reached; episodes and knowledge after the others."""
EARLIER_MAX = 10
EARLIER_CHARACTERS_MAX = 200
"""Older turns are shown for subjects the person returns to: the latest so many, each cut."""
LANGUAGE_NAMES = {"en": "English", "id": "Indonesian", "vi": "Vietnamese"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """Labelled turns, earlier turns and memories, and how much a reply may ask for."""

    turns: Mapping[str, Turn]
    earlier: Mapping[str, Turn]
    memories: Mapping[str, Memory]
    additions: int
    room: int
    characters: int

    @property
    def allowed(self) -> Allowed:
        """What a reply to this may name."""
        return Allowed(
            turns=frozenset(self.turns),
            earlier=frozenset(self.earlier),
            memories=frozenset(self.memories),
            additions=self.additions,
            room=self.room,
            characters=self.characters,
        )

    def turn(self, label: str) -> Turn:
        """The turn, or the older one, under ``label``."""
        return self.turns[label] if label in self.turns else self.earlier[label]

    def system(self, prompt: Prompt) -> str:
        """The rules, with this person's caps and languages."""
        languages = dict.fromkeys(LANGUAGE_NAMES[language_of(turn.text)] for turn in self.turns.values())
        full = (
            "- There is no room for more: beside episodes, only update and delete are allowed now."
            if self.room <= 0
            else ""
        )
        return prompt.filled(
            additions=max(min(self.additions, self.room), 0),
            events=EVENTS_MAX,
            characters=self.characters,
            languages=", ".join(languages),
            full=full,
        )

    def user(self) -> str:
        """The data: memories, older turns, turns."""
        lines = ["Already remembered:"]
        lines += [f"{label} ({_kind(memory)}): {_quoted(memory.text)}" for label, memory in self.memories.items()]
        if not self.memories:
            lines.append("(nothing)")
        if self.earlier:
            lines += ["", "Older turns of the asker:"]
            lines += [_line(label, turn) for label, turn in self.earlier.items()]
        lines += ["", "The asker's new turns:"]
        lines += [_line(label, turn) for label, turn in self.turns.items()]
        return "\n".join(lines)


def briefing(
    turns: Sequence[Turn],
    *,
    offered: Sequence[Memory],
    recent: Sequence[Turn],
    additions: int,
    room: int,
    characters: int,
) -> Briefing:
    """Label ``turns`` in order, the newest of ``offered`` and the latest of ``recent`` that are not among ``turns``."""
    fresh = {turn.id for turn in turns}
    older = [replace(turn, text=turn.text[:EARLIER_CHARACTERS_MAX]) for turn in recent if turn.id not in fresh]
    older = sorted(older, key=lambda turn: (turn.said_at, turn.seq))[-EARLIER_MAX:]
    shown: list[Memory] = []
    left = MEMORY_CHARACTERS_MAX
    for memory in sorted(offered, key=lambda each: (each.type in CAPPED, each.confirmed_at), reverse=True)[
        :MEMORIES_MAX
    ]:
        left -= len(memory.text)
        if left < 0:
            break
        shown.append(memory)
    return Briefing(
        turns={f"T{n}": turn for n, turn in enumerate(turns, 1)},
        earlier={f"E{n}": turn for n, turn in enumerate(older, 1)},
        memories={f"M{n}": memory for n, memory in enumerate(shown, 1)},
        additions=additions,
        room=room,
        characters=characters,
    )


def parts(turns: Sequence[Turn], count: int) -> list[list[Turn]]:
    """``turns`` in at most ``count`` runs of about equal length, in order; a turn longer than a run is cut at a space.

    Pieces of a turn keep its id, so what is quoted from one is quoted from the turn.
    """
    size = max(-(-sum(len(turn.text) for turn in turns) // max(count, 1)), 1)
    pieces = [replace(turn, text=text) for turn in turns for text in _pieces(turn.text, size)]
    runs: list[list[Turn]] = []
    length = 0
    for piece in pieces:
        if not runs or (length + len(piece.text) > size and len(runs) < count):
            runs.append([])
            length = 0
        runs[-1].append(piece)
        length += len(piece.text)
    return runs


def _pieces(text: str, size: int) -> list[str]:
    """``text`` in pieces of at most ``size`` characters, cut after the last space within each."""
    found: list[str] = []
    while len(text) > size:
        cut = text.rfind(" ", 0, size) + 1 or size
        found.append(text[:cut])
        text = text[cut:]
    return [*found, text] if text else found


def _kind(memory: Memory) -> str:
    unproven = ", unverified" if memory.trust is Trust.UNVERIFIED else ""
    return f"{memory.type.value}{unproven}"


def _line(label: str, turn: Turn) -> str:
    said = turn.said_at.isoformat(timespec="minutes")
    return f"{label} ({said}, {LANGUAGE_NAMES[language_of(turn.text)]}): {_quoted(turn.text)}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
