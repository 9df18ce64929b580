"""Counters of an engine, and rates. Pure.

Owns what is counted and how the counts of many engines become one. Knows neither where they are
shown (`progress`), nor how they travel, nor what they say of the speed (`what_limits`). `now` is a
parameter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

# Gauges whose sum over engines has no meaning: merging keeps the worst.
_WORST = frozenset(
    {
        *("store_lag_s", "loop_max_ms", "page_max_ms", "turn_cpu_max_ms", "turn_wall_max_ms"),
        *("turn_excused_max_ms", "loop_busy", "core_wait", "others_busy", "cores", "store_wait"),
        "bandwidth_wait",
    }
)
# The store tells every engine the same: merging keeps the largest.
_SAME = frozenset({"queued", "domains", "max_bandwidth", "paused", "rules"})
# What stays of an engine that has ended.
_COUNTERS = (
    *("pages", "ok", "bytes", "requests", "visits", "polite_visits", "violations"),
    *("robots_fetched", "local_shortage"),
    *("slow_pages", "outcomes", "labels", "languages", "types", "drops", "exchanges"),
    *("turns_cpu", "turns_wall", "turns_excused"),
    *("turn_cpu_max_ms", "turn_wall_max_ms", "turn_excused_max_ms"),
    *("retries", "failed_visits", "duplicates", "near_duplicates"),
)


@dataclass(slots=True)
class Stats:
    """What one engine (or, merged, a node) has done and is doing."""

    # Counters: they only grow.
    pages: int = 0
    ok: int = 0
    bytes: int = 0  # on the wire
    requests: int = 0
    visits: int = 0
    polite_visits: int = 0  # that began after the pause that was needed, see `engine/notes`
    violations: int = 0  # that began before it was over
    robots_fetched: int = 0
    local_shortage: int = 0  # fetches put back because this machine had no more open files
    exchanges: int = 0  # with the store: commit, lease and refill of one batch
    slow_pages: int = 0  # that held the loop for more than 50 ms (S3)
    turns_cpu: dict[str, int] = field(default_factory=dict)  # turns of the loop, see `turns`
    turns_wall: dict[str, int] = field(default_factory=dict)
    turns_excused: int = 0  # long ones in seconds in which an idle process was late, too
    outcomes: dict[str, int] = field(default_factory=dict)  # pages by outcome
    labels: dict[str, int] = field(default_factory=dict)  # pages by label, see `page/labels`
    languages: dict[str, int] = field(default_factory=dict)  # ok pages by language
    types: dict[str, int] = field(default_factory=dict)  # responses by media type
    drops: dict[str, int] = field(default_factory=dict)  # URLs refused, by reason
    duplicates: int = 0  # pages whose text an earlier one had, and
    near_duplicates: int = 0  # nearly had, as far as an engine remembers (`engine/repeats`)
    failed_visits: int = 0  # that brought no page, whether or not it is tried again
    retries: dict[str, int] = field(default_factory=dict)  # visits to be tried again, by cause

    # Gauges: how it is now.
    engines: int = 1
    in_flight: int = 0
    held: int = 0  # domains leased
    ready: int = 0  # held domains that could be visited at once
    crowded: dict[str, int] = field(default_factory=dict)  # domains that wait, by address
    dns_pending: int = 0
    uncommitted: int = 0  # pages fetched but not in the store
    queued: int = 0  # URLs in the whole crawl, an estimate
    domains: int = 0  # with something left to fetch, in the whole crawl
    cpu_share: float = 0.0  # of one core, 0 to 1; merged: of as many cores as engines
    rss_mb: float = 0.0
    store_lag_s: float = 0.0  # that the last exchange with the store took
    store_wait: float = 0.0  # share of the time in which the loop had nothing to do but wait for it
    bandwidth_wait: float = 0.0  # share of the time in which --max-bandwidth held visits back
    max_bandwidth: int = 0  # bytes a second of the node; 0: no limit
    loop_busy: float = 0.0  # share of the time in which the loop had something to do
    core_wait: float = 0.0  # share of the time in which it could have run and had no core
    others_busy: float = 0.0  # share of the machine's cores that other programs use
    cores: int = 0  # of the machine
    rate: float = 0.0  # visits a second, over the last seconds
    rate_before: float = 0.0  # and over half a minute
    loop_max_ms: float = 0.0  # longest turn of the loop since the last report
    turn_cpu_max_ms: float = 0.0  # longest turn ever
    turn_wall_max_ms: float = 0.0
    turn_excused_max_ms: float = 0.0
    page_max_ms: float = 0.0  # the longest that one response ever held the loop
    short_of_files: bool = False  # concurrency is lowered for want of open files
    short_of_memory: bool = False  # transfers were cut off lately for want of room for bodies
    bodies_mb: float = 0.0  # of responses under way
    loading_seeds: bool = False
    rules: int = 0  # the version of the rules that it goes by (`RULES_KEY`)
    paused: str = ""  # by whom: "user" or "disk" (`engine/core`); "": it is not

    def to_dict(self) -> dict[str, Any]:
        """A copy: another thread may write it down while counting goes on."""
        values = {name: getattr(self, name) for name in _FIELDS}
        for name in _TALLIES:
            values[name] = dict(values[name])
        return values  # the counts of turns are made anew for each report

    def counters(self) -> Stats:
        """The counts alone, without gauges."""
        kept = Stats(engines=0)
        for name in _COUNTERS:
            setattr(kept, name, getattr(self, name))
        return kept

    def uncount(
        self, outcome: str, status: int, label: str = "", language: str = "", kind: str = ""
    ) -> None:
        """Take back a page that was not recorded after all; `kind`: its media type."""
        self.outcomes[outcome] -= 1
        for tally, name in (
            (self.labels, label),
            (self.languages, language if outcome == "ok" else ""),
            (self.types, kind if status else ""),
        ):
            if tally.get(name):
                tally[name] -= 1
        self.ok -= outcome == "ok"
        self.pages -= status > 0

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Stats:
        """Ignores unknown keys: an engine of another version may have written them."""
        known = {part.name for part in fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})

    @classmethod
    def merge(cls, parts: list[Stats]) -> Stats:
        """The counts of many engines as one; of none, all zero."""
        total = cls(engines=0)
        for part in parts:
            for name in _FIELDS:
                merged = _merged(name, getattr(total, name), getattr(part, name))
                setattr(total, name, merged)
        return total


_TALLIES = ("outcomes", "labels", "languages", "types", "drops", "retries", "crowded")
_FIELDS = tuple(part.name for part in fields(Stats))


def _merged(name: str, mine: Any, other: Any) -> Any:
    if isinstance(mine, dict):
        return {key: mine.get(key, 0) + other.get(key, 0) for key in (*mine, *other)}
    if isinstance(mine, bool):
        return mine or other
    if name in _WORST or name in _SAME:
        return max(mine, other)
    return mine + other


def nearest_pause(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What is known of pauses, from many who counted: the smallest is the one that was nearest to
    what was needed."""
    found: dict[str, Any] = {"visits": 0, "least": None, "needed": None, "violations": 0}
    for part in parts:
        found["visits"] += part.get("visits", 0)
        found["violations"] += part.get("violations", 0)
        least, needed = part.get("least"), part.get("needed")
        if least is None or needed is None:
            continue
        if found["least"] is None or least - needed < found["least"] - found["needed"]:
            found["least"], found["needed"] = least, needed
    return found


class Rates:
    """How fast counters grow, over the last few seconds."""

    def __init__(self, window: float = 10.0) -> None:
        self._window = window  # s
        self._samples: deque[tuple[float, Stats]] = deque()

    def add(self, now: float, stats: Stats) -> None:
        """Note the counters at this moment; `stats` must not be changed afterwards."""
        samples = self._samples
        if samples and stats.pages < samples[-1][1].pages:
            samples.clear()  # an engine was replaced: counting begins anew
        samples.append((now, stats))
        # One sample at or beyond the window's far end stays: rates span the whole window.
        while len(samples) > 2 and samples[1][0] <= now - self._window:
            samples.popleft()

    def of(self, name: str) -> float:
        """Growth of one counter in units a second; 0 before there are two samples."""
        if len(self._samples) < 2:
            return 0.0
        (begin, first), (end, last) = self._samples[0], self._samples[-1]
        grown = getattr(last, name) - getattr(first, name)
        return float(grown) / (end - begin) if end > begin else 0.0
