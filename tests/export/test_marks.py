"""Duplicates that an export marks, exactly and nearly: as somebody would judge who compares all
texts with each other, whatever happens to the export meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lycosa
from export.commands import left_in, lines_of, rows_of, run
from lycosa.archive import duplicates
from lycosa.archive.duplicates import CLOSE
from lycosa.export.job import Wish, export
from lycosa.page.resemblance import DRIFTED, NEAR_DUPLICATE, jaccard, shingles
from lycosa.page.simhash import NEAR, distance
from support.made import link
from support.made_crawl import opened
from support.program import UNSHARE, can_mount
from support.text_crawl import NO_TEXT, _TextEngine, make_texts

SEED = int(os.environ.get("LYCOSA_SEED", "1"))
Row = dict[str, Any]
Mark = tuple[int, str]


def some_texts(chance: random.Random, number: int) -> dict[int, str]:
    """Pages that say something new, the same as an earlier one, or nearly; some say nothing."""
    texts: dict[int, str] = {}
    for page in range(number):
        kind = chance.random()
        said = [text for text in texts.values() if text]
        if kind < 0.05:
            texts[page] = NO_TEXT
        elif kind < 0.15 and said:
            texts[page] = chance.choice(said)
        elif kind < 0.7 and said:
            texts[page] = edited(chance.choice(said), chance)
        else:
            about = f"w{chance.randrange(1 << 20)}x"
            ranks = (int(chance.paretovariate(0.7)) % 900 for _ in range(chance.randrange(20, 400)))
            texts[page] = " ".join(f"{about}{rank}" for rank in ranks)
    return texts


def edited(text: str, chance: random.Random) -> str:
    words = text.split()
    for _ in range(chance.randrange(1, max(2, len(words) // 10))):
        words[chance.randrange(len(words))] = f"new{chance.randrange(100)}"
    return " ".join(words)


def marks_of(rows: list[Row]) -> dict[int, Mark]:
    return {
        row["page"]: (row["duplicate_of"], row["duplicate_kind"])
        for row in rows
        if row["duplicate_of"] is not None
    }


def judged(rows: list[Row]) -> dict[int, Mark]:
    """Every page is compared with all before it."""
    marks: dict[int, Mark] = {}
    firsts: dict[str, int] = {}  # pages by what they say
    with_simhash: dict[int, int] = {}  # the first page with each
    before: dict[int, frozenset[int]] = {}
    in_common: dict[int, float] = {}  # with the first of its cluster

    def cluster(page: int) -> int:
        return marks[page][0] if page in marks else page

    for row in sorted(rows, key=lambda row: row["page"]):
        page, number, said = row["page"], row["simhash"], shingles(row["text"])
        if row["content_hash"] in firsts:
            marks[page] = cluster(firsts[row["content_hash"]]), "exact"
            continue
        firsts[row["content_hash"]] = page
        bits = {other: distance(its, number) for its, other in with_simhash.items()}
        first = with_simhash.setdefault(number, page)
        near = [other for other in bits if bits[other] <= NEAR] if first == page else [first]
        for other in sorted(near, key=lambda other: (bits[other], other)):
            head = cluster(other)
            common = jaccard(said, before[head])
            kept = in_common.get(other, 0) < CLOSE
            if common >= NEAR_DUPLICATE or (
                common >= DRIFTED and kept and jaccard(said, before[other]) >= NEAR_DUPLICATE
            ):
                marks[page], in_common[page] = (head, "near"), common
                break
        before[page] = said
    return marks


@pytest.fixture
def unbounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pages are alike, all of them are compared."""
    for name in ("ENOUGH", "CANDIDATES", "WINDOW"):
        monkeypatch.setattr(duplicates, name, 10_000)


@pytest.mark.usefixtures("unbounded")
@pytest.mark.parametrize("number", range(6))
def test_marks_are_those_of_who_compares_all_pages(tmp_path: Path, number: int) -> None:
    chance = random.Random(SEED * 100 + number)
    texts = some_texts(chance, 120)
    make_texts(tmp_path / "data", texts)
    told = json.loads(run("export", "jsonl", tmp_path / "out", *_data(tmp_path), "--json"))
    rows = lines_of(tmp_path / "out")
    marks = marks_of(rows)
    assert marks == judged(rows)
    kinds = [kind for _, kind in marks.values()]
    assert told["duplicates"] == {"exact": kinds.count("exact"), "near": kinds.count("near")}
    assert kinds.count("near") > 20 and kinds.count("exact") > 2


