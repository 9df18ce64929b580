"""Engines that meet on one server, at the worst moment: each domain keeps its one token.

One of two connections is stopped in the middle of its transaction; what the other does meanwhile
runs in a thread, on a connection of its own, and must wait, skip or fail as it should.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from conftest import Clock
from helpers import batch, names, part_of, release, under_way

from lycosa.errors import Fenced, StoreGone
from lycosa.frontier.postgres.connection import int8s
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.postgres.store import SQL
from lycosa.frontier.postgres.tokens import BEFORE_ALL, FRONT_MS
from lycosa.frontier.protocol import Batch, Deferral, Release, StoreRules
from lycosa.frontier.released import DomainEnd, StoredRow, must_follow
from lycosa.records import Lease
from lycosa.urls.domains import domain_id
from support.made import link, page_of
from support.tokens import check_tokens

RULES = StoreRules(delay_ms=70_000, lease_ms=180_000)
SOON = 0.3  # seconds in which a call that need not wait has ended, and one that must has not


class Crossing:
    """Connections to one fresh store, each with a clock of its own, and threads."""

    def __init__(self, url: str, rules: StoreRules = RULES) -> None:
        self.url, self.rules = url, rules
        self.opened: list[PostgresFrontier] = []
        self.pool = ThreadPoolExecutor(8)
        self.one, self.two = self.connect(), self.connect()

    def connect(self, clock: Clock | None = None) -> PostgresFrontier:
        clock = clock or Clock()
        store = PostgresFrontier(self.url, self.rules, clock, create=True)
        self.opened.append(store)
        return store

    def meanwhile(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
        return self.pool.submit(call, *args)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as db:
            cursor = db.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def check(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as db:
            check_tokens(db)

    def close(self) -> None:
        self.pool.shutdown()
        for store in self.opened:
            store.close()


@pytest.fixture
def crossing(postgres_url: str) -> Iterator[Crossing]:
    made = Crossing(postgres_url)
    yield made
    made.check()
    made.close()


def clock_of(store: PostgresFrontier) -> Clock:
    clock = store.store._clock
    assert isinstance(clock, Clock)
    return clock


class Undone(Exception):
    """A transaction is to be rolled back."""


@contextmanager
def stopped_lease(store: PostgresFrontier, engine_id: int, limit: int) -> Iterator[list[Lease]]:
    with store.db.transaction():
        now = store.store.fence(engine_id)
        yield part_of(store.lease)._tokens.lease(engine_id, limit, now)


def waits(call: Future[Any]) -> bool:
    """Whether a call in another thread is held up by a transaction of this one."""
    with pytest.raises(TimeoutError):
        call.result(SOON)
    return True


def in_line(crossing: Crossing, name: str) -> list[int]:
    query = f"SELECT ready_at FROM ready WHERE id = {domain_id(name)} ORDER BY 1"
    return [moment for (moment,) in crossing.sql(query)]


# -- one token (rule 1) ---------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [True, False])
def test_links_to_an_unknown_domain_arrive_at_once(crossing: Crossing, kept: bool) -> None:
    """Only who makes the domain puts it in line; if that is undone, the other does."""
    one, two = crossing.one, crossing.two
    first, second = one.register("host", 1), two.register("host", 2)
    clock_of(one).pass_seconds(5)
    try:
        with under_way(two, second, batch(1, links=[link("https://a.test/2", 1)])):
            call = crossing.meanwhile(
                one.commit, first, batch(1, links=[link("https://a.test/1", 1)])
            )
            assert waits(call)
            if not kept:
                raise Undone
    except Undone:
        pass
    call.result(10)
    moment = clock_of(two if kept else one).ms
    assert in_line(crossing, "a.test") == [moment]
    assert one.backlog()[0] == (2 if kept else 1)
    (lease,) = one.lease(first, 5)
    assert len(lease.urls) == (2 if kept else 1)


def test_a_domain_found_by_two_is_woken_by_the_second_if_the_first_is_done_with_it(
    crossing: Crossing,
) -> None:
    """Between the second's look at the domain and its insert, the first made, fetched and left
    it: idle, and the link would sleep there."""
    one, two = crossing.one, crossing.two
    first, second = one.register("host", 1), two.register("host", 2)
    adder = part_of(two.add)
    before = adder.states

    def then_the_first_has_its_turn(ids: list[int]) -> Any:
        found = before(ids)
        one.commit(first, batch(1, links=[link("https://a.test/1", 1)]))
        (lease,) = one.lease(first, 1)
        done = page_of(lease.urls[0])
        back = release(lease, clock_of(one).ms + 70_000)
        one.commit(first, batch(2, pages=[done], released=[back]))
        return found

    adder.states = then_the_first_has_its_turn
    two.commit(second, batch(1, links=[link("https://a.test/2", 1)]))
    del adder.states
    assert in_line(crossing, "a.test") == [clock_of(one).ms + 70_000]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_many_engines_find_the_same_domains(crossing: Crossing, seed: int) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    stores = [crossing.connect() for _ in range(4)]
    work = []
    for store in stores:
        engine_id = store.register("host", 1)
        batches = []
        for number in range(1, 13):
            hosts = rng.sample(range(40), 25)
            links = [link(f"https://d{n}.test/{rng.randrange(3)}", 1) for n in hosts]
            batches.append(batch(number, links=links))
        work.append((store, engine_id, batches))
    start = threading.Barrier(len(work))

    def deliver(store: PostgresFrontier, engine_id: int, batches: list[Batch]) -> None:
        start.wait()
        for given in batches:
            store.commit(engine_id, given)

    for call in [crossing.meanwhile(deliver, *each) for each in work]:
        call.result(60)
    crossing.check()
    ((known,),) = crossing.sql("SELECT count(*) FROM domains")
    assert crossing.one.backlog()[1] == known == len(crossing.sql("SELECT 1 FROM ready"))


# -- a lease heals (rule 2) -----------------------------------------------------------------------


def test_two_engines_take_a_domain_that_is_in_line_twice(
    crossing: Crossing, caplog: pytest.LogCaptureFixture
) -> None:
    """Each takes another row of it at the same moment: one holds it, the other goes on."""
    one, two = crossing.one, crossing.two
    one.add([link(f"https://d{n}.test/") for n in range(3)], rank=0)
    twice = domain_id("d0.test")
    crossing.sql(f"INSERT INTO ready (ready_at, id) VALUES (1, {twice}) ON CONFLICT DO NOTHING")
    first, second = one.register("host", 1), two.register("host", 2)
    with stopped_lease(two, second, 1) as leases:
        assert names(leases) == ["d0.test"]
        call = crossing.meanwhile(one.lease, first, 10)
        assert waits(call)
    assert set(names(call.result(10))) == {"d1.test", "d2.test"}
    assert [r.levelname for r in caplog.records if "two tokens" in r.message] == ["ERROR"]
    held = crossing.sql("SELECT id, engine_id FROM held")
    assert (twice, second) in held and len(held) == 3


def test_leases_at_once_share_the_line(crossing: Crossing) -> None:
    """Who comes second waits for nobody and gets the next ones."""
    one, two = crossing.one, crossing.two
    one.add([link(f"https://d{n}.test/") for n in range(6)], rank=0)
    first, second = one.register("host", 1), two.register("host", 2)
    with stopped_lease(two, second, 3) as leases:
        assert names(leases) == ["d0.test", "d1.test", "d2.test"]
        others = crossing.meanwhile(one.lease, first, 10).result(SOON * 10)
        assert names(others) == ["d3.test", "d4.test", "d5.test"]


def test_a_lease_that_is_undone_leaves_everybody_in_line(crossing: Crossing) -> None:
    one, two = crossing.one, crossing.two
    one.add([link(f"https://d{n}.test/") for n in range(4)], rank=0)
    first, second = one.register("host", 1), two.register("host", 2)
    with pytest.raises(Undone), stopped_lease(two, second, 2):
        assert names(one.lease(first, 10)) == ["d2.test", "d3.test"]
        raise Undone
    assert names(one.lease(first, 10)) == ["d0.test", "d1.test"]


# -- postponed, wherever they are (rule 4) --------------------------------------------------------


@pytest.mark.parametrize("how", ["postpone", "rescue"])
@pytest.mark.parametrize("place", ["ready", "waiting", "held", "idle"])
def test_domains_wait_for_longer_wherever_they_are(
    crossing: Crossing, place: str, how: str
) -> None:
    one, two = crossing.one, crossing.two
    clock = clock_of(one)
    two.store._clock = clock
    one.add([link("https://a.test/1"), link("https://a.test/2")], rank=0)
    engine_id, other = one.register("host", 1), two.register("host", 2)
    (lease,) = one.lease(engine_id, 1)
    urls = lease.urls if place != "ready" else lease.urls[:1]
    parts: dict[str, Any] = {"pages": [page_of(url) for url in urls]}
    if place == "waiting":
        parts = {"deferred": [Deferral(lease.domain_id, url, clock.ms + 90_000, 1) for url in urls]}
    back = release(lease, clock.ms + 10_000)
    if place != "held":
        one.commit(engine_id, batch(1, **parts, released=[back]))
    until = clock.ms + 200_000
    if how == "postpone":
        two.postpone([(lease.domain_id, until), (lease.domain_id, until - 1)])
    else:
        two.rescue([], {"a.test": 200_000})
    if place == "held":
        one.commit(engine_id, batch(1, released=[back]))
    two.commit(other, batch(1, links=[link("https://a.test/new", 1)]))
    crossing.check()
    while clock.ms < until:
        assert one.lease(engine_id, 5) == []
        crossing.check()
        clock.pass_seconds(10)
    (again,) = one.lease(engine_id, 5)
    assert again.ready_ms == until


def test_a_replaced_server_lets_everybody_wait(crossing: Crossing) -> None:
    """All engines are dead, what they held is in line after the last lease and the delay, and who
    asked for a longer delay waits for that, wherever it is."""
    one, clock = crossing.one, clock_of(crossing.one)
    slow = [domain_id(f"slow{n}.test") for n in range(3)]
    hosts = ["a.test", "slow0.test", "slow1.test", "slow2.test", "idle.test"]
    one.add([link(f"https://{host}/") for host in hosts], rank=0)
    engine_id = one.register("host", 1)
    leases = {lease.name: lease for lease in one.lease(engine_id, 9)}
    done = [page_of(leases[name].urls[0]) for name in ("slow2.test", "idle.test")]
    delays = [(ident, 500_000) for ident in slow]
    released = [release(leases[name], clock.ms) for name in hosts[2:]]
    one.commit(engine_id, batch(1, pages=done, delays=delays, released=released))
    assert len(crossing.sql("SELECT 1 FROM held")) == 2
    crossing.sql("UPDATE crawl SET value = 'another server' WHERE key = 'server'")
    later = crossing.connect(clock)
    assert crossing.sql("SELECT 1 FROM held") == []
    crossing.check()
    with pytest.raises(Fenced):
        one.commit(engine_id, batch(2))
    heir, began = later.register("host", 2), clock.ms
    later.commit(heir, batch(1, links=[link("https://slow2.test/new", 1)]))
    found: dict[str, float] = {}
    while clock.ms < began + 700_000:
        found |= {lease.name: (clock.ms - began) / 1000 for lease in later.lease(heir, 9)}
        clock.pass_seconds(10)
    assert found == {"a.test": 250, "slow0.test": 680, "slow1.test": 680, "slow2.test": 680}


# -- takeover (rule 6) ----------------------------------------------------------------------------


def test_a_late_rescuer_makes_nothing_ready(crossing: Crossing) -> None:
    one, two = crossing.one, crossing.two
    one.add([link(f"https://d{n}.test/") for n in range(3)], rank=0)
    dead, heir = one.register("host", 1), one.register("host", 2)
    assert len(one.lease(dead, 5)) == 3
    clock_of(one).pass_seconds(7)  # the late one would choose another moment
    with two.db.transaction():
        now = two.store._now()
        assert part_of(two.rescue)._rescue([dead], {}, False, now) == 3
        call = crossing.meanwhile(one.rescue, [dead])
        assert waits(call)
    assert call.result(10) == 0
    assert in_line(crossing, "d0.test") == [clock_of(two).ms + 70_000]
    clock_of(one).pass_seconds(70)
    assert len(one.lease(heir, 5)) == 3
    assert one.rescue([dead]) == 0
    assert len(crossing.sql("SELECT 1 FROM held")) == 3


def test_a_release_and_a_rescue_meet(crossing: Crossing) -> None:
    """Whoever comes first: the domains are in line once."""
    one, two = crossing.one, crossing.two
    one.add([link(f"https://{host}.test/{n}") for host in "ab" for n in range(2)], rank=0)
    engine_id = one.register("host", 1)
    a, b = one.lease(engine_id, 2)
    with under_way(one, engine_id, batch(1, released=[release(a, clock_of(one).ms + 70_000)])):
        call = crossing.meanwhile(two.rescue, [engine_id])
        assert waits(call)
    assert call.result(10) == 1
    assert len(in_line(crossing, a.name)) == len(in_line(crossing, b.name)) == 1


def test_a_rescue_and_a_release_meet(crossing: Crossing) -> None:
    one, two = crossing.one, crossing.two
    one.add([link("https://a.test/1"), link("https://a.test/2")], rank=0)
    engine_id = one.register("host", 1)
    (lease,) = one.lease(engine_id, 2)
    with two.db.transaction():
        assert part_of(two.rescue)._rescue([engine_id], {}, False, two.store._now()) == 1
        back = release(lease, clock_of(one).ms)
        call = crossing.meanwhile(one.commit, engine_id, batch(1, released=[back]))
        assert waits(call)
    with pytest.raises(Fenced):
        call.result(10)
    assert in_line(crossing, "a.test") == [clock_of(two).ms + 70_000]


# -- woken (rule 7) -------------------------------------------------------------------------------


def only_waits(crossing: Crossing, seconds: float = 300) -> tuple[int, int]:
    """A domain that only waits for a retry; returns its engine and when the retry is due."""
    one = crossing.one
    one.add([link("https://a.test/1")], rank=0)
    engine_id = one.register("host", 1)
    (lease,) = one.lease(engine_id, 1)
    due = clock_of(one).ms + round(1000 * seconds)
    wait = Deferral(lease.domain_id, lease.urls[0], due, 1)
    back = release(lease, clock_of(one).ms + 70_000)
    one.commit(engine_id, batch(1, deferred=[wait], released=[back]))
    assert in_line(crossing, "a.test") == [due]
    return engine_id, due


def test_a_lease_meets_a_link_to_a_domain_that_only_waits(crossing: Crossing) -> None:
    """By the clock of one the retry is due, by that of the other not yet."""
    engine_id, due = only_waits(crossing)
    one, two = crossing.one, crossing.two
    finder = two.register("host", 2)
    clock_of(one).ms, clock_of(two).ms = due, due - 1
    with stopped_lease(one, engine_id, 1) as leases:
        assert names(leases) == ["a.test"]
        found = batch(1, links=[link("https://a.test/2", 1)])
        call = crossing.meanwhile(two.commit, finder, found)
        assert waits(call)
    call.result(10)
    assert in_line(crossing, "a.test") == []
    assert crossing.sql("SELECT engine_id FROM held") == [(engine_id,)]


def test_a_link_to_a_domain_that_only_waits_meets_a_lease(crossing: Crossing) -> None:
    engine_id, due = only_waits(crossing)
    one, two = crossing.one, crossing.two
    finder = two.register("host", 2)
    clock_of(one).ms, clock_of(two).ms = due, due - 1
    with under_way(two, finder, batch(1, links=[link("https://a.test/2", 1)])):
        assert crossing.meanwhile(one.lease, engine_id, 1).result(SOON * 10) == []
    assert in_line(crossing, "a.test") == [due - 1]
    (lease,) = one.lease(engine_id, 1)
    assert len(lease.urls) == 2


def test_two_links_to_a_domain_that_only_waits_meet(crossing: Crossing) -> None:
    engine_id, _ = only_waits(crossing)
    one, two = crossing.one, crossing.two
    finder = two.register("host", 2)
    clock_of(one).pass_seconds(100)
    clock_of(two).pass_seconds(101)
    with under_way(two, finder, batch(1, links=[link("https://a.test/2", 1)])):
        given = batch(2, links=[link("https://a.test/3", 1)])
        call = crossing.meanwhile(one.commit, engine_id, given)
        assert waits(call)
    call.result(10)
    assert in_line(crossing, "a.test") == [clock_of(two).ms]
    assert len(one.lease(engine_id, 1)) == 0  # by this clock it is a second too early
    clock_of(one).pass_seconds(1)
    (lease,) = one.lease(engine_id, 1)
    assert len(lease.urls) == 2


def test_two_links_to_an_idle_domain_meet(crossing: Crossing) -> None:
    one, two = crossing.one, crossing.two
    one.add([link("https://a.test/1")], rank=0)
    engine_id, finder = one.register("host", 1), two.register("host", 2)
    (lease,) = one.lease(engine_id, 1)
    done = page_of(lease.urls[0])
    one.commit(engine_id, batch(1, pages=[done], released=[release(lease, clock_of(one).ms)]))
    clock_of(two).pass_seconds(1)
    with under_way(two, finder, batch(1, links=[link("https://a.test/2", 1)])):
        given = batch(2, links=[link("https://a.test/3", 1)])
        call = crossing.meanwhile(one.commit, engine_id, given)
        assert waits(call)
    call.result(10)
    assert in_line(crossing, "a.test") == [clock_of(two).ms]


@pytest.mark.parametrize("retries", [False, True])
def test_a_link_on_its_way_while_its_domain_falls_asleep(crossing: Crossing, retries: bool) -> None:
    """Who adds it sees the domain held, its holder does not see it yet: idle, or waiting for a
    retry that is hours away."""
    one, two, clock = crossing.one, crossing.two, clock_of(crossing.one)
    one.add([link("https://a.test/")], rank=0)
    holder, finder = one.register("host", 1), two.register("host", 2)
    (lease,) = one.lease(holder, 1)
    parts: dict[str, Any] = {"pages": [page_of(lease.urls[0])]}
    if retries:
        wait = Deferral(lease.domain_id, lease.urls[0], clock.ms + 9_000_000, 1)
        parts = {"deferred": [wait]}
    with under_way(two, finder, batch(1, links=[link("https://a.test/new", 1)])):
        one.commit(holder, batch(1, **parts, released=[release(lease, clock.ms)]))
    assert one.lease(holder, 1) == []
    for number in (2, 3):  # one looks who sleeps, the other whether something came
        clock.pass_seconds(2)
        one.commit(holder, batch(number))
    (again,) = one.lease(holder, 1)
    assert [url.url for url in again.urls] == ["https://a.test/new"]


# -- held but not known (rule 8) ------------------------------------------------------------------


@pytest.mark.parametrize("committed", [True, False])
def test_the_end_of_a_lease_is_not_heard_of(
    crossing: Crossing, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """Nobody knows whether the server has committed: if so, the domains are handed out by the next
    call, once; if not, they are in line."""
    store = crossing.one
    store.add([link(f"https://d{n}.test/") for n in range(4)], rank=0)
    engine_id = store.register("host", 1)
    assert names(store.lease(engine_id, 1)) == ["d0.test"]
    tokens = part_of(store.lease)._tokens
    before = tokens.lease

    def then_lose(*args: Any) -> Any:
        before(*args)
        store.db.execute("COMMIT" if committed else "ROLLBACK")
        store.db.close()
        raise psycopg.OperationalError("the connection is lost")

    with monkeypatch.context() as patch:
        patch.setattr(tokens, "lease", then_lose)
        with pytest.raises(StoreGone):
            store.lease(engine_id, 2)
    assert len(crossing.sql("SELECT 1 FROM held")) == (3 if committed else 1)
    again = store.lease(engine_id, 2)
    assert set(names(again)) == {"d1.test", "d2.test"}
    assert all(lease.urls for lease in again)
    assert names(store.lease(engine_id, 2)) == ["d3.test"]
    assert store.lease(engine_id, 2) == []
    back = [release(lease, 1) for lease in again]
    store.commit(engine_id, batch(1, released=back))
    assert len(crossing.sql("SELECT 1 FROM ready")) == 2


# -- the line -------------------------------------------------------------------------------------


def buffers(store: PostgresFrontier, front: int) -> int:
    """Pages that a lease of one domain reads from a place on."""
    values = {"front": front, "now": clock_of(store).ms, "limit": 1, "budget": 1 << 25}
    store.db.execute("BEGIN")
    rows = store.db.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {SQL['lease']}", values)
    ((plan,),) = rows.fetchall()
    store.db.execute("ROLLBACK")
    return int(plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"])


def test_an_open_snapshot_does_not_make_leases_slow(crossing: Crossing) -> None:
    """It keeps the dead rows of 100,000 turns at the front of the line."""
    store, now = crossing.one, clock_of(crossing.one).ms
    store.add([link(f"https://d{n}.test/") for n in range(20)])
    engine_id = store.register("host", 1)
    with psycopg.connect(crossing.url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1 FROM ready")
        crossing.sql(
            f"INSERT INTO ready (ready_at, id) SELECT {now} - 200000 + n, n"
            " FROM generate_series(1, 100000) AS n"
        )
        crossing.sql("DELETE FROM ready WHERE id <= 100000")
        store.db.execute("VACUUM ready")
        assert len(store.lease(engine_id, 5)) == 5
        tokens = part_of(store.lease)._tokens
        assert buffers(store, BEFORE_ALL) > 1_000  # they are there
        assert buffers(store, tokens._front) < 100
        assert buffers(store, tokens._front) < 100
        assert len(store.lease(engine_id, 5)) == 5
        assert not store.finished()


def test_who_comes_to_stand_before_the_place_of_the_last_look_is_found(crossing: Crossing) -> None:
    one, two, clock = crossing.one, crossing.two, clock_of(crossing.one)
    one.add([link(f"https://d{n}.test/") for n in range(9)])
    engine_id = one.register("host", 1)
    assert len(one.lease(engine_id, 2)) == 2
    two.add([link("https://seed.test/")], rank=0)
    assert len(one.lease(engine_id, 2)) == 2
    clock.ms += FRONT_MS
    assert "seed.test" in names(one.lease(engine_id, 2))  # the first of all
    two.add([link("https://seed2.test/")], rank=1)
    assert len(one.lease(engine_id, 9)) == 4
    assert names(one.lease(engine_id, 9)) == ["seed2.test"]  # when no other is ready


def test_the_end_is_asked_for_in_one_statement(crossing: Crossing) -> None:
    store, said = crossing.one, list[str]()
    before = store.store.execute

    def noted(query: str, **values: Any) -> Any:
        said.append(query)
        return before(query, **values)

    store.store.execute = noted  # type: ignore[method-assign]
    assert store.finished()
    assert said == ["what_is_left"]
    store.store.execute = before  # type: ignore[method-assign]


# -- rows of domains ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("page_cap", [0, 50])
def test_the_row_of_a_domain_is_written_when_it_must_follow(
    postgres_url: str, seed: int, page_cap: int
) -> None:
    """The statement decides as `released.must_follow` does."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    rules = replace(RULES, max_queued_per_domain=64, max_pages_per_domain=page_cap)
    crossing = Crossing(postgres_url, rules)
    store, count = crossing.one, 400
    store.add([link(f"https://d{n}.test/{i}") for n in range(count) for i in range(2)], rank=0)
    engine_id = store.register("host", 1)
    leases = store.lease(engine_id, count)
    released, expected = [], set()
    for lease in leases:
        ident, failures = lease.domain_id, rng.choice([0, 0, 0, 2])
        row = StoredRow(rng.choice([0, 5, 5, 5]), rng.choice([0, 0, 0, 9]), failures,
                  rng.choice([0, 0, 0, 3, rng.randrange(60)]),
                  rng.choice([1, 2, 5, 9, rng.randrange(1, 90)]))  # fmt: skip
        store.db.execute(
            "UPDATE domains SET polite_at = %s, wait_at = %s, failures = %s, pages = %s,"
            " queued = %s WHERE id = %s", (*row, ident),
        )  # fmt: skip
        polite = clock_of(store).ms + rng.randrange(90_000)
        back = Release(ident, polite, rng.choice([failures, failures, failures, 1]))
        released.append(back)
        # Its log tells the counts: nothing is done, and two URLs are queued.
        if must_follow(row, DomainEnd(ident, polite, polite, back.failures, 0, 2), rules):
            expected.add(ident)
    rows = "SELECT id, xmin::text FROM domains"
    before = dict(crossing.sql(rows))
    store.commit(engine_id, batch(1, released=released))
    after = dict(crossing.sql(rows))
    assert {ident for ident in after if after[ident] != before[ident]} == expected
    assert 0 < len(expected) < count
    totals = (
        "SELECT d.id, d.pages + r.more_pages, d.queued + r.more_queued"
        " FROM ready AS r JOIN domains AS d ON d.id = r.id"
    )
    counts = {ident: (pages, queued) for ident, pages, queued in crossing.sql(totals)}
    assert counts == {back.domain_id: (0, 2) for back in released}
    crossing.check()
    crossing.close()


