"""A text in 64 bits, so that texts that are nearly the same differ in few of them. Pure.

Owns what a word is, how much it weighs, and how many bits may differ. What counts is which words a
text has, and of one pair of neighbours in four that they are neighbours: enough to tell texts of
the same words apart, too little to lose sight of one after some edits. Words of scripts that write
no spaces are pairs of characters. `_simhash` (compiled) gives the same numbers at a fraction of the
cost. Whether two pages are near duplicates is not decided here: see `resemblance`.

The weights were chosen by measurement (docs/decisions/0019-near-duplicates.md). Other ones mean
other numbers: those of a crawl that is kept would no longer compare with new ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

compiled: Callable[[str], int] | None
try:
    from lycosa.page._simhash import simhash as compiled
except ImportError:  # there was no C compiler when lycosa was installed
    compiled = None

MAX_CHARS = 16_000  # of a text that count: enough to be taken for a copy, and 40 us at most
NEAR = 7  # bits in which texts may differ that are perhaps near duplicates

SHORT = 3  # letters: "the" and "und" say little, and count once
CAP = 8  # times that a longer word counts, so that a table of one word is not all that counts
SLOTS = 1 << 14  # words are counted in so many slots; those that share one share its cap
ALPHABETS_END = 0x900  # below it a word of SHORT letters is short; Korean ones are not

# The ranges that `_simhash.c` has as well; all other characters beyond ASCII are letters.
SEPARATORS = (
    *((0x80, 0xBF), (0xD7, 0xD7), (0xF7, 0xF7), (0x2000, 0x2BFF), (0x2E00, 0x2E7F)),
    *((0x3000, 0x3004), (0x3008, 0x3040), (0xD800, 0xDFFF), (0xFE00, 0xFE6F), (0xFF00, 0xFF0F)),
    *((0xFF1A, 0xFF20), (0xFF3B, 0xFF40), (0xFF5B, 0xFF65), (0xFFF0, 0xFFFF), (0x1F000, 0x1FAFF)),
)
UNSPACED = (  # Thai and Lao, Burmese, Khmer, Japanese, Chinese
    *((0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3041, 0x31FF)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x20000, 0x3FFFF)),
)
# Capital letters whose small ones are so much further on: ASCII, Latin-1, Greek, Cyrillic.
CAPITALS = (
    *((0x41, 0x5A, 32), (0xC0, 0xDE, 32), (0x391, 0x3A9, 32), (0x400, 0x40F, 80)),
    (0x410, 0x42F, 32),
)

_START, _PRIME = 0xCBF29CE484222325, 0x100000001B3
_MIX = 0xFF51AFD7ED558CCD  # of murmur3
_MASK = (1 << 64) - 1
_TOP_BIT = 1 << 63
_LANE = (1 << 32) - 1


def char_class(ranges: tuple[tuple[int, int], ...]) -> str:
    """Ranges as they stand in the brackets of an expression."""
    return "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in ranges)


ASCII_SEPARATORS = r"\x00-/:-@\[-`{-\x7f"
_SEPARATOR = ASCII_SEPARATORS + char_class(SEPARATORS)
_runs = re.compile(f"([{char_class(UNSPACED)}]+)|[^{_SEPARATOR}{char_class(UNSPACED)}]+").finditer
_FOLDED = {
    code: code + ahead
    for low, high, ahead in CAPITALS
    for code in range(low, high + 1)
    if code != 0xD7
}


def simhash(text: str) -> int:
    """Signed 64 bits of a text; 0 for one without words."""
    return compiled(text) if compiled is not None else simhash_in_python(text)


def distance(one: int, other: int) -> int:
    """In how many bits two numbers differ."""
    return ((one ^ other) & _MASK).bit_count()


def runs(text: str) -> Iterator[tuple[str, bool]]:
    """The words of a text in small letters, and runs of characters written without spaces (True).
    Of the text MAX_CHARS are looked at."""
    for found in _runs(text[:MAX_CHARS].translate(_FOLDED)):
        yield found[0], found[1] is not None


def simhash_in_python(text: str) -> int:
    """What the compiled module does."""
    counts = bytearray(SLOTS)
    times: dict[int, int] = {}
    for value, cap in _features(text):
        slot = value >> 50  # the high bits: as many as SLOTS needs
        if counts[slot] < cap:
            counts[slot] += 1
            times[value] = times.get(value, 0) + 1
    return _folded(times)


def _features(text: str) -> Iterator[tuple[int, int]]:
    """The hashes of what is counted of a text, and how often at most."""
    hashes: dict[str, int] = {}
    before = value = 0
    for run, unspaced in runs(text):
        pairs = unspaced and len(run) > 1
        for word in (run[at : at + 2] for at in range(len(run) - 1)) if pairs else (run,):
            value = hashes.get(word, 0)
            if not value:
                value = hashes[word] = _hashed(word)
            short = not unspaced and len(run) <= SHORT and ord(run[0]) < ALPHABETS_END
            yield value, 1 if short else CAP
        if not unspaced:
            if before and (before + value & _MASK) >> 62 == 0:  # one in four
                yield _mixed((before * _PRIME ^ value) & _MASK), CAP
            before = value


def _hashed(word: str) -> int:
    value, data = _START, word.encode()
    for at in range(0, len(data), 8):
        value = _mixed(value ^ int.from_bytes(data[at : at + 8], "little"))
    return _mixed(value)


def _mixed(value: int) -> int:
    value = (value ^ value >> 33) * _MIX & _MASK
    return value ^ value >> 33


def _folded(times: dict[int, int]) -> int:
    """The bits that most words have; never 0 if there are words. As text in UTF-32 the bits of a
    number lie four bytes apart: one addition counts all 64."""
    total, sums = sum(times.values()), 0
    for value, count in times.items():
        sums += int.from_bytes(f"{value:064b}".encode("utf-32-be"), "big") * count
    zeros = ord("0") * total  # in each of the 64 sums
    value = sum(1 << bit for bit in range(64) if 2 * ((sums >> 32 * bit & _LANE) - zeros) > total)
    return ((value or bool(total)) ^ _TOP_BIT) - _TOP_BIT
