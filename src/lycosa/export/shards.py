"""Numbered files of one kind: rows go in, and a file is kept when it is large enough.

Owns numbers and sizes. What is in a file is the business of its `ShardFile`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from lycosa.export.target import Target

FILE_BYTES = 256 << 20  # of a file, about
FILE_ROWS = 1_000_000


class ShardFile(Protocol):
    """One file that is being written."""

    def add(self, row: Any) -> None: ...

    def written(self) -> int:
        """Bytes so far, about."""

    def close(self) -> None:
        """Write all that waits, and the end of the file."""

    def abort(self) -> None:
        """Let go of it; it will be removed."""


class Shards:
    """Files `pattern` with a number in it, each made by `make` when its first row comes."""

    def __init__(
        self,
        target: Target,
        pattern: str,
        make: Callable[[Path, str], ShardFile],
        number: int = 0,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        self._target = target
        self._pattern = pattern
        self._make = make
        self._number = number
        self._file_bytes = file_bytes
        self._file: ShardFile | None = None
        self._rows = 0
        self.kept: list[str] = []  # names of whole files

    @property
    def name(self) -> str:
        """Of the file that rows go to now."""
        return self._pattern.format(self._number)

    def file(self) -> ShardFile:
        """The file that rows go to now."""
        if self._file is None:
            self._file = self._make(self._target.draft(self.name), self.name)
        return self._file

    def add(self, row: Any) -> None:
        self.file().add(row)
        self._rows += 1

    @property
    def full(self) -> bool:
        file = self._file
        return file is not None and (self._rows >= FILE_ROWS or file.written() >= self._file_bytes)

    def cut(self) -> None:
        """Keep the file as it is; the next row begins another."""
        if self._file is None:
            return
        self._file.close()
        self._file = None
        self._target.keep(self.name)
        self.kept.append(self.name)
        self._number += 1
        self._rows = 0

    def finish(self, more: bool) -> None:
        """Keep the last file; if there are neither rows nor `more` files, an empty one."""
        if not (self.kept or more):
            self.file()
        self.cut()

    def abort(self) -> None:
        """Let go of a file that will not be kept."""
        if self._file is not None:
            self._file.abort()
            self._file = None
