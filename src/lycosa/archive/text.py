"""The text archive: one JSON line per page, one zstd frame per commit.

Owns the format of `text/*.jsonl.zst` and reading it back. `text_row` and `pack` are pure;
`segments` writes the frames. Because frames follow each other, `zstdcat text/*.jsonl.zst` gives any
tool a stream of JSON lines. Knows nothing of HTML or of the frontier.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson
import zstandard

from lycosa.archive.segments import CommittedFile, parse_name, segment_name
from lycosa.errors import StoreError

# Per 5 KB of prose (bench/archive.py): 1 takes 19 us and 12 % more bytes, 3 takes 34 us, 6 takes
# 80 us for 2 % fewer bytes.
LEVEL = 3
PIECE = 1 << 20  # bytes that are packed at once: as a whole a batch would take thrice its memory
_UNSIGNED = (1 << 64) - 1


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def rfc3339(ms: int) -> str:
    """A moment as 2026-01-31T23:59:59.123Z."""
    seconds, rest = divmod(ms, 1000)
    return f"{_second(seconds)}.{rest:03d}Z"


def text_row(
    url: str,
    fetched_ms: int,
    status: int,
    title: str,
    lang: str,
    text: str,
    *,
    depth: int = 0,
    content_type: str = "",
    charset: str = "",
    content_hash: int = 0,
    redirect_from: str = "",
    main: str = "",
    scores: bytes = b"",
    languages: Sequence[tuple[str, float]] = (),
    label: str = "",
    label_reason: str = "",
    published: str = "",
    site_name: str = "",
    canonical: str = "",
    simhash: int = 0,
) -> bytes:
    """One page as a line of JSON. The keys are the format: add to them, never rename them.

    `scores` has a byte, 0 to 100, for each line of `text` that is not blank, and is written as
    hexadecimal digits: where each line begins, the text itself says. `main` is the main text."""
    row = {
        "url": url,
        "fetched_at": rfc3339(fetched_ms),
        "status": status,
        "title": title,
        "lang": lang,
        "text": text,
        "depth": depth,
        "content_type": content_type,
        "charset": charset,
        # Hexadecimal, because jq and JavaScript round 64-bit numbers.
        "content_hash": f"{content_hash & _UNSIGNED:016x}",
        "redirect_from": redirect_from,
        "main": main,
        "scores": scores.hex(),
        "languages": languages,
        "label": label,
        "label_reason": label_reason,
        "published": published,
        "site_name": site_name,
        "canonical": canonical,
        "simhash": f"{simhash & _UNSIGNED:016x}",
    }
    try:
        line = orjson.dumps(row)
    except orjson.JSONEncodeError:
        line = orjson.dumps(_without_surrogates(row))
    # A copy, because orjson's own takes ten times its length, and rows wait for their commit.
    return line + b"\n"


def _without_surrogates(row: dict[str, Any]) -> dict[str, Any]:
    """UTF-8 has no half of a surrogate pair: each becomes U+FFFD, and whole pairs are joined."""
    return {
        key: value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if isinstance(value, str)
        else value
        for key, value in row.items()
    }


def pack(rows: list[bytes]) -> tuple[bytes, list[int]]:
    """The rows as one zstd frame, and where each begins in the unpacked frame."""
    offsets = list(accumulate(map(len, rows), initial=0))
    size = offsets.pop()
    packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True, write_content_size=True)
    stream = packer.compressobj(size=size)
    packed = [stream.compress(piece) for piece in _pieces(rows)]
    return b"".join((*packed, stream.flush())), offsets


def _pieces(rows: Sequence[bytes]) -> Iterator[bytes]:
    """The rows, joined to pieces of about PIECE bytes."""
    piece: list[bytes] = []
    size = 0
    for row in rows:
        piece.append(row)
        size += len(row)
        if size >= PIECE:
            yield b"".join(piece)
            piece, size = [], 0
    yield b"".join(piece)


def read_row(
    root: Path, segment: int, frame_offset: int, row_offset: int, committed: int
) -> dict[str, Any]:
    """The row that a page points to. `committed` is the committed length of its segment."""
    name = segment_name("text", segment)
    with CommittedFile(root, name, committed, frame_offset) as file:
        reader = _unpacked(file)
        try:
            _skip(reader, row_offset)
            return _parsed(reader.readline(), name)
        except zstandard.ZstdError as error:
            raise StoreError(f"{name} is damaged at {frame_offset}: {error}.") from error


def iter_rows(root: Path, committed: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Every committed row, segment by segment. Skips names of other kinds."""
    for name in sorted(committed):
        parsed = parse_name(name)
        if parsed is not None and parsed[0] == "text":
            yield from _rows_of(root, name, committed[name])


def _rows_of(root: Path, name: str, committed: int) -> Iterator[dict[str, Any]]:
    if committed == 0:
        return
    with CommittedFile(root, name, committed) as file:
        try:
            for line in _unpacked(file):
                yield _parsed(line, name)
        except zstandard.ZstdError as error:
            raise StoreError(f"{name} is damaged: {error}.") from error


def _unpacked(file: CommittedFile) -> io.BufferedReader:
    packed = io.BufferedReader(file, 1 << 17)
    frames = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    return io.BufferedReader(frames, 1 << 17)


def _skip(reader: io.BufferedReader, count: int) -> None:
    while count > 0:
        skipped = len(reader.read(min(count, 1 << 20)))
        if skipped == 0:
            return
        count -= skipped


def _parsed(line: bytes, name: str) -> dict[str, Any]:
    try:
        row: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise StoreError(f"{name} is damaged: a row is not JSON.") from error
    return row
