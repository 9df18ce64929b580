"""A closed world of sites: each domain has the same number of URLs, and links reach all of them.

URL `j` of a domain is found by another of its pages or by a page of another domain, always one that
is found before it, so a crawl that loses nothing ends when all are done. Seven domains of ten are
seeds; the others are found by links. Links to known pages come beside, to popular domains and to
any. All of it follows from numbers: nothing is kept but names and ids. Ids and fingerprints are the
real ones.
"""

from __future__ import annotations

from array import array
from itertools import count
from math import gcd
from random import Random

from lycosa.frontier.protocol import Link
from lycosa.records import Url
from lycosa.urls.domains import domain_id
from lycosa.urls.fingerprint import fingerprint
from stores.paths import SECTIONS, SLUGS, mixed, name_of, number_of, slugs

TENTH = 10
SEEDS = 7  # of so many domains
FOUND = TENTH - SEEDS
SHY, AT_ONCE = 2, 4  # of eight kinds: URLs found by other domains; the first page names all
KINDS = 8


class Sites:
    """Domains by number, and the links of their pages."""

    def __init__(self, domains: int, urls: int, known: int, chance: Random) -> None:
        self.domains = -(-domains // TENTH) * TENTH
        self.urls = urls  # of each domain
        self._known = known  # links of a page that lead to what may be known
        self._chance = chance
        self.names = [name_of(d) for d in range(self.domains)]
        self.ids = array("q", map(domain_id, self.names))
        # Numbers of domains times this one go through all of them.
        self._step = next(n for n in count(self.domains // 3 + 1) if gcd(n, self.domains) == 1)
        self._far = self.domains // TENTH // 2

    def number(self, d: int, j: int) -> int:
        """The place of a URL in an array of all of them."""
        return d * self.urls + j

    def url(self, d: int, j: int) -> Url:
        name = self.names[d]
        if not j:
            return Url(f"https://{name}/")
        slug = slugs()[(d * 7919 + j * 40_503) % SLUGS]
        return Url(f"https://{name}/{SECTIONS[(d + j) % len(SECTIONS)]}/{j}-{slug}.html")

    def link(self, d: int, j: int, depth: int = 1) -> Link:
        url = self.url(d, j)
        return (self.ids[d], fingerprint(url), url, depth, self.names[d], 0)

    def seeds(self) -> list[int]:
        return [d for d in range(self.domains) if d % TENTH < SEEDS]

    def links(self, d: int, j: int) -> list[tuple[int, int]]:
        """What a page leads to: (domain, URL) by number."""
        found = [(d, 0)]
        last = self.urls - 1
        if j < last:
            kind = mixed(d, 7) % KINDS
            if SHY <= kind < AT_ONCE and j == 0:
                found += [(d, each) for each in range(1, self.urls)]
            elif kind >= AT_ONCE:
                found.append((d, j + 1))
            other = (d * self._step + 1) % self.domains
            if mixed(other, 7) % KINDS < SHY:
                found.append((other, j + 1))
        if j == 0 and d % TENTH < FOUND:
            far = (d // TENTH + self._far) % (self.domains // TENTH)
            found.append((far * TENTH + SEEDS + d % TENTH, 0))
        chance = self._chance.random
        for n in range(self._known):
            share = chance() ** 4 if n % 2 else chance()
            found.append((int(share * self.domains), int(chance() * self.urls)))
        return found


def parsed(url: str) -> tuple[int, int]:
    """The numbers of a URL of these sites: of its domain, and its own."""
    parts = url.split("/")
    end = parts[-1]
    return number_of(parts[2]), int(end[: end.index("-")]) if end else 0
