"""What a status tells: the counts of all engines made one, and the longest waits. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import orjson

from lycosa.frontier.keys import (
    FINISHED_KEY,
    LOST_KEY,
    PAUSED_KEY,
    SEEDS_LOADED_KEY,
    STARTED_KEY,
    STOP_KEY,
)

EngineSummary = dict[str, Any]

COUNT_LIMIT = 100_000  # what a person looks at need not be exact beyond it
WAITS_SHOWN = 5  # domains named that wait for longest
ACTIVE_LIMIT = 1_000_000  # politeness is no limit for so many domains


def summed(engines: list[EngineSummary], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a status that engines and settings tell; engine 0 stands for the seeds."""
    return {
        "pages": _total(engines, "pages"),
        "queued": _total(engines, "queued"),
        "domains": _total(engines, "domains"),
        "ok": _total(engines, "ok"),
        "bytes": _total(engines, "bytes"),
        "requests": _total(engines, "requests"),
        "duplicates": _total(engines, "duplicates"),
        "near_duplicates": _total(engines, "near_duplicates"),
        "outcomes": _tally(engines, "outcomes"),
        "labels": _tally(engines, "labels"),
        "drops": _tally(engines, "drops"),
        "retries": _tally(engines, "retries"),
        "started_ms": int(settings.get(STARTED_KEY, 0)),
        "seeds_loaded": settings.get(SEEDS_LOADED_KEY) == "1",
        "lost": sum(int(settings[key]) for key in settings if key.startswith(LOST_KEY)),
        "finished": settings.get(FINISHED_KEY) == "1",
        "stop_requested": settings.get(STOP_KEY) == "1",
        "pause": orjson.loads(settings.get(PAUSED_KEY) or "null"),
        "engines": [each for each in engines if each["id"]],
    }


def waits(rows: list[dict[str, Any]], now_ms: int) -> list[dict[str, Any]]:
    """Domains that are left alone, for how many seconds, and what is known of the reason."""
    return [
        {
            "domain": row["name"],
            "seconds": (row["ready_at"] - now_ms) / 1000,
            "delay": row["delay_ms"] / 1000,  # of its own, 0: the crawl's
            "failures": row["failures"],  # times that it said it is busy
        }
        for row in rows
    ]


def engine_values(row: dict[str, Any]) -> EngineSummary:
    """An engine's row with its counters unpacked."""
    row["outcomes"] = orjson.loads(row["outcomes"])
    row["ok"] = row["outcomes"].get("ok", 0)
    engine = orjson.loads(row.pop("stats")) | row  # what the store counts is what counts
    engine["alive"] = not engine.pop("dead")
    return dict(engine)


def without_exclusions(settings: str, lines: Collection[str]) -> str:
    """Stored settings of a crawl whose --exclude-file does not have these lines any more."""
    found = orjson.loads(settings)
    found["exclude"] = [line for line in found.get("exclude", ()) if line not in lines]
    return orjson.dumps(found).decode()


def _total(engines: list[EngineSummary], key: str) -> int:
    return sum(int(each.get(key, 0)) for each in engines)


def _tally(engines: list[EngineSummary], key: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in engines:
        for name, count in each.get(key, {}).items():
            counts[name] = counts.get(name, 0) + count
    return {name: n for name, n in sorted(counts.items(), key=lambda item: -item[1]) if n}
