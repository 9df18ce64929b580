"""How long a person who looks around makes the store read: each statement of `frontier/survey`.

    python bench/look.py                    a million domains, pages and queued URLs, on SQLite
    python bench/look.py --rows 10000000

Prints the median and the longest of 15 times, in milliseconds. None should take more than 100.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from lycosa.clock import wall_now
from lycosa.frontier.log.domain_log import delivery
from lycosa.frontier.protocol import StoreRules, open_reader
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.frontier.survey import OF_DOMAINS, OF_PAGES
from lycosa.records import Url
from lycosa.urls.fingerprint import fingerprint

TIMES = 15
ZERO = "status, content_type, wire_bytes, text_chars, content_hash, redirect, text_segment"
MORE = "text_frame, text_offset, warc_segment, warc_offset"


def chunk(ident: int) -> tuple[int, bytes]:
    """A queued URL as the log of a domain, with its key: domains lie as close as numbers can."""
    url = f"https://domain-{ident}.example/some/longer/path/{ident}.html"
    (data,) = delivery(ident << 31, 0, 1, [(ident << 31, fingerprint(url), Url(url), 1, "", 0)])
    return ident << 31, data


def fill(root: Path, rows: int) -> None:
    """A large crawl, made by SQL alone."""
    path = root / "crawl.sqlite"
    store = SqliteFrontier(path, StoreRules(), wall_now, create=True)
    store.put_settings({"settings": "{}"})
    store.close()
    db = sqlite3.connect(path)
    db.execute(
        "INSERT INTO engines (host, pid, started_ms, renewed_ms, lease_until, domains)"
        " VALUES ('h', 1, 0, 0, 0, ?)",
        (rows,),
    )
    numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1)"
    db.execute(
        f"{numbers} INSERT INTO domains (id, name, idle, polite_at, delay_ms, pages, queued)"
        " SELECT i << 31, 'domain-' || i || '.example', i % 3 = 0, i, i % 7 * 1000, i % 1000,"
        " i % 333 FROM n ORDER BY 1",
        (rows,),
    )
    db.execute(
        "INSERT INTO ready (ready_at, id) SELECT id, id FROM domains WHERE (id >> 31) % 3 = 1"
    )
    db.execute(
        "INSERT INTO held (id, engine_id) SELECT id, 1 FROM domains WHERE (id >> 31) % 3 = 2"
    )
    url = "'https://domain-' || i || '.example/some/longer/path/' || i || '.html'"
    db.executemany("INSERT INTO log (key, data) VALUES (?, ?)", map(chunk, range(rows)))
    db.execute(
        f"{numbers} INSERT INTO pages (domain_id, fp, url, depth, fetched_ms, outcome, title,"
        f" duration_ms, {ZERO}, {MORE})"
        f" SELECT (CASE WHEN i % 4 = 0 THEN 7 ELSE i * 7 % {rows} END) << 31,"
        f" i, {url}, 1, i, CASE WHEN i % 3 THEN 'ok' ELSE 'timeout' END, 'A title of some length',"
        " i % 900, 200, 'text/html', 0, 0, 0, '', 1, 1, 1, 1, 1 FROM n",
        (rows,),
    )
    db.commit()
    db.close()


def measure(root: Path) -> None:
    reader = open_reader(root)
    survey, newest = reader.survey, reader.newest_page()
    looks: dict[str, Callable[[], object]] = {
        **{sort: partial(survey.top_domains, sort, 50) for sort in OF_DOMAINS},
        **{sort: partial(survey.top_lately, sort, newest, 50) for sort in OF_PAGES},
        "counts of a domain": lambda: survey.counts(7 << 31, 0),
        "head of a queue": lambda: survey.queue_head(7 << 31, 50),
        "2,000 queued URLs": lambda: list(survey.queue_all(2000)),
        "what comes next": lambda: survey.next_domains(50),
    }
    for name, look in looks.items():
        taken = []
        for _ in range(TIMES):
            began = time.perf_counter()
            look()
            taken.append(1000 * (time.perf_counter() - began))
        print(f"{name:20} {median(taken):7.1f} ms, longest {max(taken):7.1f} ms")
    reader.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="a thousandth of it")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lycosa-look-") as folder:
        fill(Path(folder), max(1000, words.rows // 1000) if words.quick else words.rows)
        measure(Path(folder))


if __name__ == "__main__":
    main()
