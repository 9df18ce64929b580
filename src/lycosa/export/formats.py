"""The formats of an export: which phases each has, and what is done when they are over.

Owns the names of formats and files. The phases are in `stream`, the files in the writers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lycosa import ownfiles
from lycosa.archive.warc import record_ids
from lycosa.clock import wall_now
from lycosa.errors import UserError
from lycosa.export import parquet, wacz
from lycosa.export.card import card
from lycosa.export.cdxj import cdxj_line, in_place
from lycosa.export.edges import CHOSEN_BY, PHASE, check_filters, summed_edges
from lycosa.export.jsonl import PATTERN, JsonlFile
from lycosa.export.marks import ExactMarks, Marks, NearMarks
from lycosa.export.shards import Shards
from lycosa.export.sinks import MarkedSink, RowSink, SortedSink, text_rows
from lycosa.export.sorting import SortedRow
from lycosa.export.stream import ChosenPages, Phases
from lycosa.export.tables import (
    EDGES,
    INDEX,
    OF_HOST,
    OF_MARKS,
    TEXT,
    TEXT_MORE,
    Columns,
    chosen,
    date,
    edge_record,
    host_record,
    index_record,
)
from lycosa.export.target import Target
from lycosa.export.warc_records import gzipped, text_conversion
from lycosa.export.warcs import WARC_BYTES, RecordFile, WarcSink
from lycosa.reading.values import Page, TextPage

TABLES: dict[str, tuple[Columns, Columns]] = {
    "text": (TEXT, TEXT_MORE),
    "index": (INDEX, {}),
    "edges": (EDGES, {}),
}
FORMATS = ("parquet", "jsonl", "warc", "wacz", "cdxj", "wet")
SINGLE_FILES = ("wacz", "cdxj")
OF_RESPONSES = ("warc", "wacz", "cdxj")
OF_COLUMNS = ("parquet", "jsonl")
_INDEX_FILE = "index.cdxj"
_EVER = 1 << 62
WriteIndex = Callable[[Iterable[SortedRow]], list[str]]  # the names of the files it made


@dataclass(slots=True)
class Work:
    """What an export has to do with."""

    target: Target
    phases: Phases
    pages: ChosenPages
    tables: dict[str, Columns]  # of Parquet and of lines
    filters: dict[str, Any] = field(default_factory=dict)  # as the user gave them
    file_bytes: int = 0  # of a file; 0: as the format likes it
    exact_only: bool = False  # near-duplicates are not marked


def chosen_tables(
    format_: str, tables: Iterable[str], columns: list[str], filters: Collection[str] = ()
) -> dict[str, Columns]:
    """The tables that a user asked for, each with its columns. Where filters are given that edges
    can't be chosen by, these are left out unless they were asked for."""
    if format_ == "jsonl":
        return {"text": chosen(columns, *TABLES["text"])}
    if format_ != "parquet":
        return {}
    of_pages = [name for name in TABLES if name != "edges" or CHOSEN_BY.issuperset(filters)]
    names = list(dict.fromkeys(tables)) or of_pages
    if "edges" in names:
        check_filters(filters)
    for name in names:
        if name not in TABLES:
            raise UserError(f"There is no table '{name}'; there are {', '.join(TABLES)}.")
    everything = [TABLES[name][0] | TABLES[name][1] for name in names]
    chosen(columns, {name: kind for each in everything for name, kind in each.items()}, {})
    of_tables = {
        name: [each for each in columns if each in every]
        for name, every in zip(names, everything, strict=True)
    }
    return {
        name: chosen(wanted, *TABLES[name])
        for name, wanted in of_tables.items()
        if wanted or not columns
    }


def run(format_: str, work: Work) -> dict[str, Any]:
    """Do everything that is not done yet, and give the export its name; what was exported."""
    counts = _RUNS[format_](work)
    single = f"out.{format_}" if format_ in SINGLE_FILES else ""
    files = work.target.state["files"]
    summary = {"counts": counts, "files": [name for name in files if name != single]}
    if marked := work.target.state.get("duplicates"):
        summary["duplicates"] = marked
    work.target.finish(summary, keep=single)
    return summary


