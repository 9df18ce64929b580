"""From responses to pages, text and links."""

from __future__ import annotations

import gzip
from hashlib import sha1
from uuid import UUID

import orjson
import pytest

from lycosa.archive.warc import base32
from lycosa.engine import harvest
from lycosa.engine.page_rows import http_date_ms
from lycosa.engine.sent_links import SentLinks
from lycosa.engine.visit_result import Result
from lycosa.page.simhash import simhash
from lycosa.records import Flag, Response, Truncated, Url
from lycosa.urls.fingerprint import content_hash
from lycosa.urls.scope import ScopeRules
from support.cpu import cpu_seconds
from support.harvest_bench import HTML, Bench
from support.made import made_request, queued


@pytest.fixture(autouse=True, params=["compiled", "python"])
def way_of_links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(harvest, "join", None)


def test_a_page_becomes_a_row_a_text_and_links() -> None:
    bench = Bench()
    bench.page(b"<html lang=de><title>T</title><p>Hallo <a href=/x>x</a> <a href=//b.test/y>y</a>")
    (row,) = bench.batch.pages
    assert (row.outcome, row.status, row.title, row.order, row.depth) == ("ok", 200, "T", 7, 1)
    text = orjson.loads(row.text_row)
    assert (text["url"], text["lang"], text["title"]) == ("https://a.test/p", "de", "T")
    assert "Hallo" in text["text"]
    assert bench.urls == ["https://a.test/x", "https://b.test/y"]
    assert {link[3] for link in bench.links} == {2}
    assert (bench.stats.pages, bench.stats.ok, bench.held.pages) == (1, 1, 1)


def test_what_a_visit_found_before_its_page_is_not_found_again_by_it() -> None:
    """robots.txt says that it is a sitemap, and where it was found is not so deep."""
    bench = Bench()
    result = Result(bench.held, 1.0, 2.0, requests=2)
    result.found = [
        (Url("https://a.test/sitemap.xml"), 0, int(Flag.SITEMAP)),
        (Url("https://a.test/moved"), 1, 0),
    ]
    body = b"<a href=/x>x</a> <a href=/sitemap.xml>map</a> <a href=/moved>m</a>"
    head = f"HTTP/1.1 200 X\r\n{HTML}\r\n\r\n".encode()
    response = Response(made_request("https://a.test/p"), 200, head, body)
    result.page = (queued("https://a.test/p", depth=3, order=7), response)
    bench.harvest.take(result, bench.batch, bench.stats)
    found = {link[2]: (link[3], link[5]) for link in bench.links}
    assert found == {
        "https://a.test/sitemap.xml": (0, Flag.SITEMAP),
        "https://a.test/moved": (1, 0),
        "https://a.test/x": (4, 0),
    }
    assert len(bench.links) == 3


def test_a_page_is_wanted_if_one_of_its_names_is() -> None:
    """Both names have one fingerprint; the first is too long."""
    bench = Bench()
    long = "&".join(f"utm_{n}={'y' * 40}" for n in range(40))
    bench.page(f"<a href='/x?{long}'>x</a> <a href=/x>x</a>".encode())
    assert bench.urls == ["https://a.test/x"]


def test_base_href_counts_relative_to_the_page() -> None:
    bench = Bench()
    bench.page(b"<base href='/deep/down/'><a href=x>x</a>")
    assert bench.urls == ["https://a.test/deep/down/x"]


@pytest.mark.parametrize("status", [404, 500, 301])
def test_other_statuses_are_recorded_without_text_or_links(status: int) -> None:
    bench = Bench()
    bench.page(b"<a href=/x>x</a>", status=status)
    (row,) = bench.batch.pages
    assert (row.outcome, row.text_row, bench.urls) == (f"http-{status}", b"", [])
    assert bench.stats.pages == 1


GERMAN = (
    "<html lang={}><p>Die alte Stadt liegt am Ufer des Flusses, und jedes Jahr besuchen sie viele"
    " Menschen aus fernen Ländern, um ihre Märkte und Gärten zu sehen.<a href=/x></a>"
)


