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
