"""Logs of domains in a store: what wakes a domain, what keeps it awake, whose chunks are whose. On
every store."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from conftest import Bench
from helpers import batch, release

from lycosa.frontier.postgres import logs as postgres_logs
from lycosa.frontier.protocol import Link
from lycosa.frontier.sqlite import logs as sqlite_logs
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.records import Flag, Lease
from lycosa.urls.domains import domain_id
from support.logs import logs_of, queued_in
from support.made import link, made_page, page_of
from support.tokens import check_tokens


def seed(bench: Bench, *urls: str) -> None:
    bench.frontier.add([link(url, flags=Flag.SEED) for url in urls], rank=0)


def finish(bench: Bench, engine_id: int, number: int) -> Lease:
    """Fetch all URLs of the one domain that is due, and give it back."""
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = [page_of(url) for url in lease.urls]
    back = release(lease, bench.clock.ms)
    bench.frontier.commit(engine_id, batch(number, pages=done, released=[back]))
    return lease


# -- waking ----------------------------------------------------------------------------------------


def test_links_that_a_finished_domain_knows_do_not_wake_it(bench: Bench) -> None:
    urls = [f"https://a.test/{n}" for n in range(4)]
    seed(bench, *urls)
    engine_id = bench.frontier.register("host", 1)
    lease = finish(bench, engine_id, 1)
    before = len(chunks_of(bench, lease.domain_id))
    for number in range(2, 6):
        result = bench.frontier.commit(engine_id, batch(number, links=[link(u, 1) for u in urls]))
        assert not result.added
    assert bench.frontier.lease(engine_id, 1) == []
    assert bench.frontier.finished()
    assert len(chunks_of(bench, lease.domain_id)) == before
    check_tokens(bench.frontier.db)


def chunks_of(bench: Bench, ident: int) -> list[bytes]:
    rows = bench.frontier.db.execute("SELECT data FROM log").fetchall()
    owned = int.to_bytes(ident, 8, "little", signed=True)
    return [bytes(data) for (data,) in rows if bytes(data[8:16]) == owned]


@pytest.mark.parametrize("finder", ["its page", "a page of another domain", "another engine"])
def test_a_link_to_a_domain_that_is_given_back_empty_keeps_it_awake(
    bench: Bench, finder: str
) -> None:
    """The commit that finds a domain empty brings it a link, or one comes just before."""
    seed(bench, "https://a.test/")
    one, two = bench.frontier.register("host", 1), bench.frontier.register("host", 2)
    (lease,) = bench.frontier.lease(one, 1)
    links = [link("https://a.test/new", 1)]
    if finder == "another engine":
        bench.frontier.commit(two, batch(1, links=links))
        links = []
    elif finder == "a page of another domain":
        bench.frontier.add([link("https://b.test/")])
        (other,) = bench.frontier.lease(one, 1)
        done = [page_of(lease.urls[0]), page_of(other.urls[0])]
        bench.frontier.commit(
            one, batch(1, pages=done, links=links, released=[release(lease, 0), release(other, 0)])
        )
    if finder != "a page of another domain":
        back = [release(lease, 0)]
        bench.frontier.commit(
            one, batch(1, pages=[page_of(lease.urls[0])], links=links, released=back)
        )
    (again,) = bench.frontier.lease(two, 2)
    assert [url.url for url in again.urls] == ["https://a.test/new"]
    check_tokens(bench.frontier.db)


def test_pages_that_were_never_queued_do_not_hide_what_is(bench: Bench) -> None:
    """What is left is a set and not a difference of counts: two pages are done, two URLs were
    queued, and one of them is still to be fetched."""
    seed(bench, "https://a.test/a", "https://a.test/c")
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    a = min(lease.urls, key=lambda url: url.url)
    done = [page_of(a, "redirect", status=301), made_page("https://a.test/b")]
    bench.frontier.commit(engine_id, batch(1, pages=done, released=[release(lease, 0)]))
    (again,) = bench.frontier.lease(engine_id, 1)
    assert [url.url for url in again.urls] == ["https://a.test/c"]
    assert bench.frontier.backlog()[0] == 1


@pytest.mark.parametrize("back", [0, 1, 3600])
def test_a_dropped_url_that_is_found_again_is_queued_whatever_the_clock_does(
    bench: Bench, back: int
) -> None:
    """The clock stands still, or is set back by so many seconds."""
    seed(bench, "https://a.test/")
    one, two = bench.frontier.register("host", 1), bench.frontier.register("host", 2)
    (lease,) = bench.frontier.lease(one, 1)
    gone = [(lease.domain_id, lease.urls[0], "excluded")]
    bench.frontier.commit(one, batch(1, dropped=gone, released=[release(lease, 0)]))
    bench.clock.pass_seconds(-back)
    result = bench.frontier.commit(two, batch(1, links=[link("https://a.test/", 1)]))
    assert result.added == {lease.domain_id: 1}
    assert queued_in(bench.frontier) == {lease.domain_id: 1}


# -- whose a chunk is ------------------------------------------------------------------------------


def named(ident: int, url: str, name: str) -> Link:
    """A link to a domain with an id that its name does not have."""
    made = link(url, 1)
    return (ident, *made[1:4], name, made[5])


@pytest.mark.parametrize("bench", ["sqlite", "postgres"], indirect=True)
def test_domains_whose_ids_begin_alike_do_not_get_each_others_urls(bench: Bench) -> None:
    """On SQLite a key holds half of an id: of a million domains a hundred share it with another."""
    chance = Random(5)
    first = domain_id("a.test")
    ids = [first, first ^ 1, first ^ 0x40000000, first ^ 0x12345]
    one = bench.frontier.register("host", 1)
    wanted: dict[int, set[str]] = {ident: set() for ident in ids}
    for number in range(1, 9):
        links = []
        for _ in range(20):
            ident = chance.choice(ids)
            url = f"https://d{ids.index(ident)}.test/{chance.randrange(10**6)}"
            wanted[ident].add(url)
            links.append(named(ident, url, f"d{ids.index(ident)}.test"))
        bench.frontier.commit(one, batch(number, links=links))
    assert queued_in(bench.frontier) == {ident: len(urls) for ident, urls in wanted.items()}
    found: dict[int, set[str]] = {ident: set() for ident in ids}
    number = 9
    while leases := bench.frontier.lease(one, 4):
        for lease in leases:
            found[lease.domain_id] |= {url.url for url in lease.urls}
        pages = [page_of(url) for lease in leases for url in lease.urls]
        for page, lease in ((p, le) for le in leases for p in pages):
            if page.url in {url.url for url in lease.urls}:
                page.domain_id = lease.domain_id
        back = [release(lease, 0) for lease in leases]
        bench.frontier.commit(one, batch(number, pages=pages, released=back))
        number += 1
    assert found == wanted
    assert bench.frontier.finished() and bench.frontier.backlog()[0] == 0
    assert all(not log.damaged for log in logs_of(bench.frontier).values())


def test_logs_that_are_read_in_parts_are_planned_as_one_batch(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More domains than are in memory at once: each page links to its own site and to the next."""
    monkeypatch.setattr(sqlite_logs, "PART", 4)
    monkeypatch.setattr(postgres_logs, "DOMAINS", 4)
    sites = [f"https://d{n}.test" for n in range(30)]
    seed(bench, *(f"{site}/" for site in sites))
    engine_id = bench.frontier.register("host", 1)
    leases = bench.frontier.lease(engine_id, 30)
    assert sorted(url.url for lease in leases for url in lease.urls) == sorted(
        f"{site}/" for site in sites
    )
    pages = [page_of(url) for lease in leases for url in lease.urls]
    links = [link(f"{site}/{n}", depth=1) for site in sites for n in range(3)]
    links += [link(f"{site}/", depth=1) for site in sites]  # known, and done by this batch
    result = bench.frontier.commit(engine_id, batch(1, pages=pages, links=links))
    assert result.added == {domain_id(site[8:]): 3 for site in sites}
    runs = bench.frontier.refill([lease.domain_id for lease in leases])
    assert {ident: [url.url[-1] for url in run] for ident, run in runs.items()} == {
        lease.domain_id: ["0", "1", "2"] for lease in leases
    }
    back = [release(lease, 0) for lease in leases]
    bench.frontier.commit(engine_id, batch(2, released=back))
    assert bench.frontier.totals()[0] == 30
    assert bench.frontier.backlog() == (90, 30)
    check_tokens(bench.frontier.db)


