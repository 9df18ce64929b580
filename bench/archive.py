"""Measures the CPU that the archive costs per page: text rows, WARC records, ledger lines.

    python bench/archive.py [--quick]

It writes to a temporary directory. Time in which fsync waits is not CPU and is printed apart. The
best of several rounds counts, because other programs on the machine only ever add to a measurement.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import zstandard

from lycosa.archive import audit, ledger, segments, text, warc
from lycosa.records import Kind, Request, Response

PAGES = 500  # per commit
TEXT_BYTES = 5_000
BODY_BYTES = 80_000
URL = "https://www.example.com"
NOW_MS = 1_767_607_200_000
HEAD = (
    b"HTTP/1.1 200 OK\r\nDate: Mon, 05 Jan 2026 10:00:00 GMT\r\nServer: nginx\r\n"
    b"Content-Type: text/html; charset=UTF-8\r\nTransfer-Encoding: chunked\r\n"
    b"Connection: close\r\nVary: Accept-Encoding\r\nX-Powered-By: PHP/8.3\r\n"
    b"Cache-Control: no-store, no-cache, must-revalidate\r\nPragma: no-cache\r\n"
    b"Set-Cookie: session=0123456789abcdef; path=/; HttpOnly\r\n"
    b"Strict-Transport-Security: max-age=31536000\r\nContent-Encoding: gzip\r\n\r\n"
)
REQUEST_HEAD = (
    b"GET /some/page.html HTTP/1.1\r\nHost: www.example.com\r\nAccept-Encoding: gzip\r\n"
    b"User-Agent: lycosa/0.1 (+https://example.com; mailto:a@example.com)\r\n\r\n"
)


def prose(rng: random.Random, size: int) -> str:
    """Text that packs about as well as real pages do (2.5 to 3 times)."""
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = [
        "".join(rng.choices(letters, weights=range(26, 0, -1), k=rng.randint(2, 10)))
        for _ in range(8_000)
    ]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    return " ".join(rng.choices(words, weights, k=size // 5))[:size]


def cpu_us(work: Callable[[], object], pages: int, rounds: int) -> float:
    """CPU microseconds per page: the best round."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time_ns()
        work()
        best = min(best, time.process_time_ns() - begin)
    return best / pages / 1000


def show(what: str, value: float, unit: str = "us/page") -> None:
    """One line of the result."""
    print(f"{what:<52} {value:8.2f} {unit}")


def bench_text(pages: int, rounds: int) -> None:
    """Rows, and packing them at several levels."""
    rng = random.Random(1)
    whole = prose(rng, TEXT_BYTES * pages)
    bodies = [whole[i * TEXT_BYTES : (i + 1) * TEXT_BYTES] for i in range(pages)]

    def rows() -> list[bytes]:
        return [
            text.text_row(f"{URL}/page/{i}", NOW_MS + i, 200, title="A title", lang="en", text=body)
            for i, body in enumerate(bodies)
        ]

    made = rows()
    joined = b"".join(made)
    show("text_row, 5 KB", cpu_us(rows, pages, rounds))
    show("pack", cpu_us(lambda: text.pack(made), pages, rounds))
    for level in (1, 3, 6):
        packer = zstandard.ZstdCompressor(level=level, write_checksum=True)
        cost = cpu_us(partial(packer.compress, joined), pages, rounds)
        ratio = len(joined) / len(packer.compress(joined))
        show(f"  zstd level {level}: {ratio:.2f} times smaller", cost)


def bench_warc(pages: int, rounds: int) -> None:
    """Records of an 80 KB body, and writing them."""
    request = Request(
        f"{URL}/some/page.html", host="", port=443, https=True, kind=Kind.PAGE, deadline=0.0
    )
    body = os.urandom(BODY_BYTES)
    response = Response(request, 200, HEAD, body, address="192.0.2.1")
    ids = warc.record_ids()

    def records() -> None:
        for i in range(pages):
            warc.response_records(response, REQUEST_HEAD, NOW_MS + i, ids)

    def just_ids() -> None:
        for _ in range(pages):
            next(ids)

    def heads() -> None:
        for _ in range(pages):
            warc.stored_head(HEAD, BODY_BYTES)

    show("response_records, 80 KB", cpu_us(records, pages, rounds))
    show("  one digest of the body", cpu_us(lambda: warc._digest(*[body] * pages), pages, rounds))
    show("  stored_head", cpu_us(heads, pages, rounds))
    show("  one record id", cpu_us(just_ids, pages, rounds))
    parts = warc.response_records(response, REQUEST_HEAD, NOW_MS, ids)
    with tempfile.TemporaryDirectory() as directory:
        writer = segments.SegmentWriter(Path(directory), "warc", 1, 1 << 30)
        show(
            "append of those",
            cpu_us(lambda: [writer.append(*parts) for _ in range(pages)], pages, 3),
        )
        begin = time.perf_counter()
        writer.sync()
        show(f"sync of {3 * pages} of those, waiting", (time.perf_counter() - begin) * 1000, "ms")
        writer.close()


def bench_ledger(pages: int, rounds: int) -> None:
    """A visit in the ledger: its start, written before the first request, and its end."""
    with tempfile.TemporaryDirectory() as directory:
        book = ledger.Ledger(Path(directory), 1, 1 << 30)

        def singly() -> None:
            for i in range(pages):
                book.started([("www.example.com", NOW_MS + i)])
                book.ended("www.example.com", NOW_MS, i, 2, "192.0.2.1", "ok")

        def batched() -> None:
            for i in range(0, pages, 10):
                book.started([("www.example.com", NOW_MS + i)] * 10)
                for _ in range(10):
                    book.ended("www.example.com", NOW_MS, i, 2, "192.0.2.1", "ok")

        show("ledger, a start and an end, one write each visit", cpu_us(singly, pages, rounds))
        show("ledger, a start and an end, ten visits a write", cpu_us(batched, pages, rounds))
        book.close()
    bench_audit(pages * 20)


def bench_audit(visits: int) -> None:
    """The audit of a ledger, per visit."""
    made = [
        ledger.LedgerVisit(1, f"d{i % 997}.example", i * 100, i * 100 + 50) for i in range(visits)
    ]
    show("audit, per visit", cpu_us(lambda: audit.audit_visits(made, 70.0), visits, 3))


def main() -> None:
    """Run them all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="small, for the test run")
    quick = parser.parse_args().quick
    pages, rounds = (50, 2) if quick else (PAGES, 9)
    bench_text(pages, rounds)
    bench_warc(pages, rounds)
    bench_ledger(pages, rounds)


if __name__ == "__main__":
    main()