def _parquet(work: Work) -> dict[str, int]:
    parquet.need_pyarrow()
    if "text" in work.tables:
        _text_rows(work, "text/part-{:05d}.parquet", _parquet_file(work.tables["text"]))
    if "index" in work.tables:
        _index(work)
    if "edges" in work.tables:
        _edges(work)
    counts = {name: work.phases.count(name) for name in work.tables}
    written = work.target.state["files"]
    total = sum((work.target.work / name).stat().st_size for name in written)
    day = date(wall_now())[:10]
    text = card(work.pages.name, work.tables, counts, total, work.filters, day)
    ownfiles.write(work.target.work / "README.md", text.encode())
    return counts


def _parquet_file(columns: Columns, sorted_by: str = "") -> Callable[[Path, str], Any]:
    return lambda path, _: parquet.ParquetFile(path, columns, sorted_by)


def _text_rows(work: Work, pattern: str, make: Callable[[Path, str], Any]) -> None:
    """The rows of `text` in numbered files."""
    phase = "text"
    if work.phases.done(phase):
        return
    kept, after = work.phases.files(phase), work.phases.after(phase)
    marks = _marks(work)
    try:
        if after:
            marks.catch_up(work.pages, after)
        shards = Shards(work.target, pattern, make, len(kept), **_file_bytes(work))
        rows = text_rows(work.pages.name, marks, work.tables["text"])
        sink = MarkedSink(shards, kept, rows, work.target, marks)
        work.phases.run(phase, work.pages.texts, sink)
    finally:
        marks.close()


def _marks(work: Work) -> Marks:
    if OF_MARKS.isdisjoint(work.tables["text"]):
        return Marks()
    if work.exact_only:
        return ExactMarks(work.target.work)
    return NearMarks(work.target.work, work.pages, work.phases)


def _index(work: Work) -> None:
    """The rows of `index`, sorted by their first column. What a host's rows have in common is added
    where they have come together."""
    columns = work.tables["index"]
    own = [name for name in columns if name not in OF_HOST]
    of_host = len(own) < len(columns)
    crawl = work.pages.name

    def row_of(page: Page) -> SortedRow:
        record = index_record(page, crawl)
        return record["url_surtkey"], record["url_host_name"], *(record[name] for name in own)

    def write(rows: Iterable[SortedRow]) -> list[str]:
        make = _parquet_file(columns, "url_surtkey")
        shards = Shards(work.target, "index/part-{:05d}.parquet", make, **_file_bytes(work))
        try:
            for row in rows:
                record = dict(zip(own, row[2:], strict=True))
                shards.add(record | host_record(row[1]) if of_host else record)
                if shards.full:
                    shards.cut()
            shards.finish(more=False)
        except BaseException:
            shards.abort()
            raise
        return shards.kept

    _sorted(work, work.pages.pages, row_of, write)


def _sorted(
    work: Work,
    pages: Callable[[int], Iterator[Page]],
    row_of: Callable[[Page], SortedRow],
    write: WriteIndex,
) -> None:
    """The phase `index`: what it has kept are sorted runs until it is done, and then its files."""
    if work.phases.done("index"):
        return
    sink = SortedSink(work.target, work.phases.files("index"), row_of, write)
    work.phases.run("index", pages, sink)


def _edges(work: Work) -> None:
    """The rows of `edges`; not gone on with: it is done anew."""
    if work.phases.done(PHASE):
        return
    make = _parquet_file(work.tables["edges"], "source")
    shards = Shards(work.target, "edges/part-{:05d}.parquet", make, **_file_bytes(work))
    count = 0
    try:
        for edge in summed_edges(work.target, work.pages.edges()):
            shards.add(edge_record(*edge))
            count += 1
            if shards.full:
                shards.cut()
        shards.finish(more=False)
    except BaseException:
        shards.abort()
        raise
    work.phases.note_done(PHASE, shards.kept, count)


