"""Nodes whose directories are elsewhere: what each left in the store, a line a minute, and what its
engines told the store since.

Owns how a line of such a node is made: its newest one, with what has changed within the minute.
Of a node that has run for less than a minute there are its engines alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from lycosa.metrics import Stats
from lycosa.node.rollup import COUNTERS, RUNNING, TALLIES, HistoryLine
from lycosa.reading.status import is_alive

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

MINUTE = 60.0
MOST_MS = 1 << 52
_GAUGES = ("in_flight", "held", "ready", "dns_pending", "store_lag_s", "loop_max_ms", "rss_mb")


def newest_lines(reader: Reader) -> dict[str, HistoryLine]:
    """The newest line of each node. Nodes write one a minute: they are not silent before two are
    missing."""
    found: dict[str, HistoryLine] = {}
    for node, texts in reader.history_nodes().items():
        lines = [_line_of(text) for text in texts.values()]
        found[node] = max(lines, key=lambda line: line["at"]) | {"late_s": 2 * MINUTE}
    now_ms = reader.now_ms()
    by_node: dict[str, list[dict[str, Any]]] = {}
    for engine in reader.engines():
        by_node.setdefault(engine.get("node", ""), []).append(engine)
    for node, engines in by_node.items():
        if node and any(is_alive(each, now_ms) for each in engines):
            found[node] = with_engines(found.get(node), node, engines, now_ms)
    return found


def lines_between(
    reader: Reader, since: float, until: float, here: Collection[str]
) -> list[list[HistoryLine]]:
    """The lines of each node but those that are here, between two moments."""
    end_ms = MOST_MS if until == float("inf") else round(until * 1000)
    found = []
    for node, texts in reader.history_nodes().items():
        if node in here:
            continue
        lines: list[HistoryLine] = []
        before = end_ms
        for seconds in sorted(texts):
            part = reader.history_lines(node, seconds, round(since * 1000), before)
            lines = [_line_of(text) for text in part] + lines
            before = min((round(line["at"] * 1000) - 1 for line in lines), default=before)
        found.append(lines)
    return found


def with_engines(
    line: HistoryLine | None, node: str, engines: Sequence[Mapping[str, Any]], now_ms: int
) -> HistoryLine:
    """A line that engines bring up to date; pure. `engines`: all that ever worked on the node, as
    the store has them; some of them work now."""
    every = Stats.merge([Stats.from_dict(dict(each)).counters() for each in engines])
    alive = [each for each in engines if is_alive(dict(each), now_ms)]
    now = Stats.merge([Stats.from_dict(dict(each)) for each in alive])
    told = max(each.get("renewed_ms", 0) for each in alive) / 1000
    began = min(each.get("started_ms", now_ms) for each in alive) / 1000
    # Whatever was said of a run before this one, of it only the counts still hold.
    found = dict(line) if line and line["at"] >= began else {"at": told, "node": node, "run": began}
    if found.get("state") not in RUNNING:
        found["state"] = "paused" if now.paused else "running"
    found["at"] = max(found["at"], told)
    for name in COUNTERS:
        found[name] = max(found.get(name, 0), getattr(every, name, 0))
    for name in TALLIES:
        before, since = found.get(name, {}), getattr(every, name, {})
        most = {key: max(before.get(key, 0), since.get(key, 0)) for key in (*before, *since)}
        found[name] = {key: number for key, number in most.items() if number > 0}
    for name in _GAUGES:
        found[name] = round(getattr(now, name), 3)
    found.setdefault("pages_per_s", round(now.rate, 3))
    found["cpu"] = round(now.cpu_share, 3)
    found["engines"] = [_engine(index, each) for index, each in enumerate(alive)]
    return found


def _engine(index: int, told: Mapping[str, Any]) -> dict[str, Any]:
    """As a line has it (`node/figures`); open files are known on the node alone."""
    names = ("id", "rss_mb", "in_flight", "held", "store_lag_s", "slow_pages")
    found = {name: told.get(name, 0) for name in names}
    return {"index": index, **found, "cpu": round(told.get("cpu_share", 0.0), 3)}


def _line_of(text: str) -> HistoryLine:
    found: HistoryLine = orjson.loads(text)
    return found
