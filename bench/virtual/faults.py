"""What happens to engines: they are killed, stopped, cut off from the store, or leave in order.

Each fault hits one engine that works. Supervisors act as real ones: whoever sees a process end
takes its domains back at once, with the delays that its ledger knows; the engines of a node that is
gone lose theirs when their leases end. Engines that were declared dead try to write all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lycosa.errors import Fenced
from virtual.engine import Engine

if TYPE_CHECKING:
    from virtual.crawl import Crawl

NOTICED_MS = 1000  # until a supervisor sees that a process ended
AWAY_MS = (20_000, 320_000)  # stopped, or cut off: leases last 180 s
MOST_AWAY = 5  # one engine of so many at once


class Faults:
    """Chooses whom something happens to, and what."""

    def __init__(self, crawl: Crawl, every_ms: int) -> None:
        self._crawl = crawl
        self._every_ms = every_ms
        self._away: dict[int, tuple[Engine, int]] = {}  # by id: cut off or stopped, until when
        self._lost: dict[int, Engine] = {}  # nobody saw them end
        self._kinds: list[tuple[str, Callable[[Engine], None]]] = [
            ("killed", self.kill),
            ("killed", self.kill),
            ("killed after a commit", self._kill_after_commit),
            ("killed after a lease", self._kill_after_lease),
            ("gone with their node", self._lose),
            ("stopped", self._stop),
            ("cut off", self._cut_off),
            ("left in order", self._leave),
        ]

    def begin(self) -> None:
        if self._every_ms:
            self._crawl.after(self._every_ms, self._strike)

    def _strike(self) -> None:
        crawl = self._crawl
        if crawl.nearly_done():
            return
        able = [each for each in crawl.engines if each.alive and not each.leaving]
        able = [each for each in able if each.id not in self._away]
        name, action = crawl.chance.choice(self._kinds)
        if able and not (name in ("stopped", "cut off") and self._too_many_away()):
            crawl.counts[name] += 1
            action(crawl.chance.choice(able))
        crawl.after(int(crawl.chance.expovariate(1 / self._every_ms)) + 1, self._strike)

    def _too_many_away(self) -> bool:
        return len(self._away) * MOST_AWAY >= len(self._crawl.engines)

    # -- deaths -----------------------------------------------------------------------------------

    def kill(self, engine: Engine) -> None:
        """kill -9, which its supervisor sees."""
        engine.advance(self._crawl.now_ms)
        engine.stop_wire()
        engine.close()
        self._crawl.after(NOTICED_MS, lambda: self._noticed(engine))

    def _kill_after_commit(self, engine: Engine) -> None:
        engine.advance(self._crawl.now_ms)
        engine.commit()
        self.kill(engine)

    def _kill_after_lease(self, engine: Engine) -> None:
        engine.tick()
        self.kill(engine)

    def _noticed(self, engine: Engine) -> None:
        sites = self._crawl.sites
        learnt = {sites.names[d]: delay for d, delay in engine.told.delays}
        self._crawl.rescue([engine.id], learnt)
        self._crawl.replace(engine)

    def _lose(self, engine: Engine) -> None:
        """Its machine is gone, and its supervisor with it; its connection to the store stays."""
        engine.advance(self._crawl.now_ms)
        engine.stop_wire()
        engine.alive = False
        self._lost[engine.id] = engine
        self._crawl.replace(engine)

    def fenced(self, engine: Engine) -> None:
        """It heard that it was declared dead: its supervisor replaces it."""
        self._crawl.counts["fenced"] += 1
        engine.close()
        self._crawl.replace(engine)

    def declared_dead(self, engine_id: int) -> None:
        """Who is not there any more may still have a batch on its way."""
        engine = self._lost.pop(engine_id, None)
        if engine is not None:
            self._check_fence(engine)
            engine.close()

    def at_the_end(self, living: set[int]) -> None:
        """Who is still away wakes to find the crawl finished."""
        for engine, _ in self._away.values():
            if engine.id not in living:
                self._check_fence(engine)

    def _check_fence(self, engine: Engine) -> None:
        if engine.writes_as_dead():
            self._crawl.witness.complain(f"P2: engine {engine.id} was dead, and its commit taken")
        self._crawl.counts["writes of the dead refused"] += 1

    # -- away for a while -------------------------------------------------------------------------

    def _stop(self, engine: Engine) -> None:
        """SIGSTOP: sites still answer what was asked."""
        engine.advance(self._crawl.now_ms)
        self._set_away(engine, works=False)

    def _cut_off(self, engine: Engine) -> None:
        """The store is out of its reach: it goes on as long as its lease lasts."""
        self._set_away(engine, works=True)

    def _set_away(self, engine: Engine, works: bool) -> None:
        until = self._crawl.now_ms + self._crawl.chance.randint(*AWAY_MS)
        self._away[engine.id] = engine, until if not works else -until

    def _leave(self, engine: Engine) -> None:
        engine.leaving = True

    def tick(self, engine: Engine) -> None:
        """The engine's next second, as far as it can act."""
        _, until = self._away.get(engine.id, (engine, 0))
        if abs(until) > self._crawl.now_ms:
            if until < 0:
                engine.advance(self._crawl.now_ms)
            return
        if self._away.pop(engine.id, None) and until > 0:
            engine.clock = self._crawl.now_ms  # it begins no visit in the time that it missed
        try:
            engine.tick()
        except Fenced:
            self.fenced(engine)
            return
        if not engine.alive:  # it left
            self._crawl.replace(engine)
