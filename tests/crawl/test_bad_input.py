"""What a user can do wrong: one clear sentence, exit code 2, nothing changed on disk."""

from __future__ import annotations

import fcntl
import gzip
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from support.program import EMAIL, UNSHARE, Words, can_mount, lycosa


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    path = tmp_path / "seeds.txt"
    path.write_text("127.0.0.1:9999\n")
    return path


def tree(root: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def refused(root: Path, *words: str | Path, says: str) -> None:
    """The command fails with one sentence that holds `says`, and changes nothing."""
    before = tree(root)
    done = lycosa(*words)
    assert done.returncode == 2, done.stdout + done.stderr
    message = done.stderr.strip()
    assert says in message
    assert message.startswith("lycosa: ")
    assert len(message.splitlines()) <= 2, message
    assert "Traceback" not in message
    assert tree(root) == before


def crawl(*words: str | Path) -> Words:
    return ["crawl", *words, "--email", EMAIL]


def make_crawl(root: Path, seeds: Path) -> Path:
    """A real, small, finished crawl of nothing (loopback is refused)."""
    data = root / "data"
    done = lycosa(*crawl(seeds, "--data-dir", data, "--delay", "0"))
    assert done.returncode == 0, done.stderr
    return data


def test_no_email(tmp_path: Path, seeds: Path) -> None:
    refused(tmp_path, "crawl", seeds, "--data-dir", tmp_path / "d", says="--email")


@pytest.mark.parametrize(
    ("receiver", "says"),
    [("http://", "without a host"), ("  ", "must be a text"), ("no-such-thing", "'no-such-thing'")],
)
def test_a_receiver_that_can_not_be_told_anything(
    tmp_path: Path, seeds: Path, receiver: str, says: str
) -> None:
    words = crawl(seeds, "--data-dir", tmp_path / "d", "--notify", receiver)
    refused(tmp_path, *words, says=says)


def test_standard_input_goes_by_its_name(tmp_path: Path) -> None:
    words = crawl("-", "--data-dir", tmp_path / "d")
    for text, says in (
        ("", "The standard input is empty"),
        ("--\n", "input has no line that is"),
    ):
        done = lycosa(*words, stdin=text)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert says in done.stderr


def test_a_check_refuses_what_a_crawl_refuses(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_bytes(b"\xff\xfe no seeds\n")
    refused(tmp_path, "check", wrong, says="wrong.txt has no line that is a domain or URL")


def read_only(root: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command with a directory on a disk that nobody may write to."""
    mount = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
    space = [*UNSHARE, "--propagation", "private", "sh", "-c", mount, "sh"]
    command = [*space, str(root), sys.executable, "-m", "lycosa", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount a file system")
def test_a_read_only_directory_can_be_looked_at_and_is_not_called_damaged(
    tmp_path: Path, seeds: Path
) -> None:
    data = make_crawl(tmp_path, seeds)
    where: Words = ["--data-dir", data]
    url = "https://127.0.0.1:9999/"
    for words in (["status"], ["pages"], ["show", url], ["why", url], ["audit"], ["verify"]):
        done = read_only(data, *words, *where)
        assert done.returncode == 0, (words, done.stderr)
    before = tree(data)
    writes = [["stop"], ["exclude", "x.test", "--yes"], ["crawl", "--resume"]]
    for words in [*writes, ["verify", "--requeue"], ["retry", "--outcome", "connect", "--yes"]]:
        done = read_only(data, *words, *where)
        if done.returncode == 0:
            assert "not running" in done.stderr or "Nothing was changed" in done.stdout
            continue
        assert done.returncode == 2, (words, done.stderr)
        said = done.stderr.splitlines()[-1]
        assert said.startswith("lycosa: Can't write to "), (words, done.stderr)
        assert "permissions" in said or "choose another" in said
    assert tree(data) == before


@pytest.mark.parametrize("email", ["me", "@", "a b@c", "me@"])
def test_bad_email(tmp_path: Path, seeds: Path, email: str) -> None:
    words: Words = ["crawl", seeds, "--data-dir", tmp_path / "d", "--email", email]
    refused(tmp_path, *words, says="email")


def test_missing_seed_file(tmp_path: Path) -> None:
    words = crawl(tmp_path / "nowhere.txt", "--data-dir", tmp_path / "d")
    refused(tmp_path, *words, says="nowhere.txt")


def test_empty_seed_file(tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    refused(tmp_path, *crawl(empty, "--data-dir", tmp_path / "d"), says="empty.txt")


def test_seeds_that_are_all_nonsense(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("hello world\n???\n# only a comment\n")
    refused(
        tmp_path, *crawl(bad, "--data-dir", tmp_path / "d"), says="no line that is a domain or URL"
    )


def test_a_directory_that_holds_a_crawl(tmp_path: Path, seeds: Path) -> None:
    data = make_crawl(tmp_path, seeds)
    refused(tmp_path, *crawl(seeds, "--data-dir", data), says="--resume")


def test_resume_where_there_is_none(tmp_path: Path) -> None:
    refused(tmp_path, *crawl("--resume", "--data-dir", tmp_path / "d"), says="no crawl")


def test_a_directory_in_use(tmp_path: Path, seeds: Path) -> None:
    data = make_crawl(tmp_path, seeds)
    fd = os.open(data / "lycosa.lock", os.O_RDWR)
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getppid()}\n".encode(), 0)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        refused(tmp_path, *crawl("--resume", "--data-dir", data), says="Another lycosa process")
    finally:
        os.close(fd)


def test_an_unwritable_directory(tmp_path: Path, seeds: Path) -> None:
    refused(tmp_path, *crawl(seeds, "--data-dir", "/proc/nowhere/data"), says="write")


def test_a_file_as_directory(tmp_path: Path, seeds: Path) -> None:
    refused(tmp_path, *crawl(seeds, "--data-dir", seeds), says="not a directory")


def test_an_unknown_key_in_the_settings_file(tmp_path: Path, seeds: Path) -> None:
    settings = tmp_path / "lycosa.toml"
    settings.write_text("delya = 3\n")
    words = crawl(seeds, "--data-dir", tmp_path / "d", "--config", settings)
    refused(tmp_path, *words, says="delya")


def test_a_negative_delay(tmp_path: Path, seeds: Path) -> None:
    refused(tmp_path, *crawl(seeds, "--data-dir", tmp_path / "d", "--delay=-1"), says="--delay")


def test_a_database_from_a_newer_version(tmp_path: Path, seeds: Path) -> None:
    data = make_crawl(tmp_path, seeds)
    db = sqlite3.connect(data / "crawl.sqlite")
    db.execute("PRAGMA user_version = 99")
    db.close()
    refused(data / "text", *crawl("--resume", "--data-dir", data), says="newer lycosa")
    refused(data / "text", "status", "--data-dir", data, says="newer lycosa")


def test_a_database_that_is_none(tmp_path: Path, seeds: Path) -> None:
    data = tmp_path / "d"
    data.mkdir()
    (data / "crawl.sqlite").write_bytes(b"this is no database" * 100)
    for words in (["status"], ["crawl", "--resume", "--email", EMAIL]):
        done = lycosa(*words, "--data-dir", data)
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr
        assert "not a database" in done.stderr


@pytest.mark.parametrize("command", ["status", "pages", "stop", "audit"])
def test_looking_at_no_crawl(tmp_path: Path, command: str) -> None:
    refused(tmp_path, command, "--data-dir", tmp_path / "d", says="no crawl")


def test_single_bad_lines_are_named_and_the_crawl_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("127.0.0.1\nhello world\n\n# fine\n::nonsense::\n")
    done = lycosa(*crawl(path, "--data-dir", tmp_path / "d", "--delay", "0"))
    assert done.returncode == 0, done.stderr
    assert "line 2" in done.stderr
    assert "line 5" in done.stderr
    assert "2" in done.stderr


def test_a_wrong_file_among_good_ones(tmp_path: Path, seeds: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    refused(tmp_path, *crawl(seeds, empty, "--data-dir", tmp_path / "d"), says="empty.txt")


def test_a_compressed_file_that_breaks_off(tmp_path: Path) -> None:
    broken = tmp_path / "seeds.gz"
    text = "".join(f"d{n}.example\n" for n in range(20_000)).encode()
    broken.write_bytes(gzip.compress(text)[:-500])
    refused(tmp_path, *crawl(broken, "--data-dir", tmp_path / "d"), says="seeds.gz")


def test_a_device_as_seeds(tmp_path: Path) -> None:
    refused(tmp_path, *crawl("/dev/zero", "--data-dir", tmp_path / "d"), says="/dev/zero")


def test_the_users_own_files_are_left_alone(tmp_path: Path, seeds: Path) -> None:
    """A crawl into a directory with a 'seeds' folder of the user's own."""
    mine = tmp_path / "seeds"
    mine.mkdir()
    (mine / "list.txt").write_text(seeds.read_text())
    (mine / "notes.md").write_text("mine")
    done = lycosa(*crawl(mine / "list.txt", "--data-dir", tmp_path, "--delay", "0"))
    assert done.returncode == 0, done.stderr
    assert (mine / "notes.md").read_text() == "mine"
    assert (mine / "list.txt").exists()


def test_a_directory_with_the_output_of_another_crawl(tmp_path: Path, seeds: Path) -> None:
    data = make_crawl(tmp_path, seeds)
    for file in data.glob("crawl.sqlite*"):
        file.unlink()
    refused(tmp_path, *crawl(seeds, "--data-dir", data), says="visits")


@pytest.mark.parametrize("email", ["first-last@example.org", "a.b+c@sub.example-site.org"])
def test_ordinary_addresses_are_accepted(tmp_path: Path, seeds: Path, email: str) -> None:
    words: Words = ["crawl", seeds, "--data-dir", tmp_path / "d", "--email", email, "--delay", "0"]
    assert lycosa(*words).returncode == 0


def test_an_unknown_users_home(tmp_path: Path, seeds: Path) -> None:
    refused(tmp_path, *crawl(seeds, "--data-dir", "~nobody-here/x"), says="--data-dir")


def test_an_address_that_is_not_ascii(tmp_path: Path, seeds: Path) -> None:
    words: Words = ["crawl", seeds, "--data-dir", tmp_path / "d", "--email", "ü@b.org"]
    refused(tmp_path, *words, says="email")
