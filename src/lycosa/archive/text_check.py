"""Whether a text segment is what was written: every frame, every row, and every page's row.

Reads, changes nothing, and knows nothing of the frontier: the caller says where rows should be.
Holds one frame in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import NamedTuple

import orjson
import zstandard

from lycosa.archive.reading import CHUNK, Region, SegmentFile, Verdict
from lycosa.archive.text import rfc3339

FILLER_MAGIC = 0x184D2A50  # of a skippable frame, which every reader of zstd skips
FILLER_HEAD = 8  # bytes: the magic number and the length of what follows
_CHECKSUM, _NO_MEANING = 0x04, 0x18  # bits of a frame's description
_MAGIC_MASK = 0xFFFFFFF0
_LONGEST = 256 << 20  # bytes of an unpacked frame: four times what waits for a commit
_UNSIGNED = (1 << 64) - 1


class TextPlace(NamedTuple):
    """Where the text of a page should be, and what its row must say."""

    frame: int
    offset: int
    domain_id: int
    fp: int
    url: str
    fetched_ms: int
    content_hash: int


@dataclass(slots=True)
class Frame:
    """One frame as it was found; a filler has no rows."""

    end: int
    rows: list[bytes]


class TextCheck:
    """Reads one segment once."""

    def __init__(self, file: SegmentFile, verdict: Verdict) -> None:
        self._file = file
        self._verdict = verdict

    def run(self, places: Iterator[TextPlace]) -> Iterator[tuple[TextPlace, str]]:
        """The pages whose text is not there, with the reason; `places` in order."""
        groups = groupby(places, key=lambda place: place.frame)
        frame, wanted = _next(groups)
        at = 0
        while wanted or at < self._file.length:
            if wanted and (frame < at or at >= self._file.length):
                why = "no frame begins there" if frame < at else self._file.why(at)
                yield from ((place, why) for place in wanted)
                frame, wanted = _next(groups)
                continue
            found, ours = self._read(at), wanted if frame == at else []
            if ours:
                yield from self._match(found, ours, at)
                frame, wanted = _next(groups)
            elif found is not None and found.rows:
                self._unowned(found, at, len(found.rows))
            at = found.end if found else self._damage(at, frame if wanted else -1)

    def _damage(self, at: int, following: int) -> int:
        """Note that no frame begins there; returns where the next may, which only places tell."""
        end = following if at < following < self._file.length else self._file.length
        self._verdict.damaged.append(Region(at, end))
        return end

    def _match(
        self, found: Frame | None, wanted: list[TextPlace], at: int
    ) -> Iterator[tuple[TextPlace, str]]:
        if found is None:
            yield from ((place, self._file.why(at)) for place in wanted)
            return
        begins = accumulate(map(len, found.rows), initial=0)
        rows = dict(zip(begins, found.rows, strict=False))
        owned = 0
        for place in wanted:
            if place.offset not in rows:
                yield place, "its row is not there"
            elif not _is_of(rows[place.offset], place):
                yield place, "another row is there"
            else:
                owned += 1
        if owned < len(found.rows):
            self._unowned(found, at, len(found.rows) - owned)

    def _unowned(self, found: Frame, at: int, count: int) -> None:
        """Note rows that belong to no page. A frame of nothing else can be taken out."""
        self._verdict.unowned += count
        if count == len(found.rows):
            self._verdict.foreign.append(Region(at, found.end))
            if not self._verdict.example:
                self._verdict.example = _url_of(found.rows[0])

    def _read(self, at: int) -> Frame | None:
        """The frame that begins there; None if none does, or it is damaged."""
        filler = self._filler(at)
        if filler is not None:
            return filler
        if not _checksummed(self._file.read(at, 5)):
            return None
        unpacker = zstandard.ZstdDecompressor().decompressobj()
        parts, size, begin = [], 0, at
        try:
            while not unpacker.eof:
                data = self._file.read(at, CHUNK)
                if not data:
                    return None
                at += len(data)
                part = unpacker.decompress(data)
                size += len(part)
                if size > _LONGEST:
                    return None
                parts.append(part)
        except zstandard.ZstdError:
            return None
        end = at - len(unpacker.unused_data)
        data = b"".join(parts)
        if not data.endswith(b"\n"):
            return None
        self._verdict.took(begin, end)
        return Frame(end, [line + b"\n" for line in data[:-1].split(b"\n")])

    def _filler(self, at: int) -> Frame | None:
        head = self._file.read(at, FILLER_HEAD)
        if len(head) < FILLER_HEAD:
            return None
        magic, length = int.from_bytes(head[:4], "little"), int.from_bytes(head[4:], "little")
        end = at + FILLER_HEAD + length
        if magic & _MAGIC_MASK != FILLER_MAGIC or end > self._file.available:
            return None
        self._verdict.took(at, end)
        return Frame(end, [])


def filler_frame(length: int) -> bytes:
    """The head that makes `length` bytes, itself included, a frame that readers skip."""
    return FILLER_MAGIC.to_bytes(4, "little") + (length - FILLER_HEAD).to_bytes(4, "little")


def _checksummed(head: bytes) -> bool:
    """Whether a frame has a checksum, as all of ours have, and no unknown bit is set."""
    return len(head) == 5 and head[4] & _CHECKSUM == _CHECKSUM and not head[4] & _NO_MEANING


def _next(groups: Iterator[tuple[int, Iterator[TextPlace]]]) -> tuple[int, list[TextPlace]]:
    for frame, group in groups:
        return frame, list(group)
    return -1, []


def _is_of(row: bytes, place: TextPlace) -> bool:
    try:
        found = orjson.loads(row)
        return bool(
            found["url"] == place.url
            and found["content_hash"] == f"{place.content_hash & _UNSIGNED:016x}"
            and found["fetched_at"] == rfc3339(place.fetched_ms)
        )
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return False


def _url_of(row: bytes) -> str:
    try:
        return str(orjson.loads(row)["url"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return ""
