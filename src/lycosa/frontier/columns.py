"""The columns of the table `pages`, said once for both stores: inserts, readers and moving. Also
what is read of a domain, which lies in two tables. Pure.

A row of the table is a `PageRow`. The `.sql` files do not list the columns: they hold marks such as
`{page_columns}`, and `queries.load` fills them in. The migrations, which made the table, list them
for themselves, and a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from lycosa.frontier.states import DomainState
from lycosa.frontier.values import PagePlace
from lycosa.outcomes import FINE
from lycosa.records import PageRow, QueuedUrl

# Names in the order of PageRow, with PostgreSQL's types. SQLite has INTEGER, TEXT and BLOB.
PAGES = {
    "domain_id": "int8",
    "fp": "int8",
    "url": "text",
    "depth": "int4",
    "fetched_ms": "int8",
    "status": "int4",
    "outcome": "text",
    "content_type": "text",
    "wire_bytes": "int8",
    "text_chars": "int8",
    "content_hash": "int8",
    "redirect": "text",
    "title": "text",
    "text_segment": "int8",
    "text_frame": "int8",
    "text_offset": "int8",
    "warc_segment": "int8",
    "warc_offset": "int8",
    "language": "text",
    "language_score": "int4",
    "label": "text",
    "label_reason": "text",
    "main_chars": "int8",
    "simhash": "int8",
    "payload_digest": "bytea",
    "truncated": "text",
    "duration_ms": "int8",
    "address": "text",
    "etag": "text",
    "modified_ms": "int8",
    "charset": "text",
    "referrer": "int8",
    "warc_length": "int8",
    "warc_record": "bytea",
}
TEXTS = tuple(name for name, kind in PAGES.items() if kind == "text")
BLOBS = tuple(name for name, kind in PAGES.items() if kind == "bytea")
NUMBERS = tuple(name for name, kind in PAGES.items() if kind not in ("text", "bytea"))

# Of a domain: what its row says, who holds it, and its counts when that engine took it. Readers
# call the tables d and h.
DOMAIN = (
    *("d.id", "d.name", "coalesce(h.engine_id, 0) AS engine_id", "d.idle", "d.polite_at"),
    *("d.wait_at", "d.not_before", "d.delay_ms", "d.failures", "d.seeded"),
    "d.pages + coalesce(h.more_pages, 0) AS pages",
    "d.queued + coalesce(h.more_queued, 0) AS queued",
)
_HOLDER = "coalesce((SELECT engine_id FROM held WHERE held.id = domains.id), 0)"

# Where the values of a page come from that fails while it is queued; all others are 0 or empty.
_OF_QUEUE = frozenset({"domain_id", "fp", "url", "depth"})
_EMPTY = {"sqlite": "x''", "postgres": "''::bytea"}
_GIVEN = {"fetched_ms": "now", "outcome": "outcome"}

page_values: Callable[[PageRow], tuple[Any, ...]] = attrgetter(*PAGES)


def page_row(row: dict[str, Any]) -> PageRow:
    """The value of a row that has all the columns; it has left the queue."""
    return PageRow(order=-1, **row)


def failed_page(domain_id: int, url: QueuedUrl, outcome: str, now_ms: int) -> PageRow:
    """A queued URL that fails for good without having been asked for."""
    return PageRow(domain_id, url.fp, url.url, url.order, url.depth, now_ms, 0, outcome)


def parameter(dialect: str, name: str) -> str:
    """How a statement names a value that is given with it."""
    return f":{name}" if dialect == "sqlite" else f"%({name})s"


def marks(dialect: str) -> dict[str, str]:
    """What the marks in the `.sql` files of a dialect stand for."""
    # A row of SQLite's is given by position, because `for_rows` repeats it for many.
    values = "?" * len(PAGES) if dialect == "sqlite" else [parameter(dialect, n) for n in PAGES]
    return {
        "{page_columns}": _listed(PAGES),
        "{page_values}": _listed(values),
        "{failed_page}": _listed(_failed(dialect, *each) for each in PAGES.items()),
        "{place_columns}": _listed(PagePlace._fields),
        "{state_columns}": _listed([_HOLDER, *DomainState._fields[1:]]),
        "{domain_columns}": _listed(DOMAIN),
        "{fine_outcomes}": _listed(f"'{name}'" for name in sorted(FINE)),
    }


def _failed(dialect: str, name: str, kind: str) -> str:
    if name in _OF_QUEUE:
        return name
    if name in _GIVEN:
        return parameter(dialect, _GIVEN[name])
    return _EMPTY[dialect] if kind == "bytea" else "''" if kind == "text" else "0"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
