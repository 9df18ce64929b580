"""Makes the frontier of a crawl large before it is measured.

Ballast is domains that are known and have URLs queued, but are not due for years: a crawl carries
them in its store and never visits them. They come in through the store's own verbs.
"""

from __future__ import annotations

import subprocess
import time
from itertools import islice
from pathlib import Path

from lycosa.frontier.protocol import StoreRules, open_frontier
from lycosa.records import Url
from lycosa.urls.domains import domain_id
from lycosa.urls.fingerprint import fingerprint

FAR_MS = 4_000_000_000_000  # a time that no run reaches
AT_ONCE = 50_000  # URLs, or domains


def burdened(words: list[str], home: Path, domains: int, urls: int) -> None:
    """Runs the crawl of a command for one page, then adds ballast to its frontier."""
    subprocess.run([*words, "--max-pages", "1"], check=True, stdout=subprocess.DEVNULL)
    ballast(home / "data", domains, urls)


def resumed(words: list[str], home: Path) -> list[str]:
    """The command that resumes the crawl that `words` begins."""
    return ["--resume" if word == str(home / "seeds.txt") else word for word in words]


def ballast(directory: Path, domains: int, urls: int) -> None:
    """Adds so many domains, with so many queued URLs each, to the crawl on SQLite in a folder."""
    if domains <= 0:
        return
    # Stores take rows fast in the order of their key.
    sites = sorted((domain_id(name), name) for name in (f"b{i}.test" for i in range(domains)))
    pages = ((i, name, Url(f"http://{name}/a/page/{k}")) for i, name in sites for k in range(urls))
    links = ((ident, fingerprint(url), url, 0, name, 0) for ident, name, url in pages)
    store = open_frontier("sqlite", directory, StoreRules(), lambda: time.time_ns() // 10**6)
    try:
        store.load_in_bulk()
        while chunk := list(islice(links, AT_ONCE)):
            store.add(chunk)
        for at in range(0, domains, AT_ONCE):
            store.postpone([(ident, FAR_MS) for ident, _ in sites[at : at + AT_ONCE]])
    finally:
        store.close()
