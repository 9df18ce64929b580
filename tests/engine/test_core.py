"""An engine without its edges."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from lycosa.engine.actions import NOTHING, Actions
from lycosa.engine.core import SHARE_WAIT, Core, CoreRules
from lycosa.engine.exchange import Exchange, Exchanger
from lycosa.engine.harvest import Harvest, HarvestRules
from lycosa.engine.scheduler import Scheduler
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.visit import Visit
from lycosa.engine.visit_result import VisitRules
from lycosa.frontier.protocol import Batch, StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.records import Failure, Flag, Request, Response
from lycosa.urls.scope import Scope, ScopeRules
from support.made import block, link, queued

TO_MS = 1_800_000_000_000.0


class Bench:
    """A core on a real store, with time in the test's hands."""

    def __init__(
        self,
        path: Path,
        *,
        fetches: int = 100,
        address: str = "",
        ip_delay: float = 0.0,
        **rules: int,
    ) -> None:
        self.now = 1000.0
        self.store = SqliteFrontier(
            path, StoreRules(), lambda: int(self.now * 1000 + TO_MS), create=True
        )
        self.store.db.execute("PRAGMA synchronous = OFF")
        scope = Scope(ScopeRules())
        harvest = Harvest(HarvestRules(), scope, lambda request: b"", iter(()))
        core_rules = CoreRules(VisitRules(70.0), ip_delay=ip_delay, **rules)
        self.core = Core(
            core_rules, Scheduler(70.0, fetches), harvest, scope, StoreClock(TO_MS),
            address_of=lambda url: address,
        )  # fmt: skip
        self.exchanger = Exchanger(self.store, self.store.register("t", 1), lambda: self.now)
        self.exchanges = 0

    def seed(self, *urls: str) -> None:
        self.store.add([link(url, flags=Flag.SEED) for url in urls], rank=0)

    def ask(self) -> None:
        self.exchanges += 1
        reply = self.exchanger.perform(self.core.exchange(self.now))
        assert reply.error is None, reply.error
        self.core.absorb(reply, self.now)

    def start(self) -> list[Request]:
        found: list[Request] = []
        while more := self.core.start(self.now).requests:
            found += more
        return found

    def answer(
        self, request: Request, status: int = 404, body: bytes = b"", more: bytes = b""
    ) -> list[Request]:
        head = b"HTTP/1.1 %d X\r\nContent-Type: text/html\r\n%s\r\n" % (status, more)
        response = Response(request, status, head, body, started=self.now, ended=self.now)
        return list(self.core.answer(response, self.now).requests)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "crawl.sqlite")
    yield made
    made.store.close()


def test_one_exchange_feeds_a_thousand_fetches(tmp_path: Path) -> None:
    """Fetches never touch the store: its calls don't grow with their number."""
    bench = Bench(tmp_path / "crawl.sqlite", fetches=1000)
    bench.seed(*(f"https://d{n}.test/" for n in range(1000)))
    bench.ask()
    requests = bench.start()
    assert len(requests) == 1000
    for robots in requests:
        for page in bench.answer(robots):
            bench.answer(page, 200, b"<p>hello")
    bench.ask()
    assert bench.exchanges == 2
    assert bench.store.totals()[0] == 1000


def alive() -> int:
    """Responses and visits that something still holds."""
    return sum(isinstance(each, Response | Visit) for each in gc.get_objects())


def test_a_body_is_free_when_its_visit_is_over(bench: Bench) -> None:
    """Not only when the garbage collector comes, which is seldom: until then they pile up."""
    bench.seed(*(f"https://d{n}.test/" for n in range(50)))
    bench.ask()
    gc.collect()
    gc.disable()
    before = alive()
    try:
        for robots in bench.start():
            (page,) = bench.answer(robots)
            (target,) = bench.answer(page, 301, more=b"Location: /x\r\n")
            assert bench.answer(target, 200, b"<p>hello") == []
        del robots, page, target
        assert alive() == before
    finally:
        gc.enable()


def test_nothing_is_started_without_a_lease(bench: Bench) -> None:
    bench.seed("https://a.test/")
    bench.core.scheduler.add([], 0, bench.now, 0)
    assert bench.start() == []


def test_nothing_is_started_that_could_outlive_the_lease(bench: Bench) -> None:
    """P4: the lease counts from the moment its renewal was sent, less a margin."""
    bench.seed("https://a.test/")
    bench.ask()
    assert bench.core.deadline == bench.now + 180 - 5
    bench.now += 180 - 5 - 90 + 0.001
    assert bench.start() == []
    bench.ask()
    assert len(bench.start()) == 1


def test_what_happens_after_a_commit_was_cut_goes_into_the_next(bench: Bench) -> None:
    bench.seed("https://a.test/", "https://b.test/")
    bench.ask()
    one, two = bench.start()
    (page,) = bench.answer(one)
    bench.answer(page, 200, b"<a href=/x>x</a>")
    exchange = bench.core.exchange(bench.now)
    (page,) = bench.answer(two)
    bench.answer(page, 200, b"<p>late")
    assert len(exchange.batch.pages) == 1
    assert len(bench.core.outbox.batch.pages) == 1


def test_a_failed_commit_is_tried_again_and_applied_once(bench: Bench) -> None:
    """F5: the same batch with the same number, whatever became of the first try."""
    bench.seed("https://a.test/")
    bench.ask()
    (robots,) = bench.start()
    (page,) = bench.answer(robots)
    bench.answer(page, 200, b"<p>hello")
    exchange = bench.core.exchange(bench.now)
    first = bench.exchanger.perform(exchange)
    again = bench.exchanger.perform(Exchange(exchange.batch))
    assert first.error is None and again.error is None
    assert bench.store.totals()[0] == 1


