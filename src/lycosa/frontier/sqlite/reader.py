"""Looking at a crawl on SQLite: status, pages, one URL. Owns no schema and changes nothing but
the stop request and the exclusions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lycosa.called import called
from lycosa.clock import wall_now
from lycosa.errors import UserError
from lycosa.frontier import queries
from lycosa.frontier.keys import SETTINGS_KEY
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
from lycosa.frontier.sqlite.connection import (
    begin,
    check_sound,
    check_version,
    connect,
    connect_to_read,
    errors_mapped,
    mapped,
)
from lycosa.frontier.sqlite.store import json_ids
from lycosa.frontier.states import waits_until
from lycosa.records import Origin, PageRow
from lycosa.urls.canonical import canonical, split
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.fingerprint import fingerprint

SQL = queries.load("sqlite")


class SqliteReader:
    """See `frontier.Reader`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = connect_to_read(path)
        if check_version(self.db) == 0:
            raise UserError(
                f"{path} holds no crawl: remove it, and start one with '{called('crawl')}'."
            )
        self.db.row_factory = sqlite3.Row

    def _rows(self, query: str, values: Any = ()) -> list[sqlite3.Row]:
        return self.db.execute(SQL[query], values).fetchall()

    def _value(self, query: str, values: Any = ()) -> Any:
        return self.db.execute(SQL[query], values).fetchone()[0]

    def check(self, seconds: float) -> None:
        check_sound(self.db, seconds)

    @errors_mapped
    def settings(self) -> dict[str, Any]:
        return {row["key"]: row["value"] for row in self._rows("settings")}

    @errors_mapped
    def status(self) -> dict[str, Any]:
        settings = self.settings()
        engines = [engine_values(dict(row)) for row in self._rows("crawlers")]
        now = wall_now()
        longest = [dict(row) for row in self._rows("longest_waits", (now, WAITS_SHOWN))]
        return {
            **summed(engines, settings),
            "leased": self._value("held_count"),
            "ready": self._value("ready_count", (now, COUNT_LIMIT)),
            "active": self._value("active_count", (ACTIVE_LIMIT,)),
            "waits": waits(longest, now),
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
            ("domain_id = ?", domain_id(domain_of(domain)) if domain else None),
            ("status = ?", status or None),
            ("outcome = ?", outcome or None),
            ("fetched_ms >= ?", since_ms or None),
            ("url >= ?", url_prefix or None),
            ("url < ?", url_prefix + "\U0010ffff" if url_prefix else None),
        ]
        used = [(test, value) for test, value in filters if value is not None]
        where = f"WHERE {' AND '.join(test for test, _ in used)}" if used else ""
        order = "DESC" if newest else "ASC"
        query = f"SELECT * FROM pages {where} ORDER BY id {order} LIMIT ?"
        try:
            for row in self.db.execute(query, [value for _, value in used] + [limit]):
                yield page_row(dict(row))
        except sqlite3.Error as error:
            raise mapped(error) from error

    @errors_mapped
    def find(self, url: str) -> dict[str, Any]:
        """Everything known of a URL: its page, queue row, domain and origin."""
        clean = canonical(url)
        if clean is None:
            raise UserError(f"'{url}' is not an http or https URL.")
        parts = split(clean)
        name = domain_of(parts.host)
        ident, fp = domain_id(name), fingerprint(clean)
        facts: dict[str, Any] = {
            "url": clean,
            "fp": fp,
            "domain": name,
            "origin_name": parts.origin,
        }
        facts["now_ms"] = wall_now()
        facts["page"] = next(
            (page_row(dict(row)) for row in self._rows("page_by_url", (ident, fp))), None
        )
        facts["domain_row"] = next((dict(r) for r in self._rows("domain_by_id", (ident,))), None)
        facts["origin"] = next(
            (Origin(*row) for row in self._rows("origin_by_name", (ident, parts.origin))), None
        )
        facts["queue"] = self._queue_row(ident, fp)
        facts["settings"] = self.settings()
        return facts

    @errors_mapped
    def domains_among(self, names: Iterable[str]) -> list[str]:
        ids = json_ids([domain_id(name) for name in names])
        return [row["name"] for row in self._rows("domains_among", (ids,))]

    @errors_mapped
    def some_domains(self, limit: int) -> list[str]:
        return [row["name"] for row in self._rows("some_domains", (limit,))]

    def _queue_row(self, ident: int, fp: int) -> dict[str, Any] | None:
        for (order,) in self._rows("seen_order", (ident, fp)):
            for row in self._rows("queue_row", (ident, order, fp)):
                ahead = self._value("queue_ahead", (ident, order, COUNT_LIMIT))
                return {**dict(row), "ahead": ahead, "waits_until_ms": waits_until(order)}
        return None

    @errors_mapped
    def exclusions(self) -> tuple[int, list[str]]:
        version = int(self.settings().get("rules_version", 0))
        return version, [row["line"] for row in self._rows("exclusions")]

    def add_exclusions(self, lines: list[str]) -> int:
        """Add exclusions to a crawl; its engines hear of them within a second."""

        def write(db: sqlite3.Connection) -> None:
            db.executemany(SQL["exclusion_insert"], [(line,) for line in lines])
            db.execute(SQL["rules_changed"])

        self._write(write)
        return len(self.exclusions()[1])

    def remove_exclusions(self, lines: Collection[str]) -> int:
        def write(db: sqlite3.Connection) -> None:
            db.executemany(SQL["exclusion_delete"], [(line,) for line in lines])
            for (stored,) in db.execute(SQL["setting_get"], (SETTINGS_KEY,)).fetchall():
                kept = without_exclusions(stored, lines)
                db.execute(SQL["setting_put"], (SETTINGS_KEY, kept))
            db.execute(SQL["rules_changed"])

        self._write(write)
        return len(self.exclusions()[1])

    def rules_changed(self) -> None:
        self._write(lambda db: db.execute(SQL["rules_changed"]))

    def domains(self) -> Iterator[tuple[int, str]]:
        yield from map(tuple, self._stream("all_domains"))

    @errors_mapped
    def queued_count(self, domain_ids: Sequence[int]) -> int:
        count: int = self._value("queued_count", (json_ids(domain_ids),))
        return count

    def queued_urls(self, domain_id: int | None = None) -> Iterator[str]:
        rows = (
            self._stream("queued_all")
            if domain_id is None
            else self._stream("queued_of", (domain_id,))
        )
        for row in rows:
            yield row[0]

    def left_out(self) -> Iterator[LeftOut]:
        for row in self._stream("left_out"):
            yield LeftOut(*row)

    def _stream(self, query: str, values: Any = ()) -> Iterator[Any]:
        """The rows of a query, some at a time."""
        try:
            yield from self.db.execute(SQL[query], values)
        except sqlite3.Error as error:
            raise mapped(error) from error

    def request_stop(self) -> None:
        self._write(lambda db: db.execute(SQL["setting_put"], ("stop", "1")))

    def _write(self, action: Any) -> None:
        db = connect(self.path)
        try:
            begin(db)
            action(db)
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise mapped(error) from error
        finally:
            db.close()

    @errors_mapped
    def committed_segments(self) -> dict[tuple[str, int], int]:
        return {(row["kind"], row["id"]): row["length"] for row in self._rows("segments")}

    @errors_mapped
    def placed(self, after: int, limit: int, only: Sequence[int] | None = None) -> list[PagePlace]:
        numbers = None if only is None else json_ids(list(only))
        values = {"after": after, "limit": limit, "only": numbers}
        return [PagePlace(*row) for row in self._rows("pages_placed", values)]

    def place(self, owner: int) -> Place | None:
        return None

    def close(self) -> None:
        self.db.close()
