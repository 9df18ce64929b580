"""An engine without its edges: visits, what came of them, and what the store must hear.

Owns when a visit may start (slots, lease, page limit, busy addresses) and when the store is
asked. It touches no socket, file or clock: the engine and the simulation drive it with `now`,
send the requests it returns, and feed it the responses and replies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from lycosa.engine.backlog import Backlog
from lycosa.engine.errands import (
    OUTCOME,
    WAITS,
    RecentAnswers,
    Slots,
    first_url,
    is_errand,
    link,
)
from lycosa.engine.exchange import Exchange, Reply
from lycosa.engine.harvest import Harvest
from lycosa.engine.scheduler import Held, Scheduler
from lycosa.engine.visit import Result, Visit, VisitRules
from lycosa.frontier.protocol import EXCLUDED, Batch, Deferral, Purge
from lycosa.metrics import Stats
from lycosa.outcomes import Outcome
from lycosa.politeness.address_turns import NOWHERE, AddressTable, AddressTurns, OwnTable
from lycosa.records import Failure, Kind, Request, Response
from lycosa.urls.canonical import host_of
from lycosa.urls.scope import Scope

BATCH_PAGES = 500
BATCH_LINKS = 20_000
BATCH_BYTES = 64 << 20  # of text and WARC that may wait for the store: then no visit is started
WAITING_LINKS = 500_000  # the same for links, about 150 MB: a store may be away for minutes
STARTS = 8  # at once: the loop looks at its clock in between
SHARE_WAIT = 0.25  # seconds until an engine asks for a new share of the page limit
LEASE_MARGIN = 5.0  # seconds before a lease's end at which everything must be over
NO_FAILURE = frozenset({"fetched", "nothing", "stopped", WAITS, OUTCOME})  # outcomes of visits
BUG = Outcome.BUG  # outcome of a URL whose handling raised

AddressFound = Callable[[str, float], list[Request]]  # address and now in, requests out


@dataclass(frozen=True, slots=True)
class CoreRules:
    """What the core must know of the settings."""

    visit: VisitRules
    lease_time: float = 180.0
    ip_delay: float = 1.0
    max_pages: int = 0
    engines: int = 1  # of this node; those of all nodes share the page limit
    margin: float = LEASE_MARGIN


class Core:
    """One engine's state."""

    def __init__(
        self,
        rules: CoreRules,
        scheduler: Scheduler,
        harvest: Harvest,
        scope: Scope,
        to_ms: float,
        *,
        address_of: Callable[[str], str | None] = lambda url: "",
        exempt: Callable[[str], bool] = lambda address: False,
        addresses: AddressTable | None = None,
        parsing: Callable[[int, int, int], None] = lambda domain, order, fp: None,
        bug: Callable[[str], None] = lambda url: None,
    ) -> None:
        self.rules = rules
        self.scheduler = scheduler
        self.harvest = harvest
        self.scope = scope
        self.to_ms = to_ms
        self.batch = Batch()
        self.stats = Stats()
        self.started: list[tuple[str, int]] = []  # for the ledger, before any request is sent
        self.learnt: list[Held] = []  # for the ledger, before the next request of their visits
        self.ended: list[Result] = []  # for the ledger
        self.lookups: list[Held] = []  # domains that wait for the address of their next URL
        self.backlog = Backlog()
        self.detours: list[tuple[Request, str]] = []  # to another host than the one at an address
        self.deadline = 0.0  # engine clock: past it nothing of ours may be on the wire
        self.stopping = False
        self.total_pages = 0
        self._engines = rules.engines
        self._allowance = float("inf")
        self._bytes = 0  # in the batch
        self._answers = RecentAnswers()
        self._slots = Slots(rules.visit.timeout, rules.ip_delay)
        self._table = addresses or OwnTable()
        self._turns = AddressTurns(rules.ip_delay, rules.visit.timeout, self._table)
        self._left: list[tuple[str, float]] = []  # addresses whose visits ended, to be told
        self._address_of = address_of
        self._exempt = exempt
        self._parsing = parsing
        self._bug = bug
        self._asked_at = float("-inf")

    # -- visits -------------------------------------------------------------------------------

    def start(self, now: float) -> list[Request]:
        """Begin visits: the requests to send once `started` is in the ledger."""
        requests: list[Request] = []
        if self._left:
            self._leave_addresses()
        for _ in range(STARTS):
            if not self._may_start(now):
                break
            held = self.scheduler.next(now)
            if held is None:
                break
            if not self._errand_waits(held, now) and not self._put_off(held, now):
                requests += self._begin(held, now)
        return requests

    def _may_start(self, now: float) -> bool:
        scheduler = self.scheduler
        return (
            scheduler.visiting < scheduler.workers
            and self._bytes < BATCH_BYTES
            and not self._behind()
            and self._in_time(now)
        )

    def _behind(self) -> bool:
        """Whether the store has more to do than is good: it must not fall behind."""
        pages, links = len(self.batch.pages), len(self.batch.links)
        return links >= WAITING_LINKS or self.backlog.full(pages, links)

    def waits_for_store(self, now: float) -> bool:
        """Whether free slots have nothing to do because of the store: it has too much to write, or
        was asked for domains that it has."""
        scheduler = self.scheduler
        if self.stopping or scheduler.visiting >= scheduler.workers:
            return False
        scheduler.ripen(now)
        return self._behind() if scheduler.ready_count else scheduler.pressing

    def can_start(self, now: float) -> bool:
        """Whether `start` would find something to do."""
        return self.scheduler.ready_count > 0 and self._may_start(now)

    def _in_time(self, now: float) -> bool:
        """P4: nothing is started that could outlive the lease."""
        return (
            not self.stopping
            and self._allowance > 0
            and now + self.rules.visit.timeout <= self.deadline
        )

    def _put_off(self, held: Held, now: float) -> bool:
        """Put a domain back whose address was visited a moment ago (shared hosting)."""
        if not self.rules.ip_delay or not held.run:
            return False
        held.heads_for = first_url(held, self.ms(now))
        address = self._address_of(held.heads_for)
        if address is None:
            self.lookups.append(held)
            return True
        return self._address_busy(held, address, now)

    def resolved(self, held: Held, address: str, now: float) -> list[Request]:
        """The address of a domain in `lookups` is known ('' if there is none)."""
        if not self._in_time(now):
            self.scheduler.put_back(held, now)
            return []
        if self._address_busy(held, address, now):
            return []
        return self._begin(held, now)

    def _errand_waits(self, held: Held, now: float) -> bool:
        """Whether an errand has to wait: one at a time at an address, whoever sends us there. Where
        there are turns, it waits for its turn first: slots are not held for long."""
        if self.rules.ip_delay or not held.run or not is_errand(held.run[0]):
            return False
        held.heads_for = held.run[0].url
        address = self._address_of(held.heads_for)
        if address is None:
            self.lookups.append(held)
            return True
        if not self._lacks_slot(held, address, now):
            return False
        self._wait_for_slot(held, address, now)
        return True

    def _lacks_slot(self, held: Held, address: str, now: float) -> bool:
        if not is_errand(held.run[0]) or not address or self._exempt(address):
            return False
        return not self._slots.has(held.id, address, now)

    def _wait_for_slot(self, held: Held, address: str, now: float) -> None:
        at = self._slots.turn(address, now, max(self.rules.ip_delay, self._haste()))
        if at > now + self.rules.visit.delay:
            self._leave_line(held)
            self.scheduler.send_away(held, at)
        else:
            self.scheduler.put_back(held, at)

    def questions(self) -> list[tuple[str, AddressFound]]:
        """The hosts whose addresses `lookups` and `detours` wait for, and whom to tell."""
        asked: list[tuple[str, AddressFound]] = [
            (host_of(held.heads_for), partial(self.resolved, held)) for held in self.lookups
        ]
        asked += [(each.host, partial(self.go_on, each, here)) for each, here in self.detours]
        self.lookups, self.detours = [], []
        return asked

    def _address_busy(self, held: Held, address: str, now: float) -> bool:
        if address != held.waits_at:  # its name has moved, or its next URL is elsewhere
            self._leave_line(held)
        if not address or self._exempt(address):
            return False
        again, held.place = self._turns.ask(address, held.place, now)
        held.waits_at = address if again else ""
        if again:
            self.scheduler.put_back(held, again)
            return True
        if self._lacks_slot(held, address, now):
            self._left.append((address, now - self.rules.ip_delay))  # nobody was there
            self._leave_addresses()
            held.place, held.waits_at = self._turns.late(address), address
            self._wait_for_slot(held, address, now)
            return True
        held.address = address
        return False

    def _leave_line(self, held: Held) -> None:
        """A domain no longer waits for the address that it waited for."""
        if held.place:
            self._turns.leave(held.waits_at, held.place)
        held.place, held.waits_at = NOWHERE, ""

    def _leave_addresses(self) -> None:
        """Tell the table which visits are over; what another engine keeps from it is told later."""
        self._left = [each for each in self._left if not self._turns.over(*each)]

    def crowded(self) -> dict[str, int]:
        """The addresses that most held domains wait for, and how many."""
        return self._turns.crowded()

    def _begin(self, held: Held, now: float) -> list[Request]:
        visit = Visit(held, self.rules.visit, self.scope, now, self.to_ms, self._answers.get)
        request = visit.begin()
        self._learn(visit)  # from the robots.txt of another domain
        if request is None:
            self._finish(visit, now)
            return []
        if visit.first is not None and is_errand(visit.first):
            request.only = self._slots.address(held.id)
        self._allowance -= 1
        self.started.append((held.name, visit.now_ms))
        return [request]

    def answer(self, response: Response, now: float) -> list[Request]:
        """A response arrived: the requests to send next."""
        if response.request.kind == Kind.ROBOTS:
            self._archive(response)
        visit = response.request.token
        assert isinstance(visit, Visit)
        response.request.token = None  # or the visit holds itself through its page, until the GC
        request = self._continue(visit, response)
        if request is None:
            self._finish(visit, now)
            return []
        if self.rules.ip_delay and request.host != response.request.host:
            return self._detour(request, response.address, now)
        return [request]

    def _detour(self, request: Request, here: str, now: float) -> list[Request]:
        """A visit goes on at another host of its domain."""
        address = self._address_of(request.url)
        if address is None:
            self.detours.append((request, here))
            return []
        return self.go_on(request, here, address, now)

    def go_on(self, request: Request, here: str, address: str, now: float) -> list[Request]:
        """The address of a request in `detours` is known ('' if there is none). It needs a turn
        there like the first request of a visit; without one the URL is left for a visit of its own.
        Or many domains could lead us to one address at the same moment, by hosts of theirs."""
        if address and address != here and not self._exempt(address):
            visit = request.token
            assert isinstance(visit, Visit)
            if not self._turns.begin(address, now):
                visit.result.requests -= 1  # it was not sent
                return self.answer(Response(request, failure=Failure.STOPPED, ended=now), now)
            if visit.held.address:
                self._left.append((visit.held.address, now))
            visit.held.address = address
        return [request]

    def _archive(self, response: Response) -> None:
        """A robots.txt has no row in `pages`, but belongs to what was asked and answered."""
        records = self.harvest.records(response, self.ms(response.ended))
        if records:
            self.batch.records.append(records)
            self._bytes += sum(map(len, records))

    def _continue(self, visit: Visit, response: Response) -> Request | None:
        """What a visit does next. A fault of ours costs one URL, not the engine (S3)."""
        self._mark(visit)
        try:
            request = visit.resume(response)
        except Exception:
            request = None
            self._give_up(visit)
        self._parsing(0, 0, 0)
        self._learn(visit)
        return request

    def _mark(self, visit: Visit) -> None:
        """If this kills the process, the next one knows which URL it was."""
        if visit.first is not None:
            self._parsing(visit.held.id, visit.first.order, visit.first.fp)

    def _give_up(self, visit: Visit) -> None:
        url = visit.current
        self._bug(url.url if url is not None else visit.held.name)
        visit.give_up(BUG)

    def _finish(self, visit: Visit, now: float) -> None:
        result, held = visit.result, visit.held
        if held.address:
            # Without a request there is nothing to pause after.
            pause = 0.0 if result.requests else self.rules.ip_delay
            self._left.append((held.address, result.ended - pause))
            held.address = ""
            self._leave_addresses()
        if result.requests:
            self.stats.visits += 1
            self.ended.append(result)
            if result.outcome not in NO_FAILURE:
                self._count_failure(result)
        self._slots.over(held.id, result.ended)
        self._note(result)
        self._harvest(visit)
        wait = max(held.delay, result.pause) if result.requests else 0.0
        self.scheduler.visited(held, now, result.ended + wait)

    def _count_failure(self, result: Result) -> None:
        self.stats.failed_visits += 1
        if result.deferred:
            _tally(self.stats.retries, {result.outcome: 1})

    def _harvest(self, visit: Visit) -> None:
        result, batch = visit.result, self.batch
        self._mark(visit)
        done = len(batch.pages)
        try:
            self.harvest.take(result, batch, self.stats, self.to_ms)
        except Exception:
            self._give_up(visit)
            del batch.pages[done:]
            result.page = None
            self.harvest.take(result, batch, self.stats, self.to_ms)
        self._parsing(0, 0, 0)
        result.page = None  # bodies are large, and the ledger still has to hear of the visit
        result.moved.clear()
        for page in batch.pages[done:]:
            self._bytes += len(page.text_row) + sum(map(len, page.warc))

    def _learn(self, visit: Visit) -> None:
        """A longer delay is told at once: a kill in the middle of the visit must not forget it. The
        ledger hears of it only if it hears of the visit."""
        result = visit.result
        if result.learnt_delay:
            if result.requests:
                self.learnt.append(visit.held)
            self.batch.delays.append((visit.held.id, round(result.learnt_delay * 1000)))
            result.learnt_delay = 0.0

    def _note(self, result: Result) -> None:
        """What the store must know of the domain beside its pages."""
        batch, ident = self.batch, result.held.id
        batch.origins += [(ident, replace(origin)) for origin in result.origins.values()]
        batch.deferred += [
            Deferral(ident, url, until, attempts) for url, until, attempts in result.deferred
        ]
        batch.errands += [link(url, depth) for url, depth in result.errands]
        batch.answers += result.answers
        for answer in result.answers:
            self._answers.learn(answer)
        batch.dropped += [(ident, url, reason) for url, reason in result.dropped]
        batch.purges += [
            Purge(ident, origin, outcome, forget=outcome == EXCLUDED, errands=outcome == EXCLUDED)
            for origin, outcome in result.purges
        ]

    # -- the store ----------------------------------------------------------------------------

    def due(self, now: float) -> bool:
        """Whether the store should be asked now."""
        batch = self.batch
        full = len(batch.pages) >= BATCH_PAGES or len(batch.links) >= BATCH_LINKS
        return full or self._bytes >= BATCH_BYTES // 2 or now >= self.due_at(now)

    def due_at(self, now: float) -> float:
        """When the store is asked next. With a short delay a second is long: an engine that has
        nothing to do asks earlier. So does one that used up its share of the page limit: the other
        engines may have nothing to use theirs for, and it gets half of the rest each time."""
        if self._allowance <= 0 and not self.stopping:
            return self._asked_at + SHARE_WAIT
        if not self.scheduler.starving(now):
            return self._asked_at + 1.0
        return self._asked_at + self._haste()

    def _haste(self) -> float:
        return min(1.0, max(0.05, self.rules.visit.delay / 10))

    def exchange(self, now: float) -> Exchange:
        """What happened since the last one, and what is needed."""
        self._asked_at = now
        scheduler, batch = self.scheduler, self.batch
        if self.stopping:
            scheduler.give_up_all()
        batch.released = scheduler.leaving(self.to_ms)
        batch.stats = self.stats.to_dict()
        batch.slots = [(address, self.ms(until)) for address, until in self._slots.take_freed()]
        self.batch = Batch()
        self._bytes = 0
        ending = self.stopping or self._allowance <= 0
        want = 0 if ending else scheduler.wanted(now, self.stats.store_lag_s)
        return Exchange(
            batch,
            want,
            scheduler.thirsty(),
            claims=[] if ending else self._slots.claims(),
            hold_ms=round(self._slots.hold * 1000),
        )

    def absorb(self, reply: Reply, now: float) -> None:
        """What the store answered."""
        self.stats.exchanges += 1
        committed = reply.committed
        if committed is None:
            return
        self.deadline = reply.sent + self.rules.lease_time - self.rules.margin
        if reply.to_ms is not None:
            self.to_ms = reply.to_ms
        self.total_pages = committed.total_pages
        self._engines = max(self.rules.engines, committed.engines)
        for ident, count in committed.added.items():
            held = self.scheduler.held.get(ident)
            if held is not None:
                held.queued += count
        if reply.scope is not None:
            self.scope = self.harvest.scope = reply.scope
            self.scheduler.forgive()
        for page in reply.skipped:
            self.stats.uncount(page.outcome, page.status)
        _tally(self.stats.drops, committed.drops)
        _tally(self.stats.outcomes, committed.purged)
        self.scheduler.least_held = committed.least_held
        self.scheduler.add(reply.leases, reply.asked, now, self.ms(now))
        self.scheduler.refilled(reply.runs)
        slots = {each: (until - self.to_ms) / 1000 for each, until in reply.slots.items()}
        self._slots.granted(slots, self.scheduler.held.__contains__, now)
        self._allowance = self._share()
        self._table.prune(now)

    def _share(self) -> float:
        """How many more visits this engine may start under the page limit, until it asks again."""
        if not self.rules.max_pages:
            return float("inf")
        left = self.rules.max_pages - self.total_pages
        share = -(-left // self._engines)  # rounded up, or the last pages never come
        return share - self.scheduler.visiting - sum(1 for p in self.batch.pages if p.status)

    def ms(self, now: float) -> int:
        """The store's time."""
        return int(now * 1000 + self.to_ms)

    # -- the end ------------------------------------------------------------------------------

    def stop(self) -> None:
        """Start no more visits; give everything back."""
        self.stopping = True
        self._turns.forget_waiting()
        self.scheduler.give_up_all()

    @property
    def idle(self) -> bool:
        """Nothing under way, nothing held, nothing that the store has not heard of."""
        return not self.scheduler.visiting and not self.scheduler.held and self.batch.empty()


def _tally(counts: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count
