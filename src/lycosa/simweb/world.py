"""The simulated web as a pure value: its domains, hosts, pages, links and rules.

Owns what exists and which page links to which. Every answer is computed from the spec; nothing is
stored but caches. `pages` renders it, `walk` says what a correct crawler finds in it. It imports no
I/O, clock or randomness.

Domain number i is `d000000.test` and so on: no suffix list knows `test`, so each is registrable.
A host has ordinary pages 0 .. n-1; page p links to pages 8p+1 .. 8p+8, so all hang on '/' (page
0), and beside these to pages and domains drawn by a Zipf law: low numbers are popular.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from lycosa.simweb import hostile, malice, rules, special
from lycosa.simweb.chance import choose, draw, share
from lycosa.simweb.paths import LAYOUTS, SIMPLE, page_path
from lycosa.simweb.spec import FAULTS, FEATURES, ROBOTS, WorldSpec
from lycosa.simweb.walk import Walk

LANGS = ("en", "de", "fr", "es", "nl", "it", "pt", "sv")
CHILDREN = 8  # links from a page down the tree
_ZIPF = 4096  # precomputed draws
RUNS = 512  # different blocks of links into the host, and as many out of it
MENU = 30  # links that all pages of a site share, in a web that is to look real
PARETO, LARGEST = 1.2, 8_000  # of the sizes of its sites, in pages
_CACHED_SITES = 200_000  # then the cache is emptied, so that memory stays bounded

# Which draw decides what, so that one setting does not change the others.
_FAULT, _HTTPS, _UPGRADE, _WWW, _BLOG, _PAGES, _ROBOTS, _DELAY, _LANG, _SLOW, _FEATURE = range(11)
_LAYOUT = 200


@dataclass(slots=True, frozen=True)
class Site:
    """One domain with everything that was drawn for it."""

    index: int
    name: str
    fault: str  # of FAULTS, or ''
    https: bool  # speaks it
    upgrade: bool  # http redirects to https
    www: str  # 'main', 'alias' or ''
    pages: int
    blog_pages: int  # 0: no blog host
    robots: str
    blog_robots: str
    crawl_delay: float  # seconds that its robots.txt asks for; 0: none
    features: tuple[str, ...]
    lang: str
    slow: bool
    layout: int  # of the paths of its pages

    @property
    def main_host(self) -> str:
        """Where the pages are."""
        return "www." + self.name if self.www == "main" else self.name

    @property
    def scheme(self) -> str:
        """The scheme at which a crawler arrives that tries https first."""
        return "https" if self.https and self.fault != "tls-broken" else "http"

    @property
    def root(self) -> str:
        """The URL of page 0, without its slash."""
        return f"{self.scheme}://{self.main_host}"


@dataclass(slots=True, frozen=True)
class Place:
    """What a host name stands for: its site, and which of the site's hosts it is."""

    site: Site
    alias: bool  # only redirects to the site's root
    blog: bool

    @property
    def pages(self) -> int:
        """Ordinary pages here."""
        return self.site.blog_pages if self.blog else self.site.pages

    @property
    def robots(self) -> str:
        """The kind of its robots.txt."""
        return self.site.blog_robots if self.blog else self.site.robots

    @property
    def salt(self) -> int:
        """Makes the draws of its pages its own."""
        return self.site.index * 2 + self.blog