def test_the_page_limit_is_shared_and_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "crawl.sqlite", max_pages=5, engines=2)
    bench.seed(*(f"https://d{n}.test/" for n in range(20)))
    bench.ask()
    asked = bench.now
    assert bench.core.due_at(asked) == asked + 1.0
    assert len(bench.start()) == 3
    # The other engine may have nothing to visit: a new share is asked for soon.
    assert bench.core.due_at(asked) == asked + SHARE_WAIT


def test_the_last_page_of_the_limit_is_not_left_to_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "crawl.sqlite", max_pages=1, engines=8)
    bench.seed("https://a.test/")
    bench.ask()
    assert len(bench.start()) == 1


def test_shared_hosting_is_visited_one_after_the_other(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "crawl.sqlite", ip_delay=1.0, address="192.0.2.1")
    bench.seed(*(f"https://d{n}.test/" for n in range(3)))
    bench.ask()
    started = []
    for _ in range(30):
        for request in bench.start():
            started.append(bench.now)
            bench.core.answer(Response(request, failure="connect", ended=bench.now), bench.now)
        bench.now += 0.1
    assert [round(t - 1000, 1) for t in started] == [0.0, 1.0, 2.0]


def test_stopping_gives_everything_back(bench: Bench) -> None:
    bench.seed(*(f"https://d{n}.test/" for n in range(10)))
    bench.ask()
    requests = bench.start()
    bench.core.stop()
    for request in requests:
        bench.core.answer(Response(request, failure=Failure.STOPPED, ended=bench.now), bench.now)
    bench.ask()
    assert bench.core.idle
    held = bench.store.db.execute("SELECT count(*) FROM held").fetchone()
    assert held == (0,)
    assert bench.store.backlog()[0] == 10


def test_a_fault_of_ours_costs_one_url_and_not_the_engine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    bench.core._bug = told.append
    bench.seed("https://a.test/", "https://b.test/", "https://c.test/")
    bench.ask()
    one, two, three = bench.start()
    (page,) = bench.answer(one)
    monkeypatch.setattr("lycosa.engine.harvest.parse", lambda *args, **more: 1 / 0)
    bench.answer(page, 200, b"<p>hello")
    monkeypatch.setattr("lycosa.politeness.robots.parse_robots", lambda *args, **more: 1 / 0)
    bench.answer(two, 200, b"User-agent: *")
    outcomes = [(row.url, row.outcome) for row in bench.core.outbox.batch.pages]
    assert outcomes == [("https://a.test/", "bug"), ("https://b.test/", "bug")]
    assert len(told) == 2
    assert bench.core.scheduler.visiting == 1
    assert bench.answer(three)


def test_a_domain_whose_address_is_unknown_waits_for_it(tmp_path: Path) -> None:
    """Shared hosting is respected at first contact too."""
    bench = Bench(tmp_path / "crawl.sqlite", ip_delay=1.0)
    bench.core._address_of = lambda url: None
    bench.seed("https://a.test/", "https://b.test/")
    bench.ask()
    actions = bench.core.start(bench.now)
    (first, go), (second, wait) = actions.lookups
    assert (first, second) == ("a.test", "b.test") and actions == Actions(lookups=actions.lookups)
    assert len(go("192.0.2.1", bench.now).requests) == 1
    assert wait("192.0.2.1", bench.now) == NOTHING
    assert bench.core.scheduler.next_time() == bench.now + 1.0


def test_a_slow_store_stops_new_visits_before_memory_is_full(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "crawl.sqlite")
    bench.seed(*(f"https://d{n}.test/" for n in range(3)))
    bench.ask()
    bench.core.outbox.bytes = 64 << 20
    assert bench.start() == []
    assert bench.core.due(bench.now)


def test_an_empty_batch_says_so() -> None:
    assert Batch().empty()
    assert not Batch(dropped=[(1, queued("https://a.test/"), "x")]).empty()
    assert not Batch(blocks=[block([link("https://a.test/")])]).empty()


def test_visits_wait_for_a_store_that_is_behind(bench: Bench) -> None:
    """What waits for it may take two seconds; a store that is away says nothing of its speed."""
    bench.seed(*(f"http://d{n}.test/" for n in range(30)))
    bench.ask()
    core = bench.core
    core.outbox.backlog.settled(100, 40_000, 20.0)
    core.outbox.batch.links = [link("http://x.test/", depth=1)] * 10_000
    core.outbox.batch.take(block([link("http://x.test/", depth=1)] * 20_000))
    assert bench.start() == [] and core.waits_for_store(bench.now)
    core.outbox.backlog.away()
    assert len(core.start(bench.now).requests) > 0
    core.outbox.backlog.settled(100, 40_000, 20.0)
    core.outbox.cut()
    assert len(bench.start()) > 0 and not core.waits_for_store(bench.now)


def test_a_clock_that_is_seen_anew_during_a_visit_counts_at_once(bench: Bench) -> None:
    """The server's clock was set an hour ahead while a robots.txt was on its way; its site asks for
    ten minutes. By the clock from before the visit they were over fifty minutes ago."""
    bench.seed("https://a.test/")
    bench.ask()
    (robots,) = bench.start()
    reply = bench.exchanger.perform(bench.core.exchange(bench.now))
    reply.clock = StoreClock(TO_MS + 3_600_000)
    bench.core.absorb(reply, bench.now)
    bench.answer(robots, 503, more=b"Retry-After: 600\r\n")
    ((_, origin),) = bench.core.outbox.batch.origins
    assert origin.retry_ms == bench.core.clock.ms(bench.now) + 600_000
