"""Loads the named queries of a dialect from its `.sql` files. Knows no database.

A file holds queries, each behind a line `-- name: what it is for`. Marks in braces stand for lists
of columns (`columns.marks`).
"""

import re
from functools import cache
from importlib import resources

from lycosa.frontier.columns import marks

_HEAD = re.compile(r"^-- (\w+): (.+)$", re.MULTILINE)


@cache
def load(dialect: str) -> dict[str, str]:
    """All queries of a dialect by name."""
    queries: dict[str, str] = {}
    for name, text in sorted(_folder(dialect)):
        if not name.startswith("migration_"):
            queries.update(split(_filled(text, dialect)))
    return queries


@cache
def migrations(dialect: str) -> list[str]:
    """The migrations of a dialect, in order: the first makes version 1."""
    return [text for name, text in sorted(_folder(dialect)) if name.startswith("migration_")]


def split(text: str) -> dict[str, str]:
    """The queries in one file's text."""
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return {head[1]: text[head.end() : end].strip() for head, end in zip(heads, ends, strict=True)}


def _filled(text: str, dialect: str) -> str:
    for mark, words in marks(dialect).items():
        text = text.replace(mark, words)
    return text


def _folder(dialect: str) -> list[tuple[str, str]]:
    files = resources.files(f"lycosa.frontier.{dialect}").iterdir()
    return [(file.name, file.read_text("utf-8")) for file in files if file.name.endswith(".sql")]
