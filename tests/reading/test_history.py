"""A history of many nodes is one history: from their directories, and from what they left."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from lycosa.frontier.reader import Reader
from lycosa.node.history_files import HISTORY, HistoryFiles
from lycosa.node.rollup import rolled
from lycosa.reading.history import History
from lycosa.settings.values import CrawlSettings
from support.figures import line


class LeftLines(Reader):
    """A reader of a store in which node `c` left lines of a minute."""

    def __init__(
        self, lines: list[dict[str, Any]], engines: list[dict[str, Any]] | None = None
    ) -> None:
        self.left = [orjson.dumps(each).decode() for each in lines]
        self.told = engines or []

    def now_ms(self) -> int:
        return round(time.time() * 1000)

    def history_notes(self) -> dict[str, str]:
        return {}

    def engines(self, seeds: bool = False) -> list[dict[str, Any]]:
        return self.told

    def active_domains(self) -> int:
        return 30

    def settings(self) -> dict[str, Any]:
        return {"settings": json.dumps(CrawlSettings(email="a@b.org", delay=2.0).to_json())}

    def history_nodes(self) -> dict[str, dict[int, str]]:
        return {"c": {60: self.left[-1]}} if self.left else {}

    def history_lines(
        self, node: str, seconds: int, since_ms: int, until_ms: int, limit: int = 0
    ) -> list[str]:
        found = ((orjson.loads(text)["at"] * 1000, text) for text in self.left)
        return [text for at, text in found if since_ms <= at <= until_ms]


def node(root: Path, name: str, began: float, steps: int, pages: int) -> Path:
    """A directory with a line every five seconds."""
    folder = root / name
    folder.mkdir()
    (folder / "node").write_text(f"{name} crawl 1\n")
    files = HistoryFiles(folder / HISTORY, rolled)
    files.start(began)
    for step in range(steps):
        made = line(name, pages * step) | {"at": began + 5 * step, "run": began}
        files.append(made)
        files.write_now(made | {"top": {"pages": [[f"{name}.test", step]]}})
    files.close()
    return folder


def test_nodes_are_added_up(tmp_path: Path) -> None:
    began = time.time() - 295
    one, two = node(tmp_path, "a", began, 60, 10), node(tmp_path, "b", began + 1, 60, 1)
    history = History([one, two])
    assert [each["node"] for each in history.nodes()] == ["a", "b"]
    now = history.now()
    assert now is not None and now["pages"] == 59 * 11 and now["state"] == "running"
    assert now["top"]["pages"] == [["a.test", 59], ["b.test", 59]]
    lines = history.lines()
    assert lines[-1]["pages"] == 59 * 11
    pages = [each["pages"] for each in lines]
    assert pages == sorted(pages)
    assert len(history.lines(most=10)) <= 10
    late = history.lines(since=began + 200)
    assert late[0]["at"] >= began + 200


def test_a_node_that_is_silent_was_killed(tmp_path: Path) -> None:
    history = History([node(tmp_path, "a", time.time() - 1000, 10, 5)])
    (found,) = history.nodes()
    assert found["state"] == "stopped" and found["silent"]
    assert history.end().startswith("stopped ")


def test_a_node_elsewhere_is_read_from_the_store(tmp_path: Path) -> None:
    began = time.time() - 295
    left = [line("c", 100 * n) | {"at": began + 60 * n, "run": began} for n in range(4)]
    history = History([node(tmp_path, "a", began, 60, 10)], LeftLines(left))
    assert [each["node"] for each in history.nodes()] == ["a", "c"]
    now = history.now()
    assert now is not None and now["pages"] == 590 + 300
    assert history.lines()[-1]["pages"] == 590 + 300


def engine(ident: int, node: str, alive: bool = True, **told: Any) -> dict[str, Any]:
    now_ms = round(time.time() * 1000)
    moments = {"started_ms": now_ms - 90_000, "renewed_ms": now_ms - 500}
    until = now_ms + 60_000
    return {"id": ident, "node": node, "alive": alive, "lease_until": until, **moments, **told}


def test_a_node_elsewhere_is_as_its_engines_told_last() -> None:
    began = time.time() - 89
    left = [line("c", 100) | {"at": began + 60, "run": began, "domains": 8, "pages_per_s": 3.0}]
    engines = [
        engine(0, "", queued=40),
        engine(1, "c", alive=False, pages=80, queued=-33, outcomes={"ok": 80}, in_flight=99),
        engine(2, "c", pages=50, outcomes={"ok": 40, "timeout": 10}, in_flight=4, rss_mb=90.0),
        engine(3, "c", pages=60, outcomes={"ok": 60}, in_flight=5, rss_mb=80.0, cpu_share=0.25),
        engine(4, "d", pages=5, rate=2.5),
        engine(5, "e", alive=False, pages=5),
    ]
    history = History([], LeftLines(left, engines))
    there, new = history.nodes()
    assert (there["node"], there["state"], there["queued"]) == ("c", "running", 7)
    assert (there["pages"], there["outcomes"]["ok"], there["outcomes"]["timeout"]) == (190, 180, 10)
    assert (there["in_flight"], there["rss_mb"], there["pages_per_s"]) == (9, 170.0, 3.0)
    assert [each["id"] for each in there["engines"]] == [2, 3]
    assert there["engines"][1]["cpu"] == 0.25
    assert time.time() - there["at"] < 5, "it was heard now, not a minute ago"
    # A node that began less than a minute ago left nothing yet.
    assert (new["node"], new["state"], new["pages"], new["pages_per_s"]) == ("d", "running", 5, 2.5)
    assert (there["ceiling"], new["ceiling"], new["domains"]) == (4.0, 15.0, 30)
    now = history.now()
    assert now is not None and now["pages"] == 195 and len(now["engines"]) == 3


@pytest.mark.parametrize(
    ("said", "by", "told"),
    [
        ("running", ["user", "user"], "paused"),
        ("paused", ["", ""], "running"),
        ("running", ["user", ""], "running"),
        ("paused", ["disk", "disk"], "paused"),
        ("stopping", ["", ""], "stopping"),
    ],
)
def test_a_pause_elsewhere_is_that_of_its_engines(said: str, by: list[str], told: str) -> None:
    left = [line("c", 1) | {"at": time.time() - 50, "state": said, "limit": "paused"}]
    engines = [engine(n + 1, "c", paused=who, held=3) for n, who in enumerate(by)]
    (found,) = History([], LeftLines(left, engines)).nodes()
    assert found["state"] == told
    assert (found["limit"] == "paused") == (told == "paused")


def test_what_a_node_wrote_of_an_earlier_run_does_not_speak_for_this_one() -> None:
    old = [line("c", 100) | {"at": time.time() - 5000, "state": "stopped", "pages_per_s": 9.0}]
    history = History([], LeftLines(old, [engine(2, "c", pages=130, rate=1.5)]))
    (found,) = history.nodes()
    assert (found["state"], found["pages"], found["pages_per_s"]) == ("running", 130, 1.5)


def test_there_is_no_history_yet(tmp_path: Path) -> None:
    history = History([tmp_path])
    assert history.now() is None and history.lines() == [] and history.nodes() == []
    assert "nothing was written" in history.end()
