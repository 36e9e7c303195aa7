"""The reviewer's page in a real browser: keyboard alone, no JavaScript, nothing serious for axe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from ingatan import console, demo
from ingatan.storage import embedded
from tests.browser.conftest import Opens
from tests.browser.test_access import PHONE, outlined, reach, violations
from tests.browser.test_page import WORK, say
from tests.serving import Service, serving

pytestmark = pytest.mark.browser


@pytest.fixture
def service(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    """A governed service with the page."""
    environ = {"INGATAN_POLICY__PROFILE": "governed"}
    url = server.url(embedded.APP, database_name)
    with serving(url, tmp_path, environ=environ, install=console.install) as running:
        yield running


def become(page: Page, person: demo.Person) -> None:
    page.get_by_label("Signed in as").select_option(label=person.name)
    page.get_by_role("button", name="Switch").click()
    page.click("button[name=language][value=en]")


def waiting(service: Service, page: Page, text: str = WORK) -> None:
    """Something the first person said is held, and the reviewer is at the page."""
    say(page, text)
    service.sweep()
    become(page, demo.people()[-1])
    page.get_by_role("link", name="Review").click()
    expect(page.locator("#queue ol li")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(service: Service, opens: Opens, scheme: Literal["light", "dark"]) -> None:
    page = opens(color_scheme=scheme)
    say(page, WORK)
    service.sweep()
    page.goto(f"{service.address}/")
    expect(page.locator("#held .card")).to_have_count(1)
    page.get_by_text("Ask a reviewer to look again").click()
    assert violations(page) == []
    become(page, demo.people()[-1])
    page.get_by_role("link", name="Review").click()
    page.locator("#queue ol a").click()
    expect(page.locator("#item mark")).to_have_text(WORK.rstrip("."))
    assert violations(page) == []
    page.get_by_label("What would be remembered").fill("I work in Padang.")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert violations(page) == []


def test_approving_by_keyboard_alone_without_javascript(service: Service, opens: Opens) -> None:
    page = opens(java_script_enabled=True)
    waiting(service, page)
    reach(page, "#queue ol a")
    assert outlined(page)
    page.keyboard.press("Enter")
    expect(page.locator("#item .statement")).to_have_text(WORK.rstrip("."))
    reach(page, "#approve-text")
    page.keyboard.press("Control+A")
    page.keyboard.type("I work at the port.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#done")).to_have_text("Approved and remembered.")
    page.goto(f"{service.address}/")
    become(page, demo.people()[0])
    expect(page.locator("#memories .statement")).to_have_text("I work at the port.")


def test_rejecting_without_javascript_on_a_phone(service: Service, opens: Opens) -> None:
    page = opens(java_script_enabled=False, viewport=PHONE)
    waiting(service, page)
    page.locator("#queue ol a").click()
    page.get_by_label("Why not").select_option("low_importance")
    page.get_by_label("Note to the person").fill("Too vague.")
    page.get_by_role("button", name="Reject").click()
    expect(page.locator("#done")).to_contain_text("nothing of it is kept")
    page.goto(f"{service.address}/")
    become(page, demo.people()[0])
    expect(page.locator("#refused .card")).to_contain_text("Too vague.")


def test_hostile_words_are_shown_and_do_nothing(service: Service, opens: Opens) -> None:
    page = opens()
    text = '</textarea><img src=x onerror="window.pwned=1">{{ 7 * 7 }}'
    say(page, WORK)
    service.sweep()
    page.goto(f"{service.address}/")
    page.get_by_text("Ask a reviewer to look again").click()
    page.get_by_label("What the reviewer should know").fill(text)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#held")).to_contain_text("A look at it was asked for.")
    become(page, demo.people()[-1])
    page.goto(f"{service.address}/review")
    page.locator("#queue ol a").click()
    expect(page.locator("#item bdi")).to_have_text(text)
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img").count() == 0


def test_the_page_speaks_three_languages_and_scrolls_one_way(service: Service, opens: Opens) -> None:
    page = opens(viewport=PHONE)
    waiting(service, page, "I prefer " + "x" * 180 + " short answers.")
    for code, heading in (("id", "Peninjauan"), ("vi", "Duyệt"), ("en", "Review")):
        page.goto(f"{service.address}/")
        page.click(f"button[name=language][value={code}]")
        page.goto(f"{service.address}/review")
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        page.locator("#queue ol a").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
