"""Random changes to inputs, where no fuzzer can be had: in scripts/test, on any machine."""

from __future__ import annotations

from random import Random

TOKENS = (
    b"<", b">", b"</", b"<!--", b"-->", b"&", b"&#", b";", b"=", b"'", b'"', b"\n", b"\r\n\r\n", b"\0",
    b"%", b"%2e", b"/", b"//", b"..", b"?", b"#", b":", b"http://", b"charset=", b" ", b"\xc2\xa0",
    b"\xff\xfe", b"\xe9", b"*", b"$", b",", b"<svg>", b"<title>", b"<a href=", b"<loc>", b"]]>", b"9",
)  # fmt: skip


def mutated(data: bytes, others: list[bytes], chance: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(1 + chance.randrange(4)):
        chance.choice((_flip, _insert, _remove, _repeat, _splice))(changed, others, chance)
    if chance.random() < 0.03:  # stretched
        return b"\xff" + chance.randbytes(2) + bytes(changed[:4096])
    return bytes(changed[:4096])


def _flip(data: bytearray, others: list[bytes], chance: Random) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)


def _insert(data: bytearray, others: list[bytes], chance: Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = chance.choice(TOKENS)


def _remove(data: bytearray, others: list[bytes], chance: Random) -> None:
    at = chance.randrange(len(data) + 1)
    del data[at : at + chance.randrange(1, 9)]


def _repeat(data: bytearray, others: list[bytes], chance: Random) -> None:
    at = chance.randrange(len(data) + 1)
    data[at:at] = data[at : at + chance.randrange(1, 20)] * chance.randrange(1, 30)


def _splice(data: bytearray, others: list[bytes], chance: Random) -> None:
    other = chance.choice(others)
    at, there = chance.randrange(len(data) + 1), chance.randrange(len(other) + 1)
    data[at:] = other[there : there + 300]
