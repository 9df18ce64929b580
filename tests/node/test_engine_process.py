"""An engine process as its supervisor sees it: real processes that play engines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from lycosa.node.engine_process import EngineProcess

Start = Callable[[str], EngineProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python code in the place of an engine."""
    started: list[EngineProcess] = []

    def made(code: str) -> EngineProcess:
        words = [sys.executable, "-c", code]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(EngineProcess(0, process, 1.0, 1.0))
        return started[-1]

    yield made
    for each in started:
        each.process.kill()
        each.process.wait()
        each.close()


def test_reports_are_taken_in_and_the_last_one_counts(start: Start) -> None:
    report = '{"owner": 7, "stats": {"pages": %d, "engines": 1}}'
    engine = start(f"print('{report % 3}'); print('{report % 5}'); print('{report[:9]}', end='')")
    while engine.read():
        pass
    assert (engine.id, engine.stats.pages) == (7, 5), "the third is not whole"
    assert engine.heard > 1.0
    assert (engine.counters().pages, engine.counters().engines) == (5, 0)


def test_it_hears_what_it_is_told_until_it_has_ended(start: Start) -> None:
    engine = start("""print('{"owner": %d, "stats": {}}' % (input() == "stop"))""")
    engine.tell(b"stop")
    while engine.read():
        pass
    assert engine.id == 1
    engine.process.wait()
    engine.tell(b"stop")  # nobody is there: no error


def test_a_signal_stops_it(start: Start) -> None:
    engine = start("input()")
    assert not engine.stopped()
    for number, stopped in [(signal.SIGSTOP, True), (signal.SIGCONT, False)]:
        os.kill(engine.process.pid, number)
        while engine.stopped() != stopped:  # the test's time limit ends a hang
            time.sleep(0.01)
