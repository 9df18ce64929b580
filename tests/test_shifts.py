"""The loop and the store thread work one at a time, and neither waits for the other for long."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from lycosa import shifts
from lycosa.shifts import LEAST, PATIENCE, REST, SAVED, SHARE, SHIFT, Shifts

LONG = 30.0  # seconds: no test waits for as long unless something is wrong

needed = pytest.mark.skipif(not Shifts()._needed, reason="both threads can run without the GIL")


@contextmanager
def store_thread(work: Callable[[], None]) -> Iterator[threading.Thread]:
    """Work for the store thread, which is over at the end."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield thread
    thread.join(LONG)
    assert not thread.is_alive()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop waits for as long as it takes: a busy machine may keep a thread for 20 ms."""
    for name in ("PATIENCE", "SAVED"):
        monkeypatch.setattr(shifts, name, LONG)


@needed
@pytest.mark.usefixtures("patient")
def test_only_one_of_them_works_at_a_time() -> None:
    both = Shifts()
    turns_over = threading.Semaphore(0)
    working: list[str] = []
    met: list[list[str]] = []

    def works(name: str) -> None:
        working.append(name)
        if len(working) > 1:
            met.append(list(working))
        time.sleep(0.0002)
        working.remove(name)

    def store() -> None:
        for _ in range(20):
            turns_over.acquire(timeout=LONG)  # the loop is there
            both.store_begins()
            for _ in range(5):
                works("store")
                both.pause()
            both.away()
            time.sleep(0.0002)
            both.pause()
            works("store")
            both.store_ends()

    with store_thread(store) as thread:
        while thread.is_alive():
            both.loop_begins()
            works("loop")
            both.loop_ends()
            turns_over.release()
    assert not met


@needed
@pytest.mark.usefixtures("patient")
def test_the_store_thread_is_next_though_the_loop_has_more_to_do_at_once() -> None:
    both = Shifts()
    turns, stands = 0, threading.Event()
    waited: list[int] = []

    def store() -> None:
        for _ in range(20):
            before = turns
            stands.set()
            both.store_begins()
            waited.append(turns - before)
            both.store_ends()
            time.sleep(0.001)  # it comes back in the middle of a turn

    both.loop_begins()
    with store_thread(store) as thread:
        stands.wait(LONG)
        while thread.is_alive():
            time.sleep(0.003)  # it stands in line by now, while the loop works
            turns += 1
            both.loop_ends()
            both.loop_begins()
        both.loop_ends()
    # A thread may be late for its place in the line, but waits there for one turn.
    assert sum(each <= 1 for each in waited) > 15


@needed
@pytest.mark.usefixtures("patient")
def test_the_loop_is_next_when_the_store_thread_pauses() -> None:
    both = Shifts()
    seen: list[str] = []
    on_shift = threading.Event()

    def store() -> None:
        both.store_begins()
        on_shift.set()
        end = time.monotonic() + LONG / 3
        while "loop" not in seen and time.monotonic() < end:
            both.pause()
        assert both._store_has_it
        seen.append("store")
        both.store_ends()

    with store_thread(store):
        on_shift.wait(LONG)
        both.loop_begins()
        assert both._loop_has_it
        seen.append("loop")
        both.loop_ends()
    assert seen == ["loop", "store"]
    assert not both._shift.locked()


@needed
def test_a_pause_that_nobody_waits_for_or_that_comes_early_ends_no_shift() -> None:
    now = [0.0]
    both = Shifts(lambda: now[0])
    both.store_begins()
    now[0] += 10 * SHIFT
    both.pause()
    assert both._since == 0.0, "nobody waits"
    with both._line:  # as one who waits
        now[0] = SHIFT / 2
        both.pause()
    assert both._since == 0.0, "the shift is young"
    both.store_ends()
    both.store_begins()
    assert both._since == SHIFT / 2, "a new shift"
    both.store_ends()


@contextmanager
def stuck(both: Shifts) -> Iterator[None]:
    """The store thread is on shift, and stays there."""
    on_shift, over = threading.Event(), threading.Event()

    def store() -> None:
        both.store_begins()
        on_shift.set()
        over.wait(LONG)  # as if a disk took so long
        both.store_ends()

    with store_thread(store):
        on_shift.wait(LONG)
        yield
        over.set()


def wait_of(both: Shifts) -> float:
    """Seconds that a turn of the loop begins late."""
    began = time.monotonic()
    both.loop_begins()
    both.loop_ends()
    return time.monotonic() - began


@needed
def test_the_loop_does_not_wait_for_long_for_a_store_thread_that_is_stuck() -> None:
    now = [0.0]
    both = Shifts(lambda: now[0])
    with stuck(both):
        assert wait_of(both) > 0.9 * PATIENCE
        now[0] = REST / 2  # it waited a moment ago, in vain
        assert min(wait_of(both) for _ in range(5)) < PATIENCE / 2
        now[0] = REST + 0.001
        assert wait_of(both) > 0.9 * PATIENCE, "it tries again"
    both.loop_begins()
    assert both._loop_has_it
    both.loop_ends()


@needed
def test_the_loop_waits_for_a_bounded_share_of_its_time() -> None:
    """Short waits are never in vain, and would add up: as with a store on a slow disk."""
    now = [0.0]
    both = Shifts(lambda: now[0])
    allowed = 0.0
    for _ in range(1000):
        now[0] += 0.002  # a turn, before which it waits for as long as it may
        patience = min(both._patience(now[0]), 0.005)
        both._saved -= patience
        now[0] += patience
        allowed += patience
    assert allowed <= SHARE * now[0] + SAVED
    assert allowed > 0.8 * SHARE * now[0], "and for no less"


@needed
def test_the_share_counts_what_the_loop_waited() -> None:
    both = Shifts()
    both._saved = LEAST * 2
    with stuck(both):
        wait_of(both)
        assert both._saved < LEAST
        assert both._waits_again > 0
    idle = Shifts()
    wait_of(idle)
    assert idle._saved == SAVED, "a shift that is free costs no waiting"


@needed
def test_the_loop_works_while_the_store_thread_is_away() -> None:
    both = Shifts()
    both.store_begins()
    both.away()
    both.loop_begins()
    assert both._loop_has_it
    both.away()  # away already
    both.loop_ends()
    assert not both._store_has_it, "until its next pause"
    both.pause()
    assert both._store_has_it
    both.store_ends()
    assert not both._shift.locked()


def test_a_store_that_nobody_shares_a_process_with_needs_no_shifts() -> None:
    alone = Shifts()
    alone.pause()
    alone.away()
    alone.pause()
    assert not alone._shift.locked()
    assert not alone._line.locked()


def test_without_an_interpreters_lock_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    both = Shifts()
    both.store_begins()
    both.loop_begins()
    both.away()
    both.pause()
    both.loop_ends()
    both.store_ends()
    assert not both._shift.locked()
