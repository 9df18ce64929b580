"""Segments: names, rotation, all-or-nothing appends, and cutting back (F2)."""

import errno
import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from lycosa.archive import text
from lycosa.archive.segments import (
    CommittedFile,
    SegmentKind,
    SegmentWriter,
    cut_back,
    disk_error,
    listed,
    parse_name,
    segment_engine,
    segment_id,
    segment_name,
)
from lycosa.errors import DiskFull, StoreError, UserError
from support.made import made_row


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def run_python(program: str, *args: object, prefix: tuple[str, ...] = ()) -> str:
    command = [*prefix, sys.executable, "-c", textwrap.dedent(program), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# Names


@pytest.mark.parametrize("kind", ["text", "warc", "visits"])
@pytest.mark.parametrize(("engine_id", "seq"), [(1, 1), (12, 3), (999_999, 99_999), (1_234_567, 8)])
def test_a_name_and_its_number_are_the_same_thing(
    kind: SegmentKind, engine_id: int, seq: int
) -> None:
    number = segment_id(engine_id, seq)
    assert parse_name(segment_name(kind, number)) == (kind, number)
    assert segment_engine(number) == engine_id


def test_names_are_as_documented() -> None:
    assert segment_name("text", segment_id(12, 3)) == "text/000012-00003.jsonl.zst"
    assert segment_name("warc", segment_id(12, 3)) == "warc/000012-00003.warc"
    assert segment_name("visits", segment_id(12, 3)) == "visits/000012-00003.jsonl"


@pytest.mark.parametrize(
    "name",
    [
        "text/000012-00003.warc",
        "text/000012-00003.jsonl.zst.part",
        "text/12-3.jsonl.zst",
        "text/000000-00001.jsonl.zst",
        "../text/000012-00003.jsonl.zst",
        "notes/000012-00003.jsonl",
        "text/README",
    ],
)
def test_other_names_are_no_segments(name: str) -> None:
    assert parse_name(name) is None


@pytest.mark.parametrize(("engine_id", "seq"), [(0, 1), (1, 0), (1, 100_000), (-1, 5)])
def test_a_number_that_could_mean_another_segment_is_refused(engine_id: int, seq: int) -> None:
    with pytest.raises(StoreError):
        segment_id(engine_id, seq)


# Writing


def test_append_says_where_the_bytes_are(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "text", 7, 1000)
    assert writer.append(b"one") == (segment_id(7, 1), 0)
    assert writer.append(b"t", b"", b"wo") == (segment_id(7, 1), 3)
    assert (tmp_path / "text/000007-00001.jsonl.zst").read_bytes() == b"onetwo"
    writer.close()


def test_nothing_appended_leaves_no_file_and_no_state(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "text", 7, 1000)
    assert writer.sync() == []
    writer.close()
    assert not list(tmp_path.rglob("*"))


def test_rotation_keeps_a_batch_in_one_file(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "warc", 1, 10)
    places = [writer.append(b"x" * 4, b"y" * 3) for _ in range(3)]
    assert places == [(segment_id(1, seq), 0) for seq in (1, 2, 3)]
    large = writer.append(b"z" * 50)
    assert large == (segment_id(1, 4), 0)
    assert [path.stat().st_size for _, path in listed(tmp_path, "warc")] == [7, 7, 7, 50]
    writer.close()


def test_a_file_is_filled_to_its_limit_exactly(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "warc", 1, 10)
    assert [writer.append(b"12345")[0] % 100 for _ in range(3)] == [1, 1, 2]
    writer.close()


def test_sync_returns_each_change_once(tmp_path: Path) -> None:
    before = open_files()
    writer = SegmentWriter(tmp_path, "text", 1, 10)
    writer.append(b"12345")
    assert [(s.name, s.length, s.closed) for s in writer.sync()] == [
        ("text/000001-00001.jsonl.zst", 5, False)
    ]
    assert writer.sync() == []
    writer.append(b"12345")
    writer.append(b"678")
    assert [(s.id % 100, s.length, s.closed) for s in writer.sync()] == [
        (1, 10, True),
        (2, 3, False),
    ]
    assert [(s.id % 100, s.length, s.closed) for s in writer.sync(closing=True)] == [(2, 3, True)]
    assert writer.sync(closing=True) == []
    assert open_files() == before


def test_a_rotation_during_a_sync_belongs_to_the_next_one(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "visits", 1, 10)
    writer.append(b"12345678")
    unsynced = writer.begin_sync()
    writer.append(b"abcdefgh")
    assert [(s.id % 100, s.length, s.closed) for s in writer.finish_sync(unsynced)] == [
        (1, 8, False)
    ]
    assert [(s.id % 100, s.length, s.closed) for s in writer.sync()] == [
        (1, 8, True),
        (2, 8, False),
    ]
    writer.close()


def test_the_head_opens_every_file_and_is_not_part_of_the_batch(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "warc", 1, 40, head=lambda name: f"<{name}>".encode())
    head = len("<warc/000001-00001.warc>")
    assert writer.append(b"a" * 10) == (segment_id(1, 1), head)
    assert writer.append(b"b" * 10) == (segment_id(1, 2), head)
    assert (
        (tmp_path / "warc/000001-00002.warc").read_bytes().startswith(b"<warc/000001-00002.warc>")
    )
    writer.close()


def test_more_parts_than_one_system_call_takes(tmp_path: Path) -> None:
    parts = [b"%d," % i for i in range(3000)]
    writer = SegmentWriter(tmp_path, "warc", 1, 1 << 20)
    writer.append(*parts)
    writer.close()
    assert (tmp_path / "warc/000001-00001.warc").read_bytes() == b"".join(parts)


def test_the_file_of_another_crawl_is_not_touched(tmp_path: Path) -> None:
    other = tmp_path / "text/000001-00001.jsonl.zst"
    other.parent.mkdir()
    other.write_bytes(b"theirs")
    writer = SegmentWriter(tmp_path, "text", 1, 100)
    with pytest.raises(UserError, match="another crawl"):
        writer.append(b"ours")
    assert other.read_bytes() == b"theirs"


# Errors


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_and_a_full_quota_are_disk_full(number: int) -> None:
    assert isinstance(disk_error(OSError(number, "x"), Path("p")), DiskFull)


def test_other_errors_are_the_stores() -> None:
    error = disk_error(OSError(errno.EIO, "Input/output error"), Path("p"))
    assert type(error) is StoreError
    assert "Input/output error" in str(error)


# A file size limit makes a real short write, as a full disk does, without needing one.
SHORT_WRITE = """
    import resource, sys
    from pathlib import Path
    from lycosa.archive.segments import SegmentWriter
    from lycosa.errors import StoreError
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    writer = SegmentWriter(Path(sys.argv[1]), "text", 1, 1 << 20)
    writer.append(b"a" * 800)
    try:
        writer.append(b"b" * 150, b"c" * 150)
    except StoreError as error:
        print(type(error).__name__)
    print(writer.append(b"d" * 200)[1], [s.length for s in writer.sync()])
"""


def test_a_short_write_is_taken_back_and_the_file_goes_on(tmp_path: Path) -> None:
    assert run_python(SHORT_WRITE, tmp_path) == "StoreError\n800 [1000]"
    content = (tmp_path / "text/000001-00001.jsonl.zst").read_bytes()
    assert content == b"a" * 800 + b"d" * 200


FULL_DISK = """
    import os, subprocess, sys
    from pathlib import Path
    from lycosa.archive.segments import SegmentWriter
    from lycosa.errors import DiskFull
    root = Path(sys.argv[1])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(root)], check=True)
    writer = SegmentWriter(root, "text", 1, 1 << 20)
    kept = 0
    try:
        while True:
            writer.append(b"r" * 5000)
            kept += 5000
    except DiskFull:
        pass
    size = os.path.getsize(root / "text/000001-00001.jsonl.zst")
    print([s.length for s in writer.sync()] == [kept], size == kept)
"""


def test_a_really_full_disk_loses_nothing_that_was_appended(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system")
    assert run_python(FULL_DISK, tmp_path, prefix=("unshare", "-rm")) == "True True"


def test_after_a_failed_sync_nothing_more_is_reported_durable(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "text", 1, 100)
    writer.append(b"kept")
    assert len(writer.sync()) == 1
    writer.append(b"lost")
    # The descriptor becomes a pipe, which can't be synced: a real failure of the system call.
    reading, writing = os.pipe()
    assert writer._current is not None
    os.dup2(writing, writer._current.fd)
    with pytest.raises(StoreError, match="Can't write"):
        writer.sync()
    for use in (writer.sync, lambda: writer.append(b"more")):
        with pytest.raises(StoreError, match="earlier sync failed"):
            use()
    report = writer.cut_back({"text/000001-00001.jsonl.zst": 4})
    assert report.truncated == {"text/000001-00001.jsonl.zst": 4}
    assert writer.append(b"new") == (segment_id(1, 2), 0)
    assert [s.length for s in writer.sync(closing=True)] == [3]
    os.close(reading)
    os.close(writing)


# Cutting back


def put(root: Path, name: str, size: int) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def test_cut_back_does_to_each_file_what_was_committed(tmp_path: Path) -> None:
    names = [segment_name("text", segment_id(1, seq)) for seq in range(1, 7)]
    for name, size in zip(names[:5], (10, 10, 10, 10, 4), strict=True):
        put(tmp_path, name, size)
    committed = {names[0]: 10, names[1]: 7, names[2]: 0, names[4]: 9, names[5]: 3}
    report = cut_back(tmp_path, committed, {1})
    assert report.truncated == {names[1]: 3}
    assert report.removed == {names[2]: 10, names[3]: 10}
    assert report.short == {names[4]: 5}
    assert report.missing == [names[5]]
    assert [(p.name[7:12], p.stat().st_size) for _, p in listed(tmp_path, "text")] == [
        ("00001", 10),
        ("00002", 7),
        ("00005", 4),
    ]


def test_cut_back_twice_is_cut_back_once(tmp_path: Path) -> None:
    put(tmp_path, "text/000001-00001.jsonl.zst", 10)
    put(tmp_path, "warc/000001-00002.warc", 10)
    committed = {"text/000001-00001.jsonl.zst": 6}
    cut_back(tmp_path, committed, {1})
    again = cut_back(tmp_path, committed, {1})
    assert (again.truncated, again.removed, again.short, again.missing) == ({}, {}, {}, [])
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [
        "000001-00001.jsonl.zst"
    ]


def test_cut_back_leaves_the_living_the_ledger_and_strangers_alone(tmp_path: Path) -> None:
    names = ["text/000002-00001.jsonl.zst", "visits/000001-00001.jsonl", "text/notes.txt"]
    for name in names:
        put(tmp_path, name, 10)
    cut_back(tmp_path, {}, {1})
    assert all((tmp_path / name).stat().st_size == 10 for name in names)


def test_cut_back_of_an_empty_directory(tmp_path: Path) -> None:
    assert cut_back(tmp_path, {}, {1, 2}).removed == {}


def test_a_fenced_writer_undoes_only_its_own(tmp_path: Path) -> None:
    before = open_files()
    mine, other = (SegmentWriter(tmp_path, "text", engine_id, 10) for engine_id in (1, 2))
    mine.append(b"12345")
    committed = {state.name: state.length for state in mine.sync()}
    for writer in (mine, other):
        writer.append(b"abcd")
        writer.append(b"efghij")
    mine.cut_back(committed)
    sizes = {path.name[:12]: path.stat().st_size for _, path in listed(tmp_path, "text")}
    assert sizes == {"000001-00001": 5, "000002-00001": 10}
    other.close()
    assert open_files() == before


# Reading


def test_readers_do_not_see_what_is_not_committed(tmp_path: Path) -> None:
    put(tmp_path, "text/000001-00001.jsonl.zst", 10)
    with CommittedFile(tmp_path, "text/000001-00001.jsonl.zst", 7, 2) as file:
        assert file.read() == b"x" * 5
        assert file.read(10) == b""


@pytest.mark.parametrize(("committed", "offset"), [(11, 0), (5, 6), (5, -1)])
def test_readers_are_told_of_missing_bytes(tmp_path: Path, committed: int, offset: int) -> None:
    put(tmp_path, "text/000001-00001.jsonl.zst", 10)
    before = open_files()
    with pytest.raises(StoreError):
        CommittedFile(tmp_path, "text/000001-00001.jsonl.zst", committed, offset)
    with pytest.raises(StoreError, match="No such file"):
        CommittedFile(tmp_path, "text/000001-00009.jsonl.zst", 1)
    assert open_files() == before


# F2: exactly once, whatever happens between the write and the commit


@pytest.mark.parametrize("seed", range(20))
def test_after_a_power_cut_exactly_the_committed_rows_exist(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    writer = SegmentWriter(tmp_path, "text", 1, rng.choice([300, 2000, 1 << 20]))
    committed: dict[str, int] = {}
    done: list[int] = []
    number = 0
    for _ in range(rng.randint(1, 12)):
        batch = list(range(number, number + rng.randint(1, 9)))
        number += len(batch)
        rows = [made_row(f"http://x/{i}", "t" * (i % 50)) for i in batch]
        writer.append(text.pack(rows)[0])
        states = writer.sync()
        if rng.random() < 0.8:  # else: the commit never came
            committed.update({state.name: state.length for state in states})
            done += batch
        else:
            break
    writer.close()
    lose_power(tmp_path, committed, rng)
    cut_back(tmp_path, committed, {1})
    urls = [row["url"] for row in text.iter_rows(tmp_path, committed)]
    assert urls == [f"http://x/{i}" for i in done], f"seed {seed}"
    assert {segment_name("text", n) for n, _ in listed(tmp_path, "text")} == set(committed)


def lose_power(root: Path, committed: dict[str, int], rng: random.Random) -> None:
    """Past the committed length anything may be on the disk: less, zeros, garbage."""
    for number, path in listed(root, "text"):
        keep = committed.get(segment_name("text", number), 0)
        size = path.stat().st_size
        os.truncate(path, rng.randint(keep, size))
        with open(path, "ab") as file:
            file.write(rng.choice([b"", bytes(rng.randint(0, 99)), rng.randbytes(50)]))


ENGINE = """
    import sqlite3, sys
    from pathlib import Path
    from lycosa.archive import text
    from lycosa.archive.segments import SegmentWriter
    root = Path(sys.argv[1])
    db = sqlite3.connect(root / "crawl.db")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE IF NOT EXISTS pages (url, segment, frame, at)")
    db.execute("CREATE TABLE IF NOT EXISTS segments (name PRIMARY KEY, length)")
    engine_id = int(sys.argv[2])
    writer = SegmentWriter(root, "text", engine_id, 4000)
    for batch in range(10**6):
        urls = [f"http://x/{engine_id}/{batch}/{i}" for i in range(5)]
        frame, offsets = text.pack([text.text_row(u, 0, 200, "", "", u * 20) for u in urls])
        segment, start = writer.append(frame)
        states = writer.sync()
        with db:
            db.executemany("INSERT INTO pages VALUES (?, ?, ?, ?)",
                           [(u, segment, start, at) for u, at in zip(urls, offsets)])
            db.executemany("INSERT OR REPLACE INTO segments VALUES (?, ?)",
                           [(s.name, s.length) for s in states])
        if batch == 5:
            print("going", flush=True)
"""


def test_kill_dash_nine_leaves_each_page_exactly_once(tmp_path: Path) -> None:
    for engine_id in (1, 2, 3):
        engine = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(ENGINE), str(tmp_path), str(engine_id)],
            stdout=subprocess.PIPE,
        )
        assert engine.stdout is not None
        assert engine.stdout.readline() == b"going\n"
        time.sleep(0.02 * engine_id)  # to be hit at different points; none is special
        engine.send_signal(signal.SIGKILL)
        engine.wait()
        engine.stdout.close()
        with sqlite3.connect(tmp_path / "crawl.db") as db:
            committed = dict(db.execute("SELECT name, length FROM segments"))
            pages = db.execute("SELECT url, segment, frame, at FROM pages").fetchall()
        db.close()
        report = cut_back(tmp_path, committed, {engine_id})
        assert not report.short
        rows = [row["url"] for row in text.iter_rows(tmp_path, committed)]
        assert sorted(rows) == sorted(page[0] for page in pages)
        url, segment, frame, at = random.Random(engine_id).choice(pages)
        length = committed[segment_name("text", segment)]
        assert text.read_row(tmp_path, segment, frame, at, length)["url"] == url
