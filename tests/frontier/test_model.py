"""Random histories of four engines on one store, compared with a model: no URL is lost, none is
done twice, and what is queued is what should be. On every store.

Engines are killed, outcomes of commits are lost, pages are queued again, and others get in between
the plan of a commit and its transaction, which is where one engine's knowledge grows old. Links to
domains that an engine does not hold go to their logs at once, or by buckets: then a URL is queued
as soon as it is on its way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from conftest import Bench, Store
from helpers import batch, part_of, release

from lycosa.errors import Fenced
from lycosa.frontier.inbox import unpacked
from lycosa.frontier.protocol import Batch, Deferral, Purge
from lycosa.records import Lease, PageRow, QueuedUrl
from support.logs import logs_of, queued_in
from support.made import blocks, link, made_page, page_of

ENGINES = 4
BUCKETS = (1, 4, 16)
Key = tuple[int, int]  # domain_id, fp


@dataclass
class Model:
    """What should be queued and done, and how often each URL was recorded."""

    queued: set[Key] = field(default_factory=set)
    done: set[Key] = field(default_factory=set)
    forgotten: int = 0  # URLs that a cap or a rule took out, each time
    urls: set[Key] = field(default_factory=set)  # that ever were queued


@dataclass
class Effect:
    """What a batch must do, judged by what was known when it was planned."""

    done: set[Key]
    dropped: set[Key]
    new: set[Key]

    def apply(self, model: Model, on_their_way: set[Key]) -> None:
        """What was dropped is queued again by a link to it that is still on its way."""
        model.queued -= self.done | (self.dropped - on_their_way)
        model.done |= self.done
        model.queued |= self.new - model.done
        model.urls |= self.new | self.done
        model.forgotten += len(self.dropped)


class Engine:
    """An engine: its connection, its number, and what it holds."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.begin()

    def begin(self) -> None:
        self.id = self.store.register("host", 1)
        self.batch = 0
        self.held: dict[int, tuple[Lease, list[QueuedUrl]]] = {}


