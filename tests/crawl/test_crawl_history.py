"""The history of real crawls agrees with the store and with the log of the simulated web."""

from __future__ import annotations

import json
import os
import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import lycosa
from lycosa.node.history_files import HISTORY, LEVELS, lines_of
from lycosa.node.rollup import COUNTERS, TALLIES
from lycosa.simweb.reqlog import Entry
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, status, wait_for
from support.program import lycosa as lycosa_command

Line = dict[str, Any]


def fine(crawl: Crawl) -> list[Line]:
    return list(lines_of(crawl.data / HISTORY, LEVELS[0]))


def check_monotone(lines: list[Line]) -> None:
    for before, after in pairwise(lines):
        for name in COUNTERS:
            assert after[name] >= before[name], name
        for name in TALLIES:
            for key, number in before[name].items():
                assert after[name].get(key, 0) >= number, (name, key)


def least_pause(log: list[Entry]) -> float:
    """The shortest time in which a domain had no request, between two visits. Requests of one visit
    follow each other at once."""
    last: dict[str, float] = {}
    pauses = []
    for entry in sorted(log, key=lambda entry: entry.start):
        if entry.domain in last and entry.start - last[entry.domain] > 0.1:
            pauses.append(entry.start - last[entry.domain])
        last[entry.domain] = max(entry.end, last.get(entry.domain, 0.0))
    return min(pauses)


def test_a_history_agrees_with_the_store_and_with_what_servers_saw(tmp_path: Path) -> None:
    spec = WorldSpec(seed=6, domains=40, pages=8, delay=0.6, https=1.0).only("robots-allow")
    with SimWeb(spec, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.6, "--warc")
        assert crawl.run() == 0, crawl.log.read_text()
        log = web.log()
    lines = fine(crawl)
    check_monotone(lines)
    last = lines[-1]
    assert lines[0]["pages"] == 0 and last["state"] == "finished"
    assert {line["state"] for line in lines} >= {"running", "finished"}
    with lycosa.open(crawl.data) as opened:
        found, history = opened.status(), opened.history()
        rows = list(opened.pages())
        now = history.now()
        assert history.lines()[-1] == last
        assert history.end().startswith("finished ")
    # the store
    assert (last["pages"], last["ok"], last["requests"]) == (found.pages, found.ok, found.requests)
    assert last["outcomes"] == found.outcomes and last["drops"] == found.drops
    assert last["bytes"] == found.bytes_received and last["queued"] == 0
    languages = [page.language for page in rows if page.outcome == "ok" and page.language]
    assert last["languages"] == {name: languages.count(name) for name in set(languages)}
    # what servers saw
    assert last["requests"] == len(log)
    assert last["visits"] == last["politeness"]["visits"]
    assert last["politeness"]["violations"] == 0
    assert 0.6 <= last["politeness"]["least"] <= least_pause(log) + 0.05
    # files and summaries
    text = sum(path.stat().st_size for path in (crawl.data / "text").iterdir())
    assert last["disk"]["text"] == text and last["disk"]["warc"] > 0
    assert now is not None
    known = {page.url: page for page in rows}
    assert len(now["latest"]) == 20
    for each in now["latest"]:
        page = known[each["url"]]
        assert (page.title, page.text_chars) == (each["title"], each["chars"]) and each["preview"]
    for outcome, examples in now["examples"].items():
        assert all(known[each["url"]].outcome == outcome for each in examples)
    pages: dict[str, int] = {}
    for page in rows:
        pages[page.domain] = pages.get(page.domain, 0) + (page.status > 0)
    assert dict(now["top"]["pages"]) == pages
    answered = sum(entry.status > 0 for entry in log)
    assert sum(now["durations"]["fetch"]["n"]) == answered
    assert sum(now["durations"]["first_byte"]["n"]) == answered
    for phase in ("dns", "connect", "tls", "parse", "commit", "lease"):
        assert sum(now["durations"][phase]["n"]) > 0, phase
    assert sum(now["sizes"].values()) == found.pages
    assert (crawl.data / HISTORY).stat().st_mode & 0o777 == 0o700


def test_counters_are_monotone_over_kills(tmp_path: Path) -> None:
    spec = WorldSpec(seed=9, domains=80, pages=7, delay=0.8)
    with SimWeb(spec, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.8)
        for resume in (False, True):
            process = crawl.start(resume=resume)
            before = crawl.pages()
            wait_for(lambda before=before: crawl.pages() > before + 100, 60)  # type: ignore[misc]
            time.sleep(5.5)  # at least one line while it runs
            if resume:
                os.kill(process.pid, signal.SIGKILL)  # the supervisor alone: engines notice
            else:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        assert crawl.run(resume=True) == 0, crawl.log.read_text()
    lines = fine(crawl)
    check_monotone(lines)
    assert len({line["run"] for line in lines}) == 3
    assert sum(line["state"] == "finished" for line in lines) == 1
    last, found = lines[-1], status(crawl.data)
    # What a killed engine had fetched and not committed was counted twice, at most two seconds.
    assert found["pages"] <= last["pages"] <= found["pages"] + 2 * 2.5 * 80 / 0.8
    assert last["politeness"]["violations"] == 0
    assert last["politeness"]["visits"] >= 0.9 * last["visits"]


def test_a_history_that_cannot_be_written_does_not_stop_a_crawl(tmp_path: Path) -> None:
    spec = WorldSpec(seed=6, domains=10, pages=3, delay=0.3).only("robots-allow")
    with SimWeb(spec, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.3)
        process = crawl.start()
        wait_for(lambda: (crawl.data / HISTORY).exists(), 30)
        for path in (crawl.data / HISTORY).iterdir():
            path.unlink(missing_ok=True)
        (crawl.data / HISTORY).rmdir()
        (crawl.data / HISTORY).write_text("in the way")
        assert process.wait(120) == 0, crawl.log.read_text()
        crawl.check_complete()
    said = crawl.log.read_text()
    assert said.count("no history is written") == 1, said


def test_status_reads_the_history_from_any_terminal(tmp_path: Path) -> None:
    spec = WorldSpec(seed=6, domains=30, pages=6, delay=0.5).only("robots-allow")
    with SimWeb(spec, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.5)
        assert crawl.run() == 0, crawl.log.read_text()
        now = json.loads((crawl.data / HISTORY / "now.json").read_bytes())
    found = status(crawl.data)
    assert found["pages"] == now["pages"] and found["disk"] == now["disk"]
    assert found["end"].startswith("finished ") and found["ended_ms"] > found["started_ms"]
    assert found["pages_per_s"] == {"minute": 0.0, "quarter": 0.0} and 5 < found["ran_s"] < 120
    said = lycosa_command("status", "--data-dir", crawl.data).stdout
    assert "\nran for  " in said and ", ended 20" in said and "\ndisk     text " in said


def test_status_tells_the_speed_and_the_end_of_a_crawl_that_runs(tmp_path: Path) -> None:
    spec = WorldSpec(seed=6, domains=60, pages=60, delay=1.0).only("robots-allow")
    with SimWeb(spec, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 1.0)
        process = crawl.start()
        wait_for(lambda: status(crawl.data).get("pages_per_s", {}).get("minute", 0) > 10, 60)
        found = status(crawl.data)
        assert found["running"] and found["ended_ms"] == 0 and "too little" in found["end"]
        said = lycosa_command("status", "--data-dir", crawl.data).stdout
        assert "\nspeed    " in said and "\nends     not known yet" in said
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
