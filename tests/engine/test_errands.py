"""robots.txt files in other domains: who asks, who waits, who is told (P2's exception)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lycosa.archive.ledger import Ledger, read_visits, tail
from lycosa.engine import errands
from lycosa.engine.actions import Actions
from lycosa.engine.core import Core, CoreRules
from lycosa.engine.exchange import Exchanger
from lycosa.engine.harvest import Harvest, HarvestRules
from lycosa.engine.ledger_thread import LedgerLines
from lycosa.engine.scheduler import Held, Scheduler
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.visit import Visit
from lycosa.engine.visit_result import Result, VisitRules
from lycosa.frontier.answers import key
from lycosa.frontier.protocol import StoreRules
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.politeness.robots_reply import rules_of
from lycosa.records import Failure, Flag, Request, Response
from lycosa.urls.scope import Scope, ScopeRules
from support.logs import logs_of, urls_in
from support.made import DELAY, link, queued
from support.made import held as made_held

TO_MS = 1_800_000_000_000.0
NOW = 1000.0
SHARED = "192.0.2.9"  # an address
HOUR = 3600.0

Answer = tuple[int, str, bytes] | str  # status, headers, body; or a failure


class Engine:
    """A core on a real store, with time in the test's hands."""

    def __init__(self, world: World) -> None:
        self.world = world
        scope = Scope(ScopeRules(exclude=world.exclude, seeded_only=world.seeded_only))
        harvest = Harvest(HarvestRules(), scope, lambda request: b"", iter(()))
        core_rules = CoreRules(VisitRules(DELAY, sitemaps=True), ip_delay=world.ip_delay)
        self.core = Core(
            core_rules, Scheduler(DELAY, 100), harvest, scope, StoreClock(TO_MS),
            address_of=lambda url: world.address(url),
        )  # fmt: skip
        engine_id = world.store.register("t", 1)
        self.exchanger = Exchanger(world.connect(), engine_id, lambda: world.now, scope=scope)

    def ask(self) -> None:
        reply = self.exchanger.perform(self.core.exchange(self.world.now))
        assert reply.error is None, reply.error
        self.core.absorb(reply, self.world.now)


class World:
    """Engines, one store, and a web in which every answer comes at once."""

    def __init__(
        self,
        path: Path,
        web: Callable[[str], Answer],
        *,
        engines: int = 1,
        exclude: tuple[str, ...] = (),
        seeded_only: bool = False,
        ip_delay: float = 0.0,
        address: Callable[[str], str | None] = lambda url: "",
    ) -> None:
        self.now = NOW
        self.path = path
        self.web = web
        self.exclude = exclude
        self.seeded_only = seeded_only
        self.ip_delay = ip_delay
        self.address = address
        self.asked: list[tuple[float, str]] = []
        self.pinned: list[tuple[str, str]] = []  # URL, and the address that it had to go to
        self.ledger: list[tuple[str, str, int]] = []  # domain, outcome, requests
        self.store = self.connect(create=True)
        self.engines = [Engine(self) for _ in range(engines)]

    def connect(self, create: bool = False) -> SqliteFrontier:
        rules = StoreRules(delay_ms=round(DELAY * 1000), seeded_only=self.seeded_only)
        store = SqliteFrontier(self.path, rules, self.store_ms, create=create)
        store.db.execute("PRAGMA synchronous = OFF")
        return store

    def store_ms(self) -> int:
        return int(self.now * 1000 + TO_MS)

    def seed(self, *urls: str) -> None:
        self.store.add([link(url, flags=Flag.SEED) for url in urls], rank=0)

    def run(self, seconds: float, step: float = 1.0) -> None:
        """Let time pass."""
        end = self.now + seconds
        while self.now < end and not self.store.finished():
            for engine in self.engines:
                engine.ask()
                self._turn(engine.core)
                engine.ask()
            self.now += step

    def _turn(self, core: Core) -> None:
        """What the core wants is done at once; hosts that have to be looked up are at `SHARED`."""
        todo = deque([core.start(self.now)])
        while todo:
            actions = todo.popleft()
            self.note(actions)
            todo += [found(SHARED, self.now) for _, found in actions.lookups]
            for request in actions.requests:
                self.asked.append((self.now, request.url))
                self.pinned.append((request.url, request.only))
                todo.append(core.answer(self.reply(request), self.now))

    def note(self, actions: Actions) -> None:
        self.ledger += [(r.held.name, r.outcome, r.requests) for r in actions.ends]

    def reply(self, request: Request) -> Response:
        response = respond(request, self.web(request.url), self.now)
        response.address = self.address(request.url) or ""
        return response

    def at(self, start: str) -> list[float]:
        """When URLs that begin so were asked for."""
        return [when for when, url in self.asked if url.startswith(start)]

    def outcomes(self) -> dict[str, str]:
        return dict(self.store.db.execute("SELECT url, outcome FROM pages").fetchall())


