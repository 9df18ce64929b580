"""Leases rescued, files cut back, ledgers mended: what must happen after an engine has died.

Owns no loop and no process: the supervisor calls it when it starts and when an engine ends.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from lycosa import mark
from lycosa.archive import ledger
from lycosa.archive.segments import CutReport, cut_back, segment_name
from lycosa.frontier import Frontier
from lycosa.log import get_logger

# Bytes of a ledger before its committed length that are read too: a line may be on disk with one
# commit while what it tells of goes to the store with the next.
TAIL_MARGIN = 1 << 20

log = get_logger("upkeep")


def rescue(frontier: Frontier, root: Path, dead: Collection[int], starting: bool = False) -> int:
    """Engines of this directory that are known to be gone: their domains wait one delay from now,
    or longer where they had learnt of it; what they wrote and never committed is cut off. Doing it
    again changes nothing. Returns domains rescued.

    `starting`: among them are engines that left in order, and all they learnt is in the store.
    """
    if not dead:
        return 0
    committed = committed_lengths(frontier)
    delays = _learnt(root, committed, dead)
    ledger.mend(root, dead)
    _tell(cut_back(root, committed, dead))
    living = set(frontier.living())
    killed = [owner for owner in dead if owner in living]
    return frontier.rescue(killed, delays if killed or not starting else {})


def _learnt(root: Path, committed: dict[str, int], dead: Collection[int]) -> dict[str, int]:
    """Longer delays that dead engines knew of, ms by domain name."""
    tails = ledger.tail(root, committed, dead, TAIL_MARGIN)
    return {name: info.delay_ms for name, info in tails.items() if info.delay_ms}


def committed_lengths(frontier: Frontier) -> dict[str, int]:
    """The committed length of every segment by its name."""
    return {
        segment_name(kind, number): length
        for (kind, number), length in frontier.committed_segments().items()
    }


def suspect_page(frontier: Frontier, root: Path, engine: int) -> bool:
    """Note the page that an engine was parsing when it died; returns whether there was one."""
    found = mark.read(root, engine)
    suspected = found is not None and frontier.suspect(*found)
    mark.clear(root, engine)  # or the next engine would be thought to have died of it, too
    return suspected


def _tell(report: CutReport) -> None:
    lost = [*report.short, *report.missing]
    if lost:
        log.warning(
            "the disk lost committed data: these segments are shorter than they were",
            segments=", ".join(lost),
        )
