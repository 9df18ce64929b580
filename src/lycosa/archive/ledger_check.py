"""Whether every committed line of a ledger is one. Reads, changes nothing.

`ledger` knows what a line is.
"""

from __future__ import annotations

from pathlib import Path

import orjson

from lycosa.archive.ledger import is_entry
from lycosa.archive.reading import Region, Verdict


def check_lines(path: Path, verdict: Verdict) -> None:
    """Note the committed lines that can't be a ledger's. What follows them may be torn."""
    at = 0
    with open(path, "rb") as file:
        for line in file:
            if at >= verdict.committed:
                break
            if not _is_entry(line) and at + len(line) <= verdict.size:
                verdict.damaged.append(Region(at, at + len(line)))
            at += len(line)
    verdict.took(0, min(at, verdict.committed))


def _is_entry(line: bytes) -> bool:
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return line.endswith(b"\n") and is_entry(entry)
