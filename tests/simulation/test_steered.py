"""Crawls in virtual time that somebody pauses and sets all the while: the rules hold."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from driver import LEASE, TO_MS, VISIT, Engine, Simulation, Violation, Wire
from test_simulation import DAY, check_f1, kept
from web import Web

from lycosa.frontier.keys import DELAYS_KEY, PAUSED_KEY, RULES_KEY, SETTINGS_KEY
from lycosa.frontier.protocol import Change
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.records import Request
from lycosa.settings.steered import CrawlPause, delay_change, rules_now
from lycosa.settings.values import CrawlSettings

HEARD = 2.0  # seconds within which every engine goes by a change


class Steered(Simulation):
    """A crawl whose delay changes and that is paused now and then."""

    def __init__(self, seed: int, path: Path, web: Web, engines: int = 3) -> None:
        self.settings = CrawlSettings(
            email="t@example.org", delay=70.0, ip_delay=0.0, lease_time=LEASE, visit_timeout=VISIT
        )
        self.delays = [(float("-inf"), 70.0)]  # since when each delay holds
        self.paused_at = float("inf")
        self.pauses = 0
        super().__init__(seed, path, web, engines=engines, workers=10)

    def connect(self, create: bool = False) -> SqliteFrontier:
        store = super().connect(create)
        store.obey(rules_now(store.rules, self.settings))
        if create:
            settings = json.dumps(self.settings.to_json())
            store.put_settings({SETTINGS_KEY: settings, RULES_KEY: 1})
        return store

    def set_delay(self, delay: float) -> None:
        before, self.settings = self.settings, replace(self.settings, delay=delay)
        self.delay = delay  # of engines that start now
        self.delays.append((self.now, delay))
        self.store.steer(
            lambda look, now: delay_change(before, self.settings, look(DELAYS_KEY) or "", now)
        )
        self.store.obey(rules_now(self.store.rules, self.settings))

    def pause(self) -> None:
        self.paused_at, self.pauses = self.now, self.pauses + 1
        pause = CrawlPause(int(self.now * 1000 + TO_MS))
        self.store.steer(lambda look, now: Change({PAUSED_KEY: pause.to_text()}))

    def unpause(self) -> None:
        self.paused_at = float("inf")
        self.store.steer(lambda look, now: Change({PAUSED_KEY: ""}))

    def held(self) -> int:
        found = self.store.db.execute("SELECT count(*) FROM held")
        return int(found.fetchone()[0])

    def _least(self) -> float:
        """The shortest delay that an engine may go by now."""
        last = self.delays[-1][1]
        recent = [d for (_, d), (to, _) in zip(self.delays, self.delays[1:], strict=False)
                  if to >= self.now - HEARD]  # fmt: skip
        return min([last, *recent])

    def _check(self, wire: Wire, request: Request) -> None:
        known = wire.robots_at > float("-inf")
        asked = self.web.sites[request.host].crawl_delay if known else 0.0
        wire.delay = max(self._least(), asked)
        if wire.visit is not request.token and self.now > self.paused_at + HEARD:
            raise Violation(f"{request.url} at {self.now}, paused since {self.paused_at}")
        super()._check(wire, request)


def restless(simulation: Steered, seed: int, kills: bool) -> None:
    """Change something at random moments."""
    chance = random.Random(seed)

    def strike() -> None:
        deeds = [pause, longer, shorter, shorter, kill_one] if kills else [pause, longer, shorter]
        chance.choice(deeds)()
        simulation.at(simulation.now + chance.uniform(5, 300), strike)

    def pause() -> None:
        if simulation.paused_at == float("inf"):
            simulation.pause()
            simulation.at(simulation.now + chance.choice([3, 100, 600]), simulation.unpause)

    def longer() -> None:
        simulation.set_delay(chance.uniform(70, 300))

    def shorter() -> None:
        simulation.set_delay(chance.uniform(5, 70))

    def kill_one() -> None:
        engine: Engine = chance.choice(simulation.engines)
        if engine.alive:
            engine.kill()
            simulation.store.rescue([engine.engine_id])
            simulation.replace(engine)

    simulation.at(chance.uniform(0, 100), pause)
    simulation.at(chance.uniform(0, 300), strike)


@pytest.mark.parametrize("seed", range(8))
def test_pauses_and_delays_that_change(seed: int, tmp_path: Path) -> None:
    web = Web(seed, sites=25, pages=300, faults=0.0)
    simulation = Steered(seed, tmp_path / "crawl.sqlite", web)
    restless(simulation, seed, kills=seed % 2 == 1)
    simulation.run(20 * DAY)
    check_f1(simulation)
    assert simulation.store.finished(), f"seed {seed}: the crawl does not end"
    assert set(kept(simulation)) <= web.expected()
    if seed % 2 == 0:
        assert kept(simulation) == dict.fromkeys(web.expected(), 1)
    assert simulation.pauses


def test_a_pause_of_ten_minutes_gives_all_leases_back(tmp_path: Path) -> None:
    web = Web(2, sites=40, pages=400, faults=0.0)
    simulation = Steered(2, tmp_path / "crawl.sqlite", web)
    seen: list[int] = []
    simulation.at(200, simulation.pause)
    simulation.at(199, lambda: seen.append(simulation.held()))
    simulation.at(200 + VISIT + HEARD, lambda: seen.append(simulation.held()))
    simulation.at(799, lambda: seen.append(simulation.held()))
    simulation.at(800, simulation.unpause)
    simulation.run(20 * DAY)
    assert seen[0] > 0 and seen[1:] == [0, 0]
    assert kept(simulation) == dict.fromkeys(web.expected(), 1)
    assert not [at for at, _ in simulation.asked if 200 + VISIT + HEARD < at < 800]
    assert [at for at, _ in simulation.asked if 800 <= at < 803], "it goes on at once"


def test_a_crawl_delay_between_the_old_and_the_new_delay_is_kept(tmp_path: Path) -> None:
    """It was shorter than the crawl's delay when robots.txt was read: it counts all the same."""
    web = Web(5, sites=30, pages=600, faults=0.0)
    for name in web.names[::2]:
        web.sites[name] = replace(web.sites[name], robots="brisk")
    simulation = Steered(5, tmp_path / "crawl.sqlite", web)
    simulation.at(300, lambda: simulation.set_delay(5.0))
    simulation.run(20 * DAY)
    assert kept(simulation) == dict.fromkeys(web.expected(), 1)


def test_a_shorter_delay_counts_at_once_and_a_longer_one_too(tmp_path: Path) -> None:
    web = Web(6, sites=30, pages=3000, faults=0.0)
    simulation = Steered(6, tmp_path / "crawl.sqlite", web)
    simulation.at(100, lambda: simulation.set_delay(3600.0))
    simulation.at(4000, lambda: simulation.set_delay(5.0))
    simulation.run(4200)
    times = [at for at, _ in simulation.asked]
    assert len([at for at in times if 105 < at < 3600]) == 0
    assert len([at for at in times if 4006 <= at < 4060]) > 200
