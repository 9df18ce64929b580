"""How fast a crawl is, how long its last run took, what it has on disk: from store and files."""

from __future__ import annotations

import random
from typing import Any

import pytest

import lycosa
from lycosa.clock import wall_now
from lycosa.reading.pace import disk_of, first_since, last_run, speeds
from reading.conftest import Made


@pytest.mark.parametrize("seed", range(20))
def test_halving_finds_the_first_page_since_a_moment(seed: int) -> None:
    """Also where numbers are missing."""
    chance = random.Random(seed)
    numbers = sorted(chance.sample(range(1, 400), chance.randrange(1, 100)))
    times = {number: at * 7 for at, number in enumerate(numbers)}
    newest = numbers[-1]

    def at(number: int) -> int:
        return min((times[n] for n in numbers if n >= number), default=1 << 62)

    for since in (0, 1, 50, 7 * len(numbers), chance.randrange(700)):
        first = first_since(newest, since, at)
        assert {n for n in numbers if n > first} == {n for n in numbers if times[n] >= since}


def test_speeds(made: Made) -> None:
    with made.open() as crawl:
        reader = crawl._reader
        now = wall_now()
        assert speeds(reader, now) == {"minute": 120 / 60, "quarter": 120 / 900}
        assert speeds(reader, now + 600_000) == {"minute": 0.0, "quarter": 120 / 900}
        assert speeds(reader, now + 6_000_000) == {"minute": 0.0, "quarter": 0.0}


def engine(began: int, heard: int) -> dict[str, Any]:
    return {"started_ms": began, "renewed_ms": heard}


def test_the_last_run() -> None:
    assert last_run([]) == (0, 0)
    earlier, first = engine(10, 90), engine(100, 250)
    replaced, beside = engine(240, 400), engine(101, 390)
    assert last_run([earlier, first, replaced, beside]) == (100, 400)
    assert last_run([earlier]) == (10, 90)


def test_a_status_tells_it(crawl: lycosa.Crawl, made: Made) -> None:
    details = crawl.status().details
    assert set(details["disk"]) == {"text", "warc", "visits"} | (
        {"store"} if not made.store else set()
    )
    assert details["disk"] == disk_of([made.root])
    assert details["run_began_ms"] <= details["heard_ms"]
    assert details["speed"] == {}  # nobody works on it
    failing = dict(details["failing"])
    assert failing and len(failing) <= 3
    for name, count in failing.items():
        assert crawl.domain(name).outcomes["http-404"] == count
