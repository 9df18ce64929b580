"""Exports of a crawl that runs, and of one that was killed: no page twice, none half; and an export
of two nodes that is itself killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from export.commands import left_in, lines_of, rows_of, run
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, wait_for
from support.rich_crawl import is_ok, make_rich, url_of

SPEC = WorldSpec(seed=11, domains=60, pages=12, delay=0.2)


def urls_of(folder: Path, kinds: tuple[str, ...]) -> Counter[str]:
    """The pages in web archives, each record read to its end."""
    found: Counter[str] = Counter()
    for path in folder.glob("*.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests=True):
                record.content_stream().read()
                if record.rec_type in kinds:
                    assert record.rec_type == "revisit" or record.digest_checker.passed
                    found[record.rec_headers["WARC-Target-URI"]] += 1
    return found


def check(crawl: Crawl, out: Path, committed: set[str]) -> int:
    """What all formats have in common: each page once, and everything that was committed before."""
    flags = ("--data-dir", crawl.data)
    for format_ in ("jsonl", "parquet", "wet", "warc"):
        run("export", format_, out / format_, *flags)
    found = Counter(row["url"] for row in lines_of(out / "jsonl"))
    assert set(found.values()) == {1}
    assert committed <= set(found)
    for row in rows_of(out / "parquet/text"):
        assert row["text"] and row["id"]
    tables = [
        Counter(row["url"] for row in rows_of(out / "parquet" / t)) for t in ("text", "index")
    ]
    archives = [
        urls_of(out / "wet", ("conversion",)),
        urls_of(out / "warc", ("response", "revisit")),
    ]
    for counted in (*tables, *archives):
        assert set(counted.values()) == {1}
        assert committed <= set(counted)
    return len(found)


def test_a_crawl_is_exported_while_it_runs_and_after_it_was_killed(tmp_path: Path) -> None:
    with SimWeb(SPEC, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, SPEC.delay, "--warc", "--engines", "2")
        process = crawl.start()
        wait_for(lambda: crawl.pages() > 100, 60)
        (tmp_path / "running").mkdir()
        check(crawl, tmp_path / "running", crawl.kept())
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        wait_for(lambda: not crawl.engines_alive())  # one may end its commit
        kept = crawl.kept()
        (tmp_path / "killed").mkdir()
        assert check(crawl, tmp_path / "killed", kept) == len(kept)
        assert crawl.run(resume=True) == 0
        (tmp_path / "done").mkdir()
        assert check(crawl, tmp_path / "done", crawl.kept()) == len(crawl.kept())


def test_an_export_of_two_nodes_is_killed_and_all_counts_agree(
    tmp_path: Path, postgres_url: str
) -> None:
    one, two, out = tmp_path / "one", tmp_path / "two", tmp_path / "out"
    make_rich(one, range(150), store=postgres_url)
    make_rich(two, range(150, 300), store=postgres_url, join=True)
    out.mkdir()
    flags = ("--store", postgres_url, "--data-dir", one, "--data-dir", two, "--outcome", "ok")
    for format_ in ("parquet", "jsonl", "wet", "warc", "cdxj"):
        words = [sys.executable, "-c", KILLED, format_, str(out / format_), *map(str, flags)]
        killed = subprocess.run(words, capture_output=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert f"{format_}.unfinished" in left_in(out)
        run("export", format_, out / format_, *flags, "--file-size", "4k")
    pages = [url_of(n) for n in range(300) if is_ok(n)]
    counts = {
        "pages": len(json_lines(run("pages", *flags[:4], *flags[6:], "--limit", "999", "--json"))),
        "text": len({row["url"] for row in rows_of(out / "parquet/text")}),
        "index": len({row["url"] for row in rows_of(out / "parquet/index")}),
        "jsonl": len(lines_of(out / "jsonl")),
        "wet": sum(urls_of(out / "wet", ("conversion",)).values()),
        "warc": sum(urls_of(out / "warc", ("response", "revisit")).values()),
        "cdxj": (out / "cdxj").read_bytes().count(b"\n"),
    }
    assert set(counts.values()) == {len(pages)}, counts
    assert left_in(out) == ["cdxj", "jsonl", "parquet", "warc", "wet"]


def json_lines(text: str) -> list[object]:
    return [json.loads(line) for line in text.splitlines()]


KILLED = """
import os, sys
from lycosa.cli import main
from lycosa.export import sinks, sorting
from lycosa.export.warcs import WarcSink

sorting.RUN_ROWS = 30
left = 120

def counted(add):
    def one(self, page):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), 9)
        add(self, page)
    return one

for sink in (sinks.RowSink, sinks.SortedSink, WarcSink):
    sink.add = counted(sink.add)
main(["export", *sys.argv[1:], "--file-size", "4k"])
"""
