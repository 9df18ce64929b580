"""What a running crawl writes of itself every few seconds: `history/now.json`.

Owns how it is found and read. It may be missing (an older run, another node), half as old as the
crawl, or spoilt: then there is none. What its fields mean is decided by its writer.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from lycosa.clock import wall_now

if TYPE_CHECKING:
    from lycosa.reading.crawl import Crawl
    from lycosa.reading.values import Status

NOW = "history/now.json"
MOST_BYTES = 4 << 20  # it is a few hundred KB
OLD = 20.0  # seconds: a crawl that runs writes every five
ASK_EVERY = 5.0  # seconds between questions to the store, where there is no file

Figures = dict[str, Any]  # a line of the history, see `node/history`


def now_of(directories: Iterable[Path]) -> list[dict[str, Any]]:
    """The newest figures of every node whose directory is here."""
    return [found for each in directories if (found := _read(each / NOW))]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            found = orjson.loads(file.read(MOST_BYTES))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("at"), int | float) else None


class Live:
    """How a crawl stands, looked at again and again: its own file, or where that is missing or
    old, what the store counts."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._asked: Figures | None = None
        self._before: Figures | None = None  # of another moment, for speeds

    def look(self) -> Figures:
        """The newest figures."""
        now = wall_now() / 1000
        files = now_of(self._crawl.directories.paths)
        if (
            len(files) == 1
            and now - files[0]["at"] < OLD
            and isinstance(files[0].get("state"), str)
        ):
            return files[0]
        if self._asked is None or now - self._asked["at"] >= ASK_EVERY:
            self._before = self._asked
            self._asked = figures_of(self._crawl.status(quick=True), now)
            _note_speed(self._asked, self._before)
        return self._asked


def figures_of(status: Status, now: float) -> Figures:
    """A status in the form of the history; pure."""
    found = status.details
    alive = [each for each in found["engines"] if each.get("alive")]
    began = min((each["started_ms"] for each in alive), default=0) / 1000
    return {
        "at": now,
        "run": began or now,
        "state": status.state,
        **{name: found[name] for name in ("pages", "ok", "bytes", "requests", "queued", "ready")},
        **{name: found[name] for name in ("outcomes", "labels", "drops", "retries")},
        **{name: found[name] for name in ("duplicates", "near_duplicates")},
        "domains": found["active"],
        "in_flight": sum(each.get("in_flight", 0) for each in alive),
        "held": found["leased"],
        "limit_text": status.limit,
        "limit": status.limit.partition(":")[0],
        "engines": [{"id": each["id"], "rss_mb": each.get("rss_mb", 0.0)} for each in alive],
    }


def _note_speed(now: Figures, before: Figures | None) -> None:
    since = now["at"] - before["at"] if before else 0.0
    for name in ("pages", "bytes"):
        grown = now[name] - before[name] if before else 0
        now[f"{name}_per_s"] = max(0.0, grown / since) if since > 0 else 0.0


def top_of(nodes: Iterable[dict[str, Any]], sort: str) -> list[tuple[str, float]]:
    """Domains by one of the engines' summaries, the first first; nodes never share a domain for
    long, so of two values the larger counts."""
    found: dict[str, float] = {}
    for now in nodes:
        summaries = now.get("top")
        pairs = summaries.get(sort, ()) if isinstance(summaries, dict) else ()
        for pair in pairs if isinstance(pairs, list) else ():
            match pair:
                case [str(name), int() | float() as value]:
                    found[name] = max(value, found.get(name, value))
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def examples_of(nodes: Iterable[dict[str, Any]], outcome: str) -> list[str]:
    """URLs with an outcome that engines came across lately."""
    found: dict[str, None] = {}
    for now in nodes:
        kept = now.get("examples")
        for each in kept.get(outcome, ()) if isinstance(kept, dict) else ():
            if isinstance(each, dict) and isinstance(each.get("url"), str):
                found[each["url"]] = None
    return list(found)
