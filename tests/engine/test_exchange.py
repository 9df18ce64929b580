"""What an engine exchanges with the store: content first, then the commit, then more work."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lycosa.archive.audit import audit_visits
from lycosa.archive.ledger import Ledger, read_visits
from lycosa.archive.segments import SegmentWriter, segment_name
from lycosa.archive.text import iter_rows
from lycosa.engine.exchange import Exchange, Exchanger, StoreThread
from lycosa.errors import StoreError
from lycosa.frontier.protocol import Batch, Committed, StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.metrics import Stats
from lycosa.records import Flag, Lease, PageRow
from lycosa.urls.scope import Scope, ScopeRules
from support.made import block, link, made_row, page_of

NOW_MS = 1_800_000_000_000


class Watched(SqliteFrontier):
    """A store that can fail before or after a commit, and remembers what was on disk then."""

    fail_before = fail_after = False
    text_at_commit = rows_at_commit = -1
    root = Path()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._commit, self.commit = self.commit, self._watched

    def _watched(self, engine_id: int, batch: Batch) -> Committed:
        files = list((self.root / "text").glob("*"))
        self.text_at_commit = sum(file.stat().st_size for file in files)
        self.rows_at_commit = sum(len(page.text_row) for page in batch.pages)
        if self.fail_before:
            raise StoreError("gone before")
        result = self._commit(engine_id, batch)
        if self.fail_after:
            raise StoreError("gone after")
        return result


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path / "crawl.sqlite", StoreRules(), lambda: NOW_MS, create=True)
    made.root = tmp_path
    yield made
    made.close()


def exchanger(store: Watched, root: Path, renew_every: float = 0.0) -> Exchanger:
    engine_id = store.register("t", 1)
    text = SegmentWriter(root, "text", engine_id, 1 << 30)
    return Exchanger(store, engine_id, lambda: 1.0, text, renew_every=renew_every)


def leased(store: Watched, work: Exchanger, *urls: str) -> Lease:
    store.add([link(url, flags=Flag.SEED) for url in urls], rank=0)
    (lease,) = work.perform(Exchange(Batch(stats=Stats().to_dict()), want=5)).leases
    return lease


def kept(lease: Lease, place: int, order: int | None = None) -> PageRow:
    url = lease.urls[place]
    page = page_of(url, fetched_ms=NOW_MS)
    page.order = url.order if order is None else order
    page.text_row = made_row(url.url, "hello")
    return page


def batch_of(*pages: PageRow) -> Batch:
    stats = Stats(pages=len(pages), ok=len(pages), outcomes={"ok": len(pages)})
    return Batch(pages=list(pages), stats=stats.to_dict())


def texts(store: Watched, root: Path) -> list[str]:
    known = store.committed_segments()
    committed = {segment_name(kind, number): size for (kind, number), size in known.items()}
    return [row["url"] for row in iter_rows(root, committed)]


def test_content_is_on_disk_before_the_commit(store: Watched, tmp_path: Path) -> None:
    work = exchanger(store, tmp_path)
    lease = leased(store, work, "https://a.test/")
    reply = work.perform(Exchange(batch_of(kept(lease, 0))))
    assert reply.error is None
    assert store.text_at_commit > 0 and store.rows_at_commit == 0  # nor is it kept in memory
    assert texts(store, tmp_path) == ["https://a.test/"]


@pytest.mark.parametrize("fault", ["fail_before", "fail_after"])
def test_a_commit_of_unknown_outcome_is_neither_lost_nor_applied_twice(
    store: Watched, tmp_path: Path, fault: str
) -> None:
    """F5: the batch is tried again as it is; its text is not written again."""
    work = exchanger(store, tmp_path)
    lease = leased(store, work, "https://a.test/")
    exchange = Exchange(batch_of(kept(lease, 0)))
    setattr(store, fault, True)
    assert isinstance(work.perform(exchange).error, StoreError)
    setattr(store, fault, False)
    assert work.perform(exchange).error is None
    assert store.totals()[0] == 1
    assert texts(store, tmp_path) == ["https://a.test/"]


def test_a_redirect_to_a_page_that_is_done_keeps_no_text_twice(
    store: Watched, tmp_path: Path
) -> None:
    work = exchanger(store, tmp_path)
    lease = leased(store, work, "https://a.test/")
    work.perform(Exchange(batch_of(kept(lease, 0))))
    again = batch_of(kept(lease, 0, order=-1))
    reply = work.perform(Exchange(again))
    assert [page.url for page in reply.skipped] == ["https://a.test/"]
    assert texts(store, tmp_path) == ["https://a.test/"]
    assert (again.stats["pages"], again.stats["ok"], again.stats["outcomes"]["ok"]) == (0, 0, 0)


def test_two_redirects_to_one_page_in_a_batch_keep_it_once(store: Watched, tmp_path: Path) -> None:
    work = exchanger(store, tmp_path)
    lease = leased(store, work, "https://a.test/")
    pages = [kept(lease, 0, order=-1), kept(lease, 0, order=-1)]
    work.perform(Exchange(batch_of(*pages)))
    assert texts(store, tmp_path) == ["https://a.test/"]


def test_nothing_to_say_needs_no_commit_while_the_lease_is_fresh(
    store: Watched, tmp_path: Path
) -> None:
    work = exchanger(store, tmp_path, renew_every=9.0)
    work.perform(Exchange(Batch(stats={})))
    store.fail_before = True
    reply = work.perform(Exchange(Batch(stats={})))
    assert reply.error is None
    assert reply.sent == 1.0


def test_the_store_thread_answers_and_wakes_the_loop(store: Watched, tmp_path: Path) -> None:
    woken = threading.Event()
    thread = StoreThread(exchanger(store, tmp_path), woken.set)
    assert thread.poll() is None
    thread.submit(Exchange(Batch(stats={})))
    assert thread.busy
    assert woken.wait(10)
    reply = thread.poll()
    assert reply is not None and reply.error is None
    assert not thread.busy
    thread.close()


def test_the_store_thread_works_in_shifts_and_syncs_off_shift(
    store: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, woken = exchanger(store, tmp_path), threading.Event()
    shifts, seen = work.shifts, []
    sync, commit = work._sync_all, work._commit

    def committing(*args: Any) -> None:
        seen.append(("begins", shifts._store_has_it))
        commit(*args)

    def syncing(closing: bool) -> Any:
        seen.append(("syncs", shifts._store_has_it))
        return sync(closing)

    monkeypatch.setattr(work, "_commit", committing)
    monkeypatch.setattr(work, "_sync_all", syncing)
    thread = StoreThread(work, woken.set)
    thread.submit(Exchange(Batch(stats={})))
    assert woken.wait(10)
    reply = thread.poll()
    assert reply is not None and reply.error is None
    assert seen == [("begins", True), ("syncs", False)]
    assert not shifts._shift.locked()
    thread.close()


class Remote(SqliteFrontier):
    """A store with a clock of its own, whose next answer may be long in coming."""

    server_clock = True


@pytest.mark.parametrize(
    ("took", "ahead", "known"),
    [
        (0.2, 500, 700),  # the answer came soon: counted from the question
        (5.0, 500, 700),  # late, after a new connection: what was known before is still possible
        (5.0, 9000, 9000),  # the server's clock was set: at least this much, by its answer
        (5.0, -9000, -4000),  # or at most this much
    ],
)
def test_a_late_answer_does_not_move_the_clock(
    tmp_path: Path, took: float, ahead: int, known: int
) -> None:
    now, differs = [100.0], [500]

    def store_now() -> int:
        now[0] += waits.pop() if waits else 0.0
        return NOW_MS + int(now[0] * 1000) + differs[0]

    waits: list[float] = []
    store = Remote(tmp_path / "crawl.sqlite", StoreRules(), store_now, create=True)
    work = Exchanger(store, store.register("t", 1), lambda: now[0])
    waits.append(0.2)
    first = work.perform(Exchange(Batch(stats=Stats().to_dict())))
    assert first.clock is not None and round(first.clock.ahead_ms - NOW_MS) == 700
    differs[0] = ahead
    waits.append(took)
    second = work.perform(Exchange(Batch(stats=Stats().to_dict())))
    assert second.clock is not None and round(second.clock.ahead_ms - NOW_MS) == known
    store.close()


@pytest.mark.parametrize("seed", range(5))
def test_answers_that_come_late_raise_no_false_alarm(tmp_path: Path, seed: int) -> None:
    """A second's delay between visits, and answers that take up to that long after an outage."""
    dice = random.Random(seed)
    now, latency = [100.0], [0.005]

    def store_now() -> int:
        now[0] += latency[0]
        return NOW_MS + int(now[0] * 1000)

    store = Remote(tmp_path / "crawl.sqlite", StoreRules(), store_now, create=True)
    engine_id = store.register("t", 1)
    work = Exchanger(store, engine_id, lambda: now[0])
    book = Ledger(tmp_path, engine_id, 1 << 20)
    clock = work.perform(Exchange(Batch(stats=Stats().to_dict()))).clock
    assert clock is not None
    for turn in range(60):
        late = 20 < turn < 25 or dice.random() < 0.1
        latency[0] = dice.uniform(0.3, 0.99) if late else dice.uniform(0.001, 0.02)
        start = clock.ms(now[0])
        book.started([("a.test", start)])
        now[0] += dice.uniform(0.01, 0.3)
        book.ended("a.test", start, clock.ms(now[0]), 1, "", "ok")
        ready = now[0] + 1.0
        reply = work.perform(Exchange(Batch(stats=Stats().to_dict())))
        assert reply.clock is not None
        if reply.clock.ahead_ms != clock.ahead_ms:
            book.clock("here", reply.clock.ahead_ms, reply.clock.doubt_ms)
        clock = reply.clock
        now[0] = max(now[0], ready)
    book.close()
    report = audit_visits(read_visits(tmp_path), 1.0, tolerance_ms=50)
    assert (report.visits, report.too_soon, report.overlaps) == (60, 0, 0)
    store.close()


