"""Prebuilt page bodies, and the gzip arithmetic by which serving them costs little CPU.

A page is a small head of its own (title, links) followed by one of a few fillers. The filler is
compressed once; the head goes before it as a stored block, and the checksum of both is put
together from the two without reading the filler again. So a 20 KB page costs the checksum of
its 3 KB head, and any decoder sees one ordinary gzip member. The module knows nothing of sites or
links.
"""

from __future__ import annotations

import struct
import zlib

_POLYNOMIAL = 0xEDB88320  # CRC-32 as gzip uses it, lowest bit first
_GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_STORED_MAX = 65_535  # bytes in one stored block of deflate


def _times_x(value: int) -> int:
    return (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)


def _multiply(a: int, b: int) -> int:
    """The product of two polynomials modulo the CRC's; the highest bit is the constant term."""
    product = 0
    for bit in range(31, -1, -1):
        if b >> bit & 1:
            product ^= a
        a = _times_x(a)
    return product


def zeros_operator(length: int) -> int:
    """The factor by which a checksum grows when `length` bytes follow: x to the 8 * length."""
    result, power = 1 << 31, 1 << 23  # x**0 and x**8
    while length:
        if length & 1:
            result = _multiply(result, power)
        power = _multiply(power, power)
        length >>= 1
    return result


def joined_crc(first: int, second: int, second_length: int) -> int:
    """The CRC-32 of two byte strings in a row, from the CRC-32 of each."""
    return _multiply(zeros_operator(second_length), first) ^ second


def _byte_tables(factor: int) -> list[list[int]]:
    """Products of `factor` with every value of each of four bytes."""
    tables = []
    for shift in (0, 8, 16, 24):
        table = [0] * 256
        for value in range(1, 256):
            low = value & -value
            rest = value ^ low
            table[value] = table[rest] ^ (table[low] if rest else _multiply(factor, low << shift))
        tables.append(table)
    return tables


class Filler:
    """A tail that many pages share: as it is, and compressed."""

    def __init__(self, raw: bytes) -> None:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        self.raw = raw
        self.packed = packer.compress(raw) + packer.flush()
        self._crc = zlib.crc32(raw)
        self._tables = _byte_tables(zeros_operator(len(raw)))

    def gzip(self, head: bytes) -> list[bytes]:
        """Pieces of one gzip member that unpacks to `head` and this filler."""
        crc = zlib.crc32(head)
        t0, t1, t2, t3 = self._tables
        crc = t0[crc & 255] ^ t1[crc >> 8 & 255] ^ t2[crc >> 16 & 255] ^ t3[crc >> 24] ^ self._crc
        pieces = [_GZIP_HEAD]
        for begin in range(0, len(head), _STORED_MAX):
            block = head[begin : begin + _STORED_MAX]
            pieces.append(struct.pack("<BHH", 0, len(block), len(block) ^ 0xFFFF))
            pieces.append(block)
        pieces.append(self.packed)
        pieces.append(struct.pack("<II", crc, (len(head) + len(self.raw)) & 0xFFFFFFFF))
        return pieces


def zero_bomb(size: int) -> bytes:
    """A gzip member that unpacks to `size` zero bytes (whole MiB), built from one block."""
    block = bytes(1 << 20)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    crc, grow, whole = zlib.crc32(block), zeros_operator(len(block)), 0
    count = size // len(block)
    for _ in range(count):
        whole = _multiply(grow, whole) ^ crc
    tail = struct.pack("<II", whole, size & 0xFFFFFFFF)
    return _GZIP_HEAD + packed * count + b"\x03\x00" + tail
