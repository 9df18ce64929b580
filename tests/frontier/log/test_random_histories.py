"""Random histories of a domain: the twin and the compiled class against the models, after every
step. Deliveries come in any order, some with stamps older than what the holder wrote meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from log_model import Event, History, Naive, events_of

from lycosa.frontier.log import domain_log, planning
from lycosa.frontier.log.domain_log import DomainLog, Limits, LogChanges, LogPlan, delivery
from lycosa.frontier.log.new_chunk import chunks_in_python
from lycosa.frontier.log.twin import TwinIndex
from lycosa.frontier.log.values import LogPurge, UrlWait
from lycosa.frontier.values import Link
from lycosa.records import Flag, QueuedUrl, Url
from lycosa.urls.fingerprint import fingerprint
from support.made import blocks

SEED = int(os.environ.get("LYCOSA_SEED", "1"))
EPOCH = 1_700_000_000_000
DOMAIN = -(2**62) + 5
SETTLE = 5_000  # ms
KINDS: dict[str, list[Any]] = {"twin": [TwinIndex]}
if domain_log.compiled is not None:
    KINDS["compiled"] = [domain_log.compiled]
    KINDS["mixed"] = [TwinIndex, domain_log.compiled]  # each reads what the other wrote
ORIGINS = ("https://a.test", "https://www.a.test", "http://a.test:81")
URLS = [f"{ORIGINS[n % 7 % 3]}/{'p/' * (n % 4)}{n}" for n in range(150)]
FPS = [fingerprint(url) for url in URLS]
NUMBER = {fp: n for n, fp in enumerate(FPS)}


class World:
    """A store of one domain, its holder, and others who deliver."""

    def __init__(self, seed: int, kinds: list[Any]) -> None:
        self.chance = Random(seed)
        self.kinds = kinds
        self.chunks: dict[int, bytes] = {}  # committed
        self.coming: list[tuple[int, int, bytes]] = []  # (sent, seq, blob) not yet committed
        self.seq = 0
        self.now = EPOCH + 1000
        self.counted = 0  # the store's count of queued URLs
        self.log = self.empty_log()
        self.history = History()
        self.limits = Limits(
            tier=self.chance.choice((2, 3, 8)),
            chunk_bytes=self.chance.choice((400, 1_000, 256 * 1024)),
            rewrite_bytes=self.chance.choice((1_500, 1 << 20)),
            max_urls=self.chance.choice((60, 2_000_000)),
            settle_ms=SETTLE,
        )

    def empty_log(self) -> DomainLog:
        return DomainLog(DOMAIN, EPOCH, self.chance.choice(self.kinds))

    # --- others ---

    def links(self, most: int) -> list[Link]:
        found: list[Link] = []
        for _ in range(self.chance.randrange(most)):
            n = self.chance.randrange(len(URLS))
            flags = self.chance.choice((0, 0, 0, Flag.SITEMAP, Flag.SEED, Flag.ERRAND))
            flags += Flag.KILL * self.chance.choice((0, 0, 0, 0, 0, 0, 1))
            found.append((DOMAIN, FPS[n], Url(URLS[n]), self.chance.randrange(4), "", flags))
        return found

    def waits(self, fps: list[int], share: float) -> list[UrlWait]:
        later = self.now + self.chance.randrange(-500, 3_000)
        return [
            (fp, later + n % 3, self.chance.randrange(5))
            for n, fp in enumerate(fps)
            if self.chance.random() < share
        ]

    def send(self) -> None:
        """A delivery leaves; it is committed later, and its clock may be behind."""
        now = self.now - self.chance.choice((0, 0, 400, 2_000))
        links = self.links(12)
        kills: list[tuple[int, int]] = []
        if self.chance.random() < 0.2:
            kills = [(fp, 1) for fp in self.chance.sample(FPS, 3)]
        first = self.waits([link[1] for link in links], 0.1)
        self._send(delivery(DOMAIN, EPOCH, now, links, first, kills, limits=self.limits))

    def reopen(self) -> None:
        """Somebody reads the log, and has done pages fetched again."""
        log = self.empty_log()
        for seq, blob in self.chunks.items():
            assert log.add(seq, blob)
        done = [fp for fp in FPS if log.state(fp) == "done"]
        chosen = self.chance.sample(done, min(len(done), 3))
        again = [
            (DOMAIN, fp, Url(URLS[NUMBER[fp]]), self.chance.randrange(3), "", 0) for fp in chosen
        ]
        if again:
            now = self.now
            made = delivery(DOMAIN, EPOCH, now, reopened=again, newest_stamp=log.newest_stamp)
            self._send(made)

    def _send(self, blobs: list[bytes]) -> None:
        for blob in blobs:
            self.seq += 1
            self.coming.append((self.now, self.seq, blob))

    def arrive(self, everything: bool = False) -> None:
        """Some of what was sent is committed, in any order; nothing is late by SETTLE."""
        self.chance.shuffle(self.coming)
        still = []
        for sent, seq, blob in self.coming:
            if everything or self.now - sent > SETTLE // 2 or self.chance.random() < 0.5:
                self.chunks[seq] = blob
                self.counted += len([e for e in events_of(blob, seq, DOMAIN) if e.url])
            else:
                still.append((sent, seq, blob))
        self.coming = still

    # --- the holder ---

    def read(self) -> None:
        known = set(self.log.seqs())
        for seq in self.chance.sample(sorted(self.chunks), len(self.chunks)):
            if seq not in known:
                assert self.log.add(seq, self.chunks[seq])
                self.history.add(events_of(self.chunks[seq], seq, DOMAIN))
        assert not self.log.damaged

    def lease(self) -> None:
        """The domain was given back and leased again: its log is read anew."""
        self.log = self.empty_log()
        for seq in self.chance.sample(sorted(self.chunks), len(self.chunks)):
            assert self.log.add(seq, self.chunks[seq])

    def changes(self) -> LogChanges:
        chance = self.chance
        taken = [url.fp for url in self.log.next(self.now, chance.randrange(6), 10_000)]
        done = [(fp, chance.random() < 0.7) for fp in taken if chance.random() < 0.8]
        if chance.random() < 0.2:  # targets of redirects, or what was done before
            done += [(fp, True) for fp in chance.sample(FPS, 2)]
        purges: list[LogPurge] = []
        if chance.random() < 0.06:
            origin = chance.choice(("", *ORIGINS))
            purges.append((origin, "gone", chance.random() < 0.5, chance.random() < 0.3))
        dropped = chance.sample(FPS, 4) if chance.random() < 0.15 else []
        packed, links = blocks(self.links(chance.choice((2, 15, 60))), chance)
        if chance.random() < 0.5:  # as most are
            return LogChanges(done, links=links, blocks=packed)
        return LogChanges(
            done=done,
            deferred=self.waits([*taken, *chance.sample(FPS, 2)], 0.3),
            links=links,
            first_waits=self.waits([link[1] for link in links], 0.05),
            purges=purges,
            dropped=dropped,
            blocks=packed,
        )

    def commit(self, changes: LogChanges) -> LogPlan:
        before = self.snapshot()
        plan = self.log.plan(changes, self.now, self.limits)
        assert self.snapshot() == before, "a plan changes nothing"
        self.check_ways(changes, plan)
        if self.chance.random() < 0.1:  # the outcome was lost, and nothing had happened
            plan = self.log.plan(changes, self.now, self.limits)
        naive = self.naive()
        expected = Expected(self, naive, changes, plan)
        expected.check(plan)
        seqs = []
        for blob in plan.puts:
            self.seq += 1
            seqs.append(self.seq)
            self.chunks[self.seq] = blob
            assert len(blob) <= max(self.limits.chunk_bytes, 2_500)  # a block is never cut
        for seq in plan.deletes:
            del self.chunks[seq]
        self.counted += plan.change
        self.log.apply(plan, seqs)
        self.history.add(expected.events)
        self.history.forget_drops(self.naive())
        self.check_order(naive, plan)
        counts = self.log.counts()
        assert (counts.queued, counts.responses) == (plan.queued, plan.responses)
        assert self.log.ready() == (plan.runnable, plan.first_wait_ms)
        if plan.puts and not self.coming:
            unread = set(self.chunks) - set(self.log.seqs())
            if not unread:
                assert self.counted == counts.queued == counts.copies
        return plan

    def check_ways(self, changes: LogChanges, plan: LogPlan) -> None:
        """A visit that the compiled index plans in one go is planned as any other commit is."""
        at = self.log._time(self.now)
        index: Any = self.log._index
        assert planning.plan_any(index, changes, at, self.limits)[2:] == plan[2:]
        if self.kinds == KINDS.get("compiled"):
            assert planning.plan_any(index, changes, at, self.limits) == plan

    def check_order(self, before: Naive, plan: LogPlan) -> None:
        """Of URLs that were folded together the first found stays first; of those with copies in
        other chunks too, another copy may count from then on."""
        folded = set(plan.deletes)
        copies = {fp: sum(bool(each.url) for each in found) for fp, found in before.events.items()}
        places = {
            fp: (v.copy.depth, v.copy.flags)
            for fp, v in before.verdicts.items()
            if v.copy is not None and v.copy.kind == "copy" and v.copy.place[0] in folded
            if copies[fp] == 1
        }
        kept = {url.fp for url in self.naive().lanes()[0]}
        for kind in set(places.values()):
            first = [u.fp for u in before.lanes()[0] if places.get(u.fp) == kind and u.fp in kept]
            then = [u.fp for u in self.naive().lanes()[0] if u.fp in set(first)]
            assert first == then

    def snapshot(self) -> object:
        return self.log.counts(), self.log.ready(), self.log.seqs(), list(self.log.queued())

    def naive(self) -> Naive:
        return Naive({seq: self.chunks[seq] for seq in self.log.seqs()}, DOMAIN, EPOCH)

    def check(self) -> None:
        log, naive = self.log, self.naive()
        assert log.states(FPS) == [naive.state(fp) for fp in FPS]
        plain, waiting = naive.lanes()
        queue = plain + waiting
        assert list(log.queued()) == queue
        assert log.ready() == naive.ready()
        counts = log.counts()
        assert counts.queued == len(queue)
        assert counts.done == [naive.state(fp) for fp in FPS].count("done")
        limit, budget = self.chance.randrange(12), self.chance.choice((10, 90, 4096))
        assert log.next(self.now, limit, budget) == naive.next(self.now, limit, budget)
        some = self.chance.choices(FPS, k=20)
        fresh = [fp for fp in dict.fromkeys(some) if naive.state(fp) == ""]
        asked: list[Link] = [(DOMAIN, fp, Url(""), n, "", 0) for n, fp in enumerate(some)]
        assert log.unseen(asked) == [asked[some.index(fp)] for fp in fresh]
        for fp in self.chance.sample(FPS, 5):
            found = log.find(fp)
            places = [n for n, url in enumerate(queue) if url.fp == fp]
            assert found == ((queue[places[0]], places[0]) if places else None)
        self.check_history(queue)

    def check_history(self, queue: list[QueuedUrl]) -> None:
        """What no fold may change."""
        rows = {url.fp: url for url in queue}
        for fp in FPS:
            verdict = self.history.verdict(fp)
            assert self.log.state(fp) == verdict.state, f"{URLS[NUMBER[fp]]}: {verdict}"
            if verdict.copy is not None:
                row = rows[fp]
                assert row.depth == verdict.copy.depth
                assert row.attempts == (verdict.wait.attempts if verdict.wait else 0)
                assert row.flags // 16 == verdict.kills
                if verdict.copy.kind == "reopened":
                    assert row.url == verdict.copy.url


class Expected:
    """What a commit has to do, one change after the other."""

    def __init__(self, world: World, naive: Naive, changes: LogChanges, plan: LogPlan) -> None:
        self.world = world
        self.stamp = max(world.now - EPOCH, world.log.newest_stamp + 1)
        self.state = {fp: naive.state(fp) for fp in FPS}
        self.queue = {url.fp: url for lane in naive.lanes() for url in lane}
        known = sum(bool(state) for state in self.state.values())
        self.room = world.limits.max_urls - known
        self.events: list[Event] = []
        self.waits: dict[int, tuple[int, int]] = {}
        self.new: dict[int, Link] = {}
        self.refused: set[int] = set()
        self.recorded = self._done(changes)
        self.left = sum(fp in self.queue for fp in self.recorded)
        for fp, until, attempts in changes.deferred:
            if self.state[fp] == "queued":
                self.waits[fp] = until, attempts
        self._links(changes)
        self.added = len(self.new)
        self.purged = [self._purge(purge) for purge in changes.purges]
        self.dropped = [fp for fp in dict.fromkeys(changes.dropped) if self._drop(fp)]
        for fp, (until, attempts) in self.waits.items():
            if self.state[fp] == "queued":
                end = max(until - EPOCH, 1)
                self.events.append(Event("wait", fp, self.stamp, until=end, attempts=attempts))

    def _done(self, changes: LogChanges) -> list[int]:
        recorded = []
        for fp, _ in changes.done:
            if self.state[fp] != "done":
                recorded.append(fp)
                self._mark(fp)
        return recorded

    def _mark(self, fp: int) -> None:
        self.state[fp] = "done"
        self.events.append(Event("done", fp, self.stamp))

    def _links(self, changes: LogChanges) -> None:
        packed = [link for block in changes.blocks for link in block.links()]
        for link in [*packed, *changes.links]:
            _, fp, url, depth, _, flags = link
            if self.state[fp]:
                continue
            if len(self.new) >= self.room:
                self.refused.add(fp)
                continue
            self.state[fp] = "queued"
            self.new[fp] = link
            self.events.append(Event("copy", fp, self.stamp, url, depth, flags & 15))
            if flags // 16:
                self.events.append(Event("kill", fp, self.stamp, kills=flags // 16))
        for fp, until, attempts in changes.first_waits:
            if fp in self.new:
                self.waits[fp] = until, attempts

    def _purge(self, purge: LogPurge) -> set[int]:
        origin, _, forget, errands = purge
        taken = set()
        for fp, state in self.state.items():
            flags = self.new[fp][5] if fp in self.new else 0
            flags = self.queue[fp].flags if fp in self.queue else flags
            if state != "queued" or not URLS[NUMBER[fp]].startswith(origin + "/" * bool(origin)):
                continue
            if flags & Flag.ERRAND and not errands:
                continue
            taken.add(fp)
        for fp in taken:
            if forget:
                self._drop(fp)
            else:
                self._mark(fp)
        return taken

    def _drop(self, fp: int) -> bool:
        if self.state[fp] != "queued":
            return False
        self.state[fp] = ""
        if fp in self.new:  # as if it had not been found: nothing is written of it
            self.events = [each for each in self.events if each.fp != fp]
        else:
            self.events.append(Event("drop", fp, self.stamp))
        return True

    def check(self, plan: LogPlan) -> None:
        assert plan.recorded == self.recorded
        assert (plan.left, plan.added, plan.refused) == (
            *(self.left, self.added),
            len(self.refused),
        )
        assert [{url.fp for url in purge} for purge in plan.purged] == self.purged
        assert plan.dropped == self.dropped and plan.lost == []
        assert plan.queued == sum(state == "queued" for state in self.state.values())
        taken = sum(map(len, plan.purged)) + len(plan.dropped)
        if plan.puts:
            assert plan.change == plan.added - plan.left - taken - plan.gone


def histories(count: int) -> Iterator[int]:
    print("LYCOSA_SEED", SEED)
    yield from range(SEED * 1_000_000, SEED * 1_000_000 + count)


def live(seed: int, kinds: list[Any], steps: int) -> World:
    world = World(seed, kinds)
    for _ in range(steps):
        world.now += world.chance.choice((0, 1, 50, 700, 3_000))
        for what, share in ((world.send, 0.5), (world.reopen, 0.1)):
            if world.chance.random() < share:
                what()
        world.arrive()
        world.read() if world.chance.random() < 0.9 else None
        if world.chance.random() < 0.2:
            world.read()
            world.lease()
        world.commit(world.changes() if world.chance.random() < 0.95 else LogChanges())
        world.check()
    return world


@pytest.fixture
def kinds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The classes of a kind; with the twin alone new chunks are made in Python too."""
    if request.param == "twin":
        for module in (planning, domain_log):
            monkeypatch.setattr(module, "new_chunks", chunks_in_python)
    return KINDS[request.param]


def run(kinds: list[Any], count: int) -> None:
    for seed in histories(count):
        try:
            live(seed, kinds, 25)
        except BaseException:
            print("history", seed)
            raise


@pytest.mark.parametrize("kinds", KINDS, indirect=True)
def test_the_state_of_every_url_is_that_of_the_rule(kinds: list[Any]) -> None:
    run(kinds, 15)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", KINDS, indirect=True)
def test_it_is_so_in_thousands_of_histories(kinds: list[Any]) -> None:
    run(kinds, 700)


@pytest.mark.parametrize("kinds", KINDS, indirect=True)
def test_a_domain_that_is_done_becomes_one_chunk(kinds: list[Any]) -> None:
    for seed in histories(6):
        world = live(seed, kinds, 10)
        world.limits = Limits(settle_ms=SETTLE)
        world.arrive(everything=True)
        world.read()
        while world.log.counts().queued:
            world.now += 4_000
            rows = world.log.next(world.now, 50, 100_000)
            world.commit(LogChanges(done=[(url.fp, True) for url in rows]))
            world.check()
        assert len(world.chunks) == 1
        assert world.counted == 0
