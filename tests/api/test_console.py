"""The first page over HTTP: who gets in, what a form needs, and what every page carries."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from joserfc.jwk import KeySet, OKPKey

from ingatan import console, demo
from ingatan.access import Action
from ingatan.console.sessions import COOKIE
from ingatan.storage import embedded
from ingatan.types import Role
from tests.api.test_policy import YAML, administrator, changed
from tests.serving import NO_TLS, Service, serving

FORMS = sorted({path for method, path, _ in console.actions() if method == "POST"})
WORK = "I work at the port of Sabang."


@pytest.fixture
def service(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    """A service with the page."""
    with serving(server.url(embedded.APP, database_name), tmp_path, install=console.install) as running:
        yield running


class Visit:
    """A signed-in browser without a screen."""

    def __init__(self, service: Service) -> None:
        assert service.sign_in is not None
        self.client = httpx.Client(base_url=service.address, follow_redirects=True, timeout=30, verify=NO_TLS)
        service.clients.append(self.client)
        self.page = self.client.get(service.sign_in)
        self.send("/console/language", language="en")

    @property
    def csrf(self) -> str:
        """The form secret of the page as last loaded."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.page.text)
        assert found is not None
        return found.group(1)

    def open(self, path: str = "/") -> str:
        """Load the page; returns its HTML."""
        self.page = self.client.get(path)
        return self.page.text

    def send(self, path: str, **fields: str) -> httpx.Response:
        """Send a form of the page as it was last loaded."""
        answer = self.client.post(path, data={"csrf": self.csrf, **fields})
        if 'name="csrf"' in answer.text:
            self.page = answer
        return answer

    def memory_ids(self) -> list[str]:
        """Ids of the memories shown."""
        return re.findall(r'<li id="memory-([^"]+)"', self.open())


def test_the_link_signs_in_one_visitor_out_of_many_at_once(service: Service) -> None:
    assert service.sign_in is not None
    path = service.sign_in

    def enter(_: int) -> httpx.Response:
        return httpx.get(f"{service.address}{path}", timeout=30)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(enter, range(16)))
    [won] = [answer for answer in answers if answer.status_code == 303]
    assert won.headers["location"] == "/"
    assert won.headers["referrer-policy"] == "no-referrer"
    assert COOKIE in won.cookies
    for lost in answers:
        if lost is not won:
            assert lost.status_code == 403
            assert "ingatan serve" in lost.text
            assert not lost.cookies


def test_the_cookie_is_for_this_site_and_no_script(service: Service) -> None:
    won = httpx.get(f"{service.address}{service.sign_in}")
    attributes = [part.strip().lower() for part in won.headers["set-cookie"].split(";")[1:]]
    assert sorted(attributes) == ["httponly", "max-age=43200", "path=/", "samesite=strict"]


def test_the_cookie_is_secure_behind_tls(service: Service) -> None:
    won = httpx.get(f"{service.address}{service.sign_in}", headers={"X-Forwarded-Proto": "https"})
    assert "secure" in won.headers["set-cookie"].lower()


@pytest.mark.parametrize(
    "path", ["/", "/sign-in", "/sign-in?once=wrong", "/console/static/style.css", "/?conversation=x"]
)
def test_every_page_carries_the_headers(service: Service, path: str) -> None:
    clients = [httpx.Client(base_url=service.address), Visit(service).client]
    service.clients.append(clients[0])
    for client in clients:
        headers = client.get(path, follow_redirects=False).headers
        policy = set(headers["content-security-policy"].split("; "))
        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} <= policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == ("no-cache" if "static" in path else "no-store")


