"""What `lycosa.open` gives, on every store: what was committed, each page once."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import lycosa
from lycosa.archive.frames import read_lines
from lycosa.archive.text import iter_rows
from lycosa.frontier.filters import Filter
from lycosa.frontier.protocol import open_reader
from lycosa.reading import chunks as some
from lycosa.reading import contents
from lycosa.reading.directories import DamagedSegment, Elsewhere
from lycosa.records import PageRow, Url
from reading.conftest import Made
from support.kept import committed_lengths
from support.made import link
from support.made_crawl import finish, make, opened


def rows_of(made: Made) -> dict[str, dict[str, object]]:
    """The text rows as they lie in the files."""
    with closing(open_reader(made.root, made.store)) as reader:
        lengths = committed_lengths(reader)
    return {row["url"]: row for row in iter_rows(made.root, lengths)}


def test_pages_come_in_the_order_of_their_ids(crawl: lycosa.Crawl) -> None:
    pages = list(crawl.pages())
    assert len(pages) == len({page.url for page in pages}) == 120
    assert [page.id for page in pages] == sorted(page.id for page in pages)
    assert [page.id for page in crawl.pages(newest=True)] == [page.id for page in pages][::-1]
    assert [page.id for page in crawl.pages(newest=True, limit=7)] == [
        page.id for page in pages[:-8:-1]
    ]


def test_pages_are_plain_values(crawl: lycosa.Crawl) -> None:
    page = next(crawl.pages(outcome="ok"))
    number = int(page.url.rpartition("/")[2])
    assert (page.host, page.domain) == (page.url.split("/")[2],) * 2
    assert page.simhash == f"{2**64 - 1 - number:016x}"
    assert page.payload_digest.startswith("sha1:") and page.warc_record.startswith("<urn:uuid:")
    assert page.fetched_at.timestamp() * 1000 == pytest.approx(page.fetched_ms)
    assert page.modified_at is None
    assert page.text_file.startswith("text/") and page.warc_file.endswith(".warc")
    with pytest.raises(AttributeError):
        page.url = "x"  # type: ignore[misc]


def test_texts_are_the_rows_of_the_files(made: Made, crawl: lycosa.Crawl) -> None:
    rows, texts = rows_of(made), list(crawl.texts())
    assert len(texts) == len(rows) == sum(1 for _ in crawl.pages(outcome="ok"))
    for page in texts:
        row = rows[page.url]
        assert (page.text, page.main, page.title) == (row["text"], row["main"], row["title"])
        assert page.scores.hex() == row["scores"] and len(page.blocks) == len(page.scores)
        assert [list(share) for share in page.languages] == row["languages"]
        assert (page.published, page.site_name) == ("2026-01-31", "Webs")
        assert (page.canonical, page.lang) == (page.url, "en")
        assert (page.label, page.simhash) == (row["label"], row["simhash"])


def test_responses_are_what_was_received(crawl: lycosa.Crawl) -> None:
    found = list(crawl.responses())
    assert len(found) == 120
    for each in found:
        assert each.head.startswith(b"HTTP/1.1 %d OK" % each.status)
        assert each.headers == [("Content-Type", "text/html")]
        assert each.header("CONTENT-type") == "text/html"
        assert each.body == each.decoded() and each.body.startswith(b"<p>")


def test_a_frame_is_read_once_for_a_chunk(
    crawl: lycosa.Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = {(page.text_segment, page.text_frame) for page in crawl.pages(outcome="ok")}
    read: list[tuple[int, int]] = []

    def counted(
        root: Path, segment: int, frame: int, offsets: Sequence[int], committed: int
    ) -> list[bytearray]:
        read.append((segment, frame))
        return read_lines(root, segment, frame, offsets, committed)

    monkeypatch.setattr("lycosa.reading.contents.read_lines", counted)
    assert len(list(crawl.texts())) > len(frames) > 5
    assert sorted(read) == sorted(frames)


@pytest.mark.parametrize(
    ("chunk", "window", "ids"),
    [(1, 1, 1), (3, 50, 3), (7, 10_000, 8), (2, 9, 100), (1000, 13, 5)],
)
def test_chunks_of_any_size_give_the_same(
    crawl: lycosa.Crawl, monkeypatch: pytest.MonkeyPatch, chunk: int, window: int, ids: int
) -> None:
    def listed() -> list[list[int]]:
        return [
            [page.id for page in crawl.pages()],
            [page.id for page in crawl.pages(newest=True)],
            [page.id for page in crawl.pages(domain=["d1.test", "d2.test"])],
            [page.id for page in crawl.pages(domain="d3.test", newest=True, limit=4)],
            [page.id for page in crawl.pages(domain=["d4.test", "d5.test"], newest=True)],
            [page.id for page in crawl.pages(domain="d4.test", outcome="ok", limit=7)],
            [page.id for page in crawl.texts(label="listing")],
            [page.id for page in crawl.texts(domain=["d6.test", "d1.test"])],
        ]

    before = listed()
    monkeypatch.setattr(some, "CHUNK", chunk)
    monkeypatch.setattr(some, "WINDOW", window)
    monkeypatch.setattr(some, "IDS", ids)
    monkeypatch.setattr(contents, "MOST_CHARS", 100 * chunk)
    assert listed() == before
    assert [len(ids) for ids in before][:4] == [120, 120, 20, 4]


def test_a_large_domain_is_looked_through_now_and_then(
    crawl: lycosa.Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each statement that asks for a domain begins at its first page: with one for each chunk, a
    list would cost the square of its length."""
    monkeypatch.setattr(some, "CHUNK", 2)
    monkeypatch.setattr(some, "IDS", 6)
    asked: list[str] = []
    for name in ("rows", "stream"):
        real = getattr(crawl._reader._source, name)

        def noted(statement: str, values: dict[str, object], real: Any = real) -> Any:
            asked.extend(values.keys() & {"domains"})
            return real(statement, values)

        monkeypatch.setattr(crawl._reader._source, name, noted)
    assert [len(chunk) for chunk in crawl.chunks(Filter(domains=("d1.test",)))] == 5 * [2]
    assert len(asked) == 2  # ten pages, six ids at once


