"""The columns of `pages` are the same in the value, in `columns` and in both schemas, and nowhere
else is a list of them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from lycosa import frontier
from lycosa.frontier import queries
from lycosa.frontier.columns import DOMAIN, PAGES, page_row, page_values
from lycosa.frontier.states import DomainState
from lycosa.frontier.values import PagePlace
from lycosa.records import PageRow
from support.made import made_page

ROOM = Path(frontier.__file__).parent
NOT_STORED = {"order", "text_row", "warc"}
IN_SQLITE = {"int8": "INTEGER", "int4": "INTEGER", "text": "TEXT", "bytea": "BLOB"}


def made_by_sqlite(table: str) -> dict[str, str]:
    db = sqlite3.connect(":memory:")
    for step in queries.migrations("sqlite"):
        db.executescript(step)
    rows = db.execute(f"SELECT name, type FROM pragma_table_info('{table}')").fetchall()
    db.close()
    return dict(rows)


def made_by_postgres(table: str) -> dict[str, str]:
    steps = "".join(queries.migrations("postgres"))
    *_, body = re.findall(rf"CREATE TABLE (?:lean_)?{table} \((.*?)^\)", steps, re.M | re.S)
    renamed = dict(re.findall(rf"ALTER TABLE {table} RENAME COLUMN (\w+) TO (\w+)", steps))
    columns = re.findall(r"^    (\w+) (\w+)", body, re.M)
    for added in re.findall(rf"^ALTER TABLE {table}\n(.*?);", steps, re.M | re.S):
        columns += re.findall(r"^    ADD COLUMN (\w+) (\w+)", added, re.M)
    return {renamed.get(name, name): kind for name, kind in columns}


def test_they_are_the_fields_of_a_page() -> None:
    assert list(PAGES) == [each.name for each in fields(PageRow) if each.name not in NOT_STORED]


def test_both_schemas_have_them() -> None:
    assert made_by_sqlite("pages") == {
        "id": "INTEGER",
        **{name: IN_SQLITE[kind] for name, kind in PAGES.items()},
    }
    assert made_by_postgres("pages") == {"id": "int8", **PAGES}


@pytest.mark.parametrize("made_by", [made_by_sqlite, made_by_postgres])
def test_what_is_read_in_part_are_columns(made_by: Callable[[str], dict[str, str]]) -> None:
    assert set(PagePlace._fields) <= set(made_by("pages"))
    holder, *state = DomainState._fields
    assert set(state) <= set(made_by("domains"))
    assert holder in made_by("held")
    read = {word for each in DOMAIN for word in re.findall(r"d\.(\w+)", each)}
    assert read <= set(made_by("domains"))
    read = {word for each in DOMAIN for word in re.findall(r"h\.(\w+)", each)}
    assert read <= set(made_by("held"))


def test_a_page_comes_back_as_it_was() -> None:
    page = made_page("https://a.test/", depth=3, fetched_ms=4)
    page.title, page.warc_offset, page.payload_digest = "A", 5, b"\0\xff"
    assert page_row(dict(zip(PAGES, page_values(page), strict=True))) == page


def test_nowhere_else_is_a_list_of_them() -> None:
    files = [*ROOM.rglob("*.py"), *ROOM.rglob("*.sql")]
    naming = {file.name for file in files if "wire_bytes" in file.read_text("utf-8")}
    assert naming == {"columns.py", "migration_0001.sql"}


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_every_mark_is_filled_in(dialect: str) -> None:
    assert [name for name, text in queries.load(dialect).items() if "{" in text] == []
