"""B02, F01: the same write at the same moment, and chains under parallel acts; who waits for whom."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from ingatan import subjects
from ingatan.types import Role
from tests.api.test_workspaces import PEOPLE, conversation, person, workspace
from tests.serving import Service

WAIT_SECONDS = 20.0
BODY = {"text": "I prefer tea over coffee.", "type": "preference", "source": {"kind": "self"}}


def test_b02_twenty_identical_writes_make_one_memory_a_person(service: Service) -> None:
    people = {name: service.client(name) for name in ("ana", "bea")} | {"zoe": service.client("ana", tenant="other")}

    def write(n: int) -> tuple[str, int, str]:
        name = ("ana", "ana", "bea", "zoe")[n % 4]
        answer = people[name].post("/candidates", json=BODY)
        return name, answer.status_code, str(answer.json().get("memory_id"))

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(write, range(40)))
    for name, client in people.items():
        mine = [(status, id) for who, status, id in answers if who == name]
        assert sorted({status for status, _ in mine}) == [200, 201]
        assert [status for status, _ in mine].count(201) == 1
        assert len({id for _, id in mine}) == 1
        assert len(service.remembered(client)) == 1
    assert people["ana"].post("/candidates", json=BODY).status_code == 200
    assert len({id for _, _, id in answers}) == 3


def test_f01_the_chain_does_not_fork_under_parallel_acts(service: Service) -> None:
    clients = [service.client(f"person-{n}") for n in range(5)]

    def act(n: int) -> int:
        if n % 2:
            return clients[n % 5].put("/consent", json={"consent": "granted"}).status_code
        return clients[n % 5].post("/recall", json={"query": "anything"}).status_code

    with ThreadPoolExecutor(10) as pool:
        assert set(pool.map(act, range(60))) == {200}
        list(pool.map(lambda _: service.app.seal(), range(3)))
    auditor = service.client("auditor", roles=[Role.AUDITOR])
    found = auditor.get("/audit/verify").json()
    assert found["sound"] is True
    assert found["rows"] == 60


def test_f01_appending_waits_for_nobody_who_changes_the_askers_row(service: Service) -> None:
    """An append holds the conversation, which a sweep's commit takes after the askers' rows: waiting would deadlock."""
    ana, bea = person(service, "ana"), person(service, "bea")
    id = conversation(ana, workspace(ana, "bea"))
    turn = {"messages": [{"role": "user", "content": "Where is berth four?"}]}
    asker = service.principal(PEOPLE["bea"])
    assert bea.post(f"/conversations/{id}/messages", json=turn).status_code == 201
    with ThreadPoolExecutor(1) as pool, service.app.database.write(asker) as connection:
        subjects.lock(connection, asker)
        subjects.raise_epoch(connection, asker)
        appended = pool.submit(bea.post, f"/conversations/{id}/messages", json=turn)
        assert appended.result(WAIT_SECONDS).status_code == 201
