"""`lycosa dashboard` is ended by Ctrl-C at any moment after it has told its address."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.made_crawl import make

pytest.importorskip("uvicorn")


def _heeds_ctrl_c() -> None:
    """As in a terminal: a shell without one lets its background jobs ignore it, and these tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2])
def test_ctrl_c_ends_it_however_early(tmp_path: Path, seconds: float) -> None:
    make(tmp_path / "data")
    words = [sys.executable, "-m", "lycosa", "dashboard", "--data-dir", str(tmp_path / "data")]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heeds_ctrl_c,
    ) as process:
        assert process.stdout and "dashboard: http" in process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, "Traceback" in said) == (0, False)
