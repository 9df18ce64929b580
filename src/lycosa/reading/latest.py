"""The pages that arrived last: as the engines here noted them, and those of other nodes as the
store has them, with the place where their texts lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Place
    from lycosa.reading.crawl import Crawl
    from lycosa.reading.values import Page


def latest_pages(crawl: Crawl, noted: Sequence[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """At most so many, the newest first. `noted`: what engines wrote of the pages that they read
    last (`engine/notes`)."""
    newest = crawl.pages(newest=True, limit=limit, outcome="ok")
    pairs = [(page, crawl.directories.away(page.text_segment)) for page in newest]
    found = [*noted, *(_elsewhere(page, place) for page, place in pairs if place)]
    if not found:  # a crawl of a version that noted nothing
        found = [_brief(page) for page, _ in pairs]
    return sorted(found, key=lambda each: -each["at"])[:limit]


def _elsewhere(page: Page, place: Place) -> dict[str, Any]:
    return {**_brief(page), "kept": f"{place.host} in {place.directory}"}


def _brief(page: Page) -> dict[str, Any]:
    return {
        "url": page.url,
        "title": page.title,
        "at": page.fetched_ms / 1000,
        "label": page.label,
        "language": page.language,
        "chars": page.text_chars,
        "preview": "",
    }
