"""Trains the dictionary of URLs, and says what it is worth on sites that it has not seen.

    python -m url_dictionary.train PAGES.jsonl.zst [OUTPUT]      # in bench/

PAGES has a JSON object a line with `html` and `url`. The links of a page to its own domain, in
their order, are packed as a log packs them: in runs of 3, 26 and 64. Every fifth site is kept for
the measurement; the dictionary that is written is trained on the other four fifths, so that the
figures speak of the file that is shipped.

What fewer than SHARED sites have in common (names, numbers, keys of sessions) is shuffled before:
none of it is in the file, and the figures are the same.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import zstandard

from lycosa.frontier.log.format import join_texts
from lycosa.page import html
from lycosa.urls.canonical import canonical
from lycosa.urls.links import LinkResolver

SIZE = 16_000
RUNS = (3, 26, 64)
SHARED = 3  # sites that a word must be found on
MOST = 120  # links of a page that count
SAMPLE = 10  # URLs of a sample
_words = re.compile(rb"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]+").findall


def pages(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """The domain and the links of each page to it."""
    opened = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(path.open("rb"))
    for line in io.TextIOWrapper(opened, "utf-8"):
        page = json.loads(line)
        base = canonical(page["url"] or "")
        if base is None:
            continue
        found = html.parse_html(page["html"].encode("utf-8", "replace"), "text/html; charset=utf-8")
        resolver = LinkResolver()
        ((own, *_),) = resolver.resolve([base], base)
        links = resolver.resolve(list(found.links), base)
        yield own, [url.encode() for ident, _, url, _ in links if ident == own]


def runs(sites: list[list[bytes]], size: int) -> list[bytes]:
    """Blocks of so many URLs that were found together."""
    return [
        join_texts(links[at : at + size])
        for links in sites
        for at in range(0, len(links) - size + 1, size)
    ]


def shuffled(sites: list[tuple[int, list[bytes]]]) -> list[list[bytes]]:
    """The links with the letters of all words shuffled that too few sites have."""
    homes: dict[bytes, set[int]] = {}
    for domain, links in sites:
        for link in links:
            for word in _words(link):
                homes.setdefault(word, set()).add(domain)
    random = Random(1)
    found = []
    for _, links in sites:
        memo: dict[bytes, bytes] = {}
        for link in links[:MOST]:
            for word in _words(link):
                if len(homes[word]) < SHARED and word not in memo:
                    memo[word] = bytes(random.sample(word, len(word)))
        found.append([b"".join(memo.get(w, w) for w in _words(link)) for link in links[:MOST]])
    return found


def main() -> None:
    trained: list[tuple[int, list[bytes]]] = []
    kept: list[list[bytes]] = []
    for domain, links in pages(Path(sys.argv[1])):
        if domain % 5 == 0:
            kept.append(links)
        else:
            trained.append((domain, links))
    samples: list[bytes | bytearray | memoryview[int]] = [*runs(shuffled(trained), SAMPLE)]
    made = zstandard.train_dictionary(SIZE, samples, dict_id=1, level=3)
    data = made.as_bytes()
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_bytes(data)
    print(f"{len(samples)} samples of {len(trained)} pages, {len(data)} bytes")
    shared = zstandard.ZstdCompressionDict(data)
    for size in RUNS:
        blocks = runs(kept, size)
        for level in (1, 3, 9):
            figures = []
            for used in (None, shared):
                packer = zstandard.ZstdCompressor(level=level, dict_data=used)
                packed = sum(len(packer.compress(block)) for block in blocks)
                figures.append(packed / len(blocks) / size)
            raw = sum(map(len, blocks)) / len(blocks) / size
            print(
                f"runs of {size:2} level {level}: {figures[1]:.1f} bytes a URL, "
                f"{figures[0]:.1f} without a dictionary, {raw:.1f} raw ({len(blocks)} blocks)"
            )


if __name__ == "__main__":
    main()
