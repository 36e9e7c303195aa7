"""Field cases of kind D: what a deletion takes, what it leaves behind, and what comes back afterwards.

| case | what is shown here |
|------|--------------------|
| D01 | each delete takes what was asked of one's own and nothing of others; blank, null and wildcard take nothing |
| D02 | after each door, text and vector stand in no table but the source turn, which the receipt names |
| D04 | a tool's listing and the assistant's echo of what was deleted teach nothing; said anew it may be learned |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest

from ingatan import console, demo
from ingatan.storage import embedded
from ingatan.testing import WordEmbedder
from ingatan.types import Role
from tests.acceptance.processes import run
from tests.api.test_console import Visit
from tests.model_server import Step, model_server, operation, proposes, reacts
from tests.serving import Service, serving
from tests.tables import Rows, Tables

STATEMENTS = ("I work at the port of Sabang.", "I prefer short answers.")
THIRD = "I use QGIS every week."
UUID_TEXT = "01a00000-0000-7000-8000-000000000001"


@pytest.fixture
def service(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    """A service with the page."""
    with serving(server.url(embedded.APP, database_name), tmp_path, install=console.install) as running:
        yield running


def command(service: Service, server: embedded.EmbeddedServer, name: str, *arguments: str) -> dict[str, Any]:
    """Run the command line on the service's database; its JSON, or nothing when it refused."""
    made = run(
        *arguments,
        "--json",
        directory=service.app.settings.server.data_directory,
        INGATAN_ENVIRONMENT="development",
        INGATAN_DATABASE__URL=server.url(embedded.APP, name),
        INGATAN_EMBEDDING__WITHOUT_PREVIOUS="true",
    )
    assert made.returncode in {0, 1, 2}, made.stderr
    assert "Traceback" not in made.stderr
    return dict(json.loads(made.stdout)) if made.returncode == 0 else {}


class Person:
    """Someone with three memories from two conversations, and every id that is theirs."""

    def __init__(self, service: Service, name: str, tenant: str = "default") -> None:
        self.service = service
        self.client = service.client(name, tenant=tenant)
        self.first = service.say(self.client, *STATEMENTS)
        self.second = service.say(self.client, THIRD)
        principal = service.principal(name, tenant=tenant)
        self.subject, self.tenant = str(principal.subject_id), str(principal.tenant_id)

    def marks(self) -> list[str]:
        turns = [
            item["id"]
            for conversation in (self.first, self.second)
            for item in self.client.get(f"/conversations/{conversation}/messages").json()["items"]
        ]
        memories = [item["id"] for item in self.service.remembered(self.client)]
        assert len(memories) == 3
        return [self.subject, self.first, self.second, *turns, *memories]


@pytest.fixture
def ana(service: Service) -> Person:
    return Person(service, "ana")


@pytest.fixture
def others(service: Service, ana: Person) -> list[Person]:
    """Bea of the same tenant and, of another one, somebody with Ana's name; all have been swept."""
    found = [Person(service, "bea"), Person(service, "ana", "other")]
    service.sweep()
    service.app.seal()
    return found


def of_others(tables: Tables, others: list[Person]) -> Rows:
    """Every row about them; the same name in two tenants has the same subject id."""
    rows: Rows = {}
    for person in others:
        for name, found in tables.about(person.marks(), within=person.tenant).items():
            rows[name] = rows.get(name, []) + found
    return rows


def test_d01_each_delete_takes_what_was_asked_and_nothing_of_others(
    service: Service, ana: Person, others: list[Person], tables: Tables
) -> None:
    before = of_others(tables, others)
    assert {"memories", "memory_embeddings", "memory_evidence", "candidates", "messages"} <= before.keys()
    scoped = ana.client.delete("/memories", params={"conversation_id": ana.first}).json()["receipt"]
    assert scoped["removed"]["memories"] == 2
    assert [item["text"] for item in service.remembered(ana.client)] == [THIRD.rstrip(".")]
    assert of_others(tables, others) == before
    foreign = ana.client.delete("/memories", params={"conversation_id": others[0].first}).json()["receipt"]
    assert foreign["removed"]["memories"] == 0
    everything = ana.client.delete("/memories").json()["receipt"]
    assert everything["removed"]["memories"] == 1
    assert service.remembered(ana.client) == []
    assert of_others(tables, others) == before


