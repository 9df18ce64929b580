"""The history of a crawl as programs read it: figures of every moment, and of now.

Each node writes its own (`node/history`); here they become one. Nothing is read but small files in
`history/` and, on a server, the lines that nodes leave in the store: the crawl does not notice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.engine import summaries
from lycosa.engine.summaries import SUMMARIES
from lycosa.node.datadir import in_use, name_in
from lycosa.node.end import WINDOW, End, end_of
from lycosa.node.history_files import HISTORY, LEVELS, lines_of, newest_of, read_now
from lycosa.node.rollup import RUNNING, HistoryLine, merged
from lycosa.reading.elsewhere import lines_between, newest_lines, notes_of

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

STALE = 30.0  # seconds after which a node that wrote nothing does not run: it was killed
MOST = 500  # lines that a chart can show


class History:
    """Of one crawl, over all its nodes. `Crawl.history` makes one."""

    def __init__(self, directories: Sequence[Path], reader: Reader | None = None) -> None:
        self._folders = {name_in(path) or str(path): path / HISTORY for path in directories}
        self._reader = reader

    def now(self) -> dict[str, Any] | None:
        """How the crawl stands now, or stood when it ended: a line of the whole crawl, with what
        engines noted; None if nothing was ever written."""
        lines = self.nodes()
        return {**self.notes(), **merged(lines)} if lines else None

    def notes(self) -> summaries.NoteSummary:
        """What the engines of the last run noted: the latest pages, examples, top domains; of nodes
        whose directories are elsewhere as it was up to a minute ago."""
        return summaries.merged(list(self.noted().values()))

    def noted(self) -> dict[str, summaries.NoteSummary]:
        """The same of each node, by its name."""
        found = {name: read_now(folder) for name, folder in self._folders.items()}
        there = notes_of(self._reader, self._folders) if self._reader is not None else {}
        return {name: _sound(each) for name, each in (found | there).items() if each}

    def nodes(self) -> list[HistoryLine]:
        """The newest line of each node. Of one that says it runs and has been silent for half a
        minute, `silent` is true. If nobody holds its directory it was killed, and its state is
        'stopped'; else it hangs or can't write its history, and perhaps crawls all the same."""
        found = [_honest(line, partial(self._held, name)) for name, line in self._newest().items()]
        return sorted(found, key=lambda line: line.get("node", ""))

    def _held(self, name: str) -> bool:
        folder = self._folders.get(name)
        return folder is not None and in_use(folder.parent)

    def _newest(self) -> dict[str, HistoryLine]:
        found = newest_lines(self._reader) if self._reader is not None else {}
        for name, folder in self._folders.items():
            line = read_now(folder) or _newest_line(folder)
            if line is not None:
                found[name] = {key: line[key] for key in line if key not in SUMMARIES}
        return found

    def lines(
        self, since: float | None = None, until: float | None = None, most: int = MOST
    ) -> list[HistoryLine]:
        """The lines between two moments (unix time in s), at most `most`, evenly thinned: of the
        whole crawl, whose nodes are added up."""
        begin, end = since or 0.0, until or float("inf")
        here = (_lines(folder, begin, end) for folder in self._folders.values())
        there = lines_between(self._reader, begin, end, self._folders) if self._reader else ()
        by_node = [found for found in (*here, *there) if found]
        if not by_node:
            return []
        if len(by_node) == 1:
            return _thinned(by_node[0], most)
        return _joined(by_node, most)

    def end(self, lines: Sequence[HistoryLine] | None = None) -> str:
        """When the work will be over, in words; `lines` are those of the last minutes."""
        return self.ending(lines).text

    def ending(self, lines: Sequence[HistoryLine] | None = None) -> End:
        """The same, with the moment where there is one."""
        if lines is None:
            nodes = self.nodes()
            newest = max((line["at"] for line in nodes), default=0.0)
            lines = self.lines(since=newest - WINDOW, most=MOST)
        found = list(lines)
        if found:
            found[-1] = _honest(found[-1], lambda: any(map(self._held, self._folders)))
        return end_of(found)


def _honest(line: HistoryLine, held: Callable[[], bool]) -> HistoryLine:
    """`held`: whether somebody works in the node's directory."""
    silent = time.time() - line["at"] > STALE + line.get("late_s", 0)
    if not silent or line.get("state") not in RUNNING:
        return line
    return {**line, "silent": True} | ({} if held() else {"state": "stopped"})


def _sound(noted: summaries.NoteSummary) -> summaries.NoteSummary:
    """Notes without the parts that are not what engines write: somebody spoilt the file."""

    def good(part: summaries.NoteSummary) -> bool:
        try:
            return bool(summaries.merged([part]))
        except (TypeError, ValueError, KeyError, AttributeError):
            return False

    if good(noted):
        return noted
    return {name: noted[name] for name in SUMMARIES if name in noted and good({name: noted[name]})}


def _newest_line(folder: Path) -> HistoryLine | None:
    found = [newest_of(folder, level) for level in LEVELS]
    return max(filter(None, found), key=lambda line: line["at"], default=None)


def _lines(folder: Path, since: float, until: float) -> list[HistoryLine]:
    """Of one node: the finest lines that there are of each time."""
    found: list[HistoryLine] = []
    end = until
    for level in LEVELS:
        part = [line for line in lines_of(folder, level, since, end) if line["at"] <= end]
        found = part + found
        first = min((line["at"] for line in part), default=None)
        if first is not None:
            end = first - 0.001
        if end < since:
            break
    return sorted(found, key=lambda line: line["at"])


def _thinned(lines: list[HistoryLine], most: int) -> list[HistoryLine]:
    """At most so many: the last one of each of as many spans of equal length."""
    if len(lines) <= most:
        return lines
    begin, end = lines[0]["at"], lines[-1]["at"]
    span = max((end - begin) / most, 1e-9)
    chosen = {min(most - 1, int((line["at"] - begin) / span)): line for line in lines}
    return list(chosen.values())


def _joined(by_node: list[list[HistoryLine]], most: int) -> list[HistoryLine]:
    """Lines of many nodes on one axis of time: in each span the last of every node, and of one that
    wrote nothing its last before; if that is old, it counts as one that does not run."""
    begin = min(lines[0]["at"] for lines in by_node)
    end = max(lines[-1]["at"] for lines in by_node)
    span = max((end - begin) / most, float(LEVELS[0].seconds))
    slots = [{int((line["at"] - begin) / span): line for line in lines} for lines in by_node]
    found: list[HistoryLine] = []
    last: dict[int, HistoryLine] = {}
    for slot in sorted(set().union(*slots)):
        moment = begin + slot * span
        for node, mine in enumerate(slots):
            if slot in mine:
                last[node] = mine[slot]
            elif node in last and moment - last[node]["at"] > max(STALE, 2 * span):
                last[node] = {**last[node], "state": "stopped"}
        found.append(
            {**merged(last.values()), "at": max(moment, *(line["at"] for line in last.values()))}
        )
    return found[-most:]
