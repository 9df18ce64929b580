"""The whole crawl on PostgreSQL: its settings, exclusions and counts, and whether it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lycosa.archive.segments import SegmentKind
from lycosa.frontier.postgres.store import PostgresStore
from lycosa.frontier.postgres.tokens import Tokens
from lycosa.frontier.values import Change


class Overview:
    """See `SupervisorFrontier`."""

    def __init__(self, store: PostgresStore, tokens: Tokens) -> None:
        self._store = store
        self._tokens = tokens

    def setting(self, key: str) -> str | None:
        value: str | None = self._store.read_one("setting_get", key=key)
        return value

    def put_settings(self, settings: Mapping[str, Any]) -> None:
        self._store.transaction(lambda now: self._store.put(settings))

    def steer(self, change: Callable[[Callable[[str], str | None], int], Change]) -> None:
        def work(now: int) -> None:
            # First: it locks a row, so that changes come one after the other.
            self._store.execute("rules_changed")
            made = change(lambda key: self._store.one("setting_get", key=key), now)
            self._store.put(made.settings)
            if made.delay_ms is not None:
                self._tokens.reschedule(*made.delay_ms, now)

        self._store.transaction(work)

    def exclusions(self) -> list[str]:
        return [row[0] for row in self._store.read("exclusions")]

    def put_exclusions(self, lines: Iterable[str]) -> None:
        given = list(lines)

        def work(now: int) -> None:
            for line in given:
                self._store.execute("exclusion_insert", line=line)

        self._store.transaction(work)

    def totals(self) -> tuple[int, bool]:
        now = self._store.test_now()
        total, stop, *_ = self._store.read("control", now=now)[0]
        return total or 0, stop == "1"

    def backlog(self) -> tuple[int, int]:
        queued, domains = self._store.read("backlog")[0]
        return queued, domains

    def active_domains(self, limit: int) -> int:
        value: int = self._store.read_one("active_count", limit=limit)
        return value

    def committed_segments(self) -> dict[tuple[SegmentKind, int], int]:
        found = self._store.read("segments")
        return {(kind, number): size for kind, number, size in found}

    def newest_ms(self) -> int:
        value: int = self._store.read_one("newest_time")
        return value

    def finished(self) -> bool:
        busy, sleeps = self._left()
        if sleeps:
            self._tokens.see_asleep()
            self._store.transaction(self._look_at_sleepers)
            busy, sleeps = self._left()
        return not (busy or sleeps)

    def _left(self) -> tuple[bool, bool]:
        values = {"lease": self._store.rules.lease_ms, "now": self._store.test_now()}
        busy, sleeps = self._store.read("what_is_left", **values)[0]
        return busy, sleeps

    def _look_at_sleepers(self, now: int) -> None:
        self._tokens.sweep()
        self._tokens.wake_grown(now)
