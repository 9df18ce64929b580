"""What a person asks of a crawl: its status, its pages, one URL; and the few things that a command
may change beside a running crawl: exclusions, and the request to stop.

Owns the questions, which are the same for every store. How a store is reached, and what differs in
its SQL, is a `Source` (`sqlite.source`, `postgres.source`). Statements have the same names and the
same named values in both dialects.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

from lycosa.errors import UserError
from lycosa.frontier import queries
from lycosa.frontier.columns import PAGES, page_row, parameter
from lycosa.frontier.filters import EVERY_PAGE, Filter, conditions
from lycosa.frontier.keys import RULES_KEY, SETTINGS_KEY, STOP_KEY
from lycosa.frontier.queues import Queues
from lycosa.frontier.states import waits_until
from lycosa.frontier.summary import (
    ACTIVE_LIMIT,
    COUNT_LIMIT,
    WAITS_SHOWN,
    EngineSummary,
    engine_values,
    summed,
    waits,
    without_exclusions,
)
from lycosa.frontier.survey import Survey, tallied
from lycosa.frontier.values import NOTES_SECONDS, LeftOut, PagePlace, Place
from lycosa.records import Origin, PageRow
from lycosa.urls.canonical import canonical, split
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.fingerprint import fingerprint

NO_END = 1 << 62  # behind every id of a page
Row = Any  # a tuple
SqlValues = Mapping[str, Any]
Run = Callable[[str, SqlValues], list[Row]]  # a statement and its values


class Source(Protocol):
    """A store as it is read. Its errors come out as ours."""

    dialect: str  # the folder of its SQL

    def now_ms(self) -> int:
        """The store's time."""

    def rows(self, statement: str, values: SqlValues) -> list[dict[str, Any]]:
        """All rows, by the names of their columns."""

    def stream(self, statement: str, values: SqlValues) -> Iterator[Row]:
        """The rows of something large, some at a time."""

    def writing(self) -> AbstractContextManager[Run]:
        """One transaction that writes."""

    def numbers(self, numbers: Sequence[int]) -> Any:
        """A list of numbers as a statement's value."""

    def place(self, engine_id: int) -> Place | None:
        """Where an engine's output lies; None: in the directory of the crawl."""

    def check(self, seconds: float) -> None:
        """Raise Damaged if its file is; looks no longer than so many seconds."""

    def close(self) -> None: ...


