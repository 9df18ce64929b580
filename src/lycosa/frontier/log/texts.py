"""Blocks of URLs, packed by zstd with a numbered dictionary. Pure.

Owns the packing and its bounds. What is in a block is `format`'s business.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import zstandard

from lycosa.frontier.log import dictionary

CURRENT = 1  # the dictionary that new blocks are packed with
LEVEL = 3
MAX_RAW = 66 * 2_000  # bytes of an unpacked block: 64 URLs, what they begin with, their lengths

_known: dict[int, zstandard.ZstdCompressionDict | None] = {0: None}


class _Own(threading.local):
    """What a thread packs and unpacks with: zstd's contexts are not to be shared by threads."""

    def __init__(self) -> None:
        self.packer = zstandard.ZstdCompressor(level=LEVEL, dict_data=_known[CURRENT])
        self.unpackers: dict[int, zstandard.ZstdDecompressor] = {}

    def unpacker(self, number: int) -> zstandard.ZstdDecompressor:
        """KeyError if its dictionary is not known."""
        found = self.unpackers.get(number)
        if found is None:
            found = self.unpackers[number] = zstandard.ZstdDecompressor(_known[number])
        return found


def learn(number: int, data: bytes) -> None:
    """Makes a dictionary known, as a store keeps it; one that is known stays as it is."""
    if number not in _known:
        _known[number] = _read(data)


def learn_all(stored: Mapping[int, bytes]) -> None:
    """Makes all dictionaries known that a store keeps."""
    for number, data in stored.items():
        learn(number, data)


def known_dictionary(number: int) -> bool:
    return number in _known


def pack_block(raw: bytes) -> bytes:
    """Packs a block with the dictionary CURRENT."""
    return _own.packer.compress(raw)


def unpack_block(data: bytes, number: int) -> bytes | None:
    """An unpacked block; None if it can't be unpacked, or says that it is too large."""
    try:
        if not 0 < zstandard.frame_content_size(data) <= MAX_RAW:
            return None
        return _own.unpacker(number).decompress(data, max_output_size=MAX_RAW)
    except (zstandard.ZstdError, KeyError):
        return None


def _read(data: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(data, dict_type=zstandard.DICT_TYPE_FULLDICT)


def _learn_own() -> None:
    """All that this version knows; the one it packs with is prepared once, for all threads."""
    for number in dictionary.NUMBERS:
        learn(number, dictionary.dictionary(number))
    current = _known[CURRENT]
    assert current is not None
    current.precompute_compress(level=LEVEL)


_learn_own()
_own = _Own()
