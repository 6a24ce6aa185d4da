"""The system's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120_000.0
"""Milliseconds that a page may take for anything: tests must not depend on the machine's speed."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium and end it."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise RuntimeError(f"none of {', '.join(NAMES)} is installed; run `make test-browser`")
    options = ["--force-color-profile=srgb", "--disable-dev-shm-usage"]
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=program, args=options) as browser,
    ):
        yield browser


class Window:
    """A new window, with the addresses it requested and the errors it reported."""

    def __init__(self, browser: Browser, width: int = 1200) -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900})
        self.page.set_default_timeout(PATIENCE)
        self.requested: set[str] = set()
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requested.add(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._log)

    def _log(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def open(self, url: str, until: str = "true") -> Page:
        """Go to an address, and wait until an expression holds there."""
        self.page.goto(url)
        wait(self.page, until)
        return self.page


def wait(page: Page, expression: str) -> None:
    """Wait until an expression holds.

    Playwright's own `wait_for_function` evaluates it inside the page, which our policy forbids.
    """
    end = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never came true: {expression}"
        page.wait_for_timeout(50)


def at(page: Page, selector: str, share: float = 0.5) -> tuple[float, float]:
    """A point at a share of an element's width and at half its height, scrolled into view."""
    element = page.locator(selector)
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    assert box is not None
    return box["x"] + share * box["width"], box["y"] + box["height"] / 2


def drag(page: Page, selector: str, start: float, end: float) -> None:
    """Drag from one share of an element's width to another."""
    page.mouse.move(*at(page, selector, start))
    page.mouse.down()
    page.mouse.move(*at(page, selector, end), steps=5)
    page.mouse.up()