class History:
    """Steps of engines, by chance."""

    def __init__(self, bench: Bench, seed: int, domains: int, new: int, buckets: int = 1) -> None:
        self.bench = bench
        self.chance = Random(seed)
        self.domains = domains
        self.new = new  # URLs of a commit
        self.model = Model()
        many = 1_000_000_000  # of a cap the model knows nothing
        rules = {"buckets": buckets, "max_queued_per_domain": many}
        stores = [bench.another(**rules) for _ in range(ENGINES)]
        self.engines = [Engine(store) for store in stores]
        self._between: Callable[[], None] | None = None
        for store in stores:
            self._open_the_gap(store)

    def _open_the_gap(self, store: Store) -> None:
        """Between the plan of a commit and its transaction something else may happen."""
        planner = part_of(store.commit)._planner
        plan = planner.plan

        def planned(*args: Any) -> Any:
            made = plan(*args)
            between, self._between = self._between, None
            if between:
                between()
            return made

        planner.plan = planned

    def url(self) -> str:
        """Long-tailed: some domains are named often, half of them hardly ever."""
        site = f"https://d{int(self.domains * self.chance.random() ** 3)}.test"
        return f"{site}/{self.chance.choice('pq')}/{self.chance.randrange(4 * self.new)}"

    # -- what engines do --------------------------------------------------------------------------

    def step(self) -> None:
        engine = self.chance.choice(self.engines)
        what = self.chance.random()
        if what < 0.35:
            self.lease(engine)
        elif what < 0.85:
            self.commit(engine)
        elif what < 0.89:
            self.requeue()
        elif what < 0.92:
            self.kill(engine)
        else:
            self.bench.clock.pass_seconds(self.chance.choice([1, 30, 80]))

    def lease(self, engine: Engine) -> None:
        for lease in engine.store.lease(engine.id, self.chance.randint(1, 6)):
            assert all(lease.domain_id not in each.held for each in self.engines)
            self.check_handed(lease.domain_id, lease.urls)
            engine.held[lease.domain_id] = lease, list(lease.urls)

    def check_handed(self, ident: int, urls: list[QueuedUrl]) -> None:
        keys = [(ident, url.fp) for url in urls]
        assert len(set(keys)) == len(keys)
        assert self.model.queued.issuperset(keys), "handed out, but not queued"

    def commit(self, engine: Engine) -> None:
        engine.batch += 1
        made, effect = self.make(engine)
        if self.chance.random() < 0.3 and not made.purges:
            other = self.chance.choice([each for each in self.engines if each is not engine])
            self._between = self.chance.choice([self.requeue, lambda: self.found(other)])
        engine.store.commit(engine.id, made)
        effect.apply(self.model, self.on_their_way())
        if self.chance.random() < 0.2:  # its outcome was not heard of
            engine.store.commit(engine.id, made)
        for each in made.released:
            del engine.held[each.domain_id]
        for ident, urls in engine.store.refill(list(engine.held)).items():
            self.check_handed(ident, urls)
            engine.held[ident] = engine.held[ident][0], urls

    def make(self, engine: Engine) -> tuple[Batch, Effect]:
        """A batch, and what it must do."""
        some = [ident for ident in engine.held if self.chance.random() < 0.7]
        made, effect = batch(engine.batch), Effect(set(), set(), set())
        for ident in some:
            lease, urls = engine.held[ident]
            self.visit(made, effect, ident, urls)
            if self.chance.random() < 0.6:
                made.released.append(release(lease, self.bench.clock.ms + 70_000))
        purged = {each.domain_id for each in made.purges}
        made.links = [link(self.url(), 1) for _ in range(self.chance.randrange(self.new))]
        made.links = [each for each in made.links if each[0] not in purged]
        known = self.model.queued | self.model.done | effect.done | effect.dropped
        dropped = {fp for _, fp in effect.dropped}
        made.links = [each for each in made.links if each[1] not in dropped]
        effect.new = {(each[0], each[1]) for each in made.links} - known
        made.blocks, made.links = blocks(made.links, self.chance)
        return made, effect

    def visit(self, made: Batch, effect: Effect, ident: int, urls: list[QueuedUrl]) -> None:
        what = self.chance.random()
        if what < 0.05:
            forget = self.chance.random() < 0.5
            made.purges.append(Purge(ident, "", "unreachable", forget))
            all_ = self.in_log(ident)
            (effect.dropped if forget else effect.done).update(all_)
            return
        for url in urls[: self.chance.randint(1, 5)]:
            fate, key = self.chance.random(), (ident, url.fp)
            if fate < 0.1:
                until = self.bench.clock.ms + self.chance.choice([1_000, 100_000])
                made.deferred.append(Deferral(ident, url, until, url.attempts + 1))
            elif fate < 0.15:
                made.dropped.append((ident, url, "excluded"))
                effect.dropped.add(key)
            else:
                self.fetch(made, effect, ident, url)

    def fetch(self, made: Batch, effect: Effect, ident: int, url: QueuedUrl) -> None:
        """A page, a failure, or a redirect within the domain."""
        self.record(made, effect, self.chance.choice([page_of(url), failed(url)]))
        if self.chance.random() < 0.2:
            site = url.url.split("/")[2]
            target = made_page(f"https://{site}/p/{self.chance.randrange(4 * self.new)}")
            leaves = {(each[0], each[1].fp) for each in made.dropped}
            if (ident, target.fp) not in leaves and (ident, target.fp) not in self.model.done:
                self.record(made, effect, target)
                waits = made.deferred
                made.deferred = [each for each in waits if each.url.fp != target.fp]

    def record(self, made: Batch, effect: Effect, page: PageRow) -> None:
        key = page.domain_id, page.fp
        if key not in effect.done and key not in effect.dropped:
            made.pages.append(page)
            effect.done.add(key)

    def found(self, engine: Engine) -> None:
        """Links alone, to domains that anybody may hold."""
        engine.batch += 1
        links = [link(self.url(), 1) for _ in range(self.new)]
        keys = {(each[0], each[1]) for each in links}
        effect = Effect(set(), set(), keys - self.model.queued - self.model.done)
        engine.store.commit(engine.id, batch(engine.batch, links=links))
        effect.apply(self.model, set())

    # -- what happens to them ---------------------------------------------------------------------

    def requeue(self) -> None:
        """Pages are queued again, whoever holds their domains."""
        keys = self.chance.sample(sorted(self.model.done), min(8, len(self.model.done)))
        before = self.pages()
        self.bench.frontier.requeue(keys)
        again = before - self.pages()
        assert again <= set(keys)
        self.model.done -= again
        self.model.queued |= again

    def kill(self, engine: Engine) -> None:
        late, number = engine.id, engine.batch + 1
        self.bench.frontier.rescue([late])
        for ident in engine.held:
            with pytest.raises(Fenced):
                pages = [made_page("https://late.test/")]
                engine.store.commit(late, batch(number, pages=pages, released=[]))
            assert ident
            break
        engine.begin()

    # -- what the store has -----------------------------------------------------------------------

    def in_log(self, ident: int) -> set[Key]:
        """The URLs of a domain that are queued, those on their way aside."""
        log = logs_of(self.bench.frontier, ident)[ident]
        return {(ident, url.fp) for url in log.queued()}

    def on_their_way(self) -> set[Key]:
        rows = self.bench.frontier.db.execute("SELECT data FROM inbox").fetchall()
        return {link[:2] for (data,) in rows for link in unpacked(data)[0]}

    # -- judgement --------------------------------------------------------------------------------

    def pages(self) -> set[Key]:
        rows = self.bench.frontier.db.execute("SELECT domain_id, fp FROM pages").fetchall()
        keys = {(ident, fp) for ident, fp in rows}
        assert len(keys) == len(rows), "a page is there twice"
        return keys

    def judge(self) -> None:
        logs = logs_of(self.bench.frontier)
        queued = {(ident, url.fp) for ident, log in logs.items() for url in log.queued()}
        queued |= self.on_their_way() - self.model.done
        assert queued == self.model.queued
        assert self.pages() == self.model.done
        assert not any(log.damaged for log in logs.values())
        db = self.bench.frontier.db
        asleep = {row[0] for row in db.execute("SELECT id FROM domains WHERE idle").fetchall()}
        assert asleep.isdisjoint(queued_in(self.bench.frontier)), "asleep with a URL inside"

    def finish(self) -> None:
        """All that is left is fetched."""
        for engine in self.engines[1:]:
            self.bench.frontier.rescue([engine.id])
        last = self.engines[0]
        for _ in range(100_000):
            self.bench.clock.pass_seconds(200)
            for lease in last.store.lease(last.id, 100):
                last.held[lease.domain_id] = lease, list(lease.urls)
            if not last.held:
                break
            last.batch += 1
            pages = [page_of(url) for _, urls in last.held.values() for url in urls]
            back = [release(lease, self.bench.clock.ms) for lease, _ in last.held.values()]
            last.store.commit(last.id, batch(last.batch, pages=pages, released=back))
            for page in pages:
                self.model.queued.discard((page.domain_id, page.fp))
                self.model.done.add((page.domain_id, page.fp))
            last.held = {}
        self.judge()
        assert not self.model.queued
        assert self.bench.frontier.finished()
        assert self.bench.frontier.backlog()[0] == 0


def failed(url: QueuedUrl) -> PageRow:
    return page_of(url, "connect", status=0)


@pytest.mark.parametrize("seed", range(12))
def test_a_history_of_four_engines_is_that_of_the_model(bench: Bench, seed: int) -> None:
    print(f"seed {seed}")
    history = History(bench, seed, domains=30, new=12, buckets=BUCKETS[seed % len(BUCKETS)])
    for number in range(160):
        history.step()
        if number % 20 == 19:
            history.judge()
    history.finish()


@pytest.mark.slow
@pytest.mark.parametrize("buckets", BUCKETS)
def test_a_million_urls_of_four_engines(bench: Bench, buckets: int) -> None:
    seed = Random().randrange(1 << 30)
    print(f"seed {seed}")
    history = History(bench, seed, domains=4_000, new=3_000, buckets=buckets)
    while len(history.model.urls) < 1_000_000:
        history.step()
    history.judge()
    history.finish()
    assert len(history.model.done) + history.model.forgotten >= 1_000_000
