"""What people look through: the same answers from every store, and a bound on each."""

from __future__ import annotations

import re
from typing import Any

import pytest
from conftest import Bench
from helpers import batch, release

from lycosa.frontier.queries import load
from lycosa.frontier.reader import Reader
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.survey import SORTS, QueueRow
from lycosa.frontier.values import Deferral
from lycosa.records import Flag
from lycosa.urls.domains import domain_id
from support.made import link, page_of

DOMAINS = ("a.test", "b.test", "c.test")


@pytest.fixture
def crawled(bench: Bench, reader: Reader) -> Reader:
    """a.test has three pages, b.test two that failed and were slow, c.test only a queue."""
    store = bench.frontier
    engine_id = store.register("host", 1)
    store.add([link(f"https://a.test/{n}") for n in range(3)])
    store.add([link(f"https://b.test/{n}") for n in range(2)])
    pages, back = [], []
    for lease in store.lease(engine_id, 9):
        for url in lease.urls:
            failed = lease.name == "b.test"
            page = page_of(url, "timeout" if failed else "ok", status=0 if failed else 200)
            page.duration_ms = 900 if failed else 100
            page.label = "" if failed else "content"
            pages.append(page)
        lease.pages, lease.queued = 0 if lease.name == "b.test" else 3, 0
        back.append(release(lease, bench.clock.ms + 70_000))
    delays = [(domain_id("b.test"), 90_000)]
    store.commit(engine_id, batch(1, pages=pages, delays=delays, released=back))
    store.add([link(f"https://c.test/{n}", depth=n) for n in range(5)])
    store.add([link("https://a.test/more", 1, Flag.SITEMAP)])
    return reader


def test_the_first_domains(crawled: Reader) -> None:
    top = crawled.survey.top_domains
    assert top("pages", 9) == [("a.test", 3)]
    assert top("queued", 9) == [("c.test", 5), ("a.test", 1)]
    assert top("queued", 1) == [("c.test", 5)]
    assert top("delay", 9) == [("b.test", 90_000)]
    newest = crawled.newest_page()
    lately = crawled.survey.top_lately
    assert lately("failing", newest, 9) == [(domain_id("b.test"), 2.0)]
    assert lately("slowest", newest, 9) == [
        (domain_id("b.test"), 900.0),
        (domain_id("a.test"), 100.0),
    ]
    assert sum(len(top(sort, 9, most=0)) for sort in ("pages", "queued", "delay")) == 0
    assert lately("slowest", newest, 9, most=0) == []
    assert crawled.survey.known_domains() == 3


def test_the_rows_of_some_domains(crawled: Reader) -> None:
    ids = [domain_id(name) for name in (*DOMAINS, "nowhere.test")]
    found = crawled.survey.domains_of(ids)
    assert {row["name"]: row["queued"] for row in found.values()} == {
        "a.test": 1,
        "b.test": 0,
        "c.test": 5,
    }
    assert all(ident == domain_id(row["name"]) for ident, row in found.items())


def test_the_counts_of_a_domain_are_of_a_bounded_number_of_pages(crawled: Reader) -> None:
    found = crawled.domain("a.test")
    assert found is not None
    assert (found["outcomes"], found["labels"]) == ({"ok": 3}, {"content": 3})
    assert sum(row["pages"] for row in crawled.survey.counts(domain_id("a.test"), 0, 2)) == 2


def test_the_queue_of_a_domain_in_its_order(bench: Bench, crawled: Reader) -> None:
    rows = crawled.survey.queue_head(domain_id("c.test"), 3)
    assert [row.url[-1] for row in rows] == ["0", "1", "2"]
    assert [row.depth for row in rows] == [0, 1, 2]
    assert all(row.found_ms == bench.clock.ms and not row.waits_until_ms for row in rows)
    whole = list(crawled.survey.queue_of(domain_id("c.test"), 99))
    assert [row.url[-1] for row in whole] == list("01234")
    assert len(list(crawled.survey.queue_of(domain_id("c.test"), 4))) == 4


