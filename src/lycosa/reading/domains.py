"""What is known of one domain, as a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lycosa.frontier.states import IDLE
from lycosa.reading.values import Domain, RobotsFile

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader


def domain_facts(reader: Reader, name: str) -> Domain:
    """A domain that the crawl knows."""
    found = reader.domain(name)
    assert found is not None, name
    return Domain(
        name=found["name"],
        state=state_of(found, found["now_ms"]),
        seeded=bool(found["seeded"]),
        pages=found["pages"],
        queued=found["queued"],
        ready_ms=found["ready_at"],
        delay=found["delay_ms"] / 1000,
        failures=found["failures"],
        outcomes=found["outcomes"],
        languages=found["languages"],
        labels=found["labels"],
        origins=tuple(
            RobotsFile(each.origin, each.fetched_ms, each.status, each.failures, each.detail)
            for each in found["origins"]
        ),
    )


def state_of(row: dict[str, Any], now_ms: int) -> str:
    """In one word what a domain does now."""
    if row["engine_id"] > 0:
        return "held"
    if row["engine_id"] == IDLE:
        return "idle"
    return "waiting" if row["ready_at"] > now_ms else "ready"
