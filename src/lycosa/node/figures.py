"""One line of figures: how a node stands at one moment, out of what its engines count. Pure.

Owns the names in a line of the history (docs/usage.md): they are added to, never renamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lycosa.metrics import Stats
from lycosa.node.display import Snapshot, real_pages
from lycosa.node.rollup import COUNTERS, TALLIES, HistoryLine


@dataclass(frozen=True, slots=True)
class SeenEngine:
    """One engine as its supervisor sees it."""

    index: int
    id: int
    stats: Stats
    open_files: int = 0


@dataclass(frozen=True, slots=True)
class Moment:
    """What a line tells beside the counts of engines."""

    at: float  # unix time in s
    node: str  # its name; '' where there is only one
    run: float  # when the run began, unix time in s
    state: str
    shown: Snapshot  # what a person sees at the same moment
    delay: float  # s, the crawl's
    disk: dict[str, int] = field(default_factory=dict)  # bytes by kind
    disk_free: int = 0  # bytes
    politeness: dict[str, Any] = field(default_factory=dict)
    tail_s: float = 0.0  # how long the longest queue of one domain takes


def line_of(stats: Stats, moment: Moment, engines: Sequence[SeenEngine] = ()) -> HistoryLine:
    """`stats`: counts of all runs of this node, gauges of its engines."""
    shown = moment.shown
    limit = shown.limiting.partition(":")[0]
    active = max(shown.domains, stats.held)
    line: HistoryLine = {
        "at": round(moment.at, 3),
        "node": moment.node,
        "run": round(moment.run, 3),
        "state": moment.state,
        "paused": stats.paused,
        **{name: getattr(stats, name, 0) for name in COUNTERS},
        "real": real_pages(stats.labels),
        "queued": shown.queued,
        "domains": shown.domains,
        "in_flight": stats.in_flight,
        "held": stats.held,
        "ready": stats.ready,
        "dns_pending": stats.dns_pending,
        "pages_per_s": round(shown.pages_per_s, 3),
        "bytes_per_s": round(shown.bytes_per_s),
        "ceiling": round(active / moment.delay, 3) if moment.delay else None,
        "delay": moment.delay,
        "tail_s": round(moment.tail_s),
        "page_limit": shown.max_pages,
        "time_limit": shown.max_duration,
        "limit": limit,
        "limit_text": shown.limiting,
        "limits": {limit: 1.0} if limit else {},
        **{name: _counted(getattr(stats, name, {})) for name in TALLIES},
        "store_lag_s": round(stats.store_lag_s, 3),
        "loop_max_ms": round(stats.loop_max_ms, 1),
        "cpu": round(stats.cpu_share, 3),
        "rss_mb": round(stats.rss_mb, 1),
        "disk_free": moment.disk_free,
        "disk": moment.disk,
        "politeness": moment.politeness,
        "engines": [_engine(each) for each in engines],
    }
    return line


def _engine(engine: SeenEngine) -> dict[str, Any]:
    stats = engine.stats
    return {
        "index": engine.index,
        "id": engine.id,
        "cpu": round(stats.cpu_share, 3),
        "rss_mb": round(stats.rss_mb, 1),
        "in_flight": stats.in_flight,
        "held": stats.held,
        "store_lag_s": round(stats.store_lag_s, 3),
        "slow_pages": stats.slow_pages,
        "open_files": engine.open_files,
    }


def _counted(counts: dict[str, int]) -> dict[str, int]:
    return {name: number for name, number in counts.items() if number > 0}
