"""`lycosa verify` names every page that lost something, and no other, on every store."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard

from lycosa.archive.segments import parse_name
from lycosa.cli import main
from lycosa.frontier.filters import Filter
from lycosa.frontier.protocol import open_reader
from lycosa.frontier.reader import Reader
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.records import PageRow
from support.kept import committed_lengths, texts_in
from support.made_crawl import finish, make, opened

OWN_NAME = re.compile(rb"WARC-Type: request\r\nWARC-Record-ID: <urn:uuid:[0-9a-f-]{0,35}$")
Damage = Callable[["Kept", random.Random], set[str]]


@dataclass
class Kept:
    """A crawl, and what its pages say of where things are."""

    root: Path
    store: str
    capsys: pytest.CaptureFixture[str]

    def reader(self) -> Reader:
        return open_reader(self.root, self.store)

    def placed(self) -> list[PageRow]:
        with closing(self.reader()) as reader:
            return list(reader.pages(limit=1_000_000))

    def names(self, kind: str) -> list[str]:
        return sorted(name for name in self.lengths() if name.startswith(kind))

    def lengths(self) -> dict[str, int]:
        with closing(self.reader()) as reader:
            return committed_lengths(reader)

    def pages_in(self, name: str) -> dict[str, int]:
        """The pages of a segment by URL, with the frame or record that is theirs."""
        if name.startswith("text"):
            rows = [(p.url, p.text_segment, p.text_frame) for p in self.placed()]
        else:
            rows = [(p.url, p.warc_segment, p.warc_offset) for p in self.placed()]
        parsed = parse_name(name)
        assert parsed is not None
        return {url: at for url, number, at in rows if number == parsed[1]}

    def run(self, *words: str) -> int:
        return main(["verify", *words, "--data-dir", str(self.root), "--store", self.store])

    def verify(self, *words: str) -> tuple[int, dict[str, Any]]:
        self.capsys.readouterr()
        code = self.run("--json", *words)
        said = self.capsys.readouterr()
        assert said.err == "", said.err
        return code, json.loads(said.out)

    def named(self) -> set[str]:
        """The pages that it names."""
        code, found = self.verify()
        assert code == (1 if found["losses"] or found["bad_segments"] else 0)
        return {loss["url"] for loss in found["losses"]}

    def lost(self) -> set[str]:
        """The same, without the command."""
        from lycosa.node.verify import verified

        with closing(self.reader()) as reader, verified(reader, self.root, None) as verifier:
            return {loss.url for loss in verifier.losses()}

    def texts(self) -> Counter[str]:
        return texts_in(self.root, self.lengths())

    def count(self, *outcomes: str) -> int:
        with closing(self.reader()) as reader:
            return sum(1 for _ in reader.pages(Filter(outcomes=outcomes), limit=1_000_000))


@pytest.fixture(params=["sqlite", "postgres"])
def kept(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Kept:
    store = "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    make(tmp_path / "data", store)
    return Kept(tmp_path / "data", store, capsys)


@pytest.fixture
def plain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Kept:
    make(tmp_path / "data")
    return Kept(tmp_path / "data", "sqlite", capsys)


# -- healthy --------------------------------------------------------------------------------------


def test_a_healthy_crawl_has_lost_nothing(kept: Kept) -> None:
    code, found = kept.verify()
    assert (code, found["ok"], found["losses"], found["bad_segments"]) == (0, True, [], [])
    assert found["segments"] == len(kept.lengths()) > 15
    assert found["bytes"] == sum(kept.lengths().values())
    assert kept.run() == 0
    said = kept.capsys.readouterr().out
    assert "MB/s" in said and "All that was kept is there." in said


def test_bytes_behind_the_committed_length_are_never_read(kept: Kept) -> None:
    for name in kept.lengths():
        with (kept.root / name).open("ab") as file:
            file.write(random.Random(name).randbytes(500) + b"\n")
    assert kept.verify()[0] == 0


# -- lost -----------------------------------------------------------------------------------------


def cut_inside(kept: Kept, chance: random.Random, kind: str = "text") -> set[str]:
    """In the middle of a frame or record; everything behind it is gone."""
    name = chance.choice(kept.names(kind))
    pages = kept.pages_in(name)
    at = chance.choice(sorted(set(pages.values())))
    os.truncate(kept.root / name, at + chance.randrange(1, 30))
    return {url for url, begin in pages.items() if begin >= at}


def cut_warc(kept: Kept, chance: random.Random) -> set[str]:
    return cut_inside(kept, chance, "warc")


def cut_between(kept: Kept, chance: random.Random) -> set[str]:
    name = chance.choice([n for n in kept.names("text") if len(set(kept.pages_in(n).values())) > 1])
    pages = kept.pages_in(name)
    at = chance.choice(sorted(set(pages.values()))[1:])
    os.truncate(kept.root / name, at)
    return {url for url, begin in pages.items() if begin >= at}


def cut_to_nothing(kept: Kept, chance: random.Random) -> set[str]:
    name = chance.choice(kept.names("text"))
    os.truncate(kept.root / name, 0)
    return set(kept.pages_in(name))


def deleted(kept: Kept, chance: random.Random) -> set[str]:
    lost = set()
    for name in chance.sample(kept.names("text") + kept.names("warc"), 3):
        (kept.root / name).unlink()
        lost |= set(kept.pages_in(name))
    return lost


def directory_in_its_place(kept: Kept, chance: random.Random) -> set[str]:
    name = chance.choice(kept.names("text"))
    (kept.root / name).unlink()
    (kept.root / name).mkdir()
    return set(kept.pages_in(name))


def folder_gone(kept: Kept, chance: random.Random) -> set[str]:
    shutil.rmtree(kept.root / "text")
    return {page.url for page in kept.placed() if page.text_segment}


def flipped(kept: Kept, chance: random.Random) -> set[str]:
    """One bit in each of some frames: all rows of such a frame are lost."""
    lost = set()
    for name in chance.sample(kept.names("text"), 4):
        pages = kept.pages_in(name)
        at = chance.choice(sorted(set(pages.values())))
        ends = sorted(end for end in {*pages.values(), kept.lengths()[name]} if end > at)
        before = (kept.root / name).read_bytes()
        while same_text(before, (kept.root / name).read_bytes(), at):
            flip(kept.root / name, chance.randrange(at, ends[0]), chance)
        lost |= {url for url, begin in pages.items() if begin == at}
    return lost


def flip(path: Path, at: int, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def same_text(before: bytes, after: bytes, at: int) -> bool:
    """Whether a frame unpacks to the same: a few bits of a packed one mean nothing."""
    try:
        one, other = (
            zstandard.ZstdDecompressor().decompressobj().decompress(data[at:])
            for data in (before, after)
        )
    except zstandard.ZstdError:
        return False
    described = slice(at, at + 5)  # by bits that could be read in no other way
    return one == other and before[described] == after[described]


def swapped(kept: Kept, chance: random.Random) -> set[str]:
    one, other = chance.sample(kept.names("text"), 2)
    (kept.root / one).rename(kept.root / "aside")
    (kept.root / other).rename(kept.root / one)
    (kept.root / "aside").rename(kept.root / other)
    return {*kept.pages_in(one), *kept.pages_in(other)}


def another_crawls(kept: Kept, chance: random.Random) -> set[str]:
    """A segment of the same name, whole, and of another time."""
    other = kept.root.parent / "other"
    make(other, pages=80)
    name = kept.names("text")[0]
    shutil.copy(other / name, kept.root / name)
    return set(kept.pages_in(name))


def older_copy(kept: Kept, chance: random.Random) -> set[str]:
    """As it was some commits earlier: shorter, and right as far as it goes."""
    return cut_between(kept, chance)


DAMAGES: list[Damage] = [
    *(cut_inside, cut_warc, cut_between, cut_to_nothing, deleted, directory_in_its_place),
    *(folder_gone, flipped, swapped, another_crawls, older_copy),
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_every_page_concerned_is_named_and_no_other(kept: Kept, damage: Damage) -> None:
    lost = damage(kept, random.Random(damage.__name__))
    assert lost
    assert kept.named() == lost
    assert kept.run() == 1
    said = kept.capsys.readouterr().out
    assert all(url in said for url in lost)
    assert f"{len(lost):,} pages" in said and "--requeue" in said


def test_a_cut_a_deleted_and_a_flipped_segment_at_once(kept: Kept) -> None:
    chance = random.Random(5)
    cut, gone, spoilt = chance.sample(kept.names("text"), 3)
    lost = set(kept.pages_in(gone))
    (kept.root / gone).unlink()
    os.truncate(kept.root / cut, 20)
    lost |= set(kept.pages_in(cut))
    pages = kept.pages_in(spoilt)
    flip(kept.root / spoilt, 25, chance)
    lost |= {url for url, begin in pages.items() if begin == 0}
    code, found = kept.verify()
    assert code == 1
    assert {loss["url"] for loss in found["losses"]} == lost
    assert {each["segment"]: each["state"] for each in found["bad_segments"]} == {
        cut: "cut", gone: "missing", spoilt: "damaged",
    }  # fmt: skip
    assert found["mb_per_s"] > 0


@pytest.mark.parametrize("kind", ["text", "warc"])
def test_any_flipped_bit_is_found_and_concerns_its_page_alone(plain: Kept, kind: str) -> None:
    """But for a request's own name, which nothing else repeats, every bit of a page's records is
    vouched for."""
    chance = random.Random(kind)
    places: dict[str, dict[str, int]] = {}
    lengths = plain.lengths()
    for _ in range(100):
        name = chance.choice(plain.names(kind))
        pages = places.setdefault(name, plain.pages_in(name))
        at = chance.randrange(min(pages.values()), lengths[name])
        before = (plain.root / name).read_bytes()
        flip(plain.root / name, at, chance)
        begin = max(begin for begin in pages.values() if begin <= at)
        nothing = kind == "text" and same_text(before, (plain.root / name).read_bytes(), begin)
        if not nothing and not OWN_NAME.search(before[max(0, at - 90) : at]):
            assert plain.lost() == {url for url, place in pages.items() if place == begin}, at
        (plain.root / name).write_bytes(before)
    assert plain.lost() == set()


def test_an_unreadable_line_of_a_ledger_is_counted(kept: Kept) -> None:
    name = kept.names("visits")[0]
    lines = (kept.root / name).read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"[", b"{", 1)
    (kept.root / name).write_bytes(b"".join(lines))
    code, found = kept.verify()
    assert code == 1 and found["losses"] == []
    assert [each["segment"] for each in found["bad_segments"]] == [name]


def test_a_page_without_its_text_is_named(plain: Kept) -> None:
    with opened(plain.root, resume=True) as (frontier, _):
        assert isinstance(frontier, SqliteFrontier)
        frontier.db.execute("UPDATE pages SET text_segment = 0 WHERE url = 'https://d1.test/1'")
    code, found = plain.verify()
    assert code == 1
    assert [loss["url"] for loss in found["losses"]] == ["https://d1.test/1"]


def test_a_row_without_its_page_is_found(plain: Kept) -> None:
    with opened(plain.root, resume=True) as (frontier, _):
        assert isinstance(frontier, SqliteFrontier)
        frontier.db.execute("DELETE FROM pages WHERE url = 'https://d1.test/1'")
    code, found = plain.verify()
    assert (code, found["losses"]) == (1, [])
    assert [each["unowned_rows"] for each in found["bad_segments"]] == [1]


# -- what is done about it ------------------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_lost_pages_are_fetched_again_and_their_text_is_there_once(
    kept: Kept, damage: Damage
) -> None:
    before = kept.texts()
    total = kept.count()
    lost = damage(kept, random.Random(3))
    text_lost = {url for url in lost if url in before} if damage is not cut_warc else set()
    code, found = kept.verify("--requeue")
    assert code == 1
    assert kept.count() == total - found["done"]
    assert kept.run("--mark-lost") in (0, 1)  # WARC records of pages that still have their text
    again = kept.verify()
    assert again[0] == 0, again[1]
    finish(kept.root, kept.store)
    assert kept.count() == total
    assert kept.verify()[0] == 0
    texts = kept.texts()
    assert set(texts.values()) == {1}  # F2
    assert set(texts) >= set(before) - text_lost


def test_what_was_done_is_told_with_the_command_for_this_crawl(plain: Kept) -> None:
    for name in (plain.names("text")[0], plain.names("warc")[0]):
        (plain.root / name).unlink()
    plain.run("--requeue")
    said = plain.capsys.readouterr().out
    assert f"'lycosa crawl --resume --data-dir {plain.root} --store sqlite' fetches them." in said
    plain.run("--mark-lost")
    assert "no longer name WARC records." in plain.capsys.readouterr().out


def test_lost_pages_are_marked(kept: Kept) -> None:
    text = set(kept.texts())
    lost = deleted(kept, random.Random(1))
    gone = {url for url in lost if url in text}
    ok = kept.count("ok")
    code, found = kept.verify("--mark-lost")
    assert code == 1 and found["done"] <= len(gone)
    assert kept.count("text-lost") == found["done"] == ok - kept.count("ok")
    assert kept.verify()[0] == 0
    assert set(kept.texts().values()) == {1}


def test_doing_it_again_changes_nothing(plain: Kept) -> None:
    flipped(plain, random.Random(1))
    plain.verify("--mark-lost")
    files = {path: path.read_bytes() for path in (plain.root / "text").iterdir()}
    assert plain.verify("--mark-lost")[0] == 0
    assert files == {path: path.read_bytes() for path in (plain.root / "text").iterdir()}


def test_what_only_cant_be_read_is_not_queued_again(
    plain: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is there: the user makes it readable. Root may read anything, so it is told no."""
    name = plain.names("text")[1]
    lost = set(plain.pages_in(name))
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: not str(path).endswith(name) and real(path, mode)
    )
    code, found = plain.verify("--requeue")
    assert (code, found["done"]) == (1, 0)
    assert found["bad_segments"][0]["state"] == "unreadable"
    assert {loss["url"] for loss in found["losses"]} == lost
    monkeypatch.undo()
    assert plain.verify()[0] == 0


