"""An engine without a network, as a process: it leases, commits and refills as engines do.

    python -m stores.engine '{"store": …, "folder": …, "urls": …}'

Which lycosa it drives is decided by PYTHONPATH, so that two checkouts can be measured by turns. It
obeys one word a line on its standard input, and answers each with a line of JSON: 'fill', or a
number of batches to commit. Knows a store by its verbs alone; SQLite's write lock is timed at the
connection, from the statement that takes it to the one that gives it back.
"""

from __future__ import annotations

import functools
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from lycosa.frontier.protocol import StoreRules, open_frontier
from lycosa.records import Lease, QueuedUrl
from stores.fill import Filler
from stores.world import SMALLEST, Load, Pages

T = TypeVar("T")


@dataclass
class Cost:
    """What a run of batches took, in seconds, bytes and counts."""

    pages: int = 0
    links: int = 0  # on these pages
    foreign: int = 0
    sent: int = 0  # of them, to the store
    new: int = 0  # of these, by the store's account
    handed: int = 0  # URLs that leases brought
    wall: float = 0.0  # of all verbs
    cpu: float = 0.0
    lock: float = 0.0  # for which the write lock was held
    lock_cpu: float = 0.0
    written: int = 0
    reads: int = 0
    log_reads: int = 0  # of these, SQLite's log by its checkpoints: the system has it in memory
    read: int = 0  # bytes, from the disk
    times: dict[str, list[float]] = field(default_factory=dict)


class TimedConnection(sqlite3.Connection):
    """Adds up for how long connections of this process could write, and what their commits read:
    that is the log, which a checkpoint brings into the file."""

    held = held_cpu = 0.0
    log_reads = 0
    _since: tuple[float, float] | None = None

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql[:5] == "BEGIN":
            cursor = super().execute(sql, *args)
            self._since = time.perf_counter(), time.thread_time()
            return cursor
        if sql[:6] == "COMMIT" or sql == "ROLLBACK":
            before = own_reads()
            try:
                return super().execute(sql, *args)
            finally:
                TimedConnection.log_reads += own_reads() - before
                self._ended()
        return super().execute(sql, *args)

    def commit(self) -> None:
        super().commit()
        self._ended()

    def _ended(self) -> None:
        if self._since is not None:
            TimedConnection.held += time.perf_counter() - self._since[0]
            TimedConnection.held_cpu += time.thread_time() - self._since[1]
            self._since = None


def own_io() -> dict[str, int]:
    """The kernel's account of what this process read and wrote. Written is what it handed to the
    system (wchar): write_bytes may count a large piece of the cache for a small write into it."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}


_LOOKS = [0]  # at the account, each of which counts as a read
_ACCOUNT = os.open("/proc/self/io", os.O_RDONLY)


def own_reads() -> int:
    """How often this process has read, these looks not counted."""
    _LOOKS[0] += 1
    return int(os.pread(_ACCOUNT, 512, 0).split(b"syscr: ")[1].split()[0]) - _LOOKS[0]


class Engine:
    """Holds domains of a store and visits them."""

    def __init__(self, orders: dict[str, Any]) -> None:
        self._batch: int = orders["batch"]
        self._load = Load(orders["urls"])
        turns = os.open(f"{orders['folder']}/turns", os.O_RDWR | os.O_CREAT)
        # The fill takes all URLs of a finished domain at once.
        rules = StoreRules(run_urls=SMALLEST) if orders["fill"] else StoreRules()
        self._store: Any = open_frontier(
            orders["store"], Path(orders["folder"]), rules,
            lambda: time.time_ns() // 1_000_000, create=orders["fill"], turns=turns,
        )  # fmt: skip
        self._pages = Pages(self._load, orders["engine"], orders["seed"])
        self._engine_id = 0
        self._kept: list[tuple[Lease, QueuedUrl]] = []
        self._cost = Cost()

    def fill(self) -> dict[str, Any]:
        begin = time.monotonic()
        Filler(self._store, self._load).fill()
        queued, domains = self._store.backlog()
        self._store.close()
        return {"queued": queued, "domains": domains, "seconds": time.monotonic() - begin}

    def run(self, batches: int) -> dict[str, Any]:
        """Commits so many batches, fewer if no domain is left."""
        if not self._engine_id:
            self._engine_id = self._store.register("bench", os.getpid(), "bench", "/bench")
        self._cost = cost = Cost()
        links, foreign = self._pages.links, self._pages.foreign
        held, held_cpu, before = TimedConnection.held, TimedConnection.held_cpu, own_io()
        reads, log_reads = own_reads(), TimedConnection.log_reads
        for _ in range(batches):
            if not self._round():
                break
        after = own_io()
        self._report()
        cost.links, cost.foreign = self._pages.links - links, self._pages.foreign - foreign
        cost.lock, cost.lock_cpu = TimedConnection.held - held, TimedConnection.held_cpu - held_cpu
        cost.written = after["wchar"] - before["wchar"]
        cost.reads = own_reads() - reads
        cost.log_reads = TimedConnection.log_reads - log_reads
        cost.read = after["read_bytes"] - before["read_bytes"]
        return asdict(cost)

    def _round(self) -> bool:
        cost, store = self._cost, self._store
        free = self._batch - len(self._kept)
        leases: list[Lease] = self._timed("lease", store.lease, self._engine_id, free)
        cost.handed += sum(len(lease.urls) for lease in leases)
        visits = self._kept + [(lease, lease.urls[0]) for lease in leases if lease.urls]
        keep = {lease.domain_id: lease for lease in leases[: self._batch // 5] if lease.urls}
        batch = self._pages.batch(visits, set(keep), store.now_ms())
        done = self._timed("commit", store.commit, self._engine_id, batch)
        cost.pages += len(batch.pages)
        cost.sent += len(batch.links)
        cost.new += sum(done.added.values())
        runs = self._timed("refill", store.refill, list(keep))
        self._kept = [(keep[ident], urls[0]) for ident, urls in runs.items() if urls]
        return bool(visits)

    def _report(self) -> None:
        """Have a server count what it has read for this process: by itself, it does so within
        seconds. (How a store keeps its connection is its own affair: another may have none.)"""
        db = getattr(getattr(self._store, "store", None), "db", None)
        if db is not None and not isinstance(db, sqlite3.Connection):
            db.execute("SELECT pg_stat_force_next_flush()")

    def _timed(self, verb: str, call: Callable[..., T], *args: Any) -> T:
        begin, cpu = time.perf_counter(), time.process_time()
        result = call(*args)
        self._cost.cpu += time.process_time() - cpu
        took = time.perf_counter() - begin
        self._cost.wall += took
        self._cost.times.setdefault(verb, []).append(took)
        return result

    def close(self) -> None:
        self._store.close()


def main() -> None:
    # Whatever opens a database from here on opens it timed.
    timed = functools.partial(sqlite3.connect, factory=TimedConnection)
    setattr(sqlite3, "connect", timed)  # noqa: B010
    orders = json.loads(sys.argv[1])
    engine = Engine(orders)
    print("ready", flush=True)
    for line in sys.stdin:
        told = engine.fill() if line.strip() == "fill" else engine.run(int(line))
        print(json.dumps(told), flush=True)
    if not orders["fill"]:
        engine.close()


if __name__ == "__main__":
    main()
