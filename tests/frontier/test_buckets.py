"""Links to domains that their finders do not hold: by buckets, in the hands of several engines. On
every store.

The rules are those that an attack on the design asked for (docs/decisions/0028).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from conftest import Bench, Store
from helpers import batch, names, part_of, release, under_way

from lycosa.errors import StoreGone
from lycosa.frontier import inbox
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import Batch, Committed
from lycosa.frontier.reader import Reader
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.records import Flag
from lycosa.urls.domains import domain_id
from support.logs import logs_of, queued_in, urls_in
from support.made import link, page_of
from support.tokens import check_tokens, unchecked


class Engine:
    """An engine with a connection of its own, whose links to others go into so many buckets."""

    def __init__(self, bench: Bench, buckets: int = 4, **rules: Any) -> None:
        self.store: Store = bench.another(buckets=buckets, **rules)
        self.id = self.store.register("host", 1)
        self.number = 0

    def commit(self, *urls: str, **parts: Any) -> Committed:
        self.number += 1
        found = [link(url, 1) for url in urls]
        return self.store.commit(self.id, batch(self.number, links=found, **parts))

    def post(self, *urls: str) -> int:
        """Put links on their way, and bring none; returns the key of the last row."""
        self.number += 1
        rows = inbox.rows_of([link(url, 1) for url in urls], 4, (self.id, self.number), 0)
        self._work(lambda now: part_of(self.store.commit)._inbox.post(rows))
        return rows[-1][0]

    def bring(self, bench: Bench, key: int) -> None:
        """Bring the links of one row."""
        found = part_of(self.store.commit)._inbox
        rows = bench.frontier.db.execute(
            f"SELECT key, data FROM inbox WHERE key = {key}"
        ).fetchall()
        mail = inbox.Mail().read(rows, 0)
        new = found._adder.new_to_logs(mail.links.values())
        made = inbox.Delivery(mail, new, new.chunks(0, bench.clock.ms))

        def brought(now: int) -> None:
            assert found.take(self.id, made, now)
            found._bring(self.id, made, now, Committed(now, 0, False, 0))

        self._work(brought)

    def _work(self, work: Callable[[int], Any]) -> None:
        """One transaction."""
        if isinstance(self.store, SqliteFrontier):
            with self.store.store.transaction(self.id) as now:
                work(now)
        else:
            self.store.store.transaction(work, self.id)

    @property
    def rounds(self) -> inbox.Rounds:
        found: inbox.Rounds = part_of(self.store.commit)._inbox.rounds
        return found

    def look_at(self, bench: Bench) -> None:
        """Its next look is at the first row there is."""
        ((first,),) = bench.frontier.db.execute("SELECT min(key) FROM inbox").fetchall()
        self.rounds._places[self.id] = first >> 53


@contextmanager
def between(engine: Engine, happens: Callable[[], Any]) -> Iterator[None]:
    """Between the plan of the engine's commit and its transaction something else happens."""
    planner = part_of(engine.store.commit)._planner
    plan = planner.plan

    def planned(*args: Any) -> Any:
        made = plan(*args)
        happens()
        return made

    planner.plan = planned
    yield
    planner.plan = plan


def on_their_way(bench: Bench) -> list[str]:
    rows = bench.frontier.db.execute("SELECT data FROM inbox ORDER BY key").fetchall()
    return [each[2] for (data,) in rows for each in inbox.unpacked(bytes(data))[0]]


def all_urls(bench: Bench) -> set[str]:
    return set(on_their_way(bench)) | urls_in(logs_of(bench.frontier))


def some_urls(count: int, begin: int = 0) -> list[str]:
    return [f"https://d{n}.test/{n}" for n in range(begin, begin + count)]


# -- nothing is lost between engines (rules 9 and 10) ----------------------------------------------