@pytest.mark.parametrize("seed", range(20))
def test_the_gap_between_two_clocks_is_known_as_well_as_it_says(seed: int) -> None:
    from lycosa.clock import DRIFT_MS, SLIP_MS, ClockGap

    dice = random.Random(seed)
    gap, now, true = ClockGap(), 50.0, 1_000_000.0
    changes, last = 0, 0.0
    drift = dice.uniform(-DRIFT_MS, DRIFT_MS)  # ms a second
    for turn in range(2000):
        wait = dice.uniform(0.5, 1.5) if turn % 500 else 300.0
        now, true = now + wait, true + drift * wait
        there, back = dice.expovariate(100), dice.expovariate(100)
        if dice.random() < 0.05:
            there += dice.uniform(0, 30)  # a new connection
        read_at = round((now + there) * 1000 + true)
        gap.measure(read_at, now, now + there + back)
        changes += gap.value != last
        last = gap.value
        assert true - SLIP_MS - 1 <= gap.value <= true + gap.doubt + 1
        now += there + back
    assert changes < 200, "or every ledger is full of it"


def test_a_clock_that_was_set_is_followed() -> None:
    from lycosa.clock import ClockGap

    gap = ClockGap()
    assert gap.measure(1_000_500, 1000.0, 1000.01) == 500
    assert gap.measure(1_002_500, 1002.0, 1003.5) == 500, "nothing new"
    assert gap.measure(1_015_000, 1010.0, 1010.01) == 5000
    assert gap.doubt < 20


