"""Rows of pages, some at a time, each time in a statement of its own.

Owns how many, and where the next statement goes on. Whoever lists all pages looks through a window
of ids at a time. The pages of a domain have an index or rolls of keys, which are read from their
beginning by every statement: so the ids of many are read first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lycosa.frontier.filters import Filter
from lycosa.reading.contents import NumberedRow

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

CHUNK = 2_000  # pages of one statement
WINDOW = 20_000  # ids that one statement looks through
IDS = 1 << 17  # of a domain's pages that are known at once, 8 bytes each


def chunks(
    reader: Reader, where: Filter, after: int, end: int, newest: bool, left: int
) -> Iterator[list[NumberedRow]]:
    """Pages that fit, with ids behind `after` and up to `end`, in the order of these; at most
    `left`."""
    if where.domain_ids and left > CHUNK:
        return _of_domains(reader, where, after, end, newest, left)
    return _by_windows(reader, where, after, end, newest, left)


def _by_windows(
    reader: Reader, where: Filter, after: int, end: int, newest: bool, left: int
) -> Iterator[list[NumberedRow]]:
    step = end if where.domain_ids else WINDOW
    while after < end and left > 0:
        low, high = (max(after, end - step), end) if newest else (after, min(after + step, end))
        most = min(CHUNK, left)
        chunk = reader.page_chunk(where, low, high, most, newest)
        if chunk:
            yield chunk
        left -= len(chunk)
        full = len(chunk) == most
        if newest:
            end = chunk[-1][0] - 1 if full else low
        else:
            after = chunk[-1][0] if full else high


def _of_domains(
    reader: Reader, where: Filter, after: int, end: int, newest: bool, left: int
) -> Iterator[list[NumberedRow]]:
    while after < end and left > 0:
        most = min(IDS, left)
        ids = reader.page_ids(where, after, end, most, newest)
        for at in range(0, len(ids), CHUNK):
            if chunk := reader.pages_with(where, ids[at : at + CHUNK], newest):
                yield chunk
        left -= len(ids)
        if len(ids) < most:
            return
        after, end = (after, ids[-1] - 1) if newest else (ids[-1], end)
