"""Statements are found by name: each is written once, is used, and exists in both dialects where
both do the same."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from lycosa import frontier
from lycosa.frontier import queries

ROOM = Path(frontier.__file__).parent
DIALECTS = ("sqlite", "postgres")


def code(dialect: str) -> str:
    files = [
        ROOM / "reader.py",
        ROOM / "survey.py",
        ROOM / "queues.py",
        *(ROOM / dialect).glob("*.py"),
    ]
    return "".join(file.read_text("utf-8") for file in files)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_name_is_given_once(dialect: str) -> None:
    files = [file for file in (ROOM / dialect).glob("*.sql") if "migration_" not in file.name]
    names = Counter(name for file in files for name in queries.split(file.read_text("utf-8")))
    assert [name for name, count in names.items() if count > 1] == []
    assert set(names) == set(queries.load(dialect))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_statement_is_used(dialect: str) -> None:
    said = set(re.findall(r'"(\w+)"', code(dialect)))
    assert set(queries.load(dialect)) - said == set()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_statement_that_is_used_is_there(dialect: str) -> None:
    asked = r'(?:[sS][qQ][lL]\[|(?:rows?|one|read|execute|value|stream)\()\s*"([a-z]\w*)"'
    assert set(re.findall(asked, code(dialect))) - set(queries.load(dialect)) == set()


def test_both_dialects_answer_the_same_questions() -> None:
    """The names of queries that mean the same are the same."""
    ours, theirs = (set(queries.load(dialect)) for dialect in DIALECTS)
    assert len(ours & theirs) > 80
