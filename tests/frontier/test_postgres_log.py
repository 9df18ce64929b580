"""The logs of domains on a server: what engines that meet there do to them, and what a damaged
chunk costs. All with connections of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from conftest import Clock
from helpers import batch, names, part_of, release, under_way

from lycosa.errors import Fenced, StoreGone
from lycosa.frontier.log.domain_log import delivery
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import Deferral, StoreRules
from lycosa.records import Lease, Url
from lycosa.urls.domains import domain_id
from support.logs import logs_of, queued_in
from support.made import link, page_of
from support.tokens import check_tokens

RULES = StoreRules(delay_ms=70_000, lease_ms=180_000)
A = domain_id("a.test")


@dataclass
class Crowd:
    """Three connections to one store, with one clock: an engine, another one, and somebody who
    looks."""

    clock: Clock
    holder: PostgresFrontier
    finder: PostgresFrontier
    looker: PostgresFrontier
    engines: tuple[int, int] = (0, 0)

    def hold(self, *urls: str) -> list[Lease]:
        """The holder has the domains of these URLs."""
        self.looker.add([link(url) for url in urls], rank=0)
        return self.holder.lease(self.engines[0], 100)

    def finish(self, lease: Lease, number: int = 1) -> None:
        """The holder gives a domain back, all of whose URLs are done."""
        pages = [page_of(url) for url in lease.urls]
        back = [release(lease, self.clock.ms)]
        self.holder.commit(self.engines[0], batch(number, pages=pages, released=back))

    def tokens(self) -> tuple[int, int, int]:
        """How many domains are ready, held and idle."""
        counts = "SELECT (SELECT count(*) FROM ready), (SELECT count(*) FROM held), count(*) FROM"
        ready, held, idle = self.sql(f"{counts} domains WHERE idle")[0]
        return ready, held, idle

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        done = self.looker.db.execute(statement.encode())
        return done.fetchall() if done.description else []


@pytest.fixture
def crowd(postgres_url: str) -> Iterator[Crowd]:
    clock = Clock()
    stores = [PostgresFrontier(postgres_url, RULES, clock, create=True) for _ in range(3)]
    made = Crowd(clock, stores[0], stores[1], stores[2])
    made.engines = made.holder.register("host", 1), made.finder.register("host", 2)
    yield made
    check_tokens(made.looker.db)
    for store in stores:
        store.close()


def planned_first(
    store: PostgresFrontier, monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]
) -> None:
    """Something happens between the plan of the next commit and its transaction."""
    planner = part_of(store.commit)._planner
    plan = planner.plan

    def both(*args: Any) -> Any:
        monkeypatch.undo()
        made = plan(*args)
        then()
        return made

    monkeypatch.setattr(planner, "plan", both)


# -- idle against delivery (rule 16) ------------------------------------------------------------


def test_the_end_waits_for_a_delivery_that_saw_a_domain_awake(crowd: Crowd) -> None:
    (lease,) = crowd.hold("https://a.test/")
    with under_way(crowd.finder, crowd.engines[1], batch(1, links=[link("https://a.test/new", 1)])):
        crowd.finish(lease)
        assert crowd.tokens() == (0, 0, 1)
        assert not crowd.looker.finished()
        assert not crowd.looker.finished()
        assert crowd.tokens() == (0, 0, 1)
    assert not crowd.looker.finished()
    assert crowd.tokens() == (1, 0, 0)
    (again,) = crowd.holder.lease(crowd.engines[0], 1)
    assert [url.url for url in again.urls] == ["https://a.test/new"]


def test_a_delivery_that_began_after_its_domain_fell_asleep_is_waited_for_too(
    crowd: Crowd,
) -> None:
    """It has a higher number than the transaction that puts the domain to sleep, and found it awake
    all the same: that one was not yet committed."""
    (lease,) = crowd.hold("https://a.test/")
    back = [release(lease, crowd.clock.ms)]
    sleeps = batch(1, pages=[page_of(lease.urls[0])], released=back)
    with ExitStack() as finder:
        with under_way(crowd.holder, crowd.engines[0], sleeps):
            new = batch(1, links=[link("https://a.test/new", 1)])
            finder.enter_context(under_way(crowd.finder, crowd.engines[1], new))
        assert crowd.tokens() == (0, 0, 1)
        assert not crowd.looker.finished()
        assert not crowd.looker.finished()
        assert crowd.tokens() == (0, 0, 1)
    assert not crowd.looker.finished()
    assert crowd.tokens() == (1, 0, 0)


def test_who_put_it_to_sleep_may_die(crowd: Crowd) -> None:
    (lease,) = crowd.hold("https://a.test/")
    with under_way(crowd.finder, crowd.engines[1], batch(1, links=[link("https://a.test/new", 1)])):
        crowd.finish(lease)
        crowd.holder.close()
    other = crowd.engines[1]
    for number in (2, 3):
        crowd.clock.pass_seconds(2)
        crowd.finder.commit(other, batch(number))
    assert names(crowd.finder.lease(other, 1)) == ["a.test"]


def test_who_only_waits_for_a_retry_is_woken_too(crowd: Crowd) -> None:
    (lease,) = crowd.hold("https://a.test/")
    wait = Deferral(A, lease.urls[0], crowd.clock.ms + 9_000_000, 1)
    back = [release(lease, crowd.clock.ms)]
    with under_way(crowd.finder, crowd.engines[1], batch(1, links=[link("https://a.test/new", 1)])):
        crowd.holder.commit(crowd.engines[0], batch(1, deferred=[wait], released=back))
    assert crowd.holder.lease(crowd.engines[0], 1) == []
    for number in (2, 3):
        crowd.clock.pass_seconds(2)
        crowd.finder.commit(crowd.engines[1], batch(number))
    (again,) = crowd.holder.lease(crowd.engines[0], 1)
    assert [url.url for url in again.urls] == ["https://a.test/new"]


def test_seeds_on_their_way_are_waited_for_too(crowd: Crowd) -> None:
    """Whoever adds them has no fence, which would give its transaction a number."""
    (lease,) = crowd.hold("https://a.test/")
    adder = part_of(crowd.finder.add)
    new = adder.new_to_logs([link("https://a.test/new")])
    states = adder.states
    with crowd.finder.db.transaction():

        def and_then_it_sleeps(ids: Any) -> Any:
            found = states(ids)
            crowd.finish(lease)
            assert not crowd.looker.finished()
            return found

        adder.states = and_then_it_sleeps
        adder.add_links(new, crowd.clock.ms)
        assert not crowd.looker.finished()
    assert not crowd.looker.finished()
    assert crowd.tokens() == (1, 0, 0)


def test_a_crawl_ends_at_once_if_nobody_else_writes(crowd: Crowd) -> None:
    (lease,) = crowd.hold("https://a.test/")
    crowd.finish(lease)
    assert crowd.looker.finished()
    assert crowd.sql("SELECT * FROM asleep") == []
    assert crowd.looker.backlog() == (0, 1)


def test_the_end_does_not_wait_for_ever_for_a_stranger(crowd: Crowd, postgres_server: str) -> None:
    """Some other program on the server may be hours in a transaction."""
    (lease,) = crowd.hold("https://a.test/")
    with psycopg.connect(postgres_server) as stranger:
        stranger.execute("SELECT pg_current_xact_id()")
        crowd.finish(lease)
        assert not crowd.looker.finished()
        crowd.clock.pass_seconds(601)
        assert crowd.looker.finished()


def test_what_comes_between_plan_and_transaction_keeps_a_domain_awake(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lease,) = crowd.hold("https://a.test/")
    new = batch(1, links=[link("https://a.test/new", 1)])
    planned_first(crowd.holder, monkeypatch, lambda: crowd.finder.commit(crowd.engines[1], new))
    crowd.finish(lease)
    assert crowd.tokens() == (1, 0, 0)
    (again,) = crowd.holder.lease(crowd.engines[0], 1)
    assert [url.url for url in again.urls] == ["https://a.test/new"]


def test_a_sleeper_that_nobody_knows_of_is_found_at_the_end(crowd: Crowd) -> None:
    (lease,) = crowd.hold("https://a.test/")
    crowd.finish(lease)
    assert crowd.looker.finished()
    crowd.sql("UPDATE domains SET queued = 1")
    assert not crowd.looker.finished()
    assert crowd.tokens() == (1, 0, 0)


# -- late deliveries (rules 17, 20, 22) ---------------------------------------------------------


def test_a_lower_number_that_is_committed_later_is_read(crowd: Crowd) -> None:
    """Two deliveries: the one with the lower number ends after the holder has read the other."""
    (lease,) = crowd.hold("https://a.test/")
    first = batch(1, links=[link("https://a.test/first", 1)])
    with under_way(crowd.finder, crowd.engines[1], first):
        crowd.looker.add([link("https://a.test/second")])
        numbers = [row[0] for row in crowd.sql("SELECT seq FROM log ORDER BY seq")]
        pages = [page_of(lease.urls[0])]
        crowd.holder.commit(crowd.engines[0], batch(1, pages=pages))
        found = crowd.holder.refill([A])[A]
        assert [url.url for url in found] == ["https://a.test/second"]
    missing = [row[0] for row in crowd.sql("SELECT seq FROM log ORDER BY seq")]
    assert min(set(missing) - set(numbers)) < max(numbers)
    found = crowd.holder.refill([A])[A]
    assert {url.url for url in found} == {"https://a.test/first", "https://a.test/second"}
    lease.urls = found
    crowd.finish(lease, 2)
    assert crowd.looker.finished()
    assert crowd.looker.backlog() == (0, 1)


def test_the_same_url_from_two_sides_is_fetched_once_and_counted_once(crowd: Crowd) -> None:
    (lease,) = crowd.hold("https://a.test/")
    same = link("https://a.test/same", 1)
    with under_way(crowd.finder, crowd.engines[1], batch(1, links=[same])):
        done = [page_of(lease.urls[0])]
        crowd.holder.commit(crowd.engines[0], batch(1, pages=done, links=[same]))
    assert crowd.looker.backlog() == (2, 1)  # until somebody folds them
    (url,) = lease.urls = crowd.holder.refill([A])[A]
    assert url.url == "https://a.test/same"
    crowd.finish(lease, 2)
    assert crowd.looker.backlog() == (0, 1)
    assert crowd.looker.finished()
    ((chunks,),) = crowd.sql("SELECT count(*) FROM log")
    assert chunks == 1  # rule 28


def test_numbers_come_one_at_a_time(crowd: Crowd) -> None:
    """Rule 21: no engine keeps some back."""
    assert crowd.sql("SELECT cache_size FROM pg_sequences WHERE sequencename = 'log_seq_seq'") == [
        (1,)
    ]


def test_a_page_is_taken_back_while_its_domain_is_held(crowd: Crowd) -> None:
    """The holder folds what it read meanwhile, and does not forget it."""
    (lease,) = crowd.hold("https://a.test/1", "https://a.test/2")
    first, second = lease.urls
    crowd.holder.commit(crowd.engines[0], batch(1, pages=[page_of(first)]))
    assert crowd.looker.requeue([(A, first.fp)]) == {"ok": 1}
    lease.urls = [second]
    crowd.finish(lease, 2)
    assert crowd.tokens() == (1, 0, 0)
    (again,) = crowd.holder.lease(crowd.engines[0], 1)
    assert ([url.fp for url in again.urls], again.pages) == ([first.fp], 1)
    crowd.finish(again, 3)
    assert crowd.looker.backlog() == (0, 1)
    assert crowd.looker.totals()[0] == 2


# -- an unknown domain (rule 1) -----------------------------------------------------------------


def test_two_engines_deliver_to_an_unknown_domain(crowd: Crowd) -> None:
    """The second waits for the first, whose domain it is."""
    one, two = (batch(1, links=[link(f"https://a.test/{n}", 1)]) for n in (1, 2))
    second = threading.Thread(target=crowd.finder.commit, args=(crowd.engines[1], two))
    with under_way(crowd.holder, crowd.engines[0], one):
        second.start()
        second.join(0.5)
        assert second.is_alive()
    second.join(10)
    assert crowd.tokens() == (1, 0, 0)
    assert crowd.looker.backlog() == (2, 1)
    assert queued_in(crowd.looker) == {A: 2}


def test_an_unknown_domain_that_was_found_and_done_meanwhile_wakes(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    adder = part_of(crowd.finder.add)
    states = adder.states

    def and_then_another_has_it(ids: Any) -> Any:
        found = states(ids)
        assert found == {}
        (lease,) = crowd.hold("https://a.test/")
        crowd.finish(lease)
        assert crowd.tokens() == (0, 0, 1)
        return found

    monkeypatch.setattr(adder, "states", and_then_another_has_it)
    crowd.finder.commit(crowd.engines[1], batch(1, links=[link("https://a.test/new", 1)]))
    assert crowd.tokens() == (1, 0, 0)
    (again,) = crowd.holder.lease(crowd.engines[0], 1)
    assert [url.url for url in again.urls] == ["https://a.test/new"]


# -- the holder alone changes a log (rule 3) ----------------------------------------------------


def folding(crowd: Crowd) -> Lease:
    """A domain of which the next commit folds chunks."""
    (lease,) = crowd.hold("https://a.test/0")
    for n in range(1, 8):
        crowd.looker.add([link(f"https://a.test/{n}")])
    return lease


def test_a_chunk_that_is_gone_ends_the_engine_and_nothing_is_applied(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = folding(crowd)
    gone = "DELETE FROM log WHERE seq = (SELECT min(seq) FROM log)"
    planned_first(crowd.holder, monkeypatch, lambda: crowd.sql(gone))
    with pytest.raises(Fenced):
        crowd.holder.commit(crowd.engines[0], batch(1, pages=[page_of(lease.urls[0])]))
    assert crowd.sql("SELECT count(*) FROM log") == [(7,)]
    assert crowd.looker.totals()[0] == 0
    assert crowd.tokens() == (0, 1, 0)


def test_a_transaction_that_lost_is_tried_again_with_the_same_plan(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = folding(crowd)
    commits = part_of(crowd.holder.commit)
    apply, tries = commits._apply, []

    def once_lost(*args: Any) -> None:
        apply(*args)
        tries.append(args[2])
        if len(tries) == 1:
            crowd.looker.add([link("https://a.test/late")])
            raise psycopg.errors.DeadlockDetected("lost")

    monkeypatch.setattr(commits, "_apply", once_lost)
    page, found = page_of(lease.urls[0]), link("https://b.test/", 1)
    result = crowd.holder.commit(crowd.engines[0], batch(1, pages=[page], links=[found]))
    assert tries[0] is tries[1] and len(tries) == 2
    assert result.total_pages == 1
    assert queued_in(crowd.looker) == {A: 8, domain_id("b.test"): 1}
    assert crowd.sql(f"SELECT count(*) FROM log WHERE domain_id = {A}") == [(2,)]


def test_a_fold_whose_outcome_was_not_heard_is_not_done_twice(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F5: the batch's number decides."""
    lease = folding(crowd)
    commits = part_of(crowd.holder.commit)
    apply = commits._apply_once

    def then_lose(*args: Any) -> Any:
        apply(*args)
        crowd.holder.db.execute("COMMIT")
        crowd.holder.db.close()
        raise psycopg.OperationalError("the connection is lost")

    new = batch(1, pages=[page_of(lease.urls[0])], released=[release(lease, crowd.clock.ms)])
    monkeypatch.setattr(commits, "_apply_once", then_lose)
    with pytest.raises(StoreGone):
        crowd.holder.commit(crowd.engines[0], new)
    monkeypatch.undo()
    before = crowd.sql("SELECT domain_id, seq FROM log ORDER BY seq")
    assert crowd.holder.commit(crowd.engines[0], new).total_pages == 1
    assert crowd.sql("SELECT domain_id, seq FROM log ORDER BY seq") == before
    assert crowd.looker.backlog() == (7, 1)
    assert crowd.tokens() == (1, 0, 0)


