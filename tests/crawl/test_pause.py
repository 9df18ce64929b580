"""SIGSTOP beyond the lease: a sleeping engine must not send stale requests when it wakes (P4)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, lycosa, wait_for

FLAGS = ("--visit-timeout", "2", "--lease-time", "8")
SPEC = WorldSpec(seed=12, domains=30, pages=12, delay=0.5).only("robots-allow", "robots-delay")


@pytest.mark.timeout(180)
def test_an_engine_that_slept_through_its_lease_is_replaced(tmp_path: Path) -> None:
    with SimWeb(SPEC, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.5, *FLAGS)
        process = crawl.start()
        time.sleep(9)  # a supervisor judges others after one steady lease time
        asleep = crawl.engines(process)[0]
        os.kill(asleep, signal.SIGSTOP)
        wait_for(lambda: "slept through its lease" in crawl.log.read_text(), 30)
        assert process.wait(120) == 0, crawl.log.read_text()[-3000:]
        crawl.check_complete()
        crawl.check_polite()
        audit = lycosa("audit", "--data-dir", crawl.data)
        assert audit.returncode == 0, audit.stdout


@pytest.mark.timeout(180)
def test_a_machine_that_slept_goes_on(tmp_path: Path) -> None:
    """The whole group stops for longer than its leases: nothing stale is sent, nothing lost."""
    with SimWeb(SPEC, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.5, *FLAGS)
        process = crawl.start()
        wait_for(lambda: crawl.pages() > 100)
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(11)
        os.killpg(process.pid, signal.SIGCONT)
        assert process.wait(120) == 0, crawl.log.read_text()[-3000:]
        crawl.check_complete()
        crawl.check_polite()
