"""Each domain has one token: it is ready, held or idle. On every store.

The rule itself is checked after every step of all tests that use `bench` (`support.tokens`). Here
are the attacks on it, and what else follows from leases that lie apart from the rows of domains.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from conftest import Bench, Store
from helpers import batch, names, part_of, release

from lycosa.errors import Fenced, StoreError, StoreGone
from lycosa.frontier.keys import RULES_KEY
from lycosa.frontier.protocol import Change, Deferral, Link, Purge
from lycosa.frontier.reader import Reader
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.records import Flag, Lease, Origin
from lycosa.urls.domains import domain_id
from support.logs import queued_in
from support.made import link, page_of
from support.tokens import check_tokens

SECOND = 1000


def seed(bench: Bench, *urls: str) -> None:
    bench.frontier.add([link(url, flags=Flag.SEED) for url in urls], rank=0)


def sql(store: Store, statement: str) -> Any:
    said: Any = statement
    return store.db.execute(said)


def rows(store: Store, table: str) -> list[tuple[Any, ...]]:
    return sorted(sql(store, f"SELECT id FROM {table}").fetchall())


def one_visit(bench: Bench, engine_id: int, number: int, wait: float = 70.0) -> Lease:
    """An engine leases the one domain that is due, fetches a URL of it and gives it back."""
    (lease,) = bench.frontier.lease(engine_id, 1)
    back = release(lease, bench.clock.ms + round(1000 * wait))
    back.pages, back.queued = lease.pages + 1, lease.queued - 1
    done = page_of(lease.urls[0])
    bench.frontier.commit(engine_id, batch(number, pages=[done], released=[back]))
    return lease


# -- one token (rule 1) -------------------------------------------------------------------------


def test_a_domain_that_two_engines_find_at_once_gets_in_line_once(bench: Bench) -> None:
    """Each commits links to domains that nobody knows yet; both are ready to go at one moment."""
    stores = [bench.another(), bench.another()]
    engines = [store.register("host", 1) for store in stores]
    links = [[link(f"https://d{n}.test/{e}", 1) for n in range(200)] for e in engines]
    start = threading.Barrier(len(stores))
    errors: list[BaseException] = []

    def work(store: Store, engine_id: int, found: list[Link]) -> None:
        try:
            start.wait(10)
            bench.clock.pass_seconds(0.001)  # their moments differ
            store.commit(engine_id, batch(1, links=found))
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=work, args=each)
        for each in zip(stores, engines, links, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    check_tokens(bench.frontier.db)
    assert len(rows(bench.frontier, "ready")) == 200
    assert bench.frontier.backlog() == (400, 200)


class Walk:
    """Random steps of three engines and a supervisor over a few domains."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.chance = random.Random(seed)
        self.store = bench.another(max_pages_per_domain=self.chance.choice([0, 12]))
        self.numbers: dict[int, int] = {}
        self.held: dict[int, dict[int, Lease]] = {}
        self.count = 0
        self.done: list[tuple[int, int]] = []

    def engine(self) -> int:
        if len(self.held) < 3:
            engine_id = self.store.register("host", 1)
            self.numbers[engine_id], self.held[engine_id] = 0, {}
        return self.chance.choice(list(self.held))

    def urls(self, most: int) -> list[Link]:
        chosen = [self.chance.randrange(12) for _ in range(self.chance.randrange(most))]
        self.count += len(chosen)
        return [link(f"https://d{n}.test/{self.count + i}", 1) for i, n in enumerate(chosen)]

    def lease(self) -> None:
        engine_id = self.engine()
        leases = self.store.lease(engine_id, self.chance.choice([1, 3, 20]))
        assert all(lease.ready_ms <= self.bench.clock.ms for lease in leases)
        taken = {ident for held in self.held.values() for ident in held}
        assert not taken & {lease.domain_id for lease in leases}
        self.held[engine_id].update({lease.domain_id: lease for lease in leases})

    def commit(self) -> None:
        engine_id, now = self.engine(), self.bench.clock.ms
        parts: dict[str, Any] = {"links": self.urls(6)}
        for lease in list(self.held[engine_id].values()):
            self.visit(lease, parts, now)
            if self.chance.random() < 0.8:
                back = release(lease, now + self.chance.choice([0, 1, 70, 300]) * SECOND)
                back.failures = self.chance.choice([0, 0, 0, 2])
                parts.setdefault("released", []).append(back)
                del self.held[engine_id][lease.domain_id]
        self.numbers[engine_id] += 1
        self.store.commit(engine_id, batch(self.numbers[engine_id], **parts))

    def visit(self, lease: Lease, parts: dict[str, Any], now: int) -> None:
        what, ident = self.chance.random(), lease.domain_id
        for url in lease.urls[: self.chance.randrange(3)]:
            lease.urls.remove(url)
            if what < 0.3:
                until = now + self.chance.choice([1, 100, 2000]) * SECOND
                parts.setdefault("deferred", []).append(Deferral(ident, url, until, 1))
            else:
                parts.setdefault("pages", []).append(page_of(url))
                self.done.append((ident, url.fp))
        if what > 0.95:
            parts.setdefault("purges", []).append(Purge(ident, "", "connect"))

    def rescue(self) -> None:
        dead = self.engine()
        names = [f"d{self.chance.randrange(12)}.test" for _ in range(2)]
        delays = {name: self.chance.choice([1, 500]) * SECOND for name in names}
        assert self.store.rescue([dead], delays) == len(self.held.pop(dead))
        assert self.store.rescue([dead]) == 0
        with pytest.raises(Fenced):
            self.store.commit(dead, batch(self.numbers[dead] + 1))

    def add(self) -> None:
        found, rank = self.urls(8), self.chance.choice([None, self.count])
        self.store.add(found, rank=rank)

    def requeue(self) -> None:
        self.chance.shuffle(self.done)
        self.store.requeue([self.done.pop() for _ in range(min(3, len(self.done)))])

    def postpone(self) -> None:
        until = self.bench.clock.ms + self.chance.choice([0, 40, 400]) * SECOND
        self.store.postpone([(domain_id(f"d{self.chance.randrange(12)}.test"), until)])

    def steer(self) -> None:
        before, delay = self.store.rules.delay_ms, self.chance.choice([5, 70, 200]) * SECOND
        self.store.steer(lambda look, now: Change({}, (before, delay)))
        self.store.obey(replace(self.store.rules, delay_ms=delay))

    def end(self) -> None:
        assert self.store.finished() is (
            not rows(self.store, "ready")
            and not rows(self.store, "held")
            and not queued_in(self.store)
        )

    def step(self) -> None:
        steps: list[Callable[[], None]] = [self.lease, self.commit, self.lease, self.commit]
        rare = [self.rescue, self.add, self.requeue, self.postpone, self.steer, self.end]
        self.chance.choice(steps if self.chance.random() < 0.8 else rare)()
        self.bench.clock.pass_seconds(self.chance.choice([0, 0.001, 1, 30, 90]))


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_each_domain_has_one_token(bench: Bench, seed: int) -> None:
    """The connection checks each step; nothing is lost on the way either."""
    print(f"seed {seed}")
    bench.frontier.put_settings({RULES_KEY: 1})
    walk = Walk(bench, seed)
    for _ in range(250):
        walk.step()
    for engine_id in list(walk.held):
        walk.store.rescue([engine_id])
    assert rows(walk.store, "held") == []
    asleep = {row[0] for row in sql(walk.store, "SELECT id FROM domains WHERE idle").fetchall()}
    assert asleep.isdisjoint(queued_in(walk.store))


