"""Sites that answer every URL with one page: soft 404s, traps, walls, shells. Pure.

Such a site has any number of URLs and one text. Decides from the simhashes of a domain's pages
when it is one; `harvest` then drops what is queued and takes no more of its links. Sites whose
pages share a menu only are far from it.

What it knows lies in tables of a fixed size in the memory of one engine: a domain stays known after
it was given back, until another one needs its slot. An engine that leases it next begins anew, and
then needs as many pages again as half of what the domain has (`MAJORITY`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from lycosa.page.simhash import distance

SLOTS = 1 << 16  # domains that are remembered, 24 bytes each
PAGES = 20  # that must be known before anything is decided
SHARE = 0.9  # of them that are one page
MAJORITY = 0.5  # of all pages that the domain ever had that are known to be this one
SAME_PAGE = 3  # bits: a date, a counter or the address asked for may differ, hardly more
FEW_CHARS = 150  # of a text whose simhash is that of its few frequent words: it must be the same


def mark_of(chars: int, content_hash: int, simhash: int) -> int:
    """What a page is known by here: its simhash, or the hash of a short text ("Page 12, next")."""
    return simhash if chars >= FEW_CHARS or not simhash else content_hash


class OnePageSites:
    """What is known of the domains of one engine."""

    def __init__(self, slots: int = SLOTS) -> None:
        self._mask = slots - 1
        self._domains = array("q", bytes(8 * slots))
        self._pages = array("q", bytes(8 * slots))  # the simhash of what may be its one page
        self._seen = array("I", bytes(4 * slots))
        self._same = array("I", bytes(4 * slots))

    def note(self, domain_id: int, simhash: int) -> None:
        """A page was kept (`mark_of` it). One without words says nothing."""
        if not simhash:
            return
        slot = domain_id & self._mask
        if self._domains[slot] != domain_id:
            self._domains[slot] = domain_id
            self._seen[slot] = self._same[slot] = 0
        self._seen[slot] += 1
        if self._same[slot] and distance(self._pages[slot], simhash) <= SAME_PAGE:
            self._same[slot] += 1
        elif self._same[slot] * 2 < self._seen[slot]:  # nor was the one before it most of them
            self._pages[slot] = simhash
            self._same[slot] = 1

    def known(self, domain_id: int, pages: int) -> bool:
        """Whether a domain, which has so many pages in all, is such a site."""
        slot = domain_id & self._mask
        same, seen = self._same[slot], self._seen[slot]
        return (
            self._domains[slot] == domain_id
            and seen >= PAGES
            and same >= SHARE * seen
            and same >= MAJORITY * pages
        )

    def same(self, domain_id: int) -> int:
        """How many pages of a domain say the same."""
        slot = domain_id & self._mask
        return self._same[slot] if self._domains[slot] == domain_id else 0


def one_page(simhashes: Iterable[int]) -> int:
    """How many of a domain's pages say the same, if it is such a site by them; else 0."""
    sites = OnePageSites(slots=1)
    for simhash in simhashes:
        sites.note(1, simhash)
    return sites.same(1) if sites.known(1, 0) else 0
