"""`lycosa domains`, `lycosa domain NAME` and `lycosa queue`: a look around in a crawl."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import opened_crawl, opened_nodes
from lycosa.node.display import kinds
from lycosa.settings.collect import Values
from lycosa.terminal import one_line
from lycosa.units import duration, utc

if TYPE_CHECKING:
    from lycosa.reading.values import Domain, DomainLine, DomainVisit, QueuedPage, RobotsFile

RULES_SHOWN = 100  # lines of a robots.txt
# What a list is sorted by, in words, and the head of its column where it has one of its own.
SORTED = {
    "pages": ("by pages", ""),
    "queued": ("by queued URLs", ""),
    "failing": ("by URLs that failed", "failed"),
    "delay": ("by the delay that their robots.txt asks for", ""),
    "slowest": ("by the time that a request takes", "seconds"),
}


def domains(values: Values, _: list[str]) -> int:
    """List domains, sorted."""
    sort = values["sort"]
    with opened_nodes(values) as crawl:
        found = crawl.domains(sort, values["limit"])
        now_ms = crawl.now_ms()
    if values["json"]:
        print_json({"sort": sort, "of": found.of, "domains": [asdict(each) for each in found]})
    else:
        print("\n".join(map(one_line, list_lines(found, sort, found.of, now_ms))))
    return 0


def list_lines(found: Sequence[DomainLine], sort: str, of: str, now_ms: int) -> list[str]:
    """A list of domains for people; pure."""
    words, column = SORTED[sort]
    head = f"Domains {words}, the first {len(found):,}, from {of}:"
    if not found:
        return [
            f"No domain is in the list {words}, made of {of}. What happens in a running crawl is in"
            " it some seconds later."
        ]
    rows = [("domain", column, "pages", "queued", "Crawl-delay", "now")]
    rows += [
        (
            each.name,
            f"{each.value:,.{2 if sort == 'slowest' else 0}f}" if column else "",
            f"{each.pages:,}",
            f"{each.queued:,}",
            seconds(each.delay) if each.delay else "-",
            state_text(each.state, each.ready_ms, now_ms, each.behind),
        )
        for each in found
    ]
    return [head, *table(rows if column else [(row[0], *row[2:]) for row in rows])]


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows in columns: the first to the left, numbers to the right, the last as it is."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(
            (
                f"  {row[0]:<{widths[0]}}",
                *(f"{cell:>{width}}" for cell, width in zip(row[1:-1], widths[1:-1], strict=True)),
                row[-1],
            )
        ).rstrip()
        for row in rows
    ]


def state_text(state: str, ready_ms: int, now_ms: int, behind: int = 0) -> str:
    """What a domain does now."""
    if behind:
        return f"waits behind {behind:,} other domains or more"
    if state == "waiting":
        return f"next visit in {duration(max(0, ready_ms - now_ms) / 1000)}"
    return {
        "held": "held by an engine",
        "idle": "nothing queued",
        "ready": "ready, waits for an engine",
    }[state]


def domain(values: Values, words: list[str]) -> int:
    """All that is known of one domain."""
    with opened_nodes(values) as crawl:
        found, now_ms = crawl.domain(words[0]), crawl.now_ms()
    if values["json"]:
        print_json(asdict(found))
    else:
        print("\n".join(map(one_line, domain_lines(found, now_ms))))
    return 0


def domain_lines(found: Domain, now_ms: int) -> list[str]:
    """A domain for people; pure."""
    few = "" if found.counted >= found.pages else f", counted of {found.counted:,} by chance"
    return [
        f"domain     {found.name}{', a seed' if found.seeded else ''}",
        f"now        {state_text(found.state, found.ready_ms, now_ms, found.behind)}",
        f"delay      {_delay(found)}",
        f"pages      {found.pages:,}, {found.queued:,} URLs queued",
        f"outcomes   {kinds(found.outcomes) or '-'}{few}",
        f"labels     {_named(found.labels)}",
        f"languages  {_named(found.languages)}",
        *(line for each in found.origins for line in robots_lines(each)),
        *_under("queue", [queue_line(each, now_ms) for each in found.head], "empty"),
        *_under("visits", [visit_line(each) for each in found.visits], "none in the ledgers here"),
    ]


def _delay(found: Domain) -> str:
    text = f"{seconds(found.pause)} between visits"
    if found.pause_from == "overloaded":
        times = f"{found.failures:,} times in a row"
        return f"{text}, and more now: it said {times} that it is overloaded"
    return f"{text} ({found.pause_from})"


def seconds(amount: float) -> str:
    """A time that may be short."""
    return f"{amount:g} s" if amount < 60 else duration(amount)


def _named(counts: dict[str, int]) -> str:
    return kinds({name or "none": count for name, count in counts.items()}) or "-"


def robots_lines(file: RobotsFile) -> list[str]:
    """What is known of a robots.txt, and the lines of it that hold for this crawl."""
    place = f"{file.origin}/robots.txt"
    if not file.fetched_ms:
        aim = f"it redirects to {file.aim}" if file.aim else file.last_failure or "not read yet"
        return [f"robots.txt {place}: {aim}"]
    when = f"read {utc(file.fetched_ms)}, status {file.status}"
    if not file.lines:
        return [f"robots.txt {place}: {when}; it has no rule for this crawl"]
    more = len(file.lines) - RULES_SHOWN
    return [
        f"robots.txt {place}: {when}; its lines for this crawl:",
        *(f"           {line}" for line in file.lines[:RULES_SHOWN]),
        *([f"           … and {more:,} more (--json has all)"] if more > 0 else []),
    ]


def _under(name: str, lines: list[str], nothing: str) -> list[str]:
    """Lines under one name."""
    first, *rest = lines or [nothing]
    return [f"{name:<10} {first}", *(f"           {line}" for line in rest)]


def visit_line(visit: DomainVisit) -> str:
    """One visit on one line."""
    took = f"{(visit.ended_ms - visit.started_ms) / 1000:.1f} s" if visit.finished else "cut off"
    count = f"{visit.requests} request{'' if visit.requests == 1 else 's'}"
    asked = f"{count}, {visit.outcome}" if visit.finished else "it runs, or a kill ended it"
    address = f", {visit.address}" if visit.address else ""
    pause = "" if visit.pause is None else f", {visit.pause:,.1f} s after the one before"
    return f"{utc(visit.started_ms)} {took}, {asked}{address}{pause}"


def queue(values: Values, _: list[str]) -> int:
    """What is to be fetched."""
    with opened_crawl(values) as crawl:
        found = crawl.queue(values["domain"] or None, values["pattern"] or None, values["limit"])
        now_ms = crawl.now_ms()
    if values["json"]:
        print_json({"of": found.of, "urls": [asdict(each) for each in found]})
    else:
        lines = [f"{len(found):,} queued URLs, from {found.of}{':' if found else '.'}"]
        print("\n".join(map(one_line, lines + [f"  {queue_line(u, now_ms)}" for u in found])))
    return 0


def queue_line(page: QueuedPage, now_ms: int) -> str:
    """A queued URL on one line."""
    notes: list[Any] = [
        "seed" if page.seed else "",
        "sitemap" if page.sitemap else "",
        f"{page.attempts} failed" if page.attempts else "",
    ]
    if page.waits_until_ms > now_ms:
        notes.append(f"waits {duration((page.waits_until_ms - now_ms) / 1000)}")
    told = ", ".join(filter(None, notes))
    return f"depth {page.depth}  {page.url}{f'  ({told})' if told else ''}"
