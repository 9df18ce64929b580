"""What kind of thing a body is, by its Content-Type and its first bytes. Pure.

Owns the one decision that the fetcher (is it worth receiving?), the reader (HTML or text?) and the
WARC files share. Types mean what browsers take them for: the last good one of several, without
their parameters; where there is none ('html', 'text', nothing at all) the first bytes are looked
at, by the rules of the MIME Sniffing Standard (https://mimesniff.spec.whatwg.org).
"""

from __future__ import annotations

import re
from functools import lru_cache

HTML, TEXT, DATA, OTHER = "html", "text", "data", ""  # DATA could be read, but is not asked for
_MAX_TYPES = 16  # of several, the last ones are looked at
SNIFFED = 1_445  # first bytes that are looked at, as in the standard

_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
_XML_TYPES = frozenset(("application/xml",))
_DATA_TYPES = frozenset(("application/json", "application/ld+json"))
_NO_TYPES = frozenset(("", "unknown/unknown", "application/unknown", "*/*"))

_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]++"
_TYPE = re.compile(rf"\s*+({_TOKEN}/{_TOKEN})(?=[\s;(]|\Z)")
_TAG = re.compile(rb"<(?:[a-zA-Z]|/[a-zA-Z]|!--|!doctype)", re.I)
_XML = re.compile(rb"<\?xml[\s?]", re.I)
_HTML_ROOT = re.compile(rb"<(?:!doctype\s++)?html", re.I)
_BLANKS = b"\t\n\f\r "
_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_BINARY = bytes((*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))  # bytes of no text
_BYTES = "application/octet-stream"
_MAGIC = (  # of what holds such bytes
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"BM", "image/bmp"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"wOF2", "font/woff2"),
    (b"wOFF", "font/woff"),
    (b"OggS\0", "application/ogg"),
    (b"ID3", "audio/mpeg"),
)


def kind_of(content_type: str, body: bytes) -> str:
    """HTML, TEXT, DATA or OTHER; `body` is not content-encoded, its beginning is enough."""
    kind = _told(content_type)
    return _kind(sniffed(body)) if kind is None else kind


@lru_cache(maxsize=256)
def _told(content_type: str) -> str | None:
    """What the header says, None if nothing. Cached: a crawl meets a few dozen of them."""
    kind = essence(content_type)
    return None if kind in _NO_TYPES else _kind(kind)


def _kind(kind: str) -> str:
    if kind in _HTML_TYPES:
        return HTML
    if kind.startswith("text/") or kind in _XML_TYPES or kind.endswith("+xml"):
        return TEXT
    return DATA if kind in _DATA_TYPES or kind.endswith("+json") else OTHER


def is_missing(content_type: str) -> bool:
    """Whether the type is to be found in the body."""
    return _told(content_type) is None


def essence(content_type: str) -> str:
    """The type without parameters in lower case, '' if there is none; several are separated by
    commas, and the last one that is a type counts."""
    for part in reversed(content_type.rsplit(",", _MAX_TYPES)):
        found = _TYPE.match(part)
        if found and found[1] != "*/*":
            return found[1].lower()
    return ""


def sniffed(body: bytes) -> str:
    """The type of a body by its first bytes."""
    first = body[:SNIFFED]
    if first.startswith(_TEXT_MARKS):
        first = first.lstrip(b"\xef\xbb\xbf\xff\xfe").replace(b"\0", b"")  # UTF-16 reads like ASCII
    elif first.translate(None, _BINARY) != first:
        return next((kind for magic, kind in _MAGIC if first.startswith(magic)), _BYTES)
    if first.startswith((b"%PDF-", b"%!PS-Adobe-")):
        return "application/pdf" if first[1:2] == b"P" else "application/postscript"
    return _markup(first.lstrip(_BLANKS)) or "text/plain"


def _markup(first: bytes) -> str:
    if _XML.match(first):
        return "text/html" if _HTML_ROOT.search(first) else "text/xml"
    return "text/html" if _TAG.match(first) else ""