def test_a_backup_by_hard_links_is_not_changed(plain: Kept) -> None:
    backup = plain.root.parent / "backup"
    flipped(plain, random.Random(1))
    shutil.copytree(plain.root / "text", backup, copy_function=os.link)
    before = {path.name: path.read_bytes() for path in backup.iterdir()}
    plain.verify("--requeue")
    assert before == {path.name: path.read_bytes() for path in backup.iterdir()}
    assert plain.verify()[0] == 0


# -- segments that are elsewhere ------------------------------------------------------------------


def test_a_segment_that_was_moved_is_not_missing(kept: Kept) -> None:
    name, other = kept.names("text")[:2]
    aside = kept.root.parent / "aside"
    (kept.root / name).rename(aside)
    assert kept.named() == set(kept.pages_in(name))
    assert kept.run("--moved", str(kept.root / name)) == 0
    code, found = kept.verify()
    assert (code, found["moved"]) == (0, [name])
    (kept.root / other).unlink()
    assert kept.named() == set(kept.pages_in(other))  # of others it still tells
    kept.verify("--mark-lost")
    assert kept.run("--returned", name) == 0
    assert kept.named() == set(kept.pages_in(name))
    aside.rename(kept.root / name)
    assert kept.verify()[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--requeue", "--mark-lost"),
        ("--moved",),
        ("--moved", "text/nonsense"),
        ("--moved", "text/999999-00001.jsonl.zst"),
        ("text/000001-00001.jsonl.zst",),
        ("--requeue", "text/000001-00001.jsonl.zst"),
    ],
)
def test_wrong_use(plain: Kept, words: tuple[str, ...]) -> None:
    assert plain.run(*words) == 2
    said = plain.capsys.readouterr().err
    assert said.startswith("lycosa: ") and said.count("\n") == 1


