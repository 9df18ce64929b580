"""One of many processes that work on a store at once, and the log of what each was given.

A visit here is a moment in which the worker holds a domain: it is written to a log of one line
per event before and after, with the server's time, and judged afterwards by `judge`.
"""

from __future__ import annotations

import os
import random
import sys
import time
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from lycosa.clock import engine_now
from lycosa.errors import Fenced, StoreGone
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import Batch, Release, StoreRules
from lycosa.records import Lease, PageRow

DELAY_MS = 20
LEASE_MS = 4000
IDLE_MS = 1000  # that a process may have nothing in hand while a domain is ready
MARGIN = 0.5  # seconds before the end of a lease at which a worker stops
RULES = StoreRules(delay_ms=DELAY_MS, lease_ms=LEASE_MS, max_queued_per_domain=1_000_000)


class Worker:
    """Leases, visits, commits, until nothing is left."""

    def __init__(self, url: str, log: Path, seed: int) -> None:
        self.store = PostgresFrontier(url, RULES, name="crowd")
        self.rng = random.Random(seed)
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.number = 0
        self.dry = False  # nothing in hand
        self.renewed = self.looked = 0.0
        self.join()

    def join(self) -> None:
        self.engine_id = self.store.register("crowd", os.getpid())
        self.renewed = 0.0
        self.number = 0
        self.batch = Batch()

    def write(self, *words: object) -> None:
        os.write(self.log, (" ".join(map(str, words)) + "\n").encode())

    def run(self) -> None:
        while True:
            try:
                if not self.turn() and self.look_around():
                    self.thirst(self.store.now_ms(), False)
                    return
            except Fenced:
                self.write("fenced", self.engine_id)
                self.join()
            except StoreGone:
                time.sleep(0.05)

    def turn(self) -> bool:
        """Commit what was done, take more, do it; returns whether there was anything."""
        if not self.batch.empty() or engine_now() > self.renewed + LEASE_MS / 8000:
            self.renewed = engine_now()
            self.commit()
        sent = self.renewed
        asked = 0 if self.dry else self.store.now_ms()
        leases = self.store.lease(self.engine_id, 8)
        if not leases:
            self.thirst(asked, True)
        else:
            now = self.store.now_ms()
            self.thirst(now, False)
            self.write("took", now, *(f"{each.domain_id}:{each.ready_ms}" for each in leases))
        for lease in leases:
            if engine_now() < sent + LEASE_MS / 1000 - MARGIN:
                self.visit(lease)
            else:
                self.batch.released.append(self._release(lease, lease.ready_ms))
        if not leases:
            time.sleep(self.rng.uniform(0.03, 0.09))
        return bool(leases)

    def look_around(self) -> bool:
        """Now and then: has somebody died, is everything done?"""
        if engine_now() < self.looked + 0.3:
            return False
        self.looked = engine_now()
        if self.store.rescue():
            self.write("rescued", self.store.now_ms())
        return self.store.finished()

    def thirst(self, now: int, dry: bool) -> None:
        if dry != self.dry:
            self.dry = dry
            self.write("dry" if dry else "wet", now)

    def commit(self) -> None:
        self.number += 1
        batch, self.batch = self.batch, Batch()
        batch.number = self.number
        while True:
            try:
                self.store.commit(self.engine_id, batch)
                break
            except StoreGone:
                time.sleep(0.05)
        for page in batch.pages:
            self.write("done", page.fp)
        if batch.released:
            freed = (release.domain_id for release in batch.released)
            self.write("free", self.store.now_ms(), *freed)

    def visit(self, lease: Lease) -> None:
        """One moment with a domain, one page of it kept (in the crowded ones, several)."""
        self.write("begin", lease.domain_id, self.engine_id, self.store.now_ms(), lease.ready_ms)
        time.sleep(self.rng.uniform(0, 0.002))
        for queued in lease.urls:
            self.write("given", queued.fp, self.engine_id)
            row = PageRow(lease.domain_id, queued.fp, queued.url, queued.order, 0, 1, 200, "ok")
            self.batch.pages.append(row)
        end = self.store.now_ms()
        self.write("end", lease.domain_id, self.engine_id, end)
        self.batch.released.append(self._release(lease, end + DELAY_MS))

    def _release(self, lease: Lease, polite_ms: int) -> Release:
        return Release(lease.domain_id, polite_ms, pages=lease.pages, queued=lease.queued)


