"""How much may wait for a store: as much as it settles in two seconds."""

from __future__ import annotations

import pytest

from lycosa.engine.backlog import LEAST, PAGE, TARGET, Backlog


def test_before_anything_is_known_nothing_is_held_back() -> None:
    assert not Backlog().full(10_000, 400_000)


@pytest.mark.parametrize("speed", [100, 5_000, 50_000, 1_000_000])
def test_the_next_batch_takes_two_seconds_at_most(speed: int) -> None:
    """A store of any speed, fetched for by an engine that is always faster."""
    backlog = Backlog()
    work = 400_000
    for _ in range(30):
        seconds = work / speed
        backlog.settled(0, work, seconds)
        work = next(n for n in range(0, 4_000_000, 1000) if backlog.full(0, n))
    assert work / speed <= TARGET * 1.05 or work <= LEAST


def test_pages_without_links_count() -> None:
    backlog = Backlog()
    backlog.settled(1000, 0, 2.0)
    assert backlog.full(LEAST // PAGE + 1, 0)
    assert not backlog.full(LEAST // PAGE - 1, 0)


def test_small_batches_say_nothing_of_the_speed() -> None:
    backlog = Backlog()
    backlog.settled(1, 10, 9.0)
    assert not backlog.full(10_000, 400_000)


def test_a_store_that_is_away_is_measured_anew() -> None:
    backlog = Backlog()
    backlog.settled(0, 10_000, 10.0)
    assert backlog.full(0, LEAST)
    backlog.away()
    assert not backlog.full(0, 400_000)
    backlog.settled(0, 400_000, 4.0)
    assert backlog.full(0, 200_000)
