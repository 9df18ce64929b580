"""A few pages by chance, without reading all of them.

A random id is drawn, and the first page behind it that fits is taken, if one is near. Where pages
that fit are rare, the rest are looked for from a random place on, up to a bound; a small crawl is
read whole, so that every page has the same chance. The order is that of the draws.
"""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from lycosa.frontier.filters import Filter
from lycosa.records import PageRow

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

SMALL = 5_000  # ids: so many are read whole
NEAR = 500  # ids behind a draw in which a page must lie
DRAWS = 4  # for each page that is wanted
WINDOW = 20_000  # ids of one statement where pages are rare
MOST_WINDOWS = 250  # of these

Rows = dict[int, PageRow]  # by id, in the order of the draws


def drawn(reader: Reader, where: Filter, count: int, chance: Random) -> Rows:
    """Up to `count` pages that fit a filter."""
    newest = reader.newest_page()
    if newest <= SMALL:
        found = reader.page_chunk(where, 0, newest, SMALL)
        return dict(chance.sample(found, min(count, len(found))))
    rows: Rows = {}
    for _ in range(DRAWS * count):
        if len(rows) == count:
            return rows
        rows.update(_behind(reader, where, chance.randrange(newest), newest))
    return _filled(reader, where, rows, count, chance.randrange(newest), newest)


def _behind(reader: Reader, where: Filter, at: int, newest: int) -> list[tuple[int, PageRow]]:
    """The first page behind an id, if it is near. The pages of a domain have an index: there is no
    need to be near, and behind the last comes the first."""
    if not where.domain_ids:
        return reader.page_chunk(where, at, min(at + NEAR, newest), 1)
    return reader.page_chunk(where, at, newest, 1) or reader.page_chunk(where, 0, at, 1)


def _filled(reader: Reader, where: Filter, rows: Rows, count: int, start: int, newest: int) -> Rows:
    """The pages found so far, and those behind a random place."""
    step = newest if where.domain_ids else WINDOW
    begins = [*range(start, newest, step), *range(0, start, step)]
    for begin in islice(begins, MOST_WINDOWS):
        end = min(begin + step, newest if begin >= start else start)
        if len(rows) == count:
            break
        # Those that are known already may be among them.
        for ident, row in reader.page_chunk(where, begin, end, count + len(rows)):
            if len(rows) < count:
                rows.setdefault(ident, row)
    return rows