# -- a lease heals (rule 2) ---------------------------------------------------------------------

PLANTED = {
    "held": "INSERT INTO held (id, engine_id) SELECT id, 77 FROM domains WHERE name = 'd1.test'",
    "idle": "UPDATE domains SET idle = TRUE WHERE name = 'd1.test'",
    "unknown": "INSERT INTO ready (ready_at, id) VALUES (1, 12345)",
    "twice": "INSERT INTO ready (ready_at, id) SELECT 2, id FROM domains WHERE name = 'd1.test'",
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_lease_takes_a_second_token_out_of_line_and_goes_on(
    bench: Bench, planted: str, caplog: pytest.LogCaptureFixture
) -> None:
    seed(bench, *(f"https://d{n}.test/" for n in range(4)))
    engine_id = bench.frontier.register("host", 1)
    sql(bench.frontier, PLANTED[planted])
    leases = bench.frontier.lease(engine_id, 10)  # and each domain has one token afterwards
    others = {"d0.test", "d2.test", "d3.test"}
    assert set(names(leases)) == (others if planted in ("held", "idle") else others | {"d1.test"})
    assert len(leases) == len(set(names(leases)))
    assert [each.levelname for each in caplog.records if "two tokens" in each.message] == ["ERROR"]


# -- the hold is checked (rule 3) ---------------------------------------------------------------


@pytest.mark.parametrize("part", ["pages", "deferred", "released"])
def test_what_an_engine_does_not_hold_it_can_not_commit(bench: Bench, part: str) -> None:
    seed(bench, "https://a.test/", "https://a.test/2", "https://b.test/")
    one, two = (bench.frontier.register("host", 1) for _ in range(2))
    lease = next(each for each in bench.frontier.lease(one, 2) if each.name == "a.test")
    url = lease.urls[0]
    parts: dict[str, Any] = {
        "pages": [page_of(url)],
        "deferred": [Deferral(lease.domain_id, url, bench.clock.ms + 1000, 1)],
        "released": [release(lease, bench.clock.ms)],
    }
    before = rows(bench.frontier, "held")
    with pytest.raises(Fenced):
        bench.frontier.commit(two, batch(1, **{part: parts[part]}, links=[link("https://c.test/")]))
    assert rows(bench.frontier, "held") == before
    assert bench.frontier.backlog() == (3, 2)  # nothing of it was applied
    assert bench.frontier.commit(one, batch(1, **parts)).total_pages == 1


# -- a second look at politeness (rules 4 and 5) ------------------------------------------------


def test_a_lease_looks_once_more_when_a_visit_may_begin(bench: Bench) -> None:
    """Those first in line were told to wait for longer: those behind them are handed out."""
    seed(bench, *(f"https://d{n}.test/" for n in range(10)))
    later = bench.clock.ms + 40_000
    bench.frontier.postpone([(domain_id(f"d{n}.test"), later) for n in range(6)])
    engine_id = bench.frontier.register("host", 1)
    first = bench.frontier.lease(engine_id, 3)
    assert names(first) == ["d6.test", "d7.test", "d8.test"]
    assert names(bench.frontier.lease(engine_id, 3)) == ["d9.test"]
    bench.clock.pass_seconds(39.999)
    assert bench.frontier.lease(engine_id, 9) == []
    bench.clock.pass_seconds(0.001)
    waited = bench.frontier.lease(engine_id, 9)
    assert len(waited) == 6
    assert {lease.ready_ms for lease in waited} == {later}


def test_who_is_idle_hears_of_it_too(bench: Bench) -> None:
    seed(bench, "https://a.test/")
    engine_id = bench.frontier.register("host", 1)
    one_visit(bench, engine_id, 1)
    bench.frontier.postpone([(domain_id("a.test"), bench.clock.ms + 300_000)])
    bench.frontier.commit(engine_id, batch(2, links=[link("https://a.test/new", 1)]))
    bench.clock.pass_seconds(299)
    assert bench.frontier.lease(engine_id, 1) == []
    bench.clock.pass_seconds(1)
    assert len(bench.frontier.lease(engine_id, 1)) == 1


def test_who_is_held_hears_of_it_too(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://a.test/2")
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    bench.frontier.postpone([(lease.domain_id, bench.clock.ms + 300_000)])
    bench.frontier.commit(engine_id, batch(1, released=[release(lease, bench.clock.ms + 70_000)]))
    bench.clock.pass_seconds(299)
    assert bench.frontier.lease(engine_id, 1) == []
    bench.clock.pass_seconds(1)
    assert len(bench.frontier.lease(engine_id, 1)) == 1


def test_a_domain_that_only_waits_and_is_woken_keeps_its_delay(bench: Bench) -> None:
    seed(bench, "https://a.test/1")
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    wait = Deferral(lease.domain_id, lease.urls[0], bench.clock.ms + 9_000_000, 1)
    back = release(lease, bench.clock.ms + 70_000)
    bench.frontier.commit(engine_id, batch(1, deferred=[wait], released=[back]))
    bench.frontier.postpone([(lease.domain_id, bench.clock.ms + 90_000)])
    bench.frontier.commit(engine_id, batch(2, links=[link("https://a.test/2", 1)]))
    bench.clock.pass_seconds(89)
    assert bench.frontier.lease(engine_id, 1) == []
    bench.clock.pass_seconds(1)
    assert len(bench.frontier.lease(engine_id, 1)) == 1


# -- takeover (rule 6) --------------------------------------------------------------------------


def test_a_second_rescuer_makes_nothing_ready(bench: Bench) -> None:
    seed(bench, "https://a.test/", "https://b.test/")
    dead = bench.frontier.register("host", 1)
    bench.frontier.lease(dead, 2)
    other = bench.another()
    assert bench.frontier.rescue([dead]) == 2
    assert other.rescue([dead]) == 0
    bench.clock.pass_seconds(70)
    heir = bench.frontier.register("host", 1)
    assert len(bench.frontier.lease(heir, 9)) == 2
    assert other.rescue([dead]) == 0  # they are another's by now
    assert len(rows(bench.frontier, "held")) == 2


def test_a_takeover_waits_for_the_longest_of_all_that_is_known(bench: Bench) -> None:
    seed(bench, *(f"https://{name}.test/{n}" for name in "abc" for n in range(2)))
    dead, heir = (bench.frontier.register("host", 1) for _ in range(2))
    bench.frontier.lease(dead, 3)
    bench.frontier.commit(dead, batch(1, delays=[(domain_id("b.test"), 90_000)]))
    bench.frontier.postpone([(domain_id("c.test"), bench.clock.ms + 110_000)])
    bench.frontier.rescue([dead])
    for seconds, name in ((70, "a.test"), (20, "b.test"), (20, "c.test")):
        bench.clock.pass_seconds(seconds - 0.001)
        assert bench.frontier.lease(heir, 9) == []
        bench.clock.pass_seconds(0.001)
        assert names(bench.frontier.lease(heir, 9)) == [name]


# -- waking (rule 7) ----------------------------------------------------------------------------


def test_a_url_for_a_domain_that_waited_and_is_held_makes_no_second_token(bench: Bench) -> None:
    seed(bench, "https://a.test/1")
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    wait = Deferral(lease.domain_id, lease.urls[0], bench.clock.ms + 100_000, 1)
    back = release(lease, bench.clock.ms + 70_000)
    bench.frontier.commit(engine_id, batch(1, deferred=[wait], released=[back]))
    bench.clock.pass_seconds(100)
    (again,) = bench.frontier.lease(engine_id, 1)
    bench.another().add([link("https://a.test/2")])
    assert rows(bench.frontier, "ready") == []
    back = release(again, bench.clock.ms + 70_000)
    bench.frontier.commit(engine_id, batch(2, released=[back]))
    bench.clock.pass_seconds(70)
    (last,) = bench.frontier.lease(engine_id, 1)
    assert {url.url for url in last.urls} == {"https://a.test/1", "https://a.test/2"}


def test_a_url_does_not_move_a_domain_back_that_waited_and_is_due(bench: Bench) -> None:
    seed(bench, "https://a.test/1", "https://b.test/1")
    engine_id = bench.frontier.register("host", 1)
    leases = bench.frontier.lease(engine_id, 2)
    now = bench.clock.ms
    waits = [Deferral(each.domain_id, each.urls[0], now + 100_000 + n, 1)
             for n, each in enumerate(leases)]  # fmt: skip
    back = [release(each, now + 70_000) for each in leases]
    bench.frontier.commit(engine_id, batch(1, deferred=waits, released=back))
    bench.clock.pass_seconds(200)
    bench.frontier.commit(engine_id, batch(2, links=[link("https://a.test/2", 1)]))
    again = bench.frontier.lease(engine_id, 2)
    assert names(again) == ["a.test", "b.test"]  # the longest waiting first
    assert len(again[0].urls) == 2


# -- held but not known to us (rule 8) ----------------------------------------------------------


def test_domains_whose_lease_was_not_heard_of_are_handed_out_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a lease brings is read when it is committed already: that may fail."""
    seed(bench, *(f"https://d{n}.test/" for n in range(3)))
    store, errands = bench.frontier, part_of(bench.frontier.claim)
    engine_id = store.register("host", 1)
    assert names(store.lease(engine_id, 1)) == ["d0.test"]

    def fails(leases: list[Lease]) -> None:
        raise StoreGone("The disk is gone.")

    with monkeypatch.context() as patch:
        patch.setattr(errands, "tell_answers", fails)
        with pytest.raises(StoreGone):
            store.lease(engine_id, 2)
    assert len(rows(store, "held")) == 3
    again = store.lease(engine_id, 2)
    assert set(names(again)) == {"d1.test", "d2.test"}
    assert all(lease.urls for lease in again)
    assert store.lease(engine_id, 2) == []


def test_what_the_budget_for_robots_rules_does_not_pay_for_stays_in_line(bench: Bench) -> None:
    seed(bench, *(f"https://d{n}.test/" for n in range(5)))
    store = bench.another(robots_bytes=2500)
    engine_id = store.register("host", 1)
    leases = store.lease(engine_id, 5)
    known = [(each.domain_id, Origin(f"https://{each.name}", 1, 200, b"r" * 1000))
             for each in leases]  # fmt: skip
    back = [release(each, n) for n, each in enumerate(leases)]
    store.commit(engine_id, batch(1, origins=known, released=back))
    line = sql(store, "SELECT ready_at FROM ready ORDER BY ready_at")
    assert [at for (at,) in line.fetchall()] == [0, 1, 2, 3, 4]
    for left in ([2, 3, 4], [4], []):
        store.lease(engine_id, 5)
        line = sql(store, "SELECT ready_at FROM ready ORDER BY ready_at")
        assert [at for (at,) in line.fetchall()] == left


# -- the end (rule 36) --------------------------------------------------------------------------


def test_a_crawl_has_not_ended_while_seeds_are_loaded(bench: Bench) -> None:
    assert bench.frontier.finished()
    bench.frontier.put_settings({"loading:here": bench.clock.ms})
    assert not bench.frontier.finished()
    bench.clock.pass_seconds(bench.rules.lease_ms / 1000)  # nobody heard of that node since
    assert bench.frontier.finished()
    bench.frontier.put_settings({"loading:here": bench.clock.ms})
    bench.frontier.put_settings({"loading:here": 0})
    assert bench.frontier.finished()


@pytest.mark.parametrize("bench", ["sqlite"], indirect=True)
def test_the_end_is_asked_for_in_one_statement(bench: Bench) -> None:
    """Between two, a link might move from what is looked at late to what was looked at early."""
    said: list[str] = []
    assert isinstance(bench.frontier, SqliteFrontier)
    finished = bench.frontier.finished.__wrapped__  # type: ignore[attr-defined]
    bench.frontier.db.set_trace_callback(said.append)
    assert finished()
    bench.frontier.db.set_trace_callback(None)
    assert len(said) == 1
    assert all(f"FROM {table}" in said[0] for table in ("ready", "held", "domains", "crawl"))


# -- rows of domains ----------------------------------------------------------------------------


def test_counts_are_not_lost_though_the_row_is_seldom_written(bench: Bench, reader: Reader) -> None:
    seed(bench, *(f"https://a.test/{n}" for n in range(60)))
    engine_id = bench.frontier.register("host", 1)
    for number in range(50):
        lease = one_visit(bench, engine_id, number + 1)
        assert lease.pages == number
        assert lease.queued == 60 - number
        bench.clock.pass_seconds(70)
    told = reader.domain("a.test")
    assert told is not None
    assert (told["pages"], told["queued"]) == (50, 10)  # it is in line, and found there
    (value,) = [value for name, value in reader.survey.top_domains("pages", 9) if name == "a.test"]
    assert 20 <= value <= 50  # lists are made of rows
    assert told["outcomes"] == {"ok": 50}


def test_counts_survive_a_takeover(bench: Bench) -> None:
    seed(bench, *(f"https://a.test/{n}" for n in range(30)))
    for number in range(12):
        engine_id = bench.frontier.register("host", 1)
        one_visit(bench, engine_id, 1, wait=0)
        dead = bench.frontier.register("host", 1)
        (lease,) = bench.frontier.lease(dead, 1)
        assert (lease.pages, lease.queued) == (number + 1, 29 - number)
        bench.frontier.rescue([dead])
        bench.clock.pass_seconds(70)


def test_pages_that_are_taken_back_while_their_domain_is_in_line_do_not_count(bench: Bench) -> None:
    seed(bench, *(f"https://a.test/{n}" for n in range(30)))
    engine_id = bench.frontier.register("host", 1)
    done = []
    for number in range(11):
        lease = one_visit(bench, engine_id, number + 1)
        done.append((lease.domain_id, lease.urls[0].fp))
        bench.clock.pass_seconds(70)
    bench.frontier.requeue(done[:4])
    (lease,) = bench.frontier.lease(engine_id, 1)
    assert lease.pages == 7


@pytest.mark.parametrize("bench", ["sqlite"], indirect=True)
def test_a_visit_writes_no_row_of_domains(bench: Bench) -> None:
    """But when its counts are far from what the row says."""
    seed(bench, *(f"https://d{d}.test/{n}" for d in range(40) for n in range(50)))
    engine_id = bench.frontier.register("host", 1)
    sql(bench.frontier, "CREATE TEMP TABLE written (id)")
    sql(
        bench.frontier,
        "CREATE TEMP TRIGGER noted AFTER UPDATE ON main.domains"
        " BEGIN INSERT INTO written VALUES (new.id); END",
    )
    for number in range(1, 21):
        leases = bench.frontier.lease(engine_id, 40)
        assert len(leases) == 40
        back = []
        for lease in leases:
            each = release(lease, bench.clock.ms + 70_000)
            back.append(replace(each, pages=lease.pages + 1, queued=lease.queued - 1))
        pages = [page_of(lease.urls[0]) for lease in leases]
        bench.frontier.commit(engine_id, batch(number, pages=pages, released=back))
        bench.clock.pass_seconds(70)
    (written,) = sql(bench.frontier, "SELECT count(*) FROM written").fetchone()
    assert written == 40  # at nine pages, which are far from none


def test_with_a_page_limit_the_row_is_exact(bench: Bench, reader: Reader) -> None:
    bench.frontier.obey(replace(bench.rules, max_pages_per_domain=1000))
    seed(bench, *(f"https://a.test/{n}" for n in range(30)))
    engine_id = bench.frontier.register("host", 1)
    for number in range(1, 25):
        one_visit(bench, engine_id, number)
        told = reader.domain("a.test")
        assert told is not None and told["pages"] == number
        bench.clock.pass_seconds(70)


# -- what people see of the line ----------------------------------------------------------------


def test_the_place_in_line_is_told_as_far_as_it_is_looked_for(bench: Bench, reader: Reader) -> None:
    seed(bench, *(f"https://d{n}.test/{m}" for n in range(8) for m in range(2)))
    engine_id = bench.frontier.register("host", 1)
    leases = bench.frontier.lease(engine_id, 7)
    now = bench.clock.ms
    back = [release(lease, now + 1000 * (n + 1)) for n, lease in enumerate(leases[:6])]
    bench.frontier.commit(engine_id, batch(1, released=back))
    ids = [domain_id(f"d{n}.test") for n in range(8)]
    found = reader.survey.domains_of(ids)
    assert [found[ident]["behind"] for ident in ids] == [0] * 8
    assert [found[ident]["ready_at"] for ident in ids[:6]] == [now + 1000 * n for n in range(1, 7)]
    assert [bool(found[ident]["engine_id"]) for ident in ids] == [False] * 6 + [True, False]
    near = reader.survey.domains_of(ids, most=3)  # d7, which was never visited, d0 and d1
    assert [near[ident]["behind"] for ident in ids] == [0, 0, 3, 3, 3, 3, 0, 0]
    assert now + 2000 <= near[ids[5]]["ready_at"] <= now + 6000  # no later than it is
    bench.frontier.postpone([(ids[0], now + 50_000)])
    assert reader.survey.domains_of(ids)[ids[0]]["ready_at"] == now + 50_000


def test_who_only_waits_for_a_retry_is_found_behind_all_others(
    bench: Bench, reader: Reader
) -> None:
    seed(bench, *(f"https://d{n}.test/" for n in range(4)))
    engine_id = bench.frontier.register("host", 1)
    (lease,) = bench.frontier.lease(engine_id, 1)
    due = bench.clock.ms + 900_000
    wait = Deferral(lease.domain_id, lease.urls[0], due, 1)
    back = release(lease, bench.clock.ms + 70_000)
    bench.frontier.commit(engine_id, batch(1, deferred=[wait], released=[back]))
    (told,) = reader.survey.domains_of([lease.domain_id], most=1).values()
    assert (told["ready_at"], told["behind"]) == (due, 0)


def test_a_failed_step_leaves_all_tokens_where_they_were(bench: Bench) -> None:
    """A commit that fails after its releases."""
    seed(bench, "https://a.test/", "https://b.test/")
    engine_id = bench.frontier.register("host", 1)
    leases = bench.frontier.lease(engine_id, 2)
    back = [release(each, bench.clock.ms) for each in leases]
    with pytest.raises(StoreError):
        bench.frontier.commit(engine_id, batch(1, released=back, segments=[(None, None, 1, 1)]))
    check_tokens(bench.frontier.db)
    assert len(rows(bench.frontier, "held")) == 2
