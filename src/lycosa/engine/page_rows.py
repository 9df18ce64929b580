"""The row of a page: what a URL and its response say, before anybody reads the body. Pure.

Owns how much of a header is kept. What the body says is added by `harvest`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from functools import lru_cache

from lycosa.archive.warc import record_uuid, response_length
from lycosa.engine.scheduler import Held
from lycosa.page.html import Parsed
from lycosa.records import PageRow, QueuedUrl, Response, Truncated, Url
from lycosa.urls.canonical import canonical
from lycosa.urls.fingerprint import fingerprint

TYPE_CHARS = 100
MOST_TYPES = 50  # media types that are counted by name
ETAG_CHARS = 128  # of a longer one nothing is kept: a part of it can't be sent back
DATE_CHARS = 40
_MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[a-z0-9.+-]{1,60}")
_LATEST_MS = 253_402_300_799_000  # the end of the year 9999


def page_row(held: Held, url: QueuedUrl, now_ms: int, status: int, outcome: str) -> PageRow:
    """A URL that is done."""
    return PageRow(held.id, url.fp, url.url, url.order, url.depth, now_ms, status, outcome)


def note_response(row: PageRow, response: Response) -> None:
    """Everything that is known of a response without reading its body."""
    row.content_type = response.header(b"content-type")[:TYPE_CHARS]
    row.wire_bytes = len(response.body)
    row.truncated = response.truncated
    row.duration_ms = max(0, round((response.ended - response.started) * 1000))
    row.address = response.address
    etag = response.header(b"etag")
    row.etag = etag if len(etag) <= ETAG_CHARS else ""
    row.modified_ms = http_date_ms(response.header(b"last-modified")[:DATE_CHARS])
    if response.truncated != Truncated.TYPE:
        row.payload_digest = hashlib.sha1(response.body, usedforsecurity=False).digest()


def note_records(row: PageRow, parts: tuple[bytes, ...]) -> None:
    """The WARC records of a response, which the store thread writes."""
    row.warc = parts
    if parts:
        row.warc_record = record_uuid(parts)
        row.warc_length = response_length(parts)


def note_referrers(
    rows: Iterable[PageRow], moved: Iterable[tuple[QueuedUrl, Url, Response | None]]
) -> None:
    """Which URL redirected to each of these rows, of one visit."""
    led = {fingerprint(target): url.fp for url, target, _ in moved}
    for row in rows:
        row.referrer = led.get(row.fp, 0)


def counted_as(row: PageRow) -> tuple[str, int, str, str, str]:
    """What a page was counted under, for `Stats.uncount`."""
    return row.outcome, row.status, row.label, row.language, media_type(row.content_type)


def count_type(types: dict[str, int], content_type: str) -> None:
    """Counts a page by its media type."""
    kind = media_type(content_type)
    if kind not in types and len(types) >= MOST_TYPES:
        kind = "other"
    types[kind] = types.get(kind, 0) + 1


def own_address(parsed: Parsed, url: str) -> str:
    """The address that a page names as its own, '' if it names none."""
    if not parsed.canonical or parsed.canonical == url:
        return parsed.canonical
    base = canonical(parsed.base, url) if parsed.base else None
    return canonical(parsed.canonical, base or url) or ""


@lru_cache(maxsize=256)
def media_type(content_type: str) -> str:
    """'text/html' of a header's value; 'none' for nothing, 'other' for what is no media type."""
    found = content_type.partition(";")[0].strip().lower()
    if not found:
        return "none"
    return found if _MEDIA_TYPE.fullmatch(found) else "other"


@lru_cache(maxsize=256)
def http_date_ms(text: str) -> int:
    """A date of a header in milliseconds; 0 if it is none."""
    try:
        found = int(parsedate_to_datetime(text).timestamp() * 1000) if text else 0
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0
    return found if 0 < found <= _LATEST_MS else 0