def test_a_page_knows_its_language() -> None:
    bench = Bench()
    bench.page(GERMAN.format("en").encode())
    (row,) = bench.batch.pages
    assert (row.outcome, row.language, row.language_score) == ("ok", "de", 100)
    text = orjson.loads(row.text_row)
    assert (text["lang"], text["languages"]) == ("en", [["de", 1.0]])


ARTICLE = (
    "<html lang=de><title>Die Stadt</title><link rel=canonical href=/c>"
    "<meta property=og:site_name content='Die Zeitung'>"
    "<meta property=article:published_time content=2024-05-06>"
    "<nav class=menu><ul>" + "<li><a href=/m>The menu of our pages</a></li>" * 12 + "</ul></nav>"
    "<main><article class=content><h1>Die Stadt</h1>" + "<p>Die alte Stadt liegt am Ufer des"
    " Flusses, und jedes Jahr besuchen sie viele Menschen aus fernen L\u00e4ndern, um ihre"
    " M\u00e4rkte und G\u00e4rten zu sehen.</p>" * 6 + "</article></main>"
    "<footer class=footer><p>Copyright, <a href=/i>imprint</a></p></footer>"
)


def test_the_main_text_is_kept_and_what_a_page_is_about_comes_of_it() -> None:
    bench = Bench()
    bench.page(ARTICLE.encode())
    (row,) = bench.batch.pages
    text = orjson.loads(row.text_row)
    main = text["main"]
    assert "Ufer" in main and "menu" not in main and "menu" in text["text"]
    assert (row.text_chars, row.main_chars) == (len(text["text"]), len(main))
    assert len(bytes.fromhex(text["scores"])) == len(text["text"].split("\n"))
    assert row.content_hash == content_hash(text["text"])
    assert row.simhash == simhash(main) != simhash(text["text"])
    assert text["languages"] == [["de", 1.0]]
    assert (text["published"], text["site_name"]) == ("2024-05-06", "Die Zeitung")
    assert text["canonical"] == "https://a.test/c"


def test_a_page_in_another_language_is_not_kept_and_its_links_are_one_deeper() -> None:
    bench = Bench(languages=frozenset({"fr", "pt"}), keep_warc=True)
    bench.page(GERMAN.format("fr").encode())
    (row,) = bench.batch.pages
    assert (row.outcome, row.status, row.language) == ("other-language", 200, "de")
    assert (row.text_row, row.warc, row.text_chars) == (b"", (), 0)
    assert [(link[2], link[3]) for link in bench.links] == [("https://a.test/x", 2)]
    assert (bench.stats.pages, bench.stats.ok) == (1, 0)


def test_from_a_page_in_a_wanted_language_depth_counts_anew() -> None:
    bench = Bench(ScopeRules(max_depth=1), languages=frozenset({"de"}))
    bench.page(GERMAN.format("").encode())
    assert bench.batch.pages[0].outcome == "ok"
    assert [(link[2], link[3]) for link in bench.links] == [("https://a.test/x", 1)]
    bench = Bench(ScopeRules(max_depth=1), languages=frozenset({"fr"}))
    bench.page(GERMAN.format("").encode())
    assert not bench.links and bench.stats.drops == {"depth": 1}


def test_where_nobody_can_tell_the_declaration_counts() -> None:
    for declared, outcome in (("de-CH", "ok"), ("fr", "other-language"), ("", "other-language")):
        bench = Bench(languages=frozenset({"de"}))
        bench.page(f"<html lang='{declared}'><p>Hallo <a href=/x>x</a>".encode())
        assert bench.batch.pages[0].outcome == outcome, declared


def test_a_page_that_asks_not_to_be_kept_is_noindex_in_any_language() -> None:
    bench = Bench(languages=frozenset({"fr"}))
    bench.page(f"<meta name=robots content=noindex>{GERMAN.format('')}".encode())
    assert (bench.batch.pages[0].outcome, bench.batch.pages[0].language) == ("noindex", "")


