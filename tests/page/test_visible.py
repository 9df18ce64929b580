"""The text that is seen of minimal pages (`visible_cases`), by both readers."""

from __future__ import annotations

import pytest
from visible_cases import CASES, EXCEPTIONS

from lycosa.page import html
from lycosa.page.html import parse_html

PAGES = {
    **{name: (page, text or page.removeprefix("<p>")) for name, (page, text) in CASES.items()},
    **{name: (page, text) for name, (page, text, _) in EXCEPTIONS.items()},
}


@pytest.fixture(autouse=True, params=["compiled", "python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(html, "scan", None)
    elif not html.compiled():
        pytest.skip("there was no C compiler when lycosa was installed")


def seen(page: str) -> str:
    return parse_html(page.encode(), "text/html; charset=utf-8").text


def test_there_are_a_few_hundred() -> None:
    assert len(PAGES) == len(CASES) + len(EXCEPTIONS) > 300


@pytest.mark.parametrize("name", PAGES)
def test_what_is_seen(name: str) -> None:
    page, text = PAGES[name]
    assert seen(f"<!doctype html><body>{page}") == text
