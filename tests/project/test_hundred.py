"""The crawl of bench/hundred.py in virtual time: whole on both stores, and it notices what is
wrong. Each fault that is planted here is one that a store could have.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from lycosa.errors import Fenced
from lycosa.frontier.protocol import Batch
from virtual.crawl import Crawl, Plan
from virtual.sites import SEEDS, Sites, parsed

QUIET = Plan(engines=4, domains=200, seed=5, fault_ms=0, lost_outcomes=0.0)
ROUGH = Plan(engines=8, domains=300, seed=6, fault_ms=3_000, lost_outcomes=0.05)


def test_every_url_is_found_by_links(tmp_path: Path) -> None:
    crawl = Crawl(QUIET, tmp_path, "sqlite")
    sites = Sites(1_000, 3, 0, crawl.chance)
    found = {(d, 0) for d in sites.seeds()}
    left = list(found)
    while left:
        new = set(sites.links(*left.pop())) - found
        found |= new
        left += new
    assert found == {(d, j) for d in range(1_000) for j in range(3)}
    assert len(sites.seeds()) == 100 * SEEDS
    assert all(parsed(sites.url(d, j)) == (d, j) for d, j in found)


def check_rough(crawl: Crawl) -> None:
    crawl.run()
    assert crawl.witness.violations == []
    assert crawl.witness.done == crawl.plan.domains * 3
    assert min(crawl.witness.visited) >= 1
    assert crawl.witness.shortest_ms == 70_000
    for what in ("killed", "domains rescued", "outcomes lost", "pages asked for again"):
        assert crawl.counts[what], what


def test_a_rough_crawl_on_sqlite_keeps_every_invariant(tmp_path: Path) -> None:
    check_rough(Crawl(ROUGH, tmp_path, "sqlite"))


def test_a_rough_crawl_on_postgresql_keeps_every_invariant(
    tmp_path: Path, postgres_url: str
) -> None:
    check_rough(Crawl(replace(ROUGH, engines=4, domains=150), tmp_path, postgres_url))


class Planted(Crawl):
    """A crawl whose engines are on a store with a fault."""

    def __init__(self, plan: Plan, folder: Path, plant: Plant) -> None:
        self._plant = plant
        super().__init__(plan, folder, "sqlite")

    def connect(self, create: bool = False) -> Any:
        store = super().connect(create)
        self._plant(self, store)
        return store


Plant = Callable[[Planted, Any], None]
Change = Callable[[Callable[[], Any], Any], Any]


def changed(store: Any, verb: str, change: Change) -> None:
    """From now on a verb of a store goes through `change`."""
    real = getattr(store, verb)
    setattr(store, verb, lambda *args, **more: change(lambda: real(*args, **more), args))


def forgets_links(crawl: Planted, store: Any) -> None:
    def commit(real: Callable[[], Any], args: tuple[int, Batch]) -> Any:
        if args[1].number % 5 == 0:
            args[1].links = []
        return real()

    changed(store, "commit", commit)


def forgets_pages(crawl: Planted, store: Any) -> None:
    def commit(real: Callable[[], Any], args: tuple[int, Batch]) -> Any:
        args[1].pages = args[1].pages[1:]
        return real()

    changed(store, "commit", commit)


def is_impatient(crawl: Planted, store: Any) -> None:
    def commit(real: Callable[[], Any], args: tuple[int, Batch]) -> Any:
        for each in args[1].released:
            each.polite_ms -= 30_000
        return real()

    changed(store, "commit", commit)


def leases_twice(crawl: Planted, store: Any) -> None:
    given = crawl.__dict__.setdefault("given", [])  # by all engines

    def lease(real: Callable[[], Any], args: tuple[int, int]) -> Any:
        leases = real()
        if given and given[0][1] != args[0] and len(given) == 1:
            given.append(given[0])
            return [*leases, given[0][0]]
        given.extend((replace(each, urls=[*each.urls]), args[0]) for each in leases[-1:])
        return leases

    changed(store, "lease", lease)


def lets_the_dead_write(crawl: Planted, store: Any) -> None:
    def commit(real: Callable[[], Any], args: tuple[int, Batch]) -> Any:
        try:
            return real()
        except Fenced:
            return None

    changed(store, "commit", commit)


def ends_early(crawl: Planted, store: Any) -> None:
    changed(store, "finished", lambda real, args: real() or crawl.witness.done > 500)


def never_ends(crawl: Planted, store: Any) -> None:
    changed(store, "finished", lambda real, args: False)


def makes_second_tokens(crawl: Planted, store: Any) -> None:
    def lease(real: Callable[[], Any], args: tuple[int, int]) -> Any:
        leases = real()
        if leases and crawl.witness.visits > 150:
            row = (crawl.now_ms + 10**9, leases[0].domain_id)
            store.db.execute("INSERT OR IGNORE INTO ready VALUES (?, ?, 0, 0)", row)
        return leases

    changed(store, "lease", lease)


FAULTS: dict[Plant, str] = {
    forgets_links: "F1: ",
    forgets_pages: "F1: ",
    is_impatient: "P1: ",
    leases_twice: "P2: ",
    lets_the_dead_write: "was dead, and its commit taken",
    ends_early: "F1: the store says that the crawl is finished",
    never_ends: "not finished",
    makes_second_tokens: "P2: a domain without its one token",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_the_store_is_noticed(fault: Plant, tmp_path: Path) -> None:
    crawl = Planted(ROUGH if fault is lets_the_dead_write else QUIET, tmp_path, fault)
    crawl.run()
    assert any(FAULTS[fault] in each for each in crawl.witness.violations)
