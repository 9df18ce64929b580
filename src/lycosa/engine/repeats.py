"""How many pages say what another page said: counted while the crawl runs. Pure.

Remembers the hashes of the texts that this engine saw lately, in tables of a fixed size; what is
forgotten or was seen by another engine is not counted. So the counts are a lower bound, for a
person who watches; an export finds all (`archive/duplicates`).
"""

from __future__ import annotations

from array import array

from lycosa.metrics import Stats
from lycosa.page.simhash import NEAR

TEXTS = 1 << 19  # hashes of whole texts that are remembered, 8 bytes each
BANDS = 4  # parts of a simhash: two that differ in fewer bits agree in one of them, most others too
BAND_BITS = 64 // BANDS
WAYS = 2  # simhashes remembered for each value of a band, 8 bytes each: 4 MiB in all

_BAND = (1 << BAND_BITS) - 1
_ALL_BITS = (1 << 64) - 1
_STARTS = tuple(band * WAYS << BAND_BITS for band in range(BANDS))  # where the bands' slots begin


class Repeats:
    """The texts of one engine, the newer ones in the place of the older."""

    def __init__(self) -> None:
        self._texts = array("q", bytes(8 * TEXTS))
        self._near = array("q", bytes(8 * BANDS * WAYS << BAND_BITS))
        self._way = 0  # which simhash of a slot is replaced next

    def count(self, content_hash: int, simhash: int, stats: Stats) -> None:
        """A page was kept; one without words is none that others could repeat."""
        if not simhash:
            return
        slot = content_hash & TEXTS - 1
        if self._texts[slot] == content_hash:
            stats.duplicates += 1
            return  # its simhash is known
        self._texts[slot] = content_hash
        stats.near_duplicates += self._seen(simhash)

    def _seen(self, simhash: int) -> bool:
        """Whether one like it is remembered; from now on it is."""
        near, found = self._near, False
        self._way = way = 1 - self._way
        rest = simhash & _ALL_BITS
        for start in _STARTS:
            slot = start + WAYS * (rest & _BAND)
            rest >>= BAND_BITS
            one, other = near[slot], near[slot + 1]  # 0: none yet, most of the time
            if (one and _near(simhash, one)) or (other and _near(simhash, other)):
                found = True
            near[slot + way] = simhash
        return found


def _near(one: int, other: int) -> bool:
    return ((one ^ other) & _ALL_BITS).bit_count() <= NEAR
