"""Rows of the text archive by their places, many of one frame at once.

A frame is unpacked once, piece by piece, to its end, where its checksum is. Holds the wanted rows
in memory, not the frame. Knows nothing of the frontier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import zstandard

from lycosa.archive.segments import CommittedFile, segment_name
from lycosa.errors import StoreError

_STEP = 1 << 16  # bytes that are unpacked at once
_LONGEST = 256 << 20  # bytes of a row: more than any frame has


def read_lines(
    root: Path, segment: int, frame: int, offsets: Sequence[int], committed: int
) -> list[bytearray]:
    """The lines that begin at these places of an unpacked frame; `offsets` in order."""
    name = segment_name("text", segment)
    with CommittedFile(root, name, committed, frame) as file:
        pieces = _pieces(file)
        try:
            lines = _lines(pieces, offsets)
            for _ in pieces:
                pass
        except zstandard.ZstdError as error:
            raise StoreError(str(error)) from error
    return lines


def _pieces(file: CommittedFile) -> Iterator[bytes]:
    """The frame that begins where the file stands, unpacked. Not zstandard's own reader: that goes
    on with the next frame."""
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    while not unpacker.eof:
        data = file.read(_STEP)
        if not data:
            raise StoreError("it was cut off")
        yield unpacker.decompress(data)


def _lines(pieces: Iterator[bytes], offsets: Sequence[int]) -> list[bytearray]:
    lines = []
    kept, begin = bytearray(), 0  # what is unpacked and may be wanted, and where it begins
    for offset in offsets:
        while (end := kept.find(b"\n", max(0, offset - begin))) < 0:
            part = next(pieces, None)
            if part is None or len(kept) > _LONGEST:
                raise StoreError("a row is not there")
            unwanted = min(max(0, offset - begin), len(kept))
            del kept[:unwanted]
            begin += unwanted
            kept += part
        lines.append(kept[offset - begin : end])
        del kept[: end + 1]
        begin += end + 1
    return lines
