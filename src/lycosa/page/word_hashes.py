"""The words of a text as numbers, for the comparison of two texts. Pure.

What a word is says `simhash`: what separators leave, in small letters; of scripts without spaces
each character. Most texts are cut in UTF-8, where separators are few patterns of bytes; those with
many characters of such scripts in runs of these, whose numbers are remembered.
"""

from __future__ import annotations

import re
from zlib import crc32

from lycosa.page.simhash import ASCII_SEPARATORS, MAX_CHARS, SEPARATORS, UNSPACED, char_class

FEW = 1 / 16  # of the bytes of a text may begin what is looked for one by one
REMEMBERED = 1 << 15  # characters

_SPACED = bytes(code if chr(code).isalnum() else 32 for code in range(128))
_LOWER = _SPACED.lower() + bytes(128)
_KEPT = _SPACED + bytes(range(128, 256))
# The first bytes of separators in UTF-8, and of characters written without spaces. The two
# separators that begin with C3, as letters do, are looked for by themselves.
_OF_UNSPACED = bytes((0xE0, 0xE1, *range(0xE3, 0xEA), 0xEF, 0xF0))
_OF_OTHERS = bytes(set(range(256)) - {0xC2, 0xE2, *_OF_UNSPACED})
_OF_SPACED = bytes(set(range(256)) - set(_OF_UNSPACED))
_SIGNS = ("×".encode(), "÷".encode())


def _in_utf8(ranges: tuple[tuple[int, int], ...]) -> bytes:
    """A pattern for characters of these ranges as bytes."""
    ends: dict[bytes, list[bytes]] = {}
    for low, high in ranges:
        for code in range(low, high + 1):
            data = chr(code).encode("utf-8", "replace")
            ends.setdefault(data[:-1], []).append(re.escape(data[-1:]))
    return b"|".join(
        re.escape(begin) + b"[" + b"".join(last) + b"]" for begin, last in ends.items() if begin
    )


_separated = re.compile(_in_utf8(SEPARATORS)).sub
_set_apart = re.compile(f"[{char_class(UNSPACED)}]").sub
_runs = re.compile(
    f"([{char_class(UNSPACED)}]+)"
    f"|[^{ASCII_SEPARATORS}{char_class(SEPARATORS)}{char_class(UNSPACED)}]+"
).finditer


def word_hashes(text: str) -> list[int]:
    """A number for each word, in their order; of MAX_CHARS. The same in every process."""
    counts = text[:MAX_CHARS]
    if counts.isascii():
        return list(map(crc32, counts.encode().translate(_LOWER).split()))
    small = counts.lower()
    data = small.encode("utf-8", "replace").translate(_KEPT)
    begins = data.translate(None, _OF_OTHERS)
    if not begins and not any(sign in data for sign in _SIGNS):
        return list(map(crc32, data.split()))
    if len(begins) > FEW * len(data):
        return _by_runs(small)
    data = _separated(b" ", data)
    if data.translate(None, _OF_SPACED):
        apart = _set_apart(r" \g<0> ", small).encode("utf-8", "replace").translate(_KEPT)
        data = _separated(b" ", apart)
    return list(map(crc32, data.split()))


class _Characters(dict[str, int]):
    """Numbers of characters that came lately."""

    def __missing__(self, character: str) -> int:
        if len(self) >= REMEMBERED:
            self.clear()
        number = self[character] = crc32(character.encode())
        return number


_number_of = _Characters().__getitem__


def _by_runs(small: str) -> list[int]:
    found: list[int] = []
    for run in _runs(small):
        if run[1] is None:
            found.append(crc32(run[0].encode("utf-8", "replace")))
        else:
            found += map(_number_of, run[0])
    return found