# -- damage (rule 33) ---------------------------------------------------------------------------

OTHER = delivery(domain_id("other.test"), 0, 1, [(0, 1, Url("https://other.test/"), 0, "", 0)])[0]


def test_a_chunk_of_another_domain_is_damage_here(crowd: Crowd) -> None:
    crowd.looker.add([link(f"https://{name}.test/") for name in "abc"], rank=0)
    crowd.looker.add([link("https://a.test/2")])
    first = f"(SELECT min(seq) FROM log WHERE domain_id = {A})"
    crowd.sql(f"UPDATE log SET data = '\\x{OTHER.hex()}' WHERE seq = {first}")
    leases = crowd.holder.lease(crowd.engines[0], 10)
    assert {lease.name: len(lease.urls) for lease in leases} == {
        "a.test": 1,
        "b.test": 1,
        "c.test": 1,
    }
    # Others can still bring it links.
    crowd.finder.commit(crowd.engines[1], batch(1, links=[link("https://a.test/3", 1)]))
    pages = [page_of(url) for lease in leases for url in lease.urls]
    back = [release(lease, crowd.clock.ms) for lease in leases]
    crowd.holder.commit(crowd.engines[0], batch(1, pages=pages, released=back))
    ((ident, why),) = crowd.sql("SELECT domain_id, why FROM damaged")
    assert ident == A and why
    assert not any(log.damaged for log in logs_of(crowd.looker).values())
    (last,) = crowd.holder.lease(crowd.engines[0], 10)
    assert [url.url for url in last.urls] == ["https://a.test/3"]
    crowd.finish(last, 2)
    assert crowd.looker.finished()
