"""Turns of the loop by length: what is counted, what is excused, what is said of it."""

from __future__ import annotations

import random

import pytest

from lycosa.engine.turns import BOUNDS, LATE, LONG, Turns, summary


def test_turns_are_counted_by_cpu_and_by_wall_time() -> None:
    turns = Turns()
    for cpu, wall in ((0.0005, 0.003), (0.004, 0.030), (0.049, 0.050), (0.051, 0.2), (3.0, 9.0)):
        turns.note(cpu, wall)
    assert turns.cpu() == {"1": 1, "5": 1, "50": 1, "75": 1, "more": 1}
    assert turns.wall() == {"5": 1, "30": 1, "50": 1, "250": 1, "more": 1}
    assert (turns.cpu_max, turns.wall_max) == (3.0, 9.0)


@pytest.mark.parametrize(
    ("wall", "late", "excused"),
    [
        (LONG + 0.001, LATE, True),
        (LONG + 0.001, LATE - 0.001, False),
        (LONG, 5.0, False),  # short enough to count in any case
        (60.0, 60.0, True),
        (60.0, 0.0, False),
    ],
)
def test_only_the_machines_lateness_excuses_a_long_turn(
    wall: float, late: float, excused: bool
) -> None:
    turns = Turns()
    turns.note(0.3, wall, late)
    assert turns.excused == excused
    assert sum(turns.wall().values()) == (not excused)
    assert (turns.excused_max if excused else turns.wall_max) == wall
    assert turns.cpu_max == 0.3, "CPU is never excused"


def test_the_quantile_is_never_below_the_true_one() -> None:
    draw = random.Random(7)
    for size in (1, 10, 999, 1000, 1001, 25_000):
        lengths = [draw.expovariate(1 / 0.02) for _ in range(size)]
        turns = Turns()
        for each in lengths:
            turns.note(each, each)
        told = summary(turns.cpu(), turns.cpu_max * 1000)
        true = sorted(lengths)[min(size - 1, int(size * 0.999))] * 1000
        higher = min([b for b in BOUNDS if b >= true], default=turns.cpu_max * 1000)
        assert told.turns == size
        assert true - 0.05 <= told.p999_ms <= max(higher, true) + 0.05
        assert told.max_ms == pytest.approx(max(lengths) * 1000, abs=0.1)


def test_no_turns_are_no_trouble() -> None:
    assert summary({}, 0.0).p999_ms == 0.0
