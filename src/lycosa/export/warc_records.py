"""WARC records as an export writes them: each a gzip member of its own, so that an offset and a
length are enough to read one. Pure.

Responses are written anew from what the crawl keeps; their ids and digests stay. A response whose
body came before becomes a revisit, which has its own headers and names the first. Texts are
conversions, as in Common Crawl's WET files.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from isal import isal_zlib

from lycosa.archive.text import rfc3339
from lycosa.archive.warc import base32
from lycosa.export.tables import main_text, record_id
from lycosa.page import media
from lycosa.page.decode import decode
from lycosa.page.language import iso639_3
from lycosa.reading.values import Page, PageResponse, TextPage

SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_END = b"\r\n\r\n"
_LEVEL = 2  # of isal's three: a fifth of zlib's time, a few per cent more bytes
_LOOKED_AT = 4_096  # bytes of a body that are unpacked to see what it is
_GZIP = 31  # zlib's word for a gzip member


class FirstRecord(NamedTuple):
    """The record that a revisit repeats."""

    id: str
    url: str
    date: str

    def text(self) -> str:
        return " ".join(self)

    @classmethod
    def of(cls, text: str) -> FirstRecord:
        return cls(*text.split(" ", 2))


def gzipped(record: bytes) -> bytes:
    """A record as a gzip member."""
    packed: bytes = isal_zlib.compress(record, _LEVEL, _GZIP)
    return packed


def first_record(page: Page) -> FirstRecord:
    return FirstRecord(record_id(page), page.url, rfc3339(page.fetched_ms))


def response_record(page: PageResponse) -> bytes:
    """The response of a page."""
    kind = _identified(page)
    fields = {
        "WARC-Type": "response",
        "WARC-Record-ID": record_id(page),
        **_common(page),
        "WARC-Payload-Digest": page.payload_digest or _digest(page.body),
        **({"WARC-Identified-Payload-Type": kind} if kind else {}),
        "WARC-Block-Digest": _digest(page.head, page.body),
        **({"WARC-Truncated": page.truncated} if page.truncated else {}),
        "Content-Type": "application/http; msgtype=response",
    }
    return _record(fields, page.head + page.body)


def revisit_record(page: PageResponse, first: FirstRecord) -> bytes:
    """That the body of a page is that of an earlier one."""
    fields = {
        "WARC-Type": "revisit",
        "WARC-Record-ID": record_id(page),
        **_common(page),
        "WARC-Profile": SAME_PAYLOAD,
        "WARC-Refers-To": first.id,
        "WARC-Refers-To-Target-URI": first.url,
        "WARC-Refers-To-Date": first.date,
        "WARC-Payload-Digest": page.payload_digest or _digest(page.body),
        "WARC-Block-Digest": _digest(page.head),
        "Content-Type": "application/http; msgtype=response",
    }
    return _record(fields, page.head)


def text_conversion(page: TextPage, conversion_id: str) -> bytes:
    """The text of a page, as WET files have it."""
    block = main_text(page).encode("utf-8", "replace")
    codes = [iso639_3(code) for code, _ in page.languages] or [iso639_3(page.language)]
    languages = ",".join(code for code in codes if code)
    fields = {
        "WARC-Type": "conversion",
        "WARC-Record-ID": conversion_id,
        "WARC-Date": rfc3339(page.fetched_ms),
        "WARC-Target-URI": page.url,
        **({"WARC-Refers-To": page.warc_record} if page.warc_record else {}),
        **({"WARC-Identified-Content-Language": languages} if languages else {}),
        "WARC-Block-Digest": _digest(block),
        "Content-Type": "text/plain",
    }
    return _record(fields, block)


def _common(page: Page) -> dict[str, str]:
    address = {"WARC-IP-Address": page.address} if page.address else {}
    return {"WARC-Date": rfc3339(page.fetched_ms), "WARC-Target-URI": page.url, **address}


def _identified(page: PageResponse) -> str:
    first, _, _ = decode(
        page.body[: media.SNIFFED * 3], page.header("content-encoding"), media.SNIFFED
    )
    return media.sniffed(first) if first else ""


def _record(fields: dict[str, str], block: bytes) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    head = f"WARC/1.1\r\n{lines}Content-Length: {len(block)}\r\n\r\n"
    return head.encode() + block + _END


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return "sha1:" + base32(digest.digest())