@pytest.mark.parametrize("path", FORMS)
def test_a_form_without_the_session_secret_is_refused(service: Service, path: str) -> None:
    visit = Visit(service)
    fields = {
        "text": "I prefer short answers.", "consent": "withdrawn", "language": "vi", "question": "Where?",
        "person": str(demo.people()[1].id), "memory": str(uuid4()),
    }  # fmt: skip
    if path in {"/console/approve", "/console/reject"}:
        visit.send("/console/person", person=str(demo.people()[-1].id))
    before = visit.open()
    for secret in ({}, {"csrf": ""}, {"csrf": "wrong"}, {"csrf": "é"}, {"csrf": visit.csrf + "x"}):
        refused = visit.client.post(path, data=fields | secret)
        assert refused.status_code == 403
        assert refused.headers["content-type"].startswith("text/html")
        assert not refused.headers.get("set-cookie")
    assert strip(visit.open()) == strip(before)
    assert visit.send(path, **fields).status_code != 403


def test_a_form_secret_in_an_odd_charset_is_refused_like_any_other(service: Service) -> None:
    visit = Visit(service)
    part = 'Content-Disposition: form-data; name="{}"\r\nContent-Type: text/plain; charset=unicode_escape\r\n\r\n{}\r\n'
    body = "".join(f"--x\r\n{part.format(name, value)}" for name, value in (("csrf", "\\ud800"), ("text", WORK)))
    kind = {"Content-Type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    answer = visit.client.post("/console/say", content=f"{body}--x--\r\n".encode(), headers=kind)
    assert answer.status_code == 403


def strip(page: str) -> str:
    """The page without what is new each time."""
    return re.sub(r'name="act_id" value="[^"]+"', "", page)


def test_a_secret_of_another_session_is_refused(service: Service) -> None:
    visit = Visit(service)
    first = visit.csrf
    visit.send("/console/person", person=str(demo.people()[1].id))
    assert visit.csrf != first
    assert visit.client.post("/console/say", data={"csrf": first, "text": "Hello"}).status_code == 403


def test_the_api_takes_no_cookie_and_the_page_no_token(service: Service) -> None:
    visit = Visit(service)
    assert visit.client.get("/").status_code == 200
    assert visit.client.get("/memories").status_code == 401
    assert visit.client.post("/recall", json={"query": "Where?"}).status_code == 401
    value = visit.client.cookies[COOKIE]
    bearer = {"Authorization": f"Bearer {value}"}
    assert httpx.get(f"{service.address}/memories", headers=bearer).status_code == 401
    person = service.client(str(demo.people()[0].id))
    assert person.get("/memories").status_code == 200
    assert person.get("/").status_code == 401
    assert person.post("/console/say", data={"text": WORK}).status_code == 401


@pytest.mark.parametrize("cookie", ["", "x.y.z", "é"])
def test_without_a_session_the_page_says_how_to_sign_in(service: Service, cookie: str) -> None:
    raw = {b"Cookie": f"{COOKIE}={cookie}".encode(), b"Accept-Language": b"id"}
    answer = httpx.get(service.address, headers=raw)
    assert answer.status_code == 401
    assert "Silakan masuk" in answer.text


def test_only_people_of_the_demo_can_be_chosen(service: Service) -> None:
    visit = Visit(service)
    assert visit.send("/console/person", person=str(uuid4())).status_code == 403
    changed = visit.send("/console/person", person=str(demo.people()[2].id))
    assert changed.status_code == 200
    assert '<html lang="vi">' in changed.text


def test_the_same_form_sent_twice_says_it_once(service: Service) -> None:
    visit = Visit(service)
    act = str(uuid4())
    for _ in range(2):
        assert visit.send("/console/say", text=WORK, act_id=act).status_code == 200
    assert visit.page.text.count('class="turn user"') == 1
    assert visit.page.text.count('href="/?conversation=') == 1
    assert visit.send("/console/say", text="Other words.", act_id=act).status_code == 409
    person = demo.people()[0]
    with service.app.database.read(person.principal) as connection:
        rows = connection.all("conversations.list", tenant_id=person.principal.tenant_id, user_id=person.id,
                              before_at=None, before_id=None, limit=10)  # fmt: skip
    assert len(rows) == 1


def test_what_cannot_be_done_is_said_on_the_page(service: Service) -> None:
    visit = Visit(service)
    blank = visit.send("/console/say", text=" \u200b ")
    assert (blank.status_code, "Please write something first." in blank.text) == (422, True)
    long = visit.send("/console/say", text="x" * 8_001)
    assert (long.status_code, "too long" in long.text) == (413, True)
    question = visit.send("/console/recall", question=" ")
    assert (question.status_code, 'role="alert"' in question.text) == (422, True)
    gone = visit.send("/console/erase", memory=str(uuid4()))
    assert (gone.status_code, "not yours" in gone.text) == (404, True)
    assert visit.client.get(f"/?conversation={uuid4()}").status_code == 404
    assert visit.client.get("/?conversation=x").status_code == 422
    assert visit.send("/console/consent", consent="unset").status_code == 422
    assert visit.send("/console/correct", memory=str(uuid4()), text=WORK, importance="2").status_code == 422


def test_another_persons_memory_and_conversation_are_not_there(service: Service) -> None:
    visit = Visit(service)
    visit.send("/console/say", text=WORK)
    service.sweep()
    [id] = visit.memory_ids()
    talk = re.findall(r'href="/\?conversation=([^"#]+)"', visit.page.text)[0]
    visit.send("/console/person", person=str(demo.people()[1].id))
    assert "Sabang" not in visit.open()
    assert visit.client.get(f"/?conversation={talk}").status_code == 404
    assert visit.send("/console/erase", memory=id).status_code == 404
    correction = visit.send("/console/correct", memory=id, text="I work here.")
    assert (correction.status_code, "not yours" in correction.text) == (404, True)
    assert visit.send("/console/say", conversation=talk, text="Hello").status_code == 404
    assert visit.send("/console/recall", shown=talk, question="Where?").status_code == 404
    visit.send("/console/person", person=str(demo.people()[0].id))
    assert visit.memory_ids() == [id]


def test_an_event_told_in_chat_is_shown_as_unverified_and_can_be_erased(service: Service) -> None:
    visit, mark = Visit(service), "Told, and verified by nobody"
    visit.send("/console/say", text="I called about order 12 last week.")
    service.sweep()
    [id] = visit.memory_ids()
    assert "I called about order 12 last week" in visit.page.text
    assert mark in visit.page.text
    assert "order 12" not in visit.send("/console/recall", question="Order 12?").text.split('id="recall"')[1]
    visit.send("/console/erase", memory=id)
    assert visit.memory_ids() == []
    visit.send("/console/say", text=WORK)
    service.sweep(minutes=62)
    assert len(visit.memory_ids()) == 1
    assert mark not in visit.page.text


def test_a_refused_correction_says_why_and_keeps_the_memory(service: Service) -> None:
    visit = Visit(service)
    visit.send("/console/say", text=WORK)
    service.sweep()
    [id] = visit.memory_ids()
    refused = visit.send("/console/correct", memory=id, text="I was diagnosed with diabetes.")
    assert refused.status_code == 422
    assert "Health is never remembered." in refused.text
    assert "I work at the port of Sabang" in visit.open()


def test_a_correction_that_waits_for_a_reviewer_says_so(service: Service) -> None:
    visit = Visit(service)
    visit.send("/console/say", text=WORK)
    service.sweep()
    [id] = visit.memory_ids()
    policy = changed(decisions={"stated": "review"})
    administrator(service).put("/policy", content=policy, headers=YAML).raise_for_status()
    waits = visit.send("/console/correct", memory=id, text="I work at the port of Malahayati.")
    assert waits.status_code == 202
    assert "The correction waits for a reviewer" in waits.text
    assert "I work at the port of Sabang" in visit.open()


def test_consent_is_switched_and_switched_back(service: Service) -> None:
    visit = Visit(service)
    assert "Turn memory off" in visit.open()
    assert "Memory is off for you." in visit.send("/console/consent", consent="withdrawn").text
    assert "Turn memory off" in visit.send("/console/consent", consent="granted").text


def test_acts_of_the_page_are_in_the_audit_chain(service: Service) -> None:
    visit = Visit(service)
    visit.send("/console/say", text=WORK)
    service.sweep()
    visit.send("/console/recall", question="Where do I work?")
    [id] = visit.memory_ids()
    visit.send("/console/erase", memory=id)
    service.app.seal()
    auditor = service.client("auditor", roles=[Role.AUDITOR])
    found = {item["action"] for item in auditor.get("/audit", params={"limit": "100"}).json()["items"]}
    assert {"conversation_created", "turns_appended", "memory_erasure", "memory_recalled"} <= found


def test_signing_out_takes_the_cookie_back(service: Service) -> None:
    visit = Visit(service)
    assert visit.send("/console/sign-out").status_code == 200
    assert visit.client.get("/").status_code == 401


def test_static_files_are_kept_by_their_hash_and_nothing_else_is_served(service: Service) -> None:
    visit = Visit(service)
    found = re.findall(r'"(/console/static/[^"]+)"', visit.open())
    assert {path.split("?")[0].rsplit("/", 1)[1] for path in found} == {"style.css", "page.js"}
    for path in found:
        answer = httpx.get(f"{service.address}{path}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    for name in ("first.html", "..%2F__init__.py", "labels"):
        assert httpx.get(f"{service.address}/console/static/{name}").status_code == 404


def test_each_console_route_names_its_action() -> None:
    table = {(method, path): action for method, path, action in console.actions()}
    assert table["POST", "/console/erase"] is Action.MEMORY_ERASE
    assert table["POST", "/console/say"] is Action.CONVERSATION_WRITE
    public = {path for (method, path), action in table.items() if action is Action.PUBLIC and method == "GET"}
    assert public == {"/", "/sign-in", "/console/{act}", "/console/static/{name}"}


def test_in_production_nobody_signs_in(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    public = OKPKey.generate_key("Ed25519", {"kid": "k"}).as_dict(private=False)
    keys.write_text(json.dumps(KeySet([OKPKey.import_key(public)]).as_dict()), encoding="utf-8")
    environ = {
        "INGATAN_ENVIRONMENT": "production",
        "INGATAN_MEMORY__ENABLED": "false",
        "INGATAN_SECURITY__ISSUER": "https://id.example",
        "INGATAN_SECURITY__AUDIENCE": "ingatan",
        "INGATAN_SECURITY__JWKS_FILE": str(keys),
    }
    url = server.url(embedded.APP, database_name)
    with serving(url, tmp_path / "data", environ=environ, install=console.install) as running:
        assert running.sign_in is None
        page = httpx.get(running.address)
        assert page.status_code == 200
        assert "/openapi.json" in page.text
        assert "<form" not in page.text
        assert page.headers["content-security-policy"]
        assert httpx.get(f"{running.address}/sign-in?once=").status_code == 404
        for path in FORMS:
            assert httpx.post(f"{running.address}{path}", data={"csrf": ""}).status_code == 404


def test_an_outage_is_a_page_without_a_trace(service: Service) -> None:
    visit = Visit(service)
    service.app.database.close()
    for answer in (visit.client.get("/"), visit.send("/console/say", text=WORK)):
        assert answer.status_code == 503
        assert "The database does not answer right now." in answer.text
        assert "Traceback" not in answer.text
        assert answer.headers["content-security-policy"]


def test_memories_that_contradict_each_other_are_marked_until_one_is_erased(service: Service) -> None:
    visit = Visit(service)
    said = "Contradicts another memory"
    visit.send("/console/say", text=WORK)
    service.sweep()
    [stated] = visit.memory_ids()
    visit.send("/console/correct", memory=stated, text=WORK)
    assert said not in visit.open()
    visit.send("/console/say", text="I work at a school in Medan.")
    service.sweep()
    assert len(visit.memory_ids()) == 2
    assert visit.open().count(said) == 2
    assert "in conflict" in visit.send("/console/recall", question="Where do I work?").text
    [other] = set(visit.memory_ids()) - {stated}
    visit.send("/console/erase", memory=other)
    assert said not in visit.open()
