"""Rows of `pages` as a crawl of real sites has them, made fast: 100 million take minutes.

URLs of 56 characters, titles of 40, the digest, address and label that harvest notes; 1 page in 10
failed or leads elsewhere and has no text. Domains come in random order, as in a crawl that visits
each of them once in a while, 40 pages of each in the mean. What a row has beside its key and URL is
drawn from a few thousand: only lengths matter to a table.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from lycosa.frontier.columns import PAGES
from lycosa.urls.domains import domain_id
from stores.paths import name_of, origin_of, slugs, url_of

PER_DOMAIN = 40  # rows of each domain
TAILS = 4096  # different values behind the URL
PATHS = 1 << 16
FAILED = 10  # one in so many
KEYS = 4000  # rows that are remembered, to look them up
Row = tuple[Any, ...]
Key = tuple[int, int, int]  # the id of a row, its domain, its fingerprint


class Rows:
    """Makes rows, and remembers some of their keys. The order of the columns is that of inserts."""

    def __init__(self, count: int, seed: int = 1) -> None:
        self.count = count
        self.domains = max(1, count // PER_DOMAIN)
        self._rng = random.Random(seed)
        names = [name_of(d) for d in range(self.domains)]
        self._origins = [origin_of(d, name) for d, name in enumerate(names)]
        self._ids = [domain_id(name) for name in names]
        self._tails = [_tail(self._rng) for _ in range(TAILS)]
        # Paths of all layouts, without their hosts.
        self._paths = [url_of(i, "", i) for i in range(1, PATHS + 1)]
        self.keys: list[Key] = []
        self.made = 0

    def random(self, count: int) -> Iterator[Row]:
        """As a crawl makes them: the next page is that of any domain."""
        rng, domains = self._rng.random, self.domains
        return self._rows(int(rng() * domains) for _ in range(count))

    def sorted(self, count: int) -> Iterator[Row]:
        """So many more, in the order of the index: domain by domain, fingerprints ascending."""
        order = sorted(range(self.domains), key=self._ids.__getitem__)
        for place, d in enumerate(order):
            share = count * (place + 1) // self.domains - count * place // self.domains
            yield from sorted(self._rows(d for _ in range(share)))

    def _rows(self, domains: Iterator[int]) -> Iterator[Row]:
        ids, origins, paths, tails = self._ids, self._origins, self._paths, self._tails
        bits, every = self._rng.getrandbits, max(1, self.count // KEYS)
        number = self.made
        for d in domains:
            mixed = bits(64)
            fp = mixed - (1 << 63)
            number += 1
            if number % every == 0:
                self.keys.append((number, ids[d], fp))
            url = origins[d] + paths[mixed & 0xFFFF]
            yield (ids[d], fp, url, *tails[mixed >> 16 & 0xFFF])
            self.made = number


def _tail(rng: random.Random) -> Row:
    """What follows the URL."""
    failed = rng.randrange(FAILED) == 0
    etag = f'"{rng.getrandbits(64):016x}-{rng.getrandbits(16):04x}"' if rng.random() < 0.5 else ""
    prose = rng.randrange(20, 90)
    found: dict[str, Any] = {
        "depth": rng.randrange(6),
        "fetched_ms": 1_790_000_000_000 + rng.getrandbits(34),
        "status": rng.choice((301, 404)) if failed else 200,
        "outcome": "http-404" if failed else "ok",
        "content_type": "text/html; charset=utf-8",
        "wire_bytes": rng.randrange(2_000, 60_000),
        "address": f"{rng.randrange(1, 224)}.{rng.randrange(256)}.{rng.randrange(256)}.7",
        "duration_ms": rng.randrange(20, 2000),
        "etag": etag,
        "modified_ms": 1_790_000_000_000 if etag else 0,
        "payload_digest": rng.randbytes(20),
    }
    if not failed:
        found |= {
            "text_chars": rng.randrange(500, 20_000),
            "content_hash": rng.getrandbits(64) - (1 << 63),
            "title": " ".join(rng.choices(slugs(), k=4))[:40].replace("-", " "),
            "text_segment": 100_000 * rng.randrange(1, 50) + rng.randrange(1, 90),
            "text_frame": rng.randrange(1 << 30),
            "text_offset": rng.randrange(1 << 21),
            "language": "en",
            "language_score": 100,
            "label": "content",
            "label_reason": f"{prose} % prose, {90 - prose} % links",
            "main_chars": rng.randrange(300, 9_000),
            "simhash": rng.getrandbits(64) - (1 << 63),
            "charset": "utf-8",
        }
    empty = {"text": "", "bytea": b""}
    names = list(PAGES)[3:]
    return tuple(found.get(name, empty.get(PAGES[name], 0)) for name in names)