def test_new_exclusions_are_made_ready_beside_the_loop(store: Watched, tmp_path: Path) -> None:
    """A hundred thousand lines take the loop's thread no time: it gets a scope that is ready."""
    engine_id = store.register("t", 1)
    work = Exchanger(store, engine_id, lambda: 1.0, scope=Scope(ScopeRules(max_depth=3)))
    store.put_exclusions(["bad.test"])
    store.put_settings({"rules_version": 1})
    reply = work.perform(Exchange(Batch(stats=Stats().to_dict())))
    assert reply.error is None and reply.scope is not None
    assert reply.scope.rules.max_depth == 3
    assert reply.scope.refuses("http://bad.test/", "bad.test", "bad.test", 0, True) == "excluded"
    assert work.perform(Exchange(Batch(stats=Stats().to_dict()))).scope is None


def test_what_is_committed_is_freed_and_what_failed_is_kept(store: Watched, tmp_path: Path) -> None:
    """In the store thread, some at a time: freeing thousands of rows would hold the loop."""
    work = exchanger(store, tmp_path)
    lease = leased(store, work, "http://a.test/1")
    batch = batch_of(kept(lease, 0))
    batch.links = [link(f"http://b.test/{n}", depth=1) for n in range(2500)]
    batch.blocks = [block([link(f"http://a.test/{n}", depth=1)]) for n in range(2500)]
    store.fail_before = True
    exchange = Exchange(batch)
    assert work.perform(exchange).error is not None
    assert (len(batch.pages), len(batch.links), len(batch.blocks)) == (1, 2500, 2500)
    store.fail_before = False
    assert work.perform(exchange).error is None
    assert (batch.pages, batch.links, batch.blocks) == ([], [], [])
    assert store.totals()[0] == 1
