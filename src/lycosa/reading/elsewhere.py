"""Nodes whose directories are elsewhere: what each left in the store, a line and the notes of its
engines a minute, and what these told the store since.

Owns how a line of such a node is made: its newest one, with what has changed within the minute.
Of a node that has run for less than a minute there are its engines alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from lycosa.frontier.keys import NODE_KEY, SEEDS_LOADED_KEY
from lycosa.metrics import Stats
from lycosa.node.rollup import COUNTERS, TALLIES, HistoryLine
from lycosa.reading.status import is_alive
from lycosa.settings.stored import stored_node, stored_settings
from lycosa.what_limits import limiting

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader
    from lycosa.frontier.summary import EngineSummary

MINUTE = 60.0
MOST_MS = 1 << 52
_GAUGES = ("in_flight", "held", "ready", "dns_pending", "store_lag_s", "loop_max_ms", "rss_mb")


@dataclass(frozen=True, slots=True)
class Whole:
    """What a line tells of the whole crawl, as the store has it now."""

    now_ms: int
    delay: float  # s
    queued: int
    loaded: bool  # all seeds are
    fetches: Mapping[str, int]  # that each node may have under way


def newest_lines(reader: Reader) -> dict[str, HistoryLine]:
    """The newest line of each node. Nodes write one a minute: they are not silent before two are
    missing."""
    found: dict[str, HistoryLine] = {}
    for node, texts in reader.history_nodes().items():
        lines = [_line_of(text) for text in texts.values()]
        found[node] = max(lines, key=lambda line: line["at"]) | {"late_s": 2 * MINUTE}
    engines = reader.engines(seeds=True)
    by_node: dict[str, list[EngineSummary]] = {}
    for each in engines:
        by_node.setdefault(each.get("node", ""), []).append(each)
    whole = _whole(reader, engines)
    for node, own in by_node.items():
        if node and any(is_alive(each, whole.now_ms) for each in own):
            line = found.get(node) or {}
            if "domains" not in line:
                line = {**line, "domains": reader.active_domains()}
            found[node] = with_engines(line, node, own, whole)
    return found


def _whole(reader: Reader, engines: Sequence[EngineSummary]) -> Whole:
    stored = reader.settings()
    settings = stored_settings(stored)
    nodes = {key.partition(":")[2]: stored[key] for key in stored if key.startswith(f"{NODE_KEY}:")}
    told = {name: stored_node({NODE_KEY: text}) for name, text in nodes.items()}
    return Whole(
        now_ms=reader.now_ms(),
        delay=settings.delay if settings else 0.0,
        queued=sum(int(each.get("queued", 0)) for each in engines),
        loaded=stored.get(SEEDS_LOADED_KEY) == "1",
        fetches={name: each.get("max_workers", 1000) for name, each in told.items()},
    )


def notes_of(reader: Reader, here: Collection[str]) -> dict[str, dict[str, Any]]:
    """What the engines of each node but those that are here noted; the latest pages with the place
    where their texts lie."""
    texts = {node: text for node, text in reader.history_notes().items() if node not in here}
    places = {each.get("node", ""): each for each in reader.engines()} if texts else {}
    return {node: _placed(orjson.loads(text), places.get(node)) for node, text in texts.items()}


def kept_on(host: str, directory: str) -> str:
    """Where a text lies, in words."""
    return f"{host} in {directory}"


def _placed(noted: dict[str, Any], engine: Mapping[str, Any] | None) -> dict[str, Any]:
    if engine is None:
        return noted
    kept = kept_on(engine["host"], engine["directory"])
    return {**noted, "latest": [{**each, "kept": kept} for each in noted.get("latest", ())]}


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
    line: HistoryLine, node: str, engines: Sequence[EngineSummary], whole: Whole
) -> HistoryLine:
    """A line that engines bring up to date; pure. `engines`: all that ever worked on the node, as
    the store has them; some of them work now."""
    every = Stats.merge([Stats.from_dict(each).counters() for each in engines])
    alive = [each for each in engines if is_alive(each, whole.now_ms)]
    now = Stats.merge([Stats.from_dict(each) for each in alive])
    told = max(each.get("renewed_ms", 0) for each in alive) / 1000
    began = min(each.get("started_ms", whole.now_ms) for each in alive) / 1000
    found = {**line, "node": node, "at": max(line.get("at", 0.0), told)}
    if line.get("at", 0.0) < began:  # what was said of a run before this one; its counts still hold
        found |= {"run": began, "state": "running", "pages_per_s": round(now.rate, 3)}
    found |= _counts(found, every)
    found |= {name: round(getattr(now, name), 3) for name in _GAUGES}
    found |= _state(found, now, alive, whole)
    found |= {"cpu": round(now.cpu_share, 3), "queued": whole.queued, "delay": whole.delay}
    found["ceiling"] = round(found["domains"] / whole.delay, 3) if whole.delay else None
    found["engines"] = [_engine(index, each) for index, each in enumerate(alive)]
    return found


def _counts(line: HistoryLine, every: Stats) -> HistoryLine:
    """Counters, none below that of the line."""
    found: HistoryLine = {
        name: max(line.get(name, 0), getattr(every, name, 0)) for name in COUNTERS
    }
    for name in TALLIES:
        before, since = line.get(name, {}), getattr(every, name, {})
        most = {key: max(before.get(key, 0), since.get(key, 0)) for key in (*before, *since)}
        found[name] = {key: number for key, number in most.items() if number > 0}
    return found


def _state(
    line: HistoryLine, now: Stats, alive: Sequence[EngineSummary], whole: Whole
) -> HistoryLine:
    """How a node stands, and what limits its speed: the line may be older than a pause."""
    paused = now.paused if all(each.get("paused") for each in alive) else ""
    now.paused, now.loading_seeds = paused, not whole.loaded
    now.queued, now.domains = whole.queued, line["domains"]
    limit = limiting(now, whole.delay, whole.fetches.get(line["node"], 1000))
    cause = limit.partition(":")[0]
    known = line.get("state") if line.get("state") in ("loading", "stopping") else "running"
    return {
        "state": "paused" if paused else known,
        "paused": paused,
        "limit": cause,
        "limit_text": limit,
        "limits": {cause: 1.0},
    }


def _engine(index: int, told: Mapping[str, Any]) -> dict[str, Any]:
    """As a line has it (`node/figures`); open files are known on the node alone."""
    names = ("id", "rss_mb", "in_flight", "held", "store_lag_s", "slow_pages")
    found = {name: told.get(name, 0) for name in names}
    return {"index": index, **found, "cpu": round(told.get("cpu_share", 0.0), 3)}


def _line_of(text: str) -> HistoryLine:
    found: HistoryLine = orjson.loads(text)
    return found
