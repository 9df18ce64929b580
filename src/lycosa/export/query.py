"""SQL over a crawl: the tables of an export in a directory that goes away, read by DuckDB.

Only tables that the query names are exported. DuckDB comes with an extra and is imported when it is
needed. Owns the names under which tables are found, and the few functions that queries for Common
Crawl's index have from Presto and DuckDB calls otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lycosa.called import pip_install
from lycosa.errors import LycosaError, UserError

MEMORY = "1GB"  # DuckDB's; beyond it uses files
_ROWS = 1_000  # fetched at once
# Names by which a query may call a table.
NAMES = {"text": "text", "index": "index", "pages": "index", "ccindex": "index", "edges": "edges"}
_FUNCTIONS = (
    "CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern)",
    "CREATE MACRO levenshtein_distance(one, other) AS levenshtein(one, other)",
    "CREATE MACRO url_extract_path(url) AS regexp_extract(url, '^[a-z]+://[^/?#]*([^?#]*)', 1)",
)
_words = re.compile(r"\w+")
_full = re.compile(r"(?i)no space left|disk is full|could not write")


def need_duckdb() -> None:
    """Raise UserError unless duckdb is there."""
    try:
        import duckdb  # noqa: F401
    except ImportError:
        raise UserError(
            f"Queries need duckdb: install it with: {pip_install('lycosa[data]')}"
        ) from None


def tables_of(sql: str) -> list[str]:
    """The tables that a query may name; rather one too many."""
    words = {word.lower() for word in _words.findall(sql)}
    return sorted({table for name, table in NAMES.items() if name in words})


class QueryAnswer:
    """The columns of a query's answer, and its rows, some at a time."""

    def __init__(self, sql: str, tables: list[str], exported: Path) -> None:
        import duckdb

        self._db = duckdb.connect(
            config={"memory_limit": MEMORY, "temp_directory": str(exported / "duckdb")}
        )
        with _explained():
            for statement in (*_views(tables, exported), *_FUNCTIONS):
                self._db.execute(statement)
            self._db.execute(sql)
            self.columns = [str(column[0]) for column in self._db.description or ()]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        with _explained():
            while rows := self._db.fetchmany(_ROWS):
                yield from rows

    def close(self) -> None:
        self._db.close()


def _views(tables: list[str], exported: Path) -> Iterator[str]:
    yield "CREATE SCHEMA ccindex"
    for table in tables:
        files = str(exported / table / "*.parquet").replace("'", "''")
        for name in (name for name, of in NAMES.items() if of == table):
            yield f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{files}')"
        if table == "index":
            yield 'CREATE VIEW ccindex.ccindex AS SELECT * FROM main."index"'


class _explained:  # noqa: N801 - used as a function
    """Turns DuckDB's errors into ours: the query's first, a full disk's otherwise."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, at: Any) -> None:
        import duckdb

        if isinstance(error, duckdb.Error):
            text = " ".join(str(error).split()).rstrip(".")
            if _full.search(text):
                raise LycosaError(f"The query could not be finished: {text}.") from error
            raise UserError(f"The query can't be run: {text}.") from error
