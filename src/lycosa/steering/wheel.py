"""The hand on the wheel: what a user may change of a crawl while it runs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from lycosa.clock import wall_now
from lycosa.errors import StoreError, UserError
from lycosa.frontier.protocol import Frontier, open_frontier, open_reader
from lycosa.settings.stored import stored_settings
from lycosa.urls.canonical import host_of
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.exclusions import parse_excludes
from lycosa.urls.scope import Scope, ScopeRules

PAUSED_KEY = "paused"
COUNT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class SeedsAdded:
    """What became of seeds that were given to a crawl."""

    taken: int = 0
    known: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Settable:
    """A setting that may change while a crawl runs."""

    name: str
    value: str
    meaning: str


@dataclass(slots=True)
class PatternHits:
    """What a pattern would take out."""

    domains: int = 0
    urls: int = 0
    at_least: bool = False


def open_wheel(data_dir: Path, store: str) -> Wheel:
    """The wheel of a crawl."""
    return Wheel(data_dir, store)


class Wheel:
    """Changes a crawl; also a context manager."""

    def __init__(self, data_dir: Path, store: str) -> None:
        self._where = (data_dir, store)
        self._reader = open_reader(data_dir, store)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._reader.close()

    def pause(self, why: str = "") -> None:
        told = {"since_ms": wall_now(), "why": why, "by": "user"}
        self._put({PAUSED_KEY: orjson.dumps(told).decode()})

    def unpause(self) -> None:
        self._put({PAUSED_KEY: ""})

    def stop(self) -> None:
        self._reader.request_stop()

    def hits(self, lines: Iterable[str]) -> dict[str, PatternHits]:
        """What each line would take out, counted for a limited time."""
        end = time.monotonic() + COUNT_SECONDS
        return {line: self._hits(line, end) for line in parse_excludes(list(lines))}

    def exclude(self, lines: Iterable[str]) -> int:
        """Add exclusions; returns how many there are."""
        parsed = list(parse_excludes(list(lines)))
        if not parsed:
            raise UserError("There is no pattern in this: write a domain, host or URL pattern.")
        return self._reader.add_exclusions(parsed)

    def take_back(self, lines: Iterable[str]) -> int:
        """Take exclusions back; returns how many URLs are queued again."""
        removed = list(lines)
        known = self.exclusions()
        for line in removed:
            if line not in known:
                raise UserError(f"'{line}' is no exclusion of this crawl.")
        self._reader.remove_exclusions(removed)
        stays = Scope(ScopeRules(exclude=tuple(self.exclusions())))
        rows = [
            row
            for row in self._reader.left_out()
            if not stays.excluded_by(row.url, host_of(row.url))
        ]
        frontier = self._writer()
        try:
            return frontier.restore(rows) if rows else 0
        finally:
            frontier.close()

    def exclusions(self) -> list[str]:
        return self._reader.exclusions()[1]

    def add_seeds(self, lines: Iterable[str]) -> SeedsAdded:
        raise UserError("This version can't add seeds to a crawl.")

    def set(self, name: str, text: str) -> tuple[str, str]:
        raise UserError(f"This version can't change {name} of a crawl.")

    def settable(self) -> list[Settable]:
        settings = stored_settings(self._reader.settings())
        if settings is None:
            return []
        return [
            Settable("delay", f"{settings.delay:g} s", "between two visits to a domain"),
            Settable("max-workers", "1000", "fetches in flight at once on a node"),
        ]

    def _hits(self, line: str, end: float) -> PatternHits:
        scope, found = Scope(ScopeRules(exclude=(line,))), PatternHits()
        host = line.split("/")[0].split("?")[0]
        one = None if "*" in host or line.startswith(".") else domain_id(domain_of(host))
        touched = set()
        for url in self._reader.queued_urls(one):
            if time.monotonic() > end:
                found.at_least = True
                break
            if scope.excluded_by(url, host_of(url)):
                found.urls += 1
                touched.add(domain_of(host_of(url)))
        found.domains = len(touched)
        return found

    def _put(self, values: dict[str, str]) -> None:
        frontier = self._writer()
        try:
            frontier.put_settings(values)
        finally:
            frontier.close()

    def _writer(self) -> Frontier:
        settings = stored_settings(self._reader.settings())
        if settings is None:
            raise StoreError("The crawl has no settings stored.")
        rules = settings.store_rules()
        return open_frontier(self._where[1], self._where[0], rules, wall_now, name="lycosa command")