def test_who_finds_a_row_gone_leaves_the_others_where_they_are(bench: Bench) -> None:
    """One reads two rows; before it takes them another brings one of them, and a third comes."""
    other, engine = Engine(bench), Engine(bench)
    first = other.post("https://a.test/1")
    other.post("https://a.test/2")

    def one_is_brought() -> None:
        other.bring(bench, first)
        other.post("https://a.test/3")

    engine.look_at(bench)
    with between(engine, one_is_brought):
        result = engine.commit("https://b.test/own")
    assert not result.added, "nothing of what it read was brought"
    urls = {f"https://a.test/{n}" for n in (1, 2, 3)} | {"https://b.test/own"}
    assert all_urls(bench) == urls
    assert len(on_their_way(bench)) == 3
    drain(bench, engine)
    assert urls_in(logs_of(bench.frontier)) == urls


def drain(bench: Bench, engine: Engine) -> None:
    """Deliver all that is on its way."""
    while part_of(engine.store.commit)._inbox.deliver_for(engine.id):
        pass
    assert on_their_way(bench) == []


def test_two_engines_that_read_the_same_rows_bring_them_once(bench: Bench) -> None:
    one, two = Engine(bench), Engine(bench)
    urls = some_urls(40)
    one.commit(*urls)
    for engine in (one, two):
        engine.look_at(bench)
    before = one.rounds.look(one.id, 4, 1)["key"]
    with between(one, lambda: two.commit()):
        result = one.commit("https://own.test/")
    assert not result.added and "https://own.test/" in on_their_way(bench)
    assert one.rounds.look(one.id, 4, 1)["key"] != before, "it looks somewhere else"
    drain(bench, two)
    assert queued_in(bench.frontier) == {
        domain_id(each.split("/")[2]): 1 for each in [*urls, "https://own.test/"]
    }
    assert bench.frontier.backlog() == (41, 41)


def test_an_outcome_that_was_not_heard_of_posts_and_brings_nothing_twice(bench: Bench) -> None:
    engine = Engine(bench)
    engine.commit(*some_urls(30))
    left = Batch(number=2, links=[link(url, 1) for url in some_urls(30, 30)])
    for _ in range(3):
        engine.store.commit(engine.id, left)
    assert len(on_their_way(bench)) == len(set(on_their_way(bench)))
    assert all_urls(bench) == set(some_urls(60))
    drain(bench, engine)
    assert bench.frontier.backlog() == (60, 60)


# -- bounded, and never waited for (rules 11 to 14) ------------------------------------------------


@pytest.mark.parametrize("bench", ["postgres"], indirect=True)
def test_nobody_waits_for_an_engine_that_is_about_to_bring_rows(bench: Bench) -> None:
    """It may be stopped in the middle of its transaction."""
    finder, stopped, engine = Engine(bench), Engine(bench), Engine(bench)
    finder.post(*some_urls(40))
    stopped.look_at(bench)
    engine.look_at(bench)
    assert isinstance(stopped.store, PostgresFrontier)
    before = len(on_their_way(bench))
    with under_way(stopped.store, stopped.id, batch(1)):
        engine.commit("https://own.test/")
        assert len(on_their_way(bench)) == before + 1, "its rows are left to the other"
        assert len(engine.store.lease(engine.id, 99)) > 0, "it goes on with the other rows"
    drain(bench, engine)
    assert urls_in(logs_of(bench.frontier)) == {*some_urls(40), "https://own.test/"}
    assert bench.frontier.backlog() == (41, 41)


