"""A crawl that is made once for all tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.rich_crawl import make_rich


@pytest.fixture(scope="session")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped crawl with 200 pages."""
    root = tmp_path_factory.mktemp("rich") / "data"
    make_rich(root)
    return root