def respond(request: Request, found: Answer, now: float) -> Response:
    if isinstance(found, str):
        return Response(request, failure=found, started=now, ended=now)
    status, headers, body = found
    head = f"HTTP/1.1 {status} X\r\nContent-Type: text/html\r\n{headers}\r\n".encode()
    return Response(request, status, head, body, started=now, ended=now)


def to(url: str) -> tuple[int, str, bytes]:
    return 302, f"Location: {url}\r\n", b""


MISSING = (404, "", b"")
PAGE = (200, "", b"<p>hello")


def web_of(answers: Mapping[str, Answer]) -> Callable[[str], Answer]:
    return lambda url: answers.get(url, MISSING if url.endswith("robots.txt") else PAGE)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def world(answers: Mapping[str, Answer], **options: Any) -> World:
        made.append(World(tmp_path / "crawl.sqlite", web_of(answers), **options))
        return made[-1]

    yield world
    for each in made:
        each.store.close()


Make = Callable[..., World]


def gaps(times: list[float]) -> list[float]:
    return [after - before for before, after in pairwise(times)]


# -- one at a time, then the delay ----------------------------------------------------------------


def test_different_urls_of_one_victim_are_a_delay_apart(make: Make) -> None:
    world = make(
        {f"https://a{n}.test/robots.txt": to(f"https://victim.test/{n}") for n in range(6)}
    )
    world.seed(*(f"https://a{n}.test/" for n in range(6)))
    world.run(2 * HOUR)
    times = world.at("https://victim.test/")
    assert len(times) == 6
    assert min(gaps(times)) >= DELAY
    assert set(world.outcomes().values()) == {"ok"}


def test_it_is_never_beside_a_visit_of_the_target(make: Make) -> None:
    """The victim has pages of its own: between its visits and errands lies the delay."""
    answers = {f"https://a{n}.test/robots.txt": to(f"https://victim.test/{n}") for n in range(4)}
    world = make(answers, engines=3)
    world.seed(*(f"https://victim.test/page/{n}" for n in range(5)))
    world.seed(*(f"https://a{n}.test/" for n in range(4)))
    world.run(2 * HOUR)
    times = list(dict.fromkeys(world.at("https://victim.test/")))
    assert len(world.at("https://victim.test/")) == 5 + 1 + 4
    assert len(times) == 9  # its robots.txt and the first page are one visit
    assert min(gaps(times)) >= DELAY


def test_hosts_of_one_victim_share_its_delay(make: Make) -> None:
    """The bound is for the registrable domain: ports, schemes and subdomains don't help."""
    aims = [
        "https://victim.test/r", "http://victim.test/r", "https://www.victim.test/r",
        "http://x.y.victim.test:8080/r", "https://victim.test./r", "https://VICTIM.test/R",
    ]  # fmt: skip
    world = make({f"https://a{n}.test/robots.txt": to(aim) for n, aim in enumerate(aims)})
    world.seed(*(f"https://a{n}.test/" for n in range(len(aims))))
    world.run(2 * HOUR)
    times = sorted(when for when, url in world.asked if "victim" in url)
    assert len(times) == len(aims)
    assert min(gaps(times)) >= DELAY


def test_a_chain_in_the_other_domain_takes_a_delay_for_each_step(make: Make) -> None:
    world = make(
        {
            "https://a.test/robots.txt": to("https://b.test/1"),
            "https://b.test/1": to("https://b.test/2"),
            "https://b.test/2": to("https://c.test/3"),
            "https://c.test/3": (200, "", b"User-agent: *\nDisallow: /no"),
        }
    )
    world.seed("https://a.test/", "https://a.test/no")
    world.run(HOUR)
    assert [url for _, url in world.asked] == [
        "https://a.test/robots.txt", "https://b.test/1", "https://b.test/2", "https://c.test/3",
        "https://a.test/",
    ]  # fmt: skip
    assert min(gaps(world.at("https://b.test/"))) >= DELAY
    assert world.outcomes() == {"https://a.test/": "ok", "https://a.test/no": "robots"}


def test_retry_after_holds_for_the_target(make: Make) -> None:
    world = make(
        {
            "https://a.test/robots.txt": to("https://victim.test/r"),
            "https://b.test/robots.txt": to("https://victim.test/s"),
            "https://victim.test/r": (503, "Retry-After: 600\r\n", b""),
        }
    )
    world.seed("https://a.test/", "https://b.test/")
    world.run(HOUR)
    times = world.at("https://victim.test/")
    assert len(times) >= 2
    first = world.at("https://victim.test/r")[0]
    after = [t for t in times if t > first]
    assert min(after) - first >= 600