@pytest.mark.parametrize(
    ("frames", "sizes"),
    [
        ([1] * 9, [9]),  # one frame stays whole
        ([1, 1, 2, 2, 3, 3, 4], [4, 3]),  # two of them are enough
        ([1, 1, 1, 1, 1, 2, 3], [5, 2]),
        ([1] * 25, [17, 8]),  # unless it is too large
        ([1, 2, 3, 4, 5, 6, 7, 8], [3, 3, 2]),
    ],
)
def test_texts_in_memory_at_once(
    monkeypatch: pytest.MonkeyPatch, frames: list[int], sizes: list[int]
) -> None:
    monkeypatch.setattr(contents, "ENOUGH_CHARS", 200)
    monkeypatch.setattr(contents, "MOST_CHARS", 1_600)
    rows = []
    for ident, frame in enumerate(frames):
        row = PageRow(1, ident, Url(f"https://a.test/{ident}"), 0, 0, 0, 200, "ok")
        row.text_segment, row.text_frame, row.text_chars = 1, frame, 100
        rows.append((ident, row))
    parts = list(contents.parts(rows))
    assert [len(part) for part in parts] == sizes
    assert [found for part in parts for found in part] == rows


def test_a_list_ends_with_the_page_that_was_the_newest(made: Made) -> None:
    """Pages that a running crawl adds meanwhile are for the next list."""
    store = made.store or "sqlite"
    with made.open() as crawl:
        pages, texts = crawl.pages(), crawl.texts()
        first = next(pages), next(texts)
        with opened(made.root, store, resume=True) as (frontier, _):
            frontier.add([link(f"https://more.test/{n}") for n in range(30)])
        finish(made.root, store)
        assert 1 + sum(1 for _ in pages) == 120
        assert "more.test" not in {page.domain for page in texts} | {first[1].domain}
        assert sum(1 for _ in crawl.pages()) == 150
        assert any(page.domain == "more.test" for page in crawl.texts())


