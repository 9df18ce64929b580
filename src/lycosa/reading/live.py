"""How a crawl stands, looked at again and again: its history, or where that is missing or old, what
the store counts.

Of a crawl of many nodes the figures are those of all nodes together, and `nodes` has those of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lycosa.clock import wall_now
from lycosa.node.rollup import RUNNING

if TYPE_CHECKING:
    from lycosa.reading.crawl import Crawl
    from lycosa.reading.values import Status

OLD = 20.0  # seconds: a crawl that runs writes every five
ASK_EVERY = 5.0  # seconds between questions to the store

Figures = dict[str, Any]  # a line of the history, see `node/history`


class Live:
    """One crawl, of which somebody wants the newest figures every second."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._found: Figures | None = None
        self._again = 0.0  # unix time in s before which the store is not asked again

    def look(self) -> Figures:
        """The newest figures. Files are read each time, a store every few seconds."""
        now = wall_now() / 1000
        if self._found is None or now >= self._again:
            written = self._written(now)
            self._found = written or self._counted(now)
            self._again = now if written and not self._crawl.shared else now + ASK_EVERY
        return self._found

    def _written(self, now: float) -> Figures | None:
        """What nodes wrote, if that tells of now."""
        history = self._crawl.history()
        found, nodes = history.now(), history.nodes()
        if found is None or all(line.get("silent") for line in nodes):
            return None
        if found.get("state") in RUNNING and now - found["at"] >= OLD:
            return None
        return {**found, "end": history.end(), "nodes": nodes if len(nodes) > 1 else []}

    def _counted(self, now: float) -> Figures:
        found = figures_of(self._crawl.status(quick=True), now)
        _note_speed(found, self._found)
        return found


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
        "end": status.end,
        "engines": [{"id": each["id"], "rss_mb": each.get("rss_mb", 0.0)} for each in alive],
    }


def _note_speed(now: Figures, before: Figures | None) -> None:
    since = now["at"] - before["at"] if before else 0.0
    for name in ("pages", "bytes"):
        grown = now[name] - before[name] if before else 0
        now[f"{name}_per_s"] = max(0.0, grown / since) if since > 0 else 0.0
