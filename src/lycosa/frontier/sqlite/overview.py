"""The whole crawl on SQLite: its settings, exclusions and counts, and whether it has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lycosa.archive.segments import SegmentKind
from lycosa.frontier import queries
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.store import SqliteStore

SQL = queries.load("sqlite")


class Overview:
    """See `SupervisorFrontier`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._db = store.db

    @errors_mapped
    def setting(self, key: str) -> str | None:
        value: str | None = self._store.one("setting_get", {"key": key})
        return value

    def put_settings(self, settings: Mapping[str, Any]) -> None:
        with self._store.transaction():
            self._store.put(settings)

    @errors_mapped
    def exclusions(self) -> list[str]:
        return [row[0] for row in self._db.execute(SQL["exclusions"])]

    def put_exclusions(self, lines: Iterable[str]) -> None:
        with self._store.transaction():
            self._db.executemany(SQL["exclusion_insert"], [{"line": line} for line in lines])

    @errors_mapped
    def totals(self) -> tuple[int, bool]:
        total, stop, _ = self._db.execute(SQL["control"]).fetchone()
        return total or 0, stop == "1"

    @errors_mapped
    def backlog(self) -> tuple[int, int]:
        queued, domains = self._db.execute(SQL["backlog"]).fetchone()
        return queued or 0, domains or 0

    @errors_mapped
    def active_domains(self, limit: int) -> int:
        value: int = self._store.one("active_count", {"limit": limit})
        return value

    @errors_mapped
    def committed_segments(self) -> dict[tuple[SegmentKind, int], int]:
        return {(kind, number): size for kind, number, size in self._db.execute(SQL["segments"])}

    @errors_mapped
    def newest_ms(self) -> int:
        value: int = self._store.one("newest_time")
        return value

    @errors_mapped
    def finished(self) -> bool:
        if self._store.one("any_live_domain") is not None:
            return False
        if self._store.one("any_queued") is None:
            return True
        with self._store.transaction():
            self._db.execute(SQL["sweep"])
        return False
