"""Errands in every store: queued at their domain, answered to who asked, one at an address."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from conftest import Bench
from helpers import batch, names, release

from lycosa.engine import errands
from lycosa.errors import Fenced
from lycosa.frontier.answers import key
from lycosa.frontier.protocol import Link, Purge
from lycosa.frontier.reader import Reader
from lycosa.records import NO_URL, Lease, Origin, SharedRobots, Url
from support.made import link

VICTIM = "https://victim.test/r/1"
HOUR = 3600


def answer(url: str, at_ms: int, status: int = 200, rules: bytes = b"x") -> SharedRobots:
    return SharedRobots(*key(url), Url(url), at_ms, status, NO_URL, rules)


def errand(url: str, depth: int = 0) -> Link:
    return errands.link(Url(url), depth)


def waiting(origin: str, aim: str, at_ms: int) -> Origin:
    return Origin(origin, aim=Url(aim), hops=1, asked_ms=at_ms, retry_ms=at_ms)


def asking(bench: Bench, aim: str = VICTIM, name: str = "a.test") -> tuple[int, Lease]:
    """An engine that holds a domain whose robots.txt is elsewhere, and has said so."""
    bench.frontier.add([link(f"https://{name}/")])
    engine_id = bench.frontier.register("h", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    record = waiting(f"https://{name}", aim, bench.clock.ms)
    bench.frontier.commit(
        engine_id,
        batch(1, origins=[(lease.domain_id, record)], errands=[errand(aim)]),
    )
    return engine_id, lease


def test_an_errand_is_queued_at_its_own_domain_and_leased_with_it(bench: Bench) -> None:
    asking(bench)
    other = bench.frontier.register("h", 2)
    (lease,) = bench.frontier.lease(other, 9)
    assert lease.name == "victim.test"
    (url,) = lease.urls
    assert (url.url, errands.is_errand(url)) == (VICTIM, True)
    assert bench.frontier.lease(bench.frontier.register("h", 3), 9) == []


def test_an_errand_waits_while_its_domain_is_held_or_left_alone(bench: Bench) -> None:
    bench.frontier.add([link("https://victim.test/page")])
    visitor = bench.frontier.register("h", 1)
    (held,) = bench.frontier.lease(visitor, 1)
    asking(bench)
    other = bench.frontier.register("h", 2)
    assert bench.frontier.lease(other, 9) == []
    until = bench.clock.ms + 70_000
    done = [(held.domain_id, url, "") for url in held.urls]
    bench.frontier.commit(visitor, batch(1, dropped=done, released=[release(held, until)]))
    assert bench.frontier.lease(other, 9) == []
    bench.clock.pass_seconds(70)
    (lease,) = bench.frontier.lease(other, 9)
    assert [url.url for url in lease.urls] == [VICTIM]


def test_the_delay_after_an_errand_holds_for_pages(bench: Bench) -> None:
    """Whoever dies with it, known to be dead or not."""
    asking(bench)
    maker = bench.frontier.register("h", 2)
    bench.frontier.lease(maker, 1)
    bench.clock.pass_seconds(5)
    bench.frontier.rescue([maker])
    bench.frontier.add([link("https://victim.test/page")])
    other = bench.frontier.register("h", 3)
    bench.clock.pass_seconds(69.9)
    assert bench.frontier.lease(other, 9) == []
    bench.clock.pass_seconds(0.2)
    assert names(bench.frontier.lease(other, 9)) == ["victim.test"]


def made(bench: Bench, found: SharedRobots) -> None:
    """An engine leases the victim, makes the errand and gives the victim back."""
    engine_id = bench.frontier.register("h", 4)
    (lease,) = bench.frontier.lease(engine_id, 1)
    assert lease.name == "victim.test"
    done = [(lease.domain_id, url, "") for url in lease.urls]
    polite = bench.clock.ms + 70_000
    bench.frontier.commit(
        engine_id, batch(1, answers=[found], dropped=done, released=[release(lease, polite)])
    )


def look(bench: Bench, engine_id: int, lease: Lease, number: int) -> Lease:
    """Who asked gives its domain back, and leases it again."""
    ready = bench.clock.ms
    bench.frontier.commit(engine_id, batch(number, released=[release(lease, ready)]))
    other = bench.another().register("h", 5)
    leases = {each.name: each for each in bench.frontier.lease(other, 9)}
    return leases[lease.name]


def test_the_answer_comes_with_the_next_lease(bench: Bench) -> None:
    engine_id, lease = asking(bench)
    found = answer(VICTIM, bench.clock.ms, rules=b"rules")
    made(bench, found)
    again = look(bench, engine_id, lease, 2)
    assert again.answers == [found]
    assert again.origins == [waiting("https://a.test", VICTIM, bench.clock.ms)]
    assert lease.answers == []


def test_without_an_answer_the_lease_brings_none(bench: Bench) -> None:
    engine_id, lease = asking(bench)
    assert look(bench, engine_id, lease, 2).answers == []


def test_an_errand_that_was_made_is_forgotten_and_not_counted(bench: Bench) -> None:
    """The victim's queue is empty, and the same may be asked again."""
    engine_id, _ = asking(bench)
    assert bench.frontier.backlog() == (2, 2)
    made(bench, answer(VICTIM, bench.clock.ms, status=0))
    assert bench.frontier.backlog() == (1, 2)
    committed = bench.frontier.commit(engine_id, batch(2, errands=[errand(VICTIM)]))
    assert committed.drops == {}
    assert bench.frontier.backlog() == (2, 2)


