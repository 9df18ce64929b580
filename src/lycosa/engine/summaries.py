"""The notes of many engines, runs or nodes as one, as `now.json` has them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from lycosa.engine.notes import EXAMPLES, LATEST
from lycosa.engine.top_domains import TOP
from lycosa.metrics import nearest_pause

SUMMARIES = ("latest", "examples", "dropped", "top", "sizes", "durations")
NoteSummary = dict[str, Any]


def merged(parts: Sequence[NoteSummary]) -> NoteSummary:
    """Many summaries as one; of none, the empty one."""
    return {
        "latest": _latest([part.get("latest", []) for part in parts]),
        "examples": _by_key(parts, "examples", _newest),
        "dropped": _by_key(parts, "dropped", _in_turns),
        "top": _top([part.get("top", {}) for part in parts]),
        "sizes": _added([part.get("sizes", {}) for part in parts]),
        "durations": _by_key(parts, "durations", _histogram),
        "politeness": nearest_pause(part.get("politeness", {}) for part in parts),
    }


def _by_key(
    parts: Sequence[NoteSummary], name: str, how: Callable[[list[Any]], Any]
) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for part in parts:
        for key, value in part.get(name, {}).items():
            found.setdefault(key, []).append(value)
    return {key: how(values) for key, values in found.items()}


def _latest(lists: list[list[Any]]) -> list[Any]:
    return _by_time(lists)[:LATEST]


def _newest(lists: list[list[Any]]) -> list[Any]:
    return _by_time(lists)[:EXAMPLES]


def _by_time(lists: list[list[Any]]) -> list[Any]:
    """The newest first, each URL once."""
    every = sorted((each for one in lists for each in one), key=lambda each: -each["at"])
    return list({each["url"]: each for each in reversed(every)}.values())[::-1]


def _in_turns(lists: list[list[str]]) -> list[str]:
    mixed = [each for turn in zip_longest(*lists) for each in turn if each is not None]
    return list(dict.fromkeys(mixed))[:EXAMPLES]


def _added(parts: list[dict[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in parts:
        for key, count in part.items():
            found[key] = found.get(key, 0) + count
    return found


def _histogram(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Of those that have the bounds of the newest; others are of another version."""
    bounds = parts[-1]["le"]
    same = [part for part in parts if part["le"] == bounds]
    return {
        "le": bounds,
        "n": [sum(column) for column in zip(*(part["n"] for part in same), strict=True)],
        "sum": round(sum(part["sum"] for part in same), 6),
    }


def _top(parts: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """A domain's failures are added up; of its other values the largest counts, because engines
    hold it one after the other."""
    found: dict[str, list[Any]] = {}
    for name in ("pages", "queued", "failing", "slowest", "delay"):
        values: dict[str, float] = {}
        for part in parts:
            for domain, value in part.get(name, ()):
                before = values.get(domain, 0)
                values[domain] = before + value if name == "failing" else max(before, value)
        order = sorted(values.items(), key=lambda item: (-item[1], item[0]))
        found[name] = [list(each) for each in order[:TOP]]
    return found
