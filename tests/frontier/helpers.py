"""Short words for frontier tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.protocol import Batch, Release
from lycosa.records import Lease


def batch(number: int, **parts: Any) -> Batch:
    return Batch(number=number, **parts)


def release(lease: Lease, polite_ms: int) -> Release:
    return Release(lease.domain_id, polite_ms, pages=lease.pages, queued=lease.queued)


def names(leases: list[Lease]) -> list[str]:
    return [lease.name for lease in leases]


@contextmanager
def under_way(store: PostgresFrontier, engine_id: int, new: Batch) -> Iterator[None]:
    """A commit that has done all but its end."""
    commits = part_of(store.commit)
    made = commits._planner.plan(engine_id, new)
    with store.db.transaction():
        commits._apply_once(engine_id, new, made, store.store.fence(engine_id))
        yield


def part_of(verb: Any) -> Any:
    """The part of a frontier that has this verb."""
    return getattr(verb, "__wrapped__", verb).__self__