@pytest.mark.parametrize("known", [True, False])
def test_one_at_a_time_at_an_address(make: Make, known: bool) -> None:
    """Different victims at one address: engines share its slot, and pause."""
    answers = {f"https://a{n}.test/robots.txt": to(f"https://v{n}.test/r") for n in range(8)}
    there = SHARED if known else None  # or it has to be looked up first
    world = make(answers, engines=2, ip_delay=3.0, address=lambda url: there if "/v" in url else "")
    world.seed(*(f"https://a{n}.test/" for n in range(8)))
    world.run(HOUR, step=0.5)
    times = sorted(when for when, url in world.asked if "//v" in url)
    assert len(times) == 8
    assert min(gaps(times)) >= 3.0
    assert set(world.outcomes().values()) == {"ok"}


def test_an_errand_goes_to_the_address_it_has_the_slot_of(make: Make) -> None:
    """Or a name with two addresses would bring it to one that somebody else's errand is at."""
    world = make(
        {"https://a.test/robots.txt": to("https://v.test/r")},
        address=lambda url: "192.0.2.9" if "v.test" in url else "",
    )
    world.seed("https://a.test/")
    world.run(HOUR)
    assert ("https://v.test/r", "192.0.2.9") in world.pinned
    assert ("https://a.test/", "") in world.pinned


# -- excluded, or out of scope --------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["victim.test", "www.victim.test", ".test", "*.victim.test/*", "www.victim.test/r*"]
)
def test_an_excluded_target_is_unreachable(make: Make, line: str) -> None:
    world = make(
        {"https://a.example/robots.txt": to("https://www.victim.test/r.txt")}, exclude=(line,)
    )
    world.seed("https://a.example/")
    world.run(3 * HOUR)
    assert world.store.finished()
    assert world.at("https://www.victim.test/") == []
    assert world.outcomes() == {"https://a.example/": "robots-unreachable"}


def test_a_target_at_the_end_of_a_chain_is_refused_too(make: Make) -> None:
    world = make(
        {
            "https://a.test/robots.txt": to("https://b.test/r"),
            "https://b.test/r": to("https://victim.test/r"),
        },
        exclude=("victim.test",),
    )
    world.seed("https://a.test/")
    world.run(3 * HOUR)
    assert world.at("https://victim.test/") == []
    assert world.outcomes() == {"https://a.test/": "robots-unreachable"}


def test_an_exclusion_in_the_middle_of_the_crawl_holds(make: Make) -> None:
    """Errands that wait already are dropped, and who asked for them hears of it."""
    world = make(
        {f"https://a{n}.test/robots.txt": to(f"https://victim.test/{n}") for n in range(5)}
    )
    world.seed(*(f"https://a{n}.test/" for n in range(5)))
    world.run(200.0)
    before = len(world.at("https://victim.test/"))
    assert before == 2
    world.store.put_exclusions(["victim.test"])
    world.store.put_settings({"rules_version": 7})
    world.run(5 * HOUR)
    assert world.store.finished()
    assert len(world.at("https://victim.test/")) == before
    counts = list(world.outcomes().values())
    assert counts.count("ok") <= 2  # who had not heard the answer before does not use it now
    assert counts.count("robots-unreachable") == 5 - counts.count("ok")


def test_only_seeded_domains_are_asked_in_a_seeded_crawl(make: Make) -> None:
    world = make(
        {
            "https://a.test/robots.txt": to("https://victim.test/r"),
            "https://b.test/robots.txt": to("https://a.test/r"),
        },
        seeded_only=True,
    )
    world.seed("https://a.test/", "https://b.test/")
    world.run(5 * HOUR)
    assert world.at("https://victim.test/") == []
    assert world.outcomes() == {
        "https://a.test/": "robots-unreachable",
        "https://b.test/": "ok",  # its target is a seed
    }
    known = world.store.db.execute("SELECT name FROM domains ORDER BY name").fetchall()
    assert known == [("a.test",), ("b.test",)]


# -- in the ledger --------------------------------------------------------------------------------


def test_each_is_a_visit_in_the_ledger(make: Make) -> None:
    world = make({f"https://a{n}.test/robots.txt": to(f"https://v.test/{n}") for n in range(3)})
    world.seed(*(f"https://a{n}.test/" for n in range(3)))
    world.run(HOUR)
    assert [entry for entry in world.ledger if entry[0] == "v.test"] == [
        ("v.test", "robots-for-others", 1)
    ] * 3
    # And the visits of those who asked don't claim it as theirs.
    assert all(requests <= 2 for name, _, requests in world.ledger if name.startswith("a"))


