"""A whole crawl, end to end: complete, polite, readable by others."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import urljoin

import pytest
import zstandard
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.program import Crawl, lycosa, status


def crawl_world(
    spec: WorldSpec, root: Path, delay: float, *flags: str, processes: int = 1
) -> Crawl:
    with SimWeb(spec, root / "log", processes=processes) as web:
        crawl = Crawl(web, root, delay, *flags)
        assert crawl.run(timeout=600) == 0, crawl.log.read_text()
        return crawl


def check_text(crawl: Crawl) -> None:
    """Any tool reads it: zstdcat and jq (or json)."""
    files = sorted((crawl.data / "text").glob("*.jsonl.zst"))
    if shutil.which("zstdcat"):
        plain = subprocess.run(["zstdcat", *files], capture_output=True, check=True).stdout
    else:
        unpacker = zstandard.ZstdDecompressor()
        plain = b"".join(
            unpacker.stream_reader(file.read_bytes(), read_across_frames=True).read()
            for file in files
        )
    rows = [json.loads(line) for line in plain.splitlines()]
    assert len(rows) == len(crawl.kept())
    for row in rows:
        assert {"url", "fetched_at", "status", "title", "lang", "text"} <= set(row)
    if shutil.which("jq"):
        count = subprocess.run(
            ["jq", "-s", "length"], input=plain, capture_output=True, check=True
        ).stdout
        assert int(count) == len(rows)


def check_warc(crawl: Crawl) -> None:
    """Two independent readers see every record without error: of pages, and of robots.txt."""
    seen = {"warcio": Counter[str](), "fastwarc": Counter[str]()}
    for file in sorted((crawl.data / "warc").glob("*.warc")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                body = record.content_stream().read()
                if record.rec_type == "response":
                    seen["warcio"][record.rec_headers["WARC-Target-URI"]] += 1
                    kind = record.rec_headers["WARC-Identified-Payload-Type"]
                    assert bool(kind) is bool(body), record.rec_headers
                elif record.rec_type == "request":
                    assert record.http_headers.get_header("Accept-Encoding") == "gzip"
        with file.open("rb") as stream:
            for record in FastIterator(stream, verify_digests=True):
                record.reader.read()
                if record.headers["WARC-Type"] == "response":
                    seen["fastwarc"][record.headers["WARC-Target-URI"]] += 1
        checked = subprocess.run(
            [sys.executable, "-m", "warcio.cli", "check", file], capture_output=True, text=True
        )
        assert checked.returncode == 0, checked.stdout
    assert seen["warcio"] == seen["fastwarc"]
    served = {entry.url for entry in crawl.web.log() if entry.status >= 200}
    robots = {url for url in served if url.endswith("/robots.txt")}
    assert robots and robots <= set(seen["warcio"])
    # Of responses that ended in a failure (redirect loops) no record is kept.
    rows = crawl.rows("SELECT url FROM pages WHERE warc_segment > 0")
    of_pages = Counter(str(url) for (url,) in rows)
    assert of_pages and of_pages <= seen["warcio"]
    # What is left answered a robots.txt's redirect.
    left = set(seen["warcio"] - of_pages) - robots
    assert left <= {urljoin(e.url, e.location) for e in crawl.web.log() if e.url in robots}


def test_a_small_crawl_is_complete_polite_and_readable(tmp_path: Path) -> None:
    spec = WorldSpec(seed=3, domains=60, pages=6, delay=0.3)
    crawl = crawl_world(spec, tmp_path, 0.3, "--warc")
    crawl.check_complete()
    crawl.check_polite()
    check_text(crawl)
    check_warc(crawl)
    told = status(crawl.data)
    assert told["finished"]
    assert told["queued"] == 0
    assert told["ok"] == len(crawl.kept())
    audit = lycosa("audit", "--data-dir", crawl.data)
    assert audit.returncode == 0, audit.stdout + audit.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_thousand_domains(tmp_path: Path) -> None:
    """2,000 domains with 20 pages each at half a second."""
    spec = WorldSpec(seed=11, domains=2000, pages=20, delay=0.5)
    crawl = crawl_world(spec, tmp_path, 0.5, "--warc", "--max-workers", "2000", processes=1)
    print(crawl.log.read_text()[-1500:])
    print(crawl.web.check(0.5).text())
    crawl.check_complete()
    crawl.check_polite()
    check_text(crawl)
    check_warc(crawl)
    print(f"kept {len(crawl.kept())} of {len(crawl.web.world.expected_pages())} expected pages")
