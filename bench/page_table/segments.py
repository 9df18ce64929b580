"""Pages as packed frames in a segment: what the table would cost outside of the database.

A prototype for figures, not for use: no index, no changes, no recovery.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice

import orjson
import zstandard

from page_table.rows import Row, Rows

LEVEL = 3
LOOKS = 200


@dataclass
class Packed:
    """What frames of so many rows take."""

    frame: int
    bytes: float  # a row
    pack_us: float  # of CPU, a row
    look_us: float  # of CPU, for one row


def packed(rows: Rows, frame: int, frames: int) -> Packed:
    """Column by column, since like values pack well side by side."""
    packer, unpacker = zstandard.ZstdCompressor(LEVEL), zstandard.ZstdDecompressor()
    made: list[bytes] = []
    total = 0.0
    for _ in range(frames):
        batch = list(islice(rows.random(frame), frame))
        began = time.process_time()
        made.append(packer.compress(_columns(batch)))
        total += time.process_time() - began
    began = time.process_time()
    for number in range(LOOKS):
        columns = orjson.loads(unpacker.decompress(made[number % frames]))
        assert [column[number % frame] for column in columns]
    looks = time.process_time() - began
    size = sum(map(len, made))
    return Packed(frame, size / frame / frames, total * 1e6 / frame / frames, looks * 1e6 / LOOKS)


def _columns(batch: list[Row]) -> bytes:
    columns = ([_plain(each) for each in column] for column in zip(*batch, strict=True))
    return orjson.dumps(list(columns))


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value
