"""Rows that do not fit into memory are sorted on disk."""

import random
import tracemalloc
from pathlib import Path

import pytest

from lycosa.export import sorting
from lycosa.export.sorting import Runs


def test_rows_come_back_sorted_and_none_is_lost(tmp_path: Path) -> None:
    chance = random.Random(7)
    rows = [(f"key {chance.randrange(500):04}", n, None, b"\x00") for n in range(5_000)]
    runs = Runs(tmp_path, rows=300)
    for row in rows:
        runs.add(row)
    found = list(runs.merged())
    assert [row[0] for row in found] == sorted(row[0] for row in rows)
    assert sorted(row[1] for row in found) == list(range(5_000))


def test_more_runs_than_can_be_open_are_merged_in_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "FAN_IN", 3)
    runs = Runs(tmp_path, rows=10)
    for n in range(200, 0, -1):
        runs.add((n,))
    assert list(runs.merged()) == [(n,) for n in range(1, 201)]
    assert len(runs.names) <= 3
    assert len(list(tmp_path.iterdir())) <= 3


def test_runs_of_an_earlier_process_are_merged_too(tmp_path: Path) -> None:
    first = Runs(tmp_path)
    first.add((2,))
    first.cut()
    second = Runs(tmp_path, names=first.names)
    second.add((1,))
    assert list(second.merged()) == [(1,), (2,)]
    assert len(set(second.names)) == 2


def test_no_rows_are_fine(tmp_path: Path) -> None:
    assert list(Runs(tmp_path).merged()) == []


def test_rows_that_wait_take_little_memory(tmp_path: Path) -> None:
    """As Python's values, 5,000 rows of fifty columns would be 15 MB."""
    runs = Runs(tmp_path)
    tracemalloc.start()
    for n in range(5_000):
        runs.add((f"key {n}", *(n * 1_000 + each for each in range(49))))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 3_500_000
