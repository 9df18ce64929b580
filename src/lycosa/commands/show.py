"""`lycosa show URL`: prints what is kept of one page, its record and its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lycosa.called import called
from lycosa.commands.printing import page_json, place_json, print_json
from lycosa.commands.which_crawl import opened_crawl, same_crawl
from lycosa.errors import UserError
from lycosa.settings.collect import Values
from lycosa.terminal import one_line
from lycosa.units import size, utc

if TYPE_CHECKING:
    from lycosa.reading.values import Page


def show(values: Values, words: list[str]) -> int:
    """Print the record and the text of one page."""
    with opened_crawl(values) as crawl:
        url, page = crawl.find(words[0])
        if page is None:
            hint = called("why", words[0], *same_crawl(values))
            raise UserError(f"{url} was not fetched; '{hint}' says why.")
        row = crawl.text_row(page)
        where = place_json(crawl.place(page))
    if values["json"]:
        text: dict[str, Any] = row or {}
        print_json({**page_json(page), **where, "text": text.get("text", ""), "row": row})
        return 0
    print("\n".join(record_lines(page)))
    if where:
        print(f"kept     on {where['host']} in {where['directory']}")
    if row is not None:
        print(f"\n{row['text']}")
    elif where and page.text_segment:
        print("\nIts text is not here: name that directory, or a copy of it, with --data-dir.")
    return 0


def record_lines(row: Page) -> list[str]:
    """The record of a page for people; pure."""
    named = {
        "url": row.url,
        "fetched": utc(row.fetched_ms),
        "status": row.status or "none",
        "outcome": row.outcome,
        "redirect": row.redirect,
        "type": row.content_type,
        "title": row.title,
        "received": size(row.wire_bytes),
        "text": f"{row.text_chars:,} characters" if row.text_segment else "none kept",
        "depth": row.depth,
    }
    return [f"{name:<9}{one_line(str(value))}" for name, value in named.items() if value != ""]