def test_memory_stays_small(plain: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    make(plain.root.parent / "large", pages=3000, engines=1, segment_bytes=1 << 20)

    def peak(root: Path) -> int:
        return min(once(root) for _ in range(3))  # threads of other tests may take some meanwhile

    def once(root: Path) -> int:
        with lycosa.open(root) as crawl:
            next(crawl.texts())  # what is loaded once
            tracemalloc.start()
            for _ in crawl.texts():
                pass
            found = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return found

    monkeypatch.setattr(some, "CHUNK", 50)
    monkeypatch.setattr(some, "WINDOW", 500)
    assert peak(plain.root.parent / "large") < 4 * peak(plain.root) + 1_000_000


def test_uncommitted_bytes_are_never_read(made: Made) -> None:
    chance = random.Random(1)
    for path in [*(made.root / "text").iterdir(), *(made.root / "warc").iterdir()]:
        with path.open("ab") as file:
            file.write(chance.randbytes(300))
    with made.open() as crawl:
        assert len(list(crawl.texts())) == sum(1 for _ in crawl.pages(outcome="ok"))
        assert len(list(crawl.responses())) == 120


@pytest.mark.parametrize("kind", ["text", "warc"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
def test_a_damaged_segment_costs_its_own_pages(made: Made, kind: str, damage: str) -> None:
    path = sorted((made.root / kind).iterdir())[1]
    data = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    else:
        data[len(data) // 2] ^= 0x55
        path.write_bytes(data)
    with made.open() as crawl:
        read = crawl.texts if kind == "text" else crawl.responses
        whole = [page for page in crawl.pages() if getattr(page, f"{kind}_segment")]
        there = {p.id for p in whole if getattr(p, f"{kind}_file") == f"{kind}/{path.name}"}
        with pytest.raises(DamagedSegment, match="lycosa verify") as caught:
            list(read())
        assert str(path) in str(caught.value) and str(caught.value).count("\n") == 0
        found = {page.id for page in read(missing="skip")}
        lost = {page.id for page in whole} - found
        assert lost and lost <= there
        assert sum(crawl.missing.values()) == len(lost)
        assert all(str(path) in reason for reason in crawl.missing)


def test_status_domain_and_why(crawl: lycosa.Crawl) -> None:
    status = crawl.status()
    assert (status.state, status.running, status.pages, status.queued) == (
        *("finished", False),
        *(120, 0),
    )
    assert sum(status.outcomes.values()) == 120 and status.details["pages"] == 120
    domain = crawl.domain("www.d1.test")
    assert (domain.name, domain.state, domain.seeded) == ("d1.test", "idle", True)
    assert sum(domain.outcomes.values()) == sum(domain.labels.values()) == 10
    assert sum(domain.languages.values()) == 10
    page = next(crawl.pages(domain="d1.test"))
    told = crawl.why(page.url)
    assert (told.url, told.domain, told.page, told.queued) == (page.url, "d1.test", page, False)
    assert any("done at" in line for line in told.lines)
    unknown = crawl.why("https://d1.test/never")
    assert unknown.page is None and any("never seen" in line for line in unknown.lines)
    with pytest.raises(lycosa.UserError, match="did you mean d1"):
        crawl.domain("d1.tst")


def test_two_nodes(postgres_url: str, tmp_path: Path) -> None:
    make(tmp_path / "one", postgres_url, pages=60)
    make(tmp_path / "two", postgres_url, pages=60, join=True)
    with lycosa.open([tmp_path / "one", tmp_path / "two"], store=postgres_url) as both:
        texts = {page.url: page.text for page in both.texts()}
        assert len(texts) == sum(1 for _ in both.pages(outcome="ok"))
        assert len(list(both.responses())) == 120
    with lycosa.open(store=postgres_url, data_dirs=[tmp_path / "one"]) as one:
        with pytest.raises(Elsewhere, match=f"kept in host:{tmp_path / 'two'}:"):
            list(one.texts())
        here = {page.url: page.text for page in one.texts(missing="skip")}
        ((reason, count),) = one.missing.items()
        assert len(here) + count == len(texts) and f"host:{tmp_path / 'two'}" in reason
        assert here.items() <= texts.items()
        assert len(list(one.pages())) == 120
    (tmp_path / "two").rename(tmp_path / "moved")
    with lycosa.open([tmp_path / "one", tmp_path / "moved"], store=postgres_url) as moved:
        assert {page.url: page.text for page in moved.texts()} == texts


def test_a_copy_of_a_directory_can_be_read(made: Made, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(made.root, tmp_path / "copy")
    with lycosa.open(tmp_path / "copy", store=made.store) as copy:
        assert len(list(copy.texts())) > 100
