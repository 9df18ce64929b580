"""A headless Chromium with the page of a dashboard in it, driven by Playwright.

The browser is Debian's; Playwright's own is never downloaded. Whatever the page asks for is written
down, and so is every word on its console: a test looks at both (`Seen.check`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from support import chromium

_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"),
    *("--disable-component-update", "--disable-dev-shm-usage"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
SECONDS = 30.0  # for anything to happen on the page, on a busy machine


@contextmanager
def _with_libraries() -> Iterator[None]:
    """Playwright's own program needs what was unpacked, too; it is started with our variables."""
    before = os.environ.get("LD_LIBRARY_PATH")
    if place := chromium.libraries():
        os.environ["LD_LIBRARY_PATH"] = place
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("LD_LIBRARY_PATH", None)
        else:
            os.environ["LD_LIBRARY_PATH"] = before


@contextmanager
def browser() -> Iterator[Browser]:
    manager = sync_playwright()
    with _with_libraries():
        playwright = manager.start()
    try:
        started = playwright.chromium.launch(
            executable_path=chromium.found(), args=list(_FLAGS), timeout=100_000
        )
        try:
            yield started
        finally:
            started.close()
    finally:
        playwright.stop()


@dataclass
class Seen:
    """A page, what it asked for and what it complained of."""

    page: Page
    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def check(self, port: int) -> None:
        """Nothing went wrong, and nothing was asked of anybody else."""
        assert self.said == []
        places = {urlsplit(url)[:2] for url in self.asked}
        assert places <= {("http", f"127.0.0.1:{port}")}, places


def opened(
    started: Browser, address: str, scheme: str = "light", width: int = 1280, height: int = 900
) -> Seen:
    """A new tab, of an empty profile, with this address."""
    page = started.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page.set_default_timeout(SECONDS * 1000)
    seen = Seen(page)
    page.on("request", lambda request: seen.asked.append(request.url))
    page.on("pageerror", lambda error: seen.said.append(f"error: {error}"))
    page.on("console", lambda message: seen.said.append(f"{message.type}: {message.text}"))
    page.goto(address)
    return seen
