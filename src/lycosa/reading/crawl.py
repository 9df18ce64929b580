"""A crawl that is open to be read: the one class of the reading API.

Lists are read in chunks by the ids of pages, each chunk in a statement of its own: memory stays
small, nothing is locked, and engines are never made to wait. A list ends with the page that was
recorded last when it began. What it gives is committed, and each page comes once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack

from lycosa.archive.edges import HostEdge
from lycosa.errors import LycosaError, UserError
from lycosa.frontier.filters import EVERY_PAGE, Filter
from lycosa.frontier.keys import STARTED_KEY
from lycosa.reading import contents
from lycosa.reading.chunks import chunks
from lycosa.reading.directories import DamagedSegment, Directories, Elsewhere
from lycosa.reading.domains import domain_facts
from lycosa.reading.examples import examples
from lycosa.reading.filters import Filters, filter_of
from lycosa.reading.history import History
from lycosa.reading.latest import latest_pages
from lycosa.reading.names import known_domain
from lycosa.reading.queue import queued_pages
from lycosa.reading.sample import drawn
from lycosa.reading.status import gathered, status_of
from lycosa.reading.tops import domain_lines
from lycosa.reading.values import (
    Domain,
    DomainLine,
    Explanation,
    Listed,
    Page,
    PageResponse,
    QueuedPage,
    Status,
    TextPage,
    page_of,
)
from lycosa.reading.why import explain, explanation, gather
from lycosa.records import Origin
from lycosa.settings.stored import stored_settings

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Place
    from lycosa.frontier.reader import Reader

IfMissing = Literal["raise", "skip"]
PageKind = TypeVar("PageKind", bound=Page)


class Crawl:
    """A crawl as programs read it; `lycosa.open` makes one. Also a context manager."""

    def __init__(self, reader: Reader, directories: Sequence[Path], *, server: bool) -> None:
        self._reader = reader
        self.shared = server
        """Whether it is on a server, on which several nodes may work."""
        self.directories = Directories(reader, directories)
        self.missing: dict[str, int] = {}
        """Pages that lists skipped because their text or response could not be read, by reason."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store. Lists that are not read to their end can't be read any more."""
        self._reader.close()

    # -- the whole crawl ------------------------------------------------------------------------

    def status(self, *, quick: bool = False) -> Status:
        """How the crawl stands: counts, whether it runs, what holds its speed. `quick`: without the
        half second that is spent to look for damage; for who asks again and again."""
        paths, server = self.directories.paths, self.shared
        return status_of(gathered(self._reader, paths, server, self.history(), quick))

    def history(self) -> History:
        """Its figures of every moment since it began, as far as its directories are here."""
        return History(self.directories.paths, self._reader if self.shared else None)

    def started_ms(self) -> int:
        """When the crawl began; 0 if that is not known."""
        return int(self._reader.settings().get(STARTED_KEY, 0))

    def why(self, url: str) -> Explanation:
        """What became of a URL, and why, in the words of `lycosa why`."""
        facts = gather(self._reader, url)
        if facts.page is not None:
            facts.away = self.directories.away(facts.page.text_segment)
        return explanation(facts, explain(facts))

    def domain(self, name: str) -> Domain:
        """What is known of a domain; raises UserError for one that the crawl never met."""
        known = known_domain(self._reader, name)
        return domain_facts(self._reader, known, self.directories.paths)

    def domains(self, sort: str = "pages", limit: int = 50) -> Listed[DomainLine]:
        """Domains, the first by 'pages', 'queued', 'failing', 'delay' or 'slowest'; `of` of the
        list says what they are the first of: a large crawl is not looked through."""
        return domain_lines(self._reader, self.history(), sort, limit)

    def queue(
        self, domain: str | None = None, pattern: str | None = None, limit: int = 50
    ) -> Listed[QueuedPage]:
        """URLs that are to be fetched: of a domain, those that fit a pattern (as in
        --exclude-file), or what comes next; `of` of the list says what was looked at."""
        return queued_pages(self._reader, domain, pattern, limit)

    def examples(self, outcome: str, limit: int = 10) -> Listed[Page]:
        """Some URLs with an outcome, the newest first, without looking through a large crawl."""
        return examples(self._reader, self.history(), outcome, limit)

    def latest(self, limit: int = 20) -> list[dict[str, Any]]:
        """The pages that arrived last, with the beginning of their texts; of a page whose text is
        on another node `kept` says where that is."""
        return latest_pages(self, self.history().noted(), limit)

    # -- lists of pages -------------------------------------------------------------------------

    def filter(self, **filters: Unpack[Filters]) -> Filter:
        """A checked filter for several lists; raises UserError for a domain that the crawl never
        met, and for a word that is no filter, outcome, label or language."""
        return filter_of(self._reader, filters)

    def pages(
        self,
        where: Filter | None = None,
        *,
        newest: bool = False,
        limit: int | None = None,
        **filters: Unpack[Filters],
    ) -> Iterator[Page]:
        """URLs that are done, in the order in which they were recorded, or the newest first.

        Give a `Filter`, or what makes one: domain, since, until, language, label, outcome, status,
        min_depth, max_depth, min_chars, max_chars, prefix.
        """
        chunks = self.chunks(self._chosen(where, filters), newest=newest, limit=limit)
        return (page_of(*found) for chunk in chunks for found in chunk)

    def texts(
        self,
        where: Filter | None = None,
        *,
        missing: IfMissing = "raise",
        **filters: Unpack[Filters],
    ) -> Iterator[TextPage]:
        """Pages with their texts; filters as for `pages`.

        A text that is damaged, or in a directory that was not given, raises an error that says so.
        With missing="skip" such pages are left out, and counted in `missing`.
        """
        chosen = replace(self._chosen(where, filters), with_text=True)
        return self._kept(self._texts(chosen), _checked(missing))

    def responses(
        self,
        where: Filter | None = None,
        *,
        missing: IfMissing = "raise",
        **filters: Unpack[Filters],
    ) -> Iterator[PageResponse]:
        """Pages with their responses as they came, of a crawl with --warc; as `texts`."""
        chosen = replace(self._chosen(where, filters), with_response=True)
        return self._kept(self._responses(chosen), _checked(missing))

    def sample(
        self,
        count: int = 5,
        where: Filter | None = None,
        *,
        seed: int | None = None,
        missing: IfMissing = "raise",
        **filters: Unpack[Filters],
    ) -> list[TextPage]:
        """Some pages with their texts by chance, without reading all of them; as `texts`. With a
        seed the same ones, as long as the crawl is the same."""
        chosen = replace(self._chosen(where, filters), with_text=True)
        rows = drawn(self._reader, chosen, count, Random(seed))
        found = contents.texts(self.directories, list(rows.items()))
        return list(self._kept(found, _checked(missing)))

    def chunks(
        self,
        where: Filter = EVERY_PAGE,
        *,
        after: int = 0,
        to: int | None = None,
        newest: bool = False,
        limit: int | None = None,
    ) -> Iterator[list[contents.NumberedRow]]:
        """Rows of pages with their ids, in the order of these, some at a time: those behind
        `after`, up to `to` or to the newest of now, at most `limit`."""
        end = self._reader.newest_page() if to is None else to
        left = end if limit is None else limit
        yield from chunks(self._reader, where, after, end, newest, left)

    def edges(self) -> Iterator[HostEdge]:
        """Which host links to which, as commits had it: the same pair comes several times."""
        committed = self._reader.committed_segments()
        for (kind, segment), length in sorted(committed.items()):
            if kind == "edges" and length:
                yield from contents.edges(self.directories, segment, length)

    def now_ms(self) -> int:
        """The time of the crawl's store, which all its moments are by."""
        return self._reader.now_ms()

    def newest_page(self) -> int:
        """The id of the page that was recorded last; 0 if there is none."""
        return self._reader.newest_page()

    def origins(self, domain: str) -> list[Origin]:
        """What is known of the origins of a domain, with their rules as they are stored."""
        return self._reader.origins(domain)

    def exclusions(self) -> tuple[str, ...]:
        """What the crawl must not visit now: one domain, host or URL pattern a line."""
        settings = stored_settings(self._reader.settings())
        _, lines = self._reader.exclusions()
        return tuple(dict.fromkeys((*(settings.exclude if settings else ()), *lines)))

    def place(self, page: Page) -> Place | None:
        """On which node what is kept of a page lies; None if the crawl has one directory."""
        return self.directories.place(page.text_segment or page.warc_segment)

    def find(self, url: str) -> tuple[str, Page | None]:
        """A URL in its canonical form, and its page if it is done."""
        found = self._reader.find(url)
        row = found["page"]
        return found["url"], None if row is None else page_of(found["page_id"], row)

    def text_row(self, page: Page) -> dict[str, Any] | None:
        """The row of a page in the text archive as it was written; None if there is none here."""
        if not page.text_segment or self.directories.of(page.text_segment) is None:
            return None
        return contents.text_row(self.directories, page)

    # -- inside ---------------------------------------------------------------------------------

    def _chosen(self, where: Filter | None, filters: Filters) -> Filter:
        if where is None:
            return self.filter(**filters)
        if filters:
            raise UserError("Give a Filter or single filters, not both.")
        return where

    def _texts(self, where: Filter) -> Iterator[TextPage | LycosaError]:
        for chunk in self.chunks(where):
            for part in contents.parts(chunk):
                yield from contents.texts(self.directories, part)

    def _responses(self, where: Filter) -> Iterator[PageResponse | LycosaError]:
        with closing(contents.ResponseFiles(self.directories)) as files:
            for chunk in self.chunks(where):
                yield from files.responses(chunk)

    def _kept(
        self, found: Iterator[PageKind | LycosaError], missing: IfMissing
    ) -> Iterator[PageKind]:
        for each in found:
            if not isinstance(each, LycosaError):
                yield each
            elif missing == "raise" or not isinstance(each, Elsewhere | DamagedSegment):
                raise each
            else:
                self.missing[str(each)] = self.missing.get(str(each), 0) + 1


def _checked(missing: IfMissing) -> IfMissing:
    if missing not in ("raise", "skip"):
        raise UserError(f"missing is 'raise' or 'skip', not {missing!r}.")
    return missing
