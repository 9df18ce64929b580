"""`lycosa audit`: proves from the visit ledgers alone that no domain was visited too soon.

Each node of a cluster has a ledger of its own. Given the directories of several nodes, the command
judges their visits together, and names the nodes whose ledgers it has not seen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.called import called
from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import opened, opened_crawl, same_crawl
from lycosa.errors import StoreError, UserError
from lycosa.frontier.keys import NODE_KEY
from lycosa.settings.collect import Values
from lycosa.settings.stored import earlier_delays, stored_node, stored_settings
from lycosa.settings.values import CrawlSettings
from lycosa.terminal import one_line
from lycosa.units import shorter_before, utc

if TYPE_CHECKING:
    from lycosa.archive.address_audit import AddressReport
    from lycosa.archive.audit import AuditReport

# An engine knows the server's clock to within the time that a commit takes to get there.
SERVER_CLOCK_MS = 50


def audit(values: Values, words: list[str]) -> int:
    """Exit code 1 if a single visit broke the rule."""
    if values["domain"]:
        return _complaint(values, words)
    for name in ("since", "until", "limit"):
        if name in values.given:
            raise UserError(f"--{name} needs --domain: it chooses what is told of one domain.")
    with opened(values) as reader:
        stored = reader.settings()
        engines = reader.engines()
    settings = stored_settings(stored)
    if settings is None:
        raise StoreError("The crawl has no settings stored, so its delay is not known.")
    found = _proof(values, _roots(values, words), settings, stored, engines)
    if values["json"]:
        print_json(
            {
                "ok": found.report.ok,
                "delay": settings.delay,
                "report": found.report,
                "unseen": found.unseen,
                "ip_delay": settings.ip_delay,
                "addresses": found.addresses,
            }
        )
    else:
        print("\n".join(_told(values, found, settings, earlier_delays(stored))))
    return 0 if found.report.ok else 1


@dataclass(frozen=True, slots=True)
class Proof:
    """What the ledgers say."""

    roots: list[Path]
    report: AuditReport
    addresses: AddressReport
    unseen: list[str]  # where ledgers lie that were not read


def _proof(
    values: Values,
    roots: list[Path],
    settings: CrawlSettings,
    stored: Mapping[str, Any],
    engines: list[dict[str, Any]],
) -> Proof:
    """Read all ledgers."""
    from lycosa.archive import audit as proof
    from lycosa.archive import ledger
    from lycosa.archive.segments import listed, segment_engine
    from lycosa.frontier.protocol import is_server

    seen = {segment_engine(number) for root in roots for number, _ in listed(root, "visits")}
    visits = chain.from_iterable(ledger.read_visits(root) for root in roots)
    tolerance = SERVER_CLOCK_MS if is_server(values["store"]) else 0
    return Proof(
        roots,
        proof.audit_visits(visits, settings.delay, earlier_delays(stored), tolerance),
        _addresses(roots, settings, stored),
        unseen_places(engines, seen),
    )


def _told(
    values: Values, found: Proof, settings: CrawlSettings, before: Sequence[tuple[int, float]]
) -> list[str]:
    """The proof for people."""
    from lycosa.frontier.protocol import is_server

    lines = report_lines(found.report, settings.delay, before)
    lines += address_lines(found.addresses, settings.ip_delay, before)
    if is_server(values["store"]):
        return lines + unseen_lines(found.unseen)
    if found.unseen:
        hint = called("verify", *same_crawl(values))
        lines.append(
            "This is not the whole crawl: files of its ledger are missing from"
            f" {', '.join(str(root / 'visits') for root in found.roots)} ('{hint}' names them)."
        )
    return lines


def _roots(values: Values, words: list[str]) -> list[Path]:
    """The directories whose ledgers are read."""
    named = dict.fromkeys(Path(word).resolve() for word in words)
    for root in named:
        if not (root / "visits").is_dir():
            raise UserError(f"There is no ledger of visits in {root}: name a node's directory.")
    return list(named) or [values["data-dir"]]


def _complaint(values: Values, words: list[str]) -> int:
    """The answer to a site's owner; exit code 1 if a rule was broken there."""
    from lycosa.archive.segments import listed, segment_engine
    from lycosa.commands import complaint
    from lycosa.frontier.protocol import is_server
    from lycosa.reading.filters import filter_of
    from lycosa.reading.names import known_domain

    server, limit, roots = is_server(values["store"]), values["limit"], _roots(values, words)
    with opened_crawl(values) as crawl, opened(values) as reader:
        stored = reader.settings()
        settings = stored_settings(stored)
        if settings is None:
            raise StoreError("The crawl has no settings stored, so its delay is not known.")
        times = filter_of(reader, {"since": values["since"], "until": values["until"]})
        found = complaint.gather(
            crawl,
            settings,
            roots,
            known_domain(reader, values["domain"]),
            limit,
            before=earlier_delays(stored),
            tolerance_ms=SERVER_CLOCK_MS if server else 0,
            since_ms=times.since_ms,
            until_ms=times.until_ms,
        )
        seen = {segment_engine(number) for root in roots for number, _ in listed(root, "visits")}
        found.unseen = unseen_places(reader.status()["engines"], seen)
    if values["json"]:
        print_json(complaint.facts(found, limit))
    else:
        print("\n".join(map(one_line, complaint.answer(found, limit))))
    return 0 if found.ok else 1


