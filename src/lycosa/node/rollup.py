"""Lines of figures made fewer: many lines of one node as one, and lines of many nodes as one. Pure.

Owns what each figure of a line is: a counter grows over all runs, a gauge is of one moment. How
lines are kept is in `history_files`, how one is made in `figures`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lycosa.metrics import nearest_pause

HistoryLine = dict[str, Any]

COUNTERS = (
    *("pages", "ok", "real", "bytes", "requests", "visits", "failed_visits", "robots_fetched"),
    *("duplicates", "near_duplicates", "slow_pages", "exchanges"),
)
TALLIES = ("outcomes", "labels", "languages", "types", "drops", "retries")
_SUMS = ("in_flight", "held", "ready", "dns_pending", "pages_per_s", "bytes_per_s", "cpu", "rss_mb")
_MEANS = (*_SUMS, "ceiling")
_WORST = ("store_lag_s", "loop_max_ms", "tail_s")
_WHOLE = ("queued", "domains", "ceiling")  # of the whole crawl: each node sees the same
RUNNING = frozenset({"loading", "running", "paused", "stopping"})
_STATES = ("failed", "stopped", "finished", "loading", "stopping", "paused", "running")


def at_least(line: HistoryLine, before: HistoryLine) -> HistoryLine:
    """The line with no counter below that of an earlier one: what an engine had counted and not
    committed when it was killed is fetched again."""
    found = dict(line)
    for name in COUNTERS:
        found[name] = max(line.get(name, 0), before.get(name, 0))
    for name in TALLIES:
        found[name] = _join(max, line.get(name, {}), before.get(name, {}))
    return found


def rolled(lines: Sequence[HistoryLine]) -> HistoryLine:
    """Lines of one node that follow each other, as one: counters as they were at the end, rates
    and sizes as they were on average, the worst of what should be small, and which cause held the
    speed for which share of the time."""
    found = dict(lines[-1])
    for name in _MEANS:
        values = [line[name] for line in lines if line.get(name) is not None]
        if values:
            found[name] = round(sum(values) / len(values), 3)
    for name in _WORST:
        found[name] = max(line.get(name, 0) for line in lines)
    shares: dict[str, float] = {}
    for line in lines:
        for cause, share in line.get("limits", {}).items():
            shares[cause] = shares.get(cause, 0.0) + share / len(lines)
    found["limits"] = {cause: round(share, 3) for cause, share in shares.items()}
    if shares:
        most = max(shares, key=lambda cause: shares[cause])
        texts = [line for line in lines if line.get("limit") == most]
        found["limit"], found["limit_text"] = most, (texts or lines)[-1].get("limit_text", most)
    found.pop("engines", None)  # of the moment: nobody asks for it a day later
    return found


def merged(lines: Iterable[HistoryLine]) -> HistoryLine:
    """Lines of different nodes as one line of the crawl: counters added up; gauges of those that
    run. The cause that holds the speed is that of the node that is fastest."""
    parts: list[HistoryLine] = list(lines)
    if len(parts) == 1:
        return parts[0]
    live = [line for line in parts if line.get("state") in RUNNING]
    fastest: HistoryLine = max(
        live or parts, key=lambda line: (line.get("pages_per_s", 0), line["at"])
    )
    found = dict(fastest)
    found["at"] = max(line["at"] for line in parts)
    found["node"] = ""
    found["run"] = min(line["run"] if "run" in line else line["at"] for line in live or parts)
    found["state"] = max((line.get("state", "") for line in live or parts), key=_rank)
    for name in COUNTERS:
        found[name] = sum(line.get(name, 0) for line in parts)
    for name in TALLIES:
        found[name] = {}
        for line in parts:
            found[name] = _join(int.__add__, found[name], line.get(name, {}))
    for name in _SUMS:
        found[name] = round(sum(line.get(name) or 0 for line in live), 3)
    for name in _WORST:
        found[name] = max((line.get(name, 0) for line in live), default=0)
    newest = max(parts, key=lambda line: line["at"])
    for name in _WHOLE:
        found[name] = newest.get(name, 0)
    found["disk"] = {}
    for line in parts:
        found["disk"] = _join(int.__add__, found["disk"], line.get("disk", {}))
    found["disk_free"] = min((line["disk_free"] for line in live if "disk_free" in line), default=0)
    found["politeness"] = nearest_pause(line.get("politeness", {}) for line in parts)
    found["engines"] = [
        {**each, "node": line.get("node", "")} for line in live for each in line.get("engines", ())
    ]
    return found


def _speed(line: HistoryLine) -> tuple[float, float]:
    return line.get("pages_per_s") or 0.0, line["at"]


def _rank(state: str) -> int:
    return _STATES.index(state) if state in _STATES else -1


def _join(how: Callable[[int, int], int], one: dict[str, int], two: dict[str, int]) -> Any:
    return {key: how(one.get(key, 0), two.get(key, 0)) for key in (*one, *two)}
