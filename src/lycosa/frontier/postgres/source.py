"""A crawl on PostgreSQL as it is read: one connection, cursors on the server for what is large.
Knows none of the questions (`frontier.reader`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg
from psycopg.rows import dict_row

from lycosa.called import called
from lycosa.errors import UserError
from lycosa.frontier import queries
from lycosa.frontier.keys import SETTINGS_KEY
from lycosa.frontier.postgres.connection import (
    Int8s,
    check_format,
    connect,
    int8s,
    mapped,
    parsed,
    place,
)
from lycosa.frontier.reader import Row, Run, SqlValues
from lycosa.frontier.values import Place

SQL = queries.load("postgres")
STREAM_ROWS = 10_000  # brought at once


class PostgresSource:
    """See `frontier.reader.Source`."""

    dialect = "postgres"

    def __init__(self, url: str) -> None:
        self.where = place(parsed(url))
        self.db = connect(url, "lycosa reader")
        self._numbers = count()  # of streams: several may be read in turns
        if not self._holds_crawl():
            self.db.close()
            raise UserError(
                f"There is no crawl in the PostgreSQL database {self.where}: start one with "
                f"'{called('crawl')} SEEDS --store …', or correct --store."
            )

    def _holds_crawl(self) -> bool:
        with self._mapped():
            if check_format(self.db) == 0:
                return False
        return bool(self.rows(SQL["setting_get"], {"key": SETTINGS_KEY}))

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise mapped(error, self.where) from None

    def now_ms(self) -> int:
        with self._mapped():
            ((now,),) = self.db.execute(SQL["clock"], {"now": None}).fetchall()
        return int(now)

    def rows(self, statement: str, values: SqlValues) -> list[dict[str, Any]]:
        with self._mapped(), self.db.cursor(row_factory=dict_row, binary=True) as cursor:
            return cursor.execute(statement, values).fetchall()

    def stream(self, statement: str, values: SqlValues) -> Iterator[Row]:
        name = f"stream_{next(self._numbers)}"
        with self._mapped(), self.db.transaction(), self.db.cursor(name) as cursor:
            cursor.itersize = STREAM_ROWS
            cursor.execute(statement, values)
            yield from cursor

    @contextmanager
    def writing(self) -> Iterator[Run]:
        def run(statement: str, values: SqlValues) -> list[Row]:
            done = self.db.execute(statement, values)
            return done.fetchall() if done.description else []

        with self._mapped(), self.db.transaction():
            yield run

    def numbers(self, numbers: Sequence[int]) -> Int8s:
        return int8s(numbers)

    def place(self, engine_id: int) -> Place | None:
        return next(
            (Place(**row) for row in self.rows(SQL["place"], {"engine_id": engine_id})), None
        )

    def check(self, seconds: float) -> None:
        """A server looks after its own files."""

    def close(self) -> None:
        self.db.close()
