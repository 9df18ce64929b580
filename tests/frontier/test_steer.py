"""Changes of a crawl that may be running: one transaction, heard by everybody. On every store."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest
from conftest import Bench, Store
from helpers import batch, names, release

from lycosa.frontier.keys import RULES_KEY
from lycosa.frontier.protocol import Change
from lycosa.records import Flag, Lease, Origin
from lycosa.urls.domains import domain_id
from support.made import link, page_of

SECOND = 1000


@pytest.fixture
def store(bench: Bench) -> Store:
    bench.frontier.put_settings({RULES_KEY: 1})
    bench.frontier.add([link(f"https://d{n}.test/", flags=Flag.SEED) for n in range(4)], rank=0)
    return bench.frontier


def due(store: Store, name: str) -> int:
    """When a domain that waits may be visited."""
    query: Any = (
        "SELECT r.ready_at, d.polite_at, d.not_before FROM ready AS r JOIN domains AS d"
        f" ON d.id = r.id WHERE d.name = '{name}'"
    )
    (found,) = store.db.execute(query).fetchall()
    return int(max(found))


def give_back(bench: Bench, waits: Mapping[str, float], **more: Any) -> dict[str, Lease]:
    """An engine visits these domains and gives them back for so many seconds."""
    store = bench.frontier
    engine = store.register("t", 1)
    leases = {lease.name: lease for lease in store.lease(engine, 10)}
    now = bench.clock()
    released = [release(lease, now + round(1000 * waits[name])) for name, lease in leases.items()
                if name in waits]  # fmt: skip
    for each in released:
        each.failures = more.get("failures", {}).get(each.domain_id, 0)
    store.commit(
        engine,
        batch(1, released=released, origins=more.get("origins", []), delays=more.get("delays", [])),
    )
    return leases


def test_a_change_is_stored_and_heard(bench: Bench, store: Store) -> None:
    heard = store.watch().rules_version
    seen: list[Any] = []

    def change(look: Any, now: int) -> Change:
        seen.append((look("colour"), look(RULES_KEY), now))
        return Change({"colour": "blue"})

    store.steer(change)
    assert bench.another().setting("colour") == "blue"
    assert store.watch().rules_version == heard + 1
    assert seen[-1] == (None, str(heard + 1), bench.clock())


def test_a_change_that_fails_changes_nothing(store: Store) -> None:
    heard = store.watch().rules_version

    def change(look: Any, now: int) -> Change:
        raise KeyError("ours")

    with pytest.raises(KeyError):
        store.steer(change)
    assert store.watch().rules_version == heard
    store.steer(lambda look, now: Change({}))  # and the next one works


def test_changes_come_one_after_the_other(bench: Bench, store: Store) -> None:
    """Each reads what the one before has written: none is lost."""
    store.put_settings({"count": 0})
    connections = [bench.another() for _ in range(3)]
    errors: list[Exception] = []

    def work(store: Store) -> None:
        try:
            for _ in range(20):
                store.steer(lambda look, now: Change({"count": int(look("count") or 0) + 1}))
        except Exception as error:
            errors.append(error)

    if not store.server_clock:  # a SQLite connection belongs to one thread
        for _ in range(20):
            for each in connections:
                each.steer(lambda look, now: Change({"count": int(look("count") or 0) + 1}))
    else:
        threads = [threading.Thread(target=work, args=(each,)) for each in connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors and store.setting("count") == "60"


def test_a_longer_delay_lets_everybody_wait_for_as_much_longer(bench: Bench, store: Store) -> None:
    waits = {"d0.test": 70, "d1.test": 10, "d2.test": 0}
    give_back(bench, waits, delays=[(domain_id("d1.test"), 90 * SECOND)])
    began = bench.clock()
    bench.clock.pass_seconds(5)
    store.steer(lambda look, now: Change({}, (70 * SECOND, 100 * SECOND)))
    assert due(store, "d0.test") == began + 100_000
    assert due(store, "d1.test") == began + 20_000  # it waited for 90 already
    assert due(store, "d2.test") == began + 30_000
    assert len(store.db.execute("SELECT 1 FROM held").fetchall()) == 1
    bench.clock.pass_seconds(94)
    engine = store.register("t", 2)
    assert set(names(store.lease(engine, 10))) == {"d1.test", "d2.test"}


def test_a_visit_that_only_the_token_tells_of_counts_for_a_longer_delay(
    bench: Bench, store: Store
) -> None:
    """With a page that was got, the row of a domain need not be written: see `released`."""
    store.add([link(f"https://d0.test/{n}") for n in range(9)])
    engine = store.register("t", 1)
    lease = next(each for each in store.lease(engine, 10) if each.name == "d0.test")
    back = release(lease, bench.clock() + 70_000)
    back.pages = 1
    store.commit(engine, batch(1, pages=[page_of(lease.urls[0])], released=[back]))
    store.add([link("https://found.test/")])  # a moment ago, and never visited
    store.steer(lambda look, now: Change({}, (70 * SECOND, 100 * SECOND)))
    assert due(store, "d0.test") == bench.clock() + 100_000
    assert due(store, "found.test") == bench.clock()


def test_nobody_waits_for_more_than_the_longer_delay(bench: Bench, store: Store) -> None:
    give_back(bench, {"d0.test": 500})
    store.steer(lambda look, now: Change({}, (70 * SECOND, 100 * SECOND)))
    assert due(store, "d0.test") == bench.clock() + 500_000


def test_domains_that_were_never_visited_do_not_wait(bench: Bench, store: Store) -> None:
    store.steer(lambda look, now: Change({}, (70 * SECOND, 1000 * SECOND)))
    assert len(store.lease(store.register("t", 1), 10)) == 4


def test_with_a_shorter_delay_nobody_waits_for_longer_than_that(bench: Bench, store: Store) -> None:
    asked = Origin("https://d2.test", bench.clock(), 200, b"D/x\nC30.0")
    packed = Origin("https://d3.test", bench.clock(), 200, b"Zpacked")
    give_back(
        bench,
        {f"d{n}.test": 70 for n in range(4)},
        failures={domain_id("d1.test"): 2},
        origins=[(domain_id("d2.test"), asked), (domain_id("d3.test"), packed)],
    )
    began = bench.clock()
    bench.clock.pass_seconds(5)
    store.steer(lambda look, now: Change({}, (70 * SECOND, 10 * SECOND)))
    assert due(store, "d0.test") == began + 15_000
    assert due(store, "d1.test") == began + 70_000  # it is busy
    assert due(store, "d2.test") == began + 70_000  # it may ask for more
    assert due(store, "d3.test") == began + 70_000


def test_what_a_site_asks_for_is_kept_when_the_delay_shrinks(bench: Bench, store: Store) -> None:
    asked = Origin("https://d0.test", bench.clock(), 200, b"C30.0")
    give_back(
        bench,
        {"d0.test": 70},
        origins=[(domain_id("d0.test"), asked)],
        delays=[(domain_id("d0.test"), 30 * SECOND)],
    )
    store.steer(lambda look, now: Change({}, (70 * SECOND, 10 * SECOND)))
    assert due(store, "d0.test") == bench.clock() + 30_000


def test_postponed_domains_wait(bench: Bench, store: Store) -> None:
    give_back(bench, {"d0.test": 10, "d1.test": 10})
    now = bench.clock()
    later = [(domain_id("d1.test"), now + 5_000), (domain_id("d0.test"), now + 40_000)]
    store.postpone(later)
    assert due(store, "d0.test") == now + 40_000
    assert due(store, "d1.test") == now + 10_000


def test_rules_that_are_obeyed_count(bench: Bench, store: Store) -> None:
    from dataclasses import replace

    store.obey(replace(store.rules, max_queued_per_domain=1))
    engine = store.register("t", 1)
    links = [link(f"https://d0.test/{n}") for n in range(5)]
    done = store.commit(engine, batch(1, links=links))
    assert done.drops == {"queue-cap": 5}
    store.obey(replace(store.rules, max_queued_per_domain=100))
    assert store.commit(engine, batch(2, links=links)).added == {domain_id("d0.test"): 5}