def _addresses(
    roots: list[Path], settings: CrawlSettings, stored: Mapping[str, Any]
) -> AddressReport:
    """What visits to one address were apart, since the delays were last changed."""
    from lycosa.archive import ledger
    from lycosa.archive.address_audit import audit_addresses
    from lycosa.fetch.addresses import CDN_RANGES, SharedAddresses

    keys = [key for key in stored if key.partition(":")[0] == NODE_KEY]
    nodes = [stored_node({NODE_KEY: stored[key]}) for key in keys]
    exempt = [cidr for node in nodes for cidr in node.get("ip_delay_exempt", ())]
    since_ms = max((until for until, _ in earlier_delays(stored)), default=0)
    visits = [ledger.read_visits(root) for root in roots]
    shared = SharedAddresses((*CDN_RANGES, *exempt))
    return audit_addresses(visits, settings.ip_delay, shared.exempt, since_ms)


def address_lines(
    report: AddressReport, pause: float, before: Sequence[tuple[int, float]] = ()
) -> list[str]:
    """Whether --ip-delay was kept, for people; pure."""
    gap = report.smallest_gap_ms
    since = f" since {utc(max(until for until, _ in before))}" if before else ""
    if gap is None or not pause:
        return []
    if report.ok:
        return [
            f"The smallest pause between two visits of a node to one address{since} was"
            f" {gap / 1000:,.3f} s; at least {pause:g} s were asked for (--ip-delay)."
        ]
    return [
        f"Visits to one address came too close {report.too_close:,} times: at least {pause:g} s"
        " were asked for (--ip-delay).",
        *(f"  {address}: {gap / 1000:.3f} s" for address, gap in report.examples),
    ]


def unseen_places(engines: list[dict[str, Any]], seen: Collection[int]) -> list[str]:
    """Where the ledgers of engines lie that sent requests and were not seen; pure."""
    away = [each for each in engines if each["id"] not in seen and each.get("requests")]
    return sorted({f"{each['host']}:{each.get('directory', '')}" for each in away})


def unseen_lines(unseen: list[str]) -> list[str]:
    """Which ledgers are missing from the report, for people; pure."""
    if not unseen:
        return []
    return [
        "This is not the whole crawl: a visit by one of these nodes can't be seen here. Copy their"
        " visits folders, and name all directories:",
        *(f"  {place}" for place in unseen),
    ]


def report_lines(
    report: AuditReport, delay: float, before: Sequence[tuple[int, float]] = ()
) -> list[str]:
    """The report for people; pure."""
    gap = report.smallest_gap_ms
    lines = [
        f"{report.visits:,} visits to {report.domains:,} domains,"
        f" {report.unfinished:,} of them cut off.",
        "No domain was visited twice."
        if gap is None
        else f"The smallest pause between two visits to a domain was {gap / 1000:,.3f} s;"
        f" at least {delay:g} s were asked for{shorter_before(delay, before)}.",
    ]
    if report.ok:
        return [*lines, "Every visit was polite."]
    lines.append(
        f"NOT POLITE: {report.too_soon:,} visits came too soon, {report.overlaps:,} overlapped."
    )
    lines += [
        f"  {found.domain}: a visit ended {utc(found.end_ms)}, the next began"
        f" {(found.start_ms - found.end_ms) / 1000:.3f} s later, {found.needed_ms / 1000:g} s"
        f" were needed (engines {found.engine_ids[0]} and {found.engine_ids[1]})"
        for found in report.examples
    ]
    return lines
