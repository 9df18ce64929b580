"""Loading seeds into a store on a server that goes away meanwhile."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import StoreRules
from lycosa.node import seed_loader
from lycosa.node.datadir import copy_seeds
from lycosa.node.seed_loader import Loader
from support.postgres import servers

RULES = StoreRules(delay_ms=1000, lease_ms=8000)
SEEDS = 3000


class Breaking(PostgresFrontier):
    """Its connection breaks once, in the middle of its loading."""

    broken = 0

    def __init__(self, url: str) -> None:
        super().__init__(url, RULES)
        self._add, self.add = self.add, self._add_and_break

    def _add_and_break(self, *args: Any, **options: Any) -> int:
        count = self._add(*args, **options)
        if Breaking.broken < 3:
            Breaking.broken += 1
            pid = self.db.info.backend_pid
            with psycopg.connect(self.store.url, autocommit=True) as db:
                db.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        return count


def prepared(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = root / "source.txt"
    lines = [f"d{number}.test" if number % 100 else "not a domain" for number in range(SEEDS)]
    source.write_text("\n".join(lines))
    copy_seeds(root, [str(source)], more=False)
    for name in ("CHUNK", "SERVER_CHUNK", "FIRST_CHUNK"):
        monkeypatch.setattr(seed_loader, name, 250)


def loaded(url: str) -> int:
    with psycopg.connect(url) as db:
        return int(db.execute("SELECT count(*) FROM domains").fetchall()[0][0])


def test_a_lost_connection_costs_no_seed(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared(tmp_path, monkeypatch)
    PostgresFrontier(postgres_url, RULES, create=True).close()
    loader = Loader(tmp_path, lambda: Breaking(postgres_url), "node")
    loader.start()
    assert loader.done.wait(30)
    loader.stop()
    assert Breaking.broken == 3
    assert loader.error is None
    assert (loaded(postgres_url), loader.bad) == (SEEDS - SEEDS // 100, SEEDS // 100)


def test_a_new_start_waits_for_no_chunk_under_way(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a failover, when the loader hangs on the server that is gone."""
    prepared(tmp_path, monkeypatch)
    PostgresFrontier(postgres_url, RULES, create=True).close()
    hanging, let_go = threading.Event(), threading.Event()

    def connect() -> PostgresFrontier:
        store = PostgresFrontier(postgres_url, RULES)
        add = store.add

        def hang(*args: Any, **options: Any) -> int:
            hanging.set()
            assert let_go.wait(30)
            return add(*args, **options)

        store.add = hang
        return store

    loader = Loader(tmp_path, connect, "node")
    loader.start()
    assert hanging.wait(30)
    first = loader.done
    loader.start()  # returns although the first loading hangs
    let_go.set()
    assert loader.done.wait(30)
    loader.stop()
    assert loader.error is None and not first.is_set()  # it ended after its chunk
    assert loaded(postgres_url) == SEEDS - SEEDS // 100


def test_a_server_that_is_away_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    prepared(tmp_path, monkeypatch)
    for server in servers():
        PostgresFrontier(server.url, RULES, create=True).close()
        server.stop()
        loader = Loader(tmp_path, lambda: PostgresFrontier(server.url, RULES), "node")  # noqa: B023
        loader.start()
        time.sleep(2)
        assert not loader.done.is_set() and loader.error is None
        server.start()
        assert loader.done.wait(30)
        loader.stop()
        assert loaded(server.url) == SEEDS - SEEDS // 100
        loader.start()  # a second time, as after a failover: nothing is added twice
        assert loader.done.wait(30)
        loader.stop()
        assert loaded(server.url) == SEEDS - SEEDS // 100
    assert sum("can't be reached" in record.getMessage() for record in caplog.records) == 1
