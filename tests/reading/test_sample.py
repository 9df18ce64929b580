"""A few pages by chance, from the room and from the command."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import lycosa
from lycosa.cli import main
from lycosa.commands.sample import cut, first_lines
from lycosa.frontier.reader import Reader
from lycosa.reading import sample as room
from reading.conftest import Made
from support.made_crawl import make


def urls(pages: list[lycosa.TextPage]) -> list[str]:
    return [page.url for page in pages]


@pytest.fixture(params=["whole", "drawn", "rare"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A crawl that is read whole, one with many pages that fit, one with few."""
    if request.param != "whole":
        monkeypatch.setattr(room, "SMALL", 10)
        monkeypatch.setattr(room, "NEAR", 20 if request.param == "drawn" else 0)
        monkeypatch.setattr(room, "WINDOW", 25)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_pages_by_chance(crawl: lycosa.Crawl) -> None:
    found = crawl.sample(8, seed=1)
    assert len(set(urls(found))) == 8 and all(page.main for page in found)
    assert urls(crawl.sample(8, seed=1)) == urls(found)
    assert urls(crawl.sample(8, seed=2)) != urls(found)
    assert len({url for seed in range(40) for url in urls(crawl.sample(8, seed=seed))}) > 50


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "filters", [{"label": "soft-404"}, {"domain": "d1.test"}, {"prefix": "https://d1.test/1"}]
)
def test_all_that_fit_if_they_are_few(crawl: lycosa.Crawl, filters: dict[str, Any]) -> None:
    fitting = {page.url for page in crawl.texts(**filters)}
    assert set(urls(crawl.sample(100, **filters))) == fitting
    assert len(crawl.sample(2, **filters)) == 2
    assert crawl.sample(5, language="fr") == []


def test_a_large_crawl_is_not_read_whole(plain: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SMALL", 10)
    monkeypatch.setattr(room, "NEAR", 10)
    rows: Counter[str] = Counter()
    real = Reader.page_chunk

    def counted(self: Reader, *words: Any) -> Any:
        found = real(self, *words)
        rows["read"] += len(found)
        return found

    monkeypatch.setattr(Reader, "page_chunk", counted)
    with plain.open() as crawl:
        assert len(crawl.sample(5)) == 5
    assert rows["read"] <= 5 * room.DRAWS


def run(made: Made, capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    store = ["--store", made.store] if made.store else []
    assert main(["sample", "--data-dir", str(made.root), *store, *words]) == code
    said = capsys.readouterr()
    return said.out + said.err


def test_the_command(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    said = run(made, capsys, "--count", "3", "--seed", "7", "--label", "listing")
    assert said.count("https://d") == said.count("  listing, ") == said.count("  Spider ") == 3
    assert "of main text, fetched 2" in said and "  | " in said and "Menu" not in said
    assert run(made, capsys, "--count", "3", "--seed", "7", "--label", "listing") == said
    lines = run(made, capsys, "--json", "--count", "4", "--language", "de").splitlines()
    values = [json.loads(line) for line in lines]
    assert [value["language"] for value in values] == ["de"] * 4
    assert all(value["main"] in value["text"] for value in values)
    assert "No page with a text fits" in run(made, capsys, "--language", "fr")
    assert "There is no label" in run(made, capsys, "--label", "lsting", code=2)
    assert "--since must be" in run(made, capsys, "--since", "never", code=2)


def test_the_command_on_damage(plain: Made, capsys: pytest.CaptureFixture[str]) -> None:
    for path in sorted((plain.root / "text").iterdir())[1:]:
        path.unlink()
    said = run(plain, capsys, "--count", "100")
    assert "https://" in said and "can't be read" in said and "lycosa verify" in said
    for path in (plain.root / "text").iterdir():
        path.unlink()
    said = run(plain, capsys, code=1)
    assert said.count("\n") == 1 and "lycosa verify" in said


def test_texts_are_cut_to_a_few_lines() -> None:
    assert first_lines("") == []
    assert first_lines("one\n\n two ") == ["one", " two"]
    assert cut("abcdef", 4) == "abc…"
    for text in ("word " * 1000, "x" * 5000, "line\n" * 9, "\u4e2d" * 3000):
        lines = first_lines(text)
        assert len(lines) == 5 and lines[-1].endswith("…")
        assert max(map(len, lines)) <= 96


def test_the_command_on_two_nodes(
    postgres_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path / "one", postgres_url, pages=30)
    make(tmp_path / "two", postgres_url, pages=30, join=True)
    one = Made(tmp_path / "one", postgres_url)
    both = run(one, capsys, "--data-dir", str(tmp_path / "two"), "--count", "100")
    assert both.count("fetched 2") > 45 and "can't be read" not in both
    said = run(one, capsys, "--count", "100")
    assert 20 < said.count("fetched 2") < 31 and f"host:{tmp_path / 'two'}" in said
    assert "There is no directory" in run(
        one, capsys, "--data-dir", str(tmp_path / "three"), code=2
    )
