"""Judges a crawler by the server's log: was it polite, all the time, to every domain?

Owns the proof of P1, P2 and P3 (docs/architecture.md) from the outside. It shares no code with the
crawler: it knows the world, in which the meaning of every robots.txt is given, and the log, which
the crawler can't write. Pure: entries in, a report out.

A visit is what one turn of a domain may do: robots.txt of an origin, one page, up to five
redirects that stay in the domain (with the robots.txt of their origins), and one switch from a
failed https to http. Whatever is closer to the request before it than the delay must be one of
these; everything else begins a new visit and was too soon. An errand, the robots.txt to which
another domain redirects, is a visit of its own with one request: no site may send a crawler to
another without that one's delay.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from urllib.parse import urljoin, urlsplit

from lycosa.simweb.paths import registrable
from lycosa.simweb.reqlog import Entry
from lycosa.simweb.world import World

MAX_HOPS = 5
NOTICED_LATE = 0.15  # seconds until a server notices a closed connection, beside 20 busy processes
ROBOTS_AGE = 24 * 3600.0  # seconds that a robots.txt may be used
OWN_SECONDS = 60.0  # in which a robots.txt redirect inside the domain is followed
_CONTACT = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
_READINGS = 4  # ways to read the present visit that are kept at a time
_SHOWN = 20  # violations in the printed report


@dataclass(slots=True, frozen=True)
class Violation:
    """One rule broken by one request."""

    rule: str  # P1, P2, P3 or agent
    kind: str  # tests/simweb/test_check.py has an example of each
    domain: str
    url: str
    at: float  # seconds, monotonic
    detail: str = ""


@dataclass
class Report:
    """What was found."""

    requests: int = 0
    domains: int = 0
    visits: int = 0
    pages: int = 0  # requests for pages, redirects included
    robots: int = 0
    resends: list[str] = field(default_factory=list)  # sent again after a reply without a byte
    refetches: list[str] = field(default_factory=list)  # pages asked for again after a 200
    robots_refetches: int = 0  # within a day of a good answer
    cross_robots: dict[str, int] = field(default_factory=dict)  # target -> most in one hour
    agents: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """No rule was broken."""
        return not self.violations

    def kinds(self) -> dict[str, int]:
        """How often each kind of violation was found."""
        counts: dict[str, int] = defaultdict(int)
        for violation in self.violations:
            counts[f"{violation.rule} {violation.kind}"] += 1
        return dict(counts)

    def text(self) -> str:
        """For people."""
        lines = [
            f"requests {self.requests}, domains {self.domains}, visits {self.visits}",
            f"pages {self.pages}, robots.txt {self.robots} ({self.robots_refetches} again in 24 h)",
            f"pages fetched again {len(self.refetches)}, resent after no reply {len(self.resends)}",
        ]
        lines += [f"  again: {url}" for url in self.refetches[:_SHOWN]]
        lines += [f"{url}: at most {n} in an hour" for url, n in self.cross_robots.items()]
        lines += [f"user agent: {agent}" for agent in self.agents]
        lines += [f"VIOLATION {kind}: {n}" for kind, n in sorted(self.kinds().items())]
        for v in self.violations[:_SHOWN]:
            lines.append(f"  {v.at:.3f} {v.rule} {v.kind} {v.url} {v.detail}")
        lines.append("polite" if self.ok else f"NOT polite: {len(self.violations)} violations")
        return "\n".join(lines)


def check(log: Iterable[Entry], world: World, delay: float, tolerance: float = 0.005) -> Report:
    """Judges a whole log. `tolerance`: seconds by which the server's times may be late."""
    entries = sorted(log, key=lambda entry: entry.start)
    return _Judge(world, delay, tolerance).judge(entries)


@dataclass
class _Visit:
    """What the present visit of a domain has done so far."""

    robots: set[str] = field(default_factory=set)  # origins asked for theirs
    page: Entry | None = None  # the last request for a page
    aim: str = ""  # where a redirect just served leads, in the domain
    hops: int = 0
    robots_aim: str = ""
    robots_hops: int = 0
    switched: bool = False
    resent: bool = False
    alone: bool = False  # made for another domain: nothing may follow


@dataclass
class _Domain:
    """What the log has said of a domain so far."""

    visits: list[_Visit] = field(default_factory=list)  # readings of the present one
    last: Entry | None = None
    last_end: float = -math.inf  # of all its responses
    crawl_delay: float = 0.0
    not_before: float = -math.inf  # from Retry-After


