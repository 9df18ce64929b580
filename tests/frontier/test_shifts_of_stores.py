"""An engine's store thread is on shift while it computes, and away while it waits or keeps others
waiting: inside a transaction, and while a server has the word."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Bench
from helpers import batch

from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.shifts import Shifts
from support.made import link, page_of

URLS = [f"https://{name}.test/" for name in "abc"]


class Seen:
    """Whether the store thread was on shift at some moments."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shifts = Shifts()
        self.asking: set[bool] = set()  # statements, of SQLite those inside a transaction
        self.computing: set[bool] = set()
        plan = DomainLog.plan

        def planned(log: DomainLog, *args: Any) -> Any:
            self.computing.add(self.shifts._store_has_it)
            return plan(log, *args)

        monkeypatch.setattr(DomainLog, "plan", planned)

    def watch(self, frontier: SqliteFrontier | PostgresFrontier) -> None:
        frontier.store.shifts = self.shifts
        if isinstance(frontier, SqliteFrontier):
            frontier.db.set_trace_callback(lambda sql: self._note(frontier, sql))
            return
        execute = frontier.store.execute

        def noted(query: str, **values: Any) -> Any:
            self.asking.add(self.shifts._store_has_it)
            return execute(query, **values)

        frontier.store.execute = noted  # type: ignore[method-assign]

    def _note(self, frontier: SqliteFrontier, sql: str) -> None:
        if frontier.db.in_transaction or sql.startswith(("BEGIN", "COMMIT")):
            self.asking.add(self.shifts._store_has_it)


def test_it_computes_on_shift_and_waits_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, frontier = Seen(monkeypatch), bench.frontier
    engine = frontier.register("t", 1)
    frontier.add([link(url) for url in URLS], rank=0)
    seen.watch(frontier)
    seen.shifts.store_begins()
    leases = frontier.lease(engine, 10)
    assert len(leases) == len(URLS)
    more = [link(f"{url}more") for url in URLS]
    pages = [page_of(url) for lease in leases for url in lease.urls]
    committed = frontier.commit(engine, batch(1, pages=pages, links=more))
    seen.shifts.store_ends()
    assert committed.total_pages == len(URLS)
    assert seen.computing == {True}
    assert seen.asking == {False}
    assert not seen.shifts._shift.locked()
