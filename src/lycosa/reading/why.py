"""What became of a URL, and why: what `lycosa why` and `Crawl.why` tell.

`explain` is pure: everything known of the URL in, sentences out. The store does not remember what
scope refused; `gather` asks `urls/scope` again, by the present settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lycosa.called import called
from lycosa.engine.one_page_sites import mark_of, one_page
from lycosa.engine.poison import deaths
from lycosa.frontier.filters import Filter
from lycosa.outcomes import DROPS, Drop, Outcome, explained
from lycosa.reading.values import Explanation, page_of
from lycosa.records import Origin, PageRow
from lycosa.settings.stored import stored_settings
from lycosa.settings.values import CrawlSettings
from lycosa.units import duration, utc

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Place
    from lycosa.frontier.reader import Reader

_LATEST = 500  # pages of a domain that are looked at to see whether they are one
_NAMED = 5  # inclusions that are named
# Drops that depend on the page that has the link: the URL alone does not tell whether they hit it.
_BY_PAGE = (Drop.DEPTH, Drop.LINKS_PER_PAGE, Drop.HOST_CAP)


@dataclass(slots=True)
class Facts:
    """Everything known of one URL."""

    url: str  # canonical
    fp: int
    domain: str
    now_ms: int
    asked: str = ""  # as it was typed
    page: PageRow | None = None
    page_id: int = 0
    queue: dict[str, Any] | None = None  # depth, attempts, flags, ahead, waits_until_ms
    depth_on_its_way: int | None = None  # of a link that is not yet in its domain's queue
    domain_row: dict[str, Any] | None = None  # engine_id, idle, ready_at, behind, pages, …
    origin: Origin | None = None
    robots_line: str | None = None  # the rule that forbids it, '' allowed, None not known
    refused: str = ""  # why scope refuses it: the name under which it is counted
    lines: tuple[str, ...] = ()  # the exclusions that hit it
    include: tuple[str, ...] = ()  # what alone is followed
    same_page: int = 0  # pages of its domain that say the same, if that is why no more are wanted
    max_pages_per_domain: int = 0
    max_queued_per_domain: int = 0
    drops: dict[str, int] = field(default_factory=dict)  # of the whole crawl, by reason
    away: Place | None = None  # where its text lies, if that is not here


def explanation(facts: Facts, lines: list[str]) -> Explanation:
    """Facts and sentences as a value."""
    return Explanation(
        url=facts.url,
        fingerprint=f"{facts.fp & (2**64 - 1):016x}",
        domain=facts.domain,
        page=page_of(facts.page_id, facts.page) if facts.page else None,
        queued=facts.queue is not None,
        refused=facts.refused,
        lines=tuple(lines),
    )


def gather(reader: Reader, url: str) -> Facts:
    """Ask the store, and find out what the rules say now."""
    found = reader.find(url)
    settings = stored_settings(found["settings"])
    facts = Facts(
        url=found["url"],
        fp=found["fp"],
        domain=found["domain"],
        now_ms=found["now_ms"],
        asked=url,
        page=found["page"],
        page_id=found["page_id"],
        queue=found["queue"],
        depth_on_its_way=found["on_its_way"] and found["on_its_way"][3],
        domain_row=found["domain_row"],
        origin=found["origin"],
    )
    if facts.origin is not None and facts.origin.rules:
        facts.robots_line = _robots_line(facts.origin, facts.url)
    if facts.page is None and facts.queue is None:
        facts.drops = reader.status()["drops"]
    if settings is not None:
        if facts.drops.get(Drop.SAME_PAGE) and not settings.keep_repeats:
            facts.same_page = _same_page(reader, facts.domain)
        facts.max_pages_per_domain = settings.max_pages_per_domain
        facts.max_queued_per_domain = settings.max_queued_per_domain
        facts.include = settings.include
        facts.refused, facts.lines = _refused(facts, settings, reader)
    return facts


def _same_page(reader: Reader, domain: str) -> int:
    """By its latest pages, as an engine would decide that sees them one after the other."""
    where = Filter(domains=(domain,), outcomes=(Outcome.OK,))
    rows = list(reader.pages(where, limit=_LATEST))
    marks = (mark_of(row.text_chars, row.content_hash, row.simhash) for row in reversed(rows))
    return one_page(marks)


def _robots_line(origin: Origin, url: str) -> str:
    from lycosa.politeness.robots import Rules
    from lycosa.urls.canonical import split

    allowed, line = Rules.load(origin.rules).match(split(url).target)
    return "" if allowed else line or "everything is disallowed"


def _refused(facts: Facts, settings: CrawlSettings, reader: Reader) -> tuple[str, tuple[str, ...]]:
    from lycosa.urls.canonical import split
    from lycosa.urls.scope import Scope, ScopeRules

    _, lines = reader.exclusions()
    seeded = bool(facts.domain_row and facts.domain_row["seeded"])
    # Seeds are queued or done: what is neither would have to be found by a link.
    depth = facts.queue["depth"] if facts.queue else 1 - bool(facts.page)
    rules = ScopeRules(
        max_depth=settings.max_depth,
        seeded_only=settings.seeded_only,
        exclude=(*settings.exclude, *lines),
        include=settings.include,
    )
    scope, host = Scope(rules), split(facts.url).host
    reason = scope.refuses(facts.url, host, facts.domain, depth, seeded)
    return reason, tuple(scope.excluded_by(facts.url, host))


def explain(facts: Facts) -> list[str]:
    """What became of the URL, and why: identity first, then its state, then what surrounds it."""
    lines = [f"URL          {facts.url}"]
    if facts.asked and facts.asked != facts.url:
        lines.append(f"given as     {facts.asked}")
    lines.append(f"fingerprint  {facts.fp & (2**64 - 1):016x}")
    lines.append(f"domain       {facts.domain}")
    if facts.page is not None:
        return lines + _done(facts.page, facts.away) + _rules(facts)
    if facts.queue is not None:
        return lines + _queued(facts, facts.queue) + _rules(facts) + _surroundings(facts)
    return lines + _unknown(facts) + _rules(facts) + _surroundings(facts)


def _done(page: PageRow, away: Place | None) -> list[str]:
    status = f", status {page.status}" if page.status else ""
    lines = [
        f"state        done at {utc(page.fetched_ms)}: {page.outcome}{status}",
        f"             {explained(page.outcome, page.status)}",
    ]
    if page.label:
        lines.append(f"label        {page.label}: {page.label_reason}")
    if page.redirect:
        lines.append(f"redirect     {page.redirect}")
    if page.text_segment:
        where = f"print it with '{called('show')}'"
        if away is not None:
            where = f"kept on {away.host} in {away.directory}"
        lines.append(f"text         {page.text_chars:,} characters ({where})")
    return lines


def _queued(facts: Facts, queue: dict[str, Any]) -> list[str]:
    ahead, wait = queue["ahead"], (queue["waits_until_ms"] - facts.now_ms) / 1000
    place = "next of its domain" if not ahead else f"{ahead:,} URLs of its domain come before it"
    lines = [f"state        queued at depth {queue['depth']}: {place}"]
    if queue["attempts"]:
        lines.append(f"attempts     {queue['attempts']} failed so far")
    if wait > 0:
        until = utc(queue["waits_until_ms"])
        why = "for robots.txt" if facts.origin and facts.origin.aim else "after a failure"
        lines.append(f"waiting      until {until} ({duration(wait)}), {why}")
    died = deaths(queue["flags"])
    if died:
        lines.append(f"deaths       {died} engine(s) died while parsing it")
    return lines


def _unknown(facts: Facts) -> list[str]:
    if facts.refused == Drop.NOT_INCLUDED:
        named = ", ".join(facts.include[:_NAMED]) + (", …" if len(facts.include) > _NAMED else "")
        return [f"state        refused: {facts.refused}: no --include hits it ({named})"]
    if facts.refused:
        return [f"state        refused: {facts.refused}{_by(facts)}"]
    if _capped(facts):
        limit = f"{facts.max_pages_per_domain:,}"
        return [f"state        refused: its domain has the {limit} pages it may have"]
    if facts.depth_on_its_way is not None:
        depth = facts.depth_on_its_way
        return [f"state        found at depth {depth}, on its way to the queue of its domain"]
    if facts.same_page:
        return [
            f"state        refused: {Drop.SAME_PAGE}, if it was found: its domain answers every URL"
            f" with one page, {facts.same_page:,} times so far (--keep-repeats goes on)"
        ]
    if facts.domain_row is None:
        return ["state        never seen, and neither was its domain"]
    lines = []
    queued, most = facts.domain_row.get("queued", 0), facts.max_queued_per_domain
    if most and queued >= most:
        lines.append(f"             or dropped, because the queue of its domain is full ({most:,})")
    lines += [
        f"             or dropped, like {facts.drops[reason]:,} links of this crawl:"
        f" {reason}, {DROPS[reason].replace('`', '')}"
        for reason in _BY_PAGE
        if facts.drops.get(reason)
    ]
    # A link that was dropped is not remembered: then nobody knows whether a page has one.
    state = (
        "not queued: no page that was fetched links to it,"
        if lines
        else ("never seen: no page that was fetched links to it")
    )
    return [f"state        {state}", *lines]


def _by(facts: Facts) -> str:
    return f", by the line {' and '.join(facts.lines)}" if facts.lines else ""


def _capped(facts: Facts) -> bool:
    most, row = facts.max_pages_per_domain, facts.domain_row
    return bool(most and row and row.get("pages", 0) >= most)


def _rules(facts: Facts) -> list[str]:
    """What exclusions, robots.txt and failures of the origin mean for it."""
    origin, lines = facts.origin, []
    if facts.lines and (facts.page or facts.queue):
        lines.append(f"excluded     now{_by(facts)}: it will not be fetched again")
    if origin is None:
        return [*lines, "robots.txt   not asked for yet"]
    if origin.fetched_ms:
        when = f"obtained {utc(origin.fetched_ms)} with status {origin.status}"
        verdict = f"forbids it: {facts.robots_line}" if facts.robots_line else "allows it"
        lines.append(f"robots.txt   {verdict} ({when})")
    elif origin.aim:
        lines += _elsewhere(origin.aim, facts.domain)
    else:
        lines.append("robots.txt   not obtained yet")
    if origin.failures:
        lines.append(f"origin       failed {origin.failures} times in a row{_retry(facts, origin)}")
    if origin.detail:
        lines.append(f"last failure {origin.detail}")
    if origin.reason and origin.retry_ms > facts.now_ms:
        until = utc(origin.retry_ms)
        lines.append(f"             its URLs fail at once until {until}: {origin.reason}")
    return lines


def _elsewhere(aim: str, domain: str) -> list[str]:
    from lycosa.urls.canonical import host_of
    from lycosa.urls.domains import domain_of

    line = f"robots.txt   redirects to {aim}"
    if domain_of(host_of(aim)) == domain:
        return [line, "             the next visit asks for it there"]
    return [line, "             that domain is asked in its own turn; until then the URL waits"]


def _retry(facts: Facts, origin: Origin) -> str:
    return f", not tried before {utc(origin.retry_ms)}" if origin.retry_ms > facts.now_ms else ""


def _surroundings(facts: Facts) -> list[str]:
    """What is known of its domain now."""
    row = facts.domain_row
    if row is None:
        return []
    counts = f"{row['pages']:,} pages, about {row['queued']:,} URLs queued"
    if row["engine_id"]:
        state = f"held by engine {row['engine_id']}"
    elif row["idle"]:
        state = "idle: nothing queued"
    elif row["behind"]:
        state = f"waits behind {row['behind']:,} other domains or more"
    elif row["ready_at"] > facts.now_ms:
        left = (row["ready_at"] - facts.now_ms) / 1000
        state = f"left alone until {utc(row['ready_at'])} ({duration(left)})"
    else:
        state = "ready, waits for an engine"
    lines = [f"its domain   {state}; {counts}"]
    if row.get("delay_ms"):
        asked = duration(row["delay_ms"] / 1000)
        lines.append(f"             its robots.txt asks for {asked} between visits (Crawl-delay)")
    if row.get("failures"):
        lines.append(f"             said {row['failures']} times in a row that it is overloaded")
    return lines
