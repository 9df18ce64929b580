"""A history of many nodes is one history: from their directories, and from what they left."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import orjson

from lycosa.frontier.reader import Reader
from lycosa.node.history_files import HISTORY, HistoryFiles
from lycosa.node.rollup import rolled
from lycosa.reading.history import History
from support.figures import line


class LeftLines(Reader):
    """A reader of a store in which node `c` left lines of a minute."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.left = [orjson.dumps(each).decode() for each in lines]

    def history_nodes(self) -> dict[str, dict[int, str]]:
        return {"c": {60: self.left[-1]}}

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


def test_there_is_no_history_yet(tmp_path: Path) -> None:
    history = History([tmp_path])
    assert history.now() is None and history.lines() == [] and history.nodes() == []
    assert "nothing was written" in history.end()