@pytest.mark.parametrize("number", range(6))
def test_bounds_lose_hardly_anything(tmp_path: Path, number: int) -> None:
    """The same as above, as users have it."""
    make_texts(tmp_path / "data", some_texts(random.Random(SEED * 100 + number), 120))
    run("export", "jsonl", tmp_path / "out", *_data(tmp_path))
    rows = lines_of(tmp_path / "out")
    marks, all_marks = marks_of(rows), judged(rows)
    assert len(marks) >= 0.97 * len(all_marks)
    said = {row["page"]: shingles(row["text"]) for row in rows}
    for page, (of, kind) in marks.items():
        assert jaccard(said[page], said[of]) >= DRIFTED
        cluster = [of, *(other for other, (its, _) in marks.items() if its == of and other < page)]
        nearest = max(jaccard(said[page], said[other]) for other in cluster)
        assert nearest >= NEAR_DUPLICATE and (kind == "near" or nearest == 1.0)


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with duplicates of both kinds."""
    root = tmp_path_factory.mktemp("marks") / "data"
    make_texts(root, some_texts(random.Random(SEED), 200))
    return root


def _data(place: Path) -> tuple[str, Path]:
    return "--data-dir", place / "data"


def test_both_kinds_of_rows_have_the_marks_and_the_last_line_counts_them(
    some: Path, tmp_path: Path
) -> None:
    flags = ("--data-dir", some)
    said = run("export", "parquet", tmp_path / "tables", *flags)
    run("export", "jsonl", tmp_path / "lines", *flags)
    marks = marks_of(rows_of(tmp_path / "tables/text"))
    assert marks == marks_of(lines_of(tmp_path / "lines"))
    exact = sum(kind == "exact" for _, kind in marks.values())
    assert f", {exact} duplicates, {len(marks) - exact} near-duplicates\n" in said
    noted = json.loads((tmp_path / "tables/export.json").read_text())
    assert noted["duplicates"] == {"exact": exact, "near": len(marks) - exact}


def test_exact_only_marks_the_same_copies_and_nothing_else(some: Path, tmp_path: Path) -> None:
    flags = ("--data-dir", some)
    run("export", "jsonl", tmp_path / "near", *flags)
    said = run("export", "jsonl", tmp_path / "exact", *flags, "--exact-only")
    near, exact = (marks_of(lines_of(tmp_path / name)) for name in ("near", "exact"))
    assert exact and set(exact) == {page for page, (_, kind) in near.items() if kind == "exact"}
    assert f"{len(exact)} duplicates\n" in said and "near" not in said.rpartition(":")[2]
    told = run("export", "wet", tmp_path / "wet", *flags, "--exact-only", code=2)
    assert "leave --exact-only out" in told


def test_rows_without_the_columns_need_no_marks(some: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run("export", "jsonl", out, "--columns", "url", "--data-dir", some)
    assert "duplicates" not in said and left_in(tmp_path) == ["out"]


@pytest.mark.usefixtures("unbounded")
def test_only_chosen_pages_are_marked_among_themselves(some: Path, tmp_path: Path) -> None:
    run("export", "jsonl", tmp_path / "out", "--data-dir", some, "--label", "content")
    rows = lines_of(tmp_path / "out")
    marks = marks_of(rows)
    assert marks and marks == judged(rows)
    assert {of for of, _ in marks.values()} <= {row["page"] for row in rows}


@pytest.mark.usefixtures("unbounded")
def test_excluded_pages_are_nobodys_first(tmp_path: Path) -> None:
    make_texts(tmp_path / "data", some_texts(random.Random(SEED), 100))
    run("exclude", "t0.test", "--yes", *_data(tmp_path))
    run("export", "jsonl", tmp_path / "out", *_data(tmp_path))
    rows = lines_of(tmp_path / "out")
    assert marks_of(rows) == judged(rows)


def test_a_query_asks_for_marks(some: Path) -> None:
    sql = "SELECT duplicate_kind, count(*) FROM text GROUP BY 1 ORDER BY 1"
    both = run("query", sql, "--csv", "--data-dir", some).splitlines()
    assert [line.partition(",")[0] for line in both[1:]] == ["exact", "near", ""]
    exact = run("query", sql, "--csv", "--data-dir", some, "--exact-only").splitlines()
    assert [line.partition(",")[0] for line in exact[1:]] == ["exact", ""]


@pytest.mark.usefixtures("unbounded")
def test_pages_that_come_while_it_runs_do_not_change_the_marks(tmp_path: Path) -> None:
    root = tmp_path / "data"
    texts = some_texts(random.Random(SEED), 100)
    make_texts(root, texts)
    later = {100 + number: text for number, text in texts.items()}
    with lycosa.open(root) as crawl:
        original = crawl.chunks

        def chunks(*words: Any, **named: Any) -> Any:
            with opened(root, resume=True) as (frontier, node):
                if number := next(iter(later), 0):
                    frontier.add([link(f"https://t1.test/{number}")], rank=0)
                    engine = _TextEngine(frontier, root, node, 9000, {number: later.pop(number)})
                    while engine.work():
                        pass
                    engine.end()
            return original(*words, **named)

        crawl.chunks = chunks  # type: ignore[method-assign]
        export(crawl, Wish("jsonl", tmp_path / "out"), lambda *_: None)
    assert len(later) < 100
    rows = lines_of(tmp_path / "out")
    assert len(rows) == sum(text != NO_TEXT for text in texts.values())
    assert marks_of(rows) == judged(rows)


# -- ends -----------------------------------------------------------------------------------------

KILLED = """
import os, sys
from lycosa.cli import main
from lycosa.archive import duplicates