def test_one_transaction_brings_a_bounded_number_of_links(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder, engine = Engine(bench), Engine(bench)
    for number in range(20):
        finder.post(*[f"https://popular.test/{number}/{n}" for n in range(50)])
    monkeypatch.setattr(inbox, "MOST_LINKS", 100)
    left = len(on_their_way(bench))
    assert left == 1000
    while left:
        engine.commit()
        now_left = len(on_their_way(bench))
        assert 0 <= left - now_left <= 150
        left = now_left
    assert engine.number < 30
    assert queued_in(bench.frontier)[domain_id("popular.test")] == 1000


def test_who_is_handed_too_few_domains_brings_more_links(bench: Bench) -> None:
    finder, engine = Engine(bench, buckets=16), Engine(bench, buckets=16)
    finder.commit(*some_urls(200))
    assert len(on_their_way(bench)) > 100
    leases = engine.store.lease(engine.id, 500)
    assert sorted(names(leases)) == sorted(f"d{n}.test" for n in range(200))
    assert on_their_way(bench) == []
    # What came of it is told with the next commit.
    result = engine.commit()
    assert sum(result.added.values()) >= 100
    check_tokens(bench.frontier.db)


def test_who_is_handed_enough_leaves_links_for_later(bench: Bench) -> None:
    bench.frontier.add([link(url) for url in some_urls(10)])
    engine = Engine(bench, buckets=16)
    engine.commit(*some_urls(100, 100))
    assert len(engine.store.lease(engine.id, 5)) == 5
    assert len(on_their_way(bench)) > 50


@pytest.mark.parametrize("order", [(1024, 4, 1), (1, 4, 1024), (16, 1024, 1)])
def test_writers_and_readers_need_not_agree_how_many_buckets_there_are(
    bench: Bench, order: tuple[int, ...]
) -> None:
    urls = some_urls(300)
    engines = [Engine(bench, buckets=count) for count in order]
    for n, engine in enumerate(engines):
        engine.commit(*urls[100 * n : 100 * n + 100])
    for _ in range(1024):
        if not on_their_way(bench):
            break
        for engine in engines:
            engine.commit()
    assert urls_in(logs_of(bench.frontier)) == set(urls)
    assert bench.frontier.backlog() == (300, 300)


def test_a_small_crawl_brings_links_at_once(bench: Bench) -> None:
    engine = Engine(bench, buckets=0)
    result = engine.commit(*some_urls(200))
    assert sum(result.added.values()) == 200
    assert on_their_way(bench) == []


# -- as much as comes in ---------------------------------------------------------------------------


@pytest.mark.parametrize("bench", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("buckets", "domains", "links"), [(0, 2_500, 12_000), (16, 3_000, 9_000)])
def test_commits_bring_as_many_links_as_they_put_on_their_way(
    bench: Bench, buckets: int, domains: int, links: int
) -> None:
    """Enough domains are ready, so nobody delivers but commits; nearly all links are new, and more
    than one transaction delivers by itself."""
    if not buckets:
        bench.frontier.add([link(url) for url in some_urls(domains)])
    engine = Engine(bench, buckets=buckets)
    unchecked(engine.store)
    engine.commit()  # it hears how many domains there are
    count = buckets or 2
    for number in range(3 * count):
        engine.commit(*[f"https://d{n % domains}.test/{number}/{n}" for n in range(links)])
    rows = bench.frontier.db.execute("SELECT key, links FROM inbox").fetchall()
    waiting = [0] * count
    for key, some in rows:
        waiting[key * count >> 63] += some
    assert sum(waiting) < 0.75 * count * links, "of what came in a round, half is left"
    assert max(waiting) < 2 * links, waiting


def test_commits_come_to_every_bucket_though_each_is_refilled(bench: Bench) -> None:
    engine = Engine(bench)
    for n in range(8):
        engine.commit(*some_urls(60, 60 * n))
    assert set(some_urls(60)).isdisjoint(on_their_way(bench))


def test_links_to_what_an_engine_holds_are_not_put_on_their_way(bench: Bench) -> None:
    bench.frontier.add([link("https://a.test/")])
    engine = Engine(bench)
    assert engine.store.lease(engine.id, 1)
    assert engine.commit("https://a.test/new", "https://b.test/").added
    assert on_their_way(bench) == ["https://b.test/"]


@pytest.mark.parametrize("bench", ["postgres"], indirect=True)
def test_engines_that_bring_links_at_once_and_links_that_arrive_do_not_block_each_other(
    bench: Bench,
) -> None:
    """Domains are met in one order, whichever way their links came."""
    low, high = sorted(("d1.test", "d2.test"), key=domain_id)
    engines = [Engine(bench, buckets=1), Engine(bench, buckets=1)]
    arriving = {0: f"https://{low}/", 1: f"https://{high}/"}
    at_once = {0: f"https://{high}/x", 1: f"https://{low}/x"}
    asked: list[list[int]] = []
    for n, engine in enumerate(engines):
        Engine(bench).post(arriving[n])
        engine.look_at(bench)
        states = part_of(engine.store.commit)._adder.states

        def noted(ids: Any, states: Callable[[Any], Any] = states) -> Any:
            asked.append(sorted(ids))
            return states(ids)

        part_of(engine.store.commit)._adder.states = noted
        engine.commit(at_once[n])
    assert asked == [sorted((domain_id(low), domain_id(high)))] * 2, "one run through the domains"
    assert urls_in(logs_of(bench.frontier)) == {*arriving.values(), *at_once.values()}


# -- who sleeps, and who is woken (rules 15 to 19) -------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_a_delivered_link_keeps_a_domain_awake_that_the_same_commit_gives_back(
    bench: Bench, known: bool
) -> None:
    bench.frontier.add([link("https://a.test/")])
    engine, other = Engine(bench), Engine(bench)
    (lease,) = engine.store.lease(engine.id, 1)
    other.post("https://a.test/" if known else "https://a.test/new")
    engine.look_at(bench)
    engine.commit(pages=[page_of(lease.urls[0])], released=[release(lease, bench.clock.ms)])
    assert on_their_way(bench) == []
    check_tokens(bench.frontier.db)
    ((idle,),) = bench.frontier.db.execute("SELECT idle FROM domains").fetchall()
    assert bool(idle) == known
    assert bench.frontier.finished() == known


