"""What phases make of pages: rows of `text` in files, rows of `index` sorted, lines of an index.

Each is told which files an earlier run kept, and goes on behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from lycosa.export.marks import Marks
from lycosa.export.shards import Shards
from lycosa.export.sorting import Runs, SortedRow
from lycosa.export.tables import TEXT_MORE, Columns, TableRecord, text_record
from lycosa.export.target import Target
from lycosa.reading.values import Page, TextPage

SinkPage = TypeVar("SinkPage", bound=Page, contravariant=True)


class RowSink(Generic[SinkPage]):
    """Makes a row of each page, and files of rows."""

    def __init__(
        self, shards: Shards, kept: Iterable[str], row_of: Callable[[SinkPage], Any]
    ) -> None:
        self._shards = shards
        self._kept = list(kept)
        self._row_of = row_of

    def add(self, page: SinkPage) -> None:
        self._shards.add(self._row_of(page))

    @property
    def full(self) -> bool:
        return self._shards.full

    def cut(self) -> None:
        self._shards.cut()

    def files(self) -> list[str]:
        return [*self._kept, *self._shards.kept]

    def finish(self) -> None:
        self._shards.finish(bool(self._kept))

    def abort(self) -> None:
        self._shards.abort()


class MarkedSink(RowSink[TextPage]):
    """Notes at its end how many pages were marked."""

    def __init__(
        self,
        shards: Shards,
        kept: Iterable[str],
        row_of: Callable[[TextPage], Any],
        target: Target,
        marks: Marks,
    ) -> None:
        super().__init__(shards, kept, row_of)
        self._target = target
        self._marks = marks

    def finish(self) -> None:
        super().finish()
        self._target.note({**self._target.state, "duplicates": self._marks.counts})


def text_rows(crawl: str, marks: Marks, columns: Columns) -> Callable[[TextPage], TableRecord]:
    """How a page becomes a row of `text`."""
    more = not columns.keys().isdisjoint(TEXT_MORE)
    return lambda page: text_record(page, crawl, marks.mark(page), more=more)


class SortedSink(Generic[SinkPage]):
    """Makes a row with a key of each page, and sorts them; `write` gets them in order, and returns
    the names of the files it made."""

    def __init__(
        self,
        target: Target,
        kept: Iterable[str],
        row_of: Callable[[SinkPage], SortedRow],
        write: Callable[[Iterable[SortedRow]], list[str]],
    ) -> None:
        self._target = target
        self._runs = Runs(target.work, "rows", kept)
        self._row_of = row_of
        self._write = write
        self._written: list[str] | None = None
        self._noted = len(self._runs.names)

    def add(self, page: SinkPage) -> None:
        self._runs.add(self._row_of(page))

    @property
    def full(self) -> bool:
        return len(self._runs.names) > self._noted

    def cut(self) -> None:
        self._runs.cut()
        self._noted = len(self._runs.names)

    def files(self) -> list[str]:
        return self._runs.names if self._written is None else self._written

    def finish(self) -> None:
        self._written = self._write(self._runs.merged())
        for name in self._runs.names:
            (self._target.work / name).unlink()

    def abort(self) -> None:
        pass
