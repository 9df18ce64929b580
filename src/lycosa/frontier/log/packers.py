"""The dictionaries that are known, and what each thread packs and unpacks with.

Owns zstd's contexts: two threads may not share one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import zstandard

from lycosa.frontier.log import dictionary

CURRENT = 1  # the dictionary that new blocks are packed with
LEVEL = 3

_known: dict[int, zstandard.ZstdCompressionDict | None] = {0: None}


class _Own(threading.local):
    """What a thread packs and unpacks with."""

    def __init__(self) -> None:
        self.packer = zstandard.ZstdCompressor(level=LEVEL, dict_data=_known[CURRENT])
        self.unpackers: dict[int, zstandard.ZstdDecompressor] = {}


def packer() -> zstandard.ZstdCompressor:
    """This thread's, with the dictionary CURRENT."""
    return _own.packer


def unpacker(number: int) -> zstandard.ZstdDecompressor:
    """This thread's. KeyError if its dictionary is not known."""
    found = _own.unpackers.get(number)
    if found is None:
        found = _own.unpackers[number] = zstandard.ZstdDecompressor(_known[number])
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
