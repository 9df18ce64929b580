"""The quick part of fuzzing: what was kept, and random changes to it for a moment, on any machine.

Both readers read where a compiled one was built; where none was, the twins in Python do. With
clang, scripts/fuzz goes on from here for hours."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from random import Random

import pytest

from . import corpus, seeds
from .judge import LIMIT, SIZE, TooSlow, judge, stretched
from .mutate import mutated
from .targets import TARGETS

ROOT = Path(__file__).parents[2]
SECONDS = 0.5  # of CPU for each target


def everything(target: str) -> list[bytes]:
    return [*corpus.kept(target), *seeds.inputs(target)]


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_kept_is_read_without_a_finding(name: str) -> None:
    inputs = everything(name)
    assert len(inputs) > 3
    for data in inputs:
        judge(TARGETS[name], data)


@pytest.mark.parametrize("name", TARGETS)
def test_random_changes_make_no_finding(name: str) -> None:
    chance = Random(os.environ.get("LYCOSA_SEED", "1"))
    inputs = everything(name)
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        data = mutated(chance.choice(inputs), inputs, chance)
        try:
            judge(TARGETS[name], data)
        except BaseException:
            print(f"the input: {data!r}")
            raise


def test_what_is_worse_than_linear_is_a_finding() -> None:
    def quadratic(data: bytes) -> None:
        for at in range(0, len(data), 8):
            data.find(b"never there", at)

    small = b"\xff\0\0" + b"a" * 50
    assert len(stretched(small[1:])) >= SIZE
    with pytest.raises(TooSlow, match="ms of CPU"):
        judge(quadratic, small)
    judge(quadratic, b"\0" + small[3:])
    assert LIMIT <= 0.1


def test_the_kept_corpus_is_small() -> None:
    sizes = [path.stat().st_size for path in corpus.FOLDER.glob("*.zip")]
    assert {path.stem for path in corpus.FOLDER.glob("*.zip")} <= set(TARGETS)
    assert sum(sizes) < 2_000_000


def test_without_clang_there_is_one_sentence(tmp_path: Path) -> None:
    for program in ("dirname", "readlink"):
        (tmp_path / program).symlink_to(str(shutil.which(program)))
    done = subprocess.run(
        ["/bin/sh", ROOT / "scripts/fuzz", "--minutes", "1"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("lycosa: fuzzing needs clang; ")
    assert done.stderr.count("\n") == 1