def test_a_new_domain_is_ready_since_its_link_was_found(bench: Bench) -> None:
    engine = Engine(bench)
    engine.commit("https://early.test/")
    found = bench.clock.ms
    bench.clock.pass_seconds(50)
    bench.frontier.add([link("https://late.test/")])
    bench.clock.pass_seconds(50)
    drain(bench, engine)
    leases = engine.store.lease(engine.id, 9)
    assert names(leases) == ["early.test", "late.test"]
    assert leases[0].ready_ms == found


def test_a_link_that_its_domain_knows_by_now_changes_nothing(bench: Bench) -> None:
    bench.frontier.add([link("https://a.test/")])
    engine = Engine(bench)
    (lease,) = engine.store.lease(engine.id, 1)
    Engine(bench).commit("https://a.test/")
    engine.commit(pages=[page_of(lease.urls[0])], released=[release(lease, bench.clock.ms)])
    drain(bench, engine)
    assert bench.frontier.finished()
    assert bench.frontier.backlog() == (0, 1)


# -- rules of the crawl, judged when a link arrives ------------------------------------------------


def test_what_arrives_is_judged_by_the_rules_and_counted(bench: Bench) -> None:
    bench.frontier.add([link("https://seed.test/", flags=Flag.SEED)], rank=0)
    finder = Engine(bench, seeded_only=True)
    finder.commit("https://seed.test/1", "https://found.test/1", "https://found.test/2")
    assert len(on_their_way(bench)) == 3
    engine = Engine(bench, seeded_only=True)
    drain(bench, engine)
    result = engine.commit()
    assert result.drops == {"not-seeded": 2}
    assert urls_in(logs_of(bench.frontier)) == {"https://seed.test/", "https://seed.test/1"}


def test_an_errand_is_queued_at_once(bench: Bench) -> None:
    engine = Engine(bench)
    errand = link("https://c.test/robots.txt", flags=Flag.ERRAND)
    engine.store.commit(engine.id, batch(1, errands=[errand]))
    assert "https://c.test/robots.txt" in urls_in(logs_of(bench.frontier))


# -- a store that is away, and what is told when ---------------------------------------------------


