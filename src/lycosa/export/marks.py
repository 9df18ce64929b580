"""Which pages of an export are duplicates of earlier ones, exactly or nearly.

All pages are clustered before the first row is written: that takes a temporary file beside the
export, and a look at the texts of pages that may be near-duplicates (`archive/duplicates`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from pathlib import Path

from lycosa.archive.duplicates import Clustered, PageText, clusters
from lycosa.errors import LycosaError
from lycosa.export.stream import ChosenPages
from lycosa.export.tables import DuplicateMark
from lycosa.reading.values import Page

_SIGN = 1 << 63


def clustered(pages: ChosenPages, folder: Path) -> Generator[Clustered, None, None]:
    """The pages that have duplicates, in the order of their ids."""
    texts = (
        PageText(page.id, _signed(page.content_hash), _signed(page.simhash))
        for page in pages.with_text()
        if page.content_hash
    )
    try:
        yield from clusters(texts, pages.main_text_of, folder)
    except (sqlite3.Error, OSError) as error:
        raise LycosaError(f"Can't write to {folder}: {error}. Is its disk full?") from error


def _signed(digits: str) -> int:
    """64 bits as a store keeps them."""
    number = int(digits or "0", 16)
    return number - 2 * _SIGN if number & _SIGN else number


class DuplicateMarks:
    """The marks of pages that are asked for in the order of their ids."""

    def __init__(self, listed: Generator[Clustered, None, None]) -> None:
        self._listed = listed
        self._next = next(listed, None)

    def mark(self, page: Page) -> DuplicateMark | None:
        """That a page is a duplicate, or None."""
        while self._next is not None and self._next.key < page.id:
            self._next = next(self._listed, None)
        if self._next is None or self._next.key != page.id:
            return None
        first, kind = self._next.cluster, self._next.kind
        return DuplicateMark(first, kind) if first != page.id else None

    def close(self) -> None:
        """Remove the temporary file."""
        self._listed.close()
