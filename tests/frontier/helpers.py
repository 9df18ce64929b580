"""Short words for frontier tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lycosa.frontier.protocol import Batch, Link, Release
from lycosa.records import Lease, PageRow, QueuedUrl
from lycosa.urls.canonical import split
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.fingerprint import fingerprint


def link(url: str, depth: int = 0, flags: int = 0) -> Link:
    domain = domain_of(split(url).host)
    return (domain_id(domain), fingerprint(url), url, depth, domain, flags)


def page(domain: int, url: QueuedUrl, outcome: str = "ok", status: int = 200) -> PageRow:
    return PageRow(domain, url.fp, url.url, url.order, url.depth, 1, status, outcome)


def batch(number: int, **parts: object) -> Batch:
    return Batch(number=number, **parts)  # type: ignore[arg-type]


def release(lease: Lease, polite_ms: int) -> Release:
    return Release(lease.domain_id, polite_ms, pages=lease.pages, queued=lease.queued)


def names(leases: list[Lease]) -> list[str]:
    return [lease.name for lease in leases]


def part_of(verb: Callable[..., Any]) -> Any:
    """The part of a frontier that has this verb."""
    return verb.__self__  # type: ignore[attr-defined]
