"""`lycosa audit --domain NAME`: the answer to a site's owner who complains, to be mailed as it is.

Says when the crawl visited the domain, what it asked for, which robots.txt was in force and how
long the pauses were, from the ledgers of visits and the store. Where something is not known,
because a process was killed or a ledger is elsewhere, it says so. `answer` is pure: facts in, lines
out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from lycosa.archive.audit import AuditReport, audit_visits
from lycosa.archive.ledger import read_visits
from lycosa.outcomes import Outcome
from lycosa.politeness.robots import Rules
from lycosa.reading.domains import robots_file, visit_values
from lycosa.reading.values import DomainVisit, Page, RobotsFile
from lycosa.records import Origin
from lycosa.units import duration, shorter_before, utc
from lycosa.urls.canonical import split

if TYPE_CHECKING:
    from lycosa.reading.crawl import Crawl
    from lycosa.settings.values import CrawlSettings

WIDTH = 78  # characters of a line: mail
EXAMPLES = 20  # URLs that are named
LATE_MS = 1_000  # a page is noted when its visit ends, by a clock that may differ a little


@dataclass(slots=True)
class Complaint:
    """What is known of the visits to one domain."""

    domain: str
    user_agent: str
    token: str  # by which a robots.txt names the crawl
    contact: str
    delay: float  # s, of the crawl
    since_ms: int = 0  # of what is told; 0: all
    until_ms: int = 0
    report: AuditReport = field(default_factory=AuditReport)  # of all visits, whenever they were
    visits: list[DomainVisit] = field(default_factory=list)  # in that time, the oldest first
    urls: dict[int, list[str]] = field(default_factory=dict)  # what was asked for, by visit
    pages: int = 0  # URLs that were asked for in that time, and are done
    robots: list[RobotsFile] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)  # fetched although robots.txt forbids it
    forbidden_count: int = 0
    earlier: int = 0  # pages that were fetched under an earlier robots.txt
    before: Sequence[tuple[int, float]] = ()  # delays that held earlier, and until when
    unseen: list[str] = field(default_factory=list)  # where ledgers lie that were not read

    @property
    def ok(self) -> bool:
        """No pause was too short, no two visits at once, nothing forbidden was fetched."""
        return self.report.ok and not self.forbidden_count

    @property
    def requests(self) -> int:
        return sum(visit.requests for visit in self.visits)

    @property
    def cut_off(self) -> int:
        return sum(not visit.finished for visit in self.visits)


def gather(
    crawl: Crawl,
    settings: CrawlSettings,
    roots: Sequence[Path],
    domain: str,
    limit: int,
    *,
    before: Sequence[tuple[int, float]],
    tolerance_ms: int,
    since_ms: int,
    until_ms: int,
) -> Complaint:
    """Read the ledgers of these directories and the pages of the domain."""
    visits = sorted(
        chain.from_iterable(read_visits(root, domain) for root in roots),
        key=lambda visit: (visit.start_ms, visit.end_ms),
    )
    found = Complaint(
        domain, settings.user_agent, settings.bot_name, settings.email, settings.delay,
        since_ms, until_ms, report=audit_visits(visits, settings.delay, before, tolerance_ms),
        before=before,
    )  # fmt: skip
    found.visits = [each for each in visit_values(visits) if _within(found, each.started_ms)]
    origins = crawl.origins(domain)
    found.robots = list(map(robots_file, origins))
    _note_pages(found, crawl.pages(domain=domain), origins, limit)
    return found


def _within(found: Complaint, ms: int) -> bool:
    return ms >= found.since_ms and not (found.until_ms and ms >= found.until_ms)


def _note_pages(
    found: Complaint, pages: Iterable[Page], origins: Iterable[Origin], limit: int
) -> None:
    """Which URLs each of the last visits asked for, and whether one of them was forbidden."""
    rules = {
        each.origin: (each.fetched_ms, Rules.load(each.rules)) for each in origins if each.rules
    }
    shown = found.visits[-limit:] if limit else []
    ends = [visit.ended_ms for visit in found.visits]  # of all: a page may be of an earlier one
    first = len(ends) - len(shown)
    for page in pages:
        if not _within(found, page.fetched_ms):
            continue
        found.pages += page.outcome != Outcome.ROBOTS
        at = bisect_left(ends, page.fetched_ms - LATE_MS)
        near = range(at, bisect_right(ends, page.fetched_ms + LATE_MS))
        best = min(near, key=lambda n: abs(ends[n] - page.fetched_ms), default=-1)
        if best >= first:
            found.urls.setdefault(best - first, []).append(_page_text(page))
        if page.status and page.outcome != Outcome.SITEMAP:
            _judge(found, page, rules)


def _judge(found: Complaint, page: Page, rules: dict[str, tuple[int, Rules]]) -> None:
    """Whether robots.txt, as it was read last, forbids a page that was fetched after that."""
    parts = split(page.url)
    read_ms, rule = rules.get(parts.origin, (0, Rules()))
    if page.fetched_ms < read_ms:
        found.earlier += 1
    elif not rule.allows(parts.target):
        found.forbidden_count += 1
        if len(found.forbidden) < EXAMPLES:
            found.forbidden.append(f"{utc(page.fetched_ms)} {page.url}")


def _page_text(page: Page) -> str:
    if page.outcome == Outcome.ROBOTS:
        return f"{page.url} was not asked for: robots.txt forbids it"
    return f"{page.url} ({page.status or page.outcome}, {page.wire_bytes:,} bytes)"


# -- in words -------------------------------------------------------------------------------------


def answer(found: Complaint, limit: int) -> list[str]:
    """The whole answer; pure."""
    parts = [
        f"This is what the crawler {found.user_agent} did at {found.domain}. Its operator is"
        f" {found.contact}. All times are UTC. They come from the crawler's ledger of visits, in"
        " which the start of a visit stands before its first request is sent.",
        _when(found),
    ]
    if not found.visits:
        return _wrapped([*parts, *_gaps(found)])
    parts += [_pauses(found), _rules(found)]
    lines = _wrapped([*parts, *_gaps(found)])
    for file in found.robots:
        lines += ["", *_robots(file, found.token)]
    lines += ["", *_list(found, limit)]
    return [*lines, "", *_wrapped([_advice(found)])]


def _wrapped(parts: Iterable[str]) -> list[str]:
    lines: list[str] = []
    for part in parts:
        broken = wrap(part, WIDTH, break_long_words=False, break_on_hyphens=False)
        lines += ([""] if lines else []) + broken
    return lines


def _when(found: Complaint) -> str:
    begin = f" since {utc(found.since_ms)}" if found.since_ms else ""
    end = f" until {utc(found.until_ms)}" if found.until_ms else ""
    if not found.visits:
        return f"It did not visit {found.domain}{begin}{end}."
    first, last = found.visits[0], found.visits[-1]
    many = f"{_count(len(found.visits), 'visit')} with {_count(found.requests, 'request')}"
    text = (
        f"When: it made {many}{begin}{end}, the first at {utc(first.started_ms)}, the last at"
        f" {utc(last.started_ms)}. {_count(found.pages, 'URL')} were done in that time, besides"
        " robots.txt."
    )
    addresses = sorted({visit.address for visit in found.visits if visit.address})
    if addresses:
        more = f" and {len(addresses) - 5:,} more" if len(addresses) > 5 else ""
        text += f" The server's address was {', '.join(addresses[:5])}{more}."
    return text


def _pauses(found: Complaint) -> str:
    report, gap = found.report, found.report.smallest_gap_ms
    if gap is None:
        return "Pauses: there was one visit only."
    text = (
        f"Pauses: between the end of a visit and the start of the next it has to wait at least"
        f" {found.delay:g} s{shorter_before(found.delay, found.before)}, or longer where robots.txt"
        f" or the server asks for it. The smallest pause of all visits was {gap / 1000:,.3f} s."
    )
    if report.ok:
        return f"{text} No visit came too soon, and no two were made at once."
    wrong = [
        f"the visit of {utc(each.start_ms)} began {(each.start_ms - each.end_ms) / 1000:.3f} s"
        f" after the end of the one before, {each.needed_ms / 1000:g} s were needed"
        for each in report.examples[:5]
    ]
    return (
        f"{text} THIS RULE WAS BROKEN: {_count(report.too_soon, 'visit')} came too soon,"
        f" {report.overlaps:,} overlapped with another: {'; '.join(wrong)}."
    )


def _rules(found: Complaint) -> str:
    text = (
        "robots.txt: no page is asked for unless the robots.txt of its host was read within the"
        " 24 hours before, and allows it."
    )
    if found.forbidden_count:
        text += (
            f" THIS RULE WAS BROKEN: {_count(found.forbidden_count, 'URL')} were fetched that the"
            f" copy below forbids: {'; '.join(found.forbidden)}."
        )
    else:
        text += " No URL that the copy below forbids was fetched since it was read."
    if found.earlier:
        text += (
            f" {_count(found.earlier, 'URL')} were fetched before that, under an earlier copy,"
            " which is not kept here."
        )
    return text


def _gaps(found: Complaint) -> list[str]:
    """What is not known."""
    parts = []
    if found.cut_off:
        parts.append(
            f"{_count(found.cut_off, 'visit')} did not end in the ledger, because the process was"
            " killed or is still at it: of these the start is known, not how many requests"
            " followed. The pause after them counts from that start; the crawler waits a whole"
            " delay from the moment at which it finds them."
        )
    if found.unseen:
        parts.append(
            "This is not the whole answer: visits may also be in ledgers that were not read here,"
            f" in {', '.join(found.unseen)}."
        )
    return parts


def _robots(file: RobotsFile, token: str) -> list[str]:
    place = f"{file.origin}/robots.txt"
    if not file.fetched_ms:
        return [f"{place} could not be read: nothing of that host may be asked for."]
    head = f"{place}, read {utc(file.fetched_ms)} with status {file.status}"
    if not file.lines:
        return [f"{head}: it has no rule for '{token}'."]
    shown, more = file.lines[:EXAMPLES], len(file.lines) - EXAMPLES
    rest = [f"    … and {more:,} more"] if more > 0 else []
    return [f"{head}, says to '{token}':", *(f"    {line}" for line in shown), *rest]


def _list(found: Complaint, limit: int) -> list[str]:
    shown = found.visits[-limit:]
    which = "All visits" if len(shown) == len(found.visits) else f"The last {len(shown):,} visits"
    lines = [f"{which}:"]
    for number, visit in enumerate(shown):
        lines.append(f"  {_visit(visit)}")
        lines += [f"    {url}" for url in found.urls.get(number, ())]
    return lines


def _visit(visit: DomainVisit) -> str:
    pause = "" if visit.pause is None else f", {duration_of(visit.pause)} after the visit before"
    if not visit.finished:
        return f"{utc(visit.started_ms)} cut off{pause}"
    took = duration_of((visit.ended_ms - visit.started_ms) / 1000)
    asked = _count(visit.requests, "request")
    return f"{utc(visit.started_ms)} {asked} in {took}{pause}: {visit.outcome}"


def duration_of(seconds: float) -> str:
    """A time that may be short."""
    return f"{seconds:.3f} s" if seconds < 60 else duration(seconds)


def _advice(found: Complaint) -> str:
    return (
        f"To keep this crawler out of a site, write 'User-agent: {found.token}' and 'Disallow: /'"
        " into its robots.txt; to slow it down, 'Crawl-delay: 300' (seconds). It reads the file"
        " again within 24 hours."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def facts(found: Complaint, limit: int) -> dict[str, Any]:
    """The answer for programs, and in words."""
    shown = found.visits[-limit:]
    return {
        "ok": found.ok,
        "domain": found.domain,
        "user_agent": found.user_agent,
        "token": found.token,
        "contact": found.contact,
        "delay": found.delay,
        "visits": len(found.visits),
        "requests": found.requests,
        "cut_off": found.cut_off,
        "urls": found.pages,
        "report": asdict(found.report),
        "robots": [asdict(each) for each in found.robots],
        "forbidden": found.forbidden_count,
        "forbidden_urls": found.forbidden,
        "under_an_earlier_robots_txt": found.earlier,
        "unseen": found.unseen,
        "last_visits": [
            {**asdict(visit), "urls": found.urls.get(number, [])}
            for number, visit in enumerate(shown)
        ],
        "answer": answer(found, limit),
    }