def test_noindex_keeps_no_text_but_follows() -> None:
    bench = Bench()
    bench.page(b"<meta name=robots content=noindex><a href=/x>x</a>")
    assert bench.batch.pages[0].outcome == "noindex"
    assert bench.batch.pages[0].text_row == b""
    assert bench.urls == ["https://a.test/x"]


@pytest.mark.parametrize(
    ("header", "outcome", "links"),
    [
        ("X-Robots-Tag: noindex", "noindex", 1),
        ("X-Robots-Tag: none", "noindex", 0),
        ("X-Robots-Tag: nofollow", "ok", 0),
        ("X-Robots-Tag: otherbot: noindex", "ok", 1),
        ("X-Robots-Tag: lycosa: noindex", "noindex", 1),
        # The agent goes for the whole field value.
        ("X-Robots-Tag: otherbot: noindex, nofollow", "ok", 1),
        ("X-Robots-Tag: otherbot: max-snippet:-1, noindex, nofollow", "ok", 1),
        ("X-Robots-Tag: OtherBot : nofollow,noindex,none", "ok", 1),
        ("x-robots-tag: 360Spider: all, none", "ok", 1),
        ("X-Robots-Tag: lycosa: nofollow, noindex", "noindex", 0),
        ("X-ROBOTS-TAG: LYCOSA/1.0: NoIndex, NoFollow", "noindex", 0),
        ("X-Robots-Tag: *: noindex, nofollow", "noindex", 0),
        ("X-Robots-Tag: robots: nofollow", "ok", 0),
        ("X-Robots-Tag: lycosa-images: none", "ok", 1),
        # Several agents in one value, as proxies join fields.
        ("X-Robots-Tag: otherbot: noindex, lycosa: nofollow", "ok", 0),
        ("X-Robots-Tag: lycosa: noindex, otherbot: nofollow", "noindex", 1),
        ("X-Robots-Tag: noindex, otherbot: nofollow", "noindex", 1),
        ("X-Robots-Tag: otherbot: lycosa: noindex, nofollow", "noindex", 0),
        ("X-Robots-Tag: otherbot: a, thirdbot: b, noindex", "ok", 1),
        # Several fields: each begins anew.
        ("X-Robots-Tag: otherbot: noindex\r\nX-Robots-Tag: nofollow", "ok", 0),
        ("X-Robots-Tag: noindex\r\nX-Robots-Tag: otherbot: nofollow", "noindex", 1),
        ("X-Robots-Tag: a: none\r\nX-Robots-Tag: lycosa: noindex, nofollow", "noindex", 0),
        # Colons that name no agent.
        ("X-Robots-Tag: unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", "noindex", 1),
        ("X-Robots-Tag: unavailable_after: Friday, 25-Jun-10 15:00:00 GMT, none", "noindex", 0),
        ("X-Robots-Tag: unavailable_after: 25 Jun 2010, 15:00:00, nofollow", "ok", 0),
        ("X-Robots-Tag: unavailable-after: 2010-06-25T15:00:00Z, nofollow", "ok", 0),
        ("X-Robots-Tag: max-snippet:-1, max-image-preview: large, noindex", "noindex", 1),
        ("X-Robots-Tag: max-video-preview:-1,nofollow", "ok", 0),
        ("X-Robots-Tag: lycosa: max-snippet:-1, noindex", "noindex", 1),
        ("X-Robots-Tag: otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST, none", "ok", 1),
        # Odd ones.
        ("X-Robots-Tag: noindex nofollow", "noindex", 0),
        ("X-Robots-Tag: noindex; nofollow", "noindex", 0),
        ("X-Robots-Tag: :noindex", "noindex", 1),
        ("X-Robots-Tag: , ,noindex,", "noindex", 1),
        ("X-Robots-Tag: indexifembedded, noindexes", "ok", 1),
        ("X-Robots-Tag:", "ok", 1),
    ],
)
def test_x_robots_tag(header: str, outcome: str, links: int) -> None:
    bench = Bench()
    bench.page(b"<a href=/x>x</a>", f"{HTML}\r\n{header}")
    assert (bench.batch.pages[0].outcome, len(bench.urls)) == (outcome, links)