def test_a_long_queue_is_read_in_pieces(
    bench: Bench, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lycosa.frontier.queues.CHUNKS", 3)
    for n in range(5):  # a chunk each time
        bench.frontier.add([link(f"https://{d}.test/{n}") for d in "abcd"])
    everything = list(reader.survey.queue_all(99))
    assert len({row.url for row in everything}) == len(everything) == 20
    assert len(list(reader.survey.queue_all(7))) == 7
    one = list(reader.survey.queue_of(domain_id("b.test"), 99))
    assert len(one) == 5 and all(row.domain_id == domain_id("b.test") for row in one)


def test_a_url_that_waits_says_until_when(bench: Bench, crawled: Reader) -> None:
    store = bench.frontier
    engine_id = store.register("host", 2)
    (lease,) = (each for each in store.lease(engine_id, 9) if each.name == "c.test")
    later = bench.clock.ms + 5000
    store.commit(engine_id, batch(1, deferred=[Deferral(lease.domain_id, lease.urls[0], later, 1)]))
    *_, last = crawled.survey.queue_head(domain_id("c.test"), 9)
    assert (last.waits_until_ms, last.attempts, last.found_ms) == (later, 1, 0)


def test_what_is_worked_on_next(bench: Bench, crawled: Reader) -> None:
    assert [row["name"] for row in crawled.survey.next_domains(9)] == ["c.test", "a.test"]
    (held,) = bench.frontier.lease(bench.frontier.register("host", 2), 1)
    assert held.name == "c.test"
    assert [row["name"] for row in crawled.survey.next_domains(9)] == ["c.test", "a.test"]
    assert [row["name"] for row in crawled.survey.next_domains(1)] == ["c.test"]


def test_a_row_of_the_queue_tells_its_time() -> None:
    assert QueueRow(1, (3 << 42) | 1_800_000_000_000, 1, "u", 3, 0, 0).found_ms == 1_800_000_000_000


BOUNDED: dict[str, dict[str, Any]] = {
    "most_pages": {"most": 5, "limit": 5},
    "most_queued": {"most": 5, "limit": 5},
    "longest_delay": {"most": 5, "limit": 5},
    "most_failing": {"after": 5, "limit": 5},
    "slowest": {"after": 5, "limit": 5},
    "domain_counts": {"id": 1, "most": 5, "highest": 5},
    "chunks_of": {"id": 1, "home": 1, "seq": 1, "limit": 5},
    "chunks_after": {"home": 1, "seq": 1, "limit": 5},
    "held_domains": {"limit": 5},
    "due_domains": {"limit": 5},
    "domains_of": {"ids": "[1]"},
    "ready_places": {"ids": "[1]", "most": 5},
    "ready_edge": {"most": 5},
}
UNSORTED = ("chunks_of", "chunks_after", "held_domains", "due_domains", "domains_of")


@pytest.mark.parametrize("query", BOUNDED)
@pytest.mark.parametrize("bench", ["sqlite"], indirect=True)
def test_no_statement_reads_a_whole_table(bench: Bench, query: str) -> None:
    """A scan is fine of a table that a LIMIT inside ends; everything else is a search."""
    assert isinstance(bench.frontier, SqliteFrontier)
    statement, values = load("sqlite")[query], BOUNDED[query]
    rows: list[Any] = bench.frontier.db.execute(
        f"EXPLAIN QUERY PLAN {statement}", values
    ).fetchall()
    plan = [row[3] for row in rows]
    scans = [step for step in plan if re.match(r"SCAN (domains|d|pages|log|ready)\b", step)]
    # The front of the line is read in its order, and a LIMIT ends it too.
    assert not scans or "LIMIT :most)" in statement or query == "due_domains", plan
    if query in UNSORTED:
        assert not [step for step in plan if "TEMP B-TREE" in step], plan


def test_every_sort_has_its_statement() -> None:
    assert set(SORTS) == {"pages", "queued", "delay", "failing", "slowest"}
