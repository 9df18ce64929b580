"""The pages that arrived last: as the engines here noted them, and those of other nodes as the
store has them, with the place where their texts lie."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from lycosa.reading.elsewhere import kept_on

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Place
    from lycosa.reading.crawl import Crawl
    from lycosa.reading.values import Page

MORE = 4  # times as many pages are looked at: those of nodes with notes are passed over


def latest_pages(
    crawl: Crawl, noted: Mapping[str, dict[str, Any]], limit: int
) -> list[dict[str, Any]]:
    """At most so many, the newest first, and of each node its share. `noted`: what the engines of
    each node wrote of the pages that they read last (`engine/notes`); of a node that left nothing
    yet there are its newest pages in the store."""
    by_node = {node: list(each["latest"]) for node, each in noted.items() if each.get("latest")}
    left = set(by_node)
    newest = crawl.pages(newest=True, limit=MORE * limit, outcome="ok") if crawl.shared else ()
    for page in newest:
        place = crawl.directories.away(page.text_segment)
        if place and place.node not in left:
            by_node.setdefault(place.node, []).append(_elsewhere(page, place))
    found = [each for turn in zip_longest(*by_node.values()) for each in turn if each]
    return sorted(found[:limit], key=lambda each: -each["at"])


def _elsewhere(page: Page, place: Place) -> dict[str, Any]:
    return {
        "url": page.url,
        "title": page.title,
        "at": page.fetched_ms / 1000,
        "label": page.label,
        "language": page.language,
        "chars": page.text_chars,
        "preview": "",
        "kept": kept_on(place.host, place.directory),
    }
