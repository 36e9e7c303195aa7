"""The demo: a few short conversations in three languages, loaded as if they had been held in the last days."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from uuid import UUID

from ingatan import conversations
from ingatan.app import App
from ingatan.audit import AuditAction, Entry
from ingatan.identity import DEFAULT_TENANT, tenant_uuid
from ingatan.types import MessageRole, Principal, Role, new_id

MINUTES_BETWEEN_TURNS = 1


@dataclass(frozen=True, slots=True)
class DemoConversation:
    """Turns in order, user first, then in alternation; ``hours_ago`` is when the last one arrived."""

    hours_ago: float
    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Person:
    """Someone in the demo."""

    id: UUID
    name: str
    language: str
    conversations: tuple[DemoConversation, ...]
    roles: frozenset[Role] = frozenset({Role.USER})

    @property
    def principal(self) -> Principal:
        """The person as a caller of the default tenant."""
        return Principal(tenant_uuid(DEFAULT_TENANT), self.id, roles=self.roles, verified=True)


@cache
def people() -> tuple[Person, ...]:
    """The people of the demo, in the order of the file."""
    data = tomllib.loads(resources.files("ingatan").joinpath("demo.toml").read_text(encoding="utf-8"))
    return tuple(
        Person(
            UUID(person["id"]),
            person["name"],
            person["language"],
            tuple(
                DemoConversation(talk["hours_ago"], tuple(talk["turns"])) for talk in person.get("conversations", ())
            ),
            frozenset(Role(role) for role in person.get("roles", ("user",))),
        )
        for person in data["people"]
    )


def load(app: App, now: datetime | None = None) -> bool:
    """Load every person who has no conversation yet; True if anyone was loaded. Arrival times are set back."""
    at = now or datetime.now(UTC)
    loaded = False
    for person in (one for one in people() if one.conversations):
        with app.database.write(person.principal) as connection:
            if conversations.page(connection, person.principal, before=None, limit=1):
                continue
            loaded = True
            entries: list[Entry] = []
            for talk in person.conversations:
                id = new_id()
                conversations.create(connection, person.principal, id=id)
                for n, text in enumerate(talk.turns):
                    role = MessageRole.USER if n % 2 == 0 else MessageRole.ASSISTANT
                    behind = timedelta(minutes=MINUTES_BETWEEN_TURNS * (len(talk.turns) - 1 - n))
                    said = at - timedelta(hours=talk.hours_ago) - behind
                    message = conversations.NewMessage(role=role, content=text, created_at=said)
                    conversations.append(connection, person.principal, id, [message], received_at=said)
                created = AuditAction.CONVERSATION_CREATED
                entries.append(Entry(action=created, entity_type="conversation", entity_id=id))
            app.audit.append(connection, person.principal, entries)
    return loaded
