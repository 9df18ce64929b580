"""What the top of the page tells: the newest figures of a crawl, put together for a reader. Pure.

The figures come from the history; of a crawl that has none, as one of an older version, from its
status (`of_status`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lycosa.what_limits import LIMITS

ENDED = ("finished", "stopped", "failed")
FULL_SECONDS = 3600.0  # how fast the disk fills is told by what happened in this time
FULL_LEAST = 300.0  # and by no less: a moment's writing says nothing of a day
STALE_SECONDS = 30.0  # without a new line something is wrong with the supervisor
SERIES = (
    *("at", "pages_per_s", "ceiling", "pages", "queued", "bytes_per_s", "in_flight"),
    *("limit", "limits", "outcomes", "state"),
)

NODE = (  # what is told of one of several nodes
    *("at", "node", "state", "pages", "pages_per_s", "in_flight", "rss_mb", "cpu", "disk_free"),
    *("limit", "engines"),
)


def of_status(found: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A line of the history made from a status. `before`: the line before it, for speeds."""
    at = found["now_ms"] / 1000
    limit, _, text = found.get("limit", "").partition(": ")
    line = {
        "at": at,
        "node": "",
        "run": found["started_ms"] / 1000,
        "state": found["state"],
        **{
            name: found.get(name, 0)
            for name in ("pages", "ok", "bytes", "requests", "queued", "duplicates")
        },
        "near_duplicates": found.get("near_duplicates", 0),
        "domains": found.get("active", 0) or found["domains"],
        "held": found.get("leased", 0),
        "ready": found.get("ready", 0),
        "in_flight": sum(each.get("in_flight", 0) for each in _alive(found)),
        "limit": limit,
        "limit_text": f"{limit}: {text}" if limit else "",
        **{name: found.get(name, {}) for name in ("outcomes", "labels", "drops", "retries")},
        "pages_per_s": 0.0,
        "bytes_per_s": 0.0,
        "engines": [_engine(index, each) for index, each in enumerate(_alive(found))],
    }
    if before and at > before["at"]:
        passed = at - before["at"]
        line["pages_per_s"] = max(0.0, (line["pages"] - before["pages"]) / passed)
        line["bytes_per_s"] = max(0.0, (line["bytes"] - before["bytes"]) / passed)
    return line


def _alive(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [each for each in found["engines"] if each["alive"]]


def _engine(index: int, each: Mapping[str, Any]) -> dict[str, Any]:
    names = ("id", "rss_mb", "in_flight", "held", "store_lag_s", "slow_pages")
    told = {name: each.get(name, 0) for name in names}
    return {"index": index, **told, "cpu": each.get("cpu_share", 0.0)}


def overview(
    now: Mapping[str, Any],
    nodes: Sequence[Mapping[str, Any]],
    started: float,
    end: str,
    hours: float | None,
    read_at: float,
) -> dict[str, Any]:
    """Everything that the page shows without being asked. `started`: when the crawl began;
    `read_at`: the present moment."""
    live = now.get("state") not in ENDED
    return {
        **now,
        "nodes": [_node(each, now["at"]) for each in nodes],
        "started": started,
        "elapsed": max(0.0, now["at"] - started) if started else 0.0,
        "stale": live and read_at - now["at"] > STALE_SECONDS,
        "live": live,
        "end": end,
        "hours_until_full": hours,
        "limit_help": _help(str(now.get("limit", ""))),
    }


def _node(line: Mapping[str, Any], newest: float) -> dict[str, Any]:
    told = {name: line.get(name) for name in NODE}
    return {**told, "behind": max(0.0, newest - line["at"])}


def _help(limit: str) -> str:
    cause = LIMITS.get(limit)
    return cause.meaning if cause else ""


def hours_until_full(lines: Sequence[Mapping[str, Any]]) -> float | None:
    """Hours until the disk is full at the speed of now; None if it does not fill, or nobody
    knows."""
    known = [line for line in lines if line.get("disk_free")]
    if len(known) < 2:
        return None
    last = known[-1]
    first = next(line for line in known if line["at"] >= last["at"] - FULL_SECONDS)
    passed, used = last["at"] - first["at"], first["disk_free"] - last["disk_free"]
    if passed < FULL_LEAST or used <= 0:
        return None
    return float(last["disk_free"] * passed / used / 3600)


def columns(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The lines as columns, each of what a chart draws."""
    return {name: [line.get(name) for line in lines] for name in SERIES}
