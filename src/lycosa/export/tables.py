"""The tables that a crawl is exported as: names, order and types of their columns, and their rows.

`text` begins with FineWeb's columns, `index` with those of Common Crawl's columnar index, so that
what was written for them runs here; ours follow. Types are words, which `parquet` knows as
pyarrow's. What is not known is None. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import orjson

from lycosa.archive.duplicates import DuplicateMark
from lycosa.errors import UserError
from lycosa.export.hosts import host_parts
from lycosa.export.surt import surt_key
from lycosa.outcomes import Outcome
from lycosa.page.language import iso639_3
from lycosa.page.media import essence
from lycosa.reading.names import did_you_mean
from lycosa.reading.values import Page, TextPage
from lycosa.urls.canonical import split
from lycosa.urls.domains import domain_id, domain_once
from lycosa.urls.fingerprint import fingerprint

Columns = dict[str, str]  # names, and what is in them
TableRecord = dict[str, Any]

FINEWEB: Columns = {
    "text": "string",
    "id": "string",
    "dump": "string",
    "url": "string",
    "date": "string",
    "file_path": "string",
    "language": "string",
    "language_score": "double",
    "token_count": "int64",
}
TEXT: Columns = {
    **FINEWEB,
    "title": "string",
    "domain": "string",
    "status": "int16",
    "depth": "int32",
    "label": "string",
    "label_reason": "string",
    "published": "string",
    "site_name": "string",
    "canonical": "string",
    "declared_language": "string",
    "languages": "string",
    "content_type": "string",
    "charset": "string",
    "truncated": "string",
    "content_hash": "string",
    "simhash": "int64",
    "duplicate_of": "int64",
    "duplicate_kind": "string",
    "page": "int64",
}
# Only where they are asked for: they would double the size of the table.
TEXT_MORE: Columns = {"visible_text": "string", "blocks": "string"}
OF_MARKS = {"duplicate_of", "duplicate_kind"}

COMMON_CRAWL: Columns = {
    "url_surtkey": "string",
    "url": "string",
    "url_host_name": "string",
    "url_host_tld": "string",
    "url_host_2nd_last_part": "string",
    "url_host_3rd_last_part": "string",
    "url_host_4th_last_part": "string",
    "url_host_5th_last_part": "string",
    "url_host_registry_suffix": "string",
    "url_host_registered_domain": "string",
    "url_host_private_suffix": "string",
    "url_host_private_domain": "string",
    "url_host_name_reversed": "string",
    "url_protocol": "string",
    "url_port": "int32",
    "url_path": "string",
    "url_query": "string",
    "fetch_time": "timestamp",
    "fetch_status": "int16",
    "fetch_redirect": "string",
    "content_digest": "string",
    "content_mime_type": "string",
    "content_mime_detected": "string",
    "content_charset": "string",
    "content_languages": "string",
    "content_truncated": "string",
    "warc_record_id": "binary",
    "warc_filename": "string",
    "warc_record_offset": "int32",
    "warc_record_length": "int32",
    "warc_segment": "string",
    "crawl": "string",
    "subset": "string",
}
OF_HOST = [  # in the order of `HostParts`
    name for name in COMMON_CRAWL if name.startswith("url_host_") and name != "url_host_name"
]
INDEX: Columns = {
    **COMMON_CRAWL,
    "outcome": "string",
    "title": "string",
    "depth": "int32",
    "wire_bytes": "int64",
    "text_chars": "int64",
    "main_chars": "int64",
    "language": "string",
    "language_score": "double",
    "label": "string",
    "label_reason": "string",
    "content_hash": "string",
    "simhash": "int64",
    "duration_ms": "int64",
    "address": "string",
    "etag": "string",
    "modified": "timestamp",
    "referrer": "int64",
    "fingerprint": "int64",
    "page": "int64",
}
EDGES: Columns = {
    "source": "string",
    "target": "string",
    "links": "int64",
    "source_domain": "string",
    "target_domain": "string",
}
_UNSIGNED = (1 << 64) - 1
_SUBSET, _DIAGNOSTICS = "warc", "crawldiagnostics"  # Common Crawl's names
_MOST = (1 << 31) - 1  # Common Crawl's offsets have 32 bits


def chosen(wanted: Sequence[str], known: Mapping[str, str], more: Mapping[str, str]) -> Columns:
    """The columns that a user named, or all but `more`; UserError for one that is not known."""
    every = {**known, **more}
    for name in wanted:
        if name not in every:
            hint = did_you_mean(name, every) or f"; there are {', '.join(every)}."
            raise UserError(f"There is no column '{name}'{hint}")
    return {name: every[name] for name in wanted} if wanted else dict(known)


def text_record(
    page: TextPage, crawl: str, mark: DuplicateMark | None = None, *, more: bool = False
) -> TableRecord:
    """The row of `text` for a page; `more`: with the columns that have to be asked for."""
    main = main_text(page)
    return {
        "text": main,
        "id": record_id(page),
        "dump": crawl,
        "url": page.url,
        "date": date(page.fetched_ms),
        "file_path": file_path(page),
        "language": page.language or None,
        "language_score": page.language_score / 100,
        "token_count": tokens(main),
        "title": page.title or None,
        "domain": page.domain,
        "status": page.status,
        "depth": page.depth,
        "label": page.label or None,
        "label_reason": page.label_reason or None,
        "published": page.published or None,
        "site_name": page.site_name or None,
        "canonical": page.canonical or None,
        "declared_language": page.lang or None,
        "languages": ",".join(code for code, _ in page.languages) or None,
        "content_type": essence(page.content_type) or None,
        "charset": page.charset or None,
        "truncated": page.truncated or None,
        "content_hash": page.content_hash or None,
        "simhash": _signed(page.simhash),
        "duplicate_of": mark.of if mark else None,
        "duplicate_kind": mark.kind if mark else None,
        "page": page.id,
        **(_more(page) if more else {}),
    }


def index_record(page: Page, crawl: str) -> TableRecord:
    """The row of `index` for a page, without the columns that `host_record` gives."""
    parts = split(page.url)
    path, _, query = parts.target.partition("?")
    has_warc = page.warc_segment and page.warc_length
    return {
        "url_surtkey": surt_key(page.url),
        "url": page.url,
        "url_host_name": parts.host,
        "url_protocol": "https" if parts.https else "http",
        "url_port": parts.port if parts.port != (443 if parts.https else 80) else None,
        "url_path": path,
        "url_query": query or None,
        "fetch_time": page.fetched_ms,
        "fetch_status": page.status,
        "fetch_redirect": page.redirect or None,
        "content_digest": page.payload_digest.removeprefix("sha1:") or None,
        "content_mime_type": essence(page.content_type) or None,
        "content_mime_detected": essence(page.content_type) or None,
        "content_charset": page.charset or None,
        "content_languages": iso639_3(page.language) or None,
        "content_truncated": page.truncated or None,
        "warc_record_id": _uuid(page.warc_record) if page.warc_record else None,
        "warc_filename": file_path(page),
        "warc_record_offset": min(page.warc_offset, _MOST) if has_warc else None,
        "warc_record_length": min(page.warc_length, _MOST) if has_warc else None,
        "warc_segment": str(page.warc_segment or page.text_segment),
        "crawl": crawl,
        "subset": _SUBSET if page.outcome == Outcome.OK else _DIAGNOSTICS,
        "outcome": page.outcome,
        "title": page.title or None,
        "depth": page.depth,
        "wire_bytes": page.wire_bytes,
        "text_chars": page.text_chars,
        "main_chars": page.main_chars,
        "language": page.language or None,
        "language_score": page.language_score / 100,
        "label": page.label or None,
        "label_reason": page.label_reason or None,
        "content_hash": page.content_hash or None,
        "simhash": _signed(page.simhash),
        "duration_ms": page.duration_ms,
        "address": page.address or None,
        "etag": page.etag or None,
        "modified": page.modified_ms or None,
        "referrer": _signed(page.referrer),
        "fingerprint": fingerprint(page.url),
        "page": page.id,
    }


def host_record(host: str) -> TableRecord:
    """The columns of `index` that every page of a host has in common."""
    return dict(zip(OF_HOST, host_parts(host), strict=True))


def edge_record(source: str, target: str, links: int) -> TableRecord:
    """The row of `edges` for two hosts."""
    return {
        "source": source,
        "target": target,
        "links": links,
        "source_domain": domain_once(source),
        "target_domain": domain_once(target),
    }


def main_text(page: TextPage) -> str:
    """The main text; all visible text of pages of older crawls, which have no other."""
    return page.main or page.text


def record_id(page: Page) -> str:
    """The name of a page's WARC record, or one like it that is made of the URL."""
    if page.warc_record:
        return page.warc_record
    high, low = domain_id(page.domain), fingerprint(page.url) & _UNSIGNED
    digits = f"{high:016x}{low:016x}"
    parts = digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]
    return f"<urn:uuid:{'-'.join(parts)}>"


def file_path(page: Page) -> str:
    """The segment that the page lies in, below the data directory; '' if nothing was kept."""
    return page.warc_file or page.text_file


def _uuid(record: str) -> bytes:
    return UUID(record[len("<urn:uuid:") : -1]).bytes


def _signed(digits: str) -> int | None:
    """A number of 64 bits, as stores have it."""
    if not digits:
        return None
    number = int(digits, 16)
    return number - (1 << 64) if number >> 63 else number


def tokens(text: str) -> int:
    """About how many tokens GPT-2 would make of a text. English has four and a half characters to
    a token; each byte beyond ASCII costs two thirds of one."""
    chars = len(text)
    extra = 0 if text.isascii() else len(text.encode("utf-8", "replace")) - chars
    return round(chars / 4.5 + extra * 0.65)


def date(ms: int) -> str:
    """A moment as FineWeb writes it."""
    return _second(ms // 1000)


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _more(page: TextPage) -> TableRecord:
    return {"visible_text": page.text, "blocks": orjson.dumps(page.blocks).decode()}
