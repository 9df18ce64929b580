"""The idle process beside the engines: it notices a late machine, and ends with its supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from lycosa.clock import engine_now
from lycosa.engine.control import SLOTS, Control, Lateness, memory
from support.program import wait_for


def test_the_worst_of_each_second_is_remembered() -> None:
    lateness = Lateness(memory())
    for second, late in ((100, 0.01), (101, 0.3), (101, 0.2), (103, 0.02)):
        lateness.note(second, late)
    assert lateness.between(100.2, 100.9) == 0.01
    assert lateness.between(100.9, 101.1) == 0.3
    assert lateness.between(101.0, 101.5) == 0.3
    assert lateness.between(102.1, 102.9) == 0.0, "nothing is known of it"
    assert lateness.between(0.0, 103.5) == 0.3, "longer than it remembers: the last of it"


def test_an_old_second_does_not_excuse_a_new_one() -> None:
    lateness = Lateness(memory())
    lateness.note(7, 5.0)
    assert lateness.between(7 + SLOTS, 7 + SLOTS + 0.5) == 0.0
    lateness.note(7 + SLOTS, 0.001)
    assert lateness.between(7 + SLOTS, 7 + SLOTS + 0.5) == 0.001


def test_it_notes_when_it_was_kept_from_running() -> None:
    fd = memory()
    control = Control(fd)
    lateness = Lateness(fd)
    second = int(engine_now())
    wait_for(lambda: lateness.between(second, engine_now()) > 0)
    begin = engine_now()
    os.kill(control.process.pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(control.process.pid, signal.SIGCONT)
    wait_for(lambda: lateness.between(begin, engine_now()) >= 0.25)
    control.close()
    assert control.process.returncode == 0
    os.close(fd)


def test_it_ends_when_its_engine_is_killed() -> None:
    code = (
        "import time; from lycosa.engine.control import Control, memory; c = Control(memory());"
        "print(c.process.pid, flush=True); time.sleep(60)"
    )
    engine = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert engine.stdout is not None
    pid = int(engine.stdout.readline())
    engine.kill()
    engine.wait()

    def gone() -> bool:
        try:
            return "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True

    wait_for(gone)