def test_a_visit_writes_no_row_of_domains(crossing: Crossing) -> None:
    """But when the counts are far from it, and one in eight or so."""
    store, clock = crossing.one, clock_of(crossing.one)
    store.add([link(f"https://d{d}.test/{n}") for d in range(40) for n in range(50)], rank=0)
    engine_id, written, rows = store.register("host", 1), 0, "SELECT id, xmin::text FROM domains"
    for number in range(1, 21):
        before = dict(crossing.sql(rows))
        leases = store.lease(engine_id, 40)
        assert len(leases) == 40 and dict(crossing.sql(rows)) == before
        back = [
            replace(
                release(each, clock.ms + 70_000 + n), pages=each.pages + 1, queued=each.queued - 1
            )
            for n, each in enumerate(leases)
        ]
        pages = [page_of(each.urls[0]) for each in leases]
        store.commit(engine_id, batch(number, pages=pages, released=back))
        after = dict(crossing.sql(rows))
        written += sum(1 for ident in after if after[ident] != before[ident])
        clock.pass_seconds(71)
    assert written == 40  # at nine pages, which are far from none


def test_the_hold_is_looked_up_by_one_statement(crossing: Crossing) -> None:
    """A domain that another engine holds is named, whichever of many it is."""
    store = crossing.one
    store.add([link(f"https://d{n}.test/") for n in range(50)], rank=0)
    mine, other = store.register("host", 1), store.register("host", 2)
    ours = [lease.domain_id for lease in store.lease(mine, 49)]
    (theirs,) = (lease.domain_id for lease in store.lease(other, 49))
    tokens = part_of(store.lease)._tokens
    tokens.check_hold(mine, ours)
    with pytest.raises(Fenced, match=str(theirs)):
        tokens.check_hold(mine, [*ours, theirs])
    values = {"engine_id": mine, "ids": int8s(sorted([*ours, 1]))}
    assert store.store.rows("any_not_held", **values) == [(1,)]
