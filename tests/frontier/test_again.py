"""Pages that are queued again, and counts that are what the tables hold, on every store."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Bench
from helpers import batch, release

from lycosa.frontier.protocol import Purge, open_reader
from lycosa.frontier.reader import Reader
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.metrics import Stats
from lycosa.records import Flag, Lease, Origin, PageRow, QueuedUrl
from lycosa.urls.domains import domain_id
from lycosa.urls.fingerprint import fingerprint
from support.logs import queued_in
from support.made import link, page_of

Key = tuple[int, int]


def seed(bench: Bench, *urls: str) -> None:
    bench.frontier.add([link(url, flags=Flag.SEED) for url in urls], rank=0)


def key(url: str) -> Key:
    return domain_id("a.test"), fingerprint(url)


def crawled(bench: Bench, *urls: str, outcome: str = "connect", status: int = 0) -> int:
    """All of a.test is done and its domain given back; returns the engine."""
    seed(bench, *urls)
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = [page_of(url, outcome, status=status) for url in lease.urls]
    back = release(lease, bench.clock.ms + 70_000)
    bench.frontier.commit(engine_id, batch(1, pages=done, released=[back]))
    assert bench.frontier.finished()
    return engine_id


def test_labels_of_pages_that_are_queued_again_are_no_longer_counted(bench: Bench) -> None:
    seed(bench, *(f"https://a.test/{n}" for n in range(4)))
    engine_id = bench.frontier.register("host", 1)

    def fetched(number: int, lease: Lease, labels: list[str]) -> None:
        done = [page_of(url) for url in lease.urls]
        for page, label in zip(done, labels, strict=True):
            page.label = label
        counts = {"content": labels.count("content") + 3 * (number - 1)}
        back = release(lease, bench.clock.ms + 70_000)
        made = batch(number, pages=done, released=[back], stats=Stats(labels=counts).to_dict())
        bench.frontier.commit(engine_id, made)

    (lease,) = bench.frontier.lease(engine_id, 1)
    fetched(1, lease, ["content", "content", "content", ""])
    assert told(bench)["labels"] == {"content": 3}
    again = [key(url.url) for url in lease.urls[1:]]
    assert sum(bench.frontier.requeue(again, text_lost=True).values()) == 3
    assert told(bench)["labels"] == {"content": 1}
    (lease,) = lease_after(bench, engine_id, 70)
    fetched(2, lease, ["content", "content", "content"])
    assert told(bench)["labels"] == {"content": 4}
    assert sum(bench.frontier.requeue(again, text_lost=True).values()) == 3
    assert told(bench)["labels"] == {"content": 1}


def lease_after(bench: Bench, engine_id: int, seconds: float) -> list[Lease]:
    bench.clock.pass_seconds(seconds)
    return bench.frontier.lease(engine_id, 10)


def told(bench: Bench) -> dict[str, Any]:
    """What `lycosa status` tells."""
    store = bench.frontier
    store.put_settings({"settings": "{}"})
    if isinstance(store, SqliteFrontier):
        path = Path(store.db.execute("PRAGMA database_list").fetchone()[2])
        reader: Reader = open_reader(path.parent)
    else:
        reader = open_reader(Path(), store.store.url)
    with closing(reader):
        return reader.status()


def check_counts(bench: Bench) -> None:
    """What a person is told is what is in the tables."""
    db, status = bench.frontier.db, told(bench)
    table = dict(db.execute("SELECT outcome, count(*) FROM pages GROUP BY outcome").fetchall())
    assert status["outcomes"] == table
    assert status["ok"] == table.get("ok", 0)
    assert [(status["pages"],)] == db.execute(
        "SELECT count(*) FROM pages WHERE status > 0"
    ).fetchall()
    assert status["queued"] == sum(queued_in(bench.frontier).values())


# -- queued again ---------------------------------------------------------------------------------


def test_a_page_is_queued_again_and_fetched_once(bench: Bench) -> None:
    engine_id = crawled(bench, "https://a.test/1", "https://a.test/2")
    assert bench.frontier.requeue([key("https://a.test/1")]) == {"connect": 1}
    assert bench.frontier.requeue([key("https://a.test/1")]) == {}  # it is queued, not done
    check_counts(bench)
    assert not bench.frontier.finished()
    assert lease_after(bench, engine_id, 69) == []  # the delay holds
    (lease,) = lease_after(bench, engine_id, 1)
    assert [url.url for url in lease.urls] == ["https://a.test/1"]
    assert lease.urls[0].attempts == 0
    done = page_of(lease.urls[0])
    bench.frontier.commit(engine_id, batch(2, pages=[done], released=[release(lease, 0)]))
    bench.frontier.commit(engine_id, batch(3, links=[link("https://a.test/1", 1)]))
    assert bench.frontier.finished()
    check_counts(bench)


def test_many_at_once_and_twice_the_same(bench: Bench) -> None:
    urls = [f"https://a.test/{n}" for n in range(8)]
    crawled(bench, *urls, outcome="http-500", status=500)
    keys = [key(url) for url in urls]
    assert bench.frontier.requeue([*keys, *keys]) == {"http-500": 8}
    check_counts(bench)


def test_what_is_not_done_is_left_alone(bench: Bench) -> None:
    seed(bench, "https://a.test/queued")
    unknown = (domain_id("nobody.test"), 5)
    assert bench.frontier.requeue([key("https://a.test/queued"), unknown]) == {}
    assert bench.frontier.requeue([]) == {}
    assert bench.frontier.backlog() == (1, 1)


def test_a_page_whose_text_is_kept_stays(bench: Bench) -> None:
    """Or its text would be in the archive twice."""
    seed(bench, "https://a.test/")
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = page_of(lease.urls[0])
    done.text_segment = 100_001
    bench.frontier.commit(engine_id, batch(1, pages=[done], released=[release(lease, 0)]))
    assert bench.frontier.requeue([key("https://a.test/")]) == {}
    assert bench.frontier.requeue([key("https://a.test/")], text_lost=True) == {"ok": 1}
    check_counts(bench)


def test_a_domain_that_is_held_gets_it_when_it_comes_back(bench: Bench) -> None:
    seed(bench, "https://a.test/1", "https://a.test/2")
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    first, second = lease.urls
    bench.frontier.commit(engine_id, batch(1, pages=[page_of(first, "reset", status=0)]))
    assert bench.another().requeue([(lease.domain_id, first.fp)]) == {"reset": 1}
    done = page_of(second)
    bench.frontier.commit(engine_id, batch(2, pages=[done], released=[release(lease, 0)]))
    (again,) = bench.frontier.lease(engine_id, 1)
    assert [url.fp for url in again.urls] == [first.fp]


def test_an_origin_that_failed_for_good_is_asked_again(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    bad = Origin("https://a.test", 5, 200, b"rules", 4, bench.clock.ms + 86_400_000, "dns")
    other = Origin("https://www.a.test", 5, 200, b"", 4, bench.clock.ms + 86_400_000, "dns")
    done = page_of(lease.urls[0], "dns", status=0)
    ident = lease.domain_id
    parts = {"pages": [done], "origins": [(ident, bad), (ident, other)]}
    bench.frontier.commit(engine_id, batch(1, **parts, released=[release(lease, 0)]))
    bench.frontier.requeue([key("https://a.test/")])
    (again,) = bench.frontier.lease(engine_id, 1)
    known = {each.origin: each for each in again.origins}
    assert known["https://a.test"] == Origin("https://a.test", 5, 200, b"rules")
    assert known["https://www.a.test"] == other
    assert again.urls[0].flags & Flag.BARE  # a bare domain may be tried over http again


def test_the_cap_on_pages_counts_them_no_more(bench: Bench) -> None:
    seed(bench, "https://a.test/1", "https://a.test/2")
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = [page_of(url, "http-500", status=500) for url in lease.urls]
    back = release(lease, 0)
    back.pages = 2
    bench.frontier.commit(engine_id, batch(1, pages=done, released=[back]))
    bench.frontier.requeue([key("https://a.test/1")])
    (again,) = bench.frontier.lease(engine_id, 1)
    assert again.pages == 1


def test_a_finished_crawl_is_no_longer_finished(bench: Bench) -> None:
    crawled(bench, "https://a.test/")
    bench.frontier.put_settings({"finished": 1})
    bench.frontier.requeue([key("https://a.test/")])
    assert bench.frontier.setting("finished") == "0"


# -- lost -----------------------------------------------------------------------------------------


def test_lost_text_changes_the_outcome_and_the_counts(bench: Bench) -> None:
    seed(bench, "https://a.test/1", "https://a.test/2", "https://a.test/3")
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = [page_of(url) for url in lease.urls]
    for row in done:
        row.text_segment = row.warc_segment = 100_001
    bench.frontier.commit(engine_id, batch(1, pages=done, released=[release(lease, 0)]))
    one, two, three = [(row.domain_id, row.fp) for row in done]
    for lost in (2, 0):  # twice is once
        assert bench.frontier.lose([one, two, one], [two, three]) == lost
    assert told(bench)["outcomes"] == {"text-lost": 2, "ok": 1}
    check_counts(bench)
    columns = "fp, text_segment, warc_segment"
    rows = bench.frontier.db.execute(f"SELECT {columns} FROM pages").fetchall()
    kept = {one[1]: (0, 100_001), two[1]: (0, 0), three[1]: (100_001, 0)}
    assert {row[0]: tuple(row[1:]) for row in rows} == kept
    assert bench.frontier.requeue([one]) == {"text-lost": 1}  # it has no text to be there twice
    check_counts(bench)


def test_a_segment_is_shortened_and_never_lengthened(bench: Bench) -> None:
    engine_id = bench.frontier.register("host", 1)
    bench.frontier.commit(engine_id, batch(1, segments=[("text", 5, 100, False)]))
    for length, then in ((60, 60), (80, 60), (0, 0)):
        bench.frontier.shorten("text", 5, length)
        assert bench.frontier.committed_segments() == {("text", 5): then}


# -- counts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(3))
def test_counts_are_what_the_tables_hold_whenever_an_engine_dies(bench: Bench, number: int) -> None:
    """After any commit the engine may be gone: what it would have told with the next is lost."""
    chance = random.Random(number)
    seed(bench, *(f"https://d{n % 9}.test/{n}" for n in range(90)))
    for _ in range(6):
        engine_id = bench.frontier.register("host", 1)
        stats = Stats()
        for each in range(1, 4):
            _work(bench, chance, engine_id, each, stats)
            check_counts(bench)
        bench.frontier.rescue([engine_id])
        bench.clock.pass_seconds(71)


def test_counts_follow_pages_that_are_queued_again(bench: Bench) -> None:
    chance = random.Random(1)
    seed(bench, *(f"https://d{n % 9}.test/{n}" for n in range(90)))
    engine_id, done = bench.frontier.register("host", 1), []
    for each in range(1, 7):
        done += _work(bench, chance, engine_id, each, Stats())
        bench.frontier.requeue(chance.sample(done, min(2, len(done))))
        check_counts(bench)


def _work(
    bench: Bench, chance: random.Random, engine_id: int, number: int, stats: Stats
) -> list[Key]:
    """One commit of an engine: pages, some told twice, and an origin that fails with all it has."""
    leases = bench.frontier.lease(engine_id, 3)
    rows = [_random_page(chance, url) for lease in leases[1:] for url in lease.urls[:3]]
    for row in rows:
        stats.outcomes[row.outcome] = stats.outcomes.get(row.outcome, 0) + 1
        stats.ok += row.outcome == "ok"
    parts = {
        "pages": rows + rows[: chance.randrange(2)],
        "purges": [Purge(lease.domain_id, "", "connect") for lease in leases[:1]],
        "released": [release(lease, bench.clock.ms) for lease in leases],
        "stats": stats.to_dict(),
    }
    committed = bench.frontier.commit(engine_id, batch(number, **parts))
    for name, count in committed.purged.items():
        stats.outcomes[name] = stats.outcomes.get(name, 0) + count
    return [(row.domain_id, row.fp) for row in rows]


def _random_page(chance: random.Random, url: QueuedUrl) -> PageRow:
    outcome, status = chance.choice([("ok", 200), ("http-404", 404), ("timeout", 0)])
    return page_of(url, outcome, status=status)
