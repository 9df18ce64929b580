"""Leases rescued, files cut back, ledgers mended: what must happen after an engine has died.

Owns no loop and no process: the supervisor calls it when it starts and when an engine ends.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.archive import ledger
from lycosa.archive.segments import CutReport, cut_back, segment_name
from lycosa.called import called
from lycosa.engine.parsing_mark import Mark
from lycosa.frontier.keys import LOST_KEY, MOVED_KEY
from lycosa.frontier.protocol import Frontier, is_server, open_reader
from lycosa.log import get_logger
from lycosa.node.datadir import node_of
from lycosa.terminal import redact

if TYPE_CHECKING:
    from lycosa.node.verify import Report

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
    ledger.mend_ledgers(root, dead)
    report = cut_back(root, committed, dead)
    if not starting:  # a start looks at everything (`name_losses`)
        _tell(report)
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


def name_losses(frontier: Frontier, root: Path, store: str, owners: Collection[int]) -> int:
    """Name and count what a directory lost since the last run, and go on: what is to be done about
    it is the user's choice. Costs a look at names and sizes as long as nothing is missing. Returns
    how many pages are concerned."""
    committed = frontier.committed_segments()
    if not committed:
        note_losses(frontier, root, 0)
        return 0
    # Here: it reads every format of the archive, and a new crawl has nothing to be read.
    from lycosa.node.verify import moved_segments, own_segments, suspicious, verified

    lengths = own_segments(committed, owners)
    moved = moved_segments({MOVED_KEY: frontier.setting(MOVED_KEY)})
    found = suspicious(root, lengths, moved)
    pages = 0
    if found:
        with (
            closing(open_reader(root, store)) as reader,
            verified(reader, root, owners, only=found) as verifier,
        ):
            pages = verifier.report.concerned
            server = ("--store", redact(store)) if is_server(store) else ()
            _name(verifier.report, pages, called("verify", "--data-dir", root, *server))
    note_losses(frontier, root, pages)
    return pages


def _name(report: Report, pages: int, hint: str) -> None:
    for verdict in report.bad:
        log.warning(
            f"what was kept is gone: {verdict.name} is {verdict.state or 'damaged'}",
            pages=verdict.pages,
        )
    log.warning(
        f"{pages:,} pages have lost their text or WARC records: '{hint}' names them,"
        " and --requeue fetches them again, --mark-lost notes the loss, --moved says that you keep"
        " segments elsewhere; the crawl goes on"
    )


def note_losses(frontier: Frontier, root: Path, pages: int) -> None:
    """For `lycosa status`: how many pages a node is known to have lost."""
    key = LOST_KEY + node_of(root)
    if int(frontier.setting(key) or 0) != pages:
        frontier.put_settings({key: pages})


def suspect_page(frontier: Frontier, mark: Mark) -> bool:
    """Note the page that an engine was parsing when it died; returns whether there was one."""
    found = mark.read()
    suspected = found is not None and frontier.suspect(*found)
    mark.clear()  # or the next engine would be thought to have died of it, too
    return suspected


def _tell(report: CutReport) -> None:
    lost = [*report.short, *report.missing]
    if lost:
        log.warning(
            "the disk lost committed data: these segments are shorter than they were",
            segments=", ".join(lost),
        )
