"""Measures an export to Parquet: pages a second, CPU, and the most memory it took.

    python bench/data_out.py [--pages 1000000] [--format parquet] [--data DIR] [--quick]

Makes a crawl of that many pages with texts of about 3 KB and no network, in a temporary directory
or in DIR, where a later run finds it again. The export runs in a process of its own: its peak
memory at a tenth of the pages and at all of them tells whether memory is flat. The counts in the
store and in the files are compared.
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
from pathlib import Path

from lycosa.archive.ledger import Ledger
from lycosa.archive.segments import SegmentWriter
from lycosa.archive.text import text_row
from lycosa.engine.exchange import Exchange, Exchanger
from lycosa.frontier.protocol import Batch
from lycosa.node.start import open_crawl
from lycosa.records import PageRow, Url
from lycosa.settings.values import CrawlSettings, NodeSettings, RunLimits
from lycosa.urls.domains import domain_id
from lycosa.urls.fingerprint import content_hash, fingerprint

PER_COMMIT = 1_000
PER_DOMAIN = 50
WORDS_PER_PAGE = 500
NOW_MS = 1_767_607_200_000
LANGUAGES = ("en", "de", "fr", "es", "ru", "ja")


def make(root: Path, pages: int) -> None:
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
            batch.pages = [page(number) for number in numbers]
            reply = exchanger.perform(Exchange(batch))
            assert reply.error is None, reply.error
        exchanger.perform(Exchange(Batch()), closing=True)
        frontier.retire(engine)
        ledger.close()


_chance = random.Random(1)
_vocabulary = [
    "".join(_chance.choices("etaoinshrdlucm", k=_chance.randint(2, 10))) for _ in range(8_000)
]
_weights = [1 / (rank + 3) for rank in range(len(_vocabulary))]
_texts = [" ".join(_chance.choices(_vocabulary, _weights, k=WORDS_PER_PAGE)) for _ in range(997)]


def page(number: int) -> PageRow:
    """One of the pages; every hundredth says what an earlier one says."""
    domain = f"d{number // PER_DOMAIN}.example"
    url = Url(f"https://www.{domain}/articles/{number % PER_DOMAIN}?page={number}")
    said = number if number % 100 else number % 1000
    main = f"{said} {_texts[number % 997]}"
    text = f"Menu Home About\n{main}\nImprint"
    row = PageRow(domain_id(domain), fingerprint(url), url, -1, 2, NOW_MS + number, 200, "ok")
    row.content_type, row.charset = "text/html; charset=utf-8", "utf-8"
    row.wire_bytes, row.text_chars, row.main_chars = 20_000, len(text), len(main)
    row.content_hash, row.simhash = content_hash(text), number * 7919
    row.title, row.label, row.label_reason = f"Article {number}", "content", "text"
    row.language, row.language_score = LANGUAGES[number % len(LANGUAGES)], 97
    row.text_row = text_row(
        url, row.fetched_ms, 200, row.title, "en", text, content_hash=row.content_hash, main=main
    )
    return row


def child(root: Path, out: Path, format_: str, limit: int) -> None:
    """Export, and print what it took."""
    import lycosa
    from lycosa.export import job
    from lycosa.reading.crawl import Crawl

    if limit:
        Crawl.newest_page = lambda self: limit  # type: ignore[method-assign]
    begin, cpu = time.monotonic(), time.process_time()
    with lycosa.open(root) as crawl:
        done = job.export(crawl, job.Wish(format_, out), lambda *_: None)
    took, spent = time.monotonic() - begin, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"counts": done["counts"], "wall": took, "cpu": spent, "peak": peak}))


def measured(root: Path, out: Path, format_: str, pages: int, limit: int) -> None:
    words = [sys.executable, __file__, "--child", str(root), str(out), format_, str(limit)]
    done = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    wanted = limit or pages
    counts = {name: count for name, count in done["counts"].items() if name != "edges"}
    assert set(counts.values()) == {wanted}, done["counts"]
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(
        f"{wanted:>9,} pages as {format_}: {wanted / done['wall']:>7,.0f} pages/s,"
        f" {1e6 * done['cpu'] / wanted:>5.0f} us CPU a page, peak {done['peak'] / 1e6:>5.0f} MB,"
        f" {size / 1e6:,.0f} MB written; counts equal",
        flush=True,
    )


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        where, out, format_, most = sys.argv[2:]
        return child(Path(where), Path(out), format_, int(most))
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--format", default="parquet")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    pages = 2_000 if given.quick else given.pages
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-", dir=given.data) as place:
        root = (given.data or Path(place)) / f"crawl-{pages}"
        if not root.exists():
            begin = time.monotonic()
            make(root, pages)
            print(f"{pages:,} pages made in {time.monotonic() - begin:.0f} s")
        for number, limit in enumerate((pages // 10, 0)):
            measured(root, Path(place) / f"out-{number}", given.format, pages, limit)
    return None


if __name__ == "__main__":
    os.environ.pop("LYCOSA_DATA_DIR", None)
    main()
