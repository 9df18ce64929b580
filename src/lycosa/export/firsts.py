"""Who came first with a key, found as pages go by, in bounded memory.

The keys lie in a temporary SQLite file beside the export, about 35 bytes for a hash.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from lycosa.errors import LycosaError

CACHE_KIB = 2 << 10  # of the file in memory: small, so that 60,000 hashes take as much as a billion
_NAME = "firsts.sqlite"


class Firsts:
    """Keys, and what their first bearer said."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._db = sqlite3.connect(self._path, isolation_level=None)
        for pragma in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{CACHE_KIB}"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("CREATE TABLE first (key TEXT PRIMARY KEY, said TEXT) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def before(self, key: str, said: str) -> str | None:
        """What the first bearer of the key said; None: this is the first."""
        try:
            found = self._db.execute("SELECT said FROM first WHERE key = ?", (key,)).fetchone()
            if found is None:
                self._db.execute("INSERT INTO first VALUES (?, ?)", (key, said))
                return None
        except sqlite3.Error as error:
            raise LycosaError(f"Can't write {self._path}: {error}. Is its disk full?") from error
        return str(found[0])

    def close(self) -> None:
        """Remove it."""
        self._db.close()
        self._path.unlink(missing_ok=True)
