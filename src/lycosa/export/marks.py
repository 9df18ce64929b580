"""Marks pages of `text` that say what an earlier page of the same export says, exactly or nearly.

Pages are asked for in the order of their ids, each once, as their rows are made: near ones are
judged on the texts that go by then (`archive/duplicates`), none is read for it. What lies in
temporary files beside the export is made anew by a run that goes on.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from lycosa.archive.duplicates import EXACT, SIMILAR, DuplicateMark, Duplicates
from lycosa.errors import LycosaError
from lycosa.export.firsts import Firsts
from lycosa.export.stream import ChosenPages, Phases
from lycosa.export.tables import main_text
from lycosa.reading.values import Page, TextPage


class Marks:
    """Marks nothing: for rows that do not show it."""

    def __init__(self) -> None:
        self.counts: dict[
            str, int
        ] = {}  # pages by kind; a kind that is not looked for is not there

    def mark(self, page: TextPage) -> DuplicateMark | None:
        """That a page is a duplicate, or None."""
        return None

    def catch_up(self, pages: ChosenPages, to: int) -> None:
        """Be asked for all pages up to one: those whose rows are there already."""

    def close(self) -> None:
        """Remove temporary files."""

    def _counted(self, mark: DuplicateMark | None) -> DuplicateMark | None:
        if mark is not None:
            self.counts[mark.kind] += 1
        return mark


class ExactMarks(Marks):
    """Marks pages whose text came before."""

    def __init__(self, folder: Path) -> None:
        self.counts = {EXACT: 0}
        self._firsts = Firsts(folder)

    def mark(self, page: Page) -> DuplicateMark | None:
        if not page.content_hash:
            return None
        first = self._firsts.before(page.content_hash, str(page.id))
        return self._counted(DuplicateMark(int(first), EXACT) if first else None)

    def catch_up(self, pages: ChosenPages, to: int) -> None:
        for page in pages.with_text(to=to):
            self.mark(page)

    def close(self) -> None:
        self._firsts.close()


class NearMarks(Marks):
    """Marks pages whose text came before, exactly or nearly."""

    def __init__(self, folder: Path, pages: ChosenPages, phases: Phases) -> None:
        self.counts = {EXACT: 0, SIMILAR: 0}
        self._folder = folder

        def told(done: int, of: int) -> None:
            phases.told("duplicates", done, of)

        try:
            self._found = Duplicates(pages.hashes(), folder, told)
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def mark(self, page: TextPage) -> DuplicateMark | None:
        try:
            return self._counted(self._found.mark(page.id, lambda: main_text(page)))
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def catch_up(self, pages: ChosenPages, to: int) -> None:
        for page in pages.texts(to=to):
            self.mark(page)

    def close(self) -> None:
        self._found.close()

    def _explained(self, error: sqlite3.Error) -> LycosaError:
        return LycosaError(f"Can't write to {self._folder}: {error}. Is its disk full?")
