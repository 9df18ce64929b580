"""Changing a crawl of real processes: pause, settings, seeds; over restarts and kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lycosa.simweb.check import check
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, can_mount, in_small_filesystem, lycosa, status, wait_for

STOPPED = 3  # the exit code of a crawl that was asked to stop
SPEC = WorldSpec(seed=16, domains=40, pages=15, delay=0.4).only("robots-allow")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[SimWeb]:
    with SimWeb(SPEC, tmp_path / "web") as web:
        yield web


def told(crawl: Crawl, *words: str) -> dict[str, Any]:
    """What a command says as JSON."""
    done = lycosa(*words, "--json", "--data-dir", crawl.data)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def quiet_for(web: SimWeb, seconds: float) -> bool:
    """Whether no request comes for so long."""
    mark = time.monotonic()
    time.sleep(seconds)
    return not [entry for entry in web.log() if entry.start > mark]


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


def cpu_seconds(pids: list[int]) -> float:
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


def test_a_paused_crawl_asks_for_nothing_and_goes_on(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4, "--log-interval", "1")
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 30)
    found = told(crawl, "pause", "--why", "a test")
    assert found == {"paused": True, "new": True, "running": True, "heard": True}
    time.sleep(1.0)  # what was under way finishes
    before = len(web.log())
    began = cpu_seconds(crawl.engines(process))
    assert quiet_for(web, 3)
    assert cpu_seconds(crawl.engines(process)) - began < 0.5, "a pause costs next to nothing"
    seen = status(crawl.data)
    assert (seen["state"], seen["limit"]) == ("paused", "paused: by you")
    assert seen["pause"]["why"] == "a test" and seen["leased"] == 0
    said = lycosa("status", "--data-dir", crawl.data).stdout
    assert said.startswith("paused (a test; go on with '") and " unpause --data-dir " in said
    assert told(crawl, "pause")["new"] is False
    assert told(crawl, "unpause") == {"paused": False, "new": True, "running": True, "heard": True}
    wait_for(lambda: len(web.log()) > before)
    assert process.wait(120) == 0
    crawl.check_complete()
    crawl.check_polite()
    log = crawl.log.read_text()
    assert "the crawl is paused (a test): go on with" in log and "no longer paused" in log


def test_a_pause_survives_kills_and_restarts(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4)
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 30)
    assert told(crawl, "pause")["heard"]
    for engine in crawl.engines(process):
        os.kill(engine, signal.SIGKILL)  # the one that takes its place is paused, too
    wait_for(lambda: "is replaced" in crawl.log.read_text())
    time.sleep(1.5)
    assert quiet_for(web, 2)
    kill(process)
    crawl.log.write_text("")
    process = crawl.start(resume=True)
    wait_for(lambda: "the crawl is paused: go on with" in crawl.log.read_text())
    time.sleep(1.0)
    assert quiet_for(web, 2)
    assert status(crawl.data)["state"] == "paused"
    process.send_signal(signal.SIGINT)  # it still hears
    assert process.wait(20) == STOPPED
    assert status(crawl.data)["state"] == "stopped"
    assert "unpause" in lycosa("status", "--data-dir", crawl.data).stdout
    assert told(crawl, "unpause")["running"] is False
    assert crawl.run(resume=True) == 0
    crawl.check_complete()
    crawl.check_polite()


def test_limits_and_stop_hold_while_paused(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4)
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 10)
    assert told(crawl, "pause")["heard"]
    assert told(crawl, "stop") == {"stopping": True}
    assert process.wait(20) == STOPPED
    crawl.flags += ["--max-duration", "3"]
    assert crawl.run(resume=True, timeout=30) == 0
    assert status(crawl.data)["state"] == "stopped"


def test_a_paused_crawl_does_not_finish(tmp_path: Path) -> None:
    """It is paused while its last visits are under way."""
    spec = WorldSpec(seed=3, domains=3, pages=2, delay=0.2, latency_ms=4000).only("robots-allow")
    with SimWeb(spec, tmp_path / "web") as web:
        crawl = Crawl(web, tmp_path, 0.2)
        crawl.flags += ["--max-depth", "0"]
        process = crawl.start()
        wait_for(lambda: len(web.log()) > 0)
        told(crawl, "pause")
        time.sleep(8)
        assert process.poll() is None
        told(crawl, "unpause")
        assert process.wait(30) == 0


def test_settings_change_while_it_runs(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4)
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 30)
    found = told(crawl, "set", "delay=2", "max-workers=3")
    assert found["changed"] == {
        "delay": {"before": "0.4", "now": "2"},
        "max-workers": {"before": "1000", "now": "3"},
    }
    assert found["heard"]
    time.sleep(0.5)
    mark = time.monotonic()
    time.sleep(7)
    late = [entry for entry in web.log() if entry.start > mark]
    hasty = [each for each in check(late, web.world, 2.0).violations if each.rule == "P1"]
    assert late and not hasty, hasty
    kill(process)
    values = {each["name"]: each["value"] for each in told(crawl, "set")["settings"]}
    assert (values["delay"], values["max-workers"]) == ("2", "3")
    told(crawl, "set", "delay=0.3", "max-workers=1000", "max-pages=none")
    crawl.flags = [flag for flag in crawl.flags if flag not in ("--delay", "0.4")]
    assert crawl.run(resume=True) == 0
    crawl.check_complete()
    crawl.delay = 0.3
    crawl.check_polite()
    audit = lycosa("audit", "--json", "--data-dir", crawl.data)
    assert audit.returncode == 0, audit.stdout


def test_seeds_are_added_to_a_running_and_to_a_finished_crawl(web: SimWeb, tmp_path: Path) -> None:
    crawl = Crawl(web, tmp_path, 0.4, "--seeded-urls-only", "--max-depth", "1")
    names = web.seeds()
    crawl.seeds.write_text("\n".join(names[:10]))
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 5)
    (tmp_path / "more.txt").write_text("\n".join([*names[5:20], "not a seed"]))
    found = told(crawl, "seeds", "add", str(tmp_path / "more.txt"), names[20])
    assert (found["taken"], found["known"], found["refused"]) == (11, 5, 1)
    assert found["refused_lines"] == [{"line": "not a seed", "why": "a domain has no spaces"}]
    assert process.wait(120) == 0
    asked = {entry.domain for entry in web.log()}
    assert set(names[:21]) <= asked and names[30] not in asked
    assert status(crawl.data)["state"] == "finished"
    again = told(crawl, "seeds", "add", names[20])
    assert (again["taken"], again["known"]) == (0, 1)
    assert status(crawl.data)["state"] == "finished"
    assert told(crawl, "seeds", "add", names[30])["taken"] == 1
    assert status(crawl.data)["state"] == "stopped"
    assert crawl.run(resume=True) == 0
    assert names[30] in {entry.domain for entry in web.log()}
    crawl.check_polite()


def told_of(path: Path) -> list[dict[str, Any]]:
    """The events that a command of --notify was given."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_little_room_pauses_a_node_and_room_lets_it_go_on(web: SimWeb, tmp_path: Path) -> None:
    """Free space is that of the real file system; the setting comes and goes."""
    said = tmp_path / "said"
    crawl = Crawl(web, tmp_path, 0.4, "--notify", f"cat >> {said}")
    crawl.flags += ["--notify", "http://127.0.0.1:9/?token=secret", "--log-interval", "1"]
    process = crawl.start()
    wait_for(lambda: crawl.pages() > 30)
    told(crawl, "set", "min-free-disk=90T")
    wait_for(lambda: status(crawl.data)["state"] == "paused")
    assert status(crawl.data)["limit"].startswith("paused: disk nearly full")
    time.sleep(1.0)
    assert quiet_for(web, 2)
    for engine in crawl.engines(process):
        os.kill(engine, signal.SIGKILL)  # who takes its place is told to pause, too
    time.sleep(2.0)
    assert quiet_for(web, 2)
    told(crawl, "set", "min-free-disk=0")
    assert process.wait(120) == 0
    crawl.check_complete()
    crawl.check_polite()
    log = crawl.log.read_text()
    assert "the disk is nearly full" in log and "there is room on the disk again" in log
    assert log.count("127.0.0.1 can't be notified") == 1 and "secret" not in log
    events = told_of(said)
    assert [each["event"] for each in events] == ["disk-low", "disk-room", "finished"]
    assert events[-1]["pages"] == crawl.pages() and events[-1]["queued"] == 0
    assert events[0]["data_dir"] == str(crawl.data) and "nearly full" in events[0]["text"]


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount a small file system")
def test_a_disk_that_fills_up_pauses_the_crawl(web: SimWeb, tmp_path: Path) -> None:
    disk, copy = tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    crawl = Crawl(web, tmp_path, 0.4, "--min-free-disk", "20M")
    crawl.data = disk / "data"
    crawl.flags[crawl.flags.index("--data-dir") + 1] = str(crawl.data)
    words = " ".join(f"'{word}'" for word in crawl.command())
    python = crawl.command()[0]
    clock = f"{python} -c 'import time; print(time.monotonic())'"
    script = f"""
        {words} 2> {tmp_path}/log & crawl=$!
        sleep 5
        dd if=/dev/zero of={disk}/filler bs=1M count=30 2> /dev/null
        for n in $(seq 100); do grep -q 'nearly full' {tmp_path}/log && break; sleep 0.2; done
        sleep 2; {clock} > {tmp_path}/from; sleep 3; {clock} > {tmp_path}/to
        {python} -m lycosa status --json --data-dir {crawl.data} > {tmp_path}/status
        rm {disk}/filler
        wait $crawl; code=$?; cp -a {crawl.data} {copy}; exit $code"""
    done = subprocess.run(
        [*in_small_filesystem(disk, "45m"), "sh", "-c", script],
        capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    log = (tmp_path / "log").read_text()
    assert done.returncode == 0, done.stdout + done.stderr + log
    assert "the disk is nearly full" in log and "there is room on the disk again" in log
    begin, end = (float((tmp_path / name).read_text()) for name in ("from", "to"))
    assert not [entry for entry in web.log() if begin < entry.start < end]
    assert json.loads((tmp_path / "status").read_text())["state"] == "paused"
    crawl.data = copy
    crawl.check_complete()
    crawl.check_polite()
