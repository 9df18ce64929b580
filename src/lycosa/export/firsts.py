"""Who came first with a key: exact duplicates, found as pages go by, in bounded memory.

The keys lie in a temporary SQLite file beside the export, about 60 bytes each.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from lycosa.errors import LycosaError
from lycosa.export.tables import DuplicateMark
from lycosa.reading.values import Page

EXACT = "exact"
CACHE_KIB = 32 << 10  # of the file in memory
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


class ListedMarks:
    """Marks that were found before, as (page, first page of its cluster, kind) in the order of
    pages: whoever clusters all pages of an export gives such a list."""

    def __init__(self, listed: Iterator[tuple[int, int, str]]) -> None:
        self._listed = listed
        self._next = next(listed, None)

    def mark(self, page: Page) -> DuplicateMark | None:
        """As that of `ExactMarks`."""
        while self._next is not None and self._next[0] < page.id:
            self._next = next(self._listed, None)
        if self._next is None or self._next[0] != page.id:
            return None
        _, first, kind = self._next
        return DuplicateMark(first, kind) if first != page.id else None

    def close(self) -> None:
        self._next = None


class ExactMarks:
    """Marks pages whose text came before."""

    def __init__(self, folder: Path) -> None:
        self._firsts = Firsts(folder)

    def mark(self, page: Page) -> DuplicateMark | None:
        """That a page is a duplicate, or None; pages come in the order of their ids."""
        if not page.content_hash:
            return None
        first = self._firsts.before(page.content_hash, str(page.id))
        return DuplicateMark(int(first), EXACT) if first else None

    def close(self) -> None:
        self._firsts.close()
