"""The host graph: which host links to which, one JSON line a pair, one zstd frame a commit.

Owns the format of `edges/*.jsonl.zst` and reading it back. A pair comes again in each commit that
met it: readers add them up.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson
import zstandard

from lycosa.archive.reading import Region, Verdict
from lycosa.archive.segments import CommittedFile, segment_name
from lycosa.archive.text import pack
from lycosa.errors import StoreError

Edges = dict[tuple[str, str], int]  # links by source and target
_BUFFER = 1 << 17


class HostEdge(NamedTuple):
    """One host's links to another, as one commit had them."""

    source: str
    target: str
    links: int


def edges_frame(edges: Mapping[tuple[str, str], int]) -> bytes:
    """The edges of a commit as a frame."""
    rows = [
        orjson.dumps({"source": source, "target": target, "links": links}) + b"\n"
        for (source, target), links in edges.items()
    ]
    return pack(rows)[0]


def read_edges(root: Path, segment: int, committed: int) -> Iterator[HostEdge]:
    """Every edge that a segment has; raises StoreError where it is damaged."""
    name = segment_name("edges", segment)
    with CommittedFile(root, name, committed) as file:
        packed = io.BufferedReader(file, _BUFFER)
        frames = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        try:
            for line in io.BufferedReader(frames, _BUFFER):
                row = orjson.loads(line)
                yield HostEdge(row["source"], row["target"], row["links"])
        except (zstandard.ZstdError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{root / name} is damaged: {error}.") from error


def check_edges(root: Path, segment: int, verdict: Verdict) -> None:
    """Read a segment; no page loses anything with it."""
    try:
        for _ in read_edges(root, segment, min(verdict.committed, verdict.size)):
            pass
        verdict.took(0, verdict.committed)
    except StoreError:
        verdict.damaged.append(Region(0, verdict.committed))
