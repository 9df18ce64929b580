"""CDXJ: the index by which pywb and others find a URL in WARC files: a sorted line each. Pure.

`com,example)/path 20260131235959 {"url": …, "mime": …, "status": …, "digest": …, "length": …,
"offset": …, "filename": …}`
"""

from __future__ import annotations

from typing import NamedTuple

import orjson

from lycosa.export.surt import surt_key
from lycosa.export.tables import date
from lycosa.page.media import essence
from lycosa.reading.values import Page

UNKNOWN = "unk"  # pywb's word for a type that is not known
REVISIT = "warc/revisit"


class RecordPlaced(NamedTuple):
    """Where a page's record lies."""

    filename: str
    offset: int
    length: int
    revisit: bool = False


def in_place(page: Page) -> RecordPlaced:
    """Where the crawl itself keeps a page's response."""
    return RecordPlaced(page.warc_file, page.warc_offset, page.warc_length)


def cdxj_line(page: Page, place: RecordPlaced) -> bytes:
    """The line of a page's record; lines are sorted as bytes."""
    stamp = date(page.fetched_ms).translate(_NO_MARKS)
    fields = {
        "url": page.url,
        "mime": REVISIT if place.revisit else essence(page.content_type) or UNKNOWN,
        "status": str(page.status),
        "digest": page.payload_digest.removeprefix("sha1:"),
        "length": str(place.length or ""),  # rows of older formats do not tell
        "offset": str(place.offset),
        "filename": place.filename,
    }
    kept = {name: value for name, value in fields.items() if value}
    return f"{surt_key(page.url)} {stamp} ".encode() + orjson.dumps(kept) + b"\n"


_NO_MARKS = str.maketrans("", "", "-:TZ")
