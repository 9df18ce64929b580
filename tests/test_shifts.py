"""The loop and the store thread work one at a time, and neither waits for the other for long."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from lycosa import shifts
from lycosa.shifts import PATIENCE, REST, SHIFT, Shifts

LONG = 30.0  # seconds: no test waits for as long unless something is wrong

needed = pytest.mark.skipif(not shifts._NEEDED, reason="both threads can run without the GIL")


@contextmanager
def store_thread(work: Callable[[], None]) -> Iterator[threading.Thread]:
    """Work for the store thread, which is over at the end."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield thread
    thread.join(LONG)
    assert not thread.is_alive()


@needed
def test_only_one_of_them_works_at_a_time() -> None:
    both = Shifts()
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
            both.begin()
            for _ in range(5):
                works("store")
                both.pause()
            with both.away():
                time.sleep(0.0002)
            works("store")
            both.end()

    with store_thread(store) as thread:
        turns = 0
        while thread.is_alive():
            both.begin_turn()
            works("loop")
            both.end_turn()
            turns += 1
    assert not met
    assert turns > 20


@needed
def test_the_store_thread_is_next_though_the_loop_has_more_to_do_at_once() -> None:
    both = Shifts()
    turns = 0
    waited: list[int] = []

    def store() -> None:
        for _ in range(50):
            before = turns
            both.begin()
            waited.append(turns - before)
            both.end()

    with store_thread(store) as thread:
        while thread.is_alive():
            both.begin_turn()
            turns += 1
            both.end_turn()
    # It may be late for its place in the line, but never waits in it for more than a turn.
    assert sum(each <= 2 for each in waited) > 40


@needed
def test_the_loop_gets_a_turn_when_the_store_thread_pauses() -> None:
    both = Shifts()
    seen: list[str] = []
    on_shift, waits = threading.Event(), threading.Event()

    def store() -> None:
        both.begin()
        on_shift.set()
        waits.wait(LONG)
        end = time.monotonic() + LONG
        while "loop" not in seen and time.monotonic() < end:
            both.pause()
        seen.append("store")
        both.end()

    with store_thread(store):
        on_shift.wait(LONG)
        waits.set()
        both.begin_turn()
        seen.append("loop")
        both.end_turn()
    assert seen == ["loop", "store"]


@needed
def test_a_pause_that_nobody_waits_for_or_that_comes_early_ends_no_shift() -> None:
    now = [0.0]
    both = Shifts(lambda: now[0])
    both.begin()
    now[0] += 10 * SHIFT
    both.pause()
    assert both._since == 0.0, "nobody waits"
    with both._next:  # as one who waits
        now[0] = SHIFT / 2
        both.pause()
        assert both._since == 0.0, "the shift is young"
    both.end()


@needed
def test_the_loop_does_not_wait_for_long_for_a_store_thread_that_is_stuck() -> None:
    now = [0.0]
    both = Shifts(lambda: now[0])
    on_shift, over = threading.Event(), threading.Event()

    def store() -> None:
        both.begin()
        on_shift.set()
        over.wait(LONG)  # as if a disk took so long
        both.end()

    with store_thread(store):
        on_shift.wait(LONG)
        took = []
        for moment in (0.0, REST / 2, REST + 0.001):
            now[0] = moment
            began = time.monotonic()
            both.begin_turn()
            both.end_turn()
            took.append(time.monotonic() - began)
        over.set()
    assert PATIENCE * 0.9 < took[0] < 1.0
    assert took[1] < PATIENCE / 2, "it waited a moment ago, in vain"
    assert took[2] > PATIENCE * 0.9, "it tries again"
    both.begin_turn()  # the store thread's shift is over
    assert both._loop_has_it
    both.end_turn()


@needed
def test_the_loop_works_while_the_store_thread_is_away() -> None:
    both = Shifts()
    both.begin()
    with both.away():
        both.begin_turn()
        assert both._loop_has_it
        both.end_turn()
        with both.away():  # away already
            pass
        both.pause()
    assert both._store_has_it
    with pytest.raises(ValueError, match="disk"), both.away():
        raise ValueError("disk")
    assert both._store_has_it, "it is on shift again, whatever happened"
    both.end()


def test_a_store_that_nobody_shares_a_process_with_needs_no_shifts() -> None:
    alone = Shifts()
    alone.pause()
    with alone.away():
        alone.pause()
    alone.end()
    assert not alone._shift.locked()
    assert not alone._next.locked()


def test_without_an_interpreters_lock_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifts, "_NEEDED", False)
    both = Shifts()
    both.begin()
    both.begin_turn()
    with both.away():
        both.pause()
    both.end_turn()
    both.end()
    assert not both._shift.locked()
