"""The files of a history: what is appended, what ages, what a kill or a full disk leaves."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from lycosa.metrics import Stats
from lycosa.node.disk_use import DiskUse
from lycosa.node.display import Snapshot
from lycosa.node.figures import Moment, SeenEngine, line_of
from lycosa.node.history import Recorder, tail
from lycosa.node.history_files import HISTORY, LEVELS, HistoryFiles, lines_of, newest_of, read_now
from lycosa.node.rollup import at_least, merged, rolled
from lycosa.reading.history import History
from lycosa.settings.values import NodeSettings

BEGAN = 1_794_960_000.0  # 2026-11-18 00:00 UTC
MONTH = 30 * 86_400
FIVE, MINUTE, QUARTER = LEVELS


def full_line(at: float, pages: int = 0, **more: Any) -> dict[str, Any]:
    """A line as large as those of a real crawl."""
    stats = Stats(
        pages=pages,
        ok=pages,
        outcomes={f"http-{code}": pages + code for code in range(400, 420)},
        labels=dict.fromkeys(("content", "listing", "soft-404", "error-page", "wall"), pages),
        languages={f"l{n}": pages + n for n in range(30)},
        types={f"text/kind-{n}": pages + n for n in range(8)},
        drops={f"reason-{n}": pages for n in range(12)},
        retries={"timeout": pages},
    )
    shown = Snapshot(
        pages=pages,
        queued=1000,
        domains=700,
        pages_per_s=10.0,
        limiting="politeness: 700 domains / 70 s",
    )
    moment = Moment(at, "", BEGAN, "running", shown, delay=70.0, disk={"text": 5}, disk_free=9)
    engines = [SeenEngine(n, n + 1, stats, 20) for n in range(4)]
    return line_of(stats, moment, engines) | more


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_a_month_costs_megabytes_and_keeps_every_time(tmp_path: Path) -> None:
    """A simulated month in virtual time: a line every five seconds would be half a million."""
    files = HistoryFiles(tmp_path, rolled)
    files.start(BEGAN)
    largest, line = 0, full_line(BEGAN, pages=1_000_000)
    for step in range(MONTH // 60):  # twelve lines a minute are one here: the roll-up is the same
        files.append(line | {"at": BEGAN + step * 60, "pages": step})
        if step % 600 == 0:
            largest = max(largest, size(tmp_path))
    for step in range(2 * 720):  # and two hours as they are
        files.append(line | {"at": BEGAN + MONTH + step * 5, "pages": MONTH // 60 + step})
    files.finish()
    files.close()
    largest = max(largest, size(tmp_path))
    print(f"a month of history: {size(tmp_path) / 1e6:.1f} MB, at most {largest / 1e6:.1f} MB")
    assert largest < 30e6
    lines = History([_moved(tmp_path)]).lines()
    assert lines[0]["at"] < BEGAN + MONTH / 400 and lines[-1]["at"] == BEGAN + MONTH + 7195
    gaps = [b["at"] - a["at"] for a, b in pairwise(lines)]
    assert max(gaps) < 2 * MONTH / 400
    pages = [line["pages"] for line in lines]
    assert pages == sorted(pages) and len(lines) <= 500


def _moved(folder: Path) -> Path:
    """A data directory around a folder of history."""
    root = folder.parent / f"{folder.name}-data"
    root.mkdir()
    (root / HISTORY).symlink_to(folder)
    return root


def test_lines_age_into_fewer(tmp_path: Path) -> None:
    files = HistoryFiles(tmp_path, rolled)
    files.start(BEGAN)
    for step in range(5 * 720):  # five hours
        files.append({"at": BEGAN + step * 5, "pages": step, "limit": "CPU", "limits": {"CPU": 1}})
    files.close()
    fine = list(lines_of(tmp_path, FIVE))
    assert 2 * 720 <= len(fine) <= 3.5 * 720
    assert len(list(lines_of(tmp_path, MINUTE))) == 5 * 60 - 1
    assert len(list(lines_of(tmp_path, QUARTER))) == 5 * 4 - 1
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())


def test_a_kill_costs_no_coarse_line(tmp_path: Path) -> None:
    """Whatever was not rolled up when a supervisor died is rolled up by the next."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder, runs in ((whole, [(0, 900)]), (killed, [(0, 333), (333, 400), (400, 900)])):
        for begin, end in runs:
            files = HistoryFiles(folder, rolled)
            files.start(BEGAN + begin * 5)
            for step in range(begin, end):
                files.append({"at": BEGAN + step * 5, "pages": step})
            files.close()  # and no `finish`: it was killed
    for level in LEVELS:
        assert list(lines_of(whole, level)) == list(lines_of(killed, level))


def test_the_end_of_a_run_is_in_every_level(tmp_path: Path) -> None:
    files = HistoryFiles(tmp_path, rolled)
    files.start(BEGAN)
    for step in range(7):
        files.append({"at": BEGAN + step * 5, "pages": step})
    files.finish()
    files.close()
    for level in LEVELS:
        newest = newest_of(tmp_path, level)
        assert newest is not None and newest["pages"] == 6


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_torn_line_is_passed_over(tmp_path: Path, cut: int) -> None:
    files = HistoryFiles(tmp_path, rolled)
    files.start(BEGAN)
    for step in range(10):
        files.append({"at": BEGAN + step, "pages": step, "state": "running", "limit": "CPU"})
    files.close()
    (path,) = tmp_path.glob("5s-*")
    os.truncate(path, path.stat().st_size - cut)
    assert [line["pages"] for line in lines_of(tmp_path, FIVE)] == list(range(9 if cut > 1 else 10))
    files = HistoryFiles(tmp_path, rolled)
    newest = files.start(BEGAN + 20)
    assert newest is not None and newest["pages"] == (8 if cut > 1 else 9)
    files.append({"at": BEGAN + 20, "pages": 20})
    files.close()
    kept = [line["pages"] for line in lines_of(tmp_path, FIVE)]
    assert kept == [*range(9 if cut > 1 else 10), 20]


