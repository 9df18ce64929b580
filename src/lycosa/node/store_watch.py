"""Whether the store is still the one that the run began with.

On SQLite: the database's file is where it was, and whole. On a server: no other server has taken
its place. Knows nothing of engines.
"""

from __future__ import annotations

from pathlib import Path

from lycosa.errors import Damaged, StoreGone, UserError
from lycosa.frontier.protocol import DATABASE, Frontier, check_file

CHECK_SECONDS = 1.0  # for a look at the file: a small one is seen whole


class StoreWatch:
    """Remembers which file or server the store was."""

    def __init__(self, frontier: Frontier, data_dir: Path) -> None:
        self._frontier = frontier
        self._server = frontier.server
        self._path = None if frontier.server_clock else data_dir / DATABASE
        self._identity = self._identify()
        self.damage = ""  # what is wrong with the file, as far as was seen

    def replaced(self) -> bool:
        """Whether the store is on another server than at the last call."""
        before, self._server = self._server, self._frontier.server
        return before != self._server

    def gone(self) -> bool:
        """Whether the directory no longer holds the file that we write to."""
        try:
            return self._identity != self._identify()
        except OSError:
            return True

    def damaged(self) -> bool:
        """Whether something is wrong with the file, as far as a moment tells."""
        if self._path is None:
            return False
        try:
            # By a new connection: what an old one remembers may hide it.
            check_file(self._path.parent, CHECK_SECONDS)
        except Damaged as error:
            self.damage = str(error)
        except (StoreGone, UserError):
            pass  # nobody can tell now, or may look
        return bool(self.damage)

    def _identify(self) -> tuple[int, int]:
        if self._path is None:
            return 0, 0
        found = self._path.stat()
        return found.st_dev, found.st_ino
