"""Where the segments of a crawl lie: in one directory, or in those of its nodes.

Owns which of the given directories belongs to which node, and the committed length of each segment:
nothing beyond it is read. Knows nothing of what segments hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.archive.segments import SegmentKind, segment_engine, segment_name
from lycosa.called import called
from lycosa.errors import StoreError, UserError
from lycosa.node.datadir import name_in

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Place
    from lycosa.frontier.reader import Reader


class Elsewhere(UserError):
    """What was asked for lies in a directory that was not given."""


class DamagedSegment(StoreError):
    """A segment is not what was written."""


class Directories:
    """The data directories that were given, and what is committed in them."""

    def __init__(self, reader: Reader, paths: Sequence[Path]) -> None:
        self._reader = reader
        self.paths = list(paths)
        self._by_node = {name: path for path in paths if (name := name_in(path))}
        self._places: dict[int, Place | None] = {}  # by engine
        self._committed: dict[tuple[str, int], int] = {}

    def place(self, segment: int) -> Place | None:
        """On which node a segment is; None: the crawl has one directory."""
        engine_id = segment_engine(segment)
        if engine_id and engine_id not in self._places:
            # The caller may be in the middle of a list of this reader's, which goes on.
            self._places[engine_id] = self._reader.place(engine_id)
        return self._places.get(engine_id)

    def of(self, segment: int) -> Path | None:
        """The directory in which a segment is; None if it was not given."""
        place = self.place(segment)
        if place is None:
            return self.paths[0] if self.paths else None
        return self._by_node.get(place.node)

    def away(self, segment: int) -> Place | None:
        """On which node a segment is that is not in the directories given; None: it is here."""
        return self.place(segment) if segment and self.of(segment) is None else None

    def need(self, segment: int) -> Path:
        """The directory in which a segment is; raises Elsewhere if it was not given."""
        path = self.of(segment)
        if path is None:
            place = self.place(segment)
            where = f"{place.host}:{place.directory}" if place else "a directory of another node"
            raise Elsewhere(
                f"Some pages are kept in {where}: name that directory, or a copy of it, as well."
            )
        return path

    def committed(self, kind: SegmentKind, segment: int, at: int) -> int:
        """The committed length of a segment in which something begins at `at`."""
        if at >= self._committed.get((kind, segment), 0):
            self._committed = dict(self._reader.committed_segments())
        return self._committed.get((kind, segment), 0)


def damaged(kind: SegmentKind, segment: int, root: Path, at: int, why: object) -> DamagedSegment:
    """What to say of a segment that can't be read."""
    told = str(why).rstrip(".")
    hint = called("verify", "--data-dir", root)
    return DamagedSegment(
        f"{root / segment_name(kind, segment)} is damaged at byte {at:,} ({told}):"
        f" '{hint}' names every page that lost something."
    )
