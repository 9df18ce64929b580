"""A crawl's SQLite file as it is read: a connection that changes nothing, and one more for each of
the few writes. Knows none of the questions (`frontier.reader`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lycosa.called import called
from lycosa.clock import wall_now
from lycosa.errors import UserError
from lycosa.frontier.reader import Row, Run, SqlValues
from lycosa.frontier.sqlite.connection import (
    begin,
    check_format,
    check_sound,
    connect,
    connect_to_read,
    errors_mapped,
    mapped,
)
from lycosa.frontier.sqlite.store import json_ids
from lycosa.frontier.values import Place


class SqliteSource:
    """See `frontier.reader.Source`."""

    dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = connect_to_read(path)
        if check_format(self.db) == 0:
            raise UserError(
                f"{path} holds no crawl: remove it, and start one with '{called('crawl')}'."
            )

    def now_ms(self) -> int:
        return wall_now()

    @errors_mapped
    def rows(self, statement: str, values: SqlValues) -> list[dict[str, Any]]:
        found = self.db.execute(statement, values)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found]

    def stream(self, statement: str, values: SqlValues) -> Iterator[Row]:
        try:
            yield from self.db.execute(statement, values)
        except sqlite3.Error as error:
            raise mapped(error) from error

    @contextmanager
    def writing(self) -> Iterator[Run]:
        db = connect(self.path)
        try:
            begin(db)
            yield lambda statement, values: db.execute(statement, values).fetchall()
            db.execute("COMMIT")
        except sqlite3.Error as error:
            raise mapped(error) from error
        finally:
            db.close()

    def numbers(self, numbers: Sequence[int]) -> str:
        return json_ids(list(numbers))

    def place(self, engine_id: int) -> Place | None:
        """All engines write to the one directory."""
        return None

    def check(self, seconds: float) -> None:
        check_sound(self.db, seconds)

    def close(self) -> None:
        self.db.close()
