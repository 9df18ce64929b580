"""Rows by their places: a frame is read to its end and no further."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lycosa.archive.frames import read_lines
from lycosa.archive.segments import segment_name
from lycosa.archive.text import pack
from lycosa.errors import StoreError

SEGMENT = 100001


@pytest.fixture
def rows() -> list[bytes]:
    chance = random.Random(3)
    sizes = [0, 1, 20, 200_000, 5, 3_000_000, 70]
    return [chance.randbytes(size).hex().encode() + b"\n" for size in sizes]


def written(root: Path, *frames: bytes) -> int:
    path = root / segment_name("text", SEGMENT)
    path.parent.mkdir()
    return path.write_bytes(b"".join(frames))


@pytest.mark.parametrize("wanted", [[0], [6], [3, 5], [0, 1, 2, 3, 4, 5, 6], [1, 6], []])
def test_rows_are_found_by_their_places(
    tmp_path: Path, rows: list[bytes], wanted: list[int]
) -> None:
    frame, places = pack(rows)
    committed = written(tmp_path, frame, frame)
    for begin in (0, len(frame)):
        found = read_lines(tmp_path, SEGMENT, begin, [places[n] for n in wanted], committed)
        assert [bytes(line) + b"\n" for line in found] == [rows[n] for n in wanted]


def test_what_follows_a_frame_is_not_read(tmp_path: Path, rows: list[bytes]) -> None:
    frame, places = pack(rows)
    committed = written(tmp_path, frame, b"no frame at all")
    assert len(read_lines(tmp_path, SEGMENT, 0, places, committed)) == len(rows)


def test_a_damaged_frame_gives_nothing(tmp_path: Path, rows: list[bytes]) -> None:
    frame, places = pack(rows)
    committed = written(tmp_path, frame)
    with pytest.raises(StoreError, match="not there"):
        read_lines(tmp_path, SEGMENT, 0, [places[-1] + len(rows[-1])], committed)
    with pytest.raises(StoreError, match="cut off"):
        read_lines(tmp_path, SEGMENT, 0, places[:1], committed - 5)
    path = tmp_path / segment_name("text", SEGMENT)
    data = bytearray(frame)
    data[-1] ^= 1  # of the checksum, behind all rows
    path.write_bytes(data)
    with pytest.raises(StoreError):
        read_lines(tmp_path, SEGMENT, 0, places[:1], committed)
