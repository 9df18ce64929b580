"""A database that was cut, overwritten or is none: every command says so in one sentence."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lycosa.cli import main
from lycosa.frontier.protocol import DATABASE
from support.made_crawl import make

PAGE = 4096
URL = "https://d1.test/1"


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("healthy") / "data"
    make(root, pages=400, warc=False)
    return root


def flipped(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 30, 3000])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def overwritten(data: bytearray, chance: random.Random) -> None:
    """Whole pages are lost or changed places, as disks do it."""
    pages = len(data) // PAGE
    for _ in range(chance.randrange(1, max(2, pages // 2))):
        at, other = chance.randrange(pages) * PAGE, chance.randrange(pages) * PAGE
        new = chance.choice([bytes(PAGE), chance.randbytes(PAGE), data[other : other + PAGE]])
        data[at : at + PAGE] = new


def cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(1, len(data)) :]


def head_lost(data: bytearray, chance: random.Random) -> None:
    data[: chance.randrange(1, 200)] = b""


def none(data: bytearray, chance: random.Random) -> None:
    data[:] = chance.choice([b"This is no database.\n" * 400, bytes(9000), b"SQLite format 3\0"])


DAMAGES: list[Callable[[bytearray, random.Random], None]] = [
    *(flipped, overwritten, cut, head_lost, none),
]


def commands(root: Path) -> Iterator[tuple[str, ...]]:
    where = ("--data-dir", str(root))
    yield ("status", *where)
    yield ("status", "--json", *where)
    yield ("pages", "--limit", "1000000", *where)
    yield ("pages", "--json", "--outcome", "ok", "--oldest", *where)
    yield ("show", URL, *where)
    yield ("why", URL, *where)
    yield ("audit", *where)
    yield ("verify", *where)
    yield ("stop", *where)
    yield ("exclude", "excluded.test", *where)


def is_damaged(path: Path) -> bool:
    try:
        db = sqlite3.connect(path)
        return bool(db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
    except (sqlite3.Error, UnicodeDecodeError):  # of what SQLite says about it
        return True


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_every_command_ends_with_one_sentence(
    healthy: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[bytearray, random.Random], None],
    number: int,
) -> None:
    root = tmp_path / "data"
    shutil.copytree(healthy, root)
    (root / f"{DATABASE}-wal").unlink(missing_ok=True)
    (root / f"{DATABASE}-shm").unlink(missing_ok=True)
    data = bytearray((root / DATABASE).read_bytes())
    damage(data, random.Random(number))
    (root / DATABASE).write_bytes(data)
    damaged = is_damaged(root / DATABASE)
    for words in commands(root):
        code = main(list(words))
        said = capsys.readouterr().err
        told = f"{words}: {code} {said}"
        assert code in ((0, 1) if words[0] == "verify" else (0, 2)), told
        if code and (words[0] != "verify" or damaged):
            assert said.startswith("lycosa: ") and said.count("\n") == 1, told
        if damaged and words[0] == "status":
            assert code == 2, told


def test_a_healthy_one_is_not_called_damaged(
    healthy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in commands(healthy):
        assert main(list(words)) == 0, capsys.readouterr().err
