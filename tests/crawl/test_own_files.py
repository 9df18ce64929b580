"""What a crawl writes is for its owner alone, and never behind a link that somebody planted."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import EMAIL, Crawl, lycosa

from lycosa.archive import ledger
from lycosa.archive.segments import SegmentWriter, cut_back, segment_id, segment_name
from lycosa.errors import LycosaError
from lycosa.fetch import certificates
from lycosa.node import datadir
from lycosa.node.start import create
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.made_crawl import crawl_settings, make_empty

WORLD = WorldSpec(seed=6, domains=6, pages=3, https=1.0, page_bytes=2000).only("robots-allow")
SECRET = b'["s", "somebody else\'s", 1]'


def loose(root: Path) -> list[str]:
    """What others may read or write."""
    found = [root, *root.rglob("*")]
    return [f"{path} {path.stat().st_mode:o}" for path in found if path.stat().st_mode & 0o077]


def test_nothing_is_readable_by_others_whatever_the_umask(tmp_path: Path) -> None:
    with SimWeb(WORLD, tmp_path / "log", verifiable=True) as web:
        crawl = Crawl(web, tmp_path, 0.1, "--tls-verify", "--warc", "--engines", "2")
        believing = {**os.environ, "SSL_CERT_FILE": str(web.ca_file)}
        assert crawl.run(env=believing, umask=0) == 0, crawl.log.read_text()
    kinds = {path.name for path in crawl.data.iterdir()}
    assert {"text", "warc", "visits", "seeds", "trust", "lycosa.lock", "crawl.sqlite"} <= kinds
    assert loose(crawl.data) == []


def test_a_running_crawl_hides_its_database_too(tmp_path: Path) -> None:
    """SQLite's helper files are there only while it is open."""
    before = os.umask(0)
    try:
        make_empty(tmp_path / "data")
        from lycosa.frontier.sqlite.frontier import SqliteFrontier

        path = tmp_path / "data" / "crawl.sqlite"
        store = SqliteFrontier(path, crawl_settings().store_rules(), lambda: 1)
        store.put_settings({"a": 1})
        helpers = sorted(each.name for each in path.parent.glob("crawl.sqlite-*"))
        modes = [stat.S_IMODE(each.stat().st_mode) for each in path.parent.glob("crawl.sqlite*")]
        store.close()
    finally:
        os.umask(before)
    assert helpers == ["crawl.sqlite-shm", "crawl.sqlite-wal"]
    assert set(modes) == {0o600}


def _seeds(root: Path) -> None:
    (root.parent / "mine.txt").write_text("example.org\n")
    datadir.copy_seeds(root, [str(root.parent / "mine.txt")], more=False)


def _cut(root: Path) -> None:
    cut_back(root, {segment_name("text", segment_id(1, 1)): 3}, {1})


def _write(root: Path, kind: str) -> None:
    writer = SegmentWriter(root, kind, 1, 100)  # type: ignore[arg-type]
    writer.append(b"text")
    writer.sync()


# What is planted -> what lycosa does there.
WRITERS: dict[str, Callable[[Path], object]] = {
    "lycosa.lock": datadir.lock,
    "node.new": lambda root: datadir.become_node(root, "crawl"),
    "node": lambda root: datadir.become_node(root, "crawl"),
    "seeds-0000.new": _seeds,
    "seeds/0000": _seeds,
    "trust/any.pem": lambda root: certificates.lay_out([("0123abcd", "PEM\n")], root / "trust"),
    "trust/0123abcd.0": lambda root: certificates.lay_out([("0123abcd", "PEM\n")], root / "trust"),
    "crawl.new": lambda root: create(root / "crawl.sqlite", crawl_settings()),
    "crawl.new-wal": lambda root: create(root / "crawl.sqlite", crawl_settings()),
    "crawl.sqlite": lambda root: create(root / "crawl.sqlite", crawl_settings()),
    "text/000001-00001.jsonl.zst": _cut,
    "visits/000001-00001.jsonl": lambda root: ledger.mend(root, {1}),
    "text/000001-00001.jsonl.zst ": lambda root: _write(root, "text"),
    "warc/000001-00001.warc": lambda root: _write(root, "warc"),
    "visits/000001-00001.jsonl ": lambda root: _write(root, "visits"),
}


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_planted_link_leads_nowhere(
    tmp_path: Path, name: str, link: Callable[[Path, Path], None]
) -> None:
    victim, root = tmp_path / "victim", tmp_path / "data"
    victim.write_bytes(SECRET)
    planted = root / name.strip()
    planted.parent.mkdir(parents=True)
    link(victim, planted)
    try:
        WRITERS[name](root)
    except (LycosaError, OSError) as error:
        assert str(planted) in str(error), error
    assert victim.read_bytes() == SECRET


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_sqlite_writes_behind_no_link(tmp_path: Path, end: str) -> None:
    victim, root = tmp_path / "victim", tmp_path / "data"
    victim.write_bytes(SECRET)
    make_empty(root)
    (root / f"crawl.sqlite{end}").symlink_to(victim)
    found = lycosa("stop", "--data-dir", root)
    assert found.returncode == 2 and found.stderr.count("\n") == 1, found.stderr
    assert victim.read_bytes() == SECRET


@pytest.mark.parametrize("name", ["lycosa.lock", "crawl.sqlite-wal", "text", "trust", "seeds"])
def test_a_crawl_refuses_planted_links_in_one_sentence(tmp_path: Path, name: str) -> None:
    victim, root = tmp_path / "victim", tmp_path / "data"
    victim.write_bytes(SECRET)
    root.mkdir()
    (root / name).symlink_to(victim)
    (tmp_path / "seeds.txt").write_text("example.org\n")
    words = (tmp_path / "seeds.txt", "--email", EMAIL, "--data-dir", root, "--max-duration", "1")
    found = lycosa("crawl", *words, "--nameserver", "127.0.0.1:1")
    assert found.returncode == 2, found.stderr
    assert found.stderr.count("\n") == 1 and name in found.stderr
    assert victim.read_bytes() == SECRET


def test_a_pipe_in_place_of_the_lock_holds_nobody_up(tmp_path: Path) -> None:
    make_empty(tmp_path / "data")
    os.mkfifo(tmp_path / "data" / "lycosa.lock")
    assert lycosa("status", "--data-dir", tmp_path / "data", timeout=20).returncode == 0
    found = lycosa("crawl", "--resume", "--data-dir", tmp_path / "data", timeout=20)
    assert found.returncode == 2 and "lycosa.lock" in found.stderr