# -- waiting --------------------------------------------------------------------------------------


def test_who_waits_has_not_failed(make: Make) -> None:
    """Forty wait for one victim: longer than any back-off would have patience for."""
    world = make(
        {f"https://a{n}.test/robots.txt": to(f"https://v.test/{n}") for n in range(40)}, engines=2
    )
    world.seed(*(f"https://a{n}.test/" for n in range(40)))
    world.run(20 * DELAY)
    failures = world.store.db.execute("SELECT sum(failures) FROM origins").fetchone()
    assert failures == (0,)
    assert "robots-unreachable" not in world.outcomes().values()
    queued = [url for url in urls_in(logs_of(world.store)) if url.startswith("https://a")]
    assert len(queued) + len(world.outcomes()) == 40
    world.run(40 * HOUR)
    assert set(world.outcomes().values()) == {"ok"} and len(world.outcomes()) == 40
    for engine in world.engines:
        counted = engine.core.stats.to_dict()
        told = {name: counted[name] for name in ("failed_visits", "retries") if name in counted}
        assert not any(told.values()), told  # no visit of theirs is shown as a failure either


def test_a_victim_with_much_to_visit_is_fair_to_both(make: Make) -> None:
    """Its pages don't wait for those who send us there, nor do these for its pages."""
    world = make({f"https://a{n}.test/robots.txt": to(f"https://v.test/r/{n}") for n in range(40)})
    world.seed(*(f"https://v.test/page/{n}" for n in range(100)))
    world.run(3 * DELAY)
    world.seed(*(f"https://a{n}.test/" for n in range(40)))
    world.run(20 * DELAY)
    errands, pages = len(world.at("https://v.test/r/")), len(world.at("https://v.test/page/"))
    assert errands >= 5 and pages >= 8


def test_two_that_send_us_to_each_other_end(make: Make) -> None:
    world = make(
        {
            "https://a.test/robots.txt": to("https://b.test/of-a"),
            "https://b.test/robots.txt": to("https://a.test/of-b"),
            "https://a.test/of-b": (200, "", b"User-agent: *\nDisallow: /no"),
        }
    )
    world.seed("https://a.test/", "https://b.test/", "https://b.test/no")
    world.run(5 * HOUR)
    assert world.outcomes() == {
        "https://a.test/": "ok", "https://b.test/": "ok", "https://b.test/no": "robots",
    }  # fmt: skip


@pytest.mark.parametrize(
    "aims",
    [
        ["https://b.test/r", "https://a.test/robots.txt"],  # and back again, for ever
        ["https://b.test/r", "https://b.test/r"],
        [f"https://b{n}.test/r" for n in range(20)],
    ],
)
def test_redirects_without_end_end_after_five(make: Make, aims: list[str]) -> None:
    answers = {}
    for here, there in zip(["https://a.test/robots.txt", *aims], aims, strict=False):
        answers[here] = to(there)
    world = make(answers)
    world.seed("https://a.test/")
    world.run(12 * HOUR)
    assert world.store.finished()
    assert world.outcomes() == {"https://a.test/": "ok"}
    asked = [url for _, url in world.asked if url != "https://a.test/"]
    assert len(asked) <= 6


@pytest.mark.parametrize("bad", [(500, "", b""), (429, "", b""), Failure.CONNECT, Failure.NXDOMAIN])
def test_an_answer_that_can_not_be_had_counts_like_ones_own(make: Make, bad: Answer) -> None:
    world = make({"https://a.test/robots.txt": to("https://b.test/r"), "https://b.test/r": bad})
    world.seed("https://a.test/")
    world.run(24 * HOUR)
    assert world.outcomes() == {"https://a.test/": "robots-unreachable"}
    assert len(world.at("https://b.test/r")) == 4  # at once, and after 1, 4 and 16 delays
    assert world.store.finished()


def test_a_fault_of_ours_costs_nobody_anything(make: Make) -> None:
    answers: dict[str, Answer] = {
        "https://a.test/robots.txt": to("https://b.test/r"),
        "https://b.test/r": Failure.LOCAL,
    }
    world = make(answers)
    world.seed("https://a.test/")
    world.run(20 * DELAY)
    assert world.outcomes() == {}
    answers["https://b.test/r"] = (200, "", b"")
    world.run(HOUR)
    assert world.outcomes() == {"https://a.test/": "ok"}


