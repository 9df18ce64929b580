"""How a crawl stands: gathered from its store, its lock and its settings.

`gathered` is what `lycosa status --json` prints; `Crawl.status` makes a value of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.frontier.keys import NODE_KEY
from lycosa.node.datadir import in_use
from lycosa.reading.values import Status

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

CHECK_SECONDS = 0.5  # for a search for damage: a small database is read whole


def gathered(
    reader: Reader, directories: Sequence[Path], server: bool, check: bool = True
) -> dict[str, Any]:
    """Everything that a status tells. Raises Damaged if the database is, as far as `check` sees."""
    if check:
        reader.check(CHECK_SECONDS)
    found = reader.status()
    stored = reader.settings()
    found["running"] = running(found, directories, server)
    if not found["running"]:
        for engine in found["engines"]:
            engine["alive"] = False  # the directory is free, so its lease means nothing
    found["limit"] = limit_of(found, stored) if found["running"] else ""
    found["waits"] = long_waits(found["waits"], stored)
    found["loop"] = loop_of(found["engines"])
    found["state"] = state(found)
    return found


def status_of(found: dict[str, Any]) -> Status:
    """What was gathered, as a value."""
    return Status(
        state=found["state"],
        running=found["running"],
        started_ms=found["started_ms"],
        pages=found["pages"],
        ok=found["ok"],
        queued=found["queued"],
        domains=found["domains"],
        bytes_received=found["bytes"],
        requests=found["requests"],
        outcomes=found["outcomes"],
        drops=found["drops"],
        lost=found["lost"],
        limit=found["limit"],
        details=found,
    )


def running(found: dict[str, Any], directories: Sequence[Path], server: bool) -> bool:
    """Whether engines work on the crawl: known from the lock of its directory, or on a server from
    the leases."""
    if server:
        return any(is_alive(each, found["now_ms"]) for each in found["engines"])
    return any(map(in_use, directories))


def is_alive(engine: dict[str, Any], now_ms: int) -> bool:
    """Whether an engine works: not declared dead, and its lease still runs."""
    return bool(engine["alive"]) and engine.get("lease_until", now_ms + 1) > now_ms


def limit_of(found: dict[str, Any], stored: Mapping[str, Any]) -> str:
    """What limits the speed now, by what the engines reported last."""
    from lycosa.metrics import Stats
    from lycosa.settings.stored import node_key, stored_node, stored_settings
    from lycosa.what_limits import limiting

    settings = stored_settings(stored)
    if settings is None:
        return ""
    alive = [each for each in found["engines"] if is_alive(each, found["now_ms"])]
    stats = Stats.merge([Stats.from_dict(each) for each in alive])
    stats.queued, stats.domains = found["queued"], found["active"]
    stats.loading_seeds = not found["seeds_loaded"]
    nodes = {each.get("node", "") for each in alive} or {""}
    told = [stored_node({NODE_KEY: stored.get(node_key(name), "")}) for name in nodes]
    return limiting(stats, settings.delay, sum(each.get("max_workers", 1000) for each in told))


def long_waits(waits: list[dict[str, Any]], stored: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The domains that wait for longer than every domain does after a visit."""
    from lycosa.settings.stored import stored_settings

    settings = stored_settings(stored)
    return [each for each in waits if settings is None or each["seconds"] > settings.delay]


def loop_of(engines: list[dict[str, Any]]) -> dict[str, Any]:
    """How long the turns of the engines' loops took, by CPU and by wall time, in milliseconds."""
    from lycosa.engine.turns import summary
    from lycosa.metrics import Stats

    stats = Stats.merge([Stats.from_dict(each) for each in engines])
    cpu = summary(stats.turns_cpu, stats.turn_cpu_max_ms)
    wall = summary(stats.turns_wall, stats.turn_wall_max_ms)
    return {
        "cpu": asdict(cpu),
        "wall": asdict(wall),
        "excused": {"turns": stats.turns_excused, "max_ms": round(stats.turn_excused_max_ms, 1)},
    }


def state(found: dict[str, Any]) -> str:
    """One word: finished, stopped, stopping, loading (and crawling what is loaded) or running."""
    if found["finished"]:
        return "finished"
    alive = any(is_alive(each, found["now_ms"]) for each in found["engines"])
    if not alive and not found.get("running"):
        return "stopped"
    if found["stop_requested"]:
        return "stopping"
    return "running" if found["seeds_loaded"] else "loading"
