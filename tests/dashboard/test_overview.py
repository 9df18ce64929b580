"""The top of the page over the history of supervisors: the names it reads are theirs, and it is
honest about a node that is silent."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from lycosa.dashboard import overview
from lycosa.dashboard.answers import Answers
from lycosa.engine.notes import EngineNotes
from lycosa.engine.summaries import SUMMARIES
from lycosa.metrics import Stats
from lycosa.node import datadir
from lycosa.node.display import Snapshot
from lycosa.node.figures import Moment, SeenEngine, line_of
from lycosa.reading.opening import open_crawl
from support import made_crawl
from support.made_history import made_lines, made_now, write_history


def written_line() -> dict[str, Any]:
    """A line as supervisors write it."""
    stats = Stats()
    moment = Moment(time.time(), "", time.time(), "running", Snapshot(), 70.0)
    return line_of(stats, moment, [SeenEngine(0, 1, stats)])


def test_the_page_reads_what_supervisors_write() -> None:
    line = written_line()
    assert set(overview.SERIES) | set(overview.NODE) <= set(line)
    made = made_lines(time.time())[-1]
    assert set(made) == set(line)
    assert set(made["engines"][0]) == set(line["engines"][0])
    notes, now = EngineNotes().summary(time.time()), made_now(made)
    for name in SUMMARIES:
        assert type(now[name]) is type(notes[name]), name
    assert set(now["top"]) == set(notes["top"])
    assert set(now["durations"]) == set(notes["durations"])
    assert set(now["sizes"]) <= set(notes["sizes"])


def told(root: Path) -> dict[str, Any]:
    with open_crawl([root]) as crawl:
        return Answers().overview(crawl)


def test_silence_is_a_kill_only_where_nobody_works(tmp_path: Path) -> None:
    """A supervisor that hangs, or whose history can't be written, is not one that was killed."""
    root = tmp_path / "data"
    made_crawl.make(root, pages=20)
    lines = made_lines(time.time() - 60)
    write_history(root, lines, made_now(lines[-1]))
    killed = told(root)
    assert (killed["state"], killed["live"], killed["stale"]) == ("stopped", False, False)
    held = datadir.lock(root)
    try:
        hanging = told(root)
    finally:
        os.close(held)
    assert (hanging["state"], hanging["live"], hanging["stale"]) == ("running", True, True)
    assert "stopped" not in hanging["end"]


def test_the_disk_is_full_by_what_some_minutes_tell() -> None:
    lines = [{"at": 60.0 * minute, "disk_free": 10**9 - minute * 10**6} for minute in range(11)]
    told = overview.hours_until_full(lines)
    assert told is not None and round(told, 1) == round(990 / 60, 1)
    assert overview.hours_until_full(lines[:3]) is None  # too little was seen
    assert overview.hours_until_full([{**line, "disk_free": 10**9} for line in lines]) is None
