"""One visit of a domain: robots.txt where it is not known, one page, redirects inside the domain.

Or one errand (see `errands`): the robots.txt of another domain that lies here, one request.
Owns the rules P3 and the order of requests inside a visit. A generator: it yields `Request`s, is
sent `Response`s, and leaves everything that came of it in `result`. It opens no connection, reads
no clock (the responses carry their times), and does not look into page bodies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import replace

from lycosa.engine import errands
from lycosa.engine.errands import MAX_REDIRECTS, UNREACHABLE
from lycosa.engine.scheduler import Held, KnownOrigin
from lycosa.engine.visit_result import Result as Result
from lycosa.engine.visit_result import VisitRules as VisitRules
from lycosa.engine.visit_result import detail, kind_of
from lycosa.frontier.protocol import EXCLUDED
from lycosa.outcomes import Drop, Outcome
from lycosa.politeness import delay as politeness
from lycosa.politeness import retry, robots
from lycosa.politeness.robots_reply import location_text, redirect_of, rules_of
from lycosa.records import (
    FOUND,
    NO_URL,
    Failure,
    Flag,
    Kind,
    Origin,
    QueuedUrl,
    Request,
    Response,
    SharedRobots,
    Url,
)
from lycosa.urls.canonical import Parts, canonical, over_http, split
from lycosa.urls.domains import domain_of
from lycosa.urls.fingerprint import fingerprint
from lycosa.urls.scope import Scope

ROBOTS_TTL_MS = 24 * 3600 * 1000
Steps = Generator[Request, Response, None]


class Visit:
    """A visit in progress. `to_ms` turns the engine's clock into the store's; `shared` knows the
    answers of other domains."""

    __slots__ = (
        "_hops", "_seen", "_steps", "current", "deadline", "first", "held", "now", "result",
        "rules", "scope", "shared", "to_ms",
    )  # fmt: skip

    def __init__(
        self,
        held: Held,
        rules: VisitRules,
        scope: Scope,
        now: float,
        to_ms: float,
        shared: Callable[[str], SharedRobots | None] = lambda url: None,
    ) -> None:
        self.held = held
        self.rules = rules
        self.scope = scope
        self.now = now
        self.to_ms = to_ms
        self.shared = shared
        self.deadline = now + rules.timeout
        self.result = Result(held, now, now)
        self._hops = 0
        self.first: QueuedUrl | None = None  # of the visit, with its place in the queue
        self.current: QueuedUrl | None = None
        self._seen: set[str] = set()
        self._steps = self._run()

    def begin(self) -> Request | None:
        """The first request; None if the visit needs none."""
        return next(self._steps, None)

    def resume(self, response: Response) -> Request | None:
        """The next request after a response; None when the visit is over."""
        self.now = self.result.ended = response.ended
        if response.address:
            self.result.address = response.address
        try:
            return self._steps.send(response)
        except StopIteration:
            return None

    @property
    def now_ms(self) -> int:
        return int(self.now * 1000 + self.to_ms)

    # -- the visit ----------------------------------------------------------------------------

    def _run(self) -> Steps:
        """URLs that need no request are settled on the way; the first page ends the visit. Only the
        first URL may be an errand: for that one a slot was asked for."""
        head = self.held.run[0] if self.held.run else None
        if self.scope.excluded_domain(self.held.name):
            self.held.run.clear()
            self.result.purges.append(("", EXCLUDED))
        while (url := self._choose()) is not None:
            if self.result.requests and not self._knows(url):
                self.held.run.appendleft(url)  # robots.txt of one origin is enough for a visit
                return
            if errands.is_errand(url):
                if url is head:
                    yield from self._errand(url)
                else:
                    self.held.run.appendleft(url)
                return
            over = yield from self._attempt(url)
            if over:
                return

    def _knows(self, url: QueuedUrl) -> bool:
        known = self.held.origins.get(split(url.url).origin)
        return known is not None and self._fresh(known.record) and not errands.is_errand(url)

    def _choose(self) -> QueuedUrl | None:
        """The next URL of the run that may be tried now."""
        run: deque[QueuedUrl] = self.held.run
        while run:
            url = run.popleft()
            parts = split(url.url)
            if (url.flags // Flag.KILL) >= retry.POISON:
                self._fail(url, Outcome.POISON)
            elif reason := self._refused(url, parts):
                self.result.dropped.append((url, reason))
            elif not self._origin_blocks(url, parts.origin):
                return url
        return None

    def _refused(self, url: QueuedUrl, parts: Parts) -> str:
        held = self.held
        if errands.is_errand(url):
            return errands.refused(self.scope, url.url, held.seeded)
        if parts.origin not in held.origins and len(held.origins) >= self.rules.max_hosts:
            return Drop.HOST_CAP
        return self.scope.refuses(url.url, parts.host, held.name, url.depth, held.seeded)

    def _origin_blocks(self, url: QueuedUrl, origin: str) -> bool:
        """Settle a URL whose origin was given up, or has to wait, without a request."""
        known = self.held.origins.get(origin)
        if known is None or known.record.retry_ms <= self.now_ms:
            return False
        if known.record.aim and errands.is_errand(url):
            return False  # or two that send us to each other would wait for ever
        self._settle(url, known.record)
        return True

    def _settle(self, url: QueuedUrl, origin: Origin) -> None:
        """A URL shares the fate of its origin: it fails, or waits."""
        if origin.reason:
            self._fail(url, origin.reason)
        else:
            self._wait(url, origin.retry_ms, url.attempts)

    def _attempt(self, url: QueuedUrl) -> Generator[Request, Response, bool]:
        """Try one URL and what it redirects to; True when the visit is over."""
        self.first = url
        current: QueuedUrl | None = url
        while current is not None:
            parts = split(current.url)
            self.current = current
            self._seen.add(current.url)
            rules, failure = yield from self._robots(parts)
            if rules is None:
                current = self._no_robots(current, parts, failure)
                if current is None:
                    return self.result.requests > 0 or self.result.stopped
                continue
            if not rules.allows(parts.target):
                self._fail(current, Outcome.ROBOTS)
                return self._hops > 0
            response = yield self._request(current.url, parts, kind_of(current))
            current = self._answer(current, parts, response)
        return True

    def _no_robots(self, url: QueuedUrl, parts: Parts, failure: str) -> QueuedUrl | None:
        """robots.txt could not be had: another URL to try now, or the wait of this one."""
        if failure == Failure.STOPPED:
            self._stop(url)
            return None
        if url.flags & Flag.BARE and parts.https and failure in retry.NO_HTTPS:
            self.result.origins.pop(parts.origin, None)
            self.held.origins.pop(parts.origin, None)
            self.result.purges = [each for each in self.result.purges if each[0] != parts.origin]
            return self._step_to(url, over_http(url.url), None)
        self.result.outcome = failure or UNREACHABLE
        if failure in Failure.OURS:
            self._wait(url, self.now_ms + round(self.rules.delay * 1000), url.attempts)
        else:
            self._settle(url, self.held.origins[parts.origin].record)
        return None

    def _answer(self, url: QueuedUrl, parts: Parts, response: Response) -> QueuedUrl | None:
        """What a page's response means; the URL to go on with after a redirect in the domain."""
        result = self.result
        result.outcome = response.failure or "fetched"
        if response.failure:
            self._failed(url, parts, response)
        elif response.status in politeness.BUSY:
            self._busy(url, response)
        else:
            self._alive(parts)
            location = response.header(b"location") if 300 <= response.status < 400 else ""
            if location:
                return self._redirect(url, location, response)
            result.page = (url, response)
            self.held.remember(url.fp)
        return None

    def _alive(self, parts: Parts) -> None:
        """The origin answered: its failures, and the domain's, are forgotten."""
        self.held.failures = 0
        known = self.held.origins.get(parts.origin)
        if known is not None and (known.record.failures or known.record.detail):
            known.record.failures = known.record.retry_ms = 0
            known.record.detail = ""
            self.result.origins[parts.origin] = known.record

    # -- redirects ----------------------------------------------------------------------------

    def _redirect(self, url: QueuedUrl, location: str, response: Response) -> QueuedUrl | None:
        target = canonical(location_text(location), url.url)
        if target is None:
            self._fail(url, Outcome.BAD_REDIRECT, response.status)
            return None
        moved = {before.fp for before, _, _ in self.result.moved}
        if target in self._seen or fingerprint(target) in moved:
            self._fail(url, Outcome.REDIRECT_LOOP, response.status)
            return None
        if domain_of(split(target).host) != self.held.name:
            self._move(url, target, response)
            self.result.found.append((target, url.depth, 0))
            return None
        if self._hops >= MAX_REDIRECTS:
            self._fail(url, Outcome.TOO_MANY_REDIRECTS, response.status)
            return None
        return self._step_to(url, target, response)

    def _step_to(self, url: QueuedUrl, target: Url, response: Response | None) -> QueuedUrl | None:
        """Record that `url` leads to `target` in the same domain, and go there now if we may."""
        self._hops += 1
        fp = fingerprint(target)
        if fp == url.fp:
            # Only tracking was added or taken away: the same page under another name.
            return replace(url, url=target)
        self._move(url, target, response)
        step = self._queued(fp) or QueuedUrl(fp, target, url.depth, FOUND)
        parts = split(step.url)
        if step.fp in self.held.recent:
            return None
        reason = self._refused(step, parts)
        if reason:
            self.result.dropped.append((step, reason))
            return None
        return None if self._origin_blocks(step, parts.origin) else step

    def _move(self, url: QueuedUrl, target: Url, response: Response | None) -> None:
        self.result.moved.append((url, target, response))
        self.held.remember(url.fp)

    def _queued(self, fp: int) -> QueuedUrl | None:
        """The URL with this fingerprint, taken out of the run."""
        for url in self.held.run:
            if url.fp == fp:
                self.held.run.remove(url)
                return url
        return None

    # -- robots.txt ---------------------------------------------------------------------------

    def _robots(
        self, parts: Parts
    ) -> Generator[Request, Response, tuple[robots.Rules | None, str]]:
        """The rules of an origin, asked for if need be; or None and why not.

        Redirects in the domain are followed now. Out of the domain, as RFC 9309 asks, only so far
        as the answers are known: for the next one the origin waits.
        """
        known = self.held.origins.get(parts.origin)
        if known is not None and self._fresh(known.record):
            return known.rules(), ""
        aim, hops = errands.where(parts.origin, known, self.now_ms)
        while True:
            if domain_of(split(aim).host) != self.held.name:
                found, failure = self._elsewhere(parts.origin, aim, hops)
                if found is None:
                    return None, failure
                target = found.location
                if not target or hops >= MAX_REDIRECTS:
                    return self._take_over(parts.origin, found)
            else:
                request = self._request(aim, split(aim), Kind.ROBOTS)
                request.keep_alive = aim.startswith(f"{parts.origin}/")
                response = yield request
                if response.failure == Failure.STOPPED and hops:
                    self._aim_at(parts.origin, aim, hops)
                self.result.robots_fetched += 1
                target = redirect_of(response)
                if not target or hops >= MAX_REDIRECTS:
                    return self._own_robots(parts, response)
            aim, hops = target, hops + 1

    def _aim_at(self, origin: str, aim: Url, hops: int) -> KnownOrigin:
        """Its robots.txt is there: in another domain, or where the next visit goes on."""
        known = self.held.origins.setdefault(origin, KnownOrigin(Origin(origin)))
        errands.turn_to(known.record, aim, hops, self.now_ms)
        self.result.origins[origin] = known.record
        return known

    def _own_robots(self, parts: Parts, response: Response) -> tuple[robots.Rules | None, str]:
        """What a response of the domain itself means for the origin that asked."""
        if response.failure == Failure.STOPPED or response.failure in Failure.OURS:
            return None, response.failure
        rules = rules_of(response)
        if rules is None:
            self._origin_failed(parts.origin, response)
            return None, response.failure or UNREACHABLE
        fetched_ms = int(response.started * 1000 + self.to_ms)
        self._learn(parts.origin, rules, fetched_ms, response.status)
        asked = split(response.request.url)
        elsewhere = asked.origin != parts.origin and asked.target == "/robots.txt"
        if elsewhere and response.status < 300:
            self._learn(asked.origin, rules, fetched_ms, response.status)  # a neighbour's
        if politeness.asks_too_much(rules.crawl_delay):
            return None, politeness.DELAY_TOO_LONG
        return rules, ""

    def _fresh(self, origin: Origin) -> bool:
        return origin.fetched_ms > 0 and origin.fetched_ms + ROBOTS_TTL_MS > self.now_ms

    def _elsewhere(self, origin: str, aim: Url, hops: int) -> tuple[SharedRobots | None, str]:
        """The answer of a robots.txt in another domain; or None, and what that means."""
        known = self._aim_at(origin, aim, hops)
        found = errands.consult(known, self.shared(aim), self.scope, self.now_ms)
        if found is not None and found.status:
            return found, ""
        if found is not None:
            known.record.aim = NO_URL
            self._origin_failed(origin, errands.NOTHING)
            return None, UNREACHABLE
        errands.waits(known, self.now_ms, self.rules.delay)
        self.result.errands.append((aim, self.current.depth if self.current else 0))
        self.held.outdated = True  # the store will know the answer
        return None, errands.WAITS

    def _take_over(self, origin: str, found: SharedRobots) -> tuple[robots.Rules | None, str]:
        """The rules of another domain's robots.txt, for the origin that asked and no other."""
        rules = robots.ALLOW_ALL if found.location else robots.Rules.load(found.rules)
        self._learn(origin, rules, found.fetched_ms, found.status)
        if politeness.asks_too_much(rules.crawl_delay):
            return None, politeness.DELAY_TOO_LONG
        return rules, ""

    def _errand(self, url: QueuedUrl) -> Steps:
        """Another domain's robots.txt is here: one request, and nothing else in this visit."""
        self.first = self.current = url
        response = yield self._request(url.url, split(url.url), Kind.ROBOTS)
        self.result.robots_fetched += 1
        self.result.outcome = errands.OUTCOME
        if response.failure == Failure.STOPPED:
            self._stop(url)
        elif response.failure in Failure.OURS:
            self._wait(url, self.now_ms + round(self.rules.delay * 1000), url.attempts)
        else:
            self._answer_errand(url, response)

    def _answer_errand(self, url: QueuedUrl, response: Response) -> None:
        if response.status in politeness.BUSY:
            asked = politeness.retry_after(response.header(b"retry-after"), self.now_ms)
            self.result.pause = min(asked or 0.0, politeness.DAY)
        started_ms = int(response.started * 1000 + self.to_ms) if response.started else self.now_ms
        self.result.answers.append(errands.answer(url.url, response, started_ms))
        self.result.dropped.append((url, ""))  # it leaves the queue, and may come again

    def _learn(self, origin: str, rules: robots.Rules, fetched_ms: int, status: int) -> None:
        record = Origin(origin, fetched_ms, status, rules.dump())
        self.held.origins[origin] = KnownOrigin(record, rules)
        self.result.origins[origin] = record
        if politeness.asks_too_much(rules.crawl_delay):
            self._give_up_origin(record, politeness.DELAY_TOO_LONG)
            return
        delay = politeness.domain_delay(self.rules.delay, rules.crawl_delay)
        if delay > self.held.delay:
            self.held.delay = self.result.learnt_delay = delay
        if self.rules.sitemaps:
            self.result.found += [(url, 0, int(Flag.SITEMAP)) for url in rules.sitemaps]

    # -- failures -----------------------------------------------------------------------------

    def _origin_failed(self, origin: str, response: Response) -> None:
        """One more failure of an origin in a row: it waits, or is given up."""
        known = self.held.origins.get(origin)
        record = known.record if known is not None else Origin(origin)
        self.held.origins[origin] = known or KnownOrigin(record)
        wait = retry.origin_wait(record.failures, response.failure, self.rules.delay)
        asked = politeness.retry_after(response.header(b"retry-after"), self.now_ms)
        record.detail = detail(response)
        record.failures += 1
        if wait is None:
            self._give_up_origin(record, retry.origin_outcome(response.failure))
        else:
            wait = max(wait, min(asked or 0.0, politeness.DAY))
            record.reason = ""
            record.retry_ms = self.now_ms + round(wait * 1000)
        self.result.origins[origin] = record

    def _give_up_origin(self, record: Origin, reason: str) -> None:
        """All that is queued of an origin fails, and for a day what arrives."""
        record.reason = reason
        record.retry_ms = self.now_ms + round(retry.DEAD_FOR * 1000)
        record.failures = 0
        self.result.purges.append((record.origin, reason))
        self._forget_run(f"{record.origin}/")

    def _forget_run(self, start: str = "") -> None:
        """The store fails what is queued of an origin or domain: the run must not fail it again.
        Errands stay there and here: others wait for them."""
        run = self.held.run
        kept = [u for u in run if errands.is_errand(u) or not u.url.startswith(start)]
        run.clear()
        run.extend(kept)

    def _failed(self, url: QueuedUrl, parts: Parts, response: Response) -> None:
        """A page's request brought no response."""
        failure = response.failure
        if failure == Failure.STOPPED:
            self._stop(url)
        elif failure in Failure.HOST:
            self._origin_failed(parts.origin, response)
            self._settle(url, self.held.origins[parts.origin].record)
        else:
            self._note_failure(parts.origin, response)
            wait = retry.url_wait(url.attempts, failure, self.rules.delay)
            if wait is None:
                self._fail(url, failure)
            else:
                attempts = url.attempts + (failure not in Failure.OURS)
                self._wait(url, self.now_ms + round(wait * 1000), attempts)

    def _note_failure(self, origin: str, response: Response) -> None:
        """What went wrong last, for people."""
        known = self.held.origins.get(origin)
        if known is not None and response.reason:
            known.record.detail = detail(response)
            self.result.origins[origin] = known.record

    def _busy(self, url: QueuedUrl, response: Response) -> None:
        """429 and 503 count against the domain, not the URL."""
        header = response.header(b"retry-after")
        pause = politeness.busy_pause(header, self.now_ms, self.held.failures, self.held.delay)
        self.result.pause = pause.seconds
        self.result.outcome = "busy"
        self.held.failures = 0 if pause.give_up else self.held.failures + 1
        if pause.give_up:
            self._fail(url, pause.give_up, response.status)
            if pause.whole_domain:
                self._forget_run()
                self.result.purges.append(("", pause.give_up))
        else:
            self._wait(url, self.now_ms + round(pause.seconds * 1000), url.attempts)

    def give_up(self, reason: str) -> None:
        """A fault of ours: it costs the URL that the visit is busy with, if any."""
        if self.current is not None:
            self._fail(self.current, reason)

    def _fail(self, url: QueuedUrl, reason: str, status: int = 0) -> None:
        """Of an errand those must hear who wait for it, or they would wait for ever."""
        if errands.is_errand(url):
            self._answer_errand(url, errands.NOTHING)
        else:
            self.result.failed.append((url, reason, status))

    def _wait(self, url: QueuedUrl, until_ms: int, attempts: int) -> None:
        """The URL stays queued; one that was met on the way becomes queued."""
        if url.order == FOUND:
            self.result.found.append((url.url, url.depth, url.flags))
        else:
            self.result.deferred.append((url, until_ms, attempts))

    def _stop(self, url: QueuedUrl) -> None:
        """Cut off by us: the URL is still queued, a redirect's target becomes so."""
        self.result.stopped = True
        self.result.outcome = "stopped"
        if url.order == FOUND:
            self.result.found.append((url.url, url.depth, url.flags))

    def _request(self, url: str, parts: Parts, kind: Kind) -> Request:
        self.result.requests += 1
        return Request(url, parts.host, parts.port, parts.https, kind, self.deadline, token=self)
