"""sitemaps: every kind, broken and hostile ones."""

from __future__ import annotations

import pytest

from lycosa.page.sitemaps import Sitemap, parse
from support.cpu import cpu_seconds

URLSET = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://x/image">
 <url><loc>https://example.com/a?x=1&amp;y=2</loc><lastmod>2024-01-01</lastmod>
  <image:image><image:loc>https://example.com/a.jpg</image:loc></image:image></url>
 <url><loc>
    https://example.com/b </loc></url>
 <url><loc><![CDATA[https://example.com/c?x=1&y=2]]></loc></url>
 <url><LOC>https://example.com/%C3%A9&#x2F;&#47;</LOC></url>
 <url><loc>https://example.com/b</loc></url>
</urlset>"""


def test_urlset() -> None:
    assert parse(URLSET) == Sitemap(
        "urlset",
        [
            "https://example.com/a?x=1&y=2",
            "https://example.com/b",
            "https://example.com/c?x=1&y=2",
            "https://example.com/%C3%A9//",
        ],
    )


def test_limit() -> None:
    assert parse(URLSET, limit_urls=2).urls == [
        "https://example.com/a?x=1&y=2",
        "https://example.com/b",
    ]
    assert parse(URLSET, limit_urls=0).urls == []


def test_index_and_prefixes() -> None:
    body = b"<sm:sitemapindex><sm:sitemap><sm:loc>https://e.com/1.xml.gz</sm:loc></sm:sitemap>"
    assert parse(body) == Sitemap("index", ["https://e.com/1.xml.gz"])


def test_broken_xml_yields_what_is_there() -> None:
    cut = URLSET[: URLSET.index(b"<![CDATA[")]
    assert parse(cut).urls == ["https://example.com/a?x=1&y=2", "https://example.com/b"]
    assert parse(b"<urlset><loc>http://e.com/a<loc>http://e.com/b</url").urls == [
        "http://e.com/a",
        "http://e.com/b",
    ]


def test_rss_and_atom() -> None:
    rss = (
        b"<rss><channel><link>https://e.com/</link>"
        b'<atom:link href="https://e.com/feed" rel="self"/>'
        b"<item><title>t</title><link><![CDATA[https://e.com/1]]></link></item></channel></rss>"
    )
    assert parse(rss) == Sitemap("feed", ["https://e.com/", "https://e.com/1"])
    atom = (
        b'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">'
        b"<link rel='self' href='https://e.com/feed'/><entry>"
        b'<link href="https://e.com/1?a=1&amp;b=2"/><link rel="alternate" href="https://e.com/2"/>'
        b'<link rel="enclosure" href="https://e.com/3.mp3"/></entry></feed>'
    )
    assert parse(atom) == Sitemap("feed", ["https://e.com/1?a=1&b=2", "https://e.com/2"])


def test_plain_list() -> None:
    body = (
        b"\xef\xbb\xbfhttps://e.com/a\r\n  http://e.com/b  \n# no\nftp://e.com/c\nhttps://e.com/d"
    )
    assert parse(body) == Sitemap("text", ["https://e.com/a", "http://e.com/b", "https://e.com/d"])
    assert parse(b"") == Sitemap("text", [])


def test_html_is_not_a_sitemap() -> None:
    assert parse(b"<!DOCTYPE html><html><loc>http://e.com/a</loc>") == Sitemap("html", [])


def test_utf16_and_latin1() -> None:
    text = '<?xml version="1.0"?><urlset><loc>https://e.com/é</loc></urlset>'
    assert parse(text.encode("utf-16")).urls == ["https://e.com/é"]
    latin = text.replace("?>", ' encoding="ISO-8859-1"?>', 1).encode("latin-1")
    assert parse(latin).urls == ["https://e.com/é"]


def test_entities_are_never_expanded() -> None:
    bomb = (
        b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><urlset><loc>http://e/&b;</loc>'
    )
    assert parse(bomb).urls == ["http://e/&b;"]
    assert parse(b"<urlset><loc>http://e/&#0;&#xD800;&#9999999;x</loc>").urls == ["http://e/x"]


@pytest.mark.parametrize(
    "unit",
    [b"<loc", b"<loc>", b"<loc> ", b"<x:loc>a", b"<", b" ", b"&#", b"<loc><![CDATA[", b"<link ",
     b"http://", b"http://a", b"<a:"],
)  # fmt: skip
@pytest.mark.parametrize("head", [b"<urlset>", b"<rss>", b"", b"x"])
def test_hostile_input_takes_linear_time(head: bytes, unit: bytes) -> None:
    body = head + unit * (1_000_000 // len(unit))
    assert cpu_seconds(lambda: parse(body), enough=1.0) < 1.5


def test_large_files_are_read_in_parts() -> None:
    entries = "".join(
        f"<url><loc>\n  <![CDATA[http://e.test/{i}]]>\n</loc><x>{'y' * 50}</x></url>\n"
        for i in range(4_000)
    )
    found = parse(f"<urlset>{entries}</urlset>".encode())
    assert found.urls == [f"http://e.test/{i}" for i in range(4_000)]
    lines = "".join(f"http://e.test/{i}\n" for i in range(9_000))
    assert len(parse(lines.encode()).urls) == 9_000


@pytest.mark.parametrize(
    "unit",
    ["<loc>", "<", "<loc>http://e.test/</loc>", "<loc>http://e.test/&#38;&lt;&#38;&#38;</loc>"],
)
def test_floods_are_not_read_to_their_end(unit: str) -> None:
    body = ("<urlset>" + unit * (10_000_000 // len(unit))).encode()
    assert len(parse(body, 5_000).urls) <= 1
    # 0.03 s when measured alone.
    assert cpu_seconds(lambda: parse(body, 5_000), enough=0.2) < 0.4
