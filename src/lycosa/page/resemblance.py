"""How much two texts have in common: the judge of near duplicates.

`simhash` says which pairs are worth looking at; here the share of three words in a row that both
have (Jaccard's index) decides. Characters of scripts without spaces count as words. Pure.

Of a text that is kept for later comparison a sketch is enough: the SKETCH smallest hashes of its
shingles. What two texts have in common below the largest hash of a sketch is a fair sample of what
they have in common at all. Texts of up to SKETCH shingles are compared exactly; of longer ones the
index is wrong by 0.02 (one standard deviation, at 0.7).
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Collection
from typing import NamedTuple, Self
from zlib import crc32

from lycosa.page.simhash import words

SHINGLE = 3  # words in a row; with four, an edit of 5 % could cost more than NEAR_DUPLICATE allows
NEAR_DUPLICATE = 0.7  # of all shingles of two texts that both have
DRIFTED = 0.5  # texts below it are not in one cluster, even if a third is near to both
SKETCH = 512  # hashes of a text, four bytes each

Shingles = frozenset[int]
_HIGH = 1 if sys.byteorder == "little" else 0  # half of a number of 64 bits


def shingles(text: str) -> Shingles:
    """What a text consists of, as numbers of 64 bits: the same in every process."""
    found = "\n".join(words(text)).encode("utf-8", "replace")
    if not found:
        return frozenset()
    hashes = list(map(crc32, found.split(b"\n")))
    if len(hashes) < SHINGLE:
        return frozenset((hash(tuple(hashes)),))
    return frozenset(map(hash, zip(hashes, hashes[1:], hashes[2:], strict=False)))


def jaccard(one: Shingles, other: Shingles) -> float:
    """The share of what both have in what either has, 0 to 1."""
    common = len(one & other)
    either = len(one) + len(other) - common
    return common / either if either else 1.0


class Sketch(NamedTuple):
    """What is kept of a text."""

    hashes: frozenset[int]
    limit: int | None  # of the text's hashes all up to this one are there; None: all

    @classmethod
    def of(cls, text: str) -> Self:
        halves = array("i")
        halves.frombytes(array("q", shingles(text)).tobytes())
        found = set(halves[_HIGH::2])
        return cls._made(sorted(found)[:SKETCH] if len(found) > SKETCH else found)

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        return cls._made(array("i", data))

    @classmethod
    def _made(cls, hashes: Collection[int]) -> Self:
        return cls(frozenset(hashes), max(hashes) if len(hashes) >= SKETCH else None)

    def packed(self) -> bytes:
        return array("i", self.hashes).tobytes()

    def jaccard(self, other: Sketch) -> float:
        """As of the two texts, about."""
        one, two = self.hashes, other.hashes
        limits = [limit for limit in (self.limit, other.limit) if limit is not None]
        if limits:
            least = min(limits)
            one, two = (
                which if limit == least else frozenset(each for each in which if each <= least)
                for which, limit in ((one, self.limit), (two, other.limit))
            )
        return jaccard(one, two)