# -- beside a crawl, and on a start ---------------------------------------------------------------


def test_nothing_is_changed_while_a_crawl_runs(
    plain: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lycosa.node import datadir

    monkeypatch.setattr(datadir, "ORPHAN_WAIT", 0.2)  # nobody ends here, so nobody is waited for
    lock = datadir.lock(plain.root)
    try:
        assert plain.verify()[0] == 0
        for way in ("--requeue", "--mark-lost"):
            assert plain.run(way) == 2
            assert "Another lycosa process" in plain.capsys.readouterr().err
    finally:
        os.close(lock)


def test_a_start_names_and_counts_and_queues_nothing(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    lost = cut_inside(kept, random.Random(9)) | deleted(kept, random.Random(2))
    total = kept.count()
    with opened(kept.root, kept.store, resume=True) as (frontier, _):
        assert frontier.backlog()[0] == 0
    said = caplog.text
    for name in [name for name in kept.lengths() if not (kept.root / name).exists()]:
        assert f"{name} is missing" in said
    assert f"{len(lost):,} pages have lost" in said
    assert f"lycosa verify --data-dir {kept.root}" in said
    assert kept.count() == total
    assert kept.run() == 1
    kept.capsys.readouterr()
    assert main(["status", "--data-dir", str(kept.root), "--store", kept.store]) == 0
    told = kept.capsys.readouterr().out
    assert f"LOST     {len(lost):,} pages" in told
    assert f"lycosa verify --data-dir {kept.root} --store" in told
    kept.verify("--requeue")
    kept.verify("--mark-lost")
    assert main(["status", "--data-dir", str(kept.root), "--store", kept.store]) == 0
    assert "LOST" not in kept.capsys.readouterr().out


def test_a_start_of_a_healthy_crawl_says_nothing(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(kept.root, kept.store, resume=True):
        pass
    assert "lost" not in caplog.text and "gone" not in caplog.text


def test_a_node_says_whose_output_it_cant_see(
    tmp_path: Path,
    postgres_url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make(tmp_path / "one", postgres_url, pages=60)
    make(tmp_path / "two", postgres_url, pages=60, join=True)
    for here, there in (("one", "two"), ("two", "one")):
        kept = Kept(tmp_path / here, postgres_url, capsys)
        code, found = kept.verify()
        assert (code, found["losses"]) == (0, [])
        assert [place.endswith(there) for place in found["unseen"]] == [True]
    shutil.rmtree(tmp_path / "one" / "text")
    assert kept.verify()[0] == 0
    assert Kept(tmp_path / "one", postgres_url, capsys).verify()[0] == 1
    stranger = Kept(tmp_path, postgres_url, capsys)
    assert stranger.run() == 2
    assert "name a node's directory" in capsys.readouterr().err


@pytest.fixture(autouse=True)
def _loud(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    import logging

    logger = logging.getLogger("lycosa")
    before = logger.propagate
    logger.propagate = True
    caplog.set_level("INFO")
    yield
    logger.propagate = before
