"""Which pages an export has, and what is left when it does not end well."""

import json
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import lycosa
from export.commands import left_in, lines_of, rows_of, run
from lycosa.export.job import Wish, export
from lycosa.reading.crawl import Crawl
from support.made import link
from support.made_crawl import _crawl, opened
from support.program import UNSHARE, can_mount
from support.rich_crawl import RichEngine, is_ok, make_rich, url_of

OK = [url_of(n) for n in range(200) if is_ok(n)]


def silent(*_: object) -> None:
    pass


@contextmanager
def crawl_in(root: Path) -> Iterator[Crawl]:
    with lycosa.open(root) as crawl:
        yield crawl


# -- which pages ----------------------------------------------------------------------------------


def urls(rich: Path, tmp_path: Path, *flags: str) -> set[str]:
    out = tmp_path / "out"
    run("export", "jsonl", out, "--data-dir", rich, "--columns", "url", *flags)
    found = Counter(row["url"] for row in lines_of(out))
    shutil.rmtree(out)
    assert set(found.values()) <= {1}
    return set(found)


def test_filters_are_those_of_other_commands(rich: Path, tmp_path: Path) -> None:
    numbers = {url_of(n): n for n in range(200)}
    english = urls(rich, tmp_path, "--language", "en")
    assert english == {url for url in OK if numbers[url] % 5 == 0}
    assert urls(rich, tmp_path, "--label", "listing") == {u for u in OK if numbers[u] % 4 == 0}
    assert urls(rich, tmp_path, "--max-depth", "1") == {u for u in OK if numbers[u] % 4 <= 1}
    one = urls(rich, tmp_path, "--domain", "example.org", "--language", "en", "--label", "content")
    assert one and all("example.org/" in url for url in one)
    assert urls(rich, tmp_path, "--until", "2020-01-01") == set()
    assert urls(rich, tmp_path, "--since", "1h", "--min-chars", "10") == set(OK)


def test_excluded_domains_are_left_out_of_everything(tmp_path: Path) -> None:
    root = tmp_path / "data"
    make_rich(root)
    run("exclude", "example.no", "*/caf%C3%A9/1*", "--yes", "--data-dir", root)
    for format_ in ("parquet", "jsonl", "warc", "cdxj", "wet"):
        run("export", format_, tmp_path / format_, "--data-dir", root)
    kept = [url for url in OK if "example.no" not in url and "/caf%C3%A9/1" not in url]
    assert sorted(row["url"] for row in rows_of(tmp_path / "parquet/text")) == sorted(kept)
    assert sorted(row["url"] for row in lines_of(tmp_path / "jsonl")) == sorted(kept)
    for path in ("parquet/index", "cdxj", "warc/index.cdxj"):
        found = tmp_path / path
        text = str(rows_of(found)) if found.is_dir() else found.read_text("utf-8")
        assert '"url":"https://example.no' not in text and "no,example" not in text, path


def test_pages_that_come_while_it_runs_are_left_out(tmp_path: Path) -> None:
    """The list ends with the page that was the newest when the export began."""
    root = tmp_path / "data"
    make_rich(root, range(60))
    more = iter(range(60, 1000))

    def grow(*_: object) -> None:
        with opened(root, resume=True) as (frontier, node):
            frontier.add([link(url_of(next(more))) for _ in range(5)], rank=0)
            _crawl(frontier, [RichEngine(frontier, root, node, warc=True, segment_bytes=9000)])

    with crawl_in(root) as crawl:
        original = crawl.chunks

        def chunks(*words: Any, **named: Any) -> Any:
            grow()
            return original(*words, **named)

        crawl.chunks = chunks  # type: ignore[method-assign]
        done = export(crawl, Wish("parquet", tmp_path / "out"), silent)
    assert done["counts"] == {"text": sum(is_ok(n) for n in range(60)), "index": 60, "edges": 0}
    assert {row["url"] for row in rows_of(tmp_path / "out/index")} == set(map(url_of, range(60)))


# -- kills ----------------------------------------------------------------------------------------

SCRIPT = """
import os, sys
from pathlib import Path
import lycosa
from lycosa.export import sinks, sorting
from lycosa.export.job import Wish, export

root, out, format_, most = sys.argv[1:]
sorting.RUN_ROWS = 20
left = int(most)

def counted(add):
    def one(self, page):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), 9)
        add(self, page)
    return one

from lycosa.export.warcs import WarcSink
for sink in (sinks.RowSink, sinks.SortedSink, WarcSink):
    sink.add = counted(sink.add)
with lycosa.open(root) as crawl:
    export(crawl, Wish(format_, Path(out), file_bytes=3000), lambda *_: None)
print(-left)
"""


