"""What a running crawl writes of itself every few seconds: `history/now.json`.

Owns how it is found and read. It may be missing (an older run, another node), half as old as the
crawl, or spoilt: then there is none. What its fields mean is decided by its writer.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

NOW = "history/now.json"
MOST_BYTES = 4 << 20  # it is a few hundred KB


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