def test_a_page_cap_of_the_target_is_not_for_errands(make: Make) -> None:
    """Nor does what a purge of its queue leaves of it make anybody wait for ever."""
    world = make({f"https://a{n}.test/robots.txt": to(f"https://v.test/{n}") for n in range(3)})
    for engine in world.engines:
        engine.core.harvest.rules = HarvestRules(max_pages_per_domain=1)
    world.seed("https://v.test/x", "https://v.test/y", *(f"https://a{n}.test/" for n in range(3)))
    world.run(6 * HOUR)
    assert world.store.finished()
    assert [world.outcomes()[f"https://a{n}.test/"] for n in range(3)] == ["ok"] * 3


# -- sharing --------------------------------------------------------------------------------------


def test_an_answer_serves_everyone_for_an_hour(make: Make) -> None:
    """A thousand origins that redirect to one place cost it one request an hour."""
    names = [f"a{n}.test" for n in range(50)]
    answers = {f"https://{name}/robots.txt": to("https://home.test/r") for name in names}
    world = make(answers, engines=2)
    world.seed(*(f"https://{name}/" for name in names))
    world.run(10 * DELAY)
    assert len(world.at("https://home.test/")) == 1
    assert len(world.outcomes()) == 50
    answers["https://late.test/robots.txt"] = to("https://home.test/r")
    answers["https://later.test/robots.txt"] = to("https://home.test/r")
    world.now = NOW + HOUR - DELAY
    world.seed("https://late.test/")
    world.run(5 * DELAY)
    assert world.outcomes()["https://late.test/"] == "ok"
    assert len(world.at("https://home.test/")) == 1
    world.now = NOW + 2 * HOUR
    world.seed("https://later.test/")
    world.run(5 * DELAY)
    assert len(world.at("https://home.test/")) == 2


def test_its_rules_are_for_those_who_asked_only(make: Make) -> None:
    """Neither the target nor anybody else obeys them, and its own file is still asked for."""
    world = make(
        {
            "https://a.test/robots.txt": to("https://b.test/robots.txt"),
            "https://b.test/robots.txt": (200, "", b"User-agent: *\nDisallow: /x"),
        }
    )
    world.seed("https://a.test/x", "https://c.test/x")
    world.run(5 * DELAY)
    world.seed("https://b.test/y")
    world.run(5 * DELAY)
    assert world.outcomes() == {
        "https://a.test/x": "robots", "https://c.test/x": "ok", "https://b.test/y": "ok",
    }  # fmt: skip
    assert len(world.at("https://b.test/robots.txt")) == 2
    assert min(gaps(sorted(set(world.at("https://b.test/"))))) >= DELAY


# -- what else sends us elsewhere -----------------------------------------------------------------

VICTIM = "https://victim.test"
PAGES: dict[str, tuple[int, str, bytes]] = {
    "redirect": to(f"{VICTIM}/page"),
    "link": (200, "", f'<a href="{VICTIM}/page">x</a>'.encode()),
    "refresh": (200, "", f'<meta http-equiv="refresh" content="0;url={VICTIM}/page">'.encode()),
    "canonical": (200, "", f'<link rel="canonical" href="{VICTIM}/page">'.encode()),
    "header": (200, f"Link: <{VICTIM}/page>; rel=next\r\nRefresh: 0;url={VICTIM}/page\r\n", b""),
    "base": (200, "", f'<base href="{VICTIM}/"><a href="page">x</a>'.encode()),
    "image": (200, "", f'<img src="{VICTIM}/page"><iframe src="{VICTIM}/page"></iframe>'.encode()),
}  # fmt: skip


@pytest.mark.parametrize("how", sorted(PAGES))
def test_a_page_can_only_queue_what_it_points_to(make: Make, how: str) -> None:
    """Thirty origins at once: whatever follows is the target's own visit, after its robots.txt."""
    answers = {f"https://a{n}.test/": PAGES[how] for n in range(30)}
    world = make(answers, engines=2)
    world.seed(*(f"https://a{n}.test/" for n in range(30)))
    world.run(HOUR)
    asked = [url for _, url in world.asked if url.startswith(VICTIM)]
    assert asked in ([], [f"{VICTIM}/robots.txt", f"{VICTIM}/page"])
    assert all(name != "victim.test" or requests == 2 for name, _, requests in world.ledger)


def test_different_pages_of_one_target_are_a_delay_apart(make: Make) -> None:
    answers = {f"https://a{n}.test/": to(f"{VICTIM}/{n}") for n in range(10)}
    world = make(answers, engines=3)
    world.seed(*(f"https://a{n}.test/" for n in range(10)))
    world.run(HOUR)
    visits = sorted(set(world.at(VICTIM)))
    assert len(visits) == 10 and min(gaps(visits)) >= DELAY


