"""One engine process as its supervisor sees it: the pipes, its last report, whether it runs.

Knows nothing of crawls. What a silence or an end means is decided in `deaths`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from lycosa.clock import engine_now
from lycosa.engine.orders import EngineOrders
from lycosa.metrics import Stats

LAST_READS = 100  # of 64 KB: more than an engine leaves in its pipe


def start(orders: EngineOrders, inherited: Collection[int]) -> EngineProcess:
    """Start an engine and give it its orders; it inherits these descriptors."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lycosa.engine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=inherited,
    )
    now = engine_now()
    engine = EngineProcess(orders.index, process, now, now)
    os.set_blocking(engine.fileno(), False)
    engine.tell(orders.to_json())
    return engine


@dataclass(slots=True, eq=False)
class EngineProcess:
    """An engine and the pipes to it. Times are of the engine's clock."""

    index: int  # among the engines of its node
    process: subprocess.Popen[bytes]
    started: float
    heard: float  # when it reported last
    id: int = 0  # that the store gave it; 0: it has not told it yet
    stats: Stats = field(default_factory=lambda: Stats(engines=1))
    notes: dict[str, Any] = field(default_factory=dict)  # the newest, see `engine/notes`
    _unread: bytes = b""  # the beginning of a report

    def fileno(self) -> int:
        """Of the pipe that its reports come by."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def read(self) -> bool:
        """Take in what has come; False if nothing more will, because it closed its pipe."""
        try:
            data = os.read(self.fileno(), 1 << 16)
        except BlockingIOError:
            return True
        self._take_in(data)
        return bool(data)

    def read_rest(self) -> None:
        """Take in the last words of an engine that has ended."""
        for _ in range(LAST_READS):
            try:
                data = os.read(self.fileno(), 1 << 16)
            except OSError:
                return
            if not data:
                return
            self._take_in(data)

    def _take_in(self, data: bytes) -> None:
        *lines, self._unread = (self._unread + data).split(b"\n")
        for each in lines:
            report = orjson.loads(each)
            self.id = report["engine_id"]
            self.stats = Stats.from_dict(report["stats"])
            self.notes = report.get("notes", self.notes)
            self.heard = engine_now()

    def tell(self, line: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line + b"\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # it has ended: the supervisor's next turn notices

    def stopped(self) -> bool:
        """Whether a signal has stopped it, or it does not exist."""
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] in "Tt"
        except OSError:
            return True

    def close(self) -> None:
        """Close the pipes to an engine that has ended."""
        assert self.process.stdout is not None and self.process.stdin is not None
        self.process.stdout.close()
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def counters(self) -> Stats:
        """What stays of an engine that has ended: its counts, not its gauges."""
        return self.stats.counters()


def open_files(pid: int) -> int:
    """How many files a process has open; 0 if nobody can tell."""
    folder = f"/proc/{pid}/fd"
    try:
        return os.stat(folder).st_size or len(os.listdir(folder))  # the size: since Linux 6.2
    except OSError:
        return 0
