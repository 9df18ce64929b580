"""`lycosa query`: SQL over a crawl, with the tables `text` and `index` (also called `pages`)."""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from lycosa.commands.export import ExportProgress
from lycosa.commands.filters import filters_of
from lycosa.commands.printing import print_json
from lycosa.commands.which_crawl import opened_nodes
from lycosa.errors import UserError
from lycosa.settings.collect import Values
from lycosa.terminal import one_line

_BLOCK = 1_000  # rows whose widths are measured together
_WIDEST = 60  # characters of a value in a table


def query(values: Values, words: list[str]) -> int:
    """Run one query, and print its answer."""
    from lycosa.export.parquet import need_pyarrow
    from lycosa.export.query import QueryAnswer, need_duckdb, tables_of

    if values["json"] and values["csv"]:
        raise UserError("Choose one of --json and --csv.")
    need_duckdb()
    need_pyarrow()
    sql = words[0]
    with tempfile.TemporaryDirectory(prefix="lycosa-query-") as place:
        out = Path(place) / "tables"
        tables = tables_of(sql)
        if tables:
            _export(values, out, tables)
        else:
            out.mkdir()
        with closing(QueryAnswer(sql, tables, out)) as answer:
            _print(values, answer.columns, answer.rows())
    return 0


def _export(values: Values, out: Path, tables: list[str]) -> None:
    from lycosa.export.job import Wish, export

    progress = ExportProgress()
    wish = Wish(
        "parquet",
        out,
        dict(filters_of(values)),
        tables,
        name=values["name"],
        exact_only=values["exact-only"],
    )
    try:
        with opened_nodes(values) as crawl:
            export(crawl, wish, progress)
    finally:
        progress.end()


def _print(values: Values, columns: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    if values["json"]:
        for row in rows:
            print_json(dict(zip(columns, map(_plain, row), strict=True)), indent=False)
    elif values["csv"]:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_plain(value) for value in row] for row in rows)
    else:
        for line in table_lines(columns, rows):
            print(line)


def table_lines(columns: list[str], rows: Iterator[tuple[Any, ...]]) -> Iterator[str]:
    """Columns of equal width; those of numbers stand to the right."""
    first = True
    while block := list(islice(rows, _BLOCK)):
        texts = [[_shown(value) for value in row] for row in block]
        heads = [columns] if first else []
        widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
        right = [isinstance(value, int | float) for value in block[0]]
        for line in (*heads, *texts):
            yield _line(line, widths, right)
        first = False
    if first:
        yield _line(columns, [len(name) for name in columns], [False] * len(columns))


def _line(texts: Iterable[str], widths: list[int], right: list[bool]) -> str:
    cells = (
        text.rjust(width) if to_right else text.ljust(width)
        for text, width, to_right in zip(texts, widths, right, strict=True)
    )
    return "  ".join(cells).rstrip()


def _shown(value: Any) -> str:
    text = "" if value is None else one_line(str(_plain(value)))
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