@pytest.mark.parametrize(
    "sitemap",
    [
        f"<sitemapindex><sitemap><loc>{VICTIM}/s.xml</loc></sitemap></sitemapindex>",
        f"<urlset><url><loc>{VICTIM}/page</loc></url></urlset>",
        f"{VICTIM}/page\n{VICTIM}/other",
    ],
)
def test_a_sitemap_speaks_for_its_own_site(make: Make, sitemap: str) -> None:
    robots = (200, "", f"Sitemap: https://a.test/s.xml\nSitemap: {VICTIM}/t.xml".encode())
    world = make(
        {
            "https://a.test/robots.txt": robots,
            "https://a.test/s.xml": (200, "", sitemap.encode()),
        }
    )
    world.seed("https://a.test/")
    world.run(HOUR)
    assert "https://a.test/s.xml" in [url for _, url in world.asked]
    assert world.at(VICTIM) == []


def test_a_sitemap_that_redirects_away_only_queues_it(make: Make) -> None:
    world = make(
        {
            "https://a.test/robots.txt": (200, "", b"Sitemap: https://a.test/s.xml"),
            "https://a.test/s.xml": to(f"{VICTIM}/s.xml"),
            f"{VICTIM}/robots.txt": (200, "", b"User-agent: *\nDisallow: /"),
        }
    )
    world.seed("https://a.test/")
    world.run(HOUR)
    assert [url for _, url in world.asked if "victim" in url] == [f"{VICTIM}/robots.txt"]


def test_from_https_to_http_stays_with_the_host(make: Make) -> None:
    """A bare seed whose https fails, and whose http redirects away: not in this visit."""
    world = make(
        {
            "https://a.test/robots.txt": Failure.TLS,
            "http://a.test/robots.txt": MISSING,
            "http://a.test/": to(f"{VICTIM}/"),
        }
    )
    world.store.add([link("https://a.test/", flags=Flag.BARE | Flag.SEED)], rank=0)
    world.run(HOUR)
    first = [name for name, _, _ in world.ledger][:1]
    assert first == ["a.test"]
    assert [url for _, url in world.asked if "victim" in url] == [
        f"{VICTIM}/robots.txt", f"{VICTIM}/",
    ]  # fmt: skip
    assert ("victim.test", "fetched", 2) in world.ledger


def test_a_failure_elsewhere_is_no_reason_for_http(make: Make) -> None:
    """The host speaks https: that another one does not has nothing to do with it."""
    world = make(
        {"https://a.test/robots.txt": to("https://b.test/r"), "https://b.test/r": Failure.TLS}
    )
    world.store.add([link("https://a.test/", flags=Flag.BARE | Flag.SEED)], rank=0)
    world.run(24 * HOUR)
    assert world.at("http://a.test/") == []
    assert world.outcomes() == {"https://a.test/": "robots-unreachable"}


# -- many hosts at one address --------------------------------------------------------------------


def at_address(world: World, part: str) -> list[float]:
    return sorted(when for when, url in world.asked if part in url)


@pytest.mark.parametrize("known", [True, False])
def test_domains_at_one_address_take_turns(make: Make, known: bool) -> None:
    world = make({}, ip_delay=2.0, address=lambda url: SHARED if known else None)
    world.seed(*(f"https://a{n}.test/" for n in range(10)))
    world.run(HOUR, step=0.5)
    visits = sorted(set(at_address(world, "//a")))
    assert len(visits) == 10 and min(gaps(visits)) >= 2.0


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("where", ["robots.txt", ""])
def test_no_domain_leads_to_an_address_out_of_turn(make: Make, known: bool, where: str) -> None:
    """Each has a host at the same address, and redirects there in the middle of a visit."""
    answers = {f"https://a{n}.test/{where}": to(f"https://x.a{n}.test/r") for n in range(10)}

    def address(url: str) -> str | None:
        return (SHARED if known else None) if "//x." in url else f"198.51.100.{url[9]}"

    world = make(answers, ip_delay=2.0, address=address)
    world.seed(*(f"https://a{n}.test/" for n in range(10)))
    world.run(3 * HOUR, step=0.5)
    visits = sorted(set(at_address(world, "//x.")))
    assert len(visits) >= 10 and min(gaps(visits)) >= 2.0
    assert world.store.finished()
    if not where:
        assert {url for url, outcome in world.outcomes().items() if outcome == "ok"} == {
            f"https://x.a{n}.test/r" for n in range(10)
        }


def test_a_neighbour_at_the_same_address_is_reached_in_the_same_visit(make: Make) -> None:
    world = make(
        {"https://a.test/": to("https://www.a.test/")}, ip_delay=2.0, address=lambda url: SHARED
    )
    world.seed("https://a.test/")
    world.run(HOUR)
    assert world.ledger == [("a.test", "fetched", 4)]


# -- one visit ------------------------------------------------------------------------------------


