"""Running the commands in this process, and reading what they wrote, for tests."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import zstandard

from lycosa.cli import main


def run(*words: str | Path, code: int = 0) -> str:
    """What a command prints on both streams."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        done = main([str(word) for word in words])
    said = out.getvalue() + err.getvalue()
    assert done == code, said
    if code:
        assert said.count("\n") == 1, f"not one sentence: {said}"
    return said


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The rows of a table, by pyarrow."""
    import pyarrow.parquet as pq

    found: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
    return found


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """The objects of files of JSON lines."""
    found = []
    for path in sorted(folder.glob("*.jsonl.zst")):
        with zstandard.open(path, "rt", encoding="utf-8") as file:
            found += [json.loads(line) for line in file]
    return found


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
