"""What the ledger of one node proves of addresses: how close its visits to each of them came.

Owns the judgement of --ip-delay, which holds among the engines of a node. The ledger has one
address of a visit, the last that it connected to. A visit that a redirect led to another address of
its domain counts there, although the engine did not wait for a turn at that address.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lycosa.archive.ledger import LedgerVisit

_ROUNDED_MS = 2  # an end and a start are each rounded to a millisecond
_EXAMPLES = 5  # kept for the report


@dataclass(slots=True)
class AddressReport:
    """How close visits to one address came."""

    addresses: int = 0  # that more than one visit went to
    too_close: int = 0
    smallest_gap_ms: int | None = None
    examples: list[tuple[str, int]] = field(default_factory=list)  # address, gap in ms

    @property
    def ok(self) -> bool:
        return self.too_close == 0

    def note(self, address: str, gap: int, pause_ms: int) -> None:
        if self.smallest_gap_ms is None or gap < self.smallest_gap_ms:
            self.smallest_gap_ms = gap
        if gap < pause_ms - _ROUNDED_MS:
            self.too_close += 1
            if len(self.examples) < _EXAMPLES:
                self.examples.append((address, gap))


def audit_addresses(
    nodes: Iterable[Iterable[LedgerVisit]],
    pause: float,
    exempt: Callable[[str], bool],
    since_ms: int = 0,
) -> AddressReport:
    """Check every two visits of one node to one address since a moment; `pause` in seconds."""
    report = AddressReport()
    for visits in nodes:
        for (address, _), times in _by_address(visits, exempt, since_ms).items():
            report.addresses += len(times) > 2
            _judge(address, times, round(pause * 1000), report)
    return report


def _by_address(
    visits: Iterable[LedgerVisit], exempt: Callable[[str], bool], since_ms: int
) -> dict[tuple[str, str], array[int]]:
    """Starts and ends by the node's own clock: by address, and by the clock's name."""
    found: dict[tuple[str, str], array[int]] = {}
    for visit in visits:
        if visit.address and visit.start_ms >= since_ms and not exempt(visit.address):
            times = found.setdefault((visit.address, visit.start_clock.name), array("q"))
            start = visit.start_ms - visit.start_clock.to_ms
            times.extend((start, visit.end_ms - visit.end_clock.to_ms))
    return found


def _judge(address: str, times: array[int], pause_ms: int, report: AddressReport) -> None:
    in_order = sorted(zip(times[::2], times[1::2], strict=True))
    last_end = in_order[0][1]
    for start, end in in_order[1:]:
        report.note(address, start - last_end, pause_ms)
        last_end = max(last_end, end)