class Reader:
    """A crawl as a person sees it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._sql = queries.load(source.dialect)
        self.queues = Queues(source, self._sql)
        self.survey = Survey(source, self._sql, self.queues)  # what people look through, bounded

    def _rows(self, query: str, **values: Any) -> list[dict[str, Any]]:
        return self._source.rows(self._sql[query], values)

    def _row(self, query: str, **values: Any) -> dict[str, Any] | None:
        return next(iter(self._rows(query, **values)), None)

    def _value(self, query: str, **values: Any) -> Any:
        row = self._row(query, **values)
        return None if row is None else next(iter(row.values()))

    def _stream(self, query: str, **values: Any) -> Iterator[Row]:
        return self._source.stream(self._sql[query], values)

    def check(self, seconds: float) -> None:
        """Raise Damaged if the store's file is; looks no longer than so many seconds."""
        self._source.check(seconds)

    def place(self, engine_id: int) -> Place | None:
        """Where an engine's output lies; None: in the directory of the crawl."""
        return self._source.place(engine_id)

    def now_ms(self) -> int:
        """The store's time."""
        return self._source.now_ms()

    def close(self) -> None:
        self._source.close()

    # -- the whole crawl ----------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        return {row["key"]: row["value"] for row in self._rows("settings")}

    def status(self) -> dict[str, Any]:
        """What `lycosa status` tells, of all engines together and of each."""
        engines = self.engines(seeds=True)
        now = self._source.now_ms()
        return {
            **summed(engines, self.settings()),
            "leased": self._value("held_count"),
            "ready": self._value("ready_count", now=now, limit=COUNT_LIMIT),
            "active": self.active_domains(),
            "on_their_way": self._value("links_on_their_way", limit=COUNT_LIMIT),
            "damaged": self._value("damaged_count"),
            "waits": waits(self._rows("longest_waits", now=now, limit=WAITS_SHOWN), now),
            "now_ms": now,
        }

    def engines(self, seeds: bool = False) -> list[EngineSummary]:
        """What every engine told of itself with its last commit; `seeds`: with engine 0, which
        stands for what seeds brought."""
        found = [engine_values(row) for row in self._rows("engines")]
        return [each for each in found if seeds or each["id"]]

    def active_domains(self) -> int:
        """Domains with something left to fetch, counted no further than a limit."""
        count: int = self._value("active_count", limit=ACTIVE_LIMIT)
        return count

    def committed_segments(self) -> dict[tuple[str, int], int]:
        """How much of each segment is committed, by its kind and number."""
        return {(row["kind"], row["id"]): row["length"] for row in self._rows("segments")}

    def history_nodes(self) -> dict[str, dict[int, str]]:
        """The newest line of figures of each node that left some, by how many seconds it speaks
        for."""
        found: dict[str, dict[int, str]] = {}
        for row in self._rows("history_nodes"):
            if row["seconds"] == NOTES_SECONDS:
                continue
            line = self._value("history_newest", node=row["node"], seconds=row["seconds"])
            found.setdefault(row["node"], {})[row["seconds"]] = line
        return found

    def history_notes(self) -> dict[str, str]:
        """What the engines of each node noted, as it left that last."""
        nodes = {row["node"] for row in self._rows("history_nodes")}
        found = {
            node: self._value("history_newest", node=node, seconds=NOTES_SECONDS) for node in nodes
        }
        return {node: text for node, text in found.items() if text}

    def history_lines(
        self, node: str, seconds: int, since_ms: int, until_ms: int, limit: int = COUNT_LIMIT
    ) -> list[str]:
        """The lines of a node that speak for so many seconds, between two moments."""
        between = {"since_ms": since_ms, "until_ms": until_ms, "limit": limit}
        rows = self._rows("history_lines", node=node, seconds=seconds, **between)
        return [row["line"] for row in rows]

    # -- pages --------------------------------------------------------------------------------

    def pages(
        self, where: Filter = EVERY_PAGE, limit: int = 100, newest: bool = True
    ) -> Iterator[PageRow]:
        """Pages that fit a filter, in the order in which they were recorded."""
        order = f"id {'DESC' if newest else 'ASC'}"
        statement, values = self._pages_statement(PAGES, where, (0, NO_END), order, limit)
        for row in self._source.stream(statement, values):
            yield page_row(dict(zip(PAGES, row, strict=True)))

    def page_chunk(
        self, where: Filter, after: int, to: int, limit: int, newest: bool = False
    ) -> list[tuple[int, PageRow]]:
        """Pages that fit a filter, with their ids, in the order of these: at most `limit`, with
        ids behind `after` and up to `to`. Without a domain in the filter it reads every row
        between the two: the caller keeps them near enough."""
        order = self._order(where, newest)
        statement, values = self._pages_statement(("id", *PAGES), where, (after, to), order, limit)
        return _numbered(self._source.rows(statement, values))

    def page_ids(
        self, where: Filter, after: int, to: int, limit: int, newest: bool = False
    ) -> array[int]:
        """The ids alone of what `page_chunk` finds. With a domain in the filter both look through
        all its pages, so what takes many chunks asks for their ids first."""
        order = self._order(where, newest)
        statement, values = self._pages_statement(("id",), where, (after, to), order, limit)
        return array("q", (ident for (ident,) in self._source.stream(statement, values)))

    def pages_with(
        self, where: Filter, ids: Sequence[int], newest: bool = False
    ) -> list[tuple[int, PageRow]]:
        """Those of the pages with these ids that fit a filter, in the order of their ids; its
        domains are not asked about."""
        values: dict[str, Any] = {"ids": self._source.numbers(sorted(ids))}
        tested = self._tested([self._sql["with_ids"]], where, values)
        order = "DESC" if newest else "ASC"
        columns = ", ".join(("id", *PAGES))
        statement = f"SELECT {columns} FROM pages WHERE {tested} ORDER BY id {order}"
        return _numbered(self._source.rows(statement, values))

    def _order(self, where: Filter, newest: bool) -> str:
        # A domain's pages are few: PostgreSQL finds them by their index and sorts them. In the
        # order of ids it might look through the whole table for them.
        sort = where.domain_ids and self._source.dialect == "postgres"
        return f"id{' + 0' if sort else ''} {'DESC' if newest else 'ASC'}"

    def _pages_statement(
        self,
        columns: Iterable[str],
        where: Filter,
        between: tuple[int, int],
        order: str,
        limit: int,
    ) -> tuple[str, dict[str, Any]]:
        """A statement for pages with ids behind one and up to another, and its values."""
        given = partial(parameter, self._source.dialect)
        values: dict[str, Any] = {"limit": limit, "after": between[0], "to": between[1]}
        marked = [f"id > {given('after')}", f"id <= {given('to')}"]
        if where.domain_ids:
            values["domains"] = self._source.numbers(where.domain_ids)
            marked.append(self._sql["pages_of"])
        tested = self._tested(marked, where, values)
        return (
            f"SELECT {', '.join(columns)} FROM pages WHERE {tested} ORDER BY {order}"
            f" LIMIT {given('limit')}",
            values,
        )

    def _tested(self, marked: list[str], where: Filter, values: dict[str, Any]) -> str:
        """Conditions with those of a filter, whose values are added."""
        given = partial(parameter, self._source.dialect)
        tests = list(marked)
        for test, compared in conditions(where):
            names = [f"value{len(values) + n}" for n in range(len(compared))]
            values.update(zip(names, compared, strict=True))
            marks = ", ".join(map(given, names))
            tests.append(f"{test} ({marks})" if test.endswith(" IN") else f"{test} {marks}")
        return " AND ".join(tests)

    def newest_page(self) -> int:
        """The id of the page that was recorded last; 0 if there is none."""
        return int(self._value("newest_page") or 0)

    def placed(self, after: int, limit: int, only: Sequence[int] | None = None) -> list[PagePlace]:
        """Pages that say where their text or WARC records are, or that should, by `id`, some at a
        time; all of them, or those with something in segments of these numbers."""
        numbers = None if only is None else self._source.numbers(only)
        rows = self._rows("pages_placed", after=after, limit=limit, only=numbers)
        return [PagePlace(**row) for row in rows]

    def find(self, url: str) -> dict[str, Any]:
        """Everything known of a URL: its page, queue row, domain and origin."""
        clean = canonical(url)
        if clean is None:
            raise UserError(f"'{url}' is not an http or https URL.")
        parts = split(clean)
        name = domain_of(parts.host)
        ident, fp = domain_id(name), fingerprint(clean)
        on_its_way = self.queues.on_its_way(ident, fp)  # first: it may be brought meanwhile
        page = self._row("page_by_url", id=ident, fp=fp)
        page_id = page.pop("id") if page else 0
        origin = self._row("origin_by_name", id=ident, origin=parts.origin)
        return {
            "url": clean,
            "fp": fp,
            "domain": name,
            "origin_name": parts.origin,
            "now_ms": self._source.now_ms(),
            "page": None if page is None else page_row(page),
            "page_id": page_id,
            "domain_row": self.survey.domains_of([ident]).get(ident),
            "origin": None if origin is None else Origin(**origin),
            "queue": self._queue_row(ident, fp),
            "on_its_way": on_its_way,
            "settings": self.settings(),
        }

    def _queue_row(self, ident: int, fp: int) -> dict[str, Any] | None:
        found = self.queues.log(ident).find(fp)
        if found is None:
            return None
        url, ahead = found
        row = {"ord": url.order, "url": url.url, "depth": url.depth, "attempts": url.attempts}
        place = {"ahead": min(ahead, COUNT_LIMIT), "waits_until_ms": waits_until(url.order)}
        return {**row, "flags": url.flags, **place}

    # -- domains and their queues -------------------------------------------------------------

    def domains(self) -> Iterator[tuple[int, str]]:
        """Every domain that the crawl knows: its id and its name."""
        yield from self._stream("all_domains")

    def domain(self, name: str) -> dict[str, Any] | None:
        """What is known of a domain: its row, its pages by outcome, language and label, and its
        origins; None if the crawl never met it."""
        ident = domain_id(name)
        row = self.survey.domains_of([ident]).get(ident)
        if row is None:
            return None
        told = self.queues.log(ident).counts()
        counts = self.survey.counts(ident, told.done)
        return {
            **row,
            "pages": told.responses,  # the row may be some visits old
            "queued": told.queued,
            "outcomes": tallied(counts, "outcome"),
            "languages": tallied(counts, "language"),
            "labels": tallied(counts, "label"),
            "origins": self.origins(name),
            "now_ms": self._source.now_ms(),
        }

    def origins(self, name: str) -> list[Origin]:
        """What is known of the origins of a domain, in the order of their names."""
        return [Origin(**each) for each in self._rows("domain_origins", id=domain_id(name))]

    def domains_among(self, names: Iterable[str]) -> list[str]:
        """Those of these domains that the crawl knows."""
        ids = self._source.numbers(sorted({domain_id(name) for name in names}))
        return [row["name"] for row in self._rows("domains_among", ids=ids)]

    def some_domains(self, limit: int) -> list[str]:
        """Any of the domains that the crawl knows."""
        return [row["name"] for row in self._rows("some_domains", limit=limit)]

    def queued_count(self, domain_ids: Sequence[int]) -> int:
        """How many URLs of these domains are queued."""
        return self.queues.count(domain_ids)

    def queued_urls(self, domain_id: int | None = None) -> Iterator[str]:
        """The queued URLs of a domain, or all."""
        logs = self.queues.logs() if domain_id is None else [self.queues.log(domain_id)]
        for log in logs:
            for url in log.queued():
                yield url.url

    # -- what a command may change ------------------------------------------------------------

    def exclusions(self) -> tuple[int, list[str]]:
        """The version of the rules, and the lines."""
        version = int(self.settings().get(RULES_KEY, 0))
        return version, [row["line"] for row in self._rows("exclusions")]

    def add_exclusions(self, lines: list[str]) -> int:
        """Add lines; engines hear of them within a second. Returns how many there are."""
        with self._source.writing() as run:
            run(self._sql["rules_changed"], {})  # first, as in `steer`
            for line in lines:
                run(self._sql["exclusion_insert"], {"line": line})
        return len(self.exclusions()[1])

    def remove_exclusions(self, lines: Collection[str]) -> int:
        """Take lines away, also those of --exclude-file; returns how many are left."""
        with self._source.writing() as run:
            run(self._sql["rules_changed"], {})  # first, as in `steer`
            for line in lines:
                run(self._sql["exclusion_delete"], {"line": line})
            for (stored,) in run(self._sql["setting_get"], {"key": SETTINGS_KEY}):
                kept = without_exclusions(stored, lines)
                run(self._sql["setting_put"], {"key": SETTINGS_KEY, "value": kept})
        return len(self.exclusions()[1])

    def left_out(self) -> Iterator[LeftOut]:
        """What exclusions took out of the queue, as far as it is kept."""
        for row in self._stream("left_out"):
            yield LeftOut(*row)

    def rules_changed(self) -> None:
        """Engines hear of it within a second: they read the exclusions again, and forget which
        origins they gave up."""
        with self._source.writing() as run:
            run(self._sql["rules_changed"], {})

    def request_stop(self) -> None:
        """Every node stops its engines when it reads this, within a second."""
        with self._source.writing() as run:
            run(self._sql["setting_put"], {"key": STOP_KEY, "value": "1"})


def _numbered(rows: list[dict[str, Any]]) -> list[tuple[int, PageRow]]:
    return [(row.pop("id"), page_row(row)) for row in rows]