def test_a_good_answer_saves_the_errand_for_an_hour(bench: Bench) -> None:
    engine_id, _ = asking(bench)
    made(bench, answer(VICTIM, bench.clock.ms))
    bench.frontier.commit(engine_id, batch(2, errands=[errand(VICTIM)]))
    assert bench.frontier.backlog() == (1, 2)
    bench.clock.pass_seconds(HOUR + 1)
    bench.frontier.commit(engine_id, batch(3, errands=[errand(VICTIM)]))
    assert bench.frontier.backlog() == (2, 2)


def test_the_same_errand_of_many_is_queued_once(bench: Bench) -> None:
    engine_id, _ = asking(bench)
    for number in (2, 3):
        twice = [errand(VICTIM), errand(VICTIM, 1)]
        bench.frontier.commit(engine_id, batch(number, errands=twice))
    assert bench.frontier.backlog() == (2, 2)


def test_old_answers_are_forgotten(bench: Bench) -> None:
    engine_id, lease = asking(bench)
    made(bench, answer(VICTIM, bench.clock.ms))
    bench.clock.pass_seconds(HOUR + 1)
    bench.frontier.commit(
        engine_id, batch(2, answers=[answer("https://other.test/", bench.clock.ms)])
    )
    assert look(bench, engine_id, lease, 3).answers == []


def test_a_newer_answer_takes_the_place_of_an_older(bench: Bench) -> None:
    engine_id, lease = asking(bench)
    newer = answer(VICTIM, bench.clock.ms + 5, rules=b"new")
    older = replace(newer, fetched_ms=bench.clock.ms, rules=b"old")
    bench.frontier.commit(engine_id, batch(2, answers=[older]))
    bench.frontier.commit(engine_id, batch(3, answers=[older, newer]))
    bench.frontier.commit(engine_id, batch(4, released=[release(lease, bench.clock.ms)]))
    leases = bench.frontier.lease(engine_id, 9)
    assert [each.answers for each in leases if each.name == "a.test"] == [[newer]]


def test_answers_are_handed_out_within_a_budget(bench: Bench) -> None:
    small = bench.another(robots_bytes=1000)
    small.add([link(f"https://a{n}.test/") for n in range(4)])
    engine_id = small.register("h", 1)
    leases = small.lease(engine_id, 9)
    now = bench.clock.ms
    urls = {lease.domain_id: f"https://victim.test/{n}" for n, lease in enumerate(leases)}
    small.commit(
        engine_id,
        batch(
            1,
            origins=[(each.domain_id, waiting("o", urls[each.domain_id], now)) for each in leases],
            answers=[answer(url, now, rules=b"x" * 400) for url in urls.values()],
            released=[release(lease, now) for lease in leases],
        ),
    )
    assert sum(len(lease.answers) for lease in small.lease(engine_id, 9)) == 2