def judge(logs: Iterable[Path], killed: bool) -> list[str]:
    """What went wrong, by the logs alone."""
    done: dict[str, int] = defaultdict(int)
    given: dict[str, set[str]] = defaultdict(set)
    visits: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    wrong = []
    for log in logs:
        began: dict[str, int] = {}
        for line in log.read_text().splitlines():
            kind, *words = line.split()
            if kind == "begin":
                ident, _, now, ready = words
                began[ident] = int(now)
                if int(now) < int(ready):
                    wrong.append(f"{ident} before its time: {now} < {ready}")
            elif kind == "end":
                visits[words[0]].append((began.pop(words[0]), int(words[2]), words[1]))
            elif kind == "done":
                done[words[0]] += 1
            elif kind == "given":
                given[words[0]].add(words[1])
        for ident, begin in began.items():  # killed in the middle
            visits[ident].append((begin, begin, "killed"))
    wrong += [f"{fp} done {count} times" for fp, count in done.items() if count > 1]
    if not killed:
        wrong += [f"{fp} given to {who}" for fp, who in given.items() if len(who) > 1]
    for ident, found in visits.items():
        found.sort()
        for (_, end, one), (begin, _, other) in pairwise(found):
            if begin < end + DELAY_MS:
                wrong.append(f"{ident}: {other} began {begin - end} ms after {one} ended")
    return wrong


Span = tuple[int, int]


def longest_idle(logs: Iterable[Path]) -> int:
    """The longest time in ms that a process had nothing in hand while a domain was ready, not
    always the same one. By the logs alone: a domain is ready from its time, or from when it was
    given back if that is later, until somebody took it."""
    idle: list[Span] = []
    changes: dict[str, list[tuple[int, int]]] = defaultdict(list)  # (when, ready at; -1: free)
    rescues: list[int] = []
    for log in logs:
        since = -1
        for line in log.read_text().splitlines():
            kind, *words = line.split()
            if kind == "took":
                for ident, ready in (word.split(":") for word in words[1:]):
                    changes[ident].append((int(words[0]), int(ready)))
            elif kind == "free":
                for ident in words[1:]:
                    changes[ident].append((int(words[0]), -1))
            elif kind == "rescued":
                rescues.append(int(words[0]))
            elif kind == "dry":
                since = int(words[0])
            elif kind == "wet":
                idle.append((since, int(words[0])))
    spans = merged(ready_spans(changes, sorted(rescues)))
    return max((_overlap(each, spans) for each in idle), default=0)


def ready_spans(changes: dict[str, list[tuple[int, int]]], rescues: list[int]) -> Iterable[Span]:
    for found in changes.values():
        found.sort()
        freed: int | None = 0
        for when, ready in found:
            if ready < 0:
                freed = when
                continue
            if freed is None:  # its holder died: free since it was rescued
                before = bisect(rescues, when)
                freed = rescues[before - 1] if before else when
            if max(freed, ready) < when:
                yield max(freed, ready), when
            freed = None


def merged(spans: Iterable[Span]) -> list[Span]:
    whole: list[Span] = []
    for begin, end in sorted(spans):
        if whole and begin <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((begin, end))
    return whole


def _overlap(idle: Span, spans: list[Span]) -> int:
    """The longest piece of a time that lies in one of the spans."""
    first = max(0, bisect(spans, (idle[0],)) - 1)
    last = bisect(spans, (idle[1],))
    return max(
        (min(idle[1], end) - max(idle[0], begin) for begin, end in spans[first:last]), default=0
    )


if __name__ == "__main__":
    Worker(sys.stdin.readline().strip(), Path(sys.argv[1]), int(sys.argv[2])).run()
