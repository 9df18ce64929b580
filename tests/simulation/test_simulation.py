"""Whole crawls in virtual time, many seeds, invariants checked at every request."""

from __future__ import annotations

import gc
import os
import random
from pathlib import Path

import pytest
from driver import Engine, Simulation
from web import Web

DAY = 24 * 3600.0


def kept(simulation: Simulation) -> dict[str, int]:
    rows = simulation.store.db.execute("SELECT url FROM pages WHERE outcome = 'ok'")
    counts: dict[str, int] = {}
    for (url,) in rows:
        url = url.removesuffix("/moved")
        counts[url] = counts.get(url, 0) + 1
    return counts


def check_f1(simulation: Simulation) -> None:
    """Every URL seen is queued or done, never both, never neither."""
    db = simulation.store.db
    lost = db.execute(
        "SELECT count(*) FROM seen s WHERE NOT EXISTS (SELECT 1 FROM queue q WHERE "
        "q.domain_id = s.domain_id AND q.ord = s.ord AND q.fp = s.fp) AND NOT EXISTS "
        "(SELECT 1 FROM pages p WHERE p.domain_id = s.domain_id AND p.fp = s.fp)"
    ).fetchone()[0]
    both = db.execute(
        "SELECT count(*) FROM queue q JOIN pages p ON p.domain_id = q.domain_id AND p.fp = q.fp"
    ).fetchone()[0]
    queued = db.execute("SELECT count(*) FROM queue").fetchone()[0]
    assert (lost, both) == (0, 0)
    assert simulation.store.backlog()[0] == queued


def test_a_quiet_crawl_keeps_every_page_once(tmp_path: Path) -> None:
    web = Web(1, sites=60, pages=600, faults=0.0)
    simulation = Simulation(1, tmp_path / "crawl.sqlite", web)
    simulation.run(10 * DAY)
    check_f1(simulation)
    assert simulation.ended
    assert simulation.store.finished()
    assert kept(simulation) == dict.fromkeys(web.expected(), 1)


def test_no_visit_is_left_in_a_cycle(tmp_path: Path) -> None:
    """An engine never looks for cycles among old objects (it would hold the loop): so whatever
    becomes of a visit, nothing of it may be in one."""
    web = Web(3, sites=40, pages=300, faults=0.4)
    simulation = Simulation(3, tmp_path / "crawl.sqlite", web)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        simulation.run(10 * DAY)
        gc.collect()
        found = {type(each).__name__ for each in gc.garbage if "lycosa" in type(each).__module__}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert simulation.ended
    assert found == set()


def misfortune(simulation: Simulation, seed: int) -> None:
    """Kill, pause and take over engines at random moments."""
    chance = random.Random(seed)

    def strike() -> None:
        engine = chance.choice(simulation.engines)
        chance.choice([kill_known, kill_unknown, pause, kill_known])(engine)
        simulation.at(simulation.now + chance.uniform(20, 2000), strike)

    def kill_known(engine: Engine) -> None:
        if engine.alive:
            engine.kill()
            simulation.store.rescue([engine.owner])
            simulation.replace(engine)

    def kill_unknown(engine: Engine) -> None:
        """Nobody sees it die: its lease has to run out."""
        if engine.alive:
            engine.kill()
            simulation.replace(engine)

    def pause(engine: Engine) -> None:
        engine.paused = True
        simulation.at(simulation.now + chance.uniform(1, 600), lambda: go_on(engine))

    def go_on(engine: Engine) -> None:
        engine.paused = False
        engine.wake(simulation.now)

    simulation.at(chance.uniform(0, 300), strike)


def run_unlucky(seed: int, path: Path) -> None:
    print(f"seed {seed}")
    web = Web(seed, sites=25, pages=150, faults=1.0)
    simulation = Simulation(seed, path, web, engines=3, workers=10)
    misfortune(simulation, seed)
    simulation.run(20 * DAY)
    check_f1(simulation)
    assert simulation.store.finished(), f"seed {seed}: the crawl does not end"
    pages = kept(simulation)
    assert set(pages.values()) <= {1}
    assert set(pages) <= web.expected()
    # What retries could not save is recorded as failed, not lost.
    failed = {row[0] for row in simulation.store.db.execute("SELECT url FROM pages")}
    assert not {f"https://{name}/" for name in web.names} - failed


@pytest.mark.parametrize("seed", range(12))
def test_failures_kills_and_takeovers(seed: int, tmp_path: Path) -> None:
    run_unlucky(seed, tmp_path / "crawl.sqlite")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_failures_kills_and_takeovers_many_seeds(seed: int, tmp_path: Path) -> None:
    run_unlucky(seed, tmp_path / "crawl.sqlite")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_day_of_ten_thousand_domains(tmp_path: Path) -> None:
    """10,000 domains and 100,000 visits over 24 virtual hours at 70 s."""
    seed = int(os.environ.get("LYCOSA_SEED", "7"))
    web = Web(seed, sites=10_000, pages=115_000, faults=0.1)
    simulation = Simulation(seed, tmp_path / "crawl.sqlite", web, engines=2, workers=1000)
    simulation.run(DAY)
    check_f1(simulation)
    print(f"{simulation.visits} visits, {simulation.requests} requests in {simulation.now} s")
    assert simulation.visits >= 100_000
