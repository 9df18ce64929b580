"""What a person asks of a crawl gets the same answer from every store."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Bench
from helpers import batch, release

from lycosa.errors import UserError
from lycosa.frontier.filters import Filter
from lycosa.frontier.keys import SETTINGS_KEY
from lycosa.frontier.reader import Reader
from lycosa.records import Origin
from lycosa.urls.domains import domain_id
from support.made import link, page_of

DONE = {
    "https://a.test/1": ("ok", 200),
    "https://a.test/dir/2": ("http-error", 404),
    "https://b.test/dir/3": ("ok", 200),
    "https://c.test/4": ("dns", 0),
}


@pytest.fixture
def crawled(bench: Bench, reader: Reader) -> Reader:
    """Four pages done, recorded in this order; one URL is queued."""
    store = bench.frontier
    engine_id = store.register("host", 1)
    for number, (url, (outcome, status)) in enumerate(DONE.items(), 1):
        store.add([link(url)], rank=0)
        (lease,) = store.lease(engine_id, 1)
        done = page_of(lease.urls[0], outcome, status=status)
        done.fetched_ms = number
        back = [release(lease, bench.clock.ms)]
        store.commit(engine_id, batch(number, pages=[done], released=back))
    store.add([link("https://a.test/queued", 1)])
    origin = (domain_id("a.test"), Origin("https://a.test", 7, 200, b"rules"))
    store.commit(engine_id, batch(9, origins=[origin]))
    return reader


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, "4 3 2 1"),
        ({"newest": False}, "1 2 3 4"),
        ({"limit": 2}, "4 3"),
        ({"domains": ("a.test",)}, "2 1"),
        ({"domains": ("www.a.test",), "newest": False, "limit": 1}, "1"),
        ({"statuses": (404,)}, "2"),
        ({"outcomes": ("dns",)}, "4"),
        ({"since_ms": 3}, "4 3"),
        ({"url_prefix": "https://a.test/"}, "2 1"),
        ({"url_prefix": "https://a.test/d", "outcomes": ("ok",)}, ""),
        ({"domains": ("b.test",), "statuses": (200,), "since_ms": 2, "outcomes": ("ok",)}, "3"),
        ({"domains": ("nowhere.test",)}, ""),
    ],
)
def test_pages_fit_all_that_is_given(crawled: Reader, filters: dict[str, Any], found: str) -> None:
    order = {name: filters[name] for name in ("limit", "newest") if name in filters}
    where = Filter(**{name: filters[name] for name in filters if name not in order})
    assert " ".join(each.url[-1] for each in crawled.pages(where, **order)) == found


@pytest.fixture
def judged(bench: Bench, reader: Reader) -> Reader:
    """Nine pages of three domains that differ in all that a filter asks for."""
    store = bench.frontier
    engine_id = store.register("host", 1)
    store.add([link(f"https://{'abc'[n % 3]}.test/{n}", depth=n // 2) for n in range(1, 10)])
    rows = []
    back = []
    for lease in store.lease(engine_id, 9):
        rows += [page_of(url) for url in lease.urls]
        back.append(release(lease, bench.clock.ms))
    rows.sort(key=lambda row: row.url[-1])
    for row in rows:
        n = int(row.url[-1])
        row.fetched_ms, row.text_chars, row.status = 1000 * n, 100 * n, 200 + n % 2
        row.language, row.label = ("en", "de", "fr")[n % 3], ("content", "listing")[n % 2]
        row.text_segment, row.warc_segment = 100001 * (n < 5), 100001 * (n > 5)
    for number, row in enumerate(rows, 1):  # one commit each: their ids are in this order
        store.commit(engine_id, batch(number, pages=[row]))
    store.commit(engine_id, batch(99, released=back))
    return reader


JUDGED = [
    ({}, "123456789"),
    ({"domains": ("a.test", "c.test")}, "235689"),
    ({"since_ms": 4000}, "456789"),
    ({"until_ms": 4000}, "123"),
    ({"since_ms": 3000, "until_ms": 6000}, "345"),
    ({"languages": ("de",)}, "147"),
    ({"languages": ("de", "fr")}, "124578"),
    ({"labels": ("listing",)}, "13579"),
    ({"labels": ("listing", "content"), "statuses": (200,)}, "2468"),
    ({"statuses": (200, 201)}, "123456789"),
    ({"outcomes": ("ok", "redirect")}, "123456789"),
    ({"outcomes": ("redirect",)}, ""),
    ({"min_depth": 2}, "456789"),
    ({"max_depth": 0}, "1"),
    ({"min_depth": 1, "max_depth": 2}, "2345"),
    ({"min_chars": 800}, "89"),
    ({"max_chars": 100}, "1"),
    ({"max_chars": 0}, ""),
    ({"url_prefix": "https://b.test/"}, "147"),
    ({"url_prefix": "https://b.test/4"}, "4"),
    ({"url_prefix": "https://"}, "123456789"),
    ({"domains": ("a.test",), "url_prefix": "https://b.test/"}, ""),
    ({"with_text": True}, "1234"),
    ({"with_response": True, "languages": ("en",)}, "69"),
]


@pytest.mark.parametrize(("filters", "found"), JUDGED, ids=lambda each: str(each))
def test_every_filter(judged: Reader, filters: dict[str, Any], found: str) -> None:
    where = Filter(**filters)
    assert "".join(row.url[-1] for row in judged.pages(where, newest=False)) == found
    end = judged.newest_page()
    chunk = judged.page_chunk(where, 0, end, 100)
    assert "".join(row.url[-1] for _, row in chunk) == found
    assert [ident for ident, _ in chunk] == sorted(ident for ident, _ in chunk)
    backwards = judged.page_chunk(where, 0, end, 100, newest=True)
    assert [ident for ident, _ in backwards] == [ident for ident, _ in chunk][::-1]
    some = judged.page_chunk(where, 0, end, 2)
    assert [ident for ident, _ in some] == [ident for ident, _ in chunk[:2]]


@pytest.mark.parametrize("where", [Filter(), Filter(domains=("a.test", "b.test", "c.test"))])
def test_a_chunk_has_its_bounds(judged: Reader, where: Filter) -> None:
    ids = [ident for ident, _ in judged.page_chunk(where, 0, judged.newest_page(), 100)]
    inner = judged.page_chunk(where, ids[2], ids[5], 100)
    assert [ident for ident, _ in inner] == ids[3:6]
    assert judged.page_chunk(where, ids[-1], ids[-1] + 100, 100) == []
    assert judged.newest_page() == ids[-1]


def test_there_is_no_newest_page_at_first(reader: Reader) -> None:
    assert reader.newest_page() == 0


def test_what_is_known_of_a_domain(judged: Reader, crawled: Reader) -> None:
    found = judged.domain("b.test")
    assert found is not None and found["name"] == "b.test"
    assert found["outcomes"] == {"ok": 4}
    assert found["languages"] == {"de": 3, "": 1}
    assert found["labels"] == {"listing": 2, "": 1, "content": 1}
    assert list(found["labels"]) == ["listing", "", "content"]
    assert found["origins"] == []
    other = crawled.domain("a.test")
    assert other is not None
    assert other["origins"] == [Origin("https://a.test", 7, 200, b"rules")]
    assert judged.domain("nowhere.test") is None


def test_everything_known_of_a_url(crawled: Reader) -> None:
    done = crawled.find("https://a.test/1#here")
    assert (done["url"], done["domain"]) == ("https://a.test/1", "a.test")
    assert (done["page"].outcome, done["page"].order, done["queue"]) == ("ok", -1, None)
    assert done["origin"] == Origin("https://a.test", 7, 200, b"rules")
    assert done["domain_row"]["name"] == "a.test"
    queued = crawled.find("https://a.test/queued")
    assert (queued["page"], queued["queue"]["depth"], queued["queue"]["ahead"]) == (None, 1, 0)
    new = crawled.find("http://nowhere.test/")
    assert [new[part] for part in ("page", "queue", "domain_row", "origin")] == [None] * 4
    with pytest.raises(UserError, match="not an http"):
        crawled.find("ftp://a.test/")


def test_domains_and_queues(crawled: Reader) -> None:
    known = ["a.test", "b.test", "c.test"]
    assert sorted(name for _, name in crawled.domains()) == known
    assert crawled.domains_among(["c.test", "a.test", "nowhere.test"]) == ["a.test", "c.test"]
    assert len(crawled.some_domains(2)) == 2
    ids = [ident for ident, _ in crawled.domains()]
    assert (crawled.queued_count(ids), crawled.queued_count([])) == (1, 0)
    assert list(crawled.queued_urls()) == ["https://a.test/queued"]
    assert list(crawled.queued_urls(domain_id("b.test"))) == []


def test_several_streams_are_read_in_turns(crawled: Reader) -> None:
    pages, domains = crawled.pages(newest=False), crawled.domains()
    assert next(pages).url == "https://a.test/1"
    assert next(domains)[1] in ("a.test", "b.test", "c.test")
    assert [list(crawled.queued_urls(ident)) for ident, _ in domains]
    assert len(list(pages)) == 3


def test_exclusions_are_added_and_removed(bench: Bench, reader: Reader) -> None:
    store = bench.frontier
    store.put_settings({"rules_version": 1, SETTINGS_KEY: json.dumps({"exclude": ["a.test", "x"]})})
    assert reader.add_exclusions(["b.test", "a.test", "b.test"]) == 2
    assert reader.exclusions() == (2, ["a.test", "b.test"])
    assert store.watch().rules_version == 2
    assert reader.remove_exclusions(["a.test"]) == 1
    assert reader.exclusions() == (3, ["b.test"])
    assert json.loads(reader.settings()[SETTINGS_KEY])["exclude"] == ["x"]
    reader.rules_changed()
    assert store.watch().rules_version == 4


def test_a_stop_is_heard_by_engines(bench: Bench, reader: Reader) -> None:
    assert not bench.frontier.watch().stop
    reader.request_stop()
    assert bench.frontier.watch().stop and reader.status()["stop_requested"]
