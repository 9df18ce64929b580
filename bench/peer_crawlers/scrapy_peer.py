"""Scrapy as its documentation sets it up for broad crawls, with persistence and robots.txt on.

    python scrapy_peer.py SEEDS DIR

Keeps what lycosa keeps: the text of each page, one JSON line each; follows all links. PEER_PAGES in
the environment ends it after so many pages.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

SEEDS, FOLDER = sys.argv[1], sys.argv[2]
LINKS = LinkExtractor()  # distinct links, none to images and the like: as lycosa takes them
PAGES = int(os.environ.get("PEER_PAGES", "0"))


class Pages(scrapy.Spider):  # type: ignore[misc]  # Scrapy is not installed where types are checked
    name = "pages"

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for line in Path(SEEDS).read_text().split():
            yield scrapy.Request(line)

    def start_requests(self) -> Iterator[scrapy.Request]:  # before Scrapy 2.13
        for line in Path(SEEDS).read_text().split():
            yield scrapy.Request(line)

    def parse(self, response: Any) -> Iterator[Any]:
        text = " ".join(response.css("body ::text").getall())
        yield {"url": response.url, "title": response.css("title::text").get(), "text": text}
        for link in LINKS.extract_links(response):
            yield scrapy.Request(link.url, self.parse)


process = CrawlerProcess(
    {
        # docs.scrapy.org, "Broad Crawls"
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "CONCURRENT_REQUESTS": 100,
        "REACTOR_THREADPOOL_MAXSIZE": 20,
        "LOG_LEVEL": "INFO",
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "DOWNLOAD_TIMEOUT": 15,
        "REDIRECT_ENABLED": False,
        # As lycosa crawls
        "CLOSESPIDER_ITEMCOUNT": PAGES,  # its count of pages has robots.txt in it
        "ROBOTSTXT_OBEY": True,
        "JOBDIR": f"{FOLDER}/job",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": 0,
        "USER_AGENT": "scrapy (mailto:bench@lycosa.example)",
        "FEEDS": {f"{FOLDER}/pages.jsonl": {"format": "jsonlines"}},
        "LOG_FILE": f"{FOLDER}/scrapy.log",
        "TELNETCONSOLE_ENABLED": False,
    }
)
process.crawl(Pages)
process.start()