def test_what_is_no_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "5s-2026-11-18T00.jsonl"
    bad = [b"null", b"[]", b'{"pages":1}', b'{"at":"x"}', b"\x00" * 50, b'{"at":true}', b"{" * 9999]
    path.write_bytes(b"\n".join([*bad, orjson.dumps({"at": BEGAN + 1, "pages": 7}), b""]))
    assert [line["pages"] for line in lines_of(tmp_path, FIVE)] == [7]
    assert read_now(tmp_path) is None
    (tmp_path / "now.json").write_bytes(b'{"at":12')
    assert read_now(tmp_path) is None


def test_counters_never_fall() -> None:
    before = {"pages": 10, "outcomes": {"ok": 9, "timeout": 1}}
    line = at_least({"pages": 8, "outcomes": {"ok": 12}, "queued": 3}, before)
    assert line["pages"] == 10 and line["queued"] == 3
    assert line["outcomes"] == {"ok": 12, "timeout": 1}


def test_a_rolled_line_has_shares_of_the_causes() -> None:
    lines = [
        {"at": 1.0, "pages": 1, "pages_per_s": 4.0, "limit": "CPU", "limits": {"CPU": 1.0}},
        {"at": 2.0, "pages": 2, "pages_per_s": 8.0, "limit": "DNS", "limits": {"DNS": 1.0}},
        {
            "at": 3.0,
            "pages": 9,
            "pages_per_s": 0.0,
            "limit": "DNS",
            "limits": {"DNS": 1.0},
            "limit_text": "DNS: 400 of 500 fetches",
            "engines": [1],
            "store_lag_s": 2.0,
        },
    ]
    found = rolled(lines)
    assert found["limits"] == {"CPU": 0.333, "DNS": 0.667}
    assert (found["limit"], found["limit_text"]) == ("DNS", "DNS: 400 of 500 fetches")
    assert (found["pages"], found["pages_per_s"], found["at"]) == (9, 4.0, 3.0)
    assert "engines" not in found and found["store_lag_s"] == 2.0


def test_lines_of_nodes_add_up() -> None:
    one = full_line(BEGAN, 100, node="a", queued=500, politeness={"visits": 5, "violations": 0})
    two = full_line(BEGAN + 3, 50, node="b", queued=490)
    gone = full_line(BEGAN - 900, 7, node="c", state="stopped")
    found = merged([one, two, gone])
    assert found["pages"] == 157 and found["in_flight"] == 0
    assert found["queued"] == 490 and found["state"] == "running"
    assert found["pages_per_s"] == 20.0  # of those that run
    assert found["languages"]["l3"] == 157 + 9
    assert [each["node"] for each in found["engines"]] == ["a"] * 4 + ["b"] * 4
    assert found["politeness"]["visits"] == 5


def recorder(root: Path) -> Recorder:
    return Recorder(NodeSettings(data_dir=root), "", 1.0)


def test_a_history_that_cannot_be_written_harms_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / HISTORY).write_text("a file where the folder should be")
    record = recorder(tmp_path)
    for _ in range(3):
        record.note(Stats(pages=1), Snapshot(), "running", {})
    said = [each.getMessage() for each in caplog.records]
    assert len(said) == 1 and "no history is written" in said[0]
    (tmp_path / HISTORY).unlink()  # somebody makes room
    record.note(Stats(pages=2), Snapshot(), "running", {})
    record.end(Stats(pages=3), Snapshot(), "finished", {})
    found = read_now(tmp_path / HISTORY)
    assert found is not None and (found["pages"], found["state"]) == (3, "finished")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_is_full_costs_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    record = recorder(tmp_path)
    record.note(Stats(pages=1), Snapshot(), "running", {})
    (path,) = (tmp_path / HISTORY).glob("5s-*")
    path.unlink()
    path.symlink_to("/dev/full")
    record.note(Stats(pages=2), Snapshot(), "running", {})
    record.note(Stats(pages=3), Snapshot(), "running", {})
    assert sum("no history is written" in each.getMessage() for each in caplog.records) == 1
    path.unlink()
    record.note(Stats(pages=4), Snapshot(), "running", {})
    assert [line["pages"] for line in lines_of(tmp_path / HISTORY, FIVE)] == [4]


def test_a_tail_is_the_longest_queue_at_its_own_delay() -> None:
    top = {"queued": [["a.test", 10], ["b.test", 3]], "delay": [["b.test", 50.0]]}
    assert tail(top, 2.0) == 150.0
    assert tail({}, 2.0) == 0.0


def test_disk_use_is_told_by_kind(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "000001-00001.jsonl.zst").write_bytes(b"x" * 700)
    (tmp_path / "crawl.sqlite").write_bytes(b"x" * 50)
    (tmp_path / "crawl.sqlite-wal").write_bytes(b"x" * 5)
    use = DiskUse(tmp_path)
    assert use.by_kind(0.0) == {"text": 700, "warc": 0, "visits": 0, "edges": 0, "store": 55}
    assert use.free() > 0