place, left, *words = sys.argv[1:]
left = int(left)

def counted(function):
    def one(*given):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), 9)
        return function(*given)
    return one

if place == "sorts":
    duplicates.near_pairs = counted(duplicates.near_pairs)
else:
    duplicates.Duplicates.mark = counted(duplicates.Duplicates.mark)
main(["export", *words])
"""


@pytest.mark.parametrize(("place", "when"), [("sorts", 3), ("marks", 20), ("marks", 150)])
@pytest.mark.parametrize("format_", ["parquet", "jsonl"])
def test_an_export_that_was_killed_marks_the_same(
    some: Path, tmp_path: Path, place: str, when: int, format_: str
) -> None:
    words = [format_, str(tmp_path / "out"), "--data-dir", str(some), "--file-size", "4k"]
    killed = subprocess.run([sys.executable, "-c", KILLED, place, str(when), *words])
    assert killed.returncode == -signal.SIGKILL
    assert left_in(tmp_path) == ["out.unfinished"]
    told = json.loads(run("export", *words, "--json"))
    assert left_in(tmp_path) == ["out"]
    whole = json.loads(run("export", format_, tmp_path / "whole", *words[2:4], "--json"))
    assert told["duplicates"] == whole["duplicates"]
    read = lines_of if format_ == "jsonl" else lambda folder: rows_of(folder / "text")
    assert marks_of(read(tmp_path / "out")) == marks_of(read(tmp_path / "whole"))
    assert not [path for path in (tmp_path / "out").rglob("*") if "sqlite" in path.name]


def test_an_interrupt_leaves_no_temporary_file(
    some: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lycosa.archive.duplicates import Duplicates

    marked = iter(range(50))

    def mark(*_: object) -> None:
        if next(marked, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Duplicates, "mark", mark)
    with pytest.raises(KeyboardInterrupt), lycosa.open(some) as crawl:
        export(crawl, Wish("jsonl", tmp_path / "out"), lambda *_: None)
    left = [path.name for path in (tmp_path / "out.unfinished").rglob("*")]
    assert not [name for name in left if "sqlite" in name or "duplicates" in name]


def test_a_damaged_segment_is_named(tmp_path: Path) -> None:
    root = tmp_path / "data"
    make_texts(root, some_texts(random.Random(SEED), 60))
    path = sorted((root / "text").iterdir())[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    said = run("export", "jsonl", tmp_path / "out", *_data(tmp_path), code=1)
    assert "damaged" in said and path.name in said
    assert left_in(tmp_path) == ["data"]


@pytest.mark.skipif(not can_mount(), reason="needs to mount a small disk")
@pytest.mark.parametrize("size", ["12k", "40k", "60k"])
def test_a_full_disk_is_told_in_one_sentence(some: Path, tmp_path: Path, size: str) -> None:
    small = tmp_path / "small"
    small.mkdir()
    script = (
        f'mount -t tmpfs -o size={size} none {small}; "$@" 2>&1; code=$?;'
        f" ls {small} | sed 's/^/left: /'; exit $code"
    )
    words = [sys.executable, "-m", "lycosa", "export", "jsonl", str(small / "out")]
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", script, "sh", *words, "--data-dir", str(some)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "disk" in done.stdout and done.stdout.count("\n") == 1, done.stdout


@pytest.mark.usefixtures("unbounded")
def test_pages_of_several_nodes_are_marked_together(tmp_path: Path, postgres_url: str) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    texts = some_texts(random.Random(SEED), 160)
    make_texts(one, {n: texts[n] for n in range(80)}, store=postgres_url)
    make_texts(two, {n: texts[n] for n in range(80, 160)}, store=postgres_url, join=True)
    flags = ("--store", postgres_url, "--data-dir", one, "--data-dir", two)
    run("export", "jsonl", tmp_path / "out", *flags)
    rows = lines_of(tmp_path / "out")
    marks = marks_of(rows)
    assert marks == judged(rows)
    last = sorted(row["page"] for row in rows)[len(rows) // 2]
    assert [page for page, (of, _) in marks.items() if of < last < page]
