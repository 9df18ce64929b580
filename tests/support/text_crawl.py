"""A crawl made without a network whose pages say what a test wants."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lycosa.archive.text import text_row
from lycosa.clock import wall_now
from lycosa.frontier.protocol import Frontier
from lycosa.page.simhash import simhash
from lycosa.records import PageRow, QueuedUrl
from lycosa.urls.fingerprint import content_hash
from support.made import link, page_of
from support.made_crawl import _crawl, _Engine, opened

HOSTS = 7
NO_TEXT = ""  # said by a page that is not there


def make_texts(
    root: Path,
    texts: Mapping[int, str],
    store: str = "sqlite",
    engines: int = 2,
    join: bool = False,
    segment_bytes: int = 30_000,
) -> None:
    """A crawl that has fetched pages with these main texts; the number is in the URL."""
    with opened(root, store, join) as (frontier, node):
        urls = [link(f"https://t{number % HOSTS}.test/{number}", depth=1) for number in texts]
        frontier.add(urls, rank=0)
        made = [_TextEngine(frontier, root, node, segment_bytes, texts) for _ in range(engines)]
        _crawl(frontier, list(made))


class _TextEngine(_Engine):
    def __init__(
        self,
        frontier: Frontier,
        root: Path,
        node: str,
        segment_bytes: int,
        texts: Mapping[int, str],
    ) -> None:
        super().__init__(frontier, root, node, warc=False, segment_bytes=segment_bytes)
        self._texts = texts

    def _page(self, url: QueuedUrl) -> PageRow:
        row = page_of(url, fetched_ms=wall_now())
        main = self._texts[int(url.url.rpartition("/")[2])]
        if main == NO_TEXT:
            row.status, row.outcome = 404, "http-404"
            return row
        visible = f"Menu\n{main}"
        row.label = "content" if len(main) % 2 else "listing"
        row.text_chars, row.main_chars = len(visible), len(main)
        row.content_hash, row.simhash = content_hash(visible), simhash(main)
        row.text_row = text_row(
            row.url, row.fetched_ms, row.status, "", "", visible, main=main,
            content_hash=row.content_hash, simhash=row.simhash,
        )  # fmt: skip
        return row
