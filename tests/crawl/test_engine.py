"""One engine seen from outside: its connections to the store, its answer to few open files."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, lycosa, wait_for


def slow_world(domains: int) -> WorldSpec:
    spec = WorldSpec(seed=4, domains=domains, pages=2, slow=1.0, slow_seconds=2.0, https=0.0)
    return spec.only("robots-allow")


def open_files(pid: int) -> list[str]:
    """What the descriptors of a process point to."""
    folder = Path(f"/proc/{pid}/fd")
    found = []
    for entry in folder.iterdir():
        try:
            found.append(os.readlink(entry))
        except OSError:
            continue
    return found


def test_hundreds_of_fetches_share_one_connection_to_the_store(tmp_path: Path) -> None:
    """A pool that one slow claim could starve does not exist."""
    with SimWeb(slow_world(400), tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 5.0, "--max-workers", "400", "--engines", "1", "--ip-delay=0")
        process = crawl.start()
        try:
            wait_for(lambda: sockets(crawl, process) >= 300)
            (engine,) = crawl.engines(process)
            files = [name for name in open_files(engine) if name.endswith("crawl.sqlite")]
            assert len(files) == 1
        finally:
            process.terminate()
            assert process.wait(30) == 3  # stopped


def sockets(crawl: Crawl, process: subprocess.Popen[bytes]) -> int:
    return max(
        (sum("socket:" in name for name in open_files(pid)) for pid in crawl.engines(process)),
        default=0,
    )


def test_running_out_of_open_files_lowers_concurrency_and_loses_nothing(tmp_path: Path) -> None:
    """The limit is lowered under a running engine: EMFILE is ours, not the hosts' fault."""
    with SimWeb(slow_world(150), tmp_path / "log") as web:
        # The first pages are committed within a second; the next visits must not have begun then.
        crawl = Crawl(web, tmp_path, 4.0, "--max-workers", "150", "--engines", "1", "--ip-delay=0")
        process = crawl.start()
        wait_for(lambda: bool(crawl.engines(process)))
        (engine,) = crawl.engines(process)
        wait_for(lambda: any("/text/" in name for name in open_files(engine)))
        resource.prlimit(engine, resource.RLIMIT_NOFILE, (60, 60))
        assert process.wait(120) == 0, crawl.log.read_text()[-2000:]
        crawl.check_complete()
        crawl.check_polite()
    shortages = crawl.rows("SELECT sum(json_extract(stats, '$.local_shortage')) FROM engines")
    assert int(str(shortages[0][0])) > 0
    assert "Traceback" not in crawl.log.read_text()
    assert lycosa("status", "--data-dir", crawl.data).returncode == 0
