"""What may be opened, and the sentence for what may not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lycosa
from lycosa.node.datadir import NODE
from reading.conftest import Made
from support.made_crawl import make


def refused(*words: object, **named: object) -> str:
    with pytest.raises(lycosa.UserError) as caught:
        lycosa.open(*words, **named)  # type: ignore[arg-type]
    said = str(caught.value)
    assert said.endswith(".") and "\n" not in said
    return said


def test_a_directory_by_any_name(plain: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(plain.root.parent))
    for name in (plain.root, str(plain.root), [plain.root], "~/data"):
        with lycosa.open(name) as crawl:
            assert crawl.status().pages == 120
    with lycosa.open(data_dirs=[plain.root]) as crawl:
        assert isinstance(crawl, lycosa.Crawl)


def test_wrong_directories(plain: Made, tmp_path: Path) -> None:
    assert refused() == "Name the directory of a crawl, or its store."
    assert "There is no directory" in refused(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "There is no crawl in" in refused(tmp_path / "empty")
    make(tmp_path / "other", pages=10)
    assert "holds a crawl of its own" in refused([plain.root, tmp_path / "other"])
    assert "holds a crawl of its own" in refused([tmp_path / "empty", plain.root])
    (tmp_path / "empty" / NODE).write_text("name crawl 1\n")
    assert "its crawl is on a server" in refused(tmp_path / "empty")
    (tmp_path / "empty" / NODE).unlink()
    (tmp_path / "empty" / "moved").write_text("postgresql://somewhere/crawl\n")
    assert "was moved to a server" in refused(tmp_path / "empty")


def test_wrong_stores(plain: Made, tmp_path: Path, postgres_url: str) -> None:
    assert "There is no crawl in the PostgreSQL database" in refused(store=postgres_url)
    make(tmp_path / "node", postgres_url, pages=10)
    with lycosa.open(store=postgres_url) as crawl:  # without any directory
        assert sum(1 for _ in crawl.pages()) == 10
    assert "There is no crawl in" in refused(plain.root, store=postgres_url)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / NODE).write_text("name anothercrawl 1\n")
    assert "of another crawl" in refused(
        [tmp_path / "node", tmp_path / "foreign"], store=postgres_url
    )
    assert "postgresql://" in refused(plain.root, store="mysql://x")


def test_the_variable_names_the_store_of_nodes(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "node", postgres_url, pages=10)
    monkeypatch.setenv("LYCOSA_STORE", postgres_url)
    with lycosa.open(tmp_path / "node") as crawl:
        assert len(list(crawl.responses())) == 10


def test_an_import_is_cheap_and_names_what_is_stable() -> None:
    code = (
        "import sys, lycosa; print(*(m for m in sys.modules if m.startswith('lycosa')));"
        "print(all(hasattr(lycosa, name) for name in lycosa.__all__));"
        "print(set(lycosa.__all__) <= set(dir(lycosa)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.splitlines() == ["lycosa", "True", "True"]
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        lycosa.opne  # type: ignore[attr-defined]  # noqa: B018
