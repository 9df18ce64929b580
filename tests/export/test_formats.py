"""Lines, web archives and their index, as other programs read them."""

import gzip
import hashlib
import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from export.commands import left_in, lines_of, run
from support.rich_crawl import first_copy, is_ok, make_rich, text_of, url_of

OK = [n for n in range(200) if is_ok(n)]
WITH_RESPONSE = [n for n in range(200) if n % 50 != 11]


def exported(rich: Path, tmp_path: Path, format_: str, *flags: str) -> Path:
    out = tmp_path / f"out.{format_}"
    run("export", format_, out, "--data-dir", rich, "--name", "TEST", *flags)
    return out


def test_lines_have_an_object_for_each_page_with_text(rich: Path, tmp_path: Path) -> None:
    rows = lines_of(exported(rich, tmp_path, "jsonl"))
    assert sorted(row["url"] for row in rows) == sorted(map(url_of, OK))
    assert {"text", "id", "language", "label", "duplicate_of", "page"} <= set(rows[0])


def test_lines_in_several_files_are_the_same_pages(rich: Path, tmp_path: Path) -> None:
    out = exported(rich, tmp_path, "jsonl", "--file-size", "1k")
    assert len(list(out.glob("*.jsonl.zst"))) > 3
    assert Counter(row["url"] for row in lines_of(out)) == Counter(map(url_of, OK))


def test_wet_has_the_main_text_as_conversions(rich: Path, tmp_path: Path) -> None:
    out = exported(rich, tmp_path, "wet")
    found = {}
    for path in out.glob("*.warc.wet.gz"):
        with path.open("rb") as file:
            for record in WarcioIterator(file, check_digests=True):
                head = record.rec_headers
                if record.rec_type == "conversion":
                    found[head["WARC-Target-URI"]] = record.content_stream().read().decode()
                    assert head["Content-Type"] == "text/plain"
                    assert record.digest_checker.passed
    assert found == {url_of(n): text_of(n).split("\n")[1] for n in OK}


def test_warc_has_responses_and_revisits(rich: Path, tmp_path: Path) -> None:
    out = exported(rich, tmp_path, "warc")
    (path,) = out.glob("*.warc.gz")
    kinds: Counter[str] = Counter()
    with path.open("rb") as file:
        for record in ArchiveIterator(file, verify_digests=True):
            kinds[record.headers["WARC-Type"]] += 1
            if record.headers["WARC-Type"] == "revisit":
                assert record.headers["WARC-Refers-To-Target-URI"] in map(url_of, range(200))
                assert record.headers["WARC-Profile"].endswith("/identical-payload-digest")
    copies = sum(first_copy(n) == 5 for n in OK) - 1
    gone = sum(not is_ok(n) for n in WITH_RESPONSE) - 1  # they all say the same
    assert kinds["revisit"] == copies + gone
    assert kinds["response"] + kinds["revisit"] == len(WITH_RESPONSE)
    assert kinds["warcinfo"] == 1


def test_every_record_is_where_the_index_says(rich: Path, tmp_path: Path) -> None:
    out = exported(rich, tmp_path, "warc", "--file-size", "10k")
    lines = (out / "index.cdxj").read_bytes().splitlines(keepends=True)
    assert lines == sorted(lines) and len(lines) == len(WITH_RESPONSE)
    for line in lines:
        _, stamp, fields = line.decode().split(" ", 2)
        place = json.loads(fields)
        assert len(stamp) == 14 and stamp.isdigit()
        data = (out / place["filename"]).read_bytes()[int(place["offset"]) :]
        record = gzip.decompress(data[: int(place["length"])])
        assert f"WARC-Target-URI: {place['url']}\r\n".encode() in record
        assert place["digest"].encode() in record
        is_revisit = b"WARC-Type: revisit" in record
        assert place["mime"] == ("warc/revisit" if is_revisit else "text/html")


def test_cdxj_is_an_index_of_the_crawls_own_segments(rich: Path, tmp_path: Path) -> None:
    out = exported(rich, tmp_path, "cdxj")
    lines = out.read_bytes().splitlines(keepends=True)
    assert lines == sorted(lines) and len(lines) == len(WITH_RESPONSE)
    for line in lines:
        place = json.loads(line.split(b" ", 2)[2])
        data = (rich / place["filename"]).read_bytes()[int(place["offset"]) :]
        record = data[: int(place["length"])]
        assert record.startswith(b"WARC/1.1") and record.endswith(b"\r\n\r\n")
        assert f"WARC-Target-URI: {place['url']}\r\n".encode() in record


def test_wacz_has_what_players_ask_for(rich: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(exported(rich, tmp_path, "wacz")) as found:
        names = set(found.namelist())
        assert {each.compress_type for each in found.infolist()} == {zipfile.ZIP_STORED}
        package = json.loads(found.read("datapackage.json"))
        for each in package["resources"]:
            data = found.read(each["path"])
            assert each["hash"] == "sha256:" + hashlib.sha256(data).hexdigest()
            assert each["bytes"] == len(data)
        digest = json.loads(found.read("datapackage-digest.json"))
        whole = hashlib.sha256(found.read("datapackage.json")).hexdigest()
        assert digest["hash"] == f"sha256:{whole}"
        index = gzip.decompress(found.read("indexes/index.cdx.gz")).splitlines()
        head, *pages = found.read("pages/pages.jsonl").splitlines()
    assert {"archive/TEST-00000.warc.gz", "indexes/index.idx"} <= names
    assert len(index) == len(WITH_RESPONSE)
    assert json.loads(head)["format"] == "json-pages-1.0"
    assert sorted(json.loads(line)["url"] for line in pages) == sorted(map(url_of, OK))


@pytest.mark.parametrize("format_", ["warc", "wacz", "cdxj"])
def test_a_crawl_without_responses_says_so(tmp_path: Path, format_: str) -> None:
    make_rich(tmp_path / "data", range(20), warc=False)
    said = run("export", format_, tmp_path / "out", "--data-dir", tmp_path / "data", code=2)
    assert "--warc" in said
    assert left_in(tmp_path) == ["data"]


def test_a_crawl_without_pages_gives_empty_tables(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    make_rich(tmp_path / "data", [])
    run("export", "parquet", tmp_path / "out", "--data-dir", tmp_path / "data")
    assert pq.read_table(tmp_path / "out/text").num_rows == 0
    assert pq.read_table(tmp_path / "out/index").num_rows == 0
