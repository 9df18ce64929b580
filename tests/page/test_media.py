"""One decision on what a body is, for the fetcher and the reader, and headers that are bounded."""

from __future__ import annotations

import gzip

import pytest

from lycosa.fetch.transfer import wants_body
from lycosa.page.html import parse
from lycosa.records import Response
from support.harvest_bench import Bench
from support.made import made_request

PAGE = b"<!DOCTYPE html><title>t</title><p>words <a href=/x>x</a>"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(50)

# Content-Type, body, and whether it is read: as HTML, as text, or not at all.
CASES = [
    ("text/html", PAGE, "html"),
    ("text/html, charset=utf-8", PAGE, "html"),
    ("text/html,text/html", PAGE, "html"),
    ("text/html; charset=utf-8, text/html; charset=utf-8", PAGE, "html"),
    ("text/plain, text/html", PAGE, "html"),  # the last one counts
    ("text/html, text/plain", PAGE, "text"),
    ("text/html, image/png", PAGE, ""),
    ("text/html, */*", PAGE, "html"),
    ("text/html charset=utf-8", PAGE, "html"),
    ("TEXT/HTML;CHARSET=UTF-8", PAGE, "html"),
    ("  text/html  ", PAGE, "html"),
    ("text/html;", PAGE, "html"),
    ("text/html(comment)", PAGE, "html"),
    ('text/html; x="a, image/png"', PAGE, "html"),
    ("application/xhtml+xml, charset=utf-8", PAGE, "html"),
    ("html", PAGE, "html"),
    ("html; charset=utf-8", PAGE, "html"),
    ("text", PAGE, "html"),
    ("text", b"only words", "text"),
    ("text", PNG, ""),
    ("html", PNG, ""),
    ("", PAGE, "html"),
    ("", b"  \n<html>", "html"),
    ("", b"\xef\xbb\xbf<p>x", "html"),
    ("", "<html><p>x".encode("utf-16"), "html"),
    ("", b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", "html"),
    ("", b"<?xml version='1.0'?><rss>", "text"),
    ("", b"<!-- a page --><p>x", "html"),
    ("", b"< 5 apples", "text"),
    ("", b"only words", "text"),
    ("", b"", "text"),
    ("", PNG, ""),
    ("", b"%PDF-1.7 words", ""),
    ("", b"\xff\xd8\xff\xe0" + bytes(9), ""),
    ("", b"words" * 500 + bytes(9), "text"),  # only the beginning is looked at
    ("unknown/unknown", PAGE, "html"),
    ("application/unknown", PNG, ""),
    ("*/*", PAGE, "html"),
    ("/", PAGE, "html"),
    ("text/", PAGE, "html"),
    (";charset=utf-8", PAGE, "html"),
    (",,,", PAGE, "html"),
    ("application/octet-stream", PAGE, ""),
    ("image/png", PAGE, ""),
    ("image/svg+xml", b"<svg>", "text"),
    ("application/rss+xml", b"<rss>", "text"),
]


def head(content_type: str, more: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{more}\r\n".encode()


@pytest.mark.parametrize(("content_type", "body", "kind"), CASES)
def test_fetcher_and_reader_agree(content_type: str, body: bytes, kind: str) -> None:
    assert wants_body(head(content_type), body) is bool(kind)
    found = parse(body, content_type)
    assert (found.charset != "") is bool(kind)
    if body is PAGE and kind:
        assert (found.title, found.links) == (("t", ["/x"]) if kind == "html" else ("", []))
        assert found.text == ("words x" if kind == "html" else PAGE.decode())


@pytest.mark.parametrize(("content_type", "body", "kind"), CASES)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_kept(content_type: str, body: bytes, kind: str, packed: bool) -> None:
    """Packed, a body without a type is received, and judged when it is unpacked."""
    bench = Bench()
    extra = "\r\nContent-Encoding: gzip" if packed else ""
    bench.page(gzip.compress(body) if packed else body, f"Content-Type: {content_type}{extra}")
    (row,) = bench.batch.pages
    assert row.outcome == ("ok" if kind else "not-text")
    assert bool(row.text_row) is bool(kind)
    assert bench.stats.ok == bool(kind)


def test_repeated_headers_count_as_one() -> None:
    bench = Bench()
    bench.page(
        gzip.compress(PAGE),
        "Content-Type: text/plain\r\nContent-Type: text/html\r\n"
        "Content-Encoding: identity\r\nContent-Encoding: gzip",
    )
    assert (bench.batch.pages[0].outcome, bench.urls) == ("ok", ["https://a.test/x"])
    repeated = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Type: image/png\r\n\r\n"
    assert not wants_body(repeated, PAGE)


def response(value: bytes, name: bytes = b"X", times: int = 1) -> Response:
    lines = (b"%s:%s\r\n" % (name, value)) * times
    head = b"HTTP/1.1 200 OK\r\n" + lines + b"\r\n"
    return Response(made_request("http://a.test/"), 200, head)


@pytest.mark.parametrize("fill", [b" ", b"a", b"\t", b",", b"\xff", b"; charset="])
def test_no_header_value_is_longer_than_its_bound(fill: bytes) -> None:
    for size in (10, 8_000, 32_000, 90_000):
        made = response(b"text/html;" + fill * (size // len(fill)))
        (value,) = made.headers(b"x")
        assert len(value) <= 8_192
        assert value.lstrip().startswith("text/html;")
        assert len(made.joined(b"x")) <= 8_192


def test_a_header_is_not_asked_for_without_end() -> None:
    assert len(list(response(b"noindex", times=9_000).headers(b"x"))) <= 100
    assert len(response(b"gzip" * 1_000, times=50).joined(b"x")) <= 8_192


def test_ordinary_values_stay_as_they_are() -> None:
    made = response(b"  a\xe9b \t ")
    assert (made.header(b"x"), made.header(b"y")) == ("a\xe9b", "")
    assert list(response(b" 1", times=3).headers(b"x")) == ["1", "1", "1"]
    long = b"/" + b"a" * 1_900
    assert response(long).header(b"x") == long.decode()