@pytest.mark.parametrize("fails", ["read", "lease"])
def test_who_can_not_deliver_still_hears_of_what_it_leased(bench: Bench, fails: str) -> None:
    """A lease got less than it asked for; then the store goes away while links are delivered, or
    while more is leased."""
    bench.frontier.add([link("https://a.test/")])
    engine = Engine(bench)
    Engine(bench).post(*some_urls(20))
    whole = part_of(engine.store.lease)
    part, name = (whole._inbox, "_read") if fails == "read" else (whole, "_lease")
    kept, calls = getattr(part, name), []

    def away(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == (1 if fails == "read" else 2):
            raise StoreGone("the server is away")
        return kept(*args)

    setattr(part, name, away)
    handed: list[str] = []
    for _ in range(3):  # as an engine does: it asks again with its next exchange
        with suppress(StoreGone):
            handed += names(engine.store.lease(engine.id, 50))
    ((held,),) = bench.frontier.db.execute("SELECT count(*) FROM held").fetchall()
    assert held == len(handed) == 21, "a domain is held, and nobody was told"


def test_what_a_delivery_drops_is_told_also_to_an_engine_that_commits_nothing(bench: Bench) -> None:
    bench.frontier.add([link("https://seed.test/")], rank=0)
    engine = Engine(bench, seeded_only=True)
    (lease,) = engine.store.lease(engine.id, 1)
    told = Committed(0, 0, False, 0)
    done, back = [page_of(lease.urls[0])], [release(lease, bench.clock.ms)]
    told.join(engine.commit("https://found.test/1", pages=done, released=back))
    assert engine.store.lease(engine.id, 9) == []
    assert bench.frontier.finished()
    for _ in range(3):
        told.join(engine.store.watch())
    assert told.drops == {"not-seeded": 1}


# -- the end, damage, and what people see (rules 33 and 36) ----------------------------------------


def test_a_crawl_with_links_on_their_way_has_not_ended(bench: Bench) -> None:
    engine = Engine(bench)
    engine.commit("https://a.test/")
    assert on_their_way(bench) and not logs_of(bench.frontier)
    assert not bench.frontier.finished()
    (lease,) = engine.store.lease(engine.id, 1)
    engine.commit(pages=[page_of(lease.urls[0])], released=[release(lease, bench.clock.ms)])
    assert bench.frontier.finished()


def test_a_damaged_row_costs_its_links_and_is_named(bench: Bench, reader: Reader) -> None:
    engine = Engine(bench, buckets=1024)
    urls = some_urls(30)
    engine.commit(*urls)
    ((key, data),) = bench.frontier.db.execute(
        "SELECT key, data FROM inbox ORDER BY key LIMIT 1"
    ).fetchall()
    lost = {each[2] for each in inbox.unpacked(bytes(data))[0]}
    broken = bytes(data[:-1]) + bytes([data[-1] ^ 1])
    mark = "?" if isinstance(bench.frontier, SqliteFrontier) else "%s"
    bench.frontier.db.execute(f"UPDATE inbox SET data = {mark} WHERE key = {mark}", (broken, key))
    bench.frontier.db.commit()
    drain(bench, engine)
    assert urls_in(logs_of(bench.frontier)) == set(urls) - lost
    assert reader.status()["damaged"] == 1
    ((kept,),) = bench.frontier.db.execute("SELECT data FROM damaged").fetchall()
    assert bytes(kept) == broken


@pytest.mark.parametrize("buckets", [4, 64, 1024])
def test_people_are_told_of_links_on_their_way(bench: Bench, reader: Reader, buckets: int) -> None:
    engine = Engine(bench, buckets=buckets)
    engine.commit(*some_urls(50))
    left = on_their_way(bench)
    assert reader.status()["on_their_way"] == len(left) > 0
    found = reader.find(left[-1])
    assert found["queue"] is None and found["on_its_way"] == link(left[-1], 1)
    assert reader.find("https://never.test/")["on_its_way"] is None
    drain(bench, engine)
    found = reader.find(left[-1])
    assert found["queue"] is not None and found["on_its_way"] is None
    assert reader.status()["on_their_way"] == 0


def test_why_finds_a_link_that_is_brought_meanwhile(
    bench: Bench, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(bench)
    engine.post("https://a.test/1")
    row = reader._queue_row

    def looked(*args: Any) -> Any:
        found = row(*args)
        drain(bench, engine)
        return found

    monkeypatch.setattr(reader, "_queue_row", looked)
    found = reader.find("https://a.test/1")
    assert found["queue"] or found["on_its_way"], "it is neither queued nor on its way"
