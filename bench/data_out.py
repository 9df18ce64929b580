"""Measures an export to Parquet: pages a second, CPU, and the most memory it took.

    python bench/data_out.py [--pages 1000000] [--format parquet] [--alike] [--data DIR] [--quick]

Makes a crawl of that many pages with texts of about 3 KB and no network, in a temporary directory
or in DIR, where a later run finds it again. Of a hundred pages one says what an earlier one says,
and four nearly; with --alike all pages say nearly the same. The export runs in a process of its
own: its peak memory at a tenth of the pages and at all of them tells whether memory is flat, and
each with --exact-only besides what it costs to mark near-duplicates. The counts in the store and in
the files are compared. Exit code 1 if memory is not flat; with fewer than 500,000 pages nobody can
tell, because a tenth of them does not fill what an export holds in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from functools import lru_cache
from itertools import product
from pathlib import Path

from lycosa.archive.ledger import Ledger
from lycosa.archive.segments import SegmentWriter
from lycosa.archive.text import text_row
from lycosa.engine.exchange import Exchange, Exchanger
from lycosa.export.formats import OF_COLUMNS
from lycosa.frontier.protocol import Batch, Frontier, Release
from lycosa.node.start import open_crawl
from lycosa.page.simhash import simhash
from lycosa.records import PageRow, Url
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits
from lycosa.urls.canonical import split
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.fingerprint import content_hash, fingerprint

PER_COMMIT = 1_000
PER_DOMAIN = 50
WORDS_PER_PAGE = 500
PIECES = 10  # that a text is made of
NOW_MS = 1_767_607_200_000
LANGUAGES = ("en", "de", "fr", "es", "ru", "ja")
FLAT = 1.05  # how much more memory ten times the pages may take
TELLING = 500_000  # pages from which on it is judged


def make(root: Path, pages: int, alike: bool) -> None:
    """A crawl with so many pages."""
    root.mkdir(parents=True, exist_ok=True)
    settings = CrawlSettings(email="bench@example.org", delay=0.0)
    node = NodeSettings(data_dir=root)
    presence = open_crawl(settings, node, RunLimits(), [], False)
    with closing(presence.frontier) as frontier:
        engine = frontier.register("host", 1, presence.name, str(root))
        ledger = Ledger(root, engine, 1 << 30)
        text = SegmentWriter(root, "text", engine, 1 << 30)
        exchanger = Exchanger(frontier, engine, lambda: 1.0, text, None, ledger)
        for begin in range(0, pages, PER_COMMIT):
            numbers = range(begin, min(begin + PER_COMMIT, pages))
            batch = Batch(stats={"outcomes": {}, "ok": len(numbers), "pages": len(numbers)})
            batch.pages = [page(number, alike) for number in numbers]
            batch.released = held(frontier, exchanger, batch.pages)
            reply = exchanger.perform(Exchange(batch))
            assert reply.error is None, reply.error
        exchanger.perform(Exchange(Batch()), closing=True)
        frontier.retire(engine)
        ledger.close()


def held(frontier: Frontier, exchanger: Exchanger, pages: list[PageRow]) -> list[Release]:
    """Lease the pages' domains, since only who holds a domain records its pages. Returns how they
    are given back: for good."""
    names = {each.domain_id: domain_of(split(each.url).host) for each in pages}
    firsts = [(ident, Url(f"https://www.{name}/")) for ident, name in names.items()]
    links = [(ident, fingerprint(url), url, 0, names[ident], 0) for ident, url in firsts]
    exchanger.perform(Exchange(Batch(links=links)))
    leases = frontier.lease(exchanger.engine_id, len(names))
    assert {each.domain_id for each in leases} == names.keys(), len(leases)
    return [Release(ident, 2 * NOW_MS) for ident in names]


_chance = random.Random(1)
_vocabulary = [
    "".join(_chance.choices("etaoinshrdlucm", k=_chance.randint(2, 10))) for _ in range(8_000)
]
_weights = [1 / (rank + 3) for rank in range(len(_vocabulary))]
_pieces = [
    " ".join(_chance.choices(_vocabulary, _weights, k=WORDS_PER_PAGE // PIECES)) for _ in range(997)
]
_LETTERS = "etaoinshrdlucm"


def said(number: int) -> str:
    """What a page says: pieces of texts, in a language of its domain."""
    text = " ".join(random.Random(number).choices(_pieces, k=PIECES))
    return f"{number} {text.translate(_language(number // PER_DOMAIN))}"


@lru_cache(maxsize=64)
def _language(number: int) -> dict[int, int]:
    letters = random.Random(number).sample(_LETTERS, len(_LETTERS))
    return str.maketrans(_LETTERS, "".join(letters))


def nearly(text: str, number: int) -> str:
    """The same with ten words changed."""
    words, chance = text.split(), random.Random(number)
    for _ in range(10):
        words[chance.randrange(len(words))] = chance.choice(_vocabulary)
    return " ".join(words)


def text_of(number: int, alike: bool) -> str:
    if alike:
        return nearly(said(0), number)
    if number % 100 == 0:
        return said(number % 1000)
    return nearly(said(number - 20), number) if number % 25 == 24 else said(number)


def page(number: int, alike: bool = False) -> PageRow:
    """One of the pages."""
    domain = f"d{number // PER_DOMAIN}.example"
    url = Url(f"https://www.{domain}/articles/{number % PER_DOMAIN}?page={number}")
    main = text_of(number, alike)
    text = f"Menu Home About\n{main}\nImprint"
    row = PageRow(domain_id(domain), fingerprint(url), url, -1, 2, NOW_MS + number, 200, "ok")
    row.content_type, row.charset = "text/html; charset=utf-8", "utf-8"
    row.wire_bytes, row.text_chars, row.main_chars = 20_000, len(text), len(main)
    row.content_hash, row.simhash = content_hash(text), simhash(main)
    row.title, row.label, row.label_reason = f"Article {number}", "content", "text"
    row.language, row.language_score = LANGUAGES[number % len(LANGUAGES)], 97
    row.text_row = text_row(
        url, row.fetched_ms, 200, row.title, "en", text, content_hash=row.content_hash, main=main
    )
    return row


def child(root: Path, out: Path, format_: str, limit: int, exact_only: bool) -> None:
    """Export, and print what it took."""
    import lycosa
    from lycosa.export import job
    from lycosa.reading.crawl import Crawl

    if limit:
        Crawl.newest_page = lambda self: limit  # type: ignore[method-assign]
    begin, cpu = time.monotonic(), time.process_time()
    with lycosa.open(root) as crawl:
        wish = job.Wish(format_, out, exact_only=exact_only)
        done = job.export(crawl, wish, lambda *_: None)
    took, spent = time.monotonic() - begin, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({**done, "wall": took, "cpu": spent, "peak": peak}))


def measured(root: Path, out: Path, format_: str, pages: int, limit: int, exact_only: bool) -> int:
    """Export in a process of its own, print what it took, and return its peak memory."""
    words = [sys.executable, __file__, "--child", str(root), str(out), format_, str(limit)]
    words.append("exact" if exact_only else "near")
    done = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    wanted = limit or pages
    counts = {name: count for name, count in done["counts"].items() if name != "edges"}
    assert set(counts.values()) == {wanted}, done["counts"]
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    marked = done.get("duplicates", {})
    print(
        f"{wanted:>9,} pages as {format_}: {wanted / done['wall']:>7,.0f} pages/s,"
        f" {1e6 * done['cpu'] / wanted:>5.0f} us CPU a page, peak {done['peak'] / 1e6:>5.0f} MB,"
        f" {size / 1e6:,.0f} MB written; counts equal;"
        f" marked {', '.join(f'{count:,} {kind}' for kind, count in marked.items()) or 'none'}",
        flush=True,
    )
    return int(done["peak"])


def judged(pages: int, peaks: dict[bool, list[int]]) -> int:
    """Say whether memory is flat; the exit code."""
    grown = max(all_ / tenth for tenth, all_ in peaks.values())
    if pages < TELLING:
        return 0
    flat = grown <= FLAT
    told = "met" if flat else "MISSED"
    print(f"memory for ten times the pages: {grown:.3f} times ({FLAT} at most: {told})")
    return 0 if flat else 1


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        where, out, format_, most, marks = sys.argv[2:]
        child(Path(where), Path(out), format_, int(most), marks == "exact")
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--format", default="parquet")
    parser.add_argument("--alike", action="store_true", help="all pages say nearly the same")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    pages = 2_000 if given.quick else given.pages
    if given.data:
        given.data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-", dir=given.data) as place:
        root = (given.data or Path(place)) / f"crawl-{pages}{'-alike' * given.alike}"
        if not root.exists():
            begin = time.monotonic()
            make(root, pages, given.alike)
            print(f"{pages:,} pages made in {time.monotonic() - begin:.0f} s")
        both = (False, True) if given.format in OF_COLUMNS else (False,)
        peaks: dict[bool, list[int]] = {exact_only: [] for exact_only in both}
        for number, (limit, exact_only) in enumerate(product((pages // 10, 0), both)):
            made = Path(place) / f"out-{number}"
            peak = measured(root, made, given.format, pages, limit, exact_only)
            peaks[exact_only].append(peak)
    return judged(pages, peaks)


if __name__ == "__main__":
    os.environ.pop("LYCOSA_DATA_DIR", None)
    sys.exit(main())
