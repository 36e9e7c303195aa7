"""The first page for everyone: keyboard alone, no JavaScript, a phone, light and dark."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Opens
from tests.browser.test_page import HEALTH, WORK, learned
from tests.serving import Service

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}


def violations(page: Page) -> list[tuple[str, str]]:
    """What axe finds that is serious or critical, with where."""
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [
        (item["id"], str(item["nodes"][0]["target"])) for item in found if item["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(service: Service, opens: Opens, scheme: Literal["light", "dark"]) -> None:
    page = opens(color_scheme=scheme)
    assert violations(page) == []
    learned(service, page, WORK, HEALTH)
    page.get_by_text("Correct", exact=True).first.click()
    page.get_by_label("What should be remembered").fill("My wife works at the port.")
    page.get_by_role("button", name="Save correction").click()
    expect(page.locator("#memories").get_by_role("alert")).to_be_visible()
    for summary in page.locator("details:not([open]) > summary").all()[::-1]:
        summary.click()
    assert violations(page) == []
    page.get_by_label("A question an assistant might get").fill("Where do I work?")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#packet")).to_be_visible()
    assert violations(page) == []
    page.locator("#memories .acts").get_by_text("Erase", exact=True).click()
    page.get_by_role("button", name="Yes, erase it").click()
    expect(page.locator("#receipt")).to_be_visible()
    assert violations(page) == []


def test_the_way_from_words_to_receipt_by_keyboard_alone(service: Service, opens: Opens) -> None:
    page = opens()
    page.goto(f"{service.address}/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    reach(page, "#say-text")
    page.keyboard.type(WORK)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".turn.user")).to_contain_text(WORK)
    service.sweep()
    page.goto(f"{service.address}/")
    reach(page, "#memories .acts details:nth-of-type(1) > summary")
    assert outlined(page)
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("I work at the port of Calang.")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".statement")).to_have_text("I work at the port of Calang.")
    reach(page, "#memories .acts details:nth-of-type(2) > summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#receipt [data-removed=memories]")).to_have_text("1")


def reach(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus; a page of this size has fewer than sixty stops."""
    for _ in range(60):
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {selector}")


def outlined(page: Page) -> bool:
    """Whether the element in focus shows it."""
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    return bool(style != "none")


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_scrolls_sideways(service: Service, opens: Opens, width: int) -> None:
    page = opens(viewport={"width": width, "height": 844})
    learned(service, page, "I prefer " + "x" * 200 + " short answers.", WORK, HEALTH)
    page.get_by_label("A question an assistant might get").fill("w" * 300)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#packet")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_works_without_javascript(service: Service, opens: Opens) -> None:
    page = opens(java_script_enabled=False, viewport=PHONE)
    page.get_by_label("Say something about yourself").fill(WORK)
    page.get_by_role("button", name="Start a new conversation").click()
    expect(page.locator("#pending time")).to_contain_text("UTC")
    service.sweep()
    page.reload()
    page.get_by_text("Correct", exact=True).click()
    page.get_by_label("What should be remembered").fill("I work at the port of Calang.")
    page.get_by_role("button", name="Save correction").click()
    expect(page.locator(".statement")).to_have_text("I work at the port of Calang.")
    page.get_by_label("A question an assistant might get").fill("Where do I work?")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator(".found li")).to_contain_text("Calang")
    page.locator("#memories .acts").get_by_text("Erase", exact=True).click()
    page.get_by_role("button", name="Yes, erase it").click()
    expect(page.locator("#receipt [data-removed=memories]")).to_have_text("1")
