"""Crawls to be read: one on every store, and one of two nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import lycosa
from support.made_crawl import make


@dataclass
class Made:
    """A finished crawl of 120 pages, and how it is opened."""

    root: Path
    store: str  # '' for SQLite

    def open(self) -> lycosa.Crawl:
        return lycosa.open(self.root, store=self.store)


@pytest.fixture(params=["sqlite", "postgres"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    store = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    make(tmp_path / "data", store or "sqlite")
    return Made(tmp_path / "data", store)


@pytest.fixture
def crawl(made: Made) -> Iterator[lycosa.Crawl]:
    with made.open() as opened:
        yield opened


@pytest.fixture
def plain(tmp_path: Path) -> Made:
    """On SQLite alone, for what the store does not matter to."""
    make(tmp_path / "data")
    return Made(tmp_path / "data", "")
