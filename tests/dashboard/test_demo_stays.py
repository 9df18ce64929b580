"""The demo on a terminal: its dashboard stays until somebody presses a key."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

from support.dashboards import Served, gone, process_of

SECONDS = 60.0


def read_until(leader: int, wanted: str) -> str:
    """What the terminal showed, up to a word."""
    shown, end = "", time.monotonic() + SECONDS
    while wanted not in shown:
        assert time.monotonic() < end, shown
        if select.select([leader], [], [], 1.0)[0]:
            shown += os.read(leader, 65536).decode("utf-8", "replace")
    return shown


def drained(leader: int, process: subprocess.Popen[bytes]) -> None:
    """Read until the process has ended: a terminal that nobody reads would hold it up."""
    end = time.monotonic() + SECONDS
    while process.poll() is None and time.monotonic() < end:
        if select.select([leader], [], [], 0.2)[0]:
            with suppress(OSError):
                os.read(leader, 65536)


def test_it_stays_until_a_key_is_pressed(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    before = termios.tcgetattr(follower)
    words = ["demo", "--data-dir", str(tmp_path / "demo"), "--domains", "8", "--pages", "3"]
    environ = {key: each for key, each in os.environ.items() if not key.startswith("LYCOSA_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "lycosa", *words, "--delay", "0.2"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environ,
        start_new_session=True,
    )
    try:
        shown = read_until(leader, "until you press a key")
        told = re.search(r"stays at http://127\.0\.0\.1:(\d+)/#token=\S+", shown)
        assert told, shown
        served = Served([], port=int(told[1]))
        found = served.get("/api/overview").json
        assert (found["state"], found["live"]) == ("finished", False)
        assert found["pages"] > 8
        dashboard = process_of(served.port)
        time.sleep(1)
        assert process.poll() is None
        os.write(leader, b" ")
        drained(leader, process)
        assert process.wait(1) == 0
        assert termios.tcgetattr(follower) == before
        assert gone(dashboard)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(leader)
        os.close(follower)