def test_an_unseeded_target_is_refused_and_the_asker_hears_of_it(bench: Bench) -> None:
    seeded = bench.another(seeded_only=True)
    seeded.add([link("https://a.test/", flags=2)], rank=0)
    engine_id = seeded.register("h", 1)
    (lease,) = seeded.lease(engine_id, 1)
    record = waiting("https://a.test", VICTIM, bench.clock.ms)
    committed = seeded.commit(
        engine_id,
        batch(
            1,
            origins=[(lease.domain_id, record)],
            errands=[errand(VICTIM)],
            released=[release(lease, bench.clock.ms)],
        ),
    )
    assert committed.drops == {"not-seeded": 1}
    assert seeded.backlog() == (1, 1)  # the victim is not even known
    (again,) = seeded.lease(engine_id, 9)
    assert [(each.url, each.status) for each in again.answers] == [(VICTIM, 0)]


def test_caps_are_for_pages(bench: Bench) -> None:
    capped = bench.another(max_pages_per_domain=1, max_queued_per_domain=1)
    capped.add([link("https://victim.test/1")])
    engine_id = capped.register("h", 1)
    (lease,) = capped.lease(engine_id, 1)
    lease.pages = 1
    capped.commit(engine_id, batch(1, released=[release(lease, bench.clock.ms)]))
    more = [link("https://victim.test/2")]
    committed = capped.commit(engine_id, batch(2, links=more, errands=[errand(VICTIM)]))
    assert sum(committed.drops.values()) == 1
    (again,) = capped.lease(engine_id, 1)
    assert VICTIM in [url.url for url in again.urls]


