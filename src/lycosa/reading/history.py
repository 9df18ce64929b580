"""The history of a crawl as its supervisors wrote it: lines of figures, and the newest of them.

Reads `history/*.jsonl` and `history/now.json` of the given data directories. A torn last line is
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

FOLDER = "history"
NOW = "now.json"
GROWTH_SECONDS = 900.0  # the end is told by what happened in these last seconds


class History:
    """What the nodes of a crawl wrote of it."""

    def __init__(self, directories: Sequence[Path], reader: Reader | None = None) -> None:
        self._folders = [path / FOLDER for path in directories]
        self._reader = reader

    def now(self) -> dict[str, Any] | None:
        """The newest figures with their summaries; None if there are none."""
        found = self._newest()
        return max(found, key=lambda line: float(line["at"])) if found else None

    def nodes(self) -> list[dict[str, Any]]:
        """The newest line of each node."""
        return self._newest()

    def lines(
        self, since: float | None = None, until: float | None = None, most: int = 500
    ) -> list[dict[str, Any]]:
        """Lines in the order of time, thinned evenly to at most so many."""
        found = [
            line
            for line in self._every_line()
            if (since is None or line["at"] >= since) and (until is None or line["at"] <= until)
        ]
        found.sort(key=lambda line: float(line["at"]))
        step = max(1, -(-len(found) // most))
        return found[::-1][::step][::-1]  # the newest stays

    def end(self, lines: Sequence[dict[str, Any]]) -> str:
        """When the crawl will have nothing left, in words; '' if that can't be said."""
        if len(lines) < 2 or not lines[-1].get("queued"):
            return ""
        last = lines[-1]
        first = next(each for each in lines if each["at"] >= last["at"] - GROWTH_SECONDS)
        seconds = last["at"] - first["at"]
        if seconds <= 0:
            return ""
        growth = (last["queued"] - first["queued"]) / seconds
        if growth >= 0:
            return f"the queue grows by {growth:,.1f} a second: this crawl will not end by itself"
        at = datetime.fromtimestamp(last["at"] + last["queued"] / -growth, UTC)
        return f"about {at:%Y-%m-%d %H:%M}"

    def _newest(self) -> list[dict[str, Any]]:
        found = (_loaded(_read(folder / NOW)) for folder in self._folders)
        return [line for line in found if line]

    def _every_line(self) -> Iterable[dict[str, Any]]:
        for folder in self._folders:
            for path in sorted(folder.glob("*.jsonl")):
                for text in _read(path).split(b"\n"):
                    if line := _loaded(text):
                        yield line


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _loaded(text: bytes) -> dict[str, Any] | None:
    try:
        line = orjson.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) and "at" in line else None
