"""How fast a crawl is and was, how long its last run took, and how much disk it uses.

From the store and the files alone, so that a status tells it from any terminal. Pages are numbered
in the order in which they were recorded: how many were done since a moment is found by halving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.archive.segments import SUFFIX
from lycosa.frontier.protocol import DATABASE

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

MINUTE_MS = 60_000
QUARTER_MS = 15 * MINUTE_MS


def speeds(reader: Reader, now_ms: int) -> dict[str, float]:
    """URLs that were done a second, over the last minute and the last quarter of an hour."""
    newest, at = reader.newest_page(), reader.survey.recorded_ms
    return {
        name: (newest - first_since(newest, now_ms - span, at)) / (span / 1000)
        for name, span in (("minute", MINUTE_MS), ("quarter", QUARTER_MS))
    }


def first_since(newest: int, since_ms: int, at: Callable[[int], int]) -> int:
    """The number before the first page that was recorded since a moment; pure but for `at`, which
    tells when the page of a number, or the next one, was."""
    low, high = 0, newest
    while low < high:
        middle = (low + high) // 2
        if at(middle + 1) >= since_ms:
            high = middle
        else:
            low = middle + 1
    return low


def last_run(engines: Iterable[dict[str, Any]]) -> tuple[int, int]:
    """When the last run began and when its engines were last heard of (ms); (0, 0) if there was
    none. Pure. Engines of one run follow each other without a gap."""
    began = heard = 0
    for each in sorted(engines, key=lambda each: -int(each["renewed_ms"])):
        if not began:
            began, heard = each["started_ms"], each["renewed_ms"]
        elif each["renewed_ms"] >= began:
            began = min(began, each["started_ms"])
        else:
            break
    return began, heard


def disk_of(directories: Sequence[Path]) -> dict[str, int]:
    """Bytes of the files of a crawl by kind, as far as its directories are here."""
    sizes: dict[str, int] = {
        kind: sum(_size(path) for root in directories for path in (root / kind).glob("*"))
        for kind in SUFFIX
    }
    store = sum(_size(path) for root in directories for path in root.glob(f"{DATABASE}*"))
    return {name: size for name, size in {**sizes, "store": store}.items() if size}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # it is gone
