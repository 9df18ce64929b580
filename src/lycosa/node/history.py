"""The history of a node: every few seconds its supervisor writes a line of figures.

Owns when a line is written, what it counts from, and that no fault of it touches the crawl: a disk
that is full or read-only costs the history, which the log says once. Where lines are kept is in
`history_files`, what they say in `figures`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import orjson

from lycosa.clock import engine_now
from lycosa.engine import summaries
from lycosa.errors import LycosaError
from lycosa.frontier.protocol import open_reader
from lycosa.frontier.values import NOTES_SECONDS
from lycosa.log import get_logger
from lycosa.metrics import Stats
from lycosa.node import rollup
from lycosa.node.disk_use import DiskUse
from lycosa.node.display import Snapshot
from lycosa.node.end import WINDOW, end_of
from lycosa.node.figures import Moment, SeenEngine, line_of
from lycosa.node.history_files import HISTORY, LEVELS, HistoryFiles, Level, read_now
from lycosa.settings.values import NodeSettings

EVERY = 5.0  # seconds between two lines
RECENT = round(WINDOW / EVERY) + 1  # lines by which the end of the work is told
SOON = 1.0  # seconds until a line tells what somebody changed
# Node, seconds that the line speaks for, when it was written, the line, up to when others are
# forgotten: see `SupervisorFrontier.put_history`.
LeaveLine = Callable[[str, int, int, str, int], None]

log = get_logger("node")


class Recorder:
    """Writes the history of one run of a node. Nothing here raises for want of a disk."""

    def __init__(
        self, node: NodeSettings, name: str, delay: float, leave: LeaveLine | None = None
    ) -> None:
        self._node = node
        self._leave = leave
        self._name = name
        self._delay = delay
        self._files = HistoryFiles(node.data_dir / HISTORY, rollup.rolled, self._folded)
        self._disk = DiskUse(node.data_dir)
        self._began = time.time()
        self._due = engine_now()
        self._earlier = earlier_counts(node.data_dir, node.store, name)
        self._before: rollup.HistoryLine = {}  # the newest line of earlier runs
        self._noted: summaries.NoteSummary = {}  # by engines of earlier runs
        self._newest: summaries.NoteSummary = {}  # by those and the engines of this one
        self._failed = ""
        self._recent: deque[rollup.HistoryLine] = deque(maxlen=RECENT)
        self.end_text = ""  # when the work will be over, in words
        try:
            self._before = self._files.start(self._began) or {}
            self._noted = _kept(read_now(self._files.folder) or {})
        except (OSError, LycosaError) as error:
            self._give_up(error)

    def due(self) -> bool:
        """Whether it is time for a line; then the next time is some seconds later."""
        now = engine_now()
        if now < self._due:
            return False
        self._due = now + EVERY
        return True

    def steer(self, delay: float) -> None:
        """Go by another delay, and write soon what somebody changed."""
        self._delay = delay
        self._due = min(self._due, engine_now() + SOON)

    def note(
        self,
        run: Stats,
        shown: Snapshot,
        state: str,
        notes: summaries.NoteSummary,
        engines: Sequence[SeenEngine] = (),
    ) -> None:
        """Write how the node stands. `run` and `notes`: the counts of this run."""
        found = summaries.merged([self._noted, notes])
        pauses = found.pop("politeness")
        stats = Stats.merge([self._earlier, run])
        if not shown.queued:
            found["top"]["queued"] = []
        moment = Moment(
            at=time.time(),
            node=self._name,
            run=self._began,
            state=state,
            shown=shown,
            delay=self._delay,
            disk=self._disk.by_kind(engine_now()),
            disk_free=self._disk.free(),
            politeness=pauses | {"visits": stats.polite_visits, "violations": stats.violations},
            tail_s=tail(found["top"], self._delay),
        )
        line = rollup.at_least(line_of(stats, moment, engines), self._before)
        self._recent.append(line | {"pages": shown.pages})  # the limit is that of all nodes
        self.end_text = end_of(list(self._recent)).text
        self._newest = found
        self._write(line, found)

    def end(self, run: Stats, shown: Snapshot, state: str, notes: summaries.NoteSummary) -> None:
        """The run is over: the last line has what was committed, which is more than engines had
        reported when they ended."""
        found = earlier_counts(self._node.data_dir, self._node.store, self._name)
        if found.pages >= self._earlier.pages + run.pages:
            self._earlier, run = found, Stats(engines=0)
        left = shown.domains if state != "finished" else 0
        still = replace(shown, pages_per_s=0.0, bytes_per_s=0.0, domains=left)
        self.note(run, still, state, notes)
        self._close()

    def _close(self) -> None:
        if not self._failed:
            try:
                self._files.finish()
            except (OSError, LycosaError) as error:
                self._give_up(error)
        self._files.close()

    def _write(self, line: rollup.HistoryLine, summaries: dict[str, Any]) -> None:
        try:
            if self._failed:  # perhaps there is room by now
                self._files.start(line["at"])
            self._files.append(line)
            self._files.write_now({**line, **summaries})
            if self._failed:
                log.info("the history is written again")
                self._failed = ""
        except (OSError, LycosaError) as error:
            self._give_up(error)

    def _folded(self, level: Level, line: rollup.HistoryLine) -> None:
        """Leave a coarser line in the store, for those who have not this directory, and once a
        minute what engines noted, in place of what they noted before."""
        if self._leave is None or not self._name:
            return
        at_ms = round(line["at"] * 1000)
        before = 0 if level.kept == inf else at_ms - round(level.kept * 1000)
        self._leave(self._name, level.seconds, at_ms, orjson.dumps(line).decode(), before)
        if level.seconds == LEVELS[1].seconds and self._newest:
            notes = orjson.dumps(self._newest).decode()
            self._leave(self._name, NOTES_SECONDS, at_ms, notes, at_ms)

    def _give_up(self, error: Exception) -> None:
        if not self._failed:
            log.warning(f"no history is written: {error}. The crawl goes on without it.")
        self._failed = str(error)


def _kept(noted: summaries.NoteSummary) -> summaries.NoteSummary:
    """Of the notes of earlier runs those that still hold."""
    top = {name: noted.get("top", {}).get(name, []) for name in ("pages", "failing", "delay")}
    return {**noted, "top": top}


def tail(top: dict[str, list[Any]], delay: float) -> float:
    """Seconds that the domain with the longest queue takes: one page a delay. Pure."""
    own = dict(top.get("delay", ()))
    waits = (number * max(delay, own.get(domain, 0.0)) for domain, number in top.get("queued", ()))
    return float(max(waits, default=0.0))


def earlier_counts(root: Path, store: str, name: str) -> Stats:
    """What the engines of a node counted and committed in its earlier runs."""
    try:
        with closing(open_reader(root, store)) as reader:
            engines = reader.status()["engines"]
    except LycosaError:
        return Stats(engines=0)
    own = [each for each in engines if each.get("node", "") == name]
    return Stats.merge([Stats.from_dict(each).counters() for each in own])
