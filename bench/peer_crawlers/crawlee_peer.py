"""crawlee-python with its Parsel crawler, its storage on disk, robots.txt respected.

    python crawlee_peer.py SEEDS DIR

Keeps the text of each page; follows all links. PEER_PAGES in the environment ends it after so many
pages.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

SEEDS, FOLDER = sys.argv[1], sys.argv[2]
os.environ["CRAWLEE_STORAGE_DIR"] = f"{FOLDER}/storage"

from crawlee import ConcurrencySettings  # noqa: E402
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext  # noqa: E402
from crawlee.http_clients import ImpitHttpClient  # noqa: E402


async def main() -> None:
    crawler = ParselCrawler(
        http_client=ImpitHttpClient(verify=False),
        respect_robots_txt_file=True,
        max_request_retries=0,
        max_requests_per_crawl=int(os.environ.get("PEER_PAGES", "0")) or None,
        concurrency_settings=ConcurrencySettings(
            min_concurrency=50, desired_concurrency=100, max_concurrency=100
        ),
        configure_logging=False,
    )

    @crawler.router.default_handler  # type: ignore[untyped-decorator]
    async def page(context: ParselCrawlingContext) -> None:
        text = " ".join(context.selector.css("body ::text").getall())
        title = context.selector.css("title::text").get()
        await context.push_data({"url": context.request.url, "title": title, "text": text})
        await context.enqueue_links(strategy="all")

    await crawler.run(Path(SEEDS).read_text().split())


asyncio.run(main())
