"""What the table of pages costs with many rows, and what finds URLs in it, on both stores.

    python bench/pages.py                                     # 1 M rows on both stores
    python bench/pages.py --store sqlite --rows 1000000 10000000 100000000 --dir /var/tmp/pages
    python bench/pages.py --store sqlite --rows 1000000 --random    # an index filled at random
    python bench/pages.py --quick                             # a few seconds, figures mean nothing

The table is made by the migrations and filled by the store's statement (PostgreSQL: by COPY) in
bulk, while nothing finds a URL in it; then commits of 500 pages follow as a crawl makes them, by
the store's statement, connection and settings, each page that of any domain. Then it is made what
finds URLs, and the same commits follow with it: on SQLite rolls of keys, which is what crawls have
(some large ones and so many small ones that a merge begins: as dear as it gets), and for comparison
an index; on PostgreSQL an index. It is made as loose as random inserts leave it (SQLite: 29 % of
the rows come behind it, in its order; PostgreSQL: it is made with 70 %). --random instead fills
table and index together, in random order, and shows that both ways lead to the same sizes.

Warm: what finds URLs is in the system's memory, on PostgreSQL with `full_page_writes` off; after a
checkpoint: with it on, when nearly each page that is touched goes to the log whole. Cold: nothing
is in memory. Written: what was handed to the system, with the log and one checkpoint at the end. A
look by id is what a mark of a domain's log could do that names the row of its page; what is left
otherwise is a scan. The segment is a prototype: pages as packed frames in a file, beside those of
the text. A roll takes 32,768 pages: with --batches 140 two of them are made and keys are merged all
the time.

Needs some 0.5 KB of disk a row while it runs; nothing is kept.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from measure import runs
from page_table import segments
from page_table.figures import Spent, Table, of_commits, of_looks
from page_table.postgres import PostgresTable
from page_table.rows import Key, Rows
from page_table.sqlite import SqliteTable

KINDS: dict[str, Callable[[Path], Table]] = {"sqlite": SqliteTable, "postgres": PostgresTable}
BEHIND = 0.29  # of the rows come when SQLite's index is there: its leaves split once each
SCANNED = 1_000_000  # rows
FRAMES = (50, 500)  # pages in a frame of a segment
HEAD = f"  {'a page, in commits of':43} us client  server   wall  written KB   log  reads  KB read"
LOOK_HEAD = f"  {'a look':43} us client  server   wall              reads  KB read"


@dataclass
class Plan:
    """How much is measured."""

    batch: int
    batches: int
    looks: int
    whole: bool  # whether all of the system's cache is dropped for what is cold


def show(label: str, found: Spent, commits: bool = True) -> None:
    count = max(1, found.count)
    client, server, wall = (x * 1e6 / count for x in (found.client, found.server, found.wall))
    wrote = f"{found.written / count / 1000:11.1f} {found.log / count / 1000:5.1f}"
    print(f"  {label:43} {client:9.1f} {server:7.1f} {wall:6.0f} {wrote if commits else ' ' * 17}"
          f" {found.reads / count:6.2f} {found.read / count / 1000:8.1f}", flush=True)  # fmt: skip


def commits(label: str, table: Table, rows: Rows, plan: Plan) -> None:
    """As a crawl makes them, warm and cold."""
    print(HEAD)

    def show_some(name: str, count: int) -> None:
        found = of_commits(table, [list(rows.random(plan.batch)) for _ in range(count)])
        show(f"{plan.batch}, {label}, {name}", found)

    table.settle()
    if table.images(True):
        show_some("after a checkpoint", max(1, plan.batches // 2))
        table.images(False)
    show_some("warm", plan.batches)
    table.images(True)
    table.chill(plan.whole)
    show_some("cold", max(1, plan.batches // 4))


def looks(table: Table, keys: list[Key], plan: Plan, by_url: bool) -> None:
    """By all ways that there are, warm and cold."""
    print(LOOK_HEAD)
    ways: dict[str, tuple[Callable[[Key], object], int]] = {"by id": (table.by_id, 1)}
    if by_url:
        ways = {"by URL": (table.by_url, 1), "of all pages of a domain": (table.of_domain, 10)}
    rng = random.Random(3)
    for name, (look, share) in ways.items():
        for how in ("warm", "cold"):
            picked = rng.sample(keys, max(1, min(len(keys), plan.looks // share)))
            table.settle() if how == "warm" else table.chill(plan.whole)
            if how == "warm":
                of_looks(table, look, picked)  # the rows as well
            show(f"{name}, {how}", of_looks(table, look, picked), commits=False)


def scan(table: Table, rows: int) -> None:
    count, began = min(rows, SCANNED), time.monotonic()
    table.scan(count)
    seconds = time.monotonic() - began
    print(f"  a URL among {count:,} rows, with no id either: {seconds:.2f} s, so "
          f"{seconds * rows / count:,.0f} s among all", flush=True)  # fmt: skip


def told(table: Table, rows: int, what: str, seconds: float) -> None:
    size, index = table.sizes()
    print(f"  {what} in {seconds:.0f} s: {size / rows:.1f} bytes a row, and what finds URLs "
          f"{index / rows:.1f}", flush=True)  # fmt: skip


def measure(table: Table, count: int, plan: Plan, at_random: bool) -> None:
    rows = Rows(count)
    print(f"{table.kind}, {count:,} rows of {rows.domains:,} domains; reference "
          f"{runs.reference_ms():.0f} ms, load {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip
    behind = int(count * BEHIND) if table.kind == "sqlite" and not at_random else 0
    began = time.monotonic()
    table.build("index" if at_random else "")
    table.fill(rows.random(count - behind))
    keys = list(rows.keys)  # the ids of later rows are not known: a commit may sort them
    if not at_random:
        told(table, rows.made, f"{rows.made:,} rows filled", time.monotonic() - began)
        commits("nothing finds a URL", table, rows, plan)
        looks(table, keys, plan, by_url=False)
        scan(table, rows.made)
    for structure in ("index",) if at_random else table.structures:
        began = time.monotonic()
        if not at_random:
            table.build(structure)
        if behind and structure == "index":
            table.age(rows.sorted(behind))
        told(table, rows.made, f"{structure} made", time.monotonic() - began)
        commits(f"with {structure}", table, rows, plan)
        looks(table, keys, plan, by_url=True)


def outside(plan: Plan) -> None:
    """The same rows as frames in a segment."""
    rows = Rows(100_000)
    for frame in FRAMES:
        found = segments.packed(rows, frame, max(1, plan.batch * plan.batches // frame))
        print(f"segment, frames of {frame} pages: {found.bytes:.1f} bytes a page, "
              f"{found.pack_us:.1f} us to pack it, {found.look_us:.0f} us for a look")  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", choices=(*KINDS, "both"), default="both")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--batch", type=int, default=500, help="pages per commit")
    parser.add_argument("--batches", type=int, default=32, help="committed warm; cold a quarter")
    parser.add_argument("--looks", type=int, default=2000)
    parser.add_argument("--random", action="store_true", help="fill table and index at random")
    parser.add_argument("--dir", type=Path, help="where the tables are while they are needed")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.batch, args.batches, args.looks = [2000], 20, 4, 20
    return args


def main() -> int:
    args = arguments()
    plan = Plan(args.batch, args.batches, args.looks, not args.quick)
    if args.dir:
        args.dir.mkdir(parents=True, exist_ok=True)
    outside(plan)
    for kind in KINDS if args.store == "both" else (args.store,):
        for count in args.rows:
            folder = Path(tempfile.mkdtemp(prefix=f"{kind}-{count}-", dir=args.dir))
            began = time.monotonic()
            table = KINDS[kind](folder)
            try:
                measure(table, count, plan, args.random)
            finally:
                table.close()
                shutil.rmtree(folder, ignore_errors=True)
            print(f"  {time.monotonic() - began:.0f} s in all", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
