"""Stores under test. The behaviour is written once, in test_conformance, for every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lycosa.frontier.keys import SETTINGS_KEY
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import Batch, Committed, StoreRules, open_reader
from lycosa.frontier.reader import Reader
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from support.tokens import check_each_step

Store = SqliteFrontier | PostgresFrontier


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
    connect: Callable[[StoreRules], Store]
    frontier: Store

    def another(self, **changes: Any) -> Store:
        return self.connect(replace(self.rules, **changes))

    def watch_for(self, seconds: float) -> int:
        """Let time pass as a supervisor does, in touch with the store; returns domains rescued."""
        rescued = 0
        for _ in range(int(seconds // 10)):
            self.clock.pass_seconds(10)
            rescued += self.frontier.rescue()
        self.clock.pass_seconds(seconds % 10)
        return rescued + self.frontier.rescue()


STORES = ["sqlite", "postgres"]
# The same, where links to domains that an engine does not hold go into buckets, and are delivered
# behind each commit. Small crawls would not do so by themselves.
BY_BUCKETS = ["sqlite-buckets", "postgres-buckets"]
IN_BOTH_WAYS = {"test_conformance", "test_tokens", "test_logs"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "bench" in metafunc.fixturenames and "bench" not in own:
        both = metafunc.module.__name__.rpartition(".")[2] in IN_BOTH_WAYS
        metafunc.parametrize("bench", STORES + BY_BUCKETS * both, indirect=True)


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    clock = Clock()
    by_buckets = request.param in BY_BUCKETS
    rules = StoreRules(delay_ms=70_000, lease_ms=180_000, buckets=4 if by_buckets else 0)
    opened: list[Store] = []

    def connect(rules: StoreRules) -> Store:
        store: Store
        if request.param.startswith("sqlite"):
            store = SqliteFrontier(tmp_path / "crawl.sqlite", rules, clock, create=not opened)
        else:
            url = request.getfixturevalue("postgres_url")
            store = PostgresFrontier(url, rules, clock, create=not opened)
        if by_buckets:
            deliver_behind_commits(store)
        check_each_step(store)
        opened.append(store)
        return store

    yield Bench(clock, rules, connect, connect(rules))
    for store in opened:
        store.close()


def deliver_behind_commits(store: Store) -> None:
    """From now on what a commit puts into buckets is in the logs when it returns."""
    commit, inbox = store.commit, store.commit.__self__._inbox  # type: ignore[attr-defined]

    def committed(engine_id: int, batch: Batch) -> Committed:
        result = commit(engine_id, batch)
        if inbox.deliver_for(engine_id):
            inbox.rounds.tell(result)
        return result

    committed.__self__ = commit.__self__  # type: ignore[attr-defined]
    store.commit = committed


@pytest.fixture
def reader(bench: Bench, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reader]:
    """The same store as a person sees it."""
    bench.frontier.put_settings({SETTINGS_KEY: "{}"})
    if isinstance(bench.frontier, SqliteFrontier):
        made = open_reader(tmp_path)
    else:
        made = open_reader(tmp_path, request.getfixturevalue("postgres_url"))
    yield made
    made.close()