class World:
    """One simulated web."""

    def __init__(self, spec: WorldSpec) -> None:
        self.spec = spec
        self._mix = mix = spec.shares()
        self._faults = [(name, mix[name]) for name in FAULTS if mix[name]]
        self._robots_kinds = [(name, mix[name]) for name in ROBOTS if mix[name]]
        self._features = [(k, name) for k, name in enumerate(FEATURES) if mix[name]]
        self._sites: dict[int, Site] = {}
        self._places: dict[str, Place | None] = {}
        self._elsewhere: dict[int, list[str]] = {}
        out = round(spec.links * spec.out_links) if spec.domains > 1 else 0
        self._menu = MENU if spec.real else 0
        self._out, self._in = out, max(1, spec.links - out - CHILDREN - self._menu)
        draws = [share(spec.seed, n, 77) for n in range(_ZIPF)]
        self._zipf = draws + draws[: spec.links]

    # Domains and hosts

    def site(self, index: int) -> Site:
        """Domain number `index`."""
        found = self._sites.get(index)
        if found is None:
            if len(self._sites) >= _CACHED_SITES:
                self._sites.clear()
                self._places.clear()
            found = self._sites[index] = self._draw_site(index)
        return found

    def _chance(self, index: int, what: int, name: str) -> bool:
        wanted = self._mix[name]
        return wanted > 0 and (wanted >= 1 or share(self.spec.seed, index, what) < wanted)

    def _draw_site(self, index: int) -> Site:
        spec, seed = self.spec, self.spec.seed
        fault = self._fault(index)
        https = fault == "tls-broken" or share(seed, index, _HTTPS) < spec.https
        robots, blog_robots = self._robots(index, _ROBOTS), self._robots(index, _ROBOTS + 100)
        asks = robots == "robots-crawl-delay"
        blog = self._chance(index, _BLOG, "blog")
        upgrade = https and fault != "tls-broken" and self._chance(index, _UPGRADE, "upgrade")
        features = [n for k, n in self._features if self._chance(index, _FEATURE + k, n)]
        return Site(
            index=index,
            name=f"d{index:06d}.test",
            fault=fault,
            https=https,
            upgrade=upgrade,
            www=self._www(index),
            pages=self._pages(index, _PAGES),
            blog_pages=self._pages(index, _PAGES + 100) if blog else 0,
            robots=robots,
            # A delay holds for the whole domain: let only one of its hosts ask for one.
            blog_robots="robots-dirs" if blog_robots == "robots-crawl-delay" else blog_robots,
            crawl_delay=spec.delay * (1 + draw(seed, index, _DELAY) % 3) if asks else 0.0,
            features=tuple(features),
            lang=self._lang(index),
            slow=spec.slow > 0 and share(seed, index, _SLOW) < spec.slow,
            layout=1 + draw(seed, index, _LAYOUT) % LAYOUTS if spec.real else SIMPLE,
        )

    def _lang(self, index: int) -> str:
        """What a site declares; where pages are for measuring, what they are in, as most do."""
        if self.spec.plain and not self.spec.languages:
            return "en"
        return LANGS[draw(self.spec.seed, index, _LANG) % len(LANGS)]

    def _robots(self, index: int, what: int) -> str:
        kinds = self._robots_kinds
        if len(kinds) < 2:
            return kinds[0][0] if kinds else "robots-allow"
        return choose(kinds, share(self.spec.seed, index, what))

    def _www(self, index: int) -> str:
        main, alias = self._mix["www"], self._mix["www-alias"]
        if not main and not alias:
            return ""
        u = share(self.spec.seed, index, _WWW)
        return "main" if u < main else "alias" if u < main + alias else ""

    def _fault(self, index: int) -> str:
        if not self._faults:
            return ""
        u = share(self.spec.seed, index, _FAULT)
        for name, wanted in self._faults:
            u -= wanted
            if u < 0:
                return name
        return ""

    def _pages(self, index: int, what: int) -> int:
        if self.spec.real:
            tail = (1 - share(self.spec.seed, index, what)) ** (-1 / PARETO)
            return min(LARGEST, int(self.spec.pages * tail))
        if self.spec.plain:
            return self.spec.pages
        u = share(self.spec.seed, index, what)
        return max(1, round(self.spec.pages * (0.25 + 1.5 * u)))

    def place(self, host: str) -> Place | None:
        """What a host name stands for; None: no such site."""
        try:
            return self._places[host]
        except KeyError:
            if len(self._places) >= 4 * _CACHED_SITES:
                self._places.clear()
            place = self._places[host] = self._find_place(host)
            return place

    def _find_place(self, host: str) -> Place | None:
        label, _, name = host.rpartition(".test")[0].rpartition(".")
        if not host.endswith(".test") or len(name) != 7 or not name[1:].isdecimal():
            return None
        if name[0] != "d" or int(name[1:]) >= self.spec.domains:
            return None
        site = self.site(int(name[1:]))
        if label == "blog" and site.blog_pages:
            return Place(site, alias=False, blog=True)
        if label == "" or (label == "www" and site.www):
            return Place(site, alias=host != site.main_host, blog=False)
        return None

    def resolve(self, host: str) -> str:
        """How a host name resolves: a group of addresses (see `names`), or a DNS failure."""
        place = self.place(host)
        if place is None:
            if host == rules.HOME:
                return "http"
            number = malice.number_of(host, self.spec.malice)
            if number >= 0:
                return malice.resolve(self.spec.seed, number)
            return hostile.resolve(host) if self.spec.hostile else "nxdomain"
        fault = place.site.fault
        if fault in ("nxdomain", "servfail"):
            return fault
        if fault in ("refused", "tls-broken"):
            return {"refused": "closed", "tls-broken": "broken"}[fault]
        return "full" if place.site.https else "http"

    def seeds(self) -> list[str]:
        """The bare names of all domains, dead and hostile ones included."""
        names = [f"d{index:06d}.test" for index in range(self.spec.domains)]
        names += malice.domains(self.spec.malice)
        return names + (hostile.domains() if self.spec.hostile else [])

    # Links

    def children(self, place: Place, number: int) -> range:
        """The pages below a page in the tree that makes all reachable."""
        first = number * CHILDREN + 1
        return range(min(place.pages, first), min(place.pages, first + CHILDREN))

    def menu(self, pages: int) -> range:
        """The pages that all pages of a site lead to."""
        return range(min(pages, self._menu))

    def runs(self, place: Place, number: int) -> tuple[int, int]:
        """Which run of popular pages and which of other domains a page links to.

        Pages share runs, so that the server renders each of them once.
        """
        bits = draw(self.spec.seed, place.salt, number + 1000)
        return bits % RUNS * (_ZIPF // RUNS), (bits >> 16) % RUNS * (_ZIPF // RUNS)

    def popular(self, pages: int, run: int) -> list[int]:
        """Numbers of ordinary pages on a host that has `pages` of them."""
        if self._menu:
            return self._neighbours(pages, self._zipf[run])
        return [int(pages**u) - 1 for u in self._zipf[run : run + self._in]]

    def _neighbours(self, pages: int, u: float) -> list[int]:
        """A piece of a site, behind the menu: pages of one section lead to each other."""
        rest = pages - self._menu
        if rest <= self._in:
            return list(range(self._menu, pages))
        begin = int(u * rest)
        return [self._menu + (begin + k) % rest for k in range(self._in)]

    def elsewhere(self, run: int) -> list[str]:
        """URLs in other domains: most of them roots, some deep, some as http."""
        urls = self._elsewhere.get(run)
        if urls is None:
            urls = self._elsewhere[run] = self._draw_elsewhere(run)
        return urls

    def _draw_elsewhere(self, run: int) -> list[str]:
        urls = []
        for k, u in enumerate(self._zipf[run : run + max(0, self._out - 1)]):
            bits = draw(self.spec.seed, run, k)
            site = self.site(int(self.spec.domains**u) - 1)
            as_http = bits & 31 == 1 and not self.spec.plain
            root = "http://" + site.name if as_http else site.root
            number = (bits >> 20) % site.pages if bits & 3 == 2 else 0
            urls.append(root + page_path(number, site.layout))
        return urls

    def discovery(self, place: Place, number: int) -> list[str]:
        """The root of one more domain, any of them: so that all can be found by links."""
        if not self._out:
            return []
        index = draw(self.spec.seed, place.salt, number + 2000) % self.spec.domains
        return [self.site(index).root + "/"]

    def extras(self, place: Place, number: int) -> list[tuple[str, str]]:
        """Specials that a page links to: (URL path, HTML). Spread over the first pages."""
        found: list[tuple[str, str]] = []
        if place.blog:
            return found
        for k, feature in enumerate(place.site.features):
            if k % place.pages == number:
                found += special.entries(feature)
        if number == 0 and place.site.blog_pages:
            url = f"{place.site.scheme}://blog.{place.site.name}/"
            found.append((url, special.link(url)))
        return found

    def special(self, place: Place, path: str) -> special.Special | None:
        """The special page at a path, if this host has it."""
        found = special.SPECIALS.get(path)
        if found is None or place.blog or found.feature not in place.site.features:
            return None
        return found

    def out_target(self, place: Place) -> str:
        """Where the redirect out of the domain leads."""
        other = self.site((place.site.index + 1) % self.spec.domains)
        return other.root + "/"

    # Rules

    def allowed(self, url: str) -> bool | None:
        """Whether a page at that URL may be requested. None: a crawler may do either."""
        parts = urlsplit(url)
        path = parts.path + ("?" + parts.query if parts.query else "")
        place = self.place(parts.hostname or "")
        if place is None:
            if malice.number_of(parts.hostname or "", self.spec.malice) >= 0:
                return None  # their robots.txt is random: what it means is not known here
            return hostile.allowed(parts.hostname or "")
        kind = rules.robots_kind(place.robots)
        return None if kind.undecided else kind.allowed(path)

    def crawl_delay(self, host: str) -> float:
        """Seconds that the robots.txt of a host asks for."""
        place = self.place(host)
        return place.site.crawl_delay if place and not place.blog else 0.0

    # What a correct crawler finds

    @cached_property
    def _walk(self) -> Walk:
        return Walk(self)

    def expected_outcomes(self, *, sitemaps: bool = False) -> dict[str, str]:
        """URL -> what a correct crawler that starts at all domains makes of it; see `walk`."""
        return self._walk.outcomes(sitemaps=sitemaps)

    def expected_pages(self, *, sitemaps: bool = False) -> set[str]:
        """The URLs that it keeps with status 200, trackings folded (see `normal`)."""
        outcomes = self.expected_outcomes(sitemaps=sitemaps)
        return {url for url, outcome in outcomes.items() if outcome == special.OK}

    def compare(self, kept: set[str], *, sitemaps: bool = False) -> tuple[set[str], set[str]]:
        """(missing, surplus) of what a crawler kept; what may go either way is left out."""
        return self._walk.compare(kept, sitemaps=sitemaps)

    @staticmethod
    def normal(url: str) -> str:
        """The URL with trackings folded, as `expected_pages` names it."""
        head, mark, _ = url.partition("?utm_")
        return head if mark else url