@pytest.mark.parametrize("origin", ["", "https://victim.test"])
@pytest.mark.parametrize("forget", [True, False])
def test_a_purge_leaves_errands(bench: Bench, origin: str, forget: bool) -> None:
    bench.frontier.add([link("https://victim.test/page"), errand(VICTIM)])
    engine_id = bench.frontier.register("h", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    purge = Purge(lease.domain_id, origin, "gone", forget=forget)
    bench.frontier.commit(engine_id, batch(1, purges=[purge]))
    assert bench.frontier.backlog()[0] == 1
    (left,) = bench.frontier.refill([lease.domain_id])[lease.domain_id]
    assert left.url == VICTIM


def test_a_purge_of_an_excluded_domain_takes_errands_too(bench: Bench) -> None:
    bench.frontier.add([link("https://victim.test/page"), errand(VICTIM)])
    engine_id = bench.frontier.register("h", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    purge = Purge(lease.domain_id, "", "excluded", forget=True, errands=True)
    committed = bench.frontier.commit(engine_id, batch(1, purges=[purge]))
    assert committed.drops == {"excluded": 2}
    assert bench.frontier.backlog()[0] == 0


def test_errands_come_before_pages_but_every_second_turn_only(bench: Bench) -> None:
    engine_id, _ = asking(bench)
    bench.frontier.add([link(f"https://victim.test/page/{n}") for n in range(20)])
    others = [f"https://victim.test/r/{n}" for n in range(2, 5)]
    bench.frontier.commit(engine_id, batch(2, errands=[errand(url, 3) for url in others]))
    waits = []
    for _ in range(8):
        maker = bench.frontier.register("h", 9)
        (lease,) = [x for x in bench.frontier.lease(maker, 9) if x.name == "victim.test"]
        waits.append(errands.is_errand(lease.urls[0]))
        done = [(lease.domain_id, lease.urls[0], "")]
        polite = bench.clock.ms + 70_000
        bench.frontier.commit(maker, batch(1, dropped=done, released=[release(lease, polite)]))
        bench.clock.pass_seconds(70)
    assert waits == [True, False] * 4


# -- addresses ------------------------------------------------------------------------------------


def test_an_address_is_given_to_one(bench: Bench) -> None:
    one, two = bench.frontier.register("h", 1), bench.frontier.register("h", 2)
    until = bench.clock.ms + 180_000
    assert bench.frontier.claim(one, ["192.0.2.1", "2001:db8::1"], 180_000) == {
        "192.0.2.1": until, "2001:db8::1": until,
    }  # fmt: skip
    assert bench.another().claim(two, ["192.0.2.1", "192.0.2.2"], 180_000) == {"192.0.2.2": until}
    assert bench.frontier.claim(one, ["192.0.2.1"], 180_000) == {}  # nor twice to the same


def test_an_address_given_back_is_free_after_its_pause(bench: Bench) -> None:
    one, two = bench.frontier.register("h", 1), bench.frontier.register("h", 2)
    bench.frontier.claim(one, ["192.0.2.1"], 180_000)
    bench.frontier.commit(one, batch(1, slots=[("192.0.2.1", bench.clock.ms + 1000)]))
    bench.clock.pass_seconds(0.9)
    assert bench.frontier.claim(two, ["192.0.2.1"], 180_000) == {}
    bench.clock.pass_seconds(0.1)
    assert list(bench.frontier.claim(two, ["192.0.2.1"], 180_000)) == ["192.0.2.1"]


def test_who_is_late_does_not_give_back_what_another_has(bench: Bench) -> None:
    one, two = bench.frontier.register("h", 1), bench.frontier.register("h", 2)
    bench.frontier.claim(one, ["192.0.2.1"], 10_000)
    bench.clock.pass_seconds(10)
    assert bench.frontier.claim(two, ["192.0.2.1"], 180_000)
    bench.frontier.commit(one, batch(1, slots=[("192.0.2.1", bench.clock.ms)]))
    three = bench.frontier.register("h", 3)
    assert bench.frontier.claim(three, ["192.0.2.1"], 180_000) == {}


def test_a_dead_engine_s_address_is_free_after_one_delay(bench: Bench) -> None:
    one, two = bench.frontier.register("h", 1), bench.frontier.register("h", 2)
    bench.frontier.claim(one, ["192.0.2.1"], 180_000)
    bench.frontier.rescue([one])
    with pytest.raises(Fenced):
        bench.frontier.claim(one, ["192.0.2.2"], 180_000)
    bench.clock.pass_seconds(69)
    assert bench.frontier.claim(two, ["192.0.2.1"], 180_000) == {}
    bench.clock.pass_seconds(1)
    assert bench.frontier.claim(two, ["192.0.2.1"], 180_000)


def test_free_addresses_are_forgotten(bench: Bench) -> None:
    """A crawl meets millions of them."""
    one = bench.frontier.register("h", 1)
    for n in range(20):
        bench.frontier.claim(one, [f"192.0.2.{n}"], 1000)
        bench.clock.pass_seconds(1)
    query = "SELECT count(*) FROM slots"
    assert bench.frontier.db.execute(query).fetchall()[0][0] == 1


@pytest.mark.parametrize("whole", [True, False])
def test_an_errand_that_is_excluded_is_not_kept_for_later(
    bench: Bench, reader: Reader, whole: bool
) -> None:
    """Unlike a page: who waits for it hears that there is no answer, and may ask again."""
    asking(bench)
    bench.frontier.add([link("https://victim.test/page")])
    maker = bench.frontier.register("h", 2)
    (lease,) = bench.frontier.lease(maker, 1)
    assert len(lease.urls) == 2
    excluded: dict[str, Any]
    if whole:
        excluded = {"purges": [Purge(lease.domain_id, "", "excluded", forget=True, errands=True)]}
    else:
        excluded = {"dropped": [(lease.domain_id, url, "excluded") for url in lease.urls]}
    bench.frontier.commit(maker, batch(1, **excluded, released=[release(lease, bench.clock.ms)]))
    assert [row.url for row in reader.left_out()] == ["https://victim.test/page"]
    assert not list(bench.frontier.lease(maker, 9))