class _Judge:
    def __init__(self, world: World, delay: float, tolerance: float) -> None:
        self._world, self._delay, self._tolerance = world, delay, tolerance
        self._report = Report()
        self._domains: dict[str, _Domain] = defaultdict(_Domain)
        self._good: dict[str, list[Entry]] = {}  # robots URL -> answers that settle it, in order
        self._bad: set[str] = set()  # robots URLs that have only failed
        self._aims: dict[str, float] = {}  # robots redirects in a domain: URL -> when
        self._errands: set[str] = set()  # where robots.txt files of other domains lead
        self._cross: dict[str, list[float]] = defaultdict(list)
        self._kept: set[str] = set()

    def judge(self, entries: list[Entry]) -> Report:
        """Goes through the log once, in the order of time."""
        for entry in entries:
            self._one(entry)
        report = self._report
        report.domains = len(self._domains)
        report.cross_robots = {url: _most_in_an_hour(t) for url, t in sorted(self._cross.items())}
        self._judge_agents(entries)
        return report

    def _one(self, entry: Entry) -> None:
        self._report.requests += 1
        since = self._aims.get(entry.url, -math.inf)
        robots = entry.target == "/robots.txt" or entry.start - since < OWN_SECONDS
        errand = entry.url in self._errands
        if errand:
            self._cross[entry.url].append(entry.start)
        if robots or errand:
            self._note_robots(entry, errand)
        else:
            self._judge_page(entry)
        self._judge_time(entry, robots, errand)

    def _blame(self, rule: str, kind: str, entry: Entry, detail: str = "") -> None:
        self._report.violations.append(
            Violation(rule, kind, entry.domain, entry.url, entry.start, detail)
        )

    # P3: robots.txt

    def _note_robots(self, entry: Entry, errand: bool) -> None:
        report, url = self._report, entry.url
        report.robots += 1
        before = self._good.get(url, ())
        if before and before[-1].status < 300 and entry.start - before[-1].end < ROBOTS_AGE:
            report.robots_refetches += 1
        if 300 <= entry.status < 400 and entry.location:
            aim = urljoin(url, entry.location)
            if errand or registrable(urlsplit(aim).hostname or "") != entry.domain:
                self._errands.add(aim)
            else:
                self._aims[aim] = entry.end
        if _settles(entry.status):
            self._good.setdefault(url, []).append(entry)
            self._bad.discard(url)
        elif url not in self._good:
            self._bad.add(url)
        if 200 <= entry.status < 300 and not errand:  # one asked for others teaches them only
            domain = self._domains[entry.domain]
            asked = self._world.crawl_delay(entry.host)
            domain.crawl_delay = max(domain.crawl_delay, asked)

    def _judge_page(self, entry: Entry) -> None:
        report = self._report
        report.pages += 1
        if entry.url in self._kept:
            report.refetches.append(entry.url)
        if entry.status == 200:
            self._kept.add(entry.url)
        problem = self._robots_problem(entry)
        if problem:
            self._blame("P3", problem, entry)
        elif self._world.allowed(entry.url) is False:
            self._blame("P3", "disallowed", entry)

    def _robots_problem(self, entry: Entry) -> str:
        """What is wrong with what the crawler could know of the origin's robots.txt, or ''."""
        url = entry.origin + "/robots.txt"
        for _ in range(MAX_HOPS + 1):
            # Another engine may be asking again just now: the answer before still counts.
            answers = reversed(self._good.get(url, ()))
            good = next((a for a in answers if a.end <= entry.start + self._tolerance), None)
            if good is None:
                return "robots-unreachable" if url in self._bad else "robots-missing"
            if entry.start - good.end > ROBOTS_AGE:
                return "robots-stale"
            if not 300 <= good.status < 400:
                return ""
            url = urljoin(url, good.location)
        return ""  # endless redirects count as a robots.txt that does not exist

    # P1 and P2: time

    def _judge_time(self, entry: Entry, robots: bool, errand: bool) -> None:
        """Whether the request continues a visit, or came late enough to begin one.

        After a whole delay both may be true, because a busy machine can stall inside a visit: then
        both readings are kept, and only a request that fits neither is a violation. The same holds
        for an errand, which may have been the domain's own request.
        """
        domain = self._domains[entry.domain]
        last = domain.last
        if last is not None and entry.start < domain.last_end - self._tolerance:
            self._blame("P2", "overlap", entry, f"with {last.url}")
        gap = entry.start - domain.last_end
        needed = max(self._delay, domain.crawl_delay)
        if robots and last is not None and last.url == entry.url:
            needed = self._delay  # asked again: the engine that had the answer died
        late = domain.not_before - entry.start
        rested = gap >= needed - self._tolerance and late <= self._tolerance
        going_on = [v for v in domain.visits if last and _fits(v, last, entry, robots)]
        if going_on and last and _resent(last, entry) and not rested:
            self._report.resends.append(entry.url)
        if not going_on and not rested:
            self._blame_haste(domain, entry, robots, gap, needed, late)
        if rested or not going_on:
            self._report.visits += 1
            going_on += [_Visit(), _Visit(alone=True)] if errand else [_Visit()]
        domain.visits = [_advanced(v, last, entry, robots) for v in going_on[-_READINGS:]]
        domain.last = entry
        domain.last_end = max(domain.last_end, _ended(entry))
        if entry.retry_after:
            domain.not_before = entry.end + entry.retry_after

    def _blame_haste(
        self, domain: _Domain, entry: Entry, robots: bool, gap: float, needed: float, late: float
    ) -> None:
        last = domain.last
        if last is not None and gap < needed - self._tolerance:
            kind = self._too_soon(domain.visits[-1], entry, robots, gap)
            self._blame("P1", kind, entry, f"{gap:.3f} s after {last.url}, not {needed:g}")
        elif late > self._tolerance:
            self._blame("P1", "retry-after", entry, f"{late:.3f} s early")

    def _too_soon(self, visit: _Visit, entry: Entry, robots: bool, gap: float) -> str:
        """The name of what went wrong when a request came too soon."""
        if gap >= self._delay - self._tolerance:
            return "crawl-delay"
        if visit.alone or entry.url in self._errands:
            return "third-party"
        if not robots and entry.url == visit.aim:
            return "too-many-hops"
        if robots and entry.url == visit.robots_aim:
            return "too-many-robots-hops"
        return "robots-again" if robots else "second-page"

    # The user agent

    def _judge_agents(self, entries: list[Entry]) -> None:
        first: dict[str, Entry] = {}
        for entry in entries:
            first.setdefault(entry.agent, entry)
        self._report.agents = sorted(first)
        for agent, entry in first.items():
            if not _CONTACT.search(agent):
                self._blame("agent", "no-contact", entry, repr(agent))