@pytest.mark.parametrize("piece", ["a:", ":", "a:,", ",", "lycosa: ", "max-a:b,", "1:"])
def test_a_long_x_robots_tag_costs_little(piece: str) -> None:
    from lycosa.politeness.robots_tag import wishes

    values = [piece * (100_000 // len(piece)) + " noindex"] * 3
    assert cpu_seconds(lambda: wishes(values), enough=0.2) < 0.5


def test_what_is_not_text_is_recorded_as_such() -> None:
    bench = Bench()
    image = queued("https://a.test/i")
    head = b"HTTP/1.1 200 X\r\nContent-Type: image/png\r\n\r\n"
    result = Result(bench.held, 1.0, 2.0, requests=1)
    result.page = (image, Response(made_request(image.url), 200, head, truncated=Truncated.TYPE))
    bench.harvest.take(result, bench.batch, bench.stats)
    assert bench.batch.pages[0].outcome == "not-text"


def test_a_body_that_can_not_be_unpacked() -> None:
    bench = Bench()
    bench.page(b"\x1f\x8b\x08\xff\xff\xff", f"{HTML}\r\nContent-Encoding: gzip")
    assert bench.batch.pages[0].outcome == "undecodable"


def test_links_out_of_scope_are_counted_each_time_and_not_sent() -> None:
    bench = Bench(ScopeRules(max_depth=1, exclude=("bad.test",)))
    for _ in range(2):
        bench.page(b"<a href=/x>x</a><a href=https://bad.test/>b</a>")
    assert bench.urls == []
    assert bench.stats.drops == {"depth": 2, "excluded": 2}


def test_a_link_is_sent_once_while_it_is_remembered() -> None:
    bench = Bench()
    for _ in range(3):
        bench.page(b"<a href=/x>x</a>")
    assert bench.urls == ["https://a.test/x"]


def test_a_full_domain_takes_no_more_of_its_own_links() -> None:
    bench = Bench(max_queued_per_domain=5)
    bench.page(b"<a href=/x>x</a><a href=https://b.test/>b</a>")
    assert bench.urls == ["https://b.test/"]
    assert bench.stats.drops == {"queue-cap": 1}


def test_the_page_cap_empties_the_domain() -> None:
    bench = Bench(max_pages_per_domain=1)
    bench.held.run.append(queued("https://a.test/5", order=5))
    bench.page(b"<a href=/x>x</a>")
    (purge,) = bench.batch.purges
    assert (purge.outcome, purge.forget) == ("page-cap", True)
    assert not bench.held.run
    bench.page(b"<a href=/y>y</a>")
    assert bench.stats.drops["page-cap"] >= 1


def test_a_sitemap_gives_links_of_its_own_domain_scope() -> None:
    bench = Bench()
    body = b"<urlset><url><loc>https://a.test/from-map</loc></url></urlset>"
    bench.page(body, "Content-Type: application/xml", flags=Flag.SITEMAP)
    assert bench.batch.pages[0].outcome == "sitemap"
    assert bench.urls == ["https://a.test/from-map"]


def test_an_index_of_sitemaps_gives_sitemaps_of_its_own_site() -> None:
    bench = Bench()
    body = gzip.compress(
        b"<sitemapindex><sitemap><loc>https://a.test/m1.xml</loc></sitemap>"
        b"<sitemap><loc>https://other.test/m2.xml</loc></sitemap></sitemapindex>"
    )
    bench.page(body, "Content-Type: application/gzip", flags=Flag.SITEMAP)
    assert [(link[2], link[5]) for link in bench.links] == [("https://a.test/m1.xml", Flag.SITEMAP)]


def test_noindex_keeps_no_warc_either() -> None:
    bench = Bench(keep_warc=True)
    bench.page(b"<meta name=robots content=noindex>hello")
    assert bench.batch.pages[0].warc == ()


def test_warc_records_are_made_only_if_wanted() -> None:
    plain, full = Bench(), Bench(keep_warc=True)
    for bench in (plain, full):
        bench.page(b"hello")
    assert plain.batch.pages[0].warc == ()
    kept = full.batch.pages[0]
    head, body, _ = kept.warc
    assert b"hello" in body
    assert b"<urn:uuid:%s>" % str(UUID(bytes=kept.warc_record)).encode() in head
    assert kept.warc_length == len(head) + len(body) + 4
    assert b"sha1:" + base32(kept.payload_digest).encode() in head


def test_what_a_response_says_is_kept_with_its_page() -> None:
    bench = Bench()
    bench.page(
        b"hello",
        f'{HTML}\r\nETag: "v1"\r\nLast-Modified: Tue, 17 Nov 2026 10:00:00 GMT',
    )
    (kept,) = bench.batch.pages
    assert (kept.etag, kept.modified_ms) == ('"v1"', 1_794_909_600_000)
    assert kept.payload_digest == sha1(b"hello").digest()
    assert (kept.truncated, kept.charset, kept.referrer) == ("", "utf-8", 0)


def test_rows_tell_which_url_redirected_to_them() -> None:
    bench = Bench()
    first, second, last = (queued(f"https://a.test/{name}") for name in ("one", "two", "three"))
    moved = Response(made_request(first.url), 301, b"HTTP/1.1 301 X\r\n\r\n", b"")
    bench.page(b"before")
    result = Result(bench.held, 1.0, 2.0, requests=3)
    result.moved = [(first, second.url, moved), (second, last.url, moved)]
    result.failed = [(last, "reset", 0)]
    bench.harvest.take(result, bench.batch, bench.stats)
    assert [row.referrer for row in bench.batch.pages] == [0, 0, first.fp, second.fp]


@pytest.mark.parametrize("date", ["", "yesterday", "Tue, 99 Nov 2026", "x" * 9000, "1 Jan 99999"])
def test_a_bad_date_is_none(date: str) -> None:
    assert http_date_ms(date) == 0


def test_a_long_etag_is_no_etag() -> None:
    bench = Bench()
    bench.page(b"hello", f"{HTML}\r\nETag: {'x' * 129}")
    assert bench.batch.pages[0].etag == ""


def test_sent_links_is_bounded() -> None:
    sent = SentLinks(16)
    for fp in range(1, 1000):
        sent.add(fp)
    assert 999 in sent and 1 not in sent


def test_a_page_has_a_label_and_its_reason_in_row_and_text() -> None:
    bench = Bench()
    bench.page(b"<title>Shop</title><h1>Page not found</h1>")
    (row,) = bench.batch.pages
    assert (row.label, row.label_reason) == ("soft-404", "page not found")
    text = orjson.loads(row.text_row)
    assert (text["label"], text["label_reason"]) == (row.label, row.label_reason)
    assert bench.stats.labels == {"soft-404": 1}
    bench.stats.uncount(row.outcome, row.status, row.label)
    assert bench.stats.labels == {"soft-404": 0}


@pytest.mark.parametrize(
    ("status", "body", "want"),
    [
        (404, b"<p>anything", "error-page"),
        (403, b"<p>You need to log in to view this page.", "login-wall"),
        (403, gzip.compress(b"<p>anything", mtime=0), "blocked"),
        (500, b"<p>Please verify you are human.", "blocked"),
        (500, b"", "error-page"),
        (301, b"<p>moved", ""),
    ],
)
def test_an_error_has_a_label_but_no_text(status: int, body: bytes, want: str) -> None:
    bench = Bench()
    bench.page(body, status=status)
    (row,) = bench.batch.pages
    assert (row.label, row.text_row) == (want, b"")
    assert bench.stats.labels == ({want: 1} if want else {})


def test_of_a_long_error_only_the_beginning_is_read() -> None:
    body = b"<p>sorry " * (harvest.REFUSAL_BYTES // 9) + b"<p>Please verify you are human."
    bench = Bench()
    bench.page(body, status=500)
    assert bench.batch.pages[0].label == "error-page"
