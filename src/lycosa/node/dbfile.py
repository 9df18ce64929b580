"""The file that a running crawl's database is: whether it is still there, and still whole.

For a store on a server there is nothing to watch here. Knows nothing of engines.
"""

from __future__ import annotations

from pathlib import Path

from lycosa.errors import Damaged, StoreGone, UserError
from lycosa.frontier.protocol import DATABASE, check_file, is_server

CHECK_SECONDS = 1.0  # for a look at the file: a small one is seen whole


class DatabaseFile:
    """The file as it was when the run began."""

    def __init__(self, store: str, data_dir: Path) -> None:
        self._path = None if is_server(store) else data_dir / DATABASE
        self._identity = self._identify()
        self.damage = ""  # what is wrong with it, as far as was seen

    def same(self) -> bool:
        """Whether the directory still holds the file that we write to."""
        try:
            return self._identity == self._identify()
        except OSError:
            return False

    def damaged(self) -> bool:
        """Whether something is wrong with it, as far as a moment tells."""
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
