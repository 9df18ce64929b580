"""Sorts more rows than memory holds: sorted runs on disk, merged as they are read.

Owns the runs' format, which lives no longer than an export. A row is a tuple that begins with its
key, of text, bytes, numbers and None. Memory: one run's rows while rows come in, a block of each
run while they are merged. Rows wait packed, in a sixth of what Python's values take.
"""

from __future__ import annotations

import heapq
import marshal
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import count, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from lycosa import ownfiles

SortedRow = tuple[Any, ...]
_Packed = tuple[Any, bytes]  # a row's key, and all of it

RUN_ROWS = 25_000  # about 25 MB of `index`
FAN_IN = 64  # runs that are merged at once; more are merged in several passes
_BLOCK = 32  # rows that are packed together: those of FAN_IN runs are in memory at once
_LENGTH = 4  # bytes before each block that say how long it is


class Runs:
    """Sorted runs in a directory. `add` rows, `cut` where all that came in must be on disk."""

    def __init__(
        self, root: Path, prefix: str = "run", names: Iterable[str] = (), rows: int = 0
    ) -> None:
        self._root = root
        self._prefix = prefix  # of the names of runs
        self.names = list(names)
        self._rows = rows or RUN_ROWS
        self._waiting: list[_Packed] = []
        self._numbers = count(_next_number(self.names))

    def add(self, row: SortedRow) -> None:
        self._waiting.append((row[0], marshal.dumps(row)))
        if len(self._waiting) >= self._rows:
            self.cut()

    def cut(self) -> None:
        """Write what waits as a run of its own."""
        if self._waiting:
            self._waiting.sort(key=_key)
            self.names.append(self._write(self._waiting))
            self._waiting = []

    def merged(self) -> Iterator[SortedRow]:
        """All rows by their keys, those with the same key in any order."""
        self.cut()
        while len(self.names) > FAN_IN:
            first, self.names = self.names[:FAN_IN], self.names[FAN_IN:]
            self.names.append(self._write(self._merge(first)))
            for name in first:
                (self._root / name).unlink()
        return (marshal.loads(packed) for _, packed in self._merge(self.names))

    def _merge(self, names: list[str]) -> Iterator[_Packed]:
        with ExitStack() as stack:
            files = [stack.enter_context((self._root / name).open("rb")) for name in names]
            unpack = zstandard.ZstdDecompressor().decompress  # one for all: each holds 160 KB
            yield from heapq.merge(*(_read(file, unpack) for file in files), key=_key)

    def _write(self, rows: Iterable[_Packed]) -> str:
        name = f"{self._prefix}-{next(self._numbers):06d}.run"
        pack = zstandard.ZstdCompressor(level=1).compress
        with ownfiles.create_own(self._root / name) as file:
            waiting = iter(rows)
            while block := list(islice(waiting, _BLOCK)):
                packed = pack(marshal.dumps(block))
                file.write(len(packed).to_bytes(_LENGTH, "little") + packed)
        return name


def _next_number(names: list[str]) -> int:
    numbers = [int(name.removesuffix(".run").rpartition("-")[2]) for name in names]
    return max(numbers, default=-1) + 1


_key = itemgetter(0)


def _read(file: BinaryIO, unpack: Callable[[bytes], bytes]) -> Iterator[_Packed]:
    while head := file.read(_LENGTH):
        yield from marshal.loads(unpack(file.read(int.from_bytes(head, "little"))))
