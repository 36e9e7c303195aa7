"""The reviewer's page and a person's own held ones, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingatan import console, demo
from ingatan.storage import embedded
from tests.api.test_console import WORK, Visit
from tests.serving import Service, serving

PERSON, REVIEWER = demo.people()[0], demo.people()[-1]


@pytest.fixture
def service(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    """A governed service with the page."""
    environ = {"INGATAN_POLICY__PROFILE": "governed"}
    url = server.url(embedded.APP, database_name)
    with serving(url, tmp_path, environ=environ, install=console.install) as running:
        yield running


def as_person(visit: Visit, person: demo.Person) -> None:
    visit.send("/console/person", person=str(person.id))
    visit.send("/console/language", language="en")


def held(service: Service, visit: Visit) -> str:
    """Say something that is held; its candidate's id."""
    visit.send("/console/say", text=WORK)
    service.sweep()
    items = service.client(str(PERSON.id)).get("/candidates", params={"state": "open"}).json()["items"]
    return str(items[0]["id"])


def test_only_reviewers_see_the_page(service: Service) -> None:
    visit = Visit(service)
    assert visit.client.get("/review").status_code == 403
    assert 'href="/review"' not in visit.open()
    as_person(visit, REVIEWER)
    assert 'href="/review"' in visit.open()
    assert "Nothing waits." in visit.open("/review")


def test_a_reviewer_cannot_decide_on_the_page_what_is_theirs(service: Service) -> None:
    visit = Visit(service)
    as_person(visit, REVIEWER)
    id = held_by(service, visit)
    page = visit.send("/console/approve", candidate=id)
    assert (page.status_code, "another reviewer decides" in page.text) == (403, True)


def held_by(service: Service, visit: Visit) -> str:
    visit.send("/console/say", text=WORK)
    service.sweep()
    items = service.client(str(REVIEWER.id)).get("/candidates", params={"state": "open"}).json()["items"]
    return str(items[0]["id"])


def test_held_shown_appealed_and_taken_back(service: Service) -> None:
    visit = Visit(service)
    id = held(service, visit)
    page = visit.open()
    assert f'id="held-{id}"' in page
    assert "A person looks at it first." in page
    visit.send("/console/appeal", candidate=id, note="Please.")
    assert "A look at it was asked for." in visit.open()
    assert visit.send("/console/appeal", candidate=id).status_code == 409
    visit.send("/console/withdraw", candidate=id)
    page = visit.open()
    assert f'id="held-{id}"' not in page
    assert "You took it back." in page


def test_rejected_with_a_note_and_said_again(service: Service) -> None:
    visit = Visit(service)
    id = held(service, visit)
    as_person(visit, REVIEWER)
    page = visit.open(f"/review?candidate={id}")
    assert "<mark>I work at the port of Sabang</mark>" in page
    done = visit.send("/console/reject", candidate=id, reason="not_a_statement", note="Unsure.")
    assert "Rejected; nothing of it is kept." in done.text
    assert visit.send("/console/reject", candidate=id, reason="accepted").status_code == 422
    as_person(visit, PERSON)
    page = visit.open()
    assert "Unsure." in page
    assert "A reviewer did not approve it." in page
    visit.send("/console/appeal", candidate=id, text=WORK, note="It is so.")
    as_person(visit, REVIEWER)
    assert "It is so." in visit.open(f"/review?candidate={id}")
    refused = visit.send("/console/approve", candidate=id, text="I work at the harbour of Padang.")
    assert (refused.status_code, "It says more than your words do." in refused.text) == (422, True)
    done = visit.send("/console/approve", candidate=id, text="I work at the port.")
    assert "Approved and remembered." in done.text
    items = service.client(str(PERSON.id)).get("/memories").json()["items"]
    assert [item["text"] for item in items] == ["I work at the port."]
