"""What a domain's log costs a visit, and how many bytes a URL takes: compiled and in Python.

    python bench/log.py [--rounds 25] [--quick]
    python bench/log.py --pages PAGES.jsonl.zst   # bytes a URL on real links; see url_dictionary

A visit, as a store makes it for a domain that was not in memory: its chunks are read, 95 links of
a page are looked up, 8 URLs are handed out, one is done and 30 new links are planned. Folds come as
they come: eight visits follow each other, then the domain is again as it was, and a fold's share is
in the mean. Domains of 40, 1,000, 10,000 and 1,000,000 URLs, one in five done. Microseconds of CPU.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from lycosa.frontier.log import compiled, domain_log, new_chunk, planning
from lycosa.frontier.log.domain_log import DomainLog, Limits, LogChanges, delivery
from lycosa.frontier.log.format import FULL
from lycosa.frontier.log.new_chunk import chunks_in_python
from lycosa.frontier.log.twin import TwinIndex
from lycosa.frontier.values import Link
from lycosa.records import Url
from lycosa.urls.fingerprint import fingerprint

EPOCH = 1_700_000_000_000
DOMAIN = 0x1234567890ABCDEF
TURN = 8  # visits, in which each comes to a fold once
SIZES = (40, 1_000, 10_000, 1_000_000)
WORDS = (
    *("about", "news", "blog", "products", "category", "archive", "team", "contact", "articles"),
    *("guide", "support", "events", "research", "library", "reviews", "topics", "gallery"),
)


def url(n: int) -> str:
    section, word, number = WORDS[n % 17], WORDS[n * 7 % 13], n * 2_654_435_761 % 99_991
    return f"https://www.example.com/{section}/{n // 400 % 12 + 1:02}/{word}-{number}-{n}.html"


def links(begin: int, count: int) -> list[Link]:
    found: list[Link] = []
    for n in range(begin, begin + count):
        text = url(n)
        found.append((DOMAIN, fingerprint(text), Url(text), 1 + n // 3_000, "example.com", 0))
    return found


class Kind:
    """Who does the work."""

    def __init__(self, name: str, index: Any, chunks: Any) -> None:
        self.name, self.index, self.chunks = name, index, chunks

    def use(self) -> None:
        for module in (planning, domain_log, new_chunk):
            module.new_chunks = self.chunks  # type: ignore[attr-defined]


PYTHON = Kind("Python", TwinIndex, chunks_in_python)


def kinds() -> list[Kind]:
    if domain_log.compiled is None:
        print("0 of 1 modules are compiled here: only Python is measured.")
        return [PYTHON]
    return [Kind("compiled", domain_log.compiled, compiled.new_chunks), PYTHON]


class Site:
    """A domain in a store that is a dict."""

    def __init__(self, kind: Kind, size: int) -> None:
        self.kind = kind
        self.chunks: dict[int, bytes] = {}
        self.seq = 0
        self.now = EPOCH
        self.known = 0
        self.log = DomainLog(DOMAIN, EPOCH, kind.index)
        self.folds: list[tuple[float, int]] = []
        while self.known < size:
            self.now += 70_000
            new = links(self.known, min(26 if size <= 50_000 else 2_600, size - self.known))
            self.known += len(new)
            done = self.log.next(self.now, 1 + len(new) // 5, 1 << 20)
            self.commit(LogChanges(done=[(each.fp, True) for each in done], links=new))

    def commit(self, changes: LogChanges) -> None:
        begin = time.thread_time()
        plan = self.log.plan(changes, self.now)
        if plan.deletes:
            self.folds.append((time.thread_time() - begin, sum(map(len, plan.puts))))
        seqs = list(range(self.seq + 1, self.seq + 1 + len(plan.puts)))
        self.seq += len(seqs)
        self.log.apply(plan, seqs)
        for seq in plan.deletes:
            del self.chunks[seq]
        self.chunks.update(zip(seqs, plan.puts, strict=True))

    def lease(self) -> None:
        self.log = log = DomainLog(DOMAIN, EPOCH, self.kind.index)
        for seq, blob in self.chunks.items():
            log.add(seq, blob)

    def read(self) -> object:
        """What a lease costs, with the table that the first question needs."""
        self.lease()
        return self.log.counts()

    def visit(self) -> dict[str, float]:
        """Microseconds of each part of a visit."""
        self.now += 70_000
        found = links(max(self.known - 65, 0), 65) + links(self.known, 30)
        self.known += 30
        times = [time.thread_time()]
        self.lease()
        times.append(time.thread_time())
        new = self.log.unseen(found)
        times.append(time.thread_time())
        rows = self.log.next(self.now, 8, 4096)
        times.append(time.thread_time())
        self.commit(LogChanges(done=[(rows[0].fp, True)], links=new))
        times.append(time.thread_time())
        names = ("read", "unseen", "next", "plan")
        spent = [1e6 * (b - a) for a, b in pairwise(times)]
        return dict(zip(names, spent, strict=True)) | {"visit": sum(spent)}


def visits(sizes: tuple[int, ...], rounds: int) -> None:
    for size in sizes:
        for kind in kinds():
            kind.use()
            if size > 100_000 and kind is PYTHON and rounds == 1:
                continue
            print(measured(Site(kind, size), size, rounds), flush=True)


def measured(site: Site, size: int, rounds: int) -> str:
    chunks, known, now = dict(site.chunks), site.known, site.now
    blobs = sum(map(len, chunks.values()))
    full = sum(blob[2] == FULL for blob in chunks.values())
    memory = site.log.bytes / known
    building, site.folds = site.folds, []
    turns = []
    for _ in range(rounds if size <= 10_000 else 1):
        spent = [site.visit() for _ in range(TURN)]
        turns.append({k: sum(s[k] for s in spent) / TURN for k in spent[0]})
        site.chunks, site.known, site.now = dict(chunks), known, now
    shown = {k: median(turn[k] for turn in turns) for k in turns[0]}
    parts = ", ".join(f"{k} {v:.0f}" for k, v in shown.items() if k != "visit")
    return (
        f"{size:9,} URLs {site.kind.name:9} {shown['visit']:9.0f} us a visit ({parts}); "
        f"{len(chunks)} chunks ({full} full), {blobs / known:.1f} bytes a URL, "
        f"{memory:.0f} in memory; a fold {1e6 * _mean(building or site.folds):.0f} us"
    )


def _mean(folds: list[tuple[float, int]]) -> float:
    return sum(spent for spent, _ in folds) / len(folds) if folds else 0.0


def deliveries(rounds: int) -> None:
    for kind in kinds():
        kind.use()
        new = links(0, 3)
        figure = _best(partial(delivery, DOMAIN, EPOCH, EPOCH + 5, new), 200, rounds)
        size = len(delivery(DOMAIN, EPOCH, EPOCH + 5, new)[0])
        print(f"a delivery of 3 links: {kind.name:9} {1e6 * figure:.1f} us, {size} bytes")


def least(size: int, rounds: int) -> None:
    """The parts of a visit, each by itself and many times: the least, which a busy machine spoils
    least. No fold is in it."""
    for kind in kinds():
        kind.use()
        site = Site(kind, size)
        found = links(size - 65 if size > 65 else 0, 65) + links(size, 30)
        log = site.log
        changes = LogChanges([(log.next(site.now, 1, 4096)[0].fp, True)], links=found[65:])
        calls: dict[str, Callable[[], object]] = {
            "read": site.read,
            "unseen": partial(log.unseen, found),
            "next": partial(log.next, site.now, 8, 4096),
            "plan": partial(log.plan, changes, site.now + 1, Limits(tier=1_000)),
        }
        count = 50 if kind is not PYTHON and size < 5_000 else 3
        spent = {name: 1e6 * _best(call, count, rounds, min) for name, call in calls.items()}
        parts = ", ".join(f"{name} {figure:.0f}" for name, figure in spent.items())
        print(f"{size:9,} URLs {kind.name:9} {sum(spent.values()):9.0f} us at least ({parts})")


def _best(
    call: Callable[[], object],
    count: int,
    rounds: int,
    of: Callable[[list[float]], float] = median,
) -> float:
    spent = []
    for _ in range(rounds):
        begin = time.thread_time()
        for _ in range(count):
            call()
        spent.append((time.thread_time() - begin) / count)
    return of(spent)


def bytes_a_url(pages: Path) -> None:
    """Whole chunks of links on sites that the dictionary has not seen."""
    from url_dictionary import train

    kept = [found for domain, found in train.pages(pages) if domain % 5 == 0]
    limits = Limits()
    for size in (1, 3, 26, 64, 500):
        total = count = 0
        for found in kept:
            for at in range(0, len(found) - size + 1, size):
                new = [
                    (DOMAIN, n, Url(each.decode()), 1, "", 0)
                    for n, each in enumerate(found[at : at + size])
                ]
                total += sum(map(len, delivery(DOMAIN, EPOCH, EPOCH, new, limits=limits)))
                count += size
        if count:
            print(f"chunks of {size:3} URLs: {total / count:.1f} bytes a URL ({count:,} URLs)")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="small, only to see it run")
    options.add_argument("--rounds", type=int, default=25)
    options.add_argument("--pages", type=Path, help="pages with links that the dictionary lacks")
    chosen = options.parse_args()
    gc.set_threshold(100_000, 50, 100)  # as in an engine
    if chosen.pages:
        bytes_a_url(chosen.pages)
        return
    visits(SIZES[:2] if chosen.quick else SIZES, 1 if chosen.quick else chosen.rounds)
    for size in SIZES[:2] if chosen.quick else SIZES[:3]:
        least(size, 2 if chosen.quick else chosen.rounds)
    deliveries(1 if chosen.quick else chosen.rounds)


if __name__ == "__main__":
    main()
