"""Goes through the pages of a crawl once for each phase of an export, and notes how far it came.

Owns which pages an export has: those that fit the filter, were recorded before it began, and are
not excluded now. A phase hands them to a sink, which makes files of them. Where a sink says that a
file is full, everything so far is kept and noted (`Target.note`): there a later run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from lycosa.archive.duplicates import PageText
from lycosa.archive.edges import HostEdge
from lycosa.errors import LycosaError
from lycosa.export.edges import chosen_edges
from lycosa.export.target import Target
from lycosa.frontier.filters import Filter
from lycosa.reading import contents
from lycosa.reading.crawl import Crawl
from lycosa.reading.values import Page, PageResponse, TextPage, page_of
from lycosa.urls.exclusions import Exclusions

PageOut = TypeVar("PageOut", bound=Page)
PageIn = TypeVar("PageIn", bound=Page, contravariant=True)
Told = Callable[[str, int, int, int], None]  # phase, pages so far, id of the last, last id of all


class Sink(Protocol[PageIn]):
    """What a phase makes of pages."""

    def add(self, page: PageIn) -> None: ...

    @property
    def full(self) -> bool:
        """Whether it is time to cut."""

    def cut(self) -> None:
        """Keep all that was added in files of its own."""

    def files(self) -> list[str]:
        """The names of its files that are whole."""

    def finish(self) -> None:
        """All pages were added."""

    def abort(self) -> None:
        """Let go of files that are not whole."""


class ChosenPages:
    """The pages that an export has."""

    def __init__(self, crawl: Crawl, where: Filter, name: str, last: int) -> None:
        self.crawl = crawl
        self.name = name
        self.last = last  # the id of the newest page that belongs to it
        self._where = where
        self._excluded = Exclusions(crawl.exclusions())

    def pages(self, after: int = 0, to: int | None = None) -> Iterator[Page]:
        """All of them."""
        for chunk in self._chunks(self._where, after, to):
            for found in chunk:
                yield page_of(*found)

    def with_text(self, after: int = 0, to: int | None = None) -> Iterator[Page]:
        """Those whose text is kept, without it."""
        for chunk in self._chunks(replace(self._where, with_text=True), after, to):
            for found in chunk:
                yield page_of(*found)

    def with_response(self, after: int = 0, to: int | None = None) -> Iterator[Page]:
        """Those whose response is kept, without it."""
        for chunk in self._chunks(replace(self._where, with_response=True), after, to):
            for found in chunk:
                yield page_of(*found)

    def hashes(self) -> Iterator[PageText]:
        """Of those whose text is kept, what says which may be duplicates."""
        for chunk in self._chunks(replace(self._where, with_text=True), 0):
            for ident, row in chunk:
                if row.content_hash:
                    yield PageText(ident, row.content_hash, row.simhash)

    def texts(self, after: int = 0, to: int | None = None) -> Iterator[TextPage]:
        """Those whose text is kept."""
        for chunk in self._chunks(replace(self._where, with_text=True), after, to):
            for part in contents.parts(chunk):
                yield from _readable(contents.texts(self.crawl.directories, part))

    def responses(self, after: int = 0) -> Iterator[PageResponse]:
        """Those whose response is kept."""
        with closing(contents.ResponseFiles(self.crawl.directories)) as files:
            for chunk in self._chunks(replace(self._where, with_response=True), after):
                yield from _readable(files.responses(chunk))

    def edges(self) -> Iterator[HostEdge]:
        """The host graph between hosts that are not excluded."""
        return chosen_edges(self.crawl.edges(), self._excluded, self._where.domains)

    def _chunks(
        self, where: Filter, after: int, to: int | None = None
    ) -> Iterator[list[contents.NumberedRow]]:
        end = self.last if to is None else to
        for chunk in self.crawl.chunks(where, after=after, to=end):
            kept = [found for found in chunk if not self._hit(found[1].url)]
            if kept:
                yield kept

    def _hit(self, url: str) -> bool:
        from lycosa.urls.canonical import host_of

        return self._excluded.excludes(url, host_of(url))


def _readable(found: Iterator[PageOut | LycosaError]) -> Iterator[PageOut]:
    for each in found:
        if isinstance(each, LycosaError):
            raise each
        yield each


def begun(last: int, **more: Any) -> dict[str, Any]:
    """What an export that begins notes, at once with `more`: a kill may come behind any note."""
    return {"last": last, "phases": {}, "files": [], **more}


class Phases:
    """The phases of one export. What was done by an earlier run is not done again."""

    def __init__(self, target: Target, report: Told) -> None:
        self._target = target
        self._report = report
        self.last: int = target.state["last"]

    def after(self, name: str) -> int:
        """The id of the last page that a phase is done with."""
        return int(self._noted(name)["after"])

    def files(self, name: str) -> list[str]:
        """The files that a phase has kept."""
        return list(self._noted(name)["files"])

    def done(self, name: str) -> bool:
        return bool(self._noted(name)["done"])

    def count(self, name: str) -> int:
        return int(self._noted(name)["count"])

    def run(
        self, name: str, pages: Callable[[int], Iterator[PageOut]], sink: Sink[PageOut]
    ) -> None:
        """Do a phase, or the rest of it."""
        noted = self._noted(name)
        if noted["done"]:
            return
        count, after = noted["count"], noted["after"]
        try:
            for page in pages(after):
                sink.add(page)
                count, after = count + 1, page.id
                if sink.full:
                    sink.cut()
                    self._note(name, sink.files(), after, count)
                if not count & 0xFF:
                    self._report(name, count, after, self.last)
            sink.finish()
        except BaseException:
            sink.abort()
            raise
        self._note(name, sink.files(), self.last, count, done=True)
        self._report(name, count, self.last, self.last)

    def told(self, name: str, done: int, of: int) -> None:
        """Report how much is done of what is not counted in pages."""
        self._report(name, 0, done, of)

    def note_done(self, name: str, files: list[str], count: int) -> None:
        """Note a phase that was done without a list of pages."""
        self._note(name, files, self.last, count, done=True)

    def _noted(self, name: str) -> dict[str, Any]:
        unknown = {"after": 0, "count": 0, "files": [], "done": False}
        noted: dict[str, Any] = self._target.state["phases"].get(name, unknown)
        return noted

    def _note(
        self, name: str, files: list[str], after: int, count: int, done: bool = False
    ) -> None:
        state = self._target.state
        phase = {"after": after, "count": count, "files": files, "done": done}
        phases = {**state["phases"], name: phase}
        every = [file for each in phases.values() for file in each["files"]]
        self._target.note({**state, "phases": phases, "files": every})
