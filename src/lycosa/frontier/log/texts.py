"""Blocks of URLs, packed by zstd with a numbered dictionary. Pure.

Owns the bounds of a block. What is in it is `format`'s business.
"""

from __future__ import annotations

import zstandard

from lycosa.frontier.log import packers

MAX_RAW = 66 * 2_000  # bytes of an unpacked block: 64 URLs, what they begin with, their lengths


def pack_block(raw: bytes) -> bytes:
    """Packs a block with the current dictionary."""
    return packers.packer().compress(raw)


def unpack_block(data: bytes, number: int) -> bytes | None:
    """An unpacked block; None if it can't be unpacked, or says that it is too large."""
    try:
        if not 0 < zstandard.frame_content_size(data) <= MAX_RAW:
            return None
        return packers.unpacker(number).decompress(data, max_output_size=MAX_RAW)
    except (zstandard.ZstdError, KeyError):
        return None
