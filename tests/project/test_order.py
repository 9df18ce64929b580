"""The order in which several processes take the tests."""

from __future__ import annotations

from pathlib import Path

from support.order import APART, LONGEST, rank, scope

ROOT = Path(__file__).parents[2]


def test_what_is_named_exists() -> None:
    assert [name for name in (*LONGEST, *APART) if not (ROOT / name).exists()] == []


def test_long_files_come_before_their_directory_and_both_before_the_rest() -> None:
    given = ["tests/urls/test_a.py::x", "tests/crawl/test_new.py::x", f"{LONGEST[0]}::x"]
    assert sorted(given, key=rank) == given[::-1]
    assert rank("tests/crawler/test_a.py::x") == rank("tests/urls/test_a.py::x")


def test_a_file_stays_together_unless_it_is_named() -> None:
    assert scope("tests/urls/test_a.py::x[1]") == scope("tests/urls/test_a.py::y")
    assert scope(f"{APART[0]}::x[a::b]") != scope(f"{APART[0]}::x[a::c]")
