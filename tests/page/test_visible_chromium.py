"""The visible text against a real browser: `innerText` of Chromium, scripts and outside CSS off.

Slow, because it needs Chromium: `scripts/test --slow tests/page/test_visible_chromium.py`. Real
pages, and the shares of tokens that are missing or extra, are `bench/visible.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from visible_cases import CASES, EXCEPTIONS

from lycosa.page.html import parse_html
from support import chromium
from support.chromium import Chromium, tokens

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    if not chromium.found():
        pytest.skip(chromium.ABSENT)
    with Chromium() as started:
        yield started


def lines(text: str) -> list[list[str]]:
    return [found for line in text.split("\n") if (found := tokens(line))]


def both(page: str, browser: Chromium) -> tuple[list[list[str]], list[list[str]]]:
    data = f"<!doctype html><body>{page}".encode()
    ours = parse_html(data, "text/html; charset=utf-8").text
    return lines(ours), lines(browser.text(data))


def test_minimal_pages(browser: Chromium) -> None:
    wrong = {}
    for name, (page, _) in CASES.items():
        ours, seen = both(page, browser)
        if ours != seen:
            wrong[name] = (page, ours, seen)
    assert wrong == {}


def test_exceptions_differ(browser: Chromium) -> None:
    same = []
    for name, (page, _, _) in EXCEPTIONS.items():
        ours, seen = both(page, browser)
        if ours == seen:
            same.append(name)
    assert same == [], "these are no exceptions by now"
