"""The loop's side of its exchanges: a store that is away, one that is lost, and the end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_core import TO_MS
from test_core import Bench as CoreBench

from lycosa.archive.ledger import Ledger
from lycosa.engine.exchange import Exchange, Reply
from lycosa.engine.ledger_thread import LedgerLines
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.store_link import STOP_GRACE, StoreLink
from lycosa.errors import Fenced, StoreGone, engine_exit
from lycosa.frontier.backoff import Patience
from lycosa.records import Failure, Response


class Thread:
    """A store thread whose work is done when the test says so."""

    def __init__(self, bench: CoreBench) -> None:
        self.bench = bench
        self.busy = False
        self.error: Exception | None = None
        self.jobs: list[tuple[Exchange, bool]] = []
        self.reply: Reply | None = None

    def submit(self, exchange: Exchange, closing: bool = False) -> None:
        self.busy = True
        self.jobs.append((exchange, closing))

    def work(self) -> None:
        if self.error is not None:
            self.reply = Reply(self.bench.now, error=self.error)
        else:
            self.reply = self.bench.exchanger.perform(*self.jobs[-1])

    def poll(self) -> Reply | None:
        reply, self.reply = self.reply, None
        self.busy = self.busy and reply is None
        return reply


class Bench:
    def __init__(self, root: Path) -> None:
        self.core_bench = CoreBench(root / "crawl.sqlite")
        self.core = self.core_bench.core
        self.thread = Thread(self.core_bench)
        self.cancelled = 0
        ledger_lines = LedgerLines(Ledger(root, 1, 1 << 20), 70.0, StoreClock(TO_MS))
        self.link = StoreLink(
            1, self.core, self.thread, ledger_lines, Patience(180.0), self._cancel  # type: ignore[arg-type]
        )  # fmt: skip

    def _cancel(self) -> None:
        self.cancelled += 1

    @property
    def now(self) -> float:
        return self.core_bench.now

    def turn(self) -> bool:
        return self.link.turn(self.now)

    def exchange(self) -> None:
        assert self.turn() and self.thread.busy
        assert not self.turn(), "one at a time"
        self.thread.work()
        assert self.turn() and not self.thread.busy


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.core_bench.store.close()


def test_a_store_that_is_away_leaves_no_cycle(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was raised refers to the exchange that failed, with all its rows: nobody looks at what
    is in a cycle for long (`engine/memory`)."""

    def away(*args: object) -> None:
        raise StoreGone("away")

    bench.exchange()
    for verb in ("commit", "watch"):
        monkeypatch.setattr(bench.core_bench.exchanger.frontier, verb, away)
    bench.core_bench.now += 5
    gc.collect()
    gc.disable()
    try:
        bench.exchange()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = {type(each) for each in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left & {Reply, Exchange}


def test_an_exchange_brings_domains(bench: Bench) -> None:
    bench.core_bench.seed("https://a.test/")
    assert bench.link.due_at(bench.now) == float("-inf")
    bench.exchange()
    assert len(bench.core_bench.start()) == 1
    assert bench.link.due_at(bench.now) == bench.now + 1.0


def test_a_store_that_is_away_is_asked_again_the_same_after_a_while(bench: Bench) -> None:
    bench.thread.error = StoreGone("no route")
    for _ in range(5):
        bench.exchange()
        again = bench.link.due_at(bench.now)
        assert again is not None and not bench.turn()
        bench.core_bench.now = again - 0.01
        assert bench.link.due_at(bench.now) == again, "until then the loop may sleep"
        assert not bench.turn()
        bench.core_bench.now = again
    bench.thread.error = None
    bench.exchange()
    assert len(bench.thread.jobs) == 6 and len({id(each) for each, _ in bench.thread.jobs}) == 1
    assert bench.link.exit_code is None


def test_an_engine_that_was_declared_dead_ends_at_once(bench: Bench) -> None:
    error = bench.thread.error = Fenced("declared dead")
    bench.exchange()
    assert bench.link.exit_code == engine_exit(error) and bench.cancelled == 1


def test_a_fault_of_ours_is_not_hidden(bench: Bench) -> None:
    bench.thread.error = ValueError("a bug")
    bench.turn()
    bench.thread.work()
    with pytest.raises(ValueError, match="a bug"):
        bench.turn()


def test_after_a_stop_fetches_may_finish_and_then_everything_is_given_back(bench: Bench) -> None:
    bench.core_bench.seed("https://a.test/", "https://b.test/")
    bench.exchange()
    requests = bench.core_bench.start()
    bench.link.stop(bench.now)
    bench.link.stop(bench.now + 5.0)
    bench.core_bench.now += STOP_GRACE / 2
    bench.exchange()
    assert (bench.cancelled, bench.link.exit_code) == (0, None)
    bench.core_bench.now += STOP_GRACE / 2 + 0.1
    bench.turn()
    assert bench.cancelled == 1, "by the first stop, not the second"
    for request in requests:
        stopped = Response(request, failure=Failure.STOPPED, ended=bench.now)
        bench.core.answer(stopped, bench.now)
    while bench.link.exit_code is None:
        if bench.thread.busy:
            bench.thread.work()
        assert len(bench.thread.jobs) < 9
        bench.turn()
    assert bench.link.exit_code == 0 and bench.thread.jobs[-1][1]
    assert bench.core_bench.store.backlog()[0] == 2
