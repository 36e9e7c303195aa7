"""The runner: each case through a real App, in a tenant of its own, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ingatan import conversations
from ingatan.app import App
from ingatan.errors import PolicyRefused
from ingatan.memories import decisions, proposals, registry
from ingatan.steward import Correction
from ingatan.storage.database import Power
from ingatan.types import Memory, MessageRole, Principal, SourceKind, new_id
from ingatan_evals.cases import Ask, Case, Correct, Erase, Match, Say, State, Turn

LIST_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one case: the memories left, the reasons given, and every way in which it went wrong."""

    case: Case
    memories: tuple[str, ...]
    reasons: tuple[str, ...]
    faults: tuple[str, ...]
    milliseconds: float

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.faults


class Runner:
    """Runs cases one after the other; ``app`` is used for nothing else meanwhile."""

    def __init__(self, app: App) -> None:
        self._app = app

    def run(self, cases: Iterable[Case], *, after_each: Callable[[Result], None] = lambda result: None) -> list[Result]:
        """One result a case, in order."""
        results = []
        for case in cases:
            result = self._one(case)
            after_each(result)
            results.append(result)
        return results

    def _one(self, case: Case) -> Result:
        tenant, began = new_id(), datetime.now(UTC)
        people = {
            "asker": Principal(tenant, new_id(), verified=True),
            "other": Principal(tenant, new_id(), verified=True),
            "foreign": Principal(new_id(), new_id(), verified=True),
        }
        asker, faults = people["asker"], list[str]()
        for step in case.steps:
            match step:
                case Say():
                    self._say(asker, step)
                case State():
                    self._state(people[step.by], step)
                case Erase() | Correct():
                    faults += self._change(asker, step)
                case Ask():
                    faults += self._ask(asker, step)
        memories, reasons = self._memories(asker), self._reasons(asker)
        faults += _compare(case, memories, reasons)
        if case.expect.audit:
            faults += [f"no audit row '{name}'" for name in case.expect.audit if name not in self._audited(tenant)]
        return Result(
            case=case,
            memories=tuple(memory.text for memory in memories),
            reasons=reasons,
            faults=tuple(faults),
            milliseconds=(datetime.now(UTC) - began) / timedelta(milliseconds=1),
        )

    def _say(self, asker: Principal, step: Say) -> None:
        id = new_id()
        with self._app.database.write(asker) as connection:
            conversations.create(connection, asker, id=id)
            conversations.append(connection, asker, id, [_message(turn) for turn in step.turns])
        idle = timedelta(minutes=self._app.settings.memory.idle_minutes + 1)
        self._app.sweeper.sweep(datetime.now(UTC) + idle)

    def _state(self, who: Principal, step: State) -> None:
        candidate = proposals.proposal(
            who,
            step.text,
            step.type,
            importance=0.7,
            source=SourceKind.SELF,
            conversation_id=None,
            evidence=(),
            expires_at=None,
            now=datetime.now(UTC),
        )
        self._app.steward.propose(who, candidate)

    def _change(self, asker: Principal, step: Erase | Correct) -> list[str]:
        found = [memory for memory in self._memories(asker) if _matches(step.memory, memory.text, memory.type)]
        if len(found) != 1:
            return [f"{len(found)} memories match what was to be changed"]
        if isinstance(step, Erase):
            self._app.steward.erase(asker, memory_id=found[0].id)
            return []
        try:
            self._app.steward.correct(asker, found[0].id, Correction(text=step.text))
        except PolicyRefused as refused:
            return [f"the correction was refused: {refused.extra.get('reasons')}"]
        return []

    def _ask(self, asker: Principal, step: Ask) -> list[str]:
        packet = self._app.gateway.recall(asker, step.query)
        texts = [record.text for record in packet.memories]
        faults = [
            f"not recalled: {each.has}" for each in step.recalled if not any(_holds(each, text) for text in texts)
        ]
        faults += [f"recalled: {each.has}" for each in step.not_recalled if any(_holds(each, text) for text in texts)]
        if step.first is not None and not (texts and _holds(step.first, texts[0])):
            faults.append(f"not first: {step.first.has}")
        if step.nothing and texts:
            faults.append(f"{len(texts)} recalled where nothing was expected")
        return faults

    def _memories(self, asker: Principal) -> list[Memory]:
        with self._app.database.read(asker) as connection:
            return registry.active(connection, asker, datetime.now(UTC))

    def _reasons(self, asker: Principal) -> tuple[str, ...]:
        with self._app.database.read(asker) as connection:
            decided = decisions.page(connection, asker, decision=None, before=None, limit=LIST_MAX)
        return tuple(sorted({reason.value for each in decided for reason in each.reasons}))

    def _audited(self, tenant_id: UUID) -> set[str]:
        self._app.seal()
        with self._app.database.read(Principal(tenant_id, UUID(int=0)), power=Power.AUDIT) as connection:
            return {row.action for row in connection.all("audit.page", tenant_id=tenant_id, after=0, limit=LIST_MAX)}


def _message(turn: str | Turn) -> conversations.NewMessage:
    if isinstance(turn, str):
        return conversations.NewMessage(role=MessageRole.USER, content=turn)
    return conversations.NewMessage(role=MessageRole(turn.role), content=turn.text)


def _holds(match: Match, text: str) -> bool:
    return all(word.casefold() in text.casefold() for word in match.has)


def _matches(match: Match, text: str, kind: str) -> bool:
    return _holds(match, text) and match.type in (None, kind)


def _compare(case: Case, memories: Sequence[Memory], reasons: Sequence[str]) -> list[str]:
    """How the end differs from what was expected."""
    faults = [f"no decision for reason '{name}'" for name in case.expect.reasons if name not in reasons]
    if case.expect.memories is None:
        return faults
    left = list(memories)
    for match in case.expect.memories:
        found = next((memory for memory in left if _matches(match, memory.text, memory.type)), None)
        if found is None:
            alike = any(_holds(match, memory.text) for memory in left)
            faults.append(f"{'of another type' if alike else 'missing'}: {match.has}")
        else:
            left.remove(found)
    return faults + ["remembered and not expected"] * len(left)
