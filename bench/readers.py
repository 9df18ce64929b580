"""Whether both readers of HTML, the compiled one and its twin in Python, find the same in pages.

    python bench/readers.py [--gold FILE] [--docs DIR] [--pages 1000] [--quick]

FILE holds pages, a line of JSON each with the key `html`, packed with zstd, like the development
part of WCXB; DIR holds HTML files, /usr/share/doc for instance. Compared are text, tags that say
something, scores of lines, main text and counts. Pages beyond the bounds of the reader in Python
(docs/decisions/0003-html-in-pieces.md) are counted apart. Prints the first that differ.
"""

from __future__ import annotations

import argparse
import io
import json
import random
from collections.abc import Iterator
from html.entities import html5
from itertools import islice
from pathlib import Path

import zstandard

from lycosa.page import charset, html, html_scan
from parse import page as generated

TYPE = "text/html"
PARTS = ("text", "tags", "tags left out", "scores", "main text", "counts")


def gold_pages(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as file:
        lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), "utf-8")
        for line in lines:
            row = json.loads(line)
            yield str(row.get("id", "")), row["html"].encode()


def files(root: Path, count: int) -> Iterator[tuple[str, bytes]]:
    """Some of the files, drawn at random, the same each time."""
    paths = sorted(path for path in root.rglob("*.html") if path.is_file())
    random.Random(1).shuffle(paths)
    for path in paths[:count]:
        yield str(path), path.read_bytes()


def difference(body: bytes) -> str:
    """The first part that differs, '' if none does."""
    assert html.scan is not None
    page, _ = charset.to_utf8(body[: html.PARSE_BYTES], TYPE)
    bounds = (html5, html.MAX_NOTES, 4 * html.MAX_TEXT)
    one, other = html.scan(page, *bounds), html_scan.scan(page, *bounds)
    for part, compiled, twin in zip(PARTS, one, other, strict=True):
        if compiled != twin:
            return part
    return ""


def large(body: bytes) -> bool:
    return body.count(b"<") > html_scan.MAX_TAGS


def compare(name: str, pages: Iterator[tuple[str, bytes]]) -> None:
    count = differ = beyond = 0
    for place, body in pages:
        count += 1
        if large(body):
            beyond += 1
        elif part := difference(body):
            differ += 1
            if differ <= 5:
                print(f"  {place}: {part}")
    print(f"{name}: {count} pages, {differ} differ, {beyond} beyond the bounds of Python")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--gold", type=Path)
    options.add_argument("--docs", type=Path)
    options.add_argument("--pages", type=int, default=1_000, help="of DIR")
    options.add_argument("--quick", action="store_true", help="a few pages, only to see it run")
    args = options.parse_args()
    if html.scan is None:
        print("0 pages: there was no C compiler when lycosa was installed")
        return
    few = 3 if args.quick else None
    compare("generated", islice(((str(n), generated(20_000, 30, n)) for n in range(50)), few))
    if args.gold:
        compare("gold", islice(gold_pages(args.gold), few))
    if args.docs:
        compare("documentation", islice(files(args.docs, args.pages), few))


if __name__ == "__main__":
    main()