def visit_of(held: Held, answers: Mapping[str, Answer]) -> Result:
    visit = Visit(held, VisitRules(DELAY), Scope(ScopeRules()), NOW, StoreClock(TO_MS))
    request = visit.begin()
    while request is not None:
        request = visit.resume(respond(request, answers.get(request.url, MISSING), NOW))
    return visit.result


def domain(name: str, *urls: str, flags: int = 0) -> Held:
    return made_held(name, [queued(u, order=n, flags=flags) for n, u in enumerate(urls)])


def test_a_visit_does_not_leave_its_domain() -> None:
    result = visit_of(
        domain("a.test", "https://a.test/"),
        {
            "https://a.test/robots.txt": to("https://www.a.test/robots.txt"),
            "https://www.a.test/robots.txt": to("https://other.test/r.txt"),
        },
    )
    assert result.requests == 2
    assert [url for url, _ in result.errands] == ["https://other.test/r.txt"]
    assert [url.url for url, _, _ in result.deferred] == ["https://a.test/"]
    assert not result.failed and not result.purges


def test_an_errand_is_the_only_request_of_its_visit() -> None:
    """Though the domain has pages and neighbours' errands to go on with."""
    held = domain("b.test", "https://b.test/1", "https://b.test/2", flags=Flag.ERRAND)
    held.run.append(queued("https://b.test/page", order=3))
    result = visit_of(held, {"https://b.test/1": (200, "", b"User-agent: *\nDisallow: /")})
    assert result.requests == 1
    assert [answer.url for answer in result.answers] == ["https://b.test/1"]
    assert [url.url for url in held.run] == ["https://b.test/2", "https://b.test/page"]
    assert not held.origins  # what it says is not for this domain


# -- what goes wrong on the way --------------------------------------------------------------------


def held_up(world: World) -> None:
    """The askers have asked; the first engine leases nothing more, so the errands stay queued."""
    (engine,) = world.engines
    engine.ask()
    world._turn(engine.core)
    engine.core.scheduler.domains_to_ask_for = lambda now, lag: 0  # type: ignore[method-assign]
    engine.ask()
    world.engines.append(Engine(world))


def test_who_waits_for_an_errand_that_is_poison_hears_of_it(make: Make) -> None:
    """It has killed two engines: it is not made again, and is nobody's page."""
    world = make({"https://a.test/robots.txt": to("https://v.test/r")})
    world.seed("https://a.test/")
    held_up(world)
    ident, fp = key("https://v.test/r")
    assert [world.store.note_crash(ident, 0, fp) for _ in range(2)] == [True, True]
    world.run(48 * HOUR, step=20.0)
    assert world.store.finished()
    assert set(world.outcomes()) == {"https://a.test/"}


def test_who_waits_for_an_errand_that_met_a_fault_of_ours_hears_of_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(response: Response, agent: str) -> object:
        if response.body == b"boom":
            raise ValueError("boom")
        return rules_of(response, agent)

    monkeypatch.setattr(errands, "rules_of", faulty)
    answers = {"https://a.test/robots.txt": to("https://v.test/r")}
    world = make({**answers, "https://v.test/r": (200, "", b"boom")})
    world.seed("https://a.test/")
    world.run(48 * HOUR, step=20.0)
    assert world.store.finished()
    assert world.outcomes() == {"https://a.test/": "robots-unreachable"}


def test_an_errand_behind_one_that_is_dropped_asks_for_its_own_address(make: Make) -> None:
    """The first URL of a visit was asked about its address; what follows it lies elsewhere."""
    there = {"a.v.": "192.0.2.1", "b.v.": "192.0.2.2"}
    world = make(
        {f"https://x{n}.test/robots.txt": to(f"https://{n}.v.test/r") for n in "ab"},
        address=lambda url: there.get(url[8:12], ""),
    )
    world.seed("https://xa.test/", "https://xb.test/")
    held_up(world)
    world.now += 1000
    world.engines[1].core.scope = Scope(ScopeRules(exclude=("a.v.test",)))
    world.run(HOUR)
    assert [each for each in world.pinned if ".v.test" in each[0]] == [
        ("https://b.v.test/r", "192.0.2.2")
    ]


@pytest.mark.parametrize("line", ["v.test", "*.test/r*"])
def test_an_exclusion_keeps_no_errand_to_be_queued_again(make: Make, line: str) -> None:
    """Who waited for it is told, and asks anew: queued again it would be for nobody."""
    world = make({"https://a.example/robots.txt": to("https://v.test/r")})
    world.seed("https://a.example/")
    held_up(world)
    world.seed("https://v.test/r/page")
    world.store.put_exclusions([line])
    world.store.put_settings({"rules_version": 7})
    world.run(5 * HOUR, step=5.0)
    assert world.outcomes() == {"https://a.example/": "robots-unreachable"}
    left = world.store.db.execute("SELECT url FROM left_out").fetchall()
    assert left == [("https://v.test/r/page",)]


