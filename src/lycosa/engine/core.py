"""An engine without its edges: which visits begin, what came of them, what the store is asked.

Owns when a visit may start (free fetches, lease, page limit, busy addresses) and when the store is
asked. It touches no socket, file or clock: the engine's loop and the simulation drive it with
`now`, carry out the `Actions` that it returns, and feed it the responses and replies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from lycosa.engine.actions import NOTHING, Actions
from lycosa.engine.address_gate import AddressGate
from lycosa.engine.errands import OUTCOME, WAITS, RecentAnswers, is_errand
from lycosa.engine.exchange import Exchange, Reply
from lycosa.engine.harvest import Harvest
from lycosa.engine.outbox import Outbox
from lycosa.engine.page_rows import counted_as
from lycosa.engine.scheduler import Held, Scheduler
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.visit import Visit
from lycosa.engine.visit_result import Result, VisitRules
from lycosa.metrics import Stats
from lycosa.outcomes import Outcome
from lycosa.politeness.address_turns import AddressTable, OwnTable
from lycosa.records import Failure, Kind, Request, Response
from lycosa.settings.steered import Steered
from lycosa.urls.canonical import host_of
from lycosa.urls.scope import Scope

BY_USER, BY_DISK = "user", "disk"  # who pauses an engine, the first before the second
STARTS = 8  # at once: the loop looks at its clock in between
SHARE_WAIT = 0.25  # seconds until an engine asks for a new share of the page limit
LEASE_MARGIN = 5.0  # seconds before a lease's end at which everything must be over
NO_FAILURE = frozenset({"fetched", "nothing", "stopped", WAITS, OUTCOME})  # outcomes of visits


@dataclass(frozen=True, slots=True)
class CoreRules:
    """What the core must know of the settings."""

    visit: VisitRules
    lease_time: float = 180.0
    ip_delay: float = 1.0
    max_pages: int = 0
    engines: int = 1  # of this node; those of all nodes share the page limit
    margin: float = LEASE_MARGIN

    @property
    def ask_every(self) -> float:
        """Seconds between two questions to the store while a fetch is free: with a short delay a
        second is long."""
        return min(1.0, max(0.05, self.visit.delay / 10))


class Core:
    """What one engine knows and decides.

    `address_of`: the address of a URL's host, None if it has to be looked up, '' if there is none;
    `exempt`: see `AddressGate`; `parsing` is told which URL is worked on now, and `bug` of a URL
    whose handling raised.
    """

    def __init__(
        self,
        rules: CoreRules,
        scheduler: Scheduler,
        harvest: Harvest,
        scope: Scope,
        clock: StoreClock,
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
        self.clock = clock
        self.stats = Stats()
        self.notes = harvest.notes
        self.outbox = Outbox(harvest, self.stats)
        self.deadline = 0.0  # engine clock: past it nothing of ours may be on the wire
        self.stopping = False
        self._pauses: set[str] = set()  # who wants the engine to pause
        self._paused_told = ""  # the store has heard of
        self.total_pages = 0
        self._engines = rules.engines
        self._allowance = float("inf")
        self._answers = RecentAnswers()
        table = addresses or OwnTable()
        self._gate = AddressGate(
            rules.visit, rules.ip_delay, rules.ask_every, scheduler, table, exempt
        )
        self._address_of = address_of
        self._parsing = parsing
        self._bug = bug
        self._asked_at = float("-inf")

    # -- when a visit may start ---------------------------------------------------------------

    def can_start(self, now: float) -> bool:
        """Whether `start` would find something to do."""
        return self.scheduler.ready_count > 0 and self._may_start(now)

    def _may_start(self, now: float) -> bool:
        scheduler = self.scheduler
        return (
            scheduler.visiting < scheduler.max_fetches
            and not self.outbox.full()
            and self._in_time(now)
        )

    def _in_time(self, now: float) -> bool:
        """P4: nothing is started that could outlive the lease."""
        return (
            not self.stopping
            and not self._pauses
            and self._allowance > 0
            and now + self.rules.visit.timeout <= self.deadline
        )

    def waits_for_store(self, now: float) -> bool:
        """Whether free fetches have nothing to do because of the store: it has too much to write,
        or was asked for domains that it has."""
        scheduler = self.scheduler
        if self.resting or scheduler.visiting >= scheduler.max_fetches:
            return False
        scheduler.move_due(now)
        return self.outbox.behind() if scheduler.ready_count else scheduler.store_has_more

    # -- visits -------------------------------------------------------------------------------

    def start(self, now: float, most: int = STARTS) -> Actions:
        """Begin visits, a few at a time, no more than `most`."""
        self._gate.tell_left()
        todo, now_ms = NOTHING, self.clock.ms(now)
        for _ in range(most):
            if not self._may_start(now):
                break
            held = self.scheduler.next(now)
            if held is None:
                break
            todo += self._approach(held, now, now_ms)
        return todo

    def _approach(self, held: Held, now: float, now_ms: int) -> Actions:
        """Begin a visit, if it need not wait for its address."""
        url = self._gate.first_url(held, now_ms)
        if not url:
            return self._begin(held, now)
        address = self._address_of(url)
        if address is None:
            return Actions(lookups=((host_of(url), partial(self._found, held)),))
        return self._begin(held, now) if self._gate.admits(held, address, now) else NOTHING

    def _found(self, held: Held, address: str, now: float) -> Actions:
        """The address of a domain's next visit was looked up ('' if there is none)."""
        if not self._in_time(now):
            self.scheduler.put_back(held, now)
            return NOTHING
        return self._begin(held, now) if self._gate.admits(held, address, now) else NOTHING

    def _begin(self, held: Held, now: float) -> Actions:
        visit = Visit(held, self.rules.visit, self.scope, now, self.clock, self._answers.get)
        request = visit.begin()
        delays = self._learn(visit)  # from the robots.txt of another domain
        if request is None:
            return self._finish(visit, now, delays)
        if visit.first is not None and is_errand(visit.first):
            request.only = self._gate.slots.address(held.id)
        self._allowance -= 1
        self.notes.visit_begins(held, now, visit.result.ended_ms, self.stats)
        return Actions(((held.name, visit.result.ended_ms),), delays, requests=(request,))

    def answer(self, response: Response, now: float) -> Actions:
        """A response arrived: its visit goes on or ends."""
        asked = response.request
        if self.harvest.rules.keep_warc and asked.kind == Kind.ROBOTS:
            self.outbox.keep_robots(response, self.clock.ms(response.ended))
        visit = asked.token
        assert isinstance(visit, Visit)
        asked.token = None  # or visit, page and request would form a cycle, which nobody frees
        self._mark(visit)
        todo = self._answered(visit, response, now)
        self._parsing(0, 0, 0)
        return todo

    def _answered(self, visit: Visit, response: Response, now: float) -> Actions:
        asked = response.request
        request = self._continue(visit, response)
        delays = self._learn(visit)
        if request is None:
            return self._finish(visit, now, delays)
        if self.rules.ip_delay and request.host != asked.host:
            return Actions(delays=delays) + self._detour(request, response.address, now)
        return Actions(delays=delays, requests=(request,))

    def _detour(self, request: Request, here: str, now: float) -> Actions:
        """A visit goes on at another host of its domain."""
        address = self._address_of(request.url)
        if address is None:
            return Actions(lookups=((request.host, partial(self._go_on, request, here)),))
        return self._go_on(request, here, address, now)

    def _go_on(self, request: Request, here: str, address: str, now: float) -> Actions:
        """The address of a detour is known ('' if there is none). It needs a turn there like the
        first request of a visit; without one the URL is left for a visit of its own."""
        visit = request.token
        assert isinstance(visit, Visit)
        if self._gate.moves(visit.held, here, address, now):
            return Actions(requests=(request,))
        visit.result.requests -= 1  # it was not sent
        return self.answer(Response(request, failure=Failure.STOPPED, ended=now), now)

    def _continue(self, visit: Visit, response: Response) -> Request | None:
        """What a visit does next. If lycosa's own code raises, that costs one URL and not the
        engine (S3)."""
        try:
            return visit.resume(response)
        except Exception:
            self._give_up(visit)
            return None

    def _mark(self, visit: Visit) -> None:
        """If this kills the process, its supervisor knows which URL it was."""
        if visit.first is not None:
            self._parsing(visit.held.id, visit.first.order, visit.first.fp)

    def _give_up(self, visit: Visit) -> None:
        url = visit.current
        self._bug(url.url if url is not None else visit.held.name)
        visit.give_up(Outcome.BUG)

    def _learn(self, visit: Visit) -> tuple[Held, ...]:
        """The domain, if the visit has just learnt that it asks for a longer delay: a kill in the
        middle of the visit must not forget that. The ledger hears of it only if it hears of the
        visit, which needs a request."""
        result = visit.result
        if not result.learnt_delay:
            return ()
        self.outbox.keep_delay(visit.held, result.learnt_delay)
        result.learnt_delay = 0.0
        return (visit.held,) if result.requests else ()

    def _finish(self, visit: Visit, now: float, delays: tuple[Held, ...]) -> Actions:
        result, held = visit.result, visit.held
        self._gate.over(result)
        failed = False
        if result.requests:
            self.stats.visits += 1
            failed = result.outcome not in NO_FAILURE
            if failed:
                self._count_failure(result)
        self.outbox.keep_state(result)
        for answer in result.answers:
            self._answers.learn(answer)
        self._harvest(visit)
        if result.requests:
            self.notes.visit_ends(result, failed, self.rules.visit.delay)
        wait = max(held.delay, result.pause) if result.requests else 0.0
        self.scheduler.visited(held, now, result.ended + wait)
        return Actions(delays=delays, ends=(result,)) if result.requests else NOTHING

    def _count_failure(self, result: Result) -> None:
        self.stats.failed_visits += 1
        if result.deferred:
            _tally(self.stats.retries, {result.outcome: 1})

    def _harvest(self, visit: Visit) -> None:
        result = visit.result
        try:
            self.outbox.keep_pages(result)
        except Exception:
            self._give_up(visit)
            result.page = None
            self.outbox.keep_pages(result)
        result.page = None  # bodies are large, and the ledger still has to hear of the visit
        result.moved.clear()

    def crowded(self) -> dict[str, int]:
        """The addresses that most held domains wait for, and how many."""
        return self._gate.crowded()

    # -- the store ----------------------------------------------------------------------------

    def due(self, now: float) -> bool:
        """Whether the store should be asked now."""
        return self.outbox.due() or now >= self.due_at(now)

    def due_at(self, now: float) -> float:
        """When the store is asked next: after a second, or earlier if a fetch is free. An engine
        that used up its share of the page limit asks early as well: the others may have no use for
        theirs, and it gets its part of what is left each time."""
        if self._allowance <= 0 and not self.resting:
            return self._asked_at + SHARE_WAIT
        if self._pauses or not self.scheduler.wants_domains(now):
            return self._asked_at + 1.0
        return self._asked_at + self.rules.ask_every

    def exchange(self, now: float) -> Exchange:
        """What happened since the last one, and what is needed."""
        self._asked_at = now
        scheduler, slots, clock = self.scheduler, self._gate.slots, self.clock
        if self.resting:
            scheduler.give_back_all()
        batch = self.outbox.cut()
        batch.released = scheduler.take_leaving(clock)
        batch.slots = [(address, clock.ms(until)) for address, until in slots.take_freed()]
        ending = self.resting or self._allowance <= 0
        want = 0 if ending else scheduler.domains_to_ask_for(now, self.stats.store_lag_s)
        return Exchange(
            batch,
            want,
            scheduler.to_refill(),
            claims=[] if ending else slots.claims(),
            hold_ms=round(slots.hold * 1000),
            news=self._tell_news(),
        )

    def _tell_news(self) -> bool:
        """Whether the engine was paused, or goes on, since the last exchange."""
        before, self._paused_told = self._paused_told, self.stats.paused
        return before != self.stats.paused

    def absorb(self, reply: Reply, now: float) -> None:
        """What the store answered."""
        self.stats.exchanges += 1
        self.notes.exchanged(reply.commit_s, reply.lease_s)
        committed = reply.committed
        if committed is None:
            return
        self.deadline = reply.sent + self.rules.lease_time - self.rules.margin
        if reply.clock is not None:
            self.clock.adopt(reply.clock)
        self.total_pages = committed.total_pages
        self._engines = max(self.rules.engines, committed.engines)
        scheduler, clock = self.scheduler, self.clock
        for ident, count in committed.added.items():
            held = scheduler.held.get(ident)
            if held is not None:
                held.queued += count
        if reply.steered is not None:
            self.steer(reply.steered, now)
            self.stats.rules = committed.rules_version
        if reply.scope is not None:
            self.scope = self.harvest.scope = reply.scope
        if reply.try_again:
            scheduler.try_all_origins()
        for page in reply.skipped:
            self.stats.uncount(*counted_as(page))
        _tally(self.stats.drops, committed.drops)
        _tally(self.stats.outcomes, committed.purged)
        scheduler.least_held = committed.least_held
        scheduler.add(reply.leases, reply.asked, now, clock.ms(now))
        scheduler.refilled(reply.runs)
        slots = {each: clock.seconds(until) for each, until in reply.slots.items()}
        self._gate.slots.granted(slots, scheduler.held.__contains__, now)
        self._allowance = self._share()
        self._gate.prune(now)

    def _share(self) -> float:
        """How many more visits this engine may start under the page limit, until it asks again."""
        if not self.rules.max_pages:
            return float("inf")
        left = self.rules.max_pages - self.total_pages
        share = -(-left // self._engines)  # rounded up, or the last pages never come
        return share - self.scheduler.visiting - self.outbox.responses()

    # -- what may change ----------------------------------------------------------------------

    def steer(self, said: Steered, now: float) -> None:
        """Go on by what the store says now."""
        if said.max_pages is not None:
            self.rules = replace(self.rules, max_pages=said.max_pages)
        if (crawl := said.crawl) is not None:
            visit = replace(self.rules.visit, delay=crawl.delay, sitemaps=crawl.sitemaps)
            self.rules = replace(self.rules, visit=visit, ip_delay=crawl.ip_delay)
            self.harvest.rules = replace(
                self.harvest.rules,
                obey_nofollow=not crawl.ignore_nofollow,
                max_pages_per_domain=crawl.max_pages_per_domain,
                max_queued_per_domain=crawl.max_queued_per_domain,
                languages=frozenset(crawl.language),
                keep_repeats=crawl.keep_repeats,
            )
            least = said.least_delay(self.clock.ms(now))
            self.scheduler.change_delay(crawl.delay, least, now)
            self._gate.change_delays(crawl.delay, crawl.ip_delay, self.rules.ask_every)
        self.pause(BY_USER) if said.pause is not None else self.unpause(BY_USER)

    def pause(self, by: str) -> None:
        """Start no more visits and give everything back, but stay. Idempotent."""
        self._pauses.add(by)
        self._tell_pause()
        self._gate.forget_waiting()
        self.scheduler.give_back_all()

    def unpause(self, by: str) -> None:
        """One who wanted a pause wants it no longer."""
        self._pauses.discard(by)
        self._tell_pause()

    def _tell_pause(self) -> None:
        self.stats.paused = next((by for by in (BY_USER, BY_DISK) if by in self._pauses), "")

    @property
    def resting(self) -> bool:
        """Whether no visit is to be started: the engine is paused, or about to end."""
        return self.stopping or bool(self._pauses)

    # -- the end ------------------------------------------------------------------------------

    def stop(self) -> None:
        """Start no more visits; give everything back."""
        self.stopping = True
        self._gate.forget_waiting()
        self.scheduler.give_back_all()

    @property
    def idle(self) -> bool:
        """Nothing under way, nothing held, nothing that the store has not heard of."""
        return not self.scheduler.visiting and not self.scheduler.held and self.outbox.empty()


def _tally(counts: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count
