"""What an engine measures of itself and of its machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from lycosa.engine.control import Lateness, memory
from lycosa.engine.gauges import Gauges
from lycosa.engine.machine import Load, Machine
from lycosa.metrics import Stats
from lycosa.what_limits import limiting

PIN = "import os; os.sched_setaffinity(0, {%d});\nwhile True: pass"


def burn(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.fixture
def crowded() -> Iterator[None]:
    """This process shares one core with three that never stop."""
    before = os.sched_getaffinity(0)
    core = min(before)
    os.sched_setaffinity(0, {core})
    hogs = [subprocess.Popen([sys.executable, "-c", PIN % core]) for _ in range(3)]
    time.sleep(0.3)
    yield
    for hog in hogs:
        hog.kill()
        hog.wait()
    os.sched_setaffinity(0, before)


@pytest.mark.skipif(not os.path.exists("/proc/thread-self/schedstat"), reason="kernel without it")
def test_waiting_for_a_core_is_noticed(crowded: None) -> None:
    machine = Machine()
    machine.load(1.0)
    began = time.monotonic()
    burn(1.0)
    load = machine.load(time.monotonic() - began)
    assert load.waited > 0.3, "three of four turns are others'"
    assert load.busy > 0.3


def test_sleeping_is_not_waiting() -> None:
    """Where others have the cores, who wakes waits as well: in one of some naps nobody did."""
    machine = Machine()
    least = 1.0
    for _ in range(20):
        machine.load(1.0)
        time.sleep(0.5)
        least = min(least, machine.load(0.5).waited)
        if least < 0.2:
            break
    assert least < 0.2


def test_the_true_limit_is_named_from_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """From turns and the kernel's counts to the line: other programs have the cores."""
    stats = Stats(queued=10_000, held=3000, ready=3000, in_flight=100)
    gauges = Gauges(stats, None, engines=1)
    load = Load(2, busy=1.0, waited=0.6)
    monkeypatch.setattr(gauges._machine, "load", lambda seconds: load)
    now = 1000.0
    for _ in range(30):
        for _ in range(10):
            gauges.waits(now, False)
            gauges.begins(now + 0.001)
            now += 0.1
            gauges.ends(now)
        stats.visits += 500
        gauges.look(now)
    assert stats.loop_busy > 0.9
    assert stats.rate == pytest.approx(500, rel=0.1)
    assert limiting(stats, 70, 1000).startswith("CPU of others: other programs use")


def test_time_that_is_spent_waiting_for_the_store_is_told() -> None:
    stats = Stats(queued=10_000, held=3000, ready=3000, in_flight=100, store_lag_s=3.0)
    gauges = Gauges(stats, None, engines=1)
    now = 1000.0
    for _ in range(30):
        gauges.waits(now, True)
        gauges.begins(now + 0.5)
        gauges.ends(now + 0.6)
        gauges.waits(now + 0.6, False)
        now += 1.0
        gauges.begins(now)
        gauges.ends(now)
        gauges.look(now)
    assert stats.store_wait == pytest.approx(0.5, abs=0.05)
    assert limiting(stats, 70, 1000).startswith("store: engines wait for it 50 %")


def test_the_rate_rises_before_it_is_said_to() -> None:
    stats = Stats(queued=10_000, held=3000, ready=3000, in_flight=100)
    gauges = Gauges(stats, None, engines=1)
    now = 1000.0
    lines = []
    for second in range(200):
        now += 1.0
        stats.visits += second if second < 60 else 60
        gauges.look(now)
        gauges._idle = 1.0
        lines.append(limiting(stats, 70, 1000))
    assert "speeding up" in lines[40]
    assert "speeding up" not in lines[-1]


def test_a_long_turn_is_excused_in_late_seconds_only() -> None:
    lateness = Lateness(memory())
    lateness.note(1005, 0.4)
    stats = Stats()
    gauges = Gauges(stats, lateness, engines=1)
    for begin in (1001.2, 1005.2, 1009.2):
        gauges.begins(begin)
        gauges.ends(begin + 0.4)
    gauges.look(1010.0)
    assert stats.turns_excused == 1
    assert stats.turns_wall == {"500": 2}
