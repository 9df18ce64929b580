"""What every store does, written once. `bench` gives a fresh store of each kind."""

from __future__ import annotations

import pytest
from conftest import Bench
from helpers import batch, names, release

from lycosa.errors import Fenced
from lycosa.frontier.protocol import Deferral, Purge
from lycosa.frontier.reader import Reader
from lycosa.records import Flag, Origin, QueuedUrl
from lycosa.urls.domains import domain_id
from lycosa.urls.fingerprint import fingerprint
from support.logs import queued_in
from support.made import block, link, made_page, page_of


def seed(bench: Bench, *urls: str) -> None:
    bench.frontier.add([link(url, flags=Flag.SEED) for url in urls], rank=0)


def engine(bench: Bench) -> int:
    return bench.frontier.register("host", 1)


def fall_asleep(bench: Bench, name: str) -> None:
    """A domain that is ready becomes idle, whatever it has queued."""
    ident = domain_id(name)
    bench.frontier.db.execute(f"DELETE FROM ready WHERE id = {ident}")
    bench.frontier.db.execute(f"UPDATE domains SET idle = TRUE WHERE id = {ident}")


# -- leases ---------------------------------------------------------------------------------------


def test_a_lease_brings_the_domain_with_its_urls_in_order(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://a.test/2")
    bench.frontier.add([link("https://a.test/deep", depth=3), link("https://a.test/near", depth=1)])
    (lease,) = bench.frontier.lease(engine(bench), 10)
    urls = [url.url for url in lease.urls]
    assert lease.name == "a.test"
    assert set(urls[:2]) == {"https://a.test/", "https://a.test/2"}
    assert urls[2:] == ["https://a.test/near", "https://a.test/deep"]


def test_a_domain_is_leased_to_one_engine_only(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://b.test/")
    one, two = engine(bench), engine(bench)
    assert len(bench.frontier.lease(one, 1)) == 1
    assert len(bench.another().lease(two, 10)) == 1
    assert bench.frontier.lease(one, 10) == []


def test_seeds_come_in_their_order_and_before_domains_found_by_links(bench: Bench) -> None:
    bench.frontier.add([link("https://found.test/")])
    bench.clock.pass_seconds(1)
    bench.frontier.add([link(f"https://s{i}.test/", flags=2) for i in range(5)], rank=0)
    leases = bench.frontier.lease(engine(bench), 10)
    assert names(leases) == ["s0.test", "s1.test", "s2.test", "s3.test", "s4.test", "found.test"]


def test_the_status_names_the_domains_that_wait_longest(bench: Bench, reader: Reader) -> None:
    hosts = [f"w{n}.test" for n in range(8)]
    seed(bench, *(f"https://{host}/{n}" for host in hosts for n in range(2)))
    engine_id, now = engine(bench), reader.status()["now_ms"]
    leases = bench.frontier.lease(engine_id, 10)
    waits = {lease.name: 1000 * (n + 1) for n, lease in enumerate(leases)}  # seconds
    bench.frontier.commit(
        engine_id,
        batch(
            1,
            delays=[(leases[7].domain_id, 86_400_000)],
            released=[release(each, now + waits[each.name] * 1000) for each in leases],
        ),
    )
    told = reader.status()["waits"]
    longest = sorted(waits, key=lambda name: -waits[name])[:5]
    assert [each["domain"] for each in told] == longest
    assert all(abs(each["seconds"] - waits[each["domain"]]) < 60 for each in told)
    assert [each["delay"] for each in told] == [86_400.0, 0, 0, 0, 0]


def test_a_released_domain_is_not_leased_before_its_time(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://a.test/2")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    polite = bench.clock.ms + 70_000
    done = page_of(lease.urls[0])
    bench.frontier.commit(engine_id, batch(1, pages=[done], released=[release(lease, polite)]))
    bench.clock.pass_seconds(69.999)
    assert bench.frontier.lease(engine_id, 1) == []
    bench.clock.pass_seconds(0.001)
    (again,) = bench.frontier.lease(engine_id, 1)
    assert [url.url for url in again.urls] == [lease.urls[1].url]


def test_the_longest_waiting_domain_comes_first(bench: Bench) -> None:
    seed(bench, *(f"https://d{i}.test/{n}" for i in range(4) for n in range(2)))
    engine_id = engine(bench)
    leases = bench.frontier.lease(engine_id, 4)
    polite = [bench.clock.ms + wait for wait in (4000, 1000, 3000, 2000)]
    back = [release(lease, ms) for lease, ms in zip(leases, polite, strict=True)]
    bench.frontier.commit(engine_id, batch(1, released=back))
    bench.clock.pass_seconds(10)
    expected = [leases[i].name for i in (1, 3, 2, 0)]
    assert names(bench.frontier.lease(engine_id, 4)) == expected


def test_a_domain_with_an_empty_queue_is_idle_until_a_url_comes(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    polite = bench.clock.ms + 70_000
    done = page_of(lease.urls[0])
    bench.frontier.commit(engine_id, batch(1, pages=[done], released=[release(lease, polite)]))
    bench.clock.pass_seconds(100)
    assert bench.frontier.lease(engine_id, 1) == []
    assert bench.frontier.finished()
    bench.frontier.commit(engine_id, batch(2, links=[link("https://a.test/new", 1)]))
    assert not bench.frontier.finished()
    (again,) = bench.frontier.lease(engine_id, 1)
    assert again.urls[0].url == "https://a.test/new"


def test_an_idle_domain_that_wakes_keeps_its_delay(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    polite = bench.clock.ms + 70_000
    done = page_of(lease.urls[0])
    bench.frontier.commit(engine_id, batch(1, pages=[done], released=[release(lease, polite)]))
    bench.frontier.commit(engine_id, batch(2, links=[link("https://a.test/new", 1)]))
    assert bench.frontier.lease(engine_id, 1) == []
    bench.clock.pass_seconds(70)
    assert len(bench.frontier.lease(engine_id, 1)) == 1


def test_urls_handed_out_are_bounded_by_number_and_bytes(bench: Bench) -> None:
    seed(bench, *(f"https://a.test/{n}" for n in range(50)))
    seed(bench, *(f"https://b.test/{n}{'x' * 1500}" for n in range(50)))
    leases = {lease.name: lease for lease in bench.frontier.lease(engine(bench), 2)}
    assert len(leases["a.test"].urls) == bench.rules.run_urls
    assert len(leases["b.test"].urls) == 2


def test_rules_of_robots_are_handed_out_within_a_budget(bench: Bench) -> None:
    seed(bench, *(f"https://d{i}.test/" for i in range(4)))
    store = bench.another(robots_bytes=2500)
    engine_id = engine(bench)
    leases = store.lease(engine_id, 4)
    known = [
        (each.domain_id, Origin(f"https://{each.name}", 1, 200, b"r" * 1000)) for each in leases
    ]
    back = [release(each, 0) for each in leases]
    store.commit(engine_id, batch(1, origins=known, released=back))
    again = store.lease(engine_id, 4)
    assert len(again) == 2
    assert again[0].origins[0].rules == b"r" * 1000
    assert len(store.lease(engine_id, 4)) == 2


def test_refill_gives_what_is_left(bench: Bench) -> None:
    seed(bench, *(f"https://a.test/{n}" for n in range(20)))
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    first = [page_of(url) for url in lease.urls]
    bench.frontier.commit(engine_id, batch(1, pages=first))
    more = bench.frontier.refill([lease.domain_id])[lease.domain_id]
    assert len(more) == 8
    assert not {url.fp for url in more} & {url.fp for url in lease.urls}


# -- commit ---------------------------------------------------------------------------------------


def test_a_batch_is_applied_once(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://a.test/2")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = page_of(lease.urls[0])
    for _ in range(2):
        result = bench.frontier.commit(
            engine_id, batch(1, pages=[done], links=[link("https://b.test/")])
        )
        assert result.total_pages == 1
    assert bench.frontier.backlog() == (2, 2)


def test_a_page_is_recorded_only_if_its_url_was_queued(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://a.test/2")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = page_of(lease.urls[0])
    bench.frontier.commit(engine_id, batch(1, pages=[done]))
    result = bench.frontier.commit(engine_id, batch(2, pages=[done]))
    assert result.total_pages == 1


def test_a_seen_url_is_never_queued_again(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    bench.frontier.commit(engine_id, batch(1, pages=[page_of(lease.urls[0])]))
    bench.frontier.commit(engine_id, batch(2, links=[link("https://a.test/", 1)]))
    assert bench.frontier.refill([lease.domain_id])[lease.domain_id] == []


def test_a_redirect_target_leaves_the_queue_in_the_same_commit(bench: Bench) -> None:
    seed(bench, "https://a.test/a", "https://a.test/b")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    a, b = (url for url in sorted(lease.urls, key=lambda url: url.url))
    moved = page_of(a, "redirect", status=301)
    target = made_page("https://a.test/b")
    assert bench.frontier.settled([(lease.domain_id, b.fp)]) == set()
    bench.frontier.commit(engine_id, batch(1, pages=[moved, target]))
    assert bench.frontier.refill([lease.domain_id])[lease.domain_id] == []
    assert bench.frontier.settled([(lease.domain_id, b.fp)]) == {(lease.domain_id, b.fp)}
    again = bench.frontier.commit(engine_id, batch(2, pages=[target]))
    assert again.total_pages == 2


def test_a_redirect_target_never_seen_is_recorded_and_seen(bench: Bench) -> None:
    seed(bench, "https://a.test/a")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    ident = lease.domain_id
    target = made_page("https://a.test/b")
    moved = page_of(lease.urls[0], "redirect", status=301)
    assert bench.frontier.commit(engine_id, batch(1, pages=[moved, target])).total_pages == 2
    bench.frontier.commit(engine_id, batch(2, links=[link("https://a.test/b", 1)]))
    assert bench.frontier.refill([ident])[ident] == []


def test_a_sitemap_that_a_page_links_to_is_a_sitemap(bench: Bench) -> None:
    """Of what robots.txt says and what the page of the same visit links to, the first counts, also
    where the page's links come as a block."""
    seed(bench, "https://a.test/1")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    maps = [link(f"https://a.test/{name}.xml", 0, Flag.SITEMAP) for name in ("map", "other")]
    links = [link(f"https://a.test/{name}", 1) for name in ("2", "map.xml", "3")]
    made = batch(1, links=[link("https://b.test/"), *maps])
    made.blocks = [block(links)]
    result = bench.frontier.commit(engine_id, made)
    assert result.added[lease.domain_id] == 4
    queue = bench.frontier.refill([lease.domain_id])[lease.domain_id]
    assert {url.url: (url.depth, url.flags) for url in queue} == {
        "https://a.test/1": (0, lease.urls[0].flags),
        "https://a.test/map.xml": (0, Flag.SITEMAP),
        "https://a.test/other.xml": (0, Flag.SITEMAP),
        "https://a.test/2": (1, 0),
        "https://a.test/3": (1, 0),
    }


def test_a_waiting_url_does_not_block_the_others(bench: Bench) -> None:
    seed(bench, "https://a.test/1", "https://a.test/2")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    first, second = lease.urls
    wait = Deferral(lease.domain_id, first, bench.clock.ms + 280_000, 1)
    bench.frontier.commit(engine_id, batch(1, deferred=[wait]))
    assert [u.fp for u in bench.frontier.refill([lease.domain_id])[lease.domain_id]] == [second.fp]
    bench.clock.pass_seconds(280)
    due = bench.frontier.refill([lease.domain_id])[lease.domain_id]
    assert [url.fp for url in due] == [first.fp, second.fp]
    assert due[0].attempts == 1


def test_a_domain_with_waiting_urls_only_is_ready_when_the_first_is_due(bench: Bench) -> None:
    seed(bench, "https://a.test/1")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    wait = Deferral(lease.domain_id, lease.urls[0], bench.clock.ms + 280_000, 1)
    polite = bench.clock.ms + 70_000
    bench.frontier.commit(engine_id, batch(1, deferred=[wait], released=[release(lease, polite)]))
    bench.clock.pass_seconds(279)
    assert bench.frontier.lease(engine_id, 1) == []
    assert not bench.frontier.finished()
    bench.clock.pass_seconds(1)
    assert len(bench.frontier.lease(engine_id, 1)) == 1


def test_a_new_url_wakes_a_domain_that_waits_for_a_retry(bench: Bench) -> None:
    seed(bench, "https://a.test/1")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    wait = Deferral(lease.domain_id, lease.urls[0], bench.clock.ms + 9_000_000, 1)
    polite = bench.clock.ms + 70_000
    bench.frontier.commit(engine_id, batch(1, deferred=[wait], released=[release(lease, polite)]))
    bench.frontier.commit(engine_id, batch(2, links=[link("https://a.test/2", 1)]))
    assert bench.frontier.lease(engine_id, 1) == []
    bench.clock.pass_seconds(70)
    (again,) = bench.frontier.lease(engine_id, 1)
    assert [url.url for url in again.urls] == ["https://a.test/2"]


def test_purging_an_origin_fails_its_urls_and_no_others(bench: Bench) -> None:
    urls = [f"https://www.a.test/{n}" for n in range(30)]
    seed(bench, *urls, "https://a.test/x", "https://www.a.test:8443/y")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    purge = Purge(lease.domain_id, "https://www.a.test", "connect")
    result = bench.frontier.commit(engine_id, batch(1, purges=[purge]))
    assert result.purged == {"connect": 30}
    assert result.total_pages == 0  # a page is a response
    left = bench.frontier.refill([lease.domain_id])[lease.domain_id]
    assert {url.url for url in left} == {"https://a.test/x", "https://www.a.test:8443/y"}
    assert bench.frontier.backlog()[0] == 2


def test_what_a_cap_drops_is_counted_and_not_remembered(bench: Bench) -> None:
    seed(bench, *(f"https://a.test/{n}" for n in range(12)))
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    purge = Purge(lease.domain_id, "", "page-cap", forget=True)
    result = bench.frontier.commit(
        engine_id, batch(1, purges=[purge], released=[release(lease, 0)])
    )
    assert result.drops == {"page-cap": 12}
    assert bench.frontier.finished()
    assert bench.frontier.add([link("https://a.test/3")]) == 1


def test_a_dropped_url_is_counted_and_not_remembered(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    dropped = [(lease.domain_id, lease.urls[0], "excluded")]
    result = bench.frontier.commit(
        engine_id, batch(1, dropped=dropped, released=[release(lease, 0)])
    )
    assert result.drops == {"excluded": 1}
    assert bench.frontier.finished()
    assert bench.frontier.backlog()[0] == 0


def test_caps_hold_for_links_from_other_domains(bench: Bench) -> None:
    store = bench.another(max_queued_per_domain=3)
    seed(bench, *(f"https://a.test/{n}" for n in range(5)))
    engine_id = engine(bench)
    (lease,) = store.lease(engine_id, 1)
    store.commit(engine_id, batch(1, released=[release(lease, bench.clock.ms)]))
    result = store.commit(engine_id, batch(2, links=[link("https://a.test/more", 1)]))
    assert result.drops == {"queue-cap": 1}


@pytest.mark.parametrize("held", [True, False])
def test_a_cap_hears_of_many_links_before_the_next_visit(bench: Bench, held: bool) -> None:
    """Hundreds of pages of other sites link to one (share links): the cap of its queue is not late
    by all that they bring until its next visit."""
    store = bench.another(max_queued_per_domain=100)
    seed(bench, "https://a.test/")
    holder, other = engine(bench), engine(bench)
    (lease,) = store.lease(holder, 1)
    if not held:
        store.commit(holder, batch(1, released=[release(lease, bench.clock.ms)]))
    taken, refused = 0, 0
    for number in range(1, 21):
        links = [link(f"https://a.test/{number}/{n}", 1) for n in range(30)]
        result = store.commit(other, batch(number, links=links))
        taken += sum(result.added.values())
        refused += result.drops.get("queue-cap", 0)
    assert taken + refused == 600
    assert 100 <= taken <= 130
    if not held:
        (lease,) = store.lease(holder, 1)
    back = release(lease, bench.clock.ms)
    store.commit(holder, batch(2, released=[back]))
    assert store.backlog()[0] == taken + 1
    assert queued_in(store) == {lease.domain_id: taken + 1}


def test_seeded_only_refuses_other_domains(bench: Bench) -> None:
    store = bench.another(seeded_only=True)
    store.add([link("https://a.test/", flags=Flag.SEED)], rank=0)
    engine_id = engine(bench)
    links = [link("https://a.test/in", 1), link("https://b.test/out", 1)]
    result = store.commit(engine_id, batch(1, links=links))
    assert result.drops == {"not-seeded": 1}
    assert store.backlog() == (2, 1)


def test_what_is_known_of_an_origin_comes_back_with_the_lease(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://a.test/2")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    origin = Origin("https://a.test", 5, 200, b"rules", 2, 7, "why", "tls: expired")
    done = page_of(lease.urls[0])
    parts = {
        "pages": [done],
        "origins": [(lease.domain_id, origin)],
        "delays": [(lease.domain_id, 99_000)],
    }
    bench.frontier.commit(engine_id, batch(1, **parts, released=[release(lease, bench.clock.ms)]))
    (again,) = bench.frontier.lease(engine_id, 1)
    assert again.origins == [origin]
    assert again.delay_ms == 99_000


# -- death ----------------------------------------------------------------------------------------


def test_an_engine_that_renews_keeps_its_lease(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = engine(bench)
    bench.frontier.lease(engine_id, 1)
    for number in range(1, 10):
        assert bench.watch_for(170) == 0
        bench.frontier.commit(engine_id, batch(number))


def test_takeover_waits_one_delay_from_the_end_of_the_lease(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    dead, heir = engine(bench), engine(bench)
    bench.frontier.lease(dead, 1)
    assert bench.watch_for(100) == 0
    bench.frontier.commit(heir, batch(1))
    assert bench.watch_for(81) == 1
    assert bench.frontier.lease(heir, 1) == []
    bench.clock.pass_seconds(68.9)  # 180 + 69.9 since the dead one renewed
    assert bench.frontier.lease(heir, 1) == []
    bench.clock.pass_seconds(0.1)
    assert len(bench.frontier.lease(heir, 1)) == 1


def test_who_was_cut_off_itself_declares_nobody_dead_for_one_lease_time(bench: Bench) -> None:
    """After an outage everybody's lease has run out, and everybody may still be there."""
    seed(bench, "https://a.test/")
    engine_id = engine(bench)
    bench.frontier.lease(engine_id, 1)
    bench.clock.pass_seconds(1000)
    assert bench.frontier.rescue() == 0
    assert bench.watch_for(179) == 0
    assert bench.watch_for(1) == 1


def test_rescue_by_a_newcomer_waits_one_lease_time(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    bench.frontier.lease(engine(bench), 1)
    bench.clock.pass_seconds(1000)
    newcomer = bench.another()
    assert newcomer.rescue() == 0
    for _ in range(18):
        bench.clock.pass_seconds(10)
        rescued = newcomer.rescue()
    assert rescued == 1


def test_takeover_of_a_known_dead_engine_waits_one_delay_from_now(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://slow.test/")
    dead, heir = engine(bench), engine(bench)
    bench.frontier.lease(dead, 2)
    bench.clock.pass_seconds(10)
    assert bench.frontier.rescue([dead], {"slow.test": 90_000}) == 2
    bench.clock.pass_seconds(70)
    assert names(bench.frontier.lease(heir, 5)) == ["a.test"]
    bench.clock.pass_seconds(20)
    assert names(bench.frontier.lease(heir, 5)) == ["slow.test"]


def test_learnt_delays_hold_whichever_engine_learnt_them(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://b.test/")
    one, two, heir = engine(bench), engine(bench), engine(bench)
    bench.frontier.lease(one, 1)
    bench.frontier.lease(two, 1)
    delays = {"a.test": 500_000, "b.test": 500_000}
    assert bench.frontier.rescue([one, two], delays) == 2
    bench.clock.pass_seconds(499)
    assert bench.frontier.lease(heir, 5) == []
    bench.clock.pass_seconds(1)
    assert len(bench.frontier.lease(heir, 5)) == 2


def test_delays_of_an_engine_that_was_taken_over_before_hold_too(bench: Bench) -> None:
    """Its lease ran out first; what it had learnt was found when its process had ended."""
    seed(bench, "https://a.test/")
    dead, heir = engine(bench), engine(bench)
    bench.frontier.lease(dead, 1)
    assert bench.frontier.rescue([dead]) == 1
    assert bench.frontier.rescue([], {"a.test": 500_000}) == 0
    bench.clock.pass_seconds(499)
    assert bench.frontier.lease(heir, 1) == []
    bench.clock.pass_seconds(1)
    assert len(bench.frontier.lease(heir, 1)) == 1


def test_only_who_watched_for_one_lease_time_sees_leases_that_ran_out(bench: Bench) -> None:
    gone = engine(bench)
    bench.clock.pass_seconds(1000)
    assert bench.frontier.expired() == []
    for _ in range(18):
        bench.clock.pass_seconds(10)
        seen = bench.frontier.expired()
    assert seen == [gone]
    bench.frontier.rescue([gone])
    assert bench.frontier.expired() == []
    assert bench.frontier.everyone() == [gone]


def test_a_suspected_page_must_be_queued(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    (lease,) = bench.frontier.lease(engine(bench), 1)
    url = lease.urls[0]
    assert bench.frontier.note_crash(lease.domain_id, url.order, url.fp)
    assert not bench.frontier.note_crash(lease.domain_id, url.order, url.fp + 1)


def test_links_of_the_page_that_fills_a_cap_go_with_the_others(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://a.test/2")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    parts = {
        "pages": [page_of(lease.urls[0])],
        "links": [link(f"https://a.test/new{n}", 1) for n in range(3)],
        "purges": [Purge(lease.domain_id, "", "page-cap", forget=True)],
    }
    result = bench.frontier.commit(engine_id, batch(1, **parts))
    assert result.drops == {"page-cap": 4}
    assert bench.frontier.backlog()[0] == 0


def test_domains_with_something_left_are_counted_to_a_limit(bench: Bench) -> None:
    seed(bench, *(f"https://d{n}.test/" for n in range(5)))
    fall_asleep(bench, "d0.test")
    assert bench.frontier.active_domains(100) == 4
    assert bench.frontier.active_domains(3) == 3


def test_pages_are_counted_anew_after_a_death(bench: Bench) -> None:
    store = bench.another(max_pages_per_domain=100)
    seed(bench, *(f"https://a.test/{n}" for n in range(9)))
    dead, heir = engine(bench), engine(bench)
    (lease,) = store.lease(dead, 1)
    store.commit(dead, batch(1, pages=[page_of(url) for url in lease.urls]))
    store.rescue([dead])
    bench.clock.pass_seconds(70)
    (again,) = store.lease(heir, 1)
    assert again.pages == 8


def test_a_dead_engine_can_write_nothing(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    dead = engine(bench)
    (lease,) = bench.frontier.lease(dead, 1)
    assert bench.watch_for(200) == 1
    with pytest.raises(Fenced):
        bench.frontier.commit(dead, batch(1, pages=[page_of(lease.urls[0])]))
    bench.clock.pass_seconds(70)
    with pytest.raises(Fenced):
        bench.frontier.lease(dead, 1)
    assert bench.frontier.totals()[0] == 0


def test_an_engine_that_was_late_but_not_rescued_keeps_its_work(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    bench.clock.pass_seconds(10_000)
    done = page_of(lease.urls[0])
    assert bench.frontier.commit(engine_id, batch(1, pages=[done])).total_pages == 1


def test_a_suspect_page_carries_its_kills(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    url = lease.urls[0]
    for _ in range(2):
        bench.frontier.note_crash(lease.domain_id, url.order, url.fp)
    (again,) = bench.frontier.refill([lease.domain_id])[lease.domain_id]
    assert again.flags // Flag.KILL == 2


# -- the end --------------------------------------------------------------------------------------


def test_a_crawl_has_not_ended_while_a_domain_is_held(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = engine(bench)
    assert not bench.frontier.finished()
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = page_of(lease.urls[0])
    bench.frontier.commit(engine_id, batch(1, pages=[done]))
    assert not bench.frontier.finished()
    bench.frontier.commit(engine_id, batch(2, released=[release(lease, bench.clock.ms)]))
    assert bench.frontier.finished()


def test_text_that_a_database_may_refuse_is_kept_without_it(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = engine(bench)
    (lease,) = bench.frontier.lease(engine_id, 1)
    done = page_of(lease.urls[0])
    done.title, done.redirect = "a\0b", "https://b.test/"
    assert bench.frontier.commit(engine_id, batch(1, pages=[done])).total_pages == 1


def test_the_same_link_twice_in_a_batch_is_queued_once(bench: Bench) -> None:
    engine_id = engine(bench)
    links = [link("https://a.test/x", depth) for depth in (3, 1, 2)]
    bench.frontier.commit(engine_id, batch(1, links=links))
    assert bench.frontier.backlog() == (1, 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    assert len(lease.urls) == 1


def test_engines_of_other_nodes_are_told_apart(bench: Bench) -> None:
    bench.frontier.register("here", 1, "node-a", "/data")
    assert len(bench.frontier.living("node-a")) == 1
    assert len(bench.frontier.everyone("node-a")) == 1
    bench.frontier.rescue(bench.frontier.living("node-a"))
    assert bench.frontier.living("node-a") == []
    assert len(bench.frontier.everyone("node-a")) == 1


def test_a_lost_wake_up_heals(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    fall_asleep(bench, "a.test")
    assert not bench.frontier.finished()
    assert len(bench.frontier.lease(engine(bench), 1)) == 1


def test_an_engine_that_retires_is_not_rescued(bench: Bench) -> None:
    engine_id = engine(bench)
    bench.frontier.retire(engine_id)
    bench.clock.pass_seconds(1000)
    assert bench.frontier.living() == []


def test_ids_of_domains_and_urls_survive_the_store(bench: Bench) -> None:
    """63-bit and signed 64-bit numbers come back as they went in."""
    urls = [f"https://d{n}.test/{n}" for n in range(200)]
    seed(bench, *urls)
    for lease in bench.frontier.lease(engine(bench), 500):
        assert lease.domain_id == domain_id(lease.name)
        assert [url.fp for url in lease.urls] == [fingerprint(url.url) for url in lease.urls]
        assert isinstance(lease.urls[0], QueuedUrl)
