"""What is known of one domain, as a value: state, robots.txt, delay, queue, pages and visits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.archive.ledger import LedgerVisit, lately
from lycosa.archive.segments import listed, segment_engine
from lycosa.politeness.robots import Rules
from lycosa.reading.queue import queued_page
from lycosa.reading.values import Domain, DomainVisit, RobotsFile
from lycosa.records import Origin
from lycosa.settings.stored import stored_settings

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

HEAD = 10  # queued URLs that are shown
VISITS = 20  # that are shown
LEDGER_BYTES = 128 << 20  # looked through for them, from the newest files' ends


def domain_facts(
    reader: Reader,
    name: str,
    directories: Sequence[Path] = (),
) -> Domain:
    """A domain that the crawl knows."""
    found = reader.domain(name)
    assert found is not None, name
    settings = stored_settings(reader.settings())
    delay = settings.delay if settings else 0.0
    asked = found["delay_ms"] / 1000
    return Domain(
        name=found["name"],
        state=state_of(found, found["now_ms"]),
        seeded=bool(found["seeded"]),
        pages=found["pages"],
        queued=found["queued"],
        ready_ms=found["ready_at"],
        behind=found["behind"],
        delay=asked,
        failures=found["failures"],
        outcomes=found["outcomes"],
        languages=found["languages"],
        labels=found["labels"],
        origins=tuple(map(robots_file, found["origins"])),
        counted=sum(found["outcomes"].values()),
        pause=max(delay, asked),
        pause_from=_pause_from(found, delay),
        head=tuple(map(queued_page, reader.survey.queue_head(found["id"], HEAD))),
        visits=tuple(recent_visits(directories, name)),
    )


def _pause_from(row: dict[str, Any], delay: float) -> str:
    if row["failures"]:
        return "overloaded"
    return "robots.txt" if row["delay_ms"] / 1000 > delay else "--delay"


def robots_file(origin: Origin) -> RobotsFile:
    """What is known of an origin; of its robots.txt the lines for this crawl are kept."""
    return RobotsFile(
        origin=origin.origin,
        fetched_ms=origin.fetched_ms,
        status=origin.status,
        failures=origin.failures,
        last_failure=origin.detail,
        lines=tuple(Rules.load(origin.rules).lines()) if origin.rules else (),
        aim=origin.aim,
    )


def recent_visits(
    directories: Iterable[Path], domain: str, limit: int = VISITS, most: int = LEDGER_BYTES
) -> list[DomainVisit]:
    """The last visits to a domain in the ledgers of these directories, the newest first."""
    files = [
        (path.stat().st_mtime, segment_engine(number), path)
        for root in directories
        for number, path in listed(root, "visits")
    ]
    found: list[LedgerVisit] = []
    since = 0  # before it visits may be missing: of each file the last ones were looked for
    for _, engine_id, path in sorted(files, reverse=True):
        if most <= 0:
            break
        some = lately(path, engine_id, domain, limit, most)
        if len(some) == limit:
            since = max(since, min(visit.start_ms for visit in some))
        found += some
        most -= path.stat().st_size
    found.sort(key=lambda visit: (visit.start_ms, visit.end_ms))
    values = visit_values(found)[-limit:][::-1]
    return [each if each.started_ms > since else replace(each, pause=None) for each in values]


def visit_values(found: Sequence[LedgerVisit]) -> list[DomainVisit]:
    """Visits in the order of their starts as values, with the pause before each."""
    visits = [
        DomainVisit(
            started_ms=visit.start_ms,
            ended_ms=visit.end_ms,
            requests=visit.requests,
            address=visit.address,
            outcome=visit.outcome,
            finished=not visit.unfinished,
            engine_id=visit.engine_id,
            pause=None,
        )
        for visit in found
    ]
    return [
        *visits[:1],
        *(
            replace(after, pause=(after.started_ms - before.ended_ms) / 1000)
            for before, after in pairwise(visits)
        ),
    ]


def state_of(row: dict[str, Any], now_ms: int) -> str:
    """In one word what a domain does now."""
    if row["engine_id"]:
        return "held"
    if row["idle"]:
        return "idle"
    return "waiting" if row["ready_at"] > now_ms or row["behind"] else "ready"
