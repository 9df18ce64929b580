"""What a crawl has kept, as its store and its files tell it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from lycosa.archive.segments import SUFFIX, segment_name
from lycosa.archive.text import iter_rows
from lycosa.frontier.reader import Reader


def committed_lengths(reader: Reader) -> dict[str, int]:
    """The committed bytes of each segment, by its name."""
    found = reader.committed_segments().items()
    return {segment_name(k, number): n for k in SUFFIX for (kind, number), n in found if kind == k}


def texts_in(root: Path, committed: dict[str, int]) -> Counter[str]:
    """How often the text of each URL is in these segments of a directory."""
    return Counter(row["url"] for row in iter_rows(root, committed))