@pytest.mark.parametrize("format_", ["parquet", "jsonl", "wet", "warc", "cdxj", "wacz"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.98])
def test_an_export_that_was_killed_goes_on(
    rich: Path, tmp_path: Path, format_: str, share: float
) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-c", SCRIPT, str(rich), str(out), format_]
    counted = [*words[:-2], str(tmp_path / "counted"), format_, "0"]
    rows = int(subprocess.run(counted, check=True, stdout=subprocess.PIPE).stdout)
    killed = subprocess.run([*words, str(int(rows * share))])
    assert killed.returncode == -signal.SIGKILL
    assert left_in(tmp_path) == ["counted", "out.unfinished"]
    noted = json.loads((tmp_path / "out.unfinished/export.json").read_text())
    before = sum(phase["count"] for phase in noted["state"]["phases"].values())
    subprocess.run([*words, "0"], check=True)
    assert left_in(tmp_path) == ["counted", "out"]
    if format_ in ("jsonl", "wet", "warc"):
        assert before > 0, "nothing was kept before the kill"
    _compare(rich, tmp_path, format_)


NOTED = """
import os, sys
from pathlib import Path
import lycosa
from lycosa.export.job import Wish, export
from lycosa.export.target import Target

root, out, format_, notes = sys.argv[1:]
left, note = int(notes), Target.note

def counted(self, state):
    global left
    note(self, state)
    left -= 1
    if not left:
        os.kill(os.getpid(), 9)

Target.note = counted
with lycosa.open(root) as crawl:
    export(crawl, Wish(format_, Path(out), file_bytes=50_000), lambda *_: None)
"""


@pytest.mark.parametrize("format_", ["parquet", "jsonl", "wet", "warc", "cdxj", "wacz"])
def test_a_kill_may_come_behind_any_note(rich: Path, tmp_path: Path, format_: str) -> None:
    """The same command again and again, killed when it has noted one thing; now and then two, since
    a phase may end with two notes."""
    words = [sys.executable, "-c", NOTED, str(rich), str(tmp_path / "out"), format_]
    codes = [subprocess.run([*words, "1"]).returncode]
    while codes[-1] == -signal.SIGKILL and len(codes) < 30:
        codes.append(subprocess.run([*words, "2" if len(codes) % 3 == 2 else "1"]).returncode)
    assert codes[-1] == 0 and len(codes) > 2, codes
    _compare(rich, tmp_path, format_)


def _compare(rich: Path, tmp_path: Path, format_: str) -> None:
    """What was exported in two runs is what one run exports."""
    whole = tmp_path / "whole"
    with crawl_in(rich) as crawl:
        export(crawl, Wish(format_, whole), silent)
    if format_ == "parquet":
        for table in ("text", "index"):
            one, other = rows_of(whole / table), rows_of(tmp_path / "out" / table)
            assert sorted(one, key=str) == sorted(other, key=str)
    elif format_ == "jsonl":
        assert lines_of(whole) == lines_of(tmp_path / "out")
    elif format_ == "cdxj":
        assert whole.read_bytes() == (tmp_path / "out").read_bytes()
    elif format_ in ("warc", "wet"):
        assert _records(whole) == _records(tmp_path / "out")


