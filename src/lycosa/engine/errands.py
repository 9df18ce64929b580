"""robots.txt files that lie in another domain: asked for as errands, answered for an hour. Pure.

Owns the one exception to "a domain's requests are its own" (P2). A robots.txt that redirects out
of its domain does not send us there: the target becomes a queued URL of *its* domain, marked as an
errand, so that whoever holds that domain makes the request, alone, as a visit with a lease, a
delay and a place in the ledger. The origin that asked waits, and is told when its domain is leased
again. `Slots` are the addresses at which this engine may make such a request now.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from lycosa.engine.scheduler import Held, KnownOrigin
from lycosa.frontier.answers import key
from lycosa.frontier.protocol import ANSWER_MS, Link
from lycosa.outcomes import Drop, Outcome
from lycosa.politeness.robots_reply import redirect_of, rules_of
from lycosa.records import (
    NO_URL,
    Flag,
    Kind,
    Origin,
    QueuedUrl,
    Request,
    Response,
    SharedRobots,
    Url,
)
from lycosa.urls.canonical import host_of, robots_txt, split
from lycosa.urls.domains import domain_of
from lycosa.urls.scope import Scope

MAX_REDIRECTS = 5  # of one robots.txt, in and out of its domain
AIM_MS = 24 * 3600 * 1000  # after which the origin is asked anew where its robots.txt is
LOOK_MOST_MS = 1_200_000  # between two looks for an answer: less than an answer is kept
WAITS = "waits-for-robots"  # what a visit says that found no answer yet; not a failure
UNREACHABLE = Outcome.ROBOTS_UNREACHABLE
OUTCOME = "robots-for-others"  # of the visit that makes the request
KEPT = 64  # answers in the memory of an engine, of at most 500 KiB each
CLAIMS = 100  # addresses asked for in one exchange
# A robots.txt may have any shape: only what the user or the crawl's scope forbids is refused.
_SHAPES = frozenset(
    {Drop.DEPTH, Drop.SEGMENTS, Drop.REPEATED_SEGMENTS, Drop.QUERY_LENGTH, Drop.FILE_TYPE}
)

# Stands for the response of a request that was not made.
NOTHING = Response(Request("", "", 0, False, Kind.ROBOTS, 0.0))


def is_errand(url: QueuedUrl) -> bool:
    return bool(url.flags & Flag.ERRAND)


def link(url: Url, depth: int) -> Link:
    """The URL as it goes to the frontier."""
    ident, fp = key(url)
    return ident, fp, url, depth, domain_of(host_of(url)), Flag.ERRAND


def refused(scope: Scope, url: str, seeded: bool = True) -> str:
    """Why nobody may send us to that URL, '' if they may. Who asks for it does not know whether its
    domain is seeded: the store does."""
    host = host_of(url)
    reason = scope.refuses(url, host, domain_of(host), 0, seeded)
    return "" if reason in _SHAPES else reason


def answer(url: str, response: Response, now_ms: int, agent: str) -> SharedRobots:
    """What came of an errand, for the bot of that name."""
    ident, fp = key(url)
    rules, location = rules_of(response, agent), redirect_of(response)
    if rules is None:
        return SharedRobots(ident, fp, url, now_ms, 0)
    body = b"" if location else rules.dump()
    return SharedRobots(ident, fp, url, now_ms, response.status, location, body)


def where(origin: str, known: KnownOrigin | None, now_ms: int) -> tuple[Url, int]:
    """Where to ask for the robots.txt of an origin first, and after how many redirects."""
    record = known.record if known is not None else Origin(origin)
    if record.aim and now_ms - record.asked_ms < AIM_MS:
        return record.aim, record.hops
    record.aim = NO_URL
    return robots_txt(origin), 0


def forget_run(held: Held, start: str = "") -> None:
    """The store fails what is queued of an origin or domain: the run must not fail it again.
    Errands stay there and here: others wait for them."""
    held.run[:] = [url for url in held.run if is_errand(url) or not url.url.startswith(start)]


def first_url(held: Held, now_ms: int) -> str:
    """Where the first request of a visit goes, if its first URL needs a robots.txt that is known to
    be at another host of the domain; else that URL's own host."""
    url = held.run[0]
    origin = split(url.url).origin
    known = held.origins.get(origin)
    if known is None or not known.record.aim or is_errand(url):
        return url.url
    aim, _ = where(origin, known, now_ms)
    return aim if domain_of(host_of(aim)) == held.name else url.url


