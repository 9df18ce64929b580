"""The host graph: kept by engines with each commit, exported with the links added up."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest

import lycosa
from export.commands import left_in, rows_of, run
from lycosa.archive.edges import HostEdge, edges_frame, read_edges
from lycosa.archive.segments import SegmentWriter
from lycosa.errors import StoreError
from lycosa.page.html import parse
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from lycosa.urls.canonical import canonical, host_of
from support.program import Crawl, wait_for

SPEC = WorldSpec(seed=4, domains=30, pages=10, delay=0.2)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """A crawl that was killed once and went on to its end."""
    root = tmp_path_factory.mktemp("edges")
    with SimWeb(SPEC, root / "log") as web:
        crawl = Crawl(web, root, SPEC.delay, "--warc", "--engines", "2")
        process = crawl.start()
        wait_for(lambda: crawl.pages() > 60, 60)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert crawl.run(resume=True) == 0
        yield crawl


def linked(crawl: Crawl) -> Counter[tuple[str, str]]:
    """The same graph, from the responses."""
    found: Counter[tuple[str, str]] = Counter()
    with lycosa.open(crawl.data) as opened:
        for page in opened.responses(outcome="ok"):
            parsed = parse(page.decoded(), page.content_type, obey_nofollow=True)
            if parsed.nofollow:
                continue
            base = urljoin(page.url, parsed.base) if parsed.base else page.url
            for href in parsed.links:
                url = canonical(href, base)
                if url:
                    found[page.host, host_of(url)] += 1
    return found


def test_the_graph_is_that_of_the_pages_also_after_a_kill(killed: Crawl, tmp_path: Path) -> None:
    run("export", "parquet", tmp_path / "out", "--data-dir", killed.data, "--table", "edges")
    rows = rows_of(tmp_path / "out/edges")
    pairs = [(row["source"], row["target"]) for row in rows]
    assert pairs == sorted(set(pairs)) and len(pairs) > 50
    found = Counter({(row["source"], row["target"]): row["links"] for row in rows})
    wanted = linked(killed)
    assert found & wanted == wanted
    # Pages that ask not to be kept (noindex) have links too, and no response here.
    assert sum(found.values()) <= 1.1 * sum(wanted.values())
    assert {row["source_domain"] for row in rows} >= {"d000001.test"}


def test_verify_reads_it(killed: Crawl) -> None:
    assert list((killed.data / "edges").iterdir())
    run("verify", "--data-dir", killed.data)


def test_it_can_be_asked_in_sql(killed: Crawl) -> None:
    sql = "SELECT count(*) > 0 AS many, sum(links) > count(*) AS more FROM edges"
    assert run("query", sql, "--data-dir", killed.data, "--csv") == "many,more\nTrue,True\n"


def test_excluded_hosts_are_left_out(killed: Crawl, tmp_path: Path) -> None:
    run("exclude", "d000001.test", "--yes", "--data-dir", killed.data)
    try:
        run("export", "parquet", tmp_path / "out", "--data-dir", killed.data, "--table", "edges")
    finally:
        run("exclude", "d000001.test", "--remove", "--data-dir", killed.data)
    for row in rows_of(tmp_path / "out/edges"):
        assert "d000001.test" not in (row["source_domain"], row["target_domain"])


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "edges", 1, 1 << 20)
    writer.append(edges_frame({("a.test", "b.test"): 3}))
    writer.append(edges_frame({("a.test", "b.test"): 1, ("b.test", "b.test"): 2}))
    (state,) = writer.sync()
    assert list(read_edges(tmp_path, state.id, state.length)) == [
        HostEdge("a.test", "b.test", 3),
        HostEdge("a.test", "b.test", 1),
        HostEdge("b.test", "b.test", 2),
    ]
    path = tmp_path / state.name
    path.write_bytes(path.read_bytes()[:-9] + b"123456789")
    with pytest.raises(StoreError, match="damaged"):
        list(read_edges(tmp_path, state.id, state.length))


def test_a_damaged_graph_ends_the_export(killed: Crawl, tmp_path: Path) -> None:
    path = max((killed.data / "edges").iterdir(), key=lambda file: file.stat().st_size)
    whole = path.read_bytes()
    path.write_bytes(whole[:8] + bytes(len(whole) - 8))  # a kill may have left its end uncommitted
    try:
        said = run("export", "parquet", tmp_path / "out", "--data-dir", killed.data, code=1)
        assert "damaged" in said and left_in(tmp_path) == []
    finally:
        path.write_bytes(whole)