def _jsonl(work: Work) -> dict[str, int]:
    columns = work.tables["text"]
    _text_rows(work, PATTERN, lambda path, _: JsonlFile(path, columns))
    return {"text": work.phases.count("text")}


def _wet(work: Work) -> dict[str, int]:
    ids = record_ids()

    def row_of(page: TextPage) -> bytes:
        return gzipped(text_conversion(page, next(ids)))

    kept = work.phases.files("text")
    shards = _record_shards(work, f"{work.pages.name}-{{:05d}}.warc.wet.gz", len(kept))
    work.phases.run("text", work.pages.texts, RowSink(shards, kept, row_of))
    return {"text": work.phases.count("text")}


def _record_shards(work: Work, pattern: str, number: int) -> Shards:
    def make(path: Path, name: str) -> RecordFile:
        return RecordFile(path, name, work.pages.name)

    return Shards(work.target, pattern, make, number, work.file_bytes or WARC_BYTES)


def _warc(work: Work) -> dict[str, int]:
    _responses(work, f"{work.pages.name}-{{:05d}}.warc.gz", lambda rows: _lines(work, rows))
    return {"responses": work.phases.count("responses")}


def _responses(work: Work, pattern: str, write_index: WriteIndex) -> None:
    """Responses in WARC files, and their index."""
    kept, after = work.phases.files("responses"), work.phases.after("responses")
    if work.phases.done("responses"):
        return
    number = sum(name.endswith(".warc.gz") for name in kept)
    shards = _record_shards(work, pattern, number)
    sink = WarcSink(work.target, work.pages, shards, kept, after, write_index)
    work.phases.run("responses", work.pages.responses, sink)


def _lines(work: Work, rows: Iterable[SortedRow], name: str = _INDEX_FILE) -> list[str]:
    """Sorted lines in a file."""
    with ownfiles.create_own(work.target.draft(name)) as file:
        for row in rows:
            file.write(row[0])
    work.target.keep(name)
    return [name]


def _cdxj(work: Work) -> dict[str, int]:
    """An index of the crawl's own WARC segments."""

    def row_of(page: Page) -> SortedRow:
        return (cdxj_line(page, in_place(page)),)

    def write(rows: Iterable[SortedRow]) -> list[str]:
        return _lines(work, rows, "out.cdxj")

    _sorted(work, work.pages.with_response, row_of, write)
    return {"index": work.phases.count("index")}


def _wacz(work: Work) -> dict[str, int]:
    pattern = wacz.ARCHIVE.format(work.pages.name)
    _responses(work, pattern, lambda rows: wacz.write_index(work.target, rows))
    shards = Shards(work.target, wacz.PAGES, lambda path, _: wacz.PageList(path), file_bytes=_EVER)
    work.phases.run("pages", work.pages.with_response, _Listed(shards, []))
    files = [*work.phases.files("responses"), *work.phases.files("pages")]
    wacz.pack(work.target, "out.wacz", files, work.pages.name, wall_now())
    return {"responses": work.phases.count("responses")}


class _Listed(RowSink[Page]):
    """Pages as they are; the file decides which it lists."""

    def __init__(self, shards: Shards, kept: list[str]) -> None:
        super().__init__(shards, kept, lambda page: page)

    @property
    def full(self) -> bool:
        return False


def _file_bytes(work: Work) -> dict[str, int]:
    return {"file_bytes": work.file_bytes} if work.file_bytes else {}


_RUNS: dict[str, Callable[[Work], dict[str, int]]] = {
    "parquet": _parquet,
    "jsonl": _jsonl,
    "warc": _warc,
    "wacz": _wacz,
    "cdxj": _cdxj,
    "wet": _wet,
}