def turn_to(record: Origin, aim: Url, hops: int, now_ms: int) -> None:
    """The origin's robots.txt is there, in another domain."""
    if record.aim != aim:
        record.aim, record.hops, record.asked_ms = aim, hops, now_ms


def consult(
    known: KnownOrigin, heard: SharedRobots | None, scope: Scope, now_ms: int
) -> SharedRobots | None:
    """The answer that an origin waits for; with status 0 if it can't be had, None if the origin has
    to wait on. It came with the lease, or the engine has heard it meanwhile."""
    record = known.record
    if refused(scope, record.aim):
        return SharedRobots(*key(record.aim), record.aim, now_ms, 0)
    usable = (each for each in (known.answer, heard) if _counts(each, record, now_ms))
    return max(usable, key=lambda each: each.fetched_ms if each else 0, default=None)


def _counts(found: SharedRobots | None, record: Origin, now_ms: int) -> bool:
    """Good answers count for an hour, bad ones for those who had asked before."""
    if found is None or found.url != record.aim:
        return False
    return found.fetched_ms >= (now_ms - ANSWER_MS if found.status else record.asked_ms)


def waits(known: KnownOrigin, now_ms: int, delay: float) -> None:
    """The origin waits for an answer. It looks again later: the longer it has waited, the later."""
    record = known.record
    record.fetched_ms, record.rules, record.reason, known.parsed = 0, b"", "", None
    waited = (now_ms - record.asked_ms) // 2
    record.retry_ms = now_ms + max(round(delay * 1000), min(waited, LOOK_MOST_MS))


class RecentAnswers:
    """Answers that this engine heard lately, so that most origins need not wait at all."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, SharedRobots] = OrderedDict()

    def get(self, url: str) -> SharedRobots | None:
        return self._known.get(url)

    def learn(self, found: SharedRobots) -> None:
        self._known[found.url] = found
        self._known.move_to_end(found.url)
        if len(self._known) > KEPT:
            self._known.popitem(last=False)


class Slots:
    """At most one errand is under way at an address, in the whole cluster: the store gives slots.

    `hold`: seconds for which a slot is given; `needed`: seconds that an errand may take.
    """

    def __init__(self, needed: float, pause: float) -> None:
        self.needed = needed
        self.hold = 2 * needed
        self.pause = pause
        self.freed: list[tuple[str, float]] = []  # address, and when others may have it
        self._wanted: dict[str, int] = {}  # address -> domain
        self._asked: dict[str, int] = {}  # the same, in the exchange under way
        self._ours: dict[int, tuple[str, float]] = {}  # domain -> address, and until when
        self._line: dict[str, float] = {}  # address -> when the next in line has a look

    def has(self, ident: int, address: str, now: float) -> bool:
        """Whether this domain's errand may go to that address now; else it is asked for."""
        place, until = self._ours.get(ident, ("", 0.0))
        if place == address and now + self.needed <= until:
            return True
        busy = address in self._asked or len(self._wanted) >= CLAIMS
        if not busy:
            self._wanted.setdefault(address, ident)
        return False

    def address(self, ident: int) -> str:
        """Where this domain's errand goes, and nowhere else; '' if anywhere."""
        return self._ours.get(ident, ("", 0.0))[0]

    def turn(self, address: str, now: float, pace: float) -> float:
        """When a domain without a slot looks again: one after the other, `pace` seconds apart."""
        at = max(now, self._line.get(address, 0.0)) + pace
        self._line[address] = at
        return at

    def claims(self) -> list[str]:
        """The addresses to ask the store for."""
        self._asked, self._wanted = self._wanted, {}
        return list(self._asked)

    def granted(self, until: dict[str, float], held: Callable[[int], bool], now: float) -> None:
        """Which addresses the store gave, and until when; those that no held domain needs any more
        are given back."""
        for address, ident in self._asked.items():
            if address in until and held(ident):
                self._ours[ident] = address, until[address]
            elif address in until:
                self.freed.append((address, now))
        self._asked = {}
        self._ours = {i: slot for i, slot in self._ours.items() if slot[1] > now}
        self._line = {address: at for address, at in self._line.items() if at > now}

    def take_freed(self) -> list[tuple[str, float]]:
        freed, self.freed = self.freed, []
        return freed

    def over(self, ident: int, ended: float) -> None:
        """The errand of a domain is done: its address is left alone for a moment."""
        address, _ = self._ours.pop(ident, ("", 0.0))
        if address:
            self.freed.append((address, ended + self.pause))
