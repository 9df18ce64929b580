"""How commands print a page and JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lycosa.terminal import in_json, one_line
from lycosa.units import utc

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Place
    from lycosa.reading.values import Page


def print_json(value: Any, indent: bool = True) -> None:
    """One JSON value on standard output."""
    import orjson

    option = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    print(in_json(orjson.dumps(value, option=option, default=str).decode()))


def page_line(page: Page) -> str:
    """One page on one line."""
    target = f" -> {page.redirect}" if page.redirect else ""
    code = page.status or "-"
    return one_line(f"{utc(page.fetched_ms)} {code:>3} {page.outcome:<12} {page.url}{target}")


def page_json(page: Page) -> dict[str, Any]:
    """A page for programs. Its number is of no use outside: a page that is fetched again gets
    another."""
    values = asdict(page)
    del values["id"]
    return {**values, "fetched_at": utc(page.fetched_ms)}


def place_json(place: Place | None) -> dict[str, str]:
    """On which node a page is kept, if a crawl has several."""
    return {"host": place.host, "directory": place.directory} if place else {}
