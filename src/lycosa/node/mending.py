"""What is done about segments that lost something, when the user has chosen what.

A damaged region is overwritten with something that every reader passes over, of the same length, so
that nothing else moves; its bytes are kept in `damaged.jsonl`. What was cut off is no longer
expected. Only then do pages change in the store: after a kill in between, `verify` finds the same
pages lost again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import orjson

from lycosa import ownfiles
from lycosa.archive import text_check, warc_check
from lycosa.archive.reading import MISSING, UNREADABLE, Region, Verdict
from lycosa.archive.segments import parse_name
from lycosa.archive.warc import record_ids
from lycosa.clock import wall_now
from lycosa.frontier.protocol import Frontier
from lycosa.node.verify import Verifier

NOTE = "damaged.jsonl"
CHUNK = 1000  # pages of one transaction


def requeue(frontier: Frontier, root: Path, verifier: Verifier) -> int:
    """Queue pages again whose text is gone; returns how many."""
    mend(frontier, root, verifier.report.bad)
    return sum(
        sum(frontier.requeue(keys, text_lost=True).values())
        for keys in _chunks(verifier.to_queue_again())
    )


def mark_lost(frontier: Frontier, root: Path, verifier: Verifier) -> int:
    """Note in the store what is gone; returns how many pages lost their text."""
    mend(frontier, root, verifier.report.bad)
    lost = sum(frontier.lose(keys, []) for keys in _chunks(verifier.keys("text")))
    for keys in _chunks(verifier.keys("warc")):
        frontier.lose([], keys)
    return lost


def mend(frontier: Frontier, root: Path, verdicts: list[Verdict]) -> None:
    """Take what is damaged out of the segments."""
    for verdict in verdicts:
        found = parse_name(verdict.name)
        if found is None or verdict.state == UNREADABLE:
            continue
        kind, number = found
        if verdict.state == MISSING:
            frontier.shorten(kind, number, 0)
        elif kind == "visits":
            frontier.shorten(kind, number, min(verdict.size, verdict.committed))
        else:
            length = _mend_file(root, verdict, kind)
            if length < verdict.committed:
                frontier.shorten(kind, number, length)


def _mend_file(root: Path, verdict: Verdict, kind: str) -> int:
    """Take what is damaged out of one segment; returns how long it is now."""
    path = root / verdict.name
    ownfiles.unshare(path)
    fd = ownfiles.open_own(path, os.O_RDWR)
    length = verdict.committed
    try:
        for region in sorted(verdict.damaged + verdict.foreign):
            if region.end > verdict.size:
                length = region.begin  # everything behind it is gone too
                os.ftruncate(fd, length)
                break
            _blank(root, fd, verdict.name, kind, region)
        os.fsync(fd)
    finally:
        os.close(fd)
    return length


def _blank(root: Path, fd: int, name: str, kind: str, region: Region) -> None:
    """Overwrite a region with a filler of its length; a region too short for one stays."""
    size = region.end - region.begin
    if kind == "text":
        fits = text_check.FILLER_HEAD <= size < 1 << 32
        head, tail = (text_check.filler(size), b"") if fits else (b"", b"")
    else:
        head, tail = warc_check.filler(size, next(record_ids()), wall_now()) or (b"", b"")
    if head:
        _overwrite(root, fd, name, region.begin, head)
        _overwrite(root, fd, name, region.end - len(tail), tail)


def _overwrite(root: Path, fd: int, name: str, at: int, data: bytes) -> None:
    if not data:
        return
    before = os.pread(fd, len(data), at)
    note = {"segment": name, "offset": at, "bytes": before.hex(), "at_ms": wall_now()}
    log = ownfiles.open_own(root / NOTE, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(log, orjson.dumps(note) + b"\n")
        os.fsync(log)
    finally:
        os.close(log)
    os.pwrite(fd, data, at)


def _chunks(keys: Iterator[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    while chunk := list(islice(keys, CHUNK)):
        yield chunk