def _advanced(before: _Visit, last: Entry | None, entry: Entry, robots: bool) -> _Visit:
    """The visit after this request."""
    visit = replace(before, robots=set(before.robots))
    visit.resent |= last is not None and _resent(last, entry)
    aim = urljoin(entry.url, entry.location) if 300 <= entry.status < 400 else ""
    if aim and registrable(urlsplit(aim).hostname or "") != entry.domain:
        aim = ""
    if robots:
        followed = entry.url == visit.robots_aim
        visit.robots_hops = visit.robots_hops + 1 if followed else 0
        visit.robots_aim = aim
        if not followed:
            visit.robots.add(entry.origin)
    else:
        visit.hops += entry.url == visit.aim
        visit.switched |= visit.page is not None and visit.page.scheme != entry.scheme
        visit.page, visit.aim = entry, aim
    return visit


def _fits(visit: _Visit, last: Entry, entry: Entry, robots: bool) -> bool:
    """Whether this request is a part of the visit that is under way."""
    if visit.alone:
        return False
    if robots:
        followed = entry.url == visit.robots_aim and visit.robots_hops < MAX_HOPS
        return followed or _may_ask_robots(visit, last, entry)
    if visit.page is None:
        return True
    if entry.url == visit.aim:
        return visit.hops < MAX_HOPS
    if _resent(last, entry):
        return not visit.resent
    return _switch(visit, entry) and visit.page.target == entry.target


def _may_ask_robots(visit: _Visit, last: Entry, entry: Entry) -> bool:
    """Whether the visit touches a new origin: that of a redirect, or http after https failed."""
    if entry.origin in visit.robots:
        return False
    if visit.page is None:
        return _failed_https(last, entry)
    return _origin(visit.aim) == entry.origin or _switch(visit, entry)


def _resent(last: Entry, entry: Entry) -> bool:
    """Whether a request was sent again after a connection closed without a byte, as HTTP allows."""
    return last.url == entry.url and last.status == 0


def _failed_https(failed: Entry, entry: Entry) -> bool:
    same = failed.host == entry.host and failed.status == 0
    return same and failed.scheme == "https" and entry.scheme == "http"


def _switch(visit: _Visit, entry: Entry) -> bool:
    """Whether the visit goes on over http after its page failed over https; once."""
    return visit.page is not None and not visit.switched and _failed_https(visit.page, entry)


def _settles(status: int) -> bool:
    """Whether a crawler knows after this answer what it may do, or where to ask."""
    return 200 <= status < 500 and status != 429


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _most_in_an_hour(times: list[float]) -> int:
    """The largest number of times within any hour."""
    most = begin = 0
    for end, time in enumerate(times):
        while time - times[begin] >= 3600:
            begin += 1
        most = max(most, end - begin + 1)
    return most


def _ended(entry: Entry) -> float:
    """When a request was over. A request that was never answered ended when the crawler closed the
    connection, which a busy server notices late."""
    return entry.end if entry.status else max(entry.start, entry.end - NOTICED_LATE)
