"""The demo removes nothing but a demo, and ends politely."""

from pathlib import Path

import pytest

from lycosa.commands.demo import MARK, demo_spec, prepare
from lycosa.errors import UserError


def test_an_earlier_demo_is_replaced(tmp_path: Path) -> None:
    root = tmp_path / "a" / "demo"
    prepare(root)
    (root / "old").write_text("x")
    prepare(root)
    assert [path.name for path in root.iterdir()] == [MARK]


def test_an_empty_directory_may_be_used(tmp_path: Path) -> None:
    prepare(tmp_path)
    assert (tmp_path / MARK).exists()


def test_nothing_else_is_removed(tmp_path: Path) -> None:
    (tmp_path / "crawl.sqlite").write_text("precious")
    with pytest.raises(UserError, match="not a demo of lycosa"):
        prepare(tmp_path)
    assert (tmp_path / "crawl.sqlite").read_text() == "precious"
    with pytest.raises(UserError, match="not a directory"):
        prepare(tmp_path / "crawl.sqlite")


def test_the_demo_shows_a_little_of_everything() -> None:
    shares = demo_spec(200, 10, 0.5).shares()
    assert shares["robots-slow"] == 0
    assert shares["redirects"] > 0
    assert shares["robots-deny"] > 0
