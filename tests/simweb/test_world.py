"""The world against an independent crawler that reads the bytes the server would send."""

import gzip
import re
from dataclasses import replace
from urllib.parse import urljoin, urlsplit

import pytest

from lycosa.errors import UserError
from lycosa.simweb.names import Names
from lycosa.simweb.pages import Pages
from lycosa.simweb.paths import LAYOUTS, page_number, page_path, registrable
from lycosa.simweb.reply import Reply
from lycosa.simweb.spec import DEFAULT_MIX, FEATURES, ROBOTS, WorldSpec
from lycosa.simweb.special import CHARSET_TITLES, SPECIALS
from lycosa.simweb.world import World

_LINK = re.compile(r'<a href="([^"]*)"([^>]*)>')


def split(reply: Reply) -> tuple[str, bytes]:
    head, _, body = reply.data.partition(b"\r\n\r\n")
    text = head.decode("latin-1").lower()
    if "content-encoding: gzip" in text:
        body = gzip.decompress(body)
    if "transfer-encoding: chunked" in text:
        body = re.sub(rb"(?:^|\r\n)[0-9a-f]+\r\n", b"", body)
    return text, body


class ReferenceCrawler:
    """Crawls by what is served; of the world it asks only names and robots rules."""

    def __init__(self, world: World) -> None:
        self.world, self.pages, self.names = world, Pages(world), Names(world, 8)
        self.kept: set[str] = set()
        self.titles: dict[str, str] = {}

    def run(self) -> set[str]:
        todo = [self.start(name) for name in self.world.seeds()]
        seen: set[str] = set()
        while todo:
            url = self.world.normal(todo.pop())
            if url not in seen:
                seen.add(url)
                todo += self.visit(url)
        return self.kept

    def start(self, name: str) -> str:
        group = self.world.resolve(name)
        return f"{'https' if group == 'full' else 'http'}://{name}/"

    def get(self, url: str) -> Reply | None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        group = self.world.resolve(host)
        speaks = ("full",) if parts.scheme == "https" else ("full", "http", "broken")
        if group not in speaks:
            return None
        target = parts.path + ("?" + parts.query if parts.query else "")
        return self.pages.respond(parts.scheme, host, target, gzip=True, keep=True)

    def robots(self, url: str) -> bool:
        """Can robots.txt be had? Three tries, five redirects."""
        for _ in range(3):
            aim = urljoin(url, "/robots.txt")
            for _ in range(6):
                reply = self.get(aim)
                if reply is None or reply.status in (0, 500, 503) or reply.hold > 1e6:
                    break
                if not reply.location:
                    return True
                aim = urljoin(aim, reply.location)
        return False

    def visit(self, url: str) -> list[str]:
        if self.get(url) is None or not self.robots(url) or not self.world.allowed(url):
            return []
        reply = self.get(url)
        while reply and reply.status in (429, 503):
            reply = self.get(url)
        if not reply or reply.reset:
            return []
        if reply.location:
            return [urljoin(url, reply.location)]
        head, body = split(reply)
        if reply.status != 200 or "content-type: text/" not in head:
            return []
        return self.read(url, head, body)

    def read(self, url: str, head: str, body: bytes) -> list[str]:
        charset = re.search(r"charset=([\w-]+)", head) or re.search(
            r'charset="?([\w-]+)', body[:300].decode("latin-1")
        )
        encoding = "utf-16" if body[:2] == b"\xff\xfe" else charset[1] if charset else "utf-8"
        text = body.decode(encoding)
        meta = re.search(r'<meta name="robots" content="([^"]*)"', text, re.I)
        robots = (meta[1] if meta else "") + ("noindex" if "x-robots-tag: noindex" in head else "")
        if "noindex" not in robots:
            self.kept.add(url)
        title = re.search(r"<title>(.*?)</title>", text)
        self.titles[url] = title[1] if title else ""
        base = re.search(r'<base href="([^"]*)"', text)
        root = urljoin(url, base[1]) if base else url
        if "nofollow" in robots:
            return []
        links = [m for m in _LINK.findall(text) if "nofollow" not in m[1]]
        return [urljoin(root, href.replace("&amp;", "&")) for href, _ in links]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_expected_pages_are_what_a_correct_crawler_keeps(seed: int) -> None:
    print("seed", seed)
    world = World(WorldSpec(seed=seed, domains=60, pages=12, links=12, page_bytes=2_000))
    kept = ReferenceCrawler(world).run()
    assert world.compare(kept) == (set(), set())
    assert len(world.expected_pages()) > 300


