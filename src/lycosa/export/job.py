"""One export from beginning to end: what a user asked for in, a finished target out.

What goes wrong leaves nothing behind; an interrupt or a kill leaves what is whole, to go on with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lycosa.errors import UserError
from lycosa.export import formats
from lycosa.export.parquet import need_pyarrow
from lycosa.export.stream import ChosenPages, Phases, Told, begun
from lycosa.export.tables import date
from lycosa.export.target import Target
from lycosa.frontier.filters import Filter
from lycosa.reading.crawl import Crawl


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user wants exported, and where to."""

    format: str
    out: Path
    filters: dict[str, Any] = field(default_factory=dict)  # as given: names and values
    tables: Sequence[str] = ()
    columns: Sequence[str] = ()
    name: str = ""  # of the crawl, in the tables; '': by the day on which it began
    overwrite: bool = False
    file_bytes: int = 0  # of a file; 0: as the format likes it
    exact_only: bool = False  # near-duplicates are not marked


def export(crawl: Crawl, wish: Wish, report: Told) -> dict[str, Any]:
    """Export; what was exported (counts and files)."""
    tables = _checked(wish)
    where = crawl.filter(**wish.filters)
    name = wish.name or crawl_name(crawl)
    target = Target(
        wish.out,
        _plan(wish, name, tables),
        directory=wish.format not in formats.SINGLE_FILES,
        overwrite=wish.overwrite,
    )
    try:
        return _run(crawl, wish, where, name, tables, target, report)
    except KeyboardInterrupt:
        target.close()
        raise
    except BaseException:
        target.discard()
        raise


def _run(
    crawl: Crawl,
    wish: Wish,
    where: Filter,
    name: str,
    tables: dict[str, dict[str, str]],
    target: Target,
    report: Told,
) -> dict[str, Any]:
    if target.resumed:
        where = _filter(target.state["where"])  # "the last two hours" are those of the first run
    else:
        target.note(begun(crawl.newest_page(), where=asdict(where)))
    phases = Phases(target, report)
    pages = ChosenPages(crawl, where, name, phases.last)
    if wish.format in formats.OF_RESPONSES and next(pages.with_response(), None) is None:
        raise UserError(
            f"There is no response to export as {wish.format}: only crawls with --warc keep them,"
            " or no page fits the filters."
        )
    work = formats.Work(
        target, phases, pages, tables, wish.filters, wish.file_bytes, wish.exact_only
    )
    return formats.run(wish.format, work)


def _checked(wish: Wish) -> dict[str, dict[str, str]]:
    """The tables with their columns; UserError for what the format does not have."""
    if wish.format not in formats.FORMATS:
        known = ", ".join(formats.FORMATS)
        raise UserError(f"There is no format '{wish.format}'; there are {known}.")
    if wish.columns and wish.format not in formats.OF_COLUMNS:
        raise UserError(f"{wish.format} has no columns: leave --columns out.")
    if wish.tables and wish.format != "parquet":
        raise UserError(f"{wish.format} has no tables: leave --table out.")
    if wish.exact_only and wish.format not in formats.OF_COLUMNS:
        raise UserError(f"{wish.format} marks no duplicates: leave --exact-only out.")
    if wish.format == "parquet":
        need_pyarrow()
    return formats.chosen_tables(wish.format, wish.tables, list(wish.columns), wish.filters)


def crawl_name(crawl: Crawl) -> str:
    """A name for a crawl that has none: by the day on which it began."""
    started = crawl.status().started_ms
    return f"lycosa-{date(started)[:10]}" if started else "lycosa"


def _plan(wish: Wish, name: str, tables: dict[str, dict[str, str]]) -> dict[str, Any]:
    columns = {table: list(names) for table, names in tables.items()}
    filters = {key: str(value) for key, value in wish.filters.items()}
    plan = {"format": wish.format, "crawl": name, "filters": filters, "tables": columns}
    return {**plan, "marks": "exact"} if wish.exact_only else plan


def _filter(stored: dict[str, Any]) -> Filter:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
    }
    return Filter(**values)
