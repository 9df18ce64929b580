"""The text archive: rows, frames, and reading them back."""

import json
import random
import tracemalloc
from pathlib import Path

import pytest
import pyzstd
import zstandard

from lycosa.archive.segments import SegmentWriter, segment_name
from lycosa.archive.text import PIECE, iter_rows, pack, read_row, rfc3339, text_row
from lycosa.errors import StoreError
from support.made import made_row


@pytest.mark.parametrize(
    ("ms", "written"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_767_225_599_999, "2025-12-31T23:59:59.999Z"),
        (1_767_225_600_007, "2026-01-01T00:00:00.007Z"),
        (1_709_164_800_050, "2024-02-29T00:00:00.050Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ],
)
def test_times_are_rfc_3339(ms: int, written: str) -> None:
    assert rfc3339(ms) == written


def test_a_row_is_one_line_of_json_with_the_documented_keys() -> None:
    row = text_row(
        "https://example.com/a",
        fetched_ms=1_767_225_600_007,
        status=200,
        title='A "title"',
        lang="de",
        text="Zeile 1\nZeile 2\u2028\x00 ü 😀",
        depth=3,
        content_type="text/html",
        charset="utf-8",
        content_hash=-1,
        redirect_from="http://example.com/",
        main="Zeile 1",
        scores=bytes([93, 4]),
        languages=[("de", 0.75)],
        label="content",
        label_reason="paragraphs",
        published="2026-11-17",
        site_name="Example",
        canonical="https://example.com/b",
        simhash=-2,
    )
    assert row.endswith(b"\n")
    assert row.count(b"\n") == 1
    assert json.loads(row) == {
        "url": "https://example.com/a",
        "fetched_at": "2026-01-01T00:00:00.007Z",
        "status": 200,
        "title": 'A "title"',
        "lang": "de",
        "text": "Zeile 1\nZeile 2\u2028\x00 ü 😀",
        "depth": 3,
        "content_type": "text/html",
        "charset": "utf-8",
        "content_hash": "ffffffffffffffff",
        "redirect_from": "http://example.com/",
        "main": "Zeile 1",
        "scores": "5d04",
        "languages": [["de", 0.75]],
        "label": "content",
        "label_reason": "paragraphs",
        "published": "2026-11-17",
        "site_name": "Example",
        "canonical": "https://example.com/b",
        "simhash": "fffffffffffffffe",
    }


def test_a_row_takes_no_more_memory_than_its_length() -> None:
    """Hundreds of them wait for a commit."""
    texts = [f"{n} words " * 2000 for n in range(20)]
    tracemalloc.start()
    try:
        rows = [made_row("https://a.test/", text) for text in texts]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.5 * sum(map(len, rows))


def test_half_surrogates_do_not_lose_the_page() -> None:
    row = json.loads(made_row("http://x/", "a\udfffb \ud83d\ude00", title="\ud800"))
    assert row["title"] == "\ufffd"
    assert row["text"] == "a\ufffdb 😀"


def test_a_frame_has_size_checksum_and_offsets() -> None:
    rows = [made_row(f"http://x/{i}", "t" * i) for i in range(50)]
    frame, offsets = pack(rows)
    parameters = zstandard.get_frame_parameters(frame)
    assert parameters.has_checksum
    assert parameters.content_size == sum(map(len, rows))
    unpacked = zstandard.decompress(frame)
    assert [unpacked[at : at + len(row)] for at, row in zip(offsets, rows, strict=True)] == rows


def test_a_batch_larger_than_a_piece_is_one_frame_and_takes_little_memory() -> None:
    rng = random.Random(2)
    rows = [made_row(f"http://x/{i}", rng.randbytes(50_000).hex()) for i in range(100)]
    total = sum(map(len, rows))
    assert total > 5 * PIECE
    tracemalloc.start()
    try:
        frame, offsets = pack(rows)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2 * len(frame) + 3 * PIECE
    assert zstandard.get_frame_parameters(frame).content_size == total
    unpacked = zstandard.decompress(frame)
    assert [unpacked[at : at + len(row)] for at, row in zip(offsets, rows, strict=True)] == rows


Archive = tuple[dict[str, int], list[tuple[str, int, int, int]]]


def written(root: Path, seed: int, batches: int = 8, max_bytes: int = 1000) -> Archive:
    """Committed lengths, and (url, segment, frame, offset) of every page."""
    rng = random.Random(seed)
    writer = SegmentWriter(root, "text", 1, max_bytes)
    pages: list[tuple[str, int, int, int]] = []
    for batch in range(batches):
        urls = [f"http://x/{batch}/{i}" for i in range(rng.randint(1, 40))]
        body = "".join(rng.choices("abcdef ", k=200))
        frame, offsets = pack([made_row(url, body) for url in urls])
        segment, start = writer.append(frame)
        pages += [(url, segment, start, at) for url, at in zip(urls, offsets, strict=True)]
    committed = {state.name: state.length for state in writer.sync(closing=True)}
    assert len(committed) > 1 or max_bytes > 1000
    return committed, pages


def test_every_page_is_found_by_its_pointers(tmp_path: Path) -> None:
    committed, pages = written(tmp_path, seed=5)
    for url, segment, frame, at in pages:
        length = committed[segment_name("text", segment)]
        assert read_row(tmp_path, segment, frame, at, length)["url"] == url


def test_every_row_is_read_in_order(tmp_path: Path) -> None:
    committed, pages = written(tmp_path, seed=6)
    lengths = {**committed, "visits/000001-00001.jsonl": 99, "text/000001-00099.jsonl.zst": 0}
    assert [row["url"] for row in iter_rows(tmp_path, lengths)] == [page[0] for page in pages]


def test_a_row_larger_than_every_buffer(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "text", 1, 1 << 20)
    large = random.Random(7).randbytes(3_000_000).hex()
    rows = [made_row(f"http://x/{i}", large) for i in range(2)]
    frame, offsets = pack(rows)
    segment, start = writer.append(frame)
    [state] = writer.sync(closing=True)
    assert [r["text"] == large for r in iter_rows(tmp_path, {state.name: state.length})] == [
        True
    ] * 2
    assert read_row(tmp_path, segment, start, offsets[1], state.length)["url"] == "http://x/1"


def test_a_frame_past_the_committed_length_is_not_read(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "text", 1, 1 << 20)
    frame, _ = pack([made_row("http://x/1")])
    segment, _ = writer.append(frame)
    [state] = writer.sync()
    _, second = writer.append(pack([made_row("http://x/2")])[0])
    writer.close()
    assert [row["url"] for row in iter_rows(tmp_path, {state.name: state.length})] == ["http://x/1"]
    for asked in (second, second + 1):
        with pytest.raises(StoreError):
            read_row(tmp_path, segment, asked, 0, state.length)


def test_damage_is_reported(tmp_path: Path) -> None:
    committed, pages = written(tmp_path, seed=8, max_bytes=1 << 20)
    path = tmp_path / next(iter(committed))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x55
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        list(iter_rows(tmp_path, committed))
    path.write_bytes(content[:-20])
    with pytest.raises(StoreError, match="committed"):
        list(iter_rows(tmp_path, committed))
    _, segment, frame, _ = pages[0]
    with pytest.raises(StoreError):  # an offset behind the frame's last row
        read_row(tmp_path, segment, frame, 1 << 30, len(content) - 20)


def test_another_library_reads_it(tmp_path: Path) -> None:
    _, pages = written(tmp_path, seed=9)
    lines: list[str] = []
    for path in sorted(tmp_path.glob("text/*.jsonl.zst")):
        with pyzstd.open(path, "rt", encoding="utf-8") as file:
            lines += file
    assert [json.loads(line)["url"] for line in lines] == [page[0] for page in pages]