# -- those who wait for an address ----------------------------------------------------------------


def test_nobody_is_left_waiting_for_an_address_that_a_name_has_left(make: Make) -> None:
    """A name moves while its domain waits its turn: then it waits where it is now."""
    moved: list[bool] = []
    world = make(
        {}, ip_delay=2.0, address=lambda url: "192.0.2.8" if moved and "//b" in url else SHARED
    )
    world.seed(*(f"https://{name}{n}.test/" for n in range(5) for name in "ab"))
    world.run(3.0, step=0.5)
    core = world.engines[0].core
    assert core.crowded()[SHARED] >= 4
    moved.append(True)
    world.run(HOUR, step=0.5)
    assert core.crowded() == {}
    for part in ("//a", "//b"):
        assert min(gaps(sorted(set(at_address(world, part))))) >= 2.0


# -- the delay that an answer asks for ------------------------------------------------------------

SLOW = (200, "", b"User-agent: *\nDisallow: /no\nCrawl-delay: 600")


def test_a_delay_learnt_without_a_request_is_kept(make: Make) -> None:
    """All that is queued is forbidden; what comes later finds the delay in force."""
    world = make({"https://a.test/robots.txt": to("https://v.test/r"), "https://v.test/r": SLOW})
    world.seed("https://a.test/no/1")
    world.run(HOUR)
    assert world.outcomes() == {"https://a.test/no/1": "robots"}
    world.seed("https://a.test/1", "https://a.test/2")
    world.run(2 * HOUR)
    times = sorted([*world.at("https://a.test/1"), *world.at("https://a.test/2")])
    assert len(times) == 2 and gaps(times)[0] >= 600.0


def test_a_delay_learnt_from_an_answer_is_in_the_ledger_before_the_request(
    make: Make, tmp_path: Path
) -> None:
    """A kill before the response must not forget it."""
    world = make({"https://a.test/robots.txt": to("https://v.test/r"), "https://v.test/r": SLOW})
    world.seed("https://a.test/1")
    ledger = Ledger(tmp_path, 1, 1 << 20)
    ledger_lines = LedgerLines(ledger, DELAY, StoreClock(TO_MS))
    plain = world.reply

    def note(actions: Actions) -> None:
        ledger_lines.note_starts(actions.starts)
        ledger_lines.note_delays(actions.delays)
        ledger.write()

    def reply(request: Request) -> Response:
        if request.url == "https://a.test/1":
            raise KeyboardInterrupt  # killed
        return plain(request)

    world.note, world.reply = note, reply  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        world.run(HOUR)
    ledger.close()
    cut_off = [visit for visit in read_visits(tmp_path) if visit.domain == "a.test"][-1]
    assert cut_off.learned_ms == 600_000
    assert tail(tmp_path, {}, [1])["a.test"].delay_ms == 600_000


def test_a_detour_to_a_crowded_address_gets_there_in_the_end(make: Make) -> None:
    """More domains wait there than it has room for: there is always somebody in line."""
    world = make(
        {"https://a.test/robots.txt": to("https://x.a.test/r")},
        ip_delay=2.0,
        address=lambda url: "198.51.100.1" if "//a." in url else SHARED,
    )
    world.seed(*(f"https://b{n}.test/{page}" for n in range(50) for page in range(60)))
    world.run(60.0, step=0.5)
    world.seed("https://a.test/")
    world.run(HOUR, step=0.25)
    assert world.outcomes()["https://a.test/"] == "ok"
    assert len(world.at("https://a.test/robots.txt")) < 20
    assert min(gaps(sorted(set(at_address(world, "//b") + at_address(world, "//x."))))) >= 2.0


def test_an_errand_to_a_crowded_address_is_made_in_turn(make: Make) -> None:
    """A slot is not held for as long as one may have to wait for a turn there."""
    world = make(
        {f"https://a{n}.test/robots.txt": to(f"https://v{n}.test/r") for n in range(3)},
        engines=2,
        ip_delay=2.0,
        address=lambda url: SHARED if url[8] in "bv" else "",
    )
    world.seed(*(f"https://b{n}.test/{page}" for n in range(80) for page in range(30)))
    world.run(60.0, step=0.5)
    world.seed(*(f"https://a{n}.test/" for n in range(3)))
    world.run(1800.0, step=0.5)
    assert [world.outcomes().get(f"https://a{n}.test/") for n in range(3)] == ["ok"] * 3
    assert min(gaps(sorted(at_address(world, "//v")))) >= 2.0
