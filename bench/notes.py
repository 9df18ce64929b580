"""What an engine's notes cost per page: durations, examples, latest pages, top domains, pauses.

    python bench/notes.py [--rounds 15] [--pages 20000] [--quick]

A page is what the loop, the core and the harvest tell of it: two responses (every other page needs
a robots.txt, so it is one and a half), a visit that begins and ends, a row, a text, and two URLs
that were dropped. Each round does it with notes and, in turns, with an object of the same methods
that does nothing. Printed are the medians in microseconds of CPU, and the difference, which is the
cost. The times of phases that libcurl tells are measured on a handle of their own.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

from lycosa.engine.notes import EngineNotes
from lycosa.engine.scheduler import Held
from lycosa.engine.visit_result import Result
from lycosa.fetch import libcurl
from lycosa.metrics import Stats
from lycosa.records import Kind, PageRow, Request, Response, Url

DOMAINS = 5000
MOST = 5.0  # microseconds a page


class Silence:
    """Hears everything and notes nothing."""

    def fetched(self, response: Response) -> None: ...
    def rows(self, pages: Any) -> None: ...
    def text(self, row: PageRow, main: str) -> None: ...
    def dropped(self, samples: dict[str, str]) -> None: ...
    def visit_begins(self, held: Held, now: float, now_ms: int, stats: Stats) -> None: ...
    def visit_ends(self, result: Result, failed: bool, delay: float) -> None: ...
    def parsed(self, seconds: float) -> None: ...


class Nobody:
    """Receives nothing."""

    def on_connected(self, peer: str) -> bool:
        return True

    def on_body(self, first: bytes) -> int:
        return 0


def held(number: int) -> Held:
    return Held(number, f"d{number}.test", True, 70.0, 0, number % 60, number % 900, 0.0, [], {})


def crawl(notes: EngineNotes | Silence, pages: int) -> float:
    """CPU microseconds a page."""
    stats, main = Stats(), "words of a page " * 200
    domains = [held(number) for number in range(DOMAINS)]
    request = Request("https://d1.test/", "d1.test", 443, True, Kind.PAGE, 0.0)
    response = Response(request, 200, started=1.0, ended=1.3)
    response.connect, response.tls, response.first_byte = 0.03, 0.05, 0.2
    kept = [
        PageRow(1, 2, Url(f"https://d{n}.test/page/{n}"), 0, 1, n, 200, "ok", wire_bytes=n * 9)
        for n in range(1000)
    ]
    samples = {"file-type": "https://d1.test/logo.png", "depth": "https://d2.test/far"}
    before = time.thread_time()
    for number in range(pages):
        domain, row, now = domains[number % DOMAINS], kept[number % 1000], float(number)
        notes.visit_begins(domain, now, number, stats)
        notes.fetched(response)
        if number % 2:
            notes.fetched(response)
        notes.rows((row,))
        notes.text(row, main)
        notes.dropped(samples)
        domain.pages += 1
        notes.visit_ends(Result(domain, now - 0.3, now, requests=1), number % 20 == 0, 70.0)
        notes.parsed(0.0012)
    return (time.thread_time() - before) / pages * 1e6


def phases(calls: int) -> float:
    """CPU microseconds to ask libcurl for the phases of a response."""
    easy = libcurl.Easy(None, libcurl.Inbox(Nobody(), libcurl.Quota(1)), libcurl.Headers([]))
    before = time.thread_time()
    for _ in range(calls):
        easy.times()
    return (time.thread_time() - before) / calls * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description="What notes cost per page")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    rounds, pages = (3, 2000) if given.quick else (given.rounds, given.pages)
    with_notes, without, asked = [], [], []
    for _ in range(rounds):
        with_notes.append(crawl(EngineNotes(), pages))
        without.append(crawl(Silence(), pages))
        asked.append(1.5 * phases(pages))
    cost = median(a - b for a, b in zip(with_notes, without, strict=True)) + median(asked)
    print(f"with notes     {median(with_notes):6.2f} us a page")
    print(f"without        {median(without):6.2f} us a page")
    print(f"libcurl's times {median(asked):5.2f} us a page")
    print(f"notes cost     {cost:6.2f} us a page (may cost {MOST:g})")
    return 0 if given.quick or cost < MOST else 1


if __name__ == "__main__":
    raise SystemExit(main())
