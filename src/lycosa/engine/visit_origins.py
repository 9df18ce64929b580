"""The origins of a domain during one visit: their robots.txt, and how often they failed. Pure.

Owns when a robots.txt is asked for (P3) and what its answer means. `rules` is a generator like the
visit that it is part of: it yields `Request`s and is sent `Response`s. What it learns goes into the
held domain and into the visit's result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from lycosa.engine import errands
from lycosa.engine.errands import MAX_REDIRECTS, UNREACHABLE
from lycosa.engine.scheduler import Held, KnownOrigin
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.visit_result import Result, VisitRules, detail, request
from lycosa.politeness import delay as politeness
from lycosa.politeness import retry, robots
from lycosa.politeness.robots_reply import redirect_of, rules_of
from lycosa.records import (
    NO_URL,
    Failure,
    Flag,
    Kind,
    Origin,
    Request,
    Response,
    SharedRobots,
    Url,
)
from lycosa.urls.canonical import Parts, split
from lycosa.urls.domains import domain_of
from lycosa.urls.scope import Scope

ROBOTS_TTL_MS = 24 * 3600 * 1000

OriginRules = tuple[robots.Rules | None, str]  # the rules of an origin; or None, and why
SharedAnswers = Callable[[str], SharedRobots | None]


class VisitOrigins:
    """What a visit knows of origins. `shared` knows the answers of other domains."""

    __slots__ = ("_clock", "_held", "_result", "_rules", "_scope", "_shared")

    def __init__(
        self,
        held: Held,
        rules: VisitRules,
        scope: Scope,
        clock: StoreClock,
        result: Result,
        shared: SharedAnswers,
    ) -> None:
        self._held = held
        self._rules = rules
        self._scope = scope
        self._clock = clock
        self._result = result
        self._shared = shared

    # -- robots.txt ---------------------------------------------------------------------------

    def rules(self, parts: Parts, depth: int) -> Generator[Request, Response, OriginRules]:
        """The rules of an origin, asked for if need be; `depth`: of the URL that needs them.

        Redirects in the domain are followed now. Out of the domain, as RFC 9309 asks, only so far
        as the answers are known: for the next one the origin waits.
        """
        known = self._held.origins.get(parts.origin)
        if known is not None and self._fresh(known.record):
            self._heed(known.rules())
            return known.rules(), ""
        aim, hops = errands.where(parts.origin, known, self._result.ended_ms)
        while True:
            if domain_of(split(aim).host) != self._held.name:
                found, failure = self._elsewhere(parts.origin, aim, hops, depth)
                if found is None:
                    return None, failure
                target = found.location
                if not target or hops >= MAX_REDIRECTS:
                    return self._take_over(parts.origin, found)
            else:
                asked = request(self._result, self._rules, aim, split(aim), Kind.ROBOTS)
                asked.keep_alive = aim.startswith(f"{parts.origin}/")
                response = yield asked
                if response.failure == Failure.STOPPED and hops:
                    self._aim_at(parts.origin, aim, hops)
                self._result.robots_fetched += 1
                target = redirect_of(response)
                if not target or hops >= MAX_REDIRECTS:
                    return self._own(parts, response)
            aim, hops = target, hops + 1

    def knows(self, origin: str) -> bool:
        """Whether the rules of an origin need not be asked for."""
        known = self._held.origins.get(origin)
        return known is not None and self._fresh(known.record)

    def _fresh(self, origin: Origin) -> bool:
        return origin.fetched_ms > 0 and origin.fetched_ms + ROBOTS_TTL_MS > self._result.ended_ms

    def _aim_at(self, origin: str, aim: Url, hops: int) -> KnownOrigin:
        """Its robots.txt is there: in another domain, or where the next visit goes on."""
        known = self._held.origins.setdefault(origin, KnownOrigin(Origin(origin)))
        errands.turn_to(known.record, aim, hops, self._result.ended_ms)
        self._result.origins[origin] = known.record
        return known

    def _own(self, parts: Parts, response: Response) -> OriginRules:
        """What a response of the domain itself means for the origin that asked."""
        if response.failure == Failure.STOPPED or response.failure in Failure.OURS:
            return None, response.failure
        rules = rules_of(response, self._rules.agent)
        if rules is None:
            self.failed(parts.origin, response)
            return None, response.failure or UNREACHABLE
        fetched_ms = self._clock.ms(response.started)
        self._learn(parts.origin, rules, fetched_ms, response.status)
        asked = split(response.request.url)
        elsewhere = asked.origin != parts.origin and asked.target == "/robots.txt"
        if elsewhere and response.status < 300:
            self._learn(asked.origin, rules, fetched_ms, response.status)  # a neighbour's
        return _unless_too_slow(rules)

    def _elsewhere(
        self, origin: str, aim: Url, hops: int, depth: int
    ) -> tuple[SharedRobots | None, str]:
        """The answer of a robots.txt in another domain; or None, and what that means."""
        known, now_ms = self._aim_at(origin, aim, hops), self._result.ended_ms
        found = errands.consult(known, self._shared(aim), self._scope, now_ms)
        if found is not None and found.status:
            return found, ""
        if found is not None:
            known.record.aim = NO_URL
            self.failed(origin, errands.NOTHING)
            return None, UNREACHABLE
        errands.waits(known, now_ms, self._rules.delay)
        self._result.errands.append((aim, depth))
        self._held.outdated = True  # the store will know the answer
        return None, errands.WAITS

    def _take_over(self, origin: str, found: SharedRobots) -> OriginRules:
        """The rules of another domain's robots.txt, for the origin that asked and no other."""
        rules = robots.ALLOW_ALL if found.location else robots.Rules.load(found.rules)
        self._learn(origin, rules, found.fetched_ms, found.status)
        return _unless_too_slow(rules)

    def _learn(self, origin: str, rules: robots.Rules, fetched_ms: int, status: int) -> None:
        held, result = self._held, self._result
        record = Origin(origin, fetched_ms, status, rules.dump())
        held.origins[origin] = KnownOrigin(record, rules)
        result.origins[origin] = record
        if politeness.asks_too_much(rules.crawl_delay):
            self._give_up(record, politeness.DELAY_TOO_LONG)
            return
        self._heed(rules)
        if self._rules.sitemaps:
            result.found += [(url, 0, int(Flag.SITEMAP)) for url in rules.sitemaps]

    def _heed(self, rules: robots.Rules) -> None:
        """Learn the Crawl-delay of an origin, also one that is shorter than the crawl's delay: that
        may be shortened one day."""
        asked = rules.crawl_delay or 0.0
        if asked > self._held.asked and not politeness.asks_too_much(asked):
            self._held.asked = self._result.learnt_delay = asked
            self._held.delay = politeness.domain_delay(self._held.delay, asked)

    # -- failures -----------------------------------------------------------------------------

    def failed(self, origin: str, response: Response) -> Origin:
        """One more failure of an origin in a row: it waits, or is given up."""
        known = self._held.origins.get(origin)
        record = known.record if known is not None else Origin(origin)
        self._held.origins[origin] = known or KnownOrigin(record)
        now_ms = self._result.ended_ms
        wait = retry.origin_wait(record.failures, response.failure, self._rules.delay)
        asked = retry.retry_after(response.header(b"retry-after"), now_ms)
        record.detail = detail(response)
        record.failures += 1
        if wait is None:
            self._give_up(record, retry.origin_outcome(response.failure))
        else:
            wait = max(wait, min(asked or 0.0, politeness.DAY))
            record.reason = ""
            record.retry_ms = now_ms + round(wait * 1000)
        self._result.origins[origin] = record
        return record

    def _give_up(self, record: Origin, reason: str) -> None:
        """All that is queued of an origin fails, and for a day what arrives."""
        record.reason = reason
        record.retry_ms = self._result.ended_ms + round(retry.DEAD_FOR * 1000)
        record.failures = 0
        self._result.purges.append((record.origin, reason))
        errands.forget_run(self._held, f"{record.origin}/")

    def note_failure(self, origin: str, response: Response) -> None:
        """What went wrong last, for people."""
        known = self._held.origins.get(origin)
        if known is not None and response.reason:
            known.record.detail = detail(response)
            self._result.origins[origin] = known.record

    def answered(self, origin: str) -> None:
        """The origin answered: its failures, and the domain's, are forgotten."""
        self._held.failures = 0
        known = self._held.origins.get(origin)
        if known is not None and (known.record.failures or known.record.detail):
            known.record.failures = known.record.retry_ms = 0
            known.record.detail = ""
            self._result.origins[origin] = known.record

    def forget(self, origin: str) -> None:
        """The domain does not speak https: what was said of that origin is not told the store."""
        result = self._result
        result.origins.pop(origin, None)
        self._held.origins.pop(origin, None)
        result.purges = [each for each in result.purges if each[0] != origin]


def _unless_too_slow(rules: robots.Rules) -> OriginRules:
    if politeness.asks_too_much(rules.crawl_delay):
        return None, politeness.DELAY_TOO_LONG
    return rules, ""
