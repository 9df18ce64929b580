"""Files without line breaks: the memory stays flat, the line is named."""

import gzip
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from lycosa.node.seed_file import BadSeed, Seed, open_seeds, read

HUGE = 1 << 30


def sparse(path: Path, before: bytes, size: int, after: bytes) -> None:
    """A file with one line of `size` bytes that takes no place on the disk."""
    with path.open("wb") as file:
        file.write(before)
        file.seek(size, 1)
        file.write(after)


def packed(path: Path, before: bytes, size: int, after: bytes) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(before)
        for _ in range(size >> 20):
            file.write(b"x" * (1 << 20))
        file.write(after)


@pytest.mark.parametrize("make", [sparse, packed], ids=["plain", "gzip"])
def test_a_line_of_many_megabytes_takes_no_memory(
    make: Callable[[Path, bytes, int, bytes], None], tmp_path: Path
) -> None:
    path = tmp_path / "seeds.txt"
    make(path, b"a.example\n", 256 << 20, b"\nb.example\n")
    tracemalloc.start()
    with open_seeds(str(path)) as lines:
        first, bad, last = read(lines)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(first, Seed) and isinstance(last, Seed) and isinstance(bad, BadSeed)
    assert (first.line, bad.line, last.line, bad.why) == (1, 2, 3, "the line is too long")
    assert last.domain == "b.example"
    assert peak < 4 << 20


def test_a_gigabyte_in_a_crawl(tmp_path: Path) -> None:
    """The whole program, under a limit of memory that the line is larger than."""
    path = tmp_path / "seeds.txt"
    sparse(path, b"", HUGE, b"\nhttp://127.0.0.1:9999/\n")
    command = [sys.executable, "-m", "lycosa", "crawl", str(path), "--email", "t@example.org"]
    command += ["--data-dir", str(tmp_path / "d"), "--delay", "0", "--engines", "1"]
    script = f"import resource,subprocess,sys; sys.exit(subprocess.call({command!r}));"
    watched = script.replace("sys.exit(", "code=(") + (
        "print('PEAK', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", watched], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "seed line 1 left out: the line is too long" in done.stderr
    assert int(done.stdout.split("PEAK")[1]) < 400_000  # KB


@pytest.mark.parametrize(
    "text",
    [
        b"a.example\nb.example", b"a.example\r\nb.example\r\n", b"\n\na.example\n\n",
        b"x" * 8000 + b"\na.example\n", b"x" * 8001 + b"\na.example\n",
        b"x" * 65535 + b"\na.example\n", b"x" * 65536 + b"\na.example\n", b"x" * 200_000,
        b"x" * 65530 + b"\na.example\n", b"a.example\n" * 20_000,
    ],
    ids=range(10),
)  # fmt: skip
def test_lines_are_what_they_were(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_bytes(text)
    with open_seeds(str(path)) as lines:
        found = list(read(lines))
    wanted = list(read(line + b"\n" for line in text.split(b"\n")))
    assert [(each.line, type(each)) for each in found] == [(e.line, type(e)) for e in wanted]


@pytest.mark.parametrize("flag", ["--exclude-file", "--config"])
def test_other_files_have_a_limit_too(flag: str, tmp_path: Path) -> None:
    path, seeds = tmp_path / "big", tmp_path / "seeds.txt"
    sparse(path, b"", HUGE, b"\n")
    seeds.write_text("a.example\n")
    words = ["crawl", str(seeds), "--email", "t@example.org", flag, str(path)]
    done = subprocess.run(
        [sys.executable, "-m", "lycosa", *words], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is larger than" in done.stderr
