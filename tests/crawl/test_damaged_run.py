"""A crawl on a database that is or gets damaged: it ends as failed, and says what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lycosa.frontier.protocol import DATABASE
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.made_crawl import make
from support.program import Crawl, lycosa, wait_for

WORLD = WorldSpec(seed=3, domains=40, pages=40, page_bytes=3000, https=0.0).only("robots-allow")
PAGE = 4096


def spoil(path: Path, begin: int) -> None:
    """Overwrite everything from a page on, as a faulty disk would."""
    size = path.stat().st_size
    fd = os.open(path, os.O_WRONLY)
    os.pwrite(fd, os.urandom(size - begin), begin)
    os.fsync(fd)
    os.close(fd)


def blank_first_leaf(path: Path, root: int) -> None:
    """Zeros in place of the first leaf of a table whose root is that (interior) page."""
    data = path.read_bytes()
    interior = data[(root - 1) * PAGE :][:PAGE]
    cell = int.from_bytes(interior[12:14], "big")  # where the first cell lies: its child is first
    leaf = int.from_bytes(interior[cell : cell + 4], "big")
    with path.open("r+b") as file:
        file.seek((leaf - 1) * PAGE)
        file.write(bytes(PAGE))


@pytest.mark.parametrize("kind", ["spoilt", "cut", "no database"])
def test_a_damaged_crawl_is_not_resumed(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "data"
    make(root, pages=300, warc=False)
    if kind == "spoilt":
        spoil(root / DATABASE, 5 * PAGE)
    elif kind == "cut":
        os.truncate(root / DATABASE, 7 * PAGE)
    else:
        (root / DATABASE).write_bytes(b"no database at all\n" * 500)
    before = (root / DATABASE).read_bytes()
    found = lycosa("crawl", "--resume", "--data-dir", root, "--max-duration", "5")
    assert found.returncode == 1, found.stderr
    assert "damaged" in found.stderr.splitlines()[-1], found.stderr
    assert "Traceback" not in found.stderr
    assert (root / DATABASE).read_bytes() == before


def test_damage_while_it_runs_ends_it_as_failed(tmp_path: Path) -> None:
    with SimWeb(WORLD, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.05, "--engines", "2", "--max-pages", "400")
        assert crawl.run() == 0, crawl.log.read_text()
        crawl.flags[-1] = "1000000"
        process = crawl.start(resume=True)
        wait_for(lambda: len(crawl.rows("SELECT id FROM engines WHERE NOT dead")) == 2)
        spoil(crawl.data / DATABASE, PAGE)
        assert process.wait(60) == 1, crawl.log.read_text()
    said = crawl.log.read_text()
    assert "database is damaged" in said
    assert "Traceback" not in said


def test_damage_that_no_engine_met_is_seen_at_the_end(tmp_path: Path) -> None:
    """Of pages that are done nobody reads again while it runs."""
    with SimWeb(WORLD, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.05, "--engines", "1", "--max-pages", "400")
        assert crawl.run() == 0, crawl.log.read_text()
        (root,) = crawl.rows("SELECT rootpage FROM sqlite_master WHERE name = 'pages'")
        crawl.flags[-1] = "500"
        process = crawl.start(resume=True)
        wait_for(lambda: len(crawl.rows("SELECT id FROM engines WHERE NOT dead")) == 1)
        blank_first_leaf(crawl.data / DATABASE, int(str(root[0])))
        assert process.wait(60) == 1, crawl.log.read_text()
    assert "database is damaged" in crawl.log.read_text()
