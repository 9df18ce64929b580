"""Short words for frontier tests."""

from __future__ import annotations

from typing import Any

from lycosa.frontier.protocol import Batch, Release
from lycosa.records import Lease


def batch(number: int, **parts: Any) -> Batch:
    return Batch(number=number, **parts)


def release(lease: Lease, polite_ms: int) -> Release:
    return Release(lease.domain_id, polite_ms, pages=lease.pages, queued=lease.queued)


def names(leases: list[Lease]) -> list[str]:
    return [lease.name for lease in leases]


def part_of(verb: Any) -> Any:
    """The part of a frontier that has this verb."""
    return getattr(verb, "__wrapped__", verb).__self__
