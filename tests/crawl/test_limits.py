"""Many fetches at once, few open files, a full disk, a million seeds."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import (
    EMAIL,
    Crawl,
    can_mount,
    in_small_filesystem,
    lycosa,
    status,
    wait_for,
)


def limited(soft: int, hard: int) -> Callable[[], None]:
    """For a child process: its limits of open files."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def engines(crawl: Crawl) -> list[dict[str, float]]:
    return list(status(crawl.data).get("engines", []))


def slow_world(domains: int, seconds: float) -> WorldSpec:
    spec = WorldSpec(
        seed=4, domains=domains, pages=1, slow=1.0, slow_seconds=seconds, https=0.0, page_bytes=5000
    )
    return spec.only("robots-allow")


def peak_in_flight(
    crawl: Crawl, process: subprocess.Popen[bytes], enough: int
) -> tuple[int, float]:
    """The most fetches in flight seen at once, and the largest memory of an engine (MB)."""
    most, memory = 0, 0.0
    while process.poll() is None:
        found = engines(crawl)
        most = max(most, int(sum(each.get("in_flight", 0) for each in found)))
        memory = max([memory, *(each.get("rss_mb", 0.0) for each in found)])
        if most >= enough:
            break
        time.sleep(0.3)
    return most, memory


def test_few_open_files_lower_concurrency_and_say_so(tmp_path: Path) -> None:
    with SimWeb(slow_world(300, 1.0), tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.5, "--max-workers", "5000", "--engines", "1")
        assert crawl.run(preexec_fn=limited(256, 300)) == 0, crawl.log.read_text()
        crawl.check_complete()
        crawl.check_polite()
    said = [line for line in crawl.log.read_text().splitlines() if "open-file limit" in line]
    assert len(said) == 1
    assert "instead of 5000" in said[0]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("soft", "hard"), [(1024, 20_000), (1024, 1024)])
def test_five_thousand_in_flight(tmp_path: Path, soft: int, hard: int) -> None:
    """5,000 fetches in flight on slow hosts, raised from a soft limit, or adapted to a hard one."""
    with SimWeb(slow_world(6000, 20.0), tmp_path / "log", processes=1) as web:
        flags = (
            "--max-workers",
            "5000",
            "--engines",
            "1",
            "--ip-delay",
            "0",
            "--max-duration",
            "60",
        )
        crawl = Crawl(web, tmp_path, 70.0, *flags)
        process = crawl.start(preexec_fn=limited(soft, hard))
        try:
            enough = 5000 if hard > 5000 else 740
            most, memory = peak_in_flight(crawl, process, enough)
            time.sleep(3)
            memory = max([memory, *(each.get("rss_mb", 0.0) for each in engines(crawl))])
            print(f"limits {soft}/{hard}: {most} in flight, {memory:.0f} MB")
            print([t for t in crawl.log.read_text().splitlines() if "open-file" in t])
            assert most >= enough
            assert memory < 600
            assert lycosa("stop", "--data-dir", crawl.data).returncode == 0
            assert process.wait(60) == 3, crawl.log.read_text()[-2000:]
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount a small file system")
def test_a_full_disk_stops_cleanly_and_nothing_is_lost(tmp_path: Path) -> None:
    """The disk fills up, the crawl ends with 1; on a larger disk it goes on to its end."""
    spec = WorldSpec(seed=9, domains=60, pages=8, delay=0.2, page_bytes=30_000).only("robots-allow")
    disk = tmp_path / "disk"
    disk.mkdir()
    with SimWeb(spec, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.2, "--warc", "--min-free-disk", "0")
        crawl.data = disk / "data"
        crawl.flags[crawl.flags.index("--data-dir") + 1] = str(crawl.data)
        copy = tmp_path / "copy"
        words = " ".join(f"'{word}'" for word in crawl.command())
        script = f"{words}; code=$?; cp -a {crawl.data} {copy}; exit $code"
        done = subprocess.run(
            [*in_small_filesystem(disk, "2m"), "sh", "-c", script],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 1, done.stdout + done.stderr
        assert "The disk is full" in done.stderr
        assert "Traceback" not in done.stderr
        crawl.data = copy
        crawl.flags[crawl.flags.index("--data-dir") + 1] = str(copy)
        crawl.flags.append("--moved")
        assert crawl.run(resume=True) == 0, crawl.log.read_text()
        crawl.check_complete()
        crawl.check_polite()


def test_a_kill_while_seeds_are_loading_loses_none(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("".join(f"{n},d{n:06d}.invalid\n" for n in range(60_000)))
    flags = ["--email", EMAIL, "--data-dir", str(tmp_path / "data"), "--nameserver", "127.0.0.1:9"]
    base = [sys.executable, "-m", "lycosa", "crawl"]
    process = subprocess.Popen(
        [*base, str(seeds), *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    data = tmp_path / "data"
    wait_for(lambda: (data / "crawl.sqlite").exists() and domains(data) > 1000)
    os.killpg(process.pid, 9)
    process.wait()
    before = domains(data)
    seeds.unlink()  # the copy counts
    assert before < 60_000, "the kill came too late to show anything"
    done = subprocess.run(
        [*base, "--resume", *flags, "--max-duration", "8"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert domains(data) == 60_000


def domains(data: Path) -> int:
    return int(status(data).get("domains", 0))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_million_seeds(tmp_path: Path) -> None:
    """Time, memory and size; the first fetch starts within ten seconds of the command."""
    spec = WorldSpec(seed=1, domains=50, pages=1).only("robots-allow")
    with SimWeb(spec, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 70.0)
        with crawl.seeds.open("a") as file:
            file.writelines(f"{n},d{n:07d}.invalid\n" for n in range(1_000_000))
        began = time.monotonic()
        process = crawl.start()
        try:
            wait_for(lambda: web.log(), 20)
            first = time.monotonic() - began
            peak = 0.0
            while domains(crawl.data) < 1_000_050:
                assert time.monotonic() - began < 120
                peak = max(peak, rss_mb(process.pid))
                time.sleep(0.2)
            loaded = time.monotonic() - began
        finally:
            process.terminate()
            process.wait(30)
        size = sum(f.stat().st_size for f in crawl.data.glob("crawl.sqlite*")) / 1e6
        print(
            f"first fetch {first:.1f} s, all loaded {loaded:.1f} s, "
            f"supervisor {peak:.0f} MB, database {size:.0f} MB"
        )
        assert first < 10


def rss_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6
    except FileNotFoundError:
        return 0.0
