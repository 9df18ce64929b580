"""Tables: what their columns are, and what readers find in them."""

from collections import Counter
from pathlib import Path

import duckdb
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from export.commands import run
from lycosa.export.hosts import host_parts
from lycosa.export.tables import COMMON_CRAWL, OF_HOST, tokens
from lycosa.page.language import iso639_3
from support.rich_crawl import HOSTS, first_copy, is_ok, url_of


@pytest.fixture(scope="session")
def tables(rich: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tables") / "out"
    run("export", "parquet", out, "--data-dir", rich, "--name", "TEST-1")
    return out


def test_text_begins_with_the_columns_of_fineweb(tables: Path) -> None:
    schema = pq.read_schema(next((tables / "text").iterdir()))
    assert [(field.name, field.type) for field in schema][:9] == [
        ("text", pa.string()),
        ("id", pa.string()),
        ("dump", pa.string()),
        ("url", pa.string()),
        ("date", pa.string()),
        ("file_path", pa.string()),
        ("language", pa.string()),
        ("language_score", pa.float64()),
        ("token_count", pa.int64()),
    ]


def test_index_begins_with_the_columns_of_common_crawl(tables: Path) -> None:
    schema = pq.read_schema(next((tables / "index").iterdir()))
    names = list(COMMON_CRAWL)
    assert len(names) == 33 and names[0] == "url_surtkey" and names[-2:] == ["crawl", "subset"]
    assert schema.names[: len(names)] == names
    others = {
        "url_port": pa.int32(),
        "fetch_time": pa.timestamp("ms"),
        "fetch_status": pa.int16(),
        "warc_record_id": pa.binary(),
        "warc_record_offset": pa.int32(),
        "warc_record_length": pa.int32(),
    }
    for name in names:
        assert schema.field(name).type == others.get(name, pa.string()), name


def test_every_page_is_in_the_index_once_and_every_text_in_text(tables: Path) -> None:
    index = pq.read_table(tables / "index")
    assert sorted(index["url"].to_pylist()) == sorted(map(url_of, range(200)))
    text = pq.read_table(tables / "text")
    assert sorted(text["url"].to_pylist()) == sorted(url_of(n) for n in range(200) if is_ok(n))
    assert len(set(text["id"].to_pylist())) == text.num_rows


def test_the_index_is_sorted(tables: Path) -> None:
    keys = pq.read_table(tables / "index")["url_surtkey"].to_pylist()
    assert keys == sorted(keys)


def test_a_row_of_text_says_what_the_page_says(tables: Path) -> None:
    rows = {row["url"]: row for row in pq.read_table(tables / "text").to_pylist()}
    row = rows[url_of(24)]
    assert row["text"].startswith("Page 24 says schöne") and "Menu" not in row["text"]
    assert row["dump"] == "TEST-1"
    assert row["file_path"].startswith("warc/")
    assert (row["language"], row["language_score"], row["languages"]) == ("ca", 0.93, "ca,fr")
    assert (row["label"], row["published"], row["site_name"]) == (
        "listing",
        "2026-02-03",
        "Spiders",
    )
    assert row["token_count"] == tokens(row["text"])
    assert "visible_text" not in row


def test_copies_name_the_first(tables: Path) -> None:
    rows = {row["url"]: row for row in pq.read_table(tables / "text").to_pylist()}
    copies = [rows[url_of(n)] for n in range(200) if first_copy(n) == 5]
    marked = [row for row in copies if row["duplicate_of"]]
    first = next(row for row in copies if not row["duplicate_of"])
    assert len(marked) == len(copies) - 1 == 9
    assert {row["duplicate_of"] for row in marked} == {first["page"]}
    assert {row["duplicate_kind"] for row in marked} == {"exact"}
    others = [row for row in rows.values() if row["url"] not in {r["url"] for r in copies}]
    assert {row["duplicate_kind"] for row in others} == {None}


def test_the_index_has_codes_of_three_letters_and_where_the_record_is(
    tables: Path, rich: Path
) -> None:
    rows = {row["url"]: row for row in pq.read_table(tables / "index").to_pylist()}
    row = rows[url_of(24)]
    assert row["content_languages"] == "cat" and row["language"] == "ca"
    assert (row["subset"], row["fetch_status"], row["crawl"]) == ("warc", 200, "TEST-1")
    with (rich / row["warc_filename"]).open("rb") as file:
        file.seek(row["warc_record_offset"])
        record = file.read(row["warc_record_length"])
    assert record.startswith(b"WARC/1.1\r\nWARC-Type: response") and record.endswith(b"\r\n\r\n")
    assert url_of(24).encode() in record
    assert rows[url_of(27)]["fetch_redirect"] == "https://example.no/new"
    assert rows[url_of(27)]["subset"] == "crawldiagnostics"
    assert (rows[url_of(11)]["fetch_status"], rows[url_of(11)]["outcome"]) == (0, "timeout")


def test_the_card_tells_counts_columns_and_configurations(tables: Path) -> None:
    text = (tables / "README.md").read_text("utf-8")
    assert text.startswith("---\npretty_name: TEST-1\n")
    assert "config_name: text" in text and "path: index/*.parquet" in text
    assert "| `index` | 200 |" in text and "| `token_count` | int64 | FineWeb |" in text
    assert "Licence" in text


def test_duckdb_reads_the_files(tables: Path) -> None:
    sql = f"SELECT count(*), count(DISTINCT url) FROM '{tables}/text/*.parquet'"
    assert duckdb.connect().execute(sql).fetchall() == [(156, 156)]


def test_pandas_reads_the_files(tables: Path) -> None:
    frame = pandas.read_parquet(tables / "index")
    assert len(frame) == 200 and frame["fetch_status"].dtype == "int16"


def test_datasets_reads_the_files(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # read when it is imported
    import datasets

    found = datasets.load_dataset(str(tables), "text", cache_dir=str(tables.parent / "cache"))
    assert found["train"].num_rows == 156


def test_chosen_columns_and_tables(rich: Path, tmp_path: Path) -> None:
    flags = ("--data-dir", rich, "--table", "text", "--columns", "url,visible_text,blocks")
    run("export", "parquet", tmp_path / "out", *flags)
    table = pq.read_table(tmp_path / "out/text")
    assert table.column_names == ["url", "visible_text", "blocks"]
    assert table["visible_text"][0].as_py().startswith("Menu\nPage")
    assert not (tmp_path / "out/index").exists()


@pytest.mark.parametrize(
    ("host", "suffix", "domain", "private_suffix", "private_domain"),
    [
        ("www.example.co.uk", "co.uk", "example.co.uk", "co.uk", "example.co.uk"),
        ("a.blogspot.com", "com", "blogspot.com", "blogspot.com", "a.blogspot.com"),
        ("com", "com", None, "com", None),
        ("192.168.1.1", None, None, None, None),
    ],
)
def test_hosts_have_two_kinds_of_suffixes(
    host: str,
    suffix: str | None,
    domain: str | None,
    private_suffix: str | None,
    private_domain: str | None,
) -> None:
    parts = host_parts(host)
    assert (parts.registry_suffix, parts.registered_domain) == (suffix, domain)
    assert (parts.private_suffix, parts.private_domain) == (private_suffix, private_domain)


@pytest.mark.parametrize(
    "columns", ["url_host_tld", "url_host_name_reversed,url", "url", "page,url_host_private_domain"]
)
def test_some_columns_of_index_are_those_of_all(
    columns: str, tables: Path, rich: Path, tmp_path: Path
) -> None:
    """Those of a host are made apart from the others."""
    words = ("--data-dir", rich, "--name", "TEST-1", "--table", "index", "--columns", columns)
    run("export", "parquet", tmp_path / "some", *words)
    some = pq.read_table(tmp_path / "some" / "index")
    assert sorted(some.column_names) == sorted(columns.split(","))
    every = pq.read_table(tables / "index").select(some.column_names)
    assert Counter(map(repr, some.to_pylist())) == Counter(map(repr, every.to_pylist()))


def test_the_columns_of_a_host_are_those_of_its_name(tables: Path) -> None:
    rows = pq.read_table(tables / "index").to_pylist()
    assert len({row["url_host_name"] for row in rows}) > 3
    for row in rows:
        parts = host_parts(row["url_host_name"])
        assert tuple(row[name] for name in OF_HOST) == parts
        assert row["url_host_registered_domain"] == parts.registered_domain
        assert row["url_host_tld"] == parts.tld and row["url_host_name_reversed"] == parts[-1]


def test_the_last_parts_of_a_host_count_from_its_end() -> None:
    assert host_parts("a.b.c.d.e.org")[:5] == ("org", "e", "d", "c", "b")
    assert host_parts(HOSTS[0])[:5] == ("org", "example", "www", None, None)


def test_languages_have_codes_of_iso639_3() -> None:
    assert [iso639_3(code) for code in ("en", "zh", "ceb", "")] == ["eng", "zho", "ceb", ""]


def test_tokens_are_estimated_by_script() -> None:
    assert tokens("word " * 900) == 1000
    assert tokens("") == 0
    assert 1.2 < tokens("漢" * 1000) / 1000 < 1.8
