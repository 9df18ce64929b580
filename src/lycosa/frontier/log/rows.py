"""The log of a domain, made from the rows of URLs that older formats kept. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from lycosa.frontier.log.domain_log import DomainLog
from lycosa.frontier.log.values import LogChanges
from lycosa.frontier.states import waits_until
from lycosa.records import Url

OldQueueRow = tuple[int, int, Url, int, int, int]  # order, fp, URL, depth, attempts, flags


def log_of_rows(
    domain_id: int, queue: Sequence[OldQueueRow], seen: Iterable[int], answered: Collection[int]
) -> list[bytes]:
    """The chunks of a domain: its queue in order, all fingerprints that were seen, and those of
    pages with a response."""
    queued = {fp for _, fp, *_ in queue}
    changes = LogChanges(
        done=[(fp, fp in answered) for fp in seen if fp not in queued],
        links=[(domain_id, fp, url, depth, "", flags) for _, fp, url, depth, _, flags in queue],
        first_waits=[
            (fp, waits_until(order), attempts)
            for order, fp, _, _, attempts, _ in queue
            if waits_until(order)
        ],
    )
    return DomainLog(domain_id, 0).plan(changes, 0).puts
