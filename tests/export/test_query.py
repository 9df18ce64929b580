"""SQL over a crawl: the command, and the questions that people ask Common Crawl's index."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lycosa
from export.commands import run
from export.common_crawl_queries import AS_THEY_ARE, TRANSLATED
from lycosa.export.job import Wish, export
from lycosa.export.query import QueryAnswer, tables_of

ROOT = Path(__file__).parents[2]
QUERIES = {**AS_THEY_ARE, **TRANSLATED}
NONE_HERE = {"get-records-home-pages"}  # of what a crawl this small has


@pytest.fixture(scope="module")
def tables(rich: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    out = tmp_path_factory.mktemp("query") / "out"
    with lycosa.open(rich) as crawl:
        export(crawl, Wish("parquet", out, name="TEST"), lambda *_: None)
    yield out


@pytest.mark.parametrize("name", QUERIES)
def test_questions_to_common_crawls_index_are_answered(tables: Path, name: str) -> None:
    answer = QueryAnswer(QUERIES[name].replace("{crawl}", "TEST"), ["index"], tables)
    rows = list(answer.rows())
    answer.close()
    assert answer.columns
    assert rows or name in NONE_HERE, "it finds nothing"


def test_the_document_lists_every_one_of_them() -> None:
    text = (ROOT / "docs/export.md").read_text("utf-8")
    for name in AS_THEY_ARE:
        assert f"| `{name}` | as it is |" in text
    for name in TRANSLATED:
        assert f"| `{name}` | translated:" in text


def test_an_answer_is_a_table(rich: Path) -> None:
    said = run("query", "SELECT label, count(*) AS n FROM text GROUP BY label ORDER BY n",
               "--data-dir", rich)  # fmt: skip
    head, *lines = [line.split() for line in said.splitlines()]
    assert head == ["label", "n"]
    assert [label for label, _ in lines] == ["listing", "content"]
    assert sum(int(count) for _, count in lines) == 156


def test_or_json_or_csv(rich: Path) -> None:
    sql = "SELECT url, fetch_time, warc_record_id FROM pages WHERE fetch_status = 404 ORDER BY url"
    lines = run("query", sql, "--data-dir", rich, "--json").splitlines()
    rows = list(csv.DictReader(io.StringIO(run("query", sql, "--data-dir", rich, "--csv"))))
    assert len(lines) == len(rows) == 20
    assert json.loads(lines[0])["url"] == rows[0]["url"]
    assert len(rows[0]["warc_record_id"]) == 32


def test_filters_choose_the_pages(rich: Path) -> None:
    said = run("query", "SELECT DISTINCT language FROM text", "--data-dir", rich,
               "--language", "hu", "--csv")  # fmt: skip
    assert said == "language\nhu\n"


def test_joins_of_both_tables(rich: Path) -> None:
    sql = "SELECT count(*) AS n FROM text JOIN index USING (page) WHERE text.title = index.title"
    assert run("query", sql, "--data-dir", rich, "--csv") == "n\n156\n"


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM text", '"nothing" not found'),
        ("SELECT * FROM edge", "edge does not exist"),
        ("", "can't be run"),
    ],
)
def test_mistakes_are_told_in_one_sentence(rich: Path, sql: str, told: str) -> None:
    assert told in run("query", sql, "--data-dir", rich, code=2)


def test_a_missing_extra_is_named(rich: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert "lycosa[data]" in run("query", "SELECT 1", "--data-dir", rich, code=2)


def test_only_tables_that_are_named_are_made() -> None:
    assert tables_of("SELECT 1") == []
    assert tables_of("SELECT * FROM Pages") == ["index"]
    assert tables_of('SELECT * FROM "ccindex"."ccindex" JOIN text USING (url)') == ["index", "text"]
