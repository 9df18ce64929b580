"""The figures that computations of large crawls begin with: one table of what was measured, one of
what was assumed.

A measured figure names the row and the column of docs/performance.md where it stands, or the words
with which it is told there; `tests/project/test_capacity.py` compares them, so that a new
measurement there fails until it is entered here. An assumption says why it is no measurement.
Whoever plans a crawl replaces the assumptions first.
"""

from __future__ import annotations

from typing import NamedTuple


class Measured(NamedTuple):
    value: float
    unit: str
    row: str  # first cell of the row; '': it stands in the text
    column: str  # or the words of the text

    def source(self) -> str:
        return f"measured: performance.md, {self.row or 'text'}"


class Assumed(NamedTuple):
    value: float
    unit: str
    why: str

    def source(self) -> str:
        return f"assumed: {self.why}"


_HTTP = "http 80 KB, PostgreSQL (server: 76 µs)"
_HTTPS = "https 80 KB, PostgreSQL (server: 77 µs)"


def _frontier(
    row: str, client: float, server: float, written: float, log: float
) -> dict[str, Measured]:
    return {
        "client": Measured(client, "us a page", row, "client µs"),
        "server": Measured(server, "us a page", row, "server µs"),
        "written": Measured(written, "KB a page", row, "written KB"),
        "log": Measured(log, "KB a page", row, "log KB"),
    }


def _driven(
    row: str, client: float, server: float, lock: float, cpu: float, rate: float
) -> dict[str, Measured]:
    """A row of `bench/frontier.py` with so many engines at once."""
    found = {"client": Measured(client, "us a page", row, "client µs")}
    if server:
        found["server"] = Measured(server, "us a page", row, "server µs")
    if lock:
        found["lock"] = Measured(lock, "us a page", row, "lock µs")
        found["lock cpu"] = Measured(cpu, "us a page", row, "lock CPU µs")
    return {**found, "pages/s": Measured(rate, "pages/s", row, "pages/s")}


# The frontier on PostgreSQL, by the state of its caches, at 10 M URLs.
SERVER = {
    "warm": _frontier("PostgreSQL 10 M, warm", 185, 117, 17.1, 2.8),
    "after a checkpoint": _frontier("PostgreSQL 10 M, after a checkpoint", 204, 207, 31.9, 13.4),
    "cold": _frontier("PostgreSQL 10 M, cold", 222, 403, 49.4, 21.4),
}
SERVER["cold"]["reads"] = Measured(9.6, "a page", "PostgreSQL 10 M, cold", "reads")
SERVER["cold"]["read"] = Measured(143.0, "KB a page", "PostgreSQL 10 M, cold", "KB read")

# Engines at once on one machine, for `bench/thousand.py` to be compared with.
DRIVEN = {
    ("SQLite 1 M", 1): _driven("SQLite 1 M, warm", 269, 0, 113, 88, 1640),
    ("SQLite 1 M", 2): _driven("SQLite 1 M, warm, 2 engines", 308, 0, 123, 99, 2702),
    ("SQLite 1 M", 4): _driven("SQLite 1 M, warm, 4 engines", 310, 0, 164, 101, 2744),
    ("SQLite 10 M", 1): _driven("SQLite 10 M, warm", 350, 0, 189, 139, 1355),
    ("SQLite 10 M", 2): _driven("SQLite 10 M, warm, 2 engines", 359, 0, 190, 141, 2210),
    ("SQLite 10 M", 4): _driven("SQLite 10 M, warm, 4 engines", 375, 0, 240, 145, 2299),
    ("PostgreSQL 1 M", 1): _driven("PostgreSQL 1 M, warm", 180, 77, 0, 0, 1810),
    ("PostgreSQL 1 M", 4): _driven("PostgreSQL 1 M, warm, 4 engines", 228, 96, 0, 0, 3195),
}

CRAWL = {
    "http": Measured(1_075, "us a page", _HTTP, "steady"),
    "https": Measured(1_360, "us a page", _HTTPS, "steady"),
    "new links": Measured(38.4, "a page", _HTTPS, "new links"),
    "engine": Measured(171, "MB", _HTTPS, "peak MB"),
    "in flight": Measured(324, "MB of an engine with 5,000 in flight", "5,000", "https"),
    "a URL": Measured(32.1, "B of log a queued URL", "", "35.9 and 32.1 on PostgreSQL"),
    "a page row": Measured(43.3, "B of `pages` a queued URL", "", "`pages` 25.4 and 43.3"),
    "done": Measured(
        11, "% as many done as queued", "", "11 % as many URLs as are queued are done"
    ),
}

# What an exchange costs a server, by engines and pages of a batch (bench/exchanges.py).
EXCHANGES = {
    (engines, pages): Measured(us, "us", f"{name}, batches of {pages}", "server µs")
    for engines, name, pages, us in (
        (1, "1 engine", 5, 2_080),
        (1, "1 engine", 100, 12_400),
        (100, "100 engines", 5, 3_860),
        (100, "100 engines", 100, 15_467),
    )
}
SESSION = Measured(3.0, "MB", "", "3.0 MB of memory of its own")

HARDWARE = {
    "engine's row": Assumed(0.3, "us", "every commit adds up the rows of all engines"),
    "busy cores": Assumed(0.7, "of all", "room for vacuum, checkpoints, slow hours"),
    "slow hours": Assumed(1.35, "times", "CPU varies by 35 % between quiet and busy hours here"),
    "disk write": Assumed(1_000, "MB/s", "sustained, of a local NVMe disk for data centres"),
    "disk reads": Assumed(200_000, "reads/s", "8 KB at random, half of what such a disk promises"),
    "flush": Assumed(0.2, "ms", "fsync of the log on such a disk"),
}
