"""What a directory lost between two runs: a start names it, counts it, and goes on.

What is to be done about it is the user's choice (`lycosa verify`, `mending`). Changes no file.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.called import called
from lycosa.frontier.keys import LOST_KEY, MOVED_KEY
from lycosa.frontier.protocol import Frontier, is_server, open_reader
from lycosa.log import get_logger
from lycosa.node.datadir import node_of
from lycosa.node.presence import Presence
from lycosa.terminal import redact

if TYPE_CHECKING:
    from lycosa.node.verify import Report

log = get_logger("node")


def name_losses(presence: Presence, store: str) -> None:
    """Warn of segments that are missing or short, and store how many pages are concerned. As long
    as nothing is, costs a look at names and sizes."""
    frontier, root = presence.frontier, presence.root
    committed = frontier.committed_segments()
    pages = 0
    if committed:
        # Here: they read every format of the archive, and a new crawl has nothing to be read.
        from lycosa.node.verify import changed_segments, moved_segments, own_segments

        engines = presence.every_engine()
        moved = moved_segments({MOVED_KEY: frontier.setting(MOVED_KEY)})
        found = changed_segments(root, own_segments(committed, engines), moved)
        pages = _name_pages(root, store, engines, found) if found else 0
    note_losses(frontier, root, pages)


def _name_pages(root: Path, store: str, engines: Collection[int], segments: set[str]) -> int:
    """Returns how many pages of these segments lost something."""
    from lycosa.node.verify import verified

    with (
        closing(open_reader(root, store)) as reader,
        verified(reader, root, engines, only=segments) as verifier,
    ):
        server = ("--store", redact(store)) if is_server(store) else ()
        _warn(verifier.report, called("verify", "--data-dir", root, *server))
        return verifier.report.concerned


def _warn(report: Report, command: str) -> None:
    for verdict in report.bad:
        log.warning(
            f"what was kept is gone: {verdict.name} is {verdict.state or 'damaged'}",
            pages=verdict.pages,
        )
    log.warning(
        f"{report.concerned:,} pages have lost their text or WARC records: '{command}' names them,"
        " and --requeue fetches them again, --mark-lost notes the loss, --moved says that you keep"
        " segments elsewhere; the crawl goes on"
    )


def note_losses(frontier: Frontier, root: Path, pages: int) -> None:
    """Store how many pages a directory is known to have lost, for `lycosa status`."""
    key = LOST_KEY + node_of(root)
    if int(frontier.setting(key) or 0) != pages:
        frontier.put_settings({key: pages})
