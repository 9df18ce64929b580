"""What limits the speed of a crawl: every cause by its one name, and which of them holds now. Pure.

The live view, the log, `status`, `check` and docs/tuning.md name a cause by these words only. The
figures come from `metrics`. `bandwidth` is the limit that a user set: no engine knows how much the
line can take. On one that is full, fetches take longer and more of them are under way
(`concurrency`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lycosa.metrics import Stats
from lycosa.units import size


class Limit:
    """A cause that can hold the speed."""

    PAUSED = "paused"
    SEEDS = "seeds"
    QUEUE = "queue"
    DISK = "disk"
    MEMORY = "memory"
    CPU_OF_OTHERS = "CPU of others"
    CPU = "CPU"
    DNS = "DNS"
    OPEN_FILES = "open files"
    BANDWIDTH = "bandwidth"
    CONCURRENCY = "concurrency"
    ADDRESS = "one address"
    STORE = "store"
    NOTHING = "nothing"
    POLITENESS = "politeness"


@dataclass(frozen=True, slots=True)
class Cause:
    """How docs/tuning.md explains a limit."""

    examples: tuple[str, ...]  # what follows the name and a colon
    meaning: str  # and what helps


# In the order in which `limiting` looks for them.
LIMITS: dict[str, Cause] = {
    Limit.PAUSED: Cause(
        ("by you", "disk nearly full, less than --min-free-disk is free"),
        "`lycosa unpause` goes on; with a disk that is nearly full the crawl goes on by itself when"
        " there is room",
    ),
    Limit.SEEDS: Cause(("they are still being loaded",), "visits begin with the first of them"),
    Limit.QUEUE: Cause(("nothing is left to fetch",), "the crawl is about to end"),
    Limit.DISK: Cause(
        ("the store is 6 s behind",),
        "writing takes longer than fetching: a faster disk, fewer engines, or PostgreSQL",
    ),
    Limit.MEMORY: Cause(
        ("responses under way hold 400 MB, all that they may",),
        "many hosts send much and then wait; engines cut off the transfers that hold most and move"
        " least, and keep what came of them",
    ),
    Limit.CPU_OF_OTHERS: Cause(
        ("other programs use 40 % of 2 cores, …",),
        "engines have work and no core to do it on: stop the other programs, or more cores",
    ),
    Limit.CPU: Cause(
        ("95 % of 2 cores used", "an engine has something to do 95 % of the time"),
        "more cores, more engines (`--engines`), more nodes",
    ),
    Limit.DNS: Cause(
        ("400 of 500 fetches wait for a name server",), "a nearer or faster one (`--nameserver`)"
    ),
    Limit.OPEN_FILES: Cause(
        ("the system allows no more than 200 fetches (ulimit -n)",), "raise `ulimit -n`"
    ),
    Limit.BANDWIDTH: Cause(
        ("the 2.5 MB/s that it may have are used (--max-bandwidth)",),
        "raise `--max-bandwidth`, or leave it out",
    ),
    Limit.CONCURRENCY: Cause(
        ("1,000 of 1,000 fetches in flight (--max-workers)",),
        "raise `--max-workers`; if that does not help, look at your line: how much it can take is"
        " not measured",
    ),
    Limit.ADDRESS: Cause(
        ("300 domains wait for 192.0.2.7 (--ip-delay)",),
        "many domains are at one address: `--ip-delay`, `--ip-delay-exempt` if it is a CDN's",
    ),
    Limit.STORE: Cause(
        ("engines wait for it 40 % of the time, …",),
        "new visits wait until the store has caught up, or has handed out domains",
    ),
    Limit.NOTHING: Cause(
        (
            "3,000 domains are ready, speeding up",
            "3,000 domains are ready, 400 visits begin a second",
        ),
        "the rate is rising; or it is not, and nothing that is measured holds it",
    ),
    Limit.POLITENESS: Cause(
        ("700 domains / 70 s", "700 domains, one request each at a time"),
        "every domain waits for its delay, or with `--delay 0` for its last request: more domains",
    ),
}


def limiting(stats: Stats, delay: float, max_workers: int) -> str:
    """The one line that says what limits the speed now.

    The order is that of cause and effect: a full CPU or slow name servers also fill the
    concurrency, and a stuck disk stops everything.
    """
    for name, check in _CHECKS:
        found = check(stats, max_workers)
        if found:
            return f"{name}: {found}"
    return f"{Limit.POLITENESS}: {_politeness(stats, delay)}"


def _paused(stats: Stats, _: int) -> str:
    if not stats.paused:
        return ""
    if stats.paused == "user":
        return "by you"
    return "disk nearly full, less than --min-free-disk is free"


def _seeds(stats: Stats, _: int) -> str:
    return "they are still being loaded" if stats.loading_seeds and not stats.ready else ""


def _queue(stats: Stats, _: int) -> str:
    busy = stats.queued or stats.held or stats.in_flight or stats.uncommitted
    return "" if busy else "nothing is left to fetch"


def _disk(stats: Stats, _: int) -> str:
    # Commits come once a second; five behind is more than a slow moment.
    return f"the store is {stats.store_lag_s:.0f} s behind" if stats.store_lag_s >= 5 else ""


def _memory(stats: Stats, _: int) -> str:
    if not stats.short_of_memory:
        return ""
    return f"responses under way hold {stats.bodies_mb:,.0f} MB, all that they may"


def _cpu_of_others(stats: Stats, _: int) -> str:
    """The loop always has something to do, and other programs have the cores."""
    if stats.loop_busy < 0.8 or stats.core_wait < 0.15 or stats.others_busy < 0.15:
        return ""
    cores = _count(stats.cores, "core")
    return (
        f"other programs use {_percent(stats.others_busy)} of {cores}, "
        f"an engine waits {_percent(stats.core_wait)} of the time for one"
    )


def _cpu(stats: Stats, _: int) -> str:
    """An engine that uses its core, or whose loop is never idle: its store thread has the rest."""
    share = stats.cpu_share / stats.engines if stats.engines else 0.0
    if share >= 0.9:
        return f"{_percent(share)} of {_count(stats.engines, 'core')} used"
    if stats.loop_busy >= 0.9:
        return f"an engine has something to do {_percent(stats.loop_busy)} of the time"
    return ""


def _dns(stats: Stats, _: int) -> str:
    # A few look-ups always wait; half of all fetches waiting is a bottleneck.
    if stats.dns_pending < 20 or stats.dns_pending * 2 < stats.in_flight:
        return ""
    return f"{stats.dns_pending:,} of {stats.in_flight:,} fetches wait for a name server"


def _open_files(stats: Stats, _: int) -> str:
    if not stats.short_of_files:
        return ""
    return f"the system allows no more than {stats.in_flight:,} fetches (ulimit -n)"


def _bandwidth(stats: Stats, _: int) -> str:
    if not stats.max_bandwidth or stats.bandwidth_wait < 0.3:
        return ""
    return f"the {size(stats.max_bandwidth)}/s that it may have are used (--max-bandwidth)"


def _concurrency(stats: Stats, max_workers: int) -> str:
    if stats.in_flight < 0.95 * max_workers or not stats.ready:
        return ""
    return f"{stats.in_flight:,} of {max_workers:,} fetches in flight (--max-workers)"


def _address(stats: Stats, _: int) -> str:
    """Most of the domains that an engine holds wait for their turn at one address."""
    if not stats.crowded or stats.ready > stats.held // 10:
        return ""
    address, waiting = max(stats.crowded.items(), key=lambda item: item[1])
    if waiting < 10 or 2 * waiting < stats.held:
        return ""
    return f"{_count(waiting, 'domain')} wait for {address} (--ip-delay)"


def _store(stats: Stats, _: int) -> str:
    if stats.store_wait < 0.2:
        return ""
    return (
        f"engines wait for it {_percent(stats.store_wait)} of the time, "
        f"the last exchange took {stats.store_lag_s:.1f} s"
    )


def _nothing(stats: Stats, _: int) -> str:
    """More domains are ready than are being visited: either the speed grows, or we don't know."""
    if stats.ready <= max(10, stats.held // 10):
        return ""
    ready = f"{stats.ready:,} domains are ready"
    if stats.rate > 1.05 * stats.rate_before:
        return f"{ready}, speeding up"
    return f"{ready}, {stats.rate:,.0f} visits begin a second"


def _politeness(stats: Stats, delay: float) -> str:
    domains = _count(max(stats.domains, stats.held), "domain")
    return f"{domains} / {delay:g} s" if delay else f"{domains}, one request each at a time"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


_CHECKS: tuple[tuple[str, Callable[[Stats, int], str]], ...] = (
    (Limit.PAUSED, _paused),
    (Limit.SEEDS, _seeds),
    (Limit.QUEUE, _queue),
    (Limit.DISK, _disk),
    (Limit.MEMORY, _memory),
    (Limit.CPU_OF_OTHERS, _cpu_of_others),
    (Limit.CPU, _cpu),
    (Limit.DNS, _dns),
    (Limit.OPEN_FILES, _open_files),
    (Limit.BANDWIDTH, _bandwidth),
    (Limit.CONCURRENCY, _concurrency),
    (Limit.ADDRESS, _address),
    (Limit.STORE, _store),
    (Limit.NOTHING, _nothing),
)
