"""Planted violations: each kind must be found and named; a clean history must pass."""

import math
from typing import Any

import pytest

from lycosa.simweb.check import Report, check
from lycosa.simweb.reqlog import Entry
from lycosa.simweb.spec import WorldSpec
from lycosa.simweb.world import World

AGENT = "lycosa/1.0 (+https://example.org/; mailto:crawl@example.org)"
DELAY = 1.0
HOST = "d000000.test"


def world(*names: str) -> World:
    return World(WorldSpec(domains=4, pages=30, https=0, delay=2.0).only(*names))


class Log:
    """Builds a history: each call is one request, `gap` seconds after the end of the last."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.now = 1000.0

    def __call__(
        self, target: str, gap: float = 0.0, *, host: str = HOST, status: int = 200,
        to: str = "", scheme: str = "http", took: float = 0.1, agent: str = AGENT, retry: int = 0,
    ) -> "Log":  # fmt: skip
        start = self.now + gap
        self.now = start + took
        self.entries.append(Entry(start, self.now, scheme, host, target, status, to, retry, agent))
        return self

    def robots(self, gap: float = 0.0, **more: Any) -> "Log":
        return self("/robots.txt", gap, **more)


def judge(log: Log, in_world: World | None = None) -> Report:
    return check(log.entries, in_world or world(), DELAY)


def found(log: Log, in_world: World | None = None) -> list[str]:
    return sorted(judge(log, in_world).kinds())


def test_a_clean_history_passes() -> None:
    log = Log().robots()("/")("/go/home", 1.0, status=301, to="/")("/")
    log("/a", 1.2, status=404)("/b", 0.996).robots(1.0, host="blog." + HOST)(
        "/", host="blog." + HOST
    )
    report = judge(log)
    assert report.violations == []
    assert (report.requests, report.robots, report.pages, report.visits) == (8, 2, 6, 5)
    assert report.domains == 1
    assert report.agents == [AGENT]
    assert "polite" in report.text().splitlines()[-1]


def test_two_domains_do_not_disturb_each_other() -> None:
    log = Log().robots()("/").robots(host="d000001.test")("/", host="d000001.test")
    assert found(log) == []


def test_second_page_in_a_visit() -> None:
    assert found(Log().robots()("/")("/a", 0.5)) == ["P1 second-page"]


def test_just_too_soon_and_just_late_enough() -> None:
    assert found(Log().robots()("/")("/a", 0.994)) == ["P1 second-page"]
    assert found(Log().robots()("/")("/a", 0.9951)) == []


def test_pages_of_two_hosts_are_pages_of_one_domain() -> None:
    log = Log().robots()("/").robots(1.0, host="www." + HOST)("/a", host="www." + HOST)
    assert found(log) == []
    assert found(log("/b", 0.2)) == ["P1 second-page"]


def test_robots_of_another_host_after_the_page_is_a_new_visit() -> None:
    log = Log().robots()("/").robots(0.2, host="blog." + HOST)
    assert found(log) == ["P1 robots-again"]


def test_robots_of_two_origins_without_need() -> None:
    assert found(Log().robots().robots(host="blog." + HOST)) == ["P1 robots-again"]


def test_robots_twice() -> None:
    assert found(Log().robots(status=503).robots(0.1)) == ["P1 robots-again"]
    assert found(Log().robots(status=503).robots(1.0)) == []


def test_redirects_in_the_domain_are_followed_at_once() -> None:
    log = Log().robots()
    for step in range(5):
        log(f"/s{step}", status=302, to=f"/s{step + 1}")
    assert found(log("/s5", status=302, to="/s6")) == []
    assert found(log("/s6")) == ["P1 too-many-hops"]


def test_a_redirect_to_another_host_of_the_domain_asks_its_robots() -> None:
    to = f"http://www.{HOST}/"
    log = Log().robots()("/", status=301, to=to).robots(host="www." + HOST)("/", host="www." + HOST)
    assert found(log) == []


def test_a_page_that_is_not_the_redirects_aim() -> None:
    assert found(Log().robots()("/", status=301, to="/a")("/b")) == ["P1 second-page"]


def test_a_redirected_robots_txt_is_followed_up_to_five_times() -> None:
    log = Log().robots(status=301, to="/r1")
    for step in range(1, 5):
        log(f"/r{step}", status=301, to=f"/r{step + 1}")
    assert found(log("/r5", status=301, to="/r6")) == []
    assert found(log("/r6")) == ["P1 too-many-robots-hops"]


def test_http_after_failed_https_in_the_same_visit_once() -> None:
    log = Log().robots(scheme="https", status=0).robots()("/")
    assert found(log) == []
    log = Log().robots(scheme="https")("/", scheme="https", status=0).robots()("/")
    assert found(log) == []
    log = Log().robots(scheme="https")("/", scheme="https").robots()("/")
    assert "P1 robots-again" in found(log)


def test_a_resend_after_an_empty_reply_is_listed_and_a_second_one_is_blamed() -> None:
    log = Log().robots()("/a", status=0)("/a", status=0)
    assert judge(log).resends == [f"http://{HOST}/a"]
    assert found(log) == []
    assert found(log("/a", status=0)) == ["P1 second-page"]


def test_crawl_delay_counts_once_it_was_served() -> None:
    slow = world("robots-crawl-delay")
    index = next(i for i in range(4) if slow.site(i).crawl_delay >= 2)
    host = slow.site(index).name
    asked = slow.site(index).crawl_delay
    log = Log().robots(host=host)("/", host=host)("/news/8-market.html", 1.5, host=host)
    assert found(log, slow) == ["P1 crawl-delay"]
    log = Log().robots(host=host)("/", host=host)("/news/8-market.html", asked, host=host)
    assert found(log, slow) == []


def test_retry_after_is_obeyed() -> None:
    log = Log().robots()("/", status=503, retry=3)("/", 1.5)
    assert found(log) == ["P1 retry-after"]
    assert found(Log().robots()("/", status=503, retry=3)("/", 3.0)) == []


def test_overlap() -> None:
    log = Log().robots()("/", took=5.0)("/a", -1.0)
    assert "P2 overlap" in found(log)
    log = Log().robots()("/")
    log.entries[-1].end = math.inf  # never ended
    assert "P2 overlap" in found(log("/a", 10.0))


def test_page_without_robots() -> None:
    assert found(Log()("/")) == ["P3 robots-missing"]
    assert found(Log()("/").robots(1.0)) == ["P3 robots-missing"]
    assert found(Log().robots(scheme="https")("/", 1.0)) == ["P3 robots-missing"]


def test_robots_that_another_engine_asks_for_again() -> None:
    """What was answered before still counts while the same file is on its way once more."""
    home = "robots-home.test"
    log = Log().robots(status=302, to=f"http://{home}/robots.txt").robots(host=home)("/")
    log.robots(2.0, host=home, took=1.0)("/a", -0.5)
    assert "P3 robots-missing" not in found(log)


def test_page_before_robots_has_ended() -> None:
    log = Log().robots(took=1.0)("/", -0.5)
    assert "P3 robots-missing" in found(log)


def test_page_although_robots_failed() -> None:
    for status in (0, 429, 500, 503):
        assert found(Log().robots(status=status)("/")) == ["P3 robots-unreachable"]
    for status in (401, 403, 404, 410):
        assert found(Log().robots(status=status)("/")) == []


def test_robots_older_than_a_day() -> None:
    assert found(Log().robots()("/", 24 * 3600 - 1)) == []
    assert found(Log().robots()("/", 24 * 3600 + 1)) == ["P3 robots-stale"]
    later = Log().robots()("/")("/a", 23 * 3600).robots(1.0, status=500)("/b", 1.0)
    assert found(later) == []  # a failed refresh does not take the good copy away


def test_disallowed_page_and_disallowed_redirect_target() -> None:
    dirs = world("robots-dirs")
    assert found(Log().robots()("/private/2-draft.html"), dirs) == ["P3 disallowed"]
    log = Log().robots()("/", status=301, to="/drafts/5-letter.html")("/drafts/5-letter.html")
    assert found(log, dirs) == ["P3 disallowed"]
    assert found(Log().robots()("/news/8-market.html"), dirs) == []


AWAY, HOME = "robots-away", "robots-home.test"
TO = f"http://{HOME}/robots.txt"


def test_a_robots_txt_that_redirects_out_of_the_domain() -> None:
    log = Log().robots(status=302, to=TO).robots(3.0, host=HOME)("/", 2.0)
    log.robots(host="d000001.test", status=302, to=TO)("/", host="d000001.test")
    report = judge(log, world(AWAY))
    assert report.violations == []
    assert report.cross_robots == {TO: 1}
    unasked = Log().robots(status=302, to=TO)("/")
    assert found(unasked, world(AWAY)) == ["P3 robots-missing"]


def aimed(count: int, gap: float) -> Log:
    """Origins that send the crawler to one domain, each to another URL of it."""
    log = Log()
    for number in range(count):
        log.robots(host=f"d{number:06d}.test", status=302, to=f"http://{HOME}/rules/{number}")
    for number in range(count):
        log(f"/rules/{number}", gap, host=HOME)
    return log


def test_a_burst_at_a_third_party_is_found() -> None:
    assert judge(aimed(30, 0.01), world(AWAY)).kinds() == {"P1 third-party": 29}
    at_once = aimed(30, -0.099)  # in flight together
    assert judge(at_once, world(AWAY)).kinds() == {"P1 third-party": 29, "P2 overlap": 29}
    assert found(aimed(30, 1.0), world(AWAY)) == []


def test_long_after_the_redirect_it_is_still_known_for_what_it_is() -> None:
    log = Log().robots(status=302, to=f"http://{HOME}/rules/1")
    log("/rules/1", 4000.0, host=HOME)
    assert found(log, world(AWAY)) == []
    assert found(log("/rules/1", 0.2, host=HOME), world(AWAY)) == ["P1 third-party"]


def test_a_third_party_is_not_asked_beside_its_own_visit() -> None:
    victim = "d000001.test"
    aim = Log().robots(status=302, to=f"http://{victim}/rules")
    visited = aim.robots(1.0, host=victim)("/", host=victim)
    assert found(visited("/rules", 0.3, host=victim)) == ["P1 third-party"]
    after = Log().robots(status=302, to=f"http://{victim}/robots.txt").robots(1.0, host=victim)
    assert found(after("/", host=victim)) == []  # it may as well have been its own
    twice = Log().robots(status=302, to=f"http://{victim}/rules")("/rules", 1.0, host=victim)
    assert found(twice.robots(0.2, host=victim)) == ["P1 third-party"]


def test_hops_at_a_third_party_are_a_delay_apart() -> None:
    log = Log().robots(status=302, to=TO).robots(2.0, host=HOME, status=301, to="/rules/x")
    assert found(log("/rules/x", 1.0, host=HOME)("/", 2.0), world(AWAY)) == []


def test_user_agent_without_contact() -> None:
    log = Log().robots()("/", agent="Mozilla/5.0")
    assert found(log) == ["agent no-contact"]


def test_refetches_are_listed() -> None:
    log = Log().robots()("/")("/", 1.0)("/a", 1.0, status=500)("/a", 1.0)
    report = judge(log)
    assert report.refetches == [f"http://{HOST}/"]
    assert report.ok


def test_one_violation_does_not_hide_the_next() -> None:
    log = Log().robots()("/")("/a", 0.1)("/b", 0.1)
    assert judge(log).kinds() == {"P1 second-page": 2}
    assert "NOT polite: 2" in judge(log).text()


@pytest.mark.parametrize("kind", ["robots-deny", "robots-lycosa", "robots-wildcard"])
def test_the_world_knows_what_is_disallowed(kind: str) -> None:
    path = {"robots-deny": "/", "robots-lycosa": "/private/2-draft.html"}.get(kind, "/shop/x")
    assert found(Log().robots()(path), world(kind)) == ["P3 disallowed"]
