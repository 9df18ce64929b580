"""What a correct, polite crawler finds in a world, computed without running one.

Owns the walk: from the roots of all domains along every link that such a crawler follows,
through robots rules, redirects, nofollow and dead hosts. Knows the world only as a pure value;
renders and fetches nothing.

Outcomes: ok, redirect, noindex, not-text, failed, http-CODE (no content kept); robots (not
allowed), robots-unreachable, dead (no host there); undecided: more than one outcome is right,
as with a robots.txt that redirects to itself, hostile hosts, and what only these lead to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from lycosa.simweb import rules, special
from lycosa.simweb.paths import page_number, page_path
from lycosa.simweb.special import OK, REDIRECT, UNDECIDED

if TYPE_CHECKING:
    from lycosa.simweb.world import Place, World

DEAD = ("nxdomain", "servfail", "refused")


class Walk:
    """Outcomes of one world, computed once for each question."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[bool, dict[str, str]] = {}

    def outcomes(self, *, sitemaps: bool) -> dict[str, str]:
        """URL -> outcome, for every URL that a correct crawler may meet."""
        if sitemaps not in self._known:
            sure = self._run(sitemaps, follow_undecided=False)
            open_ends = UNDECIDED in sure.values()
            possible = self._run(sitemaps, follow_undecided=True) if open_ends else sure
            self._known[sitemaps] = dict.fromkeys(possible, UNDECIDED) | sure
        return self._known[sitemaps]

    def compare(self, kept: set[str], *, sitemaps: bool) -> tuple[set[str], set[str]]:
        """(missing, surplus) of the kept URLs, without what may go either way."""
        world, outcomes = self._world, self.outcomes(sitemaps=sitemaps)
        expected = {url for url, outcome in outcomes.items() if outcome == OK}
        found = {world.normal(url) for url in kept}
        surplus = {
            url
            for url in found - expected
            if outcomes.get(url) != UNDECIDED and not self._hostile(url)
        }
        return expected - found, surplus

    def _hostile(self, url: str) -> bool:
        host = urlsplit(url).hostname or ""
        return self._world.place(host) is None

    def _run(self, sitemaps: bool, *, follow_undecided: bool) -> dict[str, str]:
        todo = [self._start(index) for index in range(self._world.spec.domains)]
        seen: dict[str, str] = {}
        while todo:
            url = todo.pop()
            if url in seen:
                continue
            outcome, found = self._look(url, sitemaps)
            seen[url] = outcome
            if outcome != UNDECIDED or follow_undecided:
                todo += [self._world.normal(link) for link in found if link not in seen]
        return seen

    def _start(self, index: int) -> str:
        site = self._world.site(index)
        return f"{site.scheme}://{site.name}/"

    def _look(self, url: str, sitemaps: bool) -> tuple[str, list[str]]:
        """The outcome of one URL and the URLs it leads to."""
        parts = urlsplit(url)
        place = self._world.place(parts.hostname or "")
        if place is None:
            return UNDECIDED, []
        site = place.site
        if site.fault in DEAD or (parts.scheme == "https" and site.scheme != "https"):
            return "dead", []
        kind = rules.robots_kind(place.robots)
        if kind.unreachable or site.fault == "empty-reply":
            return "robots-unreachable", []
        if not kind.allowed(parts.path):
            return "robots", []
        if place.alias:
            return self._kind(REDIRECT, kind), [site.root + parts.path]
        if parts.scheme == "http" and site.upgrade:
            return self._kind(REDIRECT, kind), [f"https://{parts.hostname}{parts.path}"]
        target = parts.path + ("?" + parts.query if parts.query else "")
        outcome, links = self._page(place, url, target if site.layout else parts.path)
        if sitemaps and place.robots == "robots-sitemap":
            links = [*links, *self._sitemap(place, url)]
        return self._kind(outcome, kind), list(links)

    @staticmethod
    def _kind(outcome: str, kind: rules.Robots) -> str:
        return UNDECIDED if kind.undecided else outcome

    def _page(self, place: Place, url: str, path: str) -> tuple[str, list[str]]:
        number = page_number(path, place.site.layout)
        if 0 <= number < place.pages:
            return OK, list(self._links(place, url, number))
        if path == special.SITEMAP_ONLY and place.robots == "robots-sitemap":
            return OK, []
        found = self._world.special(place, path)
        if found is None:
            return "http-404", []
        if found.location:
            out = found.location == special.OUT
            target = self._world.out_target(place) if out else found.location
            return found.outcome, [urljoin(url, target)]
        return found.outcome, [urljoin(url, link) for link in found.links]

    def _links(self, place: Place, url: str, number: int) -> Iterator[str]:
        root = url[: url.index("/", 8)]
        world = self._world
        inside, outside = world.runs(place, number)
        own = {*world.children(place, number), *world.popular(place.pages, inside)}
        for other in own.union(world.menu(place.pages)):
            yield root + page_path(other, place.site.layout)
        yield from world.elsewhere(outside)
        yield from world.discovery(place, number)
        for path, _ in self._world.extras(place, number):
            yield urljoin(url, path)

    def _sitemap(self, place: Place, url: str) -> list[str]:
        root = url[: url.index("/", 8)]
        layout = place.site.layout
        ordinary = [root + page_path(number, layout) for number in range(place.pages)]
        return [root + special.SITEMAP_ONLY, *ordinary]
