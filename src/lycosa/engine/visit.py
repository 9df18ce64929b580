"""One visit of a domain: robots.txt where it is not known, one page, redirects inside the domain.

Or one errand (see `errands`): the robots.txt of another domain that lies here, one request.
Owns the order of requests inside a visit, and that none is made against robots.txt (P3). A
generator: it yields `Request`s, is sent `Response`s, and leaves everything that came of it in
`result`. It opens no connection, reads no clock (the responses carry their times), and does not
look into page bodies.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from lycosa.engine import errands
from lycosa.engine.errands import MAX_REDIRECTS, UNREACHABLE
from lycosa.engine.poison import MOST_DEATHS, deaths
from lycosa.engine.scheduler import Held
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.visit_origins import SharedAnswers, VisitOrigins
from lycosa.engine.visit_result import Result, VisitRules, kind_of, request
from lycosa.frontier.protocol import EXCLUDED
from lycosa.outcomes import Drop, Outcome
from lycosa.politeness import delay as politeness
from lycosa.politeness import retry
from lycosa.politeness.robots_reply import location_text
from lycosa.records import (
    FOUND,
    Failure,
    Flag,
    Kind,
    Origin,
    QueuedUrl,
    Request,
    Response,
    Url,
)
from lycosa.urls.canonical import Parts, canonical, over_http, split
from lycosa.urls.domains import domain_of
from lycosa.urls.fingerprint import fingerprint
from lycosa.urls.scope import Scope

Steps = Generator[Request, Response, None]


class Visit:
    """A visit in progress. `shared` knows the answers of other domains."""

    __slots__ = (
        "_clock", "_hops", "_origins", "_seen", "_steps", "current", "first", "held", "result",
        "rules", "scope",
    )  # fmt: skip

    def __init__(
        self,
        held: Held,
        rules: VisitRules,
        scope: Scope,
        now: float,
        clock: StoreClock,
        shared: SharedAnswers = lambda url: None,
    ) -> None:
        self.held = held
        self.rules = rules
        self.scope = scope
        self.result = Result(held, now, now, clock.ms(now))
        self.first: QueuedUrl | None = None  # that is tried, with its place in the queue
        self.current: QueuedUrl | None = None  # it, or where its redirects led
        self._clock = clock
        self._origins = VisitOrigins(held, rules, scope, clock, self.result, shared)
        self._hops = 0
        self._seen: set[str] = set()
        self._steps = self._run()

    def begin(self) -> Request | None:
        """The first request; None if the visit needs none."""
        first = next(self._steps, None)
        if first is not None:
            first.token = self
        return first

    def resume(self, response: Response) -> Request | None:
        """The next request after a response; None when the visit is over."""
        result = self.result
        result.ended = response.ended
        result.ended_ms = self._clock.ms(response.ended)
        if response.address:
            result.address = response.address
        try:
            following = self._steps.send(response)
        except StopIteration:
            return None
        following.token = self
        return following

    def give_up(self, reason: str) -> None:
        """lycosa's own code raised: the URL that the visit is busy with, if any, fails."""
        if self.current is not None:
            self._fail(self.current, reason)

    # -- the visit ----------------------------------------------------------------------------

    def _run(self) -> Steps:
        """URLs that need no request are settled on the way; the first page ends the visit. Of
        errands only the first URL is tried: it is the one that a slot was asked for."""
        run = self.held.run
        head = run[0] if run else None
        if self.scope.excluded_domain(self.held.name):
            run.clear()
            self.result.purges.append(("", EXCLUDED))
        while (url := self._choose()) is not None:
            if self.result.requests and not self._knows(url):
                run.insert(0, url)  # robots.txt of one origin is enough for a visit
                return
            if errands.is_errand(url):
                if url is head:
                    yield from self._errand(url)
                else:
                    run.insert(0, url)
                return
            over = yield from self._attempt(url)
            if over:
                return

    def _knows(self, url: QueuedUrl) -> bool:
        return self._origins.knows(split(url.url).origin) and not errands.is_errand(url)

    def _choose(self) -> QueuedUrl | None:
        """The next URL of the run that may be tried now."""
        run = self.held.run
        while run:
            url = run.pop(0)
            parts = split(url.url)
            if deaths(url.flags) >= MOST_DEATHS:
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
        if known is None or known.record.retry_ms <= self.result.ended_ms:
            return False
        if known.record.aim and errands.is_errand(url):
            return False  # or two origins that send us to each other would wait for ever
        self._settle(url, known.record)
        return True

    def _settle(self, url: QueuedUrl, origin: Origin) -> None:
        """A URL shares the fate of its origin: it fails, or waits."""
        if origin.reason:
            self._fail(url, origin.reason)
        else:
            self._wait_until(url, origin.retry_ms, url.attempts)

    def _attempt(self, url: QueuedUrl) -> Generator[Request, Response, bool]:
        """Try one URL and what it redirects to; True when the visit is over."""
        self.first = url
        current: QueuedUrl | None = url
        while current is not None:
            parts = split(current.url)
            self.current = current
            self._seen.add(current.url)
            rules, failure = yield from self._origins.rules(parts, current.depth)
            if rules is None:
                current = self._no_robots(current, parts, failure)
                if current is None:
                    return self.result.requests > 0 or self.result.stopped
                continue
            if not rules.allows(parts.target):
                self._fail(current, Outcome.ROBOTS)
                return self._hops > 0
            response = yield request(self.result, self.rules, current.url, parts, kind_of(current))
            current = self._answer(current, parts, response)
        return True

    def _no_robots(self, url: QueuedUrl, parts: Parts, failure: str) -> QueuedUrl | None:
        """The rules could not be had: another URL to try now; or None, and this one waits or
        fails."""
        if failure == Failure.STOPPED:
            self._stop(url)
            return None
        if url.flags & Flag.BARE and parts.https and failure in retry.NO_HTTPS:
            self._origins.forget(parts.origin)
            return self._step_to(url, over_http(url.url), None)
        self.result.outcome = failure or UNREACHABLE
        if failure in Failure.OURS:
            self._wait(url, self.rules.delay, url.attempts)
        else:
            self._settle(url, self.held.origins[parts.origin].record)
        return None

    def _answer(self, url: QueuedUrl, parts: Parts, response: Response) -> QueuedUrl | None:
        """What a page's response means; the URL to go on with after a redirect in the domain."""
        result = self.result
        result.outcome = response.failure or "fetched"
        if response.failure:
            self._failed(url, parts, response)
        elif response.status in retry.BUSY:
            self._busy(url, response)
        else:
            self._origins.answered(parts.origin)
            location = response.header(b"location") if 300 <= response.status < 400 else ""
            if location:
                return self._redirect(url, location, response)
            result.page = (url, response)
            self.held.remember(url.fp)
        return None

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
        """Record that `url` leads to `target` in the same domain; the URL to go on with, if the
        visit may go there now."""
        self._hops += 1
        fp = fingerprint(target)
        if fp == url.fp:
            # Only a tracking parameter was added or removed: the same page under another name.
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

    # -- errands ------------------------------------------------------------------------------

    def _errand(self, url: QueuedUrl) -> Steps:
        """Another domain's robots.txt is here: one request, and nothing else in this visit."""
        self.first = self.current = url
        response = yield request(self.result, self.rules, url.url, split(url.url), Kind.ROBOTS)
        self.result.robots_fetched += 1
        self.result.outcome = errands.OUTCOME
        if response.failure == Failure.STOPPED:
            self._stop(url)
        elif response.failure in Failure.OURS:
            self._wait(url, self.rules.delay, url.attempts)
        else:
            self._answer_errand(url, response)

    def _answer_errand(self, url: QueuedUrl, response: Response) -> None:
        result = self.result
        if response.status in retry.BUSY:
            asked = retry.retry_after(response.header(b"retry-after"), result.ended_ms)
            result.pause = min(asked or 0.0, politeness.DAY)
        started_ms = self._clock.ms(response.started) if response.started else result.ended_ms
        result.answers.append(errands.answer(url.url, response, started_ms, self.rules.agent))
        result.dropped.append((url, ""))  # it leaves the queue, and may come again

    # -- failures -----------------------------------------------------------------------------

    def _failed(self, url: QueuedUrl, parts: Parts, response: Response) -> None:
        """A page's request brought no response."""
        failure = response.failure
        if failure == Failure.STOPPED:
            self._stop(url)
        elif failure in Failure.HOST:
            self._settle(url, self._origins.failed(parts.origin, response))
        else:
            self._origins.note_failure(parts.origin, response)
            wait = retry.url_wait(url.attempts, failure, self.rules.delay)
            if wait is None:
                self._fail(url, failure)
            else:
                attempts = url.attempts + (failure not in Failure.OURS)
                self._wait(url, wait, attempts)

    def _busy(self, url: QueuedUrl, response: Response) -> None:
        """429 and 503 count against the domain, not the URL."""
        header = response.header(b"retry-after")
        ended = self.result.ended_ms
        pause = retry.busy_pause(header, ended, self.held.failures, self.held.delay)
        self.result.pause = pause.seconds
        self.result.outcome = "busy"
        self.held.failures = 0 if pause.give_up else self.held.failures + 1
        if pause.give_up:
            self._fail(url, pause.give_up, response.status)
            if pause.whole_domain:
                errands.forget_run(self.held)
                self.result.purges.append(("", pause.give_up))
        else:
            self._wait(url, pause.seconds, url.attempts)

    def _fail(self, url: QueuedUrl, reason: str, status: int = 0) -> None:
        """A URL fails for good. Of an errand, the origins that wait for its answer are told."""
        if errands.is_errand(url):
            self._answer_errand(url, errands.NOTHING)
        else:
            self.result.failed.append((url, reason, status))

    def _wait(self, url: QueuedUrl, seconds: float, attempts: int) -> None:
        self._wait_until(url, self.result.ended_ms + round(seconds * 1000), attempts)

    def _wait_until(self, url: QueuedUrl, until_ms: int, attempts: int) -> None:
        """The URL stays queued; one that was met on the way becomes queued."""
        if url.order == FOUND:
            self.result.found.append((url.url, url.depth, url.flags))
        else:
            self.result.deferred.append((url, until_ms, attempts))

    def _stop(self, url: QueuedUrl) -> None:
        """The engine cut the request off: the URL stays queued, a redirect's target becomes so."""
        self.result.stopped = True
        self.result.outcome = "stopped"
        if url.order == FOUND:
            self.result.found.append((url.url, url.depth, url.flags))
