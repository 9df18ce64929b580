"""What was measured of the table of pages, on either store. Prints nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from page_table.rows import Key, Row

T = TypeVar("T")


@dataclass
class Spent:
    """What some operations took, in all."""

    count: int = 0
    wall: float = 0.0  # seconds
    client: float = 0.0  # seconds of CPU
    server: float = 0.0
    written: int = 0  # bytes, with the log and a checkpoint at the end
    log: int = 0  # of PostgreSQL
    reads: int = 0  # calls on SQLite; blocks that are not in the server's memory
    read: int = 0  # bytes, from the disk

    def __sub__(self, other: Spent) -> Spent:
        return Spent(
            self.count - other.count, self.wall - other.wall, self.client - other.client,
            self.server - other.server, self.written - other.written, self.log - other.log,
            self.reads - other.reads, self.read - other.read,
        )  # fmt: skip


class Table(Protocol):
    """`pages` on a store in a folder; its schema is the real one."""

    kind: str
    folder: Path
    structures: tuple[str, ...]  # that find a page by its URL; the first is what crawls have

    def fill(self, rows: Iterable[Row]) -> None:
        """In bulk: nothing is safe until it has ended."""

    def build(self, structure: str) -> None:
        """Makes one of the structures in place of what is there; "": nothing finds a URL."""

    def age(self, rows: Iterable[Row]) -> None:
        """Adds rows in the order of the index, so that it becomes as loose as random ones make
        it; where an index can be made loose by itself, in any order. What crawls have does not
        become loose."""

    def sizes(self) -> tuple[int, int]:
        """Bytes of the table, with what finds a row by its id; and of what finds it by its URL."""

    def settle(self) -> None:
        """Nothing is left to be written; what finds URLs is in the system's memory."""

    def images(self, on: bool) -> bool:
        """Whether a page's first change after a checkpoint goes to the log as a whole; returns
        whether the store does such a thing."""

    def chill(self, whole: bool) -> None:
        """Nothing of it is in memory."""

    def commit(self, rows: list[Row]) -> None:
        """A transaction of a crawl, as far as it concerns this table."""

    def checkpoint(self) -> None: ...
    def by_url(self, key: Key) -> bool:
        """Whether a page is there, found by the structure."""

    def by_id(self, key: Key) -> bool:
        """The same by the number of its row, as marks of a log could name it."""

    def of_domain(self, key: Key) -> int:
        """How many pages a domain has, all of them read."""

    def scan(self, rows: int) -> None:
        """Look for a URL among the first rows, without any structure."""

    def spent(self) -> Spent:
        """So far."""

    def close(self) -> None: ...


def of_commits(table: Table, batches: list[list[Row]]) -> Spent:
    """Of batches, one transaction each, and of the checkpoint that they make necessary."""
    before, began = table.spent(), time.monotonic()
    for rows in batches:
        table.commit(rows)
    wall = time.monotonic() - began
    table.checkpoint()
    found = table.spent() - before
    found.count, found.wall = sum(map(len, batches)), wall
    return found


def of_looks(table: Table, look: Callable[[Key], object], keys: list[Key]) -> Spent:
    """Of looking up each key."""
    before, began = table.spent(), time.monotonic()
    for key in keys:
        assert look(key), "a row is missing"
    found = table.spent() - before
    found.count, found.wall = len(keys), time.monotonic() - began
    return found
