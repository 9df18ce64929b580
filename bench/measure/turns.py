"""Compares crawls by turns: all are started, and one runs while the others are stopped.

The speed of a shared machine changes by the minute, so whole runs one after the other would compare
minutes, not programs. Owns starting, stopping and counting; judges nothing and prints nothing. A
crawl that is stopped in the middle of an exchange with its store reports that exchange as slow.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

from lycosa.simweb.serve import SimWeb
from measure import runs
from measure.ballast import burdened, resumed
from measure.postgres import Server
from measure.runs import Job


@dataclass
class Figures:
    """What crawls did while they ran."""

    pages: int = 0
    seconds: float = 0.0
    cpu: float = 0.0

    def __iadd__(self, other: Figures) -> Figures:
        self.pages += other.pages
        self.seconds += other.seconds
        self.cpu += other.cpu
        return self

    @property
    def rate(self) -> float:
        return self.pages / max(self.seconds, 0.001)

    @property
    def cpu_us(self) -> float:
        return self.cpu * 1e6 / max(self.pages, 1)


class Crawls:
    """Crawls that share the hosts of one web and are stopped and continued together."""

    def __init__(self, job: Job, groups: int, root: Path, server: Server | None = None) -> None:
        self.groups = groups
        self.processes: list[subprocess.Popen[bytes]] = []
        self.spans: list[tuple[float, float]] = []  # in which they ran
        self.cpu = 0.0  # seconds, in those spans
        self.web = SimWeb(job.world, root / "log", processes=job.servers)
        self._part = replace(job, engines=job.engines // groups, workers=job.workers // groups,
                             pages=job.pages // groups)  # fmt: skip
        self._homes = [root / str(number) for number in range(groups)]
        self._stores = [server.database() if server else "sqlite" for _ in self._homes]

    def __enter__(self) -> Crawls:
        self.web.__enter__()
        return self

    def prepare(self, domains: int, urls: int) -> None:
        """Writes their seeds, and shares out so many domains of ballast with so many URLs each."""
        seeds = list(runs.seeds_of(self._part, self.web))
        for number, (words, home) in enumerate(zip(self._commands(), self._homes, strict=True)):
            home.mkdir(parents=True)
            (home / "seeds.txt").write_text("".join(seeds[number :: self.groups]))
            if domains:
                burdened(words, home, domains // self.groups, urls)

    def start(self) -> None:
        """Starts them, and stops them at once."""
        for words, home in zip(self._commands(), self._homes, strict=True):
            used = resumed(words, home) if (home / "data").exists() else words
            self.processes.append(subprocess.Popen(used, stdout=subprocess.DEVNULL))
        self._signal(signal.SIGSTOP)

    def _commands(self) -> list[list[str]]:
        return [
            runs.command(self._part, self.web, home, store, "--seeded-urls-only")
            for home, store in zip(self._homes, self._stores, strict=True)
        ]

    def _signal(self, number: int) -> None:
        # One by one: in process groups of their own they would share the cores by group.
        for process in self.processes:
            if process.poll() is None:
                for pid in (process.pid, *runs.children_of(process.pid)):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)

    def go(self, seconds: float) -> bool:
        """Lets them run for so long; returns whether all of them still have something to do."""
        before, began = self._used(), time.monotonic()
        self._signal(signal.SIGCONT)
        time.sleep(seconds)
        self._signal(signal.SIGSTOP)
        self.spans.append((began, time.monotonic()))
        self.cpu += max(0.0, self._used() - before)
        codes = [process.poll() for process in self.processes]
        assert not any(codes), f"a crawl failed: {codes}"
        return codes == [None] * self.groups

    def _used(self) -> float:
        return sum(runs.tree_cpu(process.pid) for process in self.processes)

    def forget(self) -> None:
        """Nothing counts that was measured so far."""
        self.spans.clear()
        self.cpu = 0.0

    def pages(self) -> int:
        """How many were fetched in what counts."""
        starts = [e.start for e in self.web.log() if e.target != "/robots.txt" and e.status == 200]
        return sum(1 for at in starts if any(a <= at < b for a, b in self.spans))

    def figures(self) -> Figures:
        pages = self.pages()
        assert pages, "no page was fetched"
        return Figures(pages, sum(b - a for a, b in self.spans), self.cpu)

    def __exit__(self, *_: object) -> None:
        self._signal(signal.SIGKILL)
        for process in self.processes:
            process.wait()
        self.web.__exit__(None, None, None)
