"""A run in which everything fails says so, once, and what to check."""

from typing import Any

import pytest

from lycosa.metrics import Stats
from lycosa.node.display import Snapshot, line, render


def first_visits() -> Any:
    from lycosa.node import first_visits as firstvisits

    return firstvisits.FirstVisits()


def failing(visits: int, failed: int, **retries: int) -> Stats:
    return Stats(visits=visits, failed_visits=failed, retries=retries)


@pytest.mark.parametrize(
    ("visits", "failed", "elapsed", "speaks"),
    [
        (0, 0, 60.0, False),  # nothing has ended yet
        (10, 10, 1.0, True),
        (9, 9, 1.0, False),  # too early to tell
        (1, 1, 15.0, True),  # or there are no more
        (500, 499, 60.0, False),
    ],
)
def test_when_it_speaks(visits: int, failed: int, elapsed: float, speaks: bool) -> None:
    assert bool(first_visits().look(failing(visits, failed, tls=failed), elapsed)) == speaks


def test_it_speaks_once_and_not_after_a_success() -> None:
    first = first_visits()
    assert first.look(failing(20, 20, tls=20), 5.0)
    assert not first.look(failing(30, 30, tls=30), 6.0)
    other = first_visits()
    assert not other.look(failing(5, 4, tls=4), 5.0)
    assert not other.look(failing(500, 500, tls=500), 50.0), "the network broke later"


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("dns", "name servers"),
        ("tls", "TLS"),
        ("connect", "firewall"),
        ("odd", "reached from here"),
    ],
)
def test_it_says_what_failed_and_what_to_check(cause: str, words: str) -> None:
    stats = failing(12, 12, **{cause: 11})
    stats.outcomes["robots-unreachable"] = 1
    said = first_visits().look(stats, 5.0)
    assert f"first 12 visits succeeded ({cause} 11, robots-unreachable 1)" in said
    assert words in said and "lycosa check" in said


def test_retries_are_shown_by_cause_at_once() -> None:
    now = Snapshot(retries={"tls": 20, "connect": 3})
    assert any("tls 20, connect 3" in row for row in render(now, 100))
    assert line(now)["retries"] == {"tls": 20, "connect": 3}
    assert not any("retries" in row for row in render(Snapshot(), 100))


def test_the_counts_of_an_engine_that_ended_stay() -> None:
    kept = Stats(visits=3, failed_visits=2, retries={"tls": 1}, in_flight=7).counters()
    assert (kept.visits, kept.failed_visits, kept.retries) == (3, 2, {"tls": 1})
    assert (kept.in_flight, kept.engines) == (0, 0)
