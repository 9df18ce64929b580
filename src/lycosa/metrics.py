"""Counters of an engine, rates, and the one line that says what limits the speed. Pure.

Owns what is counted and how the counts of many engines become one; knows neither where they are
shown (`progress`) nor how they travel. `now` is a parameter.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, fields
from typing import Any

# Gauges where the sum over engines has no meaning: the worst one is what a person wants to know.
_WORST = frozenset(
    {
        *("store_lag_s", "loop_max_ms", "page_max_ms", "turn_cpu_max_ms", "turn_wall_max_ms"),
        *("turn_excused_max_ms", "loop_busy", "core_wait", "others_busy", "cores", "store_wait"),
    }
)
# Told to every engine alike by the store, so that merging must not add them up.
_SAME = frozenset({"queued", "domains"})


@dataclass(slots=True)
class Stats:
    """What one engine (or, merged, a node) has done and is doing."""

    # Counters: they only grow.
    pages: int = 0
    ok: int = 0
    bytes: int = 0  # on the wire
    requests: int = 0
    visits: int = 0
    robots_fetched: int = 0
    local_shortage: int = 0  # fetches put back because this machine had no more open files
    exchanges: int = 0  # with the store: commit, lease and refill of one batch
    slow_pages: int = 0  # that held the loop for more than 50 ms (S3)
    turns_cpu: dict[str, int] = field(default_factory=dict)  # turns of the loop, see `turns`
    turns_wall: dict[str, int] = field(default_factory=dict)
    turns_excused: int = 0  # long ones in seconds in which an idle process was late, too
    outcomes: dict[str, int] = field(default_factory=dict)  # pages by outcome
    drops: dict[str, int] = field(default_factory=dict)  # URLs refused, by reason
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
    page_max_ms: float = 0.0  # longest that one response ever held the loop
    short_of_files: bool = False  # concurrency is lowered for want of open files
    short_of_memory: bool = False  # transfers were cut off lately for want of room for bodies
    bodies_mb: float = 0.0  # of responses under way
    loading_seeds: bool = False

    def to_dict(self) -> dict[str, Any]:
        """A copy: another thread may write it down while counting goes on."""
        values = {name: getattr(self, name) for name in _FIELDS}
        for name in ("outcomes", "drops", "retries", "crowded"):
            values[name] = dict(values[name])
        return values  # the counts of turns are made anew for each report

    def uncount(self, outcome: str, status: int) -> None:
        """Take back a page that was not recorded after all."""
        self.outcomes[outcome] -= 1
        self.ok -= outcome == "ok"
        self.pages -= status > 0

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Stats:
        """Ignores what it does not know: the other side may be another version."""
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


_FIELDS = tuple(part.name for part in fields(Stats))


def _merged(name: str, mine: Any, other: Any) -> Any:
    if isinstance(mine, dict):
        return {key: mine.get(key, 0) + other.get(key, 0) for key in (*mine, *other)}
    if isinstance(mine, bool):
        return mine or other
    if name in _WORST or name in _SAME:
        return max(mine, other)
    return mine + other


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


def limiting(stats: Stats, delay: float, max_workers: int) -> str:
    """The one line that says what limits the speed now.

    The order is that of cause and effect: a full CPU or slow name servers also fill the
    concurrency, and a stuck disk stops everything.
    """
    checks = (
        *(_loading, _finished, _disk, _memory, _cores, _cpu, _dns, _files, _concurrency),
        *(_address, _store, _rising),
    )
    for check in checks:
        line = check(stats, max_workers)
        if line:
            return line
    return _politeness(stats, delay)


def _loading(stats: Stats, _: int) -> str:
    return "loading seeds" if stats.loading_seeds and not stats.ready else ""


def _finished(stats: Stats, _: int) -> str:
    busy = stats.queued or stats.held or stats.in_flight or stats.uncommitted
    return "" if busy else "nothing left to fetch"


def _disk(stats: Stats, _: int) -> str:
    # Commits come once a second; five behind is more than a slow moment.
    if stats.store_lag_s < 5:
        return ""
    return f"disk: the store is {stats.store_lag_s:.0f} s behind"


def _memory(stats: Stats, _: int) -> str:
    if not stats.short_of_memory:
        return ""
    return f"memory: responses under way hold {stats.bodies_mb:,.0f} MB, all that they may"


def _cores(stats: Stats, _: int) -> str:
    """The loop always has something to do, and others have the cores."""
    if stats.loop_busy < 0.8 or stats.core_wait < 0.15 or stats.others_busy < 0.15:
        return ""
    cores = _count(stats.cores, "core")
    return (
        f"cores: other programs use {_percent(stats.others_busy)} of {cores}, "
        f"an engine waits {_percent(stats.core_wait)} of the time for one"
    )


def _cpu(stats: Stats, _: int) -> str:
    """An engine that uses its core, or whose loop is never idle: its store thread has the rest."""
    share = stats.cpu_share / stats.engines if stats.engines else 0.0
    if share >= 0.9:
        return f"CPU: {_percent(share)} of {_count(stats.engines, 'core')} used"
    if stats.loop_busy >= 0.9:
        return f"CPU: an engine has something to do {_percent(stats.loop_busy)} of the time"
    return ""


def _dns(stats: Stats, _: int) -> str:
    # A few look-ups always wait; half of all fetches waiting is a bottleneck.
    if stats.dns_pending < 20 or stats.dns_pending * 2 < stats.in_flight:
        return ""
    return f"DNS: {stats.dns_pending:,} of {stats.in_flight:,} fetches wait for a name server"


def _files(stats: Stats, _: int) -> str:
    if not stats.short_of_files:
        return ""
    return f"open files: the system allows no more than {stats.in_flight:,} fetches (ulimit -n)"


def _concurrency(stats: Stats, max_workers: int) -> str:
    if stats.in_flight < 0.95 * max_workers or not stats.ready:
        return ""
    return f"concurrency: {stats.in_flight:,} of {max_workers:,} fetches in flight (--max-workers)"


def _store(stats: Stats, _: int) -> str:
    if stats.store_wait < 0.2:
        return ""
    return (
        f"store: engines wait for it {_percent(stats.store_wait)} of the time, "
        f"the last exchange took {stats.store_lag_s:.1f} s"
    )


def _rising(stats: Stats, _: int) -> str:
    """More is ready than is being visited: soon it will be, if the speed grows."""
    if stats.ready <= max(10, stats.held // 10):
        return ""
    ready = f"{stats.ready:,} domains are ready"
    if stats.rate > 1.05 * stats.rate_before:
        return f"nothing: {ready}, speeding up"
    return f"nothing: {ready}, {stats.rate:,.0f} visits begin a second"


def _address(stats: Stats, _: int) -> str:
    """One address may be why domains that could be visited are not (--ip-delay)."""
    if not stats.crowded or stats.ready > stats.held // 10:
        return ""
    address, waiting = max(stats.crowded.items(), key=lambda item: item[1])
    if waiting < 10 or 2 * waiting < stats.held:
        return ""
    return f"one address: {_count(waiting, 'domain')} wait for {address} (--ip-delay)"


def _politeness(stats: Stats, delay: float) -> str:
    domains = max(stats.domains, stats.held)
    if not delay:
        return f"the sites: {_count(domains, 'domain')}, one request each at a time"
    return f"politeness: {_count(domains, 'domain')} / {delay:g} s"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
