"""One turn of one checkout on a copy of its filled store: right after a checkpoint, warm, with
several engines at once, and cold. Figures are per page.

Owns the engine processes and the order of the measurements; prints nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.runs import reference_ms
from stores.stores import Done, Store, copied, store_in

BENCH = Path(__file__).parents[1]
MOST_BUCKETS, DOMAINS = 256, 1000  # as in lycosa.frontier.inbox, which older code has not
FILLED = "filled.json"  # beside a filled store: what is in it
Figures = dict[str, float]


@dataclass(frozen=True)
class Code:
    """A checkout whose stores are measured."""

    label: str
    root: Path

    def key(self) -> str:
        """Changes with everything that a store's format could depend on."""
        found = hashlib.sha256()
        frontier = self.root / "src/lycosa/frontier"
        for path in sorted((*frontier.rglob("*"), *(BENCH / "stores").glob("*.py"))):
            if path.suffix in (".py", ".sql", ".c", ".h"):
                found.update(path.name.encode() + path.read_bytes())
        return found.hexdigest()[:10]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": f"{self.root / 'src'}{os.pathsep}{BENCH}"}


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    urls: int
    batch: int
    batches: int
    engines: tuple[int, ...]
    whole: bool = True  # whether all of the system's cache is dropped for what is cold


class Engine:
    """An engine process."""

    def __init__(self, code: Code, store: Store, plan: Plan, engine: int, fill: bool) -> None:
        # Another seed for each: links that one run found are not new to the next.
        orders = {
            "store": store.url, "folder": str(store.folder), "urls": plan.urls, "fill": fill,
            "batch": plan.batch, "engine": engine, "seed": time.time_ns() // 10**9 % 10**5,
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-m", "stores.engine", json.dumps(orders)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=code.environment(),
        )  # fmt: skip
        self._hear()

    def _hear(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("an engine process failed; its message is above")
        return line

    def begin(self, word: str | int) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def end(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self._hear())
        return told

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def filled(code: Code, root: Path, kind: str, plan: Plan, *, any_code: bool) -> Store:
    """The filled store of a checkout; it is filled now if it is not there. `any_code`: one that
    an earlier state of the checkout filled will do."""
    begin = f"{kind}-{plan.urls}-{code.label}-"
    older = sorted(root.glob(f"{begin}*/{FILLED}")) if any_code else []
    folder = older[-1].parent if older else root / f"{begin}{code.key()}"
    store = store_in(folder, kind)
    if (folder / FILLED).exists():
        return store
    store.start()
    try:
        store.filling(True)
        engine = Engine(code, store, plan, 0, fill=True)
        engine.begin("fill")
        told = engine.end()
        engine.close()
        store.filling(False)
        told["queued"] += _settle(code, store, plan, told["domains"])
        told["sizes"] = store.sizes()
    finally:
        store.stop()
    (folder / FILLED).write_text(json.dumps(told))
    return store


def _settle(code: Code, store: Store, plan: Plan, domains: int) -> int:
    """Links to other domains wait in buckets, one for some thousand domains, each of which has its
    turn with a commit: from then on as many are delivered as are found. Returns by how many URLs
    the queues grew."""
    engine = Engine(code, store, plan, 14, fill=False)
    engine.begin(min(MOST_BUCKETS, domains // DOMAINS))
    told = engine.end()
    engine.close()
    return int(told["new"]) - int(told["pages"])


def contents(store: Store) -> dict[str, Any]:
    """What was written down when it was filled."""
    told: dict[str, Any] = json.loads((store.folder / FILLED).read_text())
    return told


def turn(code: Code, source: Store, plan: Plan) -> dict[str, Figures]:
    """Figures by what was measured."""
    store = copied(source, source.folder.parent / f"turn-{os.getpid()}")
    found: dict[str, Figures] = {}
    store.start()
    try:
        store.settle()
        for count in plan.engines:
            engines = [Engine(code, store, plan, n, fill=False) for n in range(count)]
            _run(store, engines, max(1, plan.batches // 4 // count))
            if count == 1:
                store.checkpoint()
                found["after a checkpoint"] = _run(store, engines, max(1, plan.batches // 2))
            store.images(False)
            name = "warm" if count == 1 else f"warm, {count} engines"
            found[name] = _run(store, engines, max(1, plan.batches // count))
            store.images(True)
            for engine in engines:
                engine.close()
        store.chill(plan.whole)
        engines = [Engine(code, store, plan, 15, fill=False)]
        found["cold"] = _run(store, engines, max(1, plan.batches // 4))
        engines[0].close()
    finally:
        store.stop()
    subprocess.run(["rm", "-rf", store.folder], check=True)
    return found


def _run(store: Store, engines: list[Engine], batches: int) -> Figures:
    reference, before, began = reference_ms(), store.done(), time.monotonic()
    for engine in engines:
        engine.begin(batches)
    told = [engine.end() for engine in engines]
    seconds = time.monotonic() - began
    server = store.done() - before
    if store.kind == "postgres":  # what it has not written yet belongs to these pages too
        store.checkpoint()
        server.written = (store.done() - before).written
    return _figures(told, server, seconds, (reference + reference_ms()) / 2)


def _figures(told: list[dict[str, Any]], server: Done, seconds: float, reference: float) -> Figures:
    total = {name: sum(each[name] for each in told) for name in told[0] if name != "times"}
    pages = max(1, total["pages"])
    found = {name: total[name] / pages for name in ("links", "foreign", "sent", "new")}
    found |= {
        "pages": pages, "pages/s": pages / seconds,
        "client": total["cpu"] * 1e6 / pages, "server": server.cpu * 1e6 / pages,
        "lock": total["lock"] * 1e6 / pages, "lock cpu": total["lock_cpu"] * 1e6 / pages,
        "written": (total["written"] + server.written) / pages / 1000,
        "log": server.log / pages / 1000,
        "reads": (server.blocks or total["reads"]) / pages,
        "log reads": total["log_reads"] / pages,
        "read": (total["read"] + server.read) / pages / 1000,
        "reference": reference,
    }  # fmt: skip
    for verb in ("lease", "commit"):
        times = sorted(time for each in told for time in each["times"].get(verb, [0.0]))
        found[verb] = times[len(times) // 2] * 1000
        found[f"{verb} p99"] = times[min(len(times) - 1, int(len(times) * 0.99))] * 1000
    return found


def medians(turns: list[dict[str, Figures]]) -> dict[str, Figures]:
    return {
        name: {key: statistics.median(each[name][key] for each in turns) for key in first}
        for name, first in turns[0].items()
    }
