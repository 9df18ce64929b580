"""A copied directory: never two of one crawl at work, and one word is enough after a move."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from lycosa.frontier.protocol import DATABASE
from lycosa.simweb.serve import SimWeb
from lycosa.simweb.spec import WorldSpec
from support.made_crawl import make
from support.program import Crawl, lycosa, wait_for

WORLD = WorldSpec(seed=3, domains=10, pages=200, page_bytes=500, https=0.0).only("robots-allow")
OFFLINE = ("--nameserver", "127.0.0.1:1", "--max-duration", "1")


def resume(root: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return lycosa("crawl", "--resume", "--data-dir", root, *OFFLINE, *more)


def refused(found: subprocess.CompletedProcess[str], *words: str) -> bool:
    said = found.stderr
    one = said.startswith("lycosa: ") and said.count("\n") == 1
    return found.returncode == 2 and one and all(word in said for word in words)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    make(tmp_path / "original", pages=20, warc=False)
    return tmp_path / "original"


def test_a_copy_is_refused_and_nothing_of_it_is_changed(crawl: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawl, copy)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    found = resume(copy)
    assert refused(found, "--moved", str(crawl)), found.stderr
    after = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    assert {path: after.get(path) for path in before} == before
    assert resume(crawl).returncode == 0  # the original goes on


@pytest.mark.parametrize("how", ["cp -a", "cp -a --reflink=auto", "tar", "database only"])
def test_however_it_was_copied(crawl: Path, tmp_path: Path, how: str) -> None:
    copy = tmp_path / "copy"
    if how == "database only":
        shutil.copytree(crawl, copy, ignore=lambda folder, names: {DATABASE})
        shutil.copy2(crawl / DATABASE, copy / DATABASE)
    elif how == "tar":
        copy.mkdir()
        pack = subprocess.run(["tar", "c", "-C", crawl, "."], capture_output=True, check=True)
        subprocess.run(["tar", "x", "-C", copy], input=pack.stdout, check=True)
    else:
        subprocess.run([*how.split(), str(crawl), str(copy)], check=True)
    assert refused(resume(copy), "--moved")


def test_a_copy_in_the_originals_place_is_refused_too(crawl: Path, tmp_path: Path) -> None:
    """The original lies elsewhere now, and may run there."""
    copy, elsewhere = tmp_path / "copy", tmp_path / "elsewhere"
    shutil.copytree(crawl, copy)
    crawl.rename(elsewhere)
    copy.rename(crawl)
    assert refused(resume(crawl), "--moved")
    assert resume(elsewhere).returncode == 0


def test_a_move_within_a_file_system_needs_no_word(crawl: Path, tmp_path: Path) -> None:
    crawl.rename(tmp_path / "elsewhere")
    found = resume(tmp_path / "elsewhere")
    assert found.returncode == 0, found.stderr
    assert lycosa("status", "--data-dir", tmp_path / "elsewhere").returncode == 0


def test_a_restored_backup_needs_one_word_once(crawl: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawl, copy)
    shutil.rmtree(crawl)
    found = resume(copy, "--moved")
    assert found.returncode == 0, found.stderr
    assert resume(copy).returncode == 0


def test_a_copy_can_be_looked_at(crawl: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawl, copy)
    for command in ("status", "pages", "audit"):
        assert lycosa(command, "--data-dir", copy).returncode == 0


def test_a_copy_is_not_moved_to_a_server(crawl: Path, tmp_path: Path, postgres_url: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(crawl, copy)
    words = ("migrate", "--from", copy, "--to", postgres_url)
    assert refused(lycosa(*words), "--moved")
    done = lycosa(*words, "--moved")
    assert done.returncode == 0, done.stderr


def test_no_copy_runs_beside_its_original_whoever_vouches_for_it(tmp_path: Path) -> None:
    with SimWeb(WORLD, tmp_path / "log") as web:
        original = Crawl(web, tmp_path, 0.5, "--engines", "1")
        process = original.start()
        wait_for(lambda: (original.data / DATABASE).exists())
        wait_for(lambda: original.rows("SELECT 1 FROM engines WHERE NOT dead"))
        copy = tmp_path / "copy"
        shutil.copytree(original.data, copy)
        for more in ((), ("--moved",)):
            found = lycosa("crawl", "--resume", *original.flags, "--data-dir", copy, *more)
            assert refused(found, "runs now"), found.stderr
        process.terminate()
        process.wait(60)
        original.check_polite()


def test_of_two_copies_one_runs(tmp_path: Path) -> None:
    """Neither finds the original, and each was told that it is the only one."""
    with SimWeb(WORLD, tmp_path / "log") as web:
        crawl = Crawl(web, tmp_path, 0.5, "--engines", "1", "--max-pages", "20")
        assert crawl.run() == 0
        other = tmp_path / "other"
        for name in ("one", "other"):
            shutil.copytree(crawl.data, tmp_path / name)
        shutil.rmtree(crawl.data)
        (tmp_path / "one").rename(crawl.data)
        crawl.flags[-1] = "100000"
        crawl.flags.append("--moved")
        process = crawl.start(resume=True)
        wait_for(lambda: crawl.rows("SELECT 1 FROM engines WHERE NOT dead"))
        found = lycosa("crawl", "--resume", *crawl.flags, "--data-dir", other)
        assert refused(found, "A copy of this crawl runs on this machine"), found.stderr
        process.terminate()
        process.wait(60)
        # It was refused before it became the original.
        assert refused(lycosa("crawl", "--resume", "--data-dir", other), "--moved")
        crawl.check_polite()


def test_status_says_where_a_crawl_went(crawl: Path, postgres_url: str) -> None:
    done = lycosa("migrate", "--from", crawl, "--to", postgres_url)
    assert done.returncode == 0, done.stderr
    named = postgres_url.split("@")[-1][:20]
    for command in (("status",), ("pages",), ("crawl", "--resume"), ("stop",)):
        found = lycosa(*command, "--data-dir", crawl)
        assert refused(found, "was moved to a server", "--store", named), found.stderr
