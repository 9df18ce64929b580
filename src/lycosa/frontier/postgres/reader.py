"""Looking at a crawl on PostgreSQL: status, pages, one URL. Changes nothing but the stop request
and the exclusions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg.rows import dict_row

from lycosa.called import called
from lycosa.errors import UserError
from lycosa.frontier import queries
from lycosa.frontier.keys import SETTINGS_KEY
from lycosa.frontier.postgres.connection import check_version, connect, int8s, mapped, parsed, place
from lycosa.frontier.protocol import LeftOut, PagePlace, Place
from lycosa.frontier.readers import (
    ACTIVE_LIMIT,
    COUNT_LIMIT,
    WAITS_SHOWN,
    engine_values,
    page_row,
    summed,
    waits,
    without_exclusions,
)
from lycosa.frontier.states import waits_until
from lycosa.records import Origin, PageRow
from lycosa.urls.canonical import canonical, split
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.fingerprint import fingerprint

SQL = queries.load("postgres")
Row = dict[str, Any]
T = TypeVar("T")


class PostgresReader:
    """See `frontier.Reader`."""

    def __init__(self, url: str) -> None:
        self.where = place(parsed(url))
        self.db = connect(url, "lycosa reader")
        if self._run(lambda: check_version(self.db)) == 0 or SETTINGS_KEY not in self.settings():
            self.db.close()
            raise UserError(
                f"There is no crawl in the PostgreSQL database {self.where}: start one with "
                f"'{called('crawl')} SEEDS --store …', or correct --store."
            )

    def _run(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except psycopg.Error as error:
            raise mapped(error, self.where) from None

    def _rows(self, query: str, **values: Any) -> list[Row]:
        def read() -> list[Row]:
            with self.db.cursor(row_factory=dict_row, binary=True) as cursor:
                return cursor.execute(SQL[query], values).fetchall()

        return self._run(read)

    def _value(self, query: str, **values: Any) -> Any:
        row = next(iter(self._rows(query, **values)), None)
        return None if row is None else next(iter(row.values()))

    def check(self, seconds: float) -> None:
        """A server looks after its own files."""

    def settings(self) -> dict[str, Any]:
        return {row["key"]: row["value"] for row in self._rows("settings")}

    def status(self) -> dict[str, Any]:
        engines = [engine_values(row) for row in self._rows("crawlers")]
        now = self._value("clock", now=None)
        return {
            **summed(engines, self.settings()),
            "leased": self._value("held_count"),
            "ready": self._value("ready_count", now=now, limit=COUNT_LIMIT),
            "active": self._value("active_count", limit=ACTIVE_LIMIT),
            "waits": waits(self._rows("longest_waits", now=now, limit=WAITS_SHOWN), now),
            "now_ms": now,
        }

    def pages(
        self,
        domain: str = "",
        status: int = 0,
        outcome: str = "",
        since_ms: int = 0,
        url_prefix: str = "",
        limit: int = 100,
        newest: bool = True,
    ) -> Iterator[PageRow]:
        filters: list[tuple[str, Any]] = [
            ("domain_id = %s", domain_id(domain_of(domain)) if domain else None),
            ("status = %s", status or None),
            ("outcome = %s", outcome or None),
            ("fetched_ms >= %s", since_ms or None),
            ("url >= %s", url_prefix or None),
            ("url < %s", url_prefix + "\U0010ffff" if url_prefix else None),
        ]
        used = [(test, value) for test, value in filters if value is not None]
        where = f"WHERE {' AND '.join(test for test, _ in used)}" if used else ""
        order = "DESC" if newest else "ASC"
        query = f"SELECT * FROM pages {where} ORDER BY id {order} LIMIT %s"
        values = [value for _, value in used] + [limit]
        with self._run(self.db.transaction), self.db.cursor("pages", row_factory=dict_row) as rows:
            self._run(lambda: rows.execute(query, values))
            for row in rows:
                yield page_row(row)

    def find(self, url: str) -> dict[str, Any]:
        """Everything known of a URL: its page, queue row, domain and origin."""
        clean = canonical(url)
        if clean is None:
            raise UserError(f"'{url}' is not an http or https URL.")
        parts = split(clean)
        name = domain_of(parts.host)
        ident, fp = domain_id(name), fingerprint(clean)
        origins = self._rows("origin_by_name", id=ident, origin=parts.origin)
        return {
            "url": clean,
            "fp": fp,
            "domain": name,
            "origin_name": parts.origin,
            "now_ms": self._value("clock", now=None),
            "page": next(
                (page_row(row) for row in self._rows("page_by_url", id=ident, fp=fp)), None
            ),
            "domain_row": next(iter(self._rows("domain_by_id", id=ident)), None),
            "origin": next((Origin(**row) for row in origins), None),
            "queue": self._queue_row(ident, fp),
            "settings": self.settings(),
        }

    def domains_among(self, names: Iterable[str]) -> list[str]:
        ids = int8s(sorted({domain_id(name) for name in names}))
        return [row["name"] for row in self._rows("domains_among", ids=ids)]

    def some_domains(self, limit: int) -> list[str]:
        return [row["name"] for row in self._rows("some_domains", limit=limit)]

    def _queue_row(self, ident: int, fp: int) -> dict[str, Any] | None:
        for row in self._rows("queue_row", id=ident, fp=fp):
            order = row["ord"]
            ahead = self._value("queue_ahead", id=ident, ord=order, limit=COUNT_LIMIT)
            return {**row, "ahead": ahead, "waits_until_ms": waits_until(order)}
        return None

    def exclusions(self) -> tuple[int, list[str]]:
        version = int(self.settings().get("rules_version", 0))
        return version, [row["line"] for row in self._rows("exclusions")]

    def add_exclusions(self, lines: list[str]) -> int:
        """Add exclusions to a crawl; its engines hear of them within a second."""

        def write() -> None:
            with self.db.transaction():
                for line in lines:
                    self.db.execute(SQL["exclusion_insert"], {"line": line})
                self.db.execute(SQL["rules_changed"])

        self._run(write)
        return len(self.exclusions()[1])

    def remove_exclusions(self, lines: Collection[str]) -> int:
        def write() -> None:
            with self.db.transaction():
                for line in lines:
                    self.db.execute(SQL["exclusion_delete"], {"line": line})
                kept = without_exclusions(self.settings()[SETTINGS_KEY], lines)
                self.db.execute(SQL["setting_put"], {"key": SETTINGS_KEY, "value": kept})
                self.db.execute(SQL["rules_changed"])

        self._run(write)
        return len(self.exclusions()[1])

    def rules_changed(self) -> None:
        self._run(lambda: self.db.execute(SQL["rules_changed"]))

    def domains(self) -> Iterator[tuple[int, str]]:
        yield from self._stream("all_domains")

    def queued_count(self, domain_ids: Sequence[int]) -> int:
        count: int = self._value("queued_count", ids=int8s(domain_ids))
        return count

    def queued_urls(self, domain_id: int | None = None) -> Iterator[str]:
        rows = (
            self._stream("queued_all")
            if domain_id is None
            else self._stream("queued_of", id=domain_id)
        )
        for row in rows:
            yield row[0]

    def left_out(self) -> Iterator[LeftOut]:
        for row in self._stream("left_out"):
            yield LeftOut(*row)

    def _stream(self, query: str, **values: Any) -> Iterator[Any]:
        """The rows of a query, some at a time."""
        with self._run(self.db.transaction), self.db.cursor(query) as rows:
            rows.itersize = 10_000
            self._run(lambda: rows.execute(SQL[query], values))
            yield from rows

    def request_stop(self) -> None:
        self._run(lambda: self.db.execute(SQL["setting_put"], {"key": "stop", "value": "1"}))

    def committed_segments(self) -> dict[tuple[str, int], int]:
        return {(row["kind"], row["id"]): row["length"] for row in self._rows("segments")}

    def placed(self, after: int, limit: int, only: Sequence[int] | None = None) -> list[PagePlace]:
        numbers = None if only is None else list(only)
        rows = self._rows("pages_placed", after=after, limit=limit, only=numbers)
        return [PagePlace(**row) for row in rows]

    def place(self, owner: int) -> Place | None:
        return next((Place(**row) for row in self._rows("place", owner=owner)), None)

    def close(self) -> None:
        self.db.close()
