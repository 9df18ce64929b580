"""How much two texts have in common: the judge of near duplicates.

`simhash` says which pairs are worth looking at; here the share of three words in a row that both
have (Jaccard's index) decides. Characters of scripts without spaces count as words. Pure.

Of a text that is kept for later comparison a sketch is enough: the SKETCH smallest hashes of its
shingles. What two texts have in common below the largest hash of a sketch is a fair sample of what
they have in common at all. Texts of up to SKETCH shingles are compared exactly; of longer ones the
index is wrong by 0.02 (one standard deviation, at 0.7).
"""

from __future__ import annotations

from array import array
from typing import NamedTuple, Self

from lycosa.page.word_hashes import word_hashes

SHINGLE = 3  # words in a row; with four, an edit of 5 % could cost more than NEAR_DUPLICATE allows
NEAR_DUPLICATE = 0.7  # of all shingles of two texts that both have
DRIFTED = 0.5  # texts below it are not in one cluster, even if a third is near to both
SKETCH = 512  # hashes of a text, eight bytes each
ENOUGH = 900  # shingles that are sorted to have SKETCH of them, unless many are the same

Shingles = frozenset[int]


def shingles(text: str) -> Shingles:
    """What a text consists of, as numbers of 64 bits: the same in every process."""
    return _shingles(word_hashes(text))


def _shingles(hashes: list[int]) -> Shingles:
    if len(hashes) < SHINGLE:
        return frozenset((hash(tuple(hashes)),)) if hashes else frozenset()
    return frozenset(map(hash, zip(hashes, hashes[1:], hashes[2:], strict=False)))


def _least(hashes: list[int]) -> list[int]:
    """The SKETCH smallest shingles of a text that has as many, and perhaps some more, in order."""
    # Shingles are spread evenly over 64 bits: most texts have enough below this number, and the
    # others are neither gathered nor sorted.
    limit = int((ENOUGH / len(hashes) - 0.5) * 2**64)
    threes = map(hash, zip(hashes, hashes[1:], hashes[2:], strict=False))
    return sorted({each for each in threes if each <= limit})


def jaccard(one: Shingles, other: Shingles) -> float:
    """The share of what both have in what either has, 0 to 1."""
    common = len(one & other)
    either = len(one) + len(other) - common
    return common / either if either else 1.0


class Sketch(NamedTuple):
    """What is kept of a text."""

    hashes: Shingles
    limit: int | None  # of the text's hashes all up to this one are there; None: all

    @classmethod
    def of(cls, text: str) -> Self:
        hashes = word_hashes(text)
        least = _least(hashes) if len(hashes) > ENOUGH else []
        if len(least) < SKETCH:
            found = _shingles(hashes)
            if len(found) < SKETCH:
                return cls(found, None)
            least = sorted(found)
        return cls(frozenset(least[:SKETCH]), least[SKETCH - 1])

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        hashes = frozenset(array("q", data))
        return cls(hashes, max(hashes) if len(hashes) >= SKETCH else None)

    def packed(self) -> bytes:
        return array("q", self.hashes).tobytes()

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
