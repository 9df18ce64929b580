"""Segments that were cut or deleted while no crawl ran: said on start, and mended by choice."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import zstandard

from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.cluster import Cluster
from support.program import Crawl, lycosa

WORLD = WorldSpec(seed=8, domains=30, pages=20, page_bytes=3000, https=0.0).only("robots-allow")


def damage(crawl: Crawl) -> tuple[set[str], set[str]]:
    """A cut, a deleted and a bit-flipped segment; returns the pages that lack text, and the pages
    whose text is spoilt: no size tells of those."""
    cut, gone, spoilt = sorted((crawl.data / "text").iterdir())[:3]
    places = crawl.rows("SELECT url, text_segment, min(text_frame) OVER (PARTITION BY text_segment)"
                        " AS first, text_frame FROM pages WHERE text_segment > 0")  # fmt: skip
    numbers = sorted({int(str(row[1])) for row in places})
    os.truncate(cut, 30)
    gone.unlink()
    data = bytearray(spoilt.read_bytes())
    data[40] ^= 1
    spoilt.write_bytes(data)
    return (
        {str(url) for url, number, _, _ in places if number in numbers[:2]},
        {str(url) for url, number, first, at in places if number == numbers[2] and at == first},
    )


def run_in_parts(crawl: Crawl) -> None:
    """Every run has engines of its own, and so segments of its own."""
    for part, most in enumerate(("120", "240", "1000000")):
        crawl.flags[-1] = most
        assert crawl.run(resume=part > 0) == 0, crawl.log.read_text()


def test_what_was_lost_is_named_and_fetched_again(tmp_path: Path) -> None:
    with SimWeb(WORLD, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.05, "--engines", "1", "--warc", "--max-pages", "0")
        run_in_parts(crawl)
        where = ("--data-dir", crawl.data)
        healthy = lycosa("verify", *where)
        assert (healthy.returncode, "MB/s" in healthy.stdout) == (0, True), healthy.stdout
        missing, spoilt = damage(crawl)
        assert crawl.run(resume=True) == 0
        said = crawl.log.read_text()
        assert f"{len(missing):,} pages have lost" in said  # at the start
        assert f"{len(missing):,} pages of earlier runs lost" in said  # and at the end
        assert said.count(f" -m lycosa verify --data-dir {crawl.data}' names them") == 2
        assert crawl.queued() == set()  # nothing by itself
        named = lycosa("verify", *where)
        assert named.returncode == 1
        lines = [line for line in named.stdout.splitlines() if " of http" in line]
        assert {line.split()[2] for line in lines} == missing | spoilt
        print(named.stdout[-700:])
        assert lycosa("verify", "--requeue", *where).returncode == 1
        assert lycosa("verify", *where).returncode == 0
        assert crawl.run(resume=True) == 0, crawl.log.read_text()
        crawl.check_complete()
        crawl.check_polite()
        assert lycosa("verify", *where).returncode == 0


def test_other_tools_read_what_was_mended(tmp_path: Path) -> None:
    """What is damaged becomes something that readers of zstd and of WARC pass over."""
    from fastwarc.warc import ArchiveIterator

    with SimWeb(WORLD, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.05, "--engines", "1", "--warc", "--max-pages", "100")
        assert crawl.run() == 0
    (text,), (warc,) = (crawl.data / "text").iterdir(), (crawl.data / "warc").iterdir()
    for path, at in ((text, 40), (warc, warc.stat().st_size // 2)):
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)
    assert lycosa("verify", "--mark-lost", "--data-dir", crawl.data).returncode == 1
    assert lycosa("verify", "--data-dir", crawl.data).returncode == 0
    with warc.open("rb") as file:
        records = [record.record_type for record in ArchiveIterator(file)]
    assert len(records) > 150
    rows = crawl.rows("SELECT count(*) FROM pages WHERE outcome = 'ok'")[0][0]
    assert unpacked(text).count(b"\n") == rows


def unpacked(path: Path) -> bytes:
    """By zstdcat, or where there is none by its library."""
    if shutil.which("zstdcat"):
        return subprocess.run(["zstdcat", path], capture_output=True, check=True).stdout
    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return reader.read()


def test_a_node_of_a_cluster_mends_its_own(tmp_path: Path, postgres_url: str) -> None:
    with SimWeb(WORLD, tmp_path / "log") as web:
        cluster = Cluster(web, tmp_path, postgres_url, 1, delay=0.2)
        node = cluster.nodes[0]
        cluster.finish(cluster.start(0, resume=False))
        where = ("--data-dir", node.data, "--store", postgres_url)
        assert lycosa("verify", *where).returncode == 0
        for path in sorted((node.data / "text").iterdir())[:1]:
            path.unlink()
        assert lycosa("verify", "--requeue", *where).returncode == 1
        cluster.finish(cluster.start(0, resume=True))
        cluster.check()
