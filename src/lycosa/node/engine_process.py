"""One engine process as its supervisor sees it: what it said last, and what it is told.

Knows nothing of crawls; the supervisor decides what a silence or a death means.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field

import orjson

from lycosa.clock import engine_now
from lycosa.metrics import Stats

_COUNTERS = (
    *("pages", "ok", "bytes", "requests", "visits", "robots_fetched", "local_shortage"),
    *("slow_pages", "outcomes", "drops", "exchanges", "turns_cpu", "turns_wall", "turns_excused"),
    *("turn_cpu_max_ms", "turn_wall_max_ms", "turn_excused_max_ms"),
    *("retries", "failed_visits"),
)


@dataclass(slots=True)
class Worker:
    """An engine and the pipes to it."""

    index: int
    process: subprocess.Popen[bytes]
    started: float
    heard: float
    owner: int = 0
    buffer: bytes = b""
    stats: Stats = field(default_factory=lambda: Stats(engines=1))

    def hear(self, data: bytes) -> None:
        """Take in its reports."""
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for each in lines:
            report = orjson.loads(each)
            self.owner = report["owner"]
            self.stats = Stats.from_dict(report["stats"])
            self.heard = engine_now()

    def tell(self, words: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(words)
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # it ended: the next turn notices

    def awake(self) -> bool:
        """Whether it is not stopped by a signal (somebody may be looking at it)."""
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] not in "Tt"
        except OSError:
            return False

    def counters(self) -> Stats:
        """What stays of an engine that ended: its counts, not its gauges."""
        kept = Stats(engines=0)
        for name in _COUNTERS:
            setattr(kept, name, getattr(self.stats, name))
        return kept