# -- damage ---------------------------------------------------------------------------------------

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a bit": lambda data: data[:-9] + bytes((data[-9] ^ 4,)) + data[-8:],
    "a bit of its length": lambda data: data[:5] + bytes((data[5] ^ 128,)) + data[6:],
    "the end": lambda data: data[:40],
    "nothing left": lambda data: b"",
    "noise": lambda data: Random(3).randbytes(len(data)),
    "zeros": lambda data: bytes(len(data)),
    "a later format": lambda data: b"\xfe" + data[1:],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_chunk_costs_its_urls_and_is_named(bench: Bench, damage: str) -> None:
    store = bench.frontier
    seed(bench, *(f"https://{name}.test/" for name in "abc"))
    store.add([link("https://a.test/2")])
    (first, *_) = chunks_of(bench, domain_id("a.test"))
    sign = "?" if isinstance(store, SqliteFrontier) else "%s"
    statement: Any = f"UPDATE log SET data = {sign} WHERE data = {sign}"
    store.db.execute(statement, (DAMAGE[damage](first), first))
    one, two = store.register("host", 1), store.register("host", 2)
    leases = store.lease(one, 10)
    assert {lease.name: len(lease.urls) for lease in leases} == {f"{n}.test": 1 for n in "abc"}
    store.commit(two, batch(1, links=[link("https://a.test/3", 1)]))  # others still bring it links
    pages = [page_of(url) for lease in leases for url in lease.urls]
    back = [release(lease, bench.clock.ms) for lease in leases]
    store.commit(one, batch(1, pages=pages, released=back))
    named_ids = store.db.execute("SELECT domain_id FROM damaged").fetchall()
    assert named_ids == [(domain_id("a.test"),)]
    assert not any(log.damaged for log in logs_of(store).values())
    (last,) = store.lease(one, 10)
    assert [url.url for url in last.urls] == ["https://a.test/3"]
    store.commit(one, batch(2, pages=[page_of(last.urls[0])], released=[release(last, 0)]))
    assert store.finished()
