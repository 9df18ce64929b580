"""A look into the queue: of a domain, of what fits a pattern, or of what comes next.

Reads the heads of queues, or a bounded part of them in small statements; each list says what was
looked at (`Listed.of`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from lycosa.errors import UserError
from lycosa.frontier.survey import QueueRow
from lycosa.reading.names import known_domain
from lycosa.reading.values import Listed, QueuedPage
from lycosa.records import Flag
from lycosa.urls.canonical import host_of
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.exclusions import Exclusions, parse_excludes, registrable_of

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

LOOKED_AT = 100_000  # URLs that are compared with a pattern, in statements of 2,000
MOST_URLS = 10_000  # of one list
HEADS = 500  # domains whose first URLs are shown, a statement for each


def queued_pages(
    reader: Reader, domain: str | None, pattern: str | None, limit: int
) -> Listed[QueuedPage]:
    """URLs that are to be fetched: of a domain in its order, those that fit a pattern, or else the
    first of each domain that engines hold or that is due next."""
    limit = max(0, min(limit, MOST_URLS))
    name = known_domain(reader, domain or "")
    if pattern:
        return _fitting(reader, name, pattern, limit)
    if name:
        rows = reader.survey.queue_head(domain_id(name), limit)
        return Listed(map(queued_page, rows), f"the queue of {name}, in its order")
    heads = [
        row
        for each in reader.survey.next_domains(min(limit, HEADS))
        for row in reader.survey.queue_head(each["id"], 1)
    ]
    of = "the first URL of each domain that engines hold or that is due next"
    return Listed(map(queued_page, heads), of)


def _fitting(reader: Reader, name: str, pattern: str, limit: int) -> Listed[QueuedPage]:
    line = _line(pattern)
    fits = Exclusions([line])
    name = name or registrable_of(line)
    looked = _Counted(
        reader.survey.queue_of(domain_id(name), LOOKED_AT)
        if name
        else reader.survey.queue_all(LOOKED_AT)
    )
    found = list(islice((row for row in looked if fits.excludes(row.url, host_of(row.url))), limit))
    whose = f"of {name}" if name else "of all domains, which come as if by chance"
    end = f"the first {looked.count:,} queued URLs {whose}"
    if looked.ended:
        end = f"all {looked.count:,} queued URLs {whose if name else 'of all domains'}"
    return Listed(map(queued_page, found), f"{end}: those that fit {line}")


def _line(pattern: str) -> str:
    """A pattern in the normal form of exclusions; UserError for one that is none."""
    try:
        lines = parse_excludes([pattern])
    except UserError as error:
        _, _, why = str(error).partition(": ")
        raise UserError(f"'{pattern}' is no pattern: {why or error}") from None
    if not lines:
        raise UserError("A pattern is a domain, a host or a URL pattern, such as */calendar/*.")
    return lines[0]


class _Counted:
    """Rows, counted as they are looked at."""

    def __init__(self, rows: Iterable[QueueRow]) -> None:
        self._rows = rows
        self.count = 0
        self.ended = False

    def __iter__(self) -> Iterator[QueueRow]:
        for row in self._rows:
            self.count += 1
            yield row
        self.ended = self.count < LOOKED_AT


def queued_page(row: QueueRow) -> QueuedPage:
    """A row of the queue as a value."""
    return QueuedPage(
        url=row.url,
        domain=domain_of(host_of(row.url)),
        depth=row.depth,
        attempts=row.attempts,
        found_ms=row.found_ms,
        waits_until_ms=row.waits_until_ms,
        seed=bool(row.flags & (Flag.SEED | Flag.BARE)),
        sitemap=bool(row.flags & Flag.SITEMAP),
    )
