"""A real browser for the first page. Where there is none, these tests are not collected and the summary says so.

With INGATAN_TEST_BROWSER=required a missing browser ends the run instead. INGATAN_TEST_CHROMIUM names another one.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from ingatan import console
from ingatan.storage import embedded
from tests.serving import Service, serving

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = (
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
CHROMIUM = os.environ.get("INGATAN_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
MISSING = "browser tests: not collected, no Chromium found (install one, or name it in INGATAN_TEST_CHROMIUM)"

collect_ignore_glob = [] if CHROMIUM else ["test_*.py"]
if not CHROMIUM and os.environ.get("INGATAN_TEST_BROWSER") == "required":
    pytest.exit(MISSING, returncode=1)

Opens = Callable[..., Page]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say that the browser tests did not run."""
    if not CHROMIUM:
        terminalreporter.write_line(MISSING)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    as_root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=[*SWITCHES, *as_root])
        yield running
        running.close()


@pytest.fixture
def service(server: embedded.EmbeddedServer, database_name: str, tmp_path: Path) -> Iterator[Service]:
    """A service with the page."""
    with serving(server.url(embedded.APP, database_name), tmp_path, install=console.install) as running:
        yield running


@pytest.fixture
def opens(browser: Browser, service: Service) -> Iterator[Opens]:
    """Sign in with the one-time link and open the page in English; any error on the page fails the test."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def open_page(**options: Any) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if unexpected(message) else None)
        page.goto(f"{service.address}{service.sign_in}")
        page.click("button[name=language][value=en]")
        page.wait_for_url(re.compile(r"/(\?.*)?$"))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def unexpected(message: Any) -> bool:
    """Whether a line of the browser's log is a fault; an answer that says 4xx on purpose is not."""
    return message.type == "error" and "the server responded with a status of 4" not in message.text
