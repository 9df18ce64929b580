"""The whole crawl on SQLite: its settings, exclusions and counts, and whether it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lycosa.archive.segments import SegmentKind
from lycosa.frontier import queries
from lycosa.frontier.sqlite.connection import errors_mapped
from lycosa.frontier.sqlite.store import SqliteStore
from lycosa.frontier.sqlite.tokens import Tokens
from lycosa.frontier.values import Change

SQL = queries.load("sqlite")


class Overview:
    """See `SupervisorFrontier`."""

    def __init__(self, store: SqliteStore, tokens: Tokens) -> None:
        self._store = store
        self._db = store.db
        self._tokens = tokens

    @errors_mapped
    def setting(self, key: str) -> str | None:
        value: str | None = self._store.one("setting_get", {"key": key})
        return value

    def put_settings(self, settings: Mapping[str, Any]) -> None:
        with self._store.transaction():
            self._store.put(settings)

    def steer(self, change: Callable[[Callable[[str], str | None], int], Change]) -> None:
        with self._store.transaction() as now:
            self._db.execute(SQL["rules_changed"])
            made = change(lambda key: self._store.one("setting_get", {"key": key}), now)
            self._store.put(made.settings)
            if made.delay_ms is not None:
                self._tokens.reschedule(*made.delay_ms, now)

    @errors_mapped
    def exclusions(self) -> list[str]:
        return [row[0] for row in self._db.execute(SQL["exclusions"])]

    def put_exclusions(self, lines: Iterable[str]) -> None:
        with self._store.transaction():
            self._db.executemany(SQL["exclusion_insert"], [{"line": line} for line in lines])

    @errors_mapped
    def totals(self) -> tuple[int, bool]:
        total, stop, *_ = self._db.execute(SQL["control"]).fetchone()
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
        values = {"now": self._store.now_ms(), "lease": self._store.rules.lease_ms}
        live, queued = self._db.execute(SQL["what_is_left"], values).fetchone()
        if live or not queued:
            return not live
        with self._store.transaction():
            self._tokens.sweep()
        return False