def attempts(client: httpx.Client, own: str) -> list[httpx.Response]:
    """Deletes whose filter is empty, blank, a pattern, unknown, repeated, in the body or in the path."""
    bodies = ['{"filters":{}}', '{"filters":null}', '{"filters":{"session":null}}', "{}", "null", "[]", '""', " "]
    queries = ["user_id=", "user_id=*", "user_id=%2A", "conversation_id=", "conversation_id=%20", "conversation_id=*"]
    queries += ["conversation_id=%25", "conversation_id=null", "conversation_id=%00", "status=", "ids=", "filters={}"]
    queries += [f"conversation_id={own}&conversation_id=", f"conversation_id={own}*", "conversation_id[]=", "&=", "a"]
    answers = [
        client.request("DELETE", "/memories", content=body, headers={"Content-Type": "application/json"})
        for body in bodies
    ]
    answers += [client.request("DELETE", f"/memories?{query}") for query in queries]
    paths = ["", "*", "%2A", "%20", "null", "undefined", "00000000-0000-0000-0000-000000000000", f"{own}*", "%25", "."]
    return answers + [
        client.request("DELETE", f"/{kind}/{path}", follow_redirects=True)
        for kind in ("memories", "conversations", "workspaces", "consent/never-again")
        for path in paths
        if path != "."  # a client joins it away
    ]


@pytest.mark.parametrize("roles", [[Role.USER], [Role.USER, Role.ADMIN], [Role.ADMIN]], ids=["person", "both", "admin"])
def test_d01_a_blank_null_or_wildcard_filter_takes_nothing(
    service: Service, ana: Person, others: list[Person], tables: Tables, roles: list[Role]
) -> None:
    everyone = [ana, *others]
    before = of_others(tables, everyone)
    answers = attempts(service.client("ana", roles=roles), ana.first)
    assert {answer.status_code for answer in answers} <= {400, 403, 404, 405, 422}
    assert of_others(tables, everyone) == before
    if Role.USER not in roles:
        refused = service.client("ana", roles=roles).delete("/memories")
        assert refused.status_code == 403
    boss = service.client("boss", roles=roles)
    boss.delete("/memories")  # nothing of their own: takes nobody else's
    assert of_others(tables, everyone) == before


def test_d01_forms_and_commands_with_blank_or_pattern_take_nothing(
    service: Service,
    server: embedded.EmbeddedServer,
    database_name: str,
    ana: Person,
    others: list[Person],
    tables: Tables,
) -> None:
    everyone = [ana, *others]
    before = of_others(tables, everyone)
    visit = Visit(service)
    for memory in ("", " ", "*", "null", UUID_TEXT, service.remembered(ana.client)[0]["id"]):
        assert visit.send("/console/erase", memory=memory).status_code in {404, 422}
    assert visit.client.post("/console/erase", data={"csrf": visit.csrf}).status_code == 422
    for arguments in (
        [], ["--subject", ""], ["--subject", "  "], ["--subject", "*"], ["--subject", "%"],
        ["--subject", "ana", "--tenant", ""], ["--subject", "ana", "--memory", ""],
        ["--subject", "ana", "--conversation", "*"], ["--memory", UUID_TEXT],
    ):  # fmt: skip
        assert command(service, server, database_name, "erase", *arguments) == {}, arguments
    for statement in (
        "select erase_user_memory(null)",
        'delete from user_memory where "userId" = null',
        "delete from user_memory where text = '' or text like '\\%'",
    ):
        tables.run(f"set role ingatan_dba; {statement}; reset role")
    assert of_others(tables, everyone) == before


SECRET = "Quillonvex"
SAID, LATER = f"I work at the port of {SECRET}.", f"I work at the harbour of {SECRET}."