REAL = WorldSpec(
    domains=40, pages=50, links=122, out_links=0.041, page_bytes=20_000, plain=True, real=True
)


def test_of_a_real_shape_a_correct_crawler_keeps_all_pages() -> None:
    world = World(replace(REAL, domains=12))
    kept = ReferenceCrawler(world).run()
    assert world.compare(kept) == (set(), set())
    assert len(kept) == sum(world.site(index).pages for index in range(12))
    assert {world.site(index).layout for index in range(12)} > {1, 2}


def test_a_real_shape_has_links_as_real_pages_have_them() -> None:
    """100 links, half of them with their host, five to others; URLs of 55 characters."""
    world = World(REAL)
    pages = Pages(world)
    hrefs: list[str] = []
    urls: list[str] = []
    sizes = []
    for index in range(REAL.domains):
        place = world.place(f"d{index:06d}.test")
        assert place is not None
        sizes.append(place.pages)
        for number in (0, 7, place.pages - 1):
            url = place.site.root + page_path(number, place.site.layout)
            found = [
                href.replace("&amp;", "&")
                for href, _ in _LINK.findall(
                    pages.own_part(place, place.site.root, number).decode()
                )
            ]
            hrefs += found
            urls += [urljoin(url, href) for href in found]
    count = 3 * REAL.domains
    own = [url for url, href in zip(urls, hrefs, strict=True) if not href.startswith("http")]
    assert 90 < len(urls) / count < 110
    assert 0.4 < 1 - len(own) / len(urls) < 0.6
    assert any(href.startswith("../") for href in hrefs)
    assert 50 < sum(map(len, urls)) / len(urls) < 60
    assert max(sizes) > 5 * sorted(sizes)[len(sizes) // 2] > 5 * min(sizes) >= 250


def test_paths_of_every_layout_tell_their_number() -> None:
    for layout in range(LAYOUTS + 1):
        for number in range(0, 3000, 7):
            assert page_number(page_path(number, layout), layout) == number
        assert page_number("/no/such-page-3.html", layout) == -1
        assert page_number("/no-number", layout) == -1


def test_every_feature_and_layout_at_once() -> None:
    spec = WorldSpec(domains=5, pages=15, links=10, page_bytes=1_000)
    for robots in ROBOTS:
        if robots in ("robots-loop",):
            continue
        world = World(spec.only(*FEATURES, "blog", "www", "upgrade", robots))
        crawler = ReferenceCrawler(world)
        missing, surplus = world.compare(crawler.run())
        assert (missing, surplus) == (set(), set()), robots
    assert len(SPECIALS) > 30


def test_compare_names_what_is_missing_and_what_is_too_much() -> None:
    world = World(WorldSpec(domains=3, pages=3).only("directives"))
    kept = set(world.expected_pages())
    gone = kept.pop()
    root = world.site(0).root
    kept |= {root + "/hidden/rel.html", root + "/no-such-page"}
    assert world.compare(kept) == (
        {gone},
        {root + "/hidden/rel.html", root + "/no-such-page"},
    )


def test_charset_pages_carry_their_titles() -> None:
    crawler = ReferenceCrawler(World(WorldSpec(domains=2, pages=3).only("charsets")))
    crawler.run()
    root = crawler.world.site(0).root
    for name, title in CHARSET_TITLES.items():
        assert crawler.titles[f"{root}/charset/{name}.html"] == title
        assert f"{root}/end/{name}.html" in crawler.kept


def test_a_plain_world_has_exactly_the_pages_asked_for() -> None:
    world = World(WorldSpec(domains=30, pages=17, plain=True, links=20))
    assert len(world.expected_pages()) == 30 * 17
    assert set(world.expected_outcomes().values()) <= {"ok", "redirect"}


def test_a_sitemap_adds_its_page() -> None:
    world = World(WorldSpec(domains=4, pages=3).only("robots-sitemap"))
    more = world.expected_pages(sitemaps=True) - world.expected_pages()
    assert {url.split("/", 3)[3] for url in more} == {"map/only.html"}


def test_the_same_spec_gives_the_same_web() -> None:
    one, two = (World(WorldSpec(seed=9, domains=50)) for _ in range(2))
    assert [one.site(i) for i in range(50)] == [two.site(i) for i in reversed(range(50))][::-1]
    pages = [Pages(world) for world in (one, two)]
    site = next(one.site(i) for i in range(50) if not one.site(i).fault)
    replies = [
        p.respond(site.scheme, site.main_host, "/", gzip=True, keep=True).data for p in pages
    ]
    assert replies[0] == replies[1]
    assert World(WorldSpec(seed=10, domains=50)).site(3) != one.site(3)


def test_page_sizes_and_links_are_near_what_was_asked() -> None:
    world = World(WorldSpec(domains=20, pages=20, plain=True, page_bytes=20_000, links=60))
    pages, sizes, links = Pages(world), [], []
    for index in range(20):
        for number in range(20):
            site = world.site(index)
            reply = pages.respond(
                site.scheme, site.main_host, page_path(number), gzip=True, keep=True
            )
            _, body = split(reply)
            sizes.append(len(body))
            links.append(body.count(b"<a "))
    assert 17_000 < sum(sizes) / 400 < 23_000
    assert 50 < sum(links) / 400 < 65


def test_links_prefer_few_pages_and_few_domains() -> None:
    world = World(WorldSpec(domains=1000, pages=100, plain=True))
    place = world.place("d000001.test")
    assert place
    inside, outside = world.runs(place, 5)
    targets = [n for run in range(0, 4096, 8) for n in world.popular(100, run)]
    assert targets.count(0) > 5 * targets.count(50) > 0
    assert world.popular(100, inside) and world.elsewhere(outside)


def test_gzip_only_if_asked_for() -> None:
    pages = Pages(World(WorldSpec(domains=1, plain=True, https=0)))
    plain = pages.respond("http", "d000000.test", "/", gzip=False, keep=True)
    packed = pages.respond("http", "d000000.test", "/", gzip=True, keep=True)
    assert b"Content-Encoding" not in plain.data
    assert split(plain)[1] == split(packed)[1]


def test_paths_and_numbers_are_two_ways() -> None:
    for number in [0, 1, 7, 8, 99, 12_345]:
        assert page_number(page_path(number)) == number
    for path in ("/x", "/news/", "/news/9-offer.html", "/-", "", "/news/x-y.html", "/news/٣-a"):
        assert page_number(path) == -1
    assert registrable("blog.d000001.test") == "d000001.test"
    assert registrable("127.0.0.1") == "127.0.0.1"


def test_every_behaviour_can_be_asked_for_and_unknown_ones_are_refused() -> None:
    for name in DEFAULT_MIX:
        WorldSpec(domains=1).only(name)
    with pytest.raises(UserError, match="no-such-thing"):
        WorldSpec().with_mix({"no-such-thing": 0.5})
    with pytest.raises(UserError):
        WorldSpec(https=2)
    spec = WorldSpec(seed=4).with_mix({"nxdomain": 0.5})
    assert WorldSpec.load(spec.dump()) == spec
