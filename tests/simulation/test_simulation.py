"""Whole crawls in virtual time, many seeds, invariants checked at every request."""

from __future__ import annotations

import gc
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from driver import Engine, Simulation
from web import Web

from lycosa.frontier.protocol import Batch, Committed
from support.logs import logs_of
from support.tokens import check_pages, check_tokens

DAY = 24 * 3600.0


def kept(simulation: Simulation) -> dict[str, int]:
    rows = simulation.store.db.execute("SELECT url FROM pages WHERE outcome = 'ok'")
    counts: dict[str, int] = {}
    for (url,) in rows:
        url = url.removesuffix("/moved")
        counts[url] = counts.get(url, 0) + 1
    return counts


def check_f1(simulation: Simulation) -> None:
    """Every URL seen is queued or done, never both, never neither; and counted once."""
    store = simulation.store
    check_pages(store.db)
    pages: dict[int, list[int]] = {}
    for ident, fp in store.db.execute("SELECT domain_id, fp FROM pages"):
        pages.setdefault(ident, []).append(fp)
    logs = logs_of(store)
    for ident, log in logs.items():
        assert log.damaged == []
        fps = pages.pop(ident, [])
        assert log.counts().done == len(fps)
        assert set(log.states(fps)) <= {"done"}
    assert pages == {}
    assert store.backlog()[0] == sum(log.counts().queued for log in logs.values())


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
            simulation.store.rescue([engine.engine_id])
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


def outcomes(simulation: Simulation, start: str) -> dict[str, int]:
    """How the pages of the domains with such names ended."""
    rows = simulation.store.db.execute(
        "SELECT outcome, count(*) FROM pages WHERE url >= ? AND url < ? GROUP BY outcome",
        (f"https://{start}", f"https://{start}~"),
    )
    return dict(rows.fetchall())


def errands(simulation: Simulation) -> list[str]:
    return [url for _, url in simulation.asked if "/r/" in url or "/to/" in url]


def test_three_hundred_origins_aim_at_one_victim(tmp_path: Path) -> None:
    """Each sends us to another URL of it: it is asked once a delay, by all engines together, and
    its own pages are visited meanwhile. Nobody's turn is lost, and none counts as a failure."""
    web = Web(1, sites=10, pages=30, faults=0.0)
    web.aim(300)
    simulation = Simulation(1, tmp_path / "crawl.sqlite", web, engines=4, check_steps=False)
    simulation.run(3 * DAY)
    check_f1(simulation)
    check_tokens(simulation.store.db)
    assert simulation.store.finished()
    assert kept(simulation) == dict.fromkeys(web.expected(), 1)
    assert outcomes(simulation, "aim") == {"ok": 300}
    asked = errands(simulation)
    assert len(asked) == len(set(asked)) == 400  # a hundred of them by a detour
    # Their own robots.txt was asked for once: waiting for a turn costs nobody a request.
    own = [url for _, url in simulation.asked if url.startswith("https://aim")]
    assert len(own) == 2 * 300


@pytest.mark.parametrize("seed", range(4))
def test_aims_with_kills_and_takeovers(seed: int, tmp_path: Path) -> None:
    """The delay after such a request holds whoever dies, and an answer is not lost with him."""
    web = Web(seed, sites=10, pages=60, faults=1.0)
    web.aim(40, victims=2)
    simulation = Simulation(seed, tmp_path / "crawl.sqlite", web, engines=3, workers=10)
    misfortune(simulation, seed)
    simulation.run(20 * DAY)
    check_f1(simulation)
    assert simulation.store.finished(), f"seed {seed}: the crawl does not end"
    counted = outcomes(simulation, "aim")
    assert set(counted) <= {"ok", "timeout", "reset", "overloaded"} and counted["ok"] >= 35


def test_many_victims_at_one_address(tmp_path: Path) -> None:
    """However many domains live there, one such request is under way, in the whole cluster."""
    web = Web(3, sites=5, pages=5, faults=0.0)
    web.aim(120, victims=60)
    simulation = Simulation(
        3,
        tmp_path / "crawl.sqlite",
        web,
        engines=3,
        ip_delay=1.0,
        address=lambda host: "192.0.2.1" if host.startswith("victim") else "",
    )
    simulation.run(2 * DAY)
    assert simulation.store.finished()
    assert outcomes(simulation, "aim") == {"ok": 120}


@pytest.mark.parametrize("exclude", ["victim0.test", "victim0.test/r/*"])
def test_an_excluded_victim_is_not_asked(exclude: str, tmp_path: Path) -> None:
    web = Web(4, sites=5, pages=5, faults=0.0)
    web.aim(30)
    simulation = Simulation(4, tmp_path / "crawl.sqlite", web, exclude=(exclude,))
    simulation.run(2 * DAY)
    assert simulation.store.finished()
    assert [url for url in errands(simulation) if url.startswith("https://victim")] == []
    assert outcomes(simulation, "aim") == {"robots-unreachable": 30}


def test_a_victim_that_is_no_seed_is_not_asked_in_a_seeded_crawl(tmp_path: Path) -> None:
    web = Web(5, sites=5, pages=5, faults=0.0)
    web.aim(30, seeded=False)
    simulation = Simulation(5, tmp_path / "crawl.sqlite", web, seeded_only=True)
    simulation.run(2 * DAY)
    assert simulation.store.finished()
    assert errands(simulation) == []
    assert outcomes(simulation, "aim") == {"robots-unreachable": 30}
    hosts = {url.split("/")[2] for _, url in simulation.asked}
    assert not {"victim0.test", "detour.test"} & hosts


def test_waiting_for_a_turn_costs_little(tmp_path: Path) -> None:
    """A thousand who wait for one victim look for their answer seldom, and others go on."""
    web = Web(6, sites=50, pages=400, faults=0.0)
    web.aim(1000)
    simulation = Simulation(6, tmp_path / "crawl.sqlite", web, engines=2, check_steps=False)
    released = count_releases(simulation)
    simulation.run(DAY / 4)
    check_tokens(simulation.store.db)
    others = sum(1 for url in kept(simulation) if url.startswith("https://s"))
    assert others >= 0.9 * len([u for u in web.expected() if u.startswith("https://s")])
    aims = simulation.store.db.execute("SELECT id FROM domains WHERE name LIKE 'aim%'").fetchall()
    # In six hours: a look every 20 minutes, after some quicker ones.
    assert 1 < sum(released[ident] for (ident,) in aims) / 1000 < 40


def count_releases(simulation: Simulation) -> Counter[int]:
    """How often each domain is given back from now on."""
    released: Counter[int] = Counter()

    def counting(commit: Callable[[int, Batch], Committed]) -> Callable[[int, Batch], Committed]:
        def counted(engine_id: int, batch: Batch) -> Committed:
            released.update(each.domain_id for each in batch.released)
            return commit(engine_id, batch)

        return counted

    for engine in simulation.engines:
        store: Any = engine.store
        store.commit = counting(store.commit)
    return released


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_day_of_ten_thousand_domains(tmp_path: Path) -> None:
    """10,000 domains and 100,000 visits over 24 virtual hours at 70 s."""
    seed = int(os.environ.get("LYCOSA_SEED", "7"))
    web = Web(seed, sites=10_000, pages=115_000, faults=0.1)
    simulation = Simulation(
        seed, tmp_path / "crawl.sqlite", web, engines=2, workers=1000, check_steps=False
    )
    simulation.run(DAY)
    check_f1(simulation)
    check_tokens(simulation.store.db)
    print(f"{simulation.visits} visits, {simulation.requests} requests in {simulation.now} s")
    assert simulation.visits >= 100_000