class Known:
    """A person of the page of whom ``SAID`` was learned from a turn, corrected once, recalled, and said again."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.visit = Visit(service)
        first = demo.people()[0]
        self.client = service.client(str(first.id))
        self.conversation = service.say(self.client, "Hello there.", SAID, STATEMENTS[1])
        service.sweep()
        self.memory = next(item["id"] for item in service.remembered(self.client) if SECRET in item["text"])
        self.turn = self.client.get(f"/conversations/{self.conversation}/messages").json()["items"][1]["id"]
        self.client.patch(f"/memories/{self.memory}", json={"text": LATER}).raise_for_status()
        own = {"text": LATER, "type": "fact", "source": {"kind": "self"}}
        for key in ("k1", "k2"):
            self.client.post("/candidates", json=own, headers={"Idempotency-Key": key}).raise_for_status()
        self.client.post("/candidates", json=own | {"importance": 0.1}).raise_for_status()
        self.client.post("/recall", json={"query": SAID}).raise_for_status()
        self.client.post("/recall", json={"query": SAID, "as_of": datetime.now(UTC).isoformat()}).raise_for_status()
        self.subject = str(service.principal(str(first.id)).subject_id)
        service.app.seal()
        self.service.sweep()


Door = Callable[[Known, Callable[..., dict[str, Any]], Tables], dict[str, Any]]


def rest(path: str) -> Door:
    def go(known: Known, command: Callable[..., dict[str, Any]], tables: Tables) -> dict[str, Any]:
        address = path.format(memory=known.memory, conversation=known.conversation)
        return dict(known.client.delete(address).raise_for_status().json()["receipt"])

    return go


def page(act: str) -> Door:
    def go(known: Known, command: Callable[..., dict[str, Any]], tables: Tables) -> dict[str, Any]:
        known.visit.open()
        answer = known.visit.send(f"/console/{act}", memory=known.memory)
        assert answer.status_code == 200
        assert "receipt" in answer.text
        return receipt(tables)

    return go


def operator(*arguments: str) -> Door:
    def go(known: Known, command: Callable[..., dict[str, Any]], tables: Tables) -> dict[str, Any]:
        given = [argument.format(memory=known.memory, conversation=known.conversation) for argument in arguments]
        return command("erase", "--subject", str(demo.people()[0].id), *given)

    return go


def administrator(statement: str) -> Door:
    def go(known: Known, command: Callable[..., dict[str, Any]], tables: Tables) -> dict[str, Any]:
        with psycopg.connect(tables.url, autocommit=True) as driver:
            driver.execute("set role ingatan_dba")
            driver.execute(statement.format(memory=known.memory, subject=known.subject).encode())
        return receipt(tables)

    return go


def receipt(tables: Tables) -> dict[str, Any]:
    [(found,)] = tables.run("select receipt from erasures")
    assert isinstance(found, dict)
    return found


DOORS: dict[str, Door] = {
    "one": rest("/memories/{memory}"),
    "one for good": rest("/memories/{memory}?never_again=true"),
    "a conversation's": rest("/memories?conversation_id={conversation}"),
    "all": rest("/memories"),
    "one on the page": page("erase"),
    "all on the page": page("erase-everything"),
    "one by command": operator("--memory", "{memory}"),
    "a conversation's by command": operator("--conversation", "{conversation}"),
    "all by command": operator(),
    "one by SQL": administrator("delete from user_memory where id = '{memory}'"),
    "all by SQL": administrator("select erase_user_memory('{subject}')"),
}


@pytest.mark.parametrize("door", DOORS)
def test_d02_nothing_remains_but_the_source_turn(
    service: Service, server: embedded.EmbeddedServer, database_name: str, tables: Tables, door: str
) -> None:
    known = Known(service)
    assert {"memories", "memory_evidence", "messages"} <= tables.about([SECRET]).keys()
    removed = DOORS[door](known, lambda *given: command(service, server, database_name, *given), tables)
    left = tables.about([SECRET])
    assert left.keys() == {"messages"}, "the turn stays in its conversation, and nothing else anywhere"
    assert len(left["messages"]) == 1
    assert known.turn in removed["sources_kept"]
    assert known.memory not in str(tables.about([known.memory]).keys() - {"audit_log", "audit_pending"})
    embedder = WordEmbedder()
    for (vector,) in tables.run("select v::text from memory_embeddings"):
        kept = np.array(json.loads(str(vector)), dtype=np.float32)
        for text in (SAID, LATER):
            likeness = float(kept @ embedder.query(text) / np.linalg.norm(kept))
            assert likeness < 0.95
    assert tables.about([known.memory]).keys() <= {"audit_log", "audit_pending"}, "ids stay in the audit alone"
    for status in ("active", "superseded", "deleted", "archived"):
        assert SECRET not in json.dumps(service.remembered(known.client, status))
    answers = [
        known.client.post("/recall", json={"query": SAID}),
        known.client.post("/recall", json={"query": SAID, "as_of": datetime.now(UTC).isoformat()}),
        known.client.get("/candidates"),
    ]
    assert all(SECRET not in answer.text for answer in answers)
    for path in ("", "/versions"):
        assert known.client.get(f"/memories/{known.memory}{path}").status_code == 404
    files = [path for path in service.app.settings.server.data_directory.rglob("*") if path.is_file()]
    assert files
    assert all(SECRET.encode() not in path.read_bytes() for path in files)
    service.sweep(minutes=100)
    assert tables.about([SECRET]).keys() == {"messages"}, "no later sweep brings it back"


def test_d02_a_deleted_view_keeps_its_memories_and_a_wish_in_chat_closes_the_row(
    service: Service, tables: Tables
) -> None:
    known = Known(service)
    known.client.delete(f"/conversations/{known.conversation}").raise_for_status()
    assert any(SECRET in item["text"] for item in service.remembered(known.client))
    assert SECRET in known.client.post("/recall", json={"query": SAID}).text
    service.say(known.client, "Please forget where I work.")
    service.sweep()
    assert SECRET not in known.client.post("/recall", json={"query": SAID}).text
    assert SECRET not in known.client.get("/memories").text
    known.client.delete(f"/memories/{known.memory}").raise_for_status()
    assert tables.about([SECRET]).keys() == {"messages"}, "erasing takes the closed row too"


LIKES = "I like black coffee."
ECHO = [
    {"role": "user", "content": "Forget that I like black coffee."},
    {"role": "tool", "content": json.dumps({"deleted": [{"text": LIKES}]})},
    {"role": "assistant", "content": f"I removed: *{LIKES}* You said: {LIKES}"},
    {"role": "user", "content": "good"},
]


def echo(client: httpx.Client, last: str = "good") -> str:
    """A conversation in which a tool and the assistant print what was deleted."""
    id = str(client.post("/conversations", json={}).raise_for_status().json()["id"])
    client.post(
        f"/conversations/{id}/messages", json={"messages": [*ECHO[:-1], ECHO[-1] | {"content": last}]}
    ).raise_for_status()
    return id


@pytest.mark.parametrize("erased", [True, False], ids=["erased", "forgotten in chat"])
def test_d04_what_a_tool_or_the_assistant_prints_is_not_learned_again(service: Service, erased: bool) -> None:
    ana = service.client()
    service.say(ana, LIKES)
    service.sweep()
    [memory] = service.remembered(ana)
    if erased:
        ana.delete(f"/memories/{memory['id']}").raise_for_status()
    id = echo(ana)
    service.sweep()
    assert service.remembered(ana) == []
    turns = ana.get(f"/conversations/{id}/messages").json()["items"]
    for turn in turns:
        source = {"kind": "turn", "conversation_id": id, "message_ids": [turn["id"]]}
        body = {"text": LIKES, "type": "preference", "source": source, "quote": LIKES.rstrip(".")}
        answer = ana.post("/candidates", json=body).raise_for_status().json()
        assert answer["decision"] == "reject", turn["role"]
        assert answer["reasons"] != []
    assert service.remembered(ana) == []
    for text in (ECHO[0]["content"], "Lupakan bahwa saya suka kopi hitam."):
        stated = {"text": text, "type": "preference", "source": {"kind": "self"}}
        assert ana.post("/candidates", json=stated).json()["decision"] == "reject", "a wish to forget is no memory"
    service.say(ana, "Good morning!", LIKES, conversation_id=id)
    service.sweep()
    assert [item["text"] for item in service.remembered(ana)] == [LIKES.rstrip(".")], "said anew, it is learned anew"


def test_d04_a_faithful_model_cannot_bring_it_back_either(
    server: embedded.EmbeddedServer, database_name: str, tmp_path: Path
) -> None:
    quote = LIKES.rstrip(".")

    def citing(words: str) -> Step:
        return reacts(lambda asked: proposes(operation("add", (asked.label(words), quote), text=LIKES)))

    with model_server() as model:
        url = server.url(embedded.APP, database_name)
        with serving(url, tmp_path, environ=model.settings()) as service:
            ana = service.client()
            own = {"text": LIKES, "type": "preference", "source": {"kind": "self"}}
            made = ana.post("/candidates", json=own).raise_for_status().json()
            ana.delete(f"/memories/{made['memory_id']}").raise_for_status()
            for last, cited in (("good", "Forget that"), ("all fine", "all fine")):
                model.script = [citing(cited)]
                echo(ana, last)
                report = service.sweep()
                assert (report.conversations, report.failed) == (1, 0)
                assert service.remembered(ana) == []
                refused = ana.get("/candidates", params={"decision": "reject"}).json()["items"]
                assert refused[0]["reasons"] == ["not_a_statement" if cited != "all fine" else "no_evidence"]
            assert len(model.asked) == 2
            assert all('deleted"' not in asked.user for asked in model.asked), "tool output is not shown to the model"
            model.script = [citing("Truly")]
            service.say(ana, f"Truly, {LIKES}")
            service.sweep()
            assert len(service.remembered(ana)) == 1