def _records(folder: Path) -> Counter[tuple[str, str, str]]:
    from warcio.archiveiterator import ArchiveIterator

    found: Counter[tuple[str, str, str]] = Counter()
    for path in folder.glob("*.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type != "warcinfo":
                    head = record.rec_headers
                    found[record.rec_type, head["WARC-Target-URI"], head["WARC-Block-Digest"]] += 1
    return found


def test_another_export_begins_anew_where_one_was_killed(rich: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-c", SCRIPT, str(rich), str(out), "jsonl", "100"]
    assert subprocess.run(words).returncode == -signal.SIGKILL
    run("export", "jsonl", out, "--data-dir", rich, "--language", "en")
    assert {row["language"] for row in lines_of(out)} == {"en"}
    assert left_in(tmp_path) == ["out"]


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["exel", "OUT"], "no format 'exel'"),
        (["parquet"], "what to export and where to"),
        (["parquet", "OUT", "--columns", "url,texd"], "no column 'texd'"),
        (["wet", "OUT", "--columns", "url"], "has no columns"),
        (["jsonl", "OUT", "--table", "text"], "has no tables"),
        (["parquet", "OUT", "--table", "edge"], "--table must be"),
        (["parquet", "OUT", "--table", "edges", "--label", "content"], "edges knows no pages"),
        (["parquet", "OUT", "--label", "contents"], "no label 'contents'"),
        (["parquet", "OUT", "--colour", "red"], "no option --colour"),
        (["parquet", "OUT", "--domain", "exampel.org"], "did you mean example.org"),
        (["parquet", "no/such/place"], "no directory"),
        (["parquet", "OUT", "--data-dir", "elsewhere"], "elsewhere"),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    rich: Path, tmp_path: Path, words: list[str], told: str
) -> None:
    given = [str(tmp_path / "out") if word == "OUT" else word for word in words]
    where = [] if "--data-dir" in given else ["--data-dir", str(rich)]
    assert told in run("export", *given, *where, code=2)
    assert left_in(tmp_path) == []


def test_a_target_that_exists_is_kept(rich: Path, tmp_path: Path) -> None:
    flags = ("--data-dir", rich)
    run("export", "jsonl", tmp_path / "out", *flags)
    assert "--overwrite" in run("export", "jsonl", tmp_path / "out", *flags, code=2)
    run("export", "wet", tmp_path / "out", *flags, "--overwrite")
    assert list((tmp_path / "out").glob("*.wet.gz"))
    assert left_in(tmp_path) == ["out"]


def test_a_missing_extra_is_named(
    rich: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    assert "lycosa[data]" in run("export", "parquet", tmp_path / "out", "--data-dir", rich, code=2)
    assert left_in(tmp_path) == []
    run("export", "jsonl", tmp_path / "out", "--data-dir", rich)


@pytest.mark.parametrize("kind", ["text", "warc"])
def test_a_damaged_segment_ends_it_and_leaves_nothing(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "data"
    make_rich(root, range(60))
    path = sorted((root / kind).iterdir())[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    format_ = "parquet" if kind == "text" else "warc"
    said = run("export", format_, tmp_path / "out", "--data-dir", root, code=1)
    assert "damaged" in said and "verify" in said
    assert left_in(tmp_path) == ["data"]


@pytest.mark.skipif(not can_mount(), reason="needs to mount a small disk")
@pytest.mark.parametrize("format_", ["parquet", "jsonl", "warc", "wacz", "cdxj", "wet"])
def test_a_full_disk_ends_it_and_leaves_nothing(rich: Path, tmp_path: Path, format_: str) -> None:
    small = tmp_path / "small"
    small.mkdir()
    script = (
        f'mount -t tmpfs -o size=12k none {small}; "$@" 2>&1; code=$?;'
        f" ls {small} | sed 's/^/left: /'; exit $code"
    )
    words = [sys.executable, "-m", "lycosa", "export", format_, str(small / "out")]
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", script, "sh", *words, "--data-dir", str(rich)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "disk" in done.stdout and done.stdout.count("\n") == 1, done.stdout


# -- several nodes --------------------------------------------------------------------------------


def test_pages_of_several_nodes_come_from_their_directories(
    tmp_path: Path, postgres_url: str
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    make_rich(one, range(120), store=postgres_url)
    make_rich(two, range(120, 200), store=postgres_url, join=True)
    flags = ("--store", postgres_url, "--data-dir", one)
    said = run("export", "jsonl", tmp_path / "out", *flags, code=2)
    assert str(two) in said or "two" in said
    both = (*flags, "--data-dir", two)
    for format_ in ("parquet", "jsonl", "wet", "warc", "cdxj"):
        run("export", format_, tmp_path / format_, *both)
    kept = sorted(OK)
    assert sorted(row["url"] for row in rows_of(tmp_path / "parquet/text")) == kept
    assert sorted(row["url"] for row in lines_of(tmp_path / "jsonl")) == kept
    assert sum(_records(tmp_path / "wet").values()) == len(kept)
    with_response = sum(n % 50 != 11 for n in range(200))
    assert (tmp_path / "cdxj").read_bytes().count(b"\n") == with_response
    assert sum(_records(tmp_path / "warc").values()) == with_response
    assert len(rows_of(tmp_path / "parquet/index")) == 200
