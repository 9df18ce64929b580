"""Leases rescued, files cut back, ledgers mended: what must happen after an engine has died.

Owns no loop and no process: the supervisor calls it when it starts and when an engine ends.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from lycosa.archive import ledger
from lycosa.archive.segments import CUT_KINDS, CutReport, cut_back, listed, segment_name
from lycosa.archive.segments import segment_owner as owner_of
from lycosa.engine import MARK
from lycosa.frontier import Frontier
from lycosa.log import get_logger

# Bytes of a ledger before its committed length that are read too: a line may be on disk with one
# commit while what it tells of goes to the store with the next.
TAIL_MARGIN = 1 << 20

log = get_logger("upkeep")


def rescue(frontier: Frontier, root: Path, dead: Collection[int]) -> int:
    """Engines that are known to be gone: their domains wait one delay from now, by the delays that
    they had learnt; what they wrote and never committed is cut off. Returns domains rescued."""
    if not dead:
        return 0
    committed = committed_lengths(frontier)
    tails = ledger.tail(root, committed, dead, TAIL_MARGIN)
    delays = {name: info.delay_ms for name, info in tails.items() if info.delay_ms}
    ledger.mend(root, dead)
    first, *others = dead
    known = {first: delays, **{owner: {} for owner in others}}
    report = cut_back(root, committed, dead)
    _tell(report)
    return frontier.rescue(known)


def tidy(frontier: Frontier, root: Path) -> None:
    """Cut back what engines of this directory left that others have declared dead since.

    Only for whoever holds the lock of the directory while none of its engines runs.
    """
    here = {owner_of(number) for kind in CUT_KINDS for number, _ in listed(root, kind)}
    if here:
        _tell(cut_back(root, committed_lengths(frontier), here))


def committed_lengths(frontier: Frontier) -> dict[str, int]:
    """The committed length of every segment by its name."""
    return {
        segment_name(kind, number): length
        for (kind, number), length in frontier.committed_segments().items()
    }


def suspect_page(frontier: Frontier, root: Path, engine: int) -> bool:
    """Note the page that an engine was parsing when it died; returns whether there was one."""
    try:
        mark = (root / f"engine-{engine}.page").read_bytes()
    except FileNotFoundError:
        return False
    domain_id, order, fp = MARK.unpack(mark)
    if domain_id:
        frontier.suspect(domain_id, order, fp)
    return bool(domain_id)


def _tell(report: CutReport) -> None:
    lost = [*report.short, *report.missing]
    if lost:
        log.warning(
            "the disk lost committed data: these segments are shorter than they were",
            segments=", ".join(lost),
        )
