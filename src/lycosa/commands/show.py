"""`lycosa show URL`: prints what is kept of one page, its record and its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lycosa.called import called
from lycosa.commands.printing import Places, page_json, print_json, utc
from lycosa.commands.which_crawl import opened, same_crawl
from lycosa.errors import UserError
from lycosa.settings.collect import Values
from lycosa.terminal import one_line
from lycosa.units import size

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Place, Reader
    from lycosa.records import PageRow


def show(values: Values, words: list[str]) -> int:
    """Print the record and the text of one page."""
    with opened(values) as reader:
        found = reader.find(words[0])
        row: PageRow | None = found["page"]
        if row is None:
            hint = called("why", words[0], *same_crawl(values))
            raise UserError(f"{found['url']} was not fetched; '{hint}' says why.")
        places = Places(reader)
        text = _text_of(reader, values, row, places.of(row))
        where = places.json(row)
    if values["json"]:
        print_json({**page_json(row), **where, "text": (text or {}).get("text", ""), "row": text})
        return 0
    print("\n".join(record_lines(row)))
    if where:
        print(f"kept     on {where['host']} in {where['directory']}")
    if text is not None:
        print(f"\n{text['text']}")
    return 0


def _text_of(
    reader: Reader, values: Values, row: PageRow, place: Place | None
) -> dict[str, Any] | None:
    """The text of a page, if it lies here."""
    from lycosa.node.datadir import node_of

    if not row.text_segment or (place and place.node != node_of(values["data-dir"])):
        return None
    from lycosa.archive.text import read_row

    committed = reader.committed_segments().get(("text", row.text_segment), 0)
    return read_row(
        values["data-dir"], row.text_segment, row.text_frame, row.text_offset, committed
    )


def record_lines(row: PageRow) -> list[str]:
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
