"""Stores under test. The behaviour is written once, in test_conformance, for every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lycosa.frontier import StoreRules
from lycosa.frontier.sqlite import SqliteFrontier


class Clock:
    """The store's time, in the test's hands."""

    def __init__(self, now_ms: int = 1_800_000_000_000) -> None:
        self.ms = now_ms

    def __call__(self) -> int:
        return self.ms

    def pass_seconds(self, seconds: float) -> None:
        self.ms += round(seconds * 1000)


@dataclass
class Bench:
    """A fresh store, and more connections to it."""

    clock: Clock
    rules: StoreRules
    connect: Callable[[StoreRules], SqliteFrontier]
    frontier: SqliteFrontier

    def another(self, **changes: object) -> SqliteFrontier:
        return self.connect(replace(self.rules, **changes))  # type: ignore[arg-type]


@pytest.fixture(params=["sqlite"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    clock = Clock()
    rules = StoreRules(delay_ms=70_000, lease_ms=180_000)
    opened: list[SqliteFrontier] = []

    def connect(rules: StoreRules) -> SqliteFrontier:
        store = SqliteFrontier(tmp_path / "crawl.sqlite", rules, clock, create=not opened)
        opened.append(store)
        return store

    yield Bench(clock, rules, connect, connect(rules))
    for store in opened:
        store.close()
