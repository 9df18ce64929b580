"""One visit, request by request: P3, redirects, robots.txt of all kinds, failures."""

from __future__ import annotations

import gzip
from collections.abc import Mapping

import pytest

from lycosa.engine.scheduler import Held, KnownOrigin
from lycosa.engine.store_clock import StoreClock
from lycosa.engine.visit import Visit
from lycosa.engine.visit_result import Result, VisitRules
from lycosa.politeness import robots
from lycosa.records import (
    Failure,
    Flag,
    Origin,
    Request,
    Response,
    Truncated,
)
from lycosa.urls.fingerprint import fingerprint
from lycosa.urls.scope import Scope, ScopeRules
from support.made import held as made_held
from support.made import queued

TO_MS = 1_800_000_000_000.0
NOW = 1000.0
CLOCK = StoreClock(TO_MS)
NOW_MS = CLOCK.ms(NOW)

Answer = tuple[int, str, bytes] | str  # status, headers, body; or a failure


def held(*urls: str, flags: int = 0) -> Held:
    return made_held("a.test", [queued(u, order=n, flags=flags) for n, u in enumerate(urls)])


def know(domain: Held, origin: str, text: bytes = b"", **fields: int | str) -> None:
    rules = robots.parse_robots(text)
    record = Origin(origin, fetched_ms=NOW_MS - 1000, status=200, rules=rules.dump())
    for key, value in fields.items():
        setattr(record, key, value)
    domain.origins[origin] = KnownOrigin(record)


def run(
    domain: Held, web: Mapping[str, Answer], exclude: tuple[str, ...] = (), max_hosts: int = 100
) -> tuple[list[str], Result]:
    """All requests of a visit to a domain on this web, and what came of it."""
    scope = Scope(ScopeRules(exclude=exclude))
    visit = Visit(domain, VisitRules(70.0, max_hosts=max_hosts), scope, NOW, CLOCK)
    asked: list[str] = []
    request = visit.begin()
    now = NOW
    while request is not None:
        asked.append(request.url)
        assert len(asked) < 30
        now += 1
        request = visit.resume(reply(request, web.get(request.url, (404, "", b"")), now))
    return asked, visit.result


def reply(request: Request, answer: Answer, now: float) -> Response:
    response = Response(request, started=now - 1, ended=now, address="192.0.2.1")
    if isinstance(answer, str):
        response.failure = answer
        return response
    response.status, headers, response.body = answer
    response.head = f"HTTP/1.1 {response.status} X\r\n{headers}\r\n\r\n".encode()
    return response


def to(url: str, status: int = 302) -> Answer:
    return (status, f"Location: {url}", b"")


PAGE: Answer = (200, "Content-Type: text/html", b"<p>hello")


def broken(request: Request, failure: str, reason: str, now: float) -> Response:
    return Response(request, failure=failure, reason=reason, started=now, ended=now)


@pytest.mark.parametrize("failure", [Failure.TLS, Failure.CONNECT, Failure.RESET, Failure.TIMEOUT])
@pytest.mark.parametrize("robots_known", [False, True])
def test_the_librarys_reason_stays_with_the_origin(failure: str, robots_known: bool) -> None:
    domain = held("https://a.test/")
    if robots_known:
        know(domain, "https://a.test")
    visit = Visit(domain, VisitRules(70.0), Scope(ScopeRules()), NOW, CLOCK)
    request = visit.begin()
    assert request is not None
    assert visit.resume(broken(request, failure, "handshake of doom", NOW + 1)) is None
    what = "a page" if robots_known else "robots.txt"
    record = visit.result.origins["https://a.test"]
    assert record.detail == f"{what}: {failure}: handshake of doom"
    # It is forgotten when the origin answers.
    again = held("https://a.test/")
    know(again, "https://a.test", detail=record.detail)
    _, result = run(again, {"https://a.test/": PAGE})
    assert result.origins["https://a.test"].detail == ""


# -- robots.txt -----------------------------------------------------------------------------------


def test_robots_comes_before_the_page_and_is_remembered() -> None:
    domain = held("https://a.test/")
    asked, result = run(domain, {"https://a.test/": PAGE})
    assert asked == ["https://a.test/robots.txt", "https://a.test/"]
    assert result.page is not None
    assert result.origins["https://a.test"].status == 404
    assert result.origins["https://a.test"].fetched_ms == NOW_MS


def test_known_rules_are_not_asked_again_within_a_day() -> None:
    domain = held("https://a.test/")
    know(domain, "https://a.test")
    asked, _ = run(domain, {"https://a.test/": PAGE})
    assert asked == ["https://a.test/"]


def test_old_rules_are_asked_again() -> None:
    domain = held("https://a.test/")
    know(domain, "https://a.test", fetched_ms=NOW_MS - 24 * 3600 * 1000)
    asked, _ = run(domain, {"https://a.test/": PAGE})
    assert asked == ["https://a.test/robots.txt", "https://a.test/"]


def test_a_refused_url_costs_no_request_and_the_next_one_is_taken() -> None:
    domain = held("https://a.test/private", "https://a.test/open")
    know(domain, "https://a.test", b"User-agent: *\nDisallow: /private")
    asked, result = run(domain, {"https://a.test/open": PAGE})
    assert asked == ["https://a.test/open"]
    assert [(url.url, reason) for url, reason, _ in result.failed] == [
        ("https://a.test/private", "robots")
    ]


def test_a_visit_asks_for_one_robots_only() -> None:
    domain = held("https://a.test/private", "https://www.a.test/", "https://a.test/open")
    web = {"https://a.test/robots.txt": (200, "", b"User-agent: *\nDisallow: /private")}
    asked, _ = run(domain, web)
    assert asked == ["https://a.test/robots.txt"]
    assert [url.url for url in domain.run] == ["https://www.a.test/", "https://a.test/open"]


@pytest.mark.parametrize("status", [200, 204, 301, 400, 401, 403, 404, 410])
def test_an_answer_that_is_no_outage_allows(status: int) -> None:
    domain = held("https://a.test/")
    _, result = run(
        domain, {"https://a.test/robots.txt": (status, "", b""), "https://a.test/": PAGE}
    )
    assert result.page is not None


@pytest.mark.parametrize(
    "answer", [(500, "", b""), (503, "", b""), (429, "", b""), Failure.TIMEOUT]
)
def test_an_outage_of_robots_disallows_for_now(answer: Answer) -> None:
    domain = held("https://a.test/")
    asked, result = run(domain, {"https://a.test/robots.txt": answer, "https://a.test/": PAGE})
    assert asked == ["https://a.test/robots.txt"]
    ((url, until, attempts),) = result.deferred
    assert (url.url, until, attempts) == ("https://a.test/", NOW_MS + 71_000, 0)
    assert result.origins["https://a.test"].failures == 1


def test_an_origin_is_given_up_after_three_waits_and_its_urls_fail() -> None:
    domain = held("https://a.test/", "https://a.test/2")
    know(domain, "https://a.test", fetched_ms=0, failures=3, retry_ms=1)
    _, result = run(domain, {"https://a.test/robots.txt": (500, "", b"")})
    assert result.purges == [("https://a.test", "robots-unreachable")]
    assert [reason for _, reason, _ in result.failed] == ["robots-unreachable"]
    later = held("https://a.test/3")
    later.origins = domain.origins
    asked, again = run(later, {})
    assert asked == []
    assert [reason for _, reason, _ in again.failed] == ["robots-unreachable"]


def test_urls_of_a_waiting_origin_wait_and_others_go_on() -> None:
    domain = held("https://a.test/1", "https://a.test/2", "https://www.a.test/")
    know(domain, "https://a.test", fetched_ms=0, failures=1, retry_ms=NOW_MS + 5000)
    asked, result = run(domain, {"https://www.a.test/": PAGE})
    assert asked == ["https://www.a.test/robots.txt", "https://www.a.test/"]
    assert [(url.url, until) for url, until, _ in result.deferred] == [
        ("https://a.test/1", NOW_MS + 5000),
        ("https://a.test/2", NOW_MS + 5000),
    ]


def test_crawl_delay_is_learnt() -> None:
    domain = held("https://a.test/")
    web = {"https://a.test/robots.txt": (200, "", b"User-agent: *\nCrawl-delay: 600")}
    _, result = run(domain, web)
    assert result.learnt_delay == domain.delay == 600


@pytest.mark.parametrize("value", ["99999999999", "1e9", "inf", "86401", "9" * 500])
def test_a_crawl_delay_above_a_day_is_an_outcome(value: str) -> None:
    """A crawl would not end before 2058: like a Retry-After above a day, it purges the origin."""
    domain = held("https://a.test/", "https://a.test/2", "https://www.a.test/")
    web = {
        "https://a.test/robots.txt": (200, "", f"User-agent: *\nCrawl-delay: {value}".encode()),
        "https://www.a.test/": PAGE,
    }
    asked, result = run(domain, web)
    assert asked == ["https://a.test/robots.txt"]
    failed = [(url.url, reason) for url, reason, _ in result.failed]
    assert failed == [("https://a.test/", "crawl-delay-too-long")]
    assert result.purges == [("https://a.test", "crawl-delay-too-long")]
    assert [url.url for url in domain.run] == ["https://www.a.test/"], "the store fails the others"
    assert (result.learnt_delay, domain.delay) == (0.0, 70.0)
    record = result.origins["https://a.test"]
    assert (record.reason, record.failures) == ("crawl-delay-too-long", 0)
    # Its neighbour is visited as ever, and what arrives for it fails without a request.
    later = held("https://a.test/3", "https://www.a.test/")
    later.origins["https://a.test"] = KnownOrigin(record)
    asked, result = run(later, web)
    assert asked == ["https://www.a.test/robots.txt", "https://www.a.test/"]
    assert [reason for _, reason, _ in result.failed] == ["crawl-delay-too-long"]


@pytest.mark.parametrize("value", ["86400", "86399.5", "-99999999999", "nan", "-inf", "1e-9"])
def test_a_crawl_delay_up_to_a_day_is_kept(value: str) -> None:
    domain = held("https://a.test/")
    robots_txt = f"User-agent: *\nCrawl-delay: {value}".encode()
    web = {"https://a.test/robots.txt": (200, "", robots_txt), "https://a.test/": PAGE}
    _, result = run(domain, web)
    assert result.page is not None and not result.purges
    assert 70 <= domain.delay <= 86_400


def test_robots_that_redirects_to_itself_allows_after_five_hops() -> None:
    domain = held("https://a.test/")
    web = {"https://a.test/robots.txt": to("/robots.txt"), "https://a.test/": PAGE}
    asked, result = run(domain, web)
    assert asked == ["https://a.test/robots.txt"] * 6 + ["https://a.test/"]
    assert result.page is not None


# -- redirects ------------------------------------------------------------------------------------


def test_a_redirect_in_the_domain_is_followed_and_recorded_under_its_target() -> None:
    domain = held("https://a.test/a")
    know(domain, "https://a.test")
    asked, result = run(domain, {"https://a.test/a": to("/b"), "https://a.test/b": PAGE})
    assert asked == ["https://a.test/a", "https://a.test/b"]
    assert [(url.url, target) for url, target, _ in result.moved] == [
        ("https://a.test/a", "https://a.test/b")
    ]
    assert result.page is not None
    assert (result.page[0].url, result.page[0].order) == ("https://a.test/b", -1)


def test_a_target_in_the_run_is_taken_out_of_it() -> None:
    domain = held("https://a.test/a", "https://a.test/b")
    know(domain, "https://a.test")
    _, result = run(domain, {"https://a.test/a": to("/b"), "https://a.test/b": PAGE})
    assert result.page is not None and result.page[0].order == 1
    assert not domain.run


def test_a_redirect_target_is_checked_like_any_url() -> None:
    domain = held("https://a.test/a")
    know(domain, "https://a.test", b"User-agent: *\nDisallow: /b")
    asked, result = run(domain, {"https://a.test/a": to("/b")})
    assert asked == ["https://a.test/a"]
    assert [(url.url, reason) for url, reason, _ in result.failed] == [
        ("https://a.test/b", "robots")
    ]


def test_a_redirect_to_another_origin_asks_for_its_robots_first() -> None:
    domain = held("http://a.test/")
    know(domain, "http://a.test")
    web = {"http://a.test/": to("https://www.a.test/"), "https://www.a.test/": PAGE}
    asked, result = run(domain, web)
    assert asked == ["http://a.test/", "https://www.a.test/robots.txt", "https://www.a.test/"]
    assert result.page is not None


def test_a_redirect_out_of_the_domain_goes_to_the_frontier() -> None:
    domain = held("https://a.test/a")
    know(domain, "https://a.test")
    asked, result = run(domain, {"https://a.test/a": to("https://b.test/x#y")})
    assert asked == ["https://a.test/a"]
    assert result.found == [("https://b.test/x", 0, 0)]


def test_redirect_loops_end() -> None:
    domain = held("https://a.test/a")
    know(domain, "https://a.test")
    asked, result = run(domain, {"https://a.test/a": to("/b"), "https://a.test/b": to("/a")})
    assert asked == ["https://a.test/a", "https://a.test/b"]
    assert [reason for _, reason, _ in result.failed] == ["redirect-loop"]


def test_at_most_five_redirects() -> None:
    domain = held("https://a.test/0")
    know(domain, "https://a.test")
    web = {f"https://a.test/{n}": to(f"/{n + 1}") for n in range(20)}
    asked, result = run(domain, web)
    assert len(asked) == 6
    assert [(url.url, reason) for url, reason, _ in result.failed] == [
        ("https://a.test/5", "too-many-redirects")
    ]
    assert result.found == []


def test_a_redirect_to_a_page_just_done_is_not_followed() -> None:
    domain = held("https://a.test/a")
    know(domain, "https://a.test")
    domain.remember(fingerprint("https://a.test/login"))
    asked, result = run(domain, {"https://a.test/a": to("/login")})
    assert asked == ["https://a.test/a"]
    assert len(result.moved) == 1


def test_a_redirect_that_only_changes_tracking_is_the_same_page() -> None:
    domain = held("https://a.test/a?utm_source=x")
    know(domain, "https://a.test")
    web = {"https://a.test/a?utm_source=x": to("/a"), "https://a.test/a": PAGE}
    asked, result = run(domain, web)
    assert asked == list(web)
    assert result.page is not None and result.moved == []
    assert (result.page[0].url, result.page[0].order) == ("https://a.test/a", 0)


def test_tracking_that_leads_in_circles_is_a_loop() -> None:
    domain = held("https://a.test/a")
    know(domain, "https://a.test")
    web = {"https://a.test/a": to("/a?utm_source=x"), "https://a.test/a?utm_source=x": to("/a")}
    _, result = run(domain, web)
    assert [reason for _, reason, _ in result.failed] == ["redirect-loop"]


@pytest.mark.parametrize("truncated", [Truncated.TIME, Truncated.DISCONNECT])
def test_half_a_robots_txt_is_none(truncated: str) -> None:
    domain = held("https://a.test/")
    visit = Visit(domain, VisitRules(70.0), Scope(ScopeRules()), NOW, CLOCK)
    request = visit.begin()
    assert request is not None
    half = reply(request, (200, "", b"User-agent: *\n"), NOW + 1)
    half.truncated = truncated
    assert visit.resume(half) is None
    assert len(visit.result.deferred) == 1


def members(count: int) -> bytes:
    """A robots.txt in so many gzip members, of which the last one forbids everything."""
    return gzip.compress(b"", mtime=0) * (count - 1) + gzip.compress(b"User-agent: *\nDisallow: /")


@pytest.mark.parametrize(
    ("body", "headers", "truncated"),
    [
        (b"User-agent: *\n" * 100, "", Truncated.LENGTH),  # our memory was short
        (b"\x1f\x8b\x08" + bytes(7) + b"\x00\x00\x00\xff\xff" * 100, "gzip", Truncated.LENGTH),
        (members(1100), "gzip", Truncated.NO),
        (members(2), "gzip, gzip, gzip, gzip", Truncated.NO),
    ],
    ids=["plain", "empty-blocks", "many-members", "many-layers"],
)
def test_a_robots_txt_that_we_cut_early_is_none(body: bytes, headers: str, truncated: str) -> None:
    """What was not seen may forbid everything, whoever is to blame for that."""
    visit = Visit(held("https://a.test/"), VisitRules(70.0), Scope(ScopeRules()), NOW, CLOCK)
    request = visit.begin()
    assert request is not None
    lines = f"Content-Encoding: {headers}\r\n" if headers else ""
    part = reply(request, (200, lines, body), NOW + 1)
    part.truncated = truncated
    assert visit.resume(part) is None
    assert len(visit.result.deferred) == 1


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_robots_txt_of_more_than_the_limit_counts_up_to_it(encoding: str) -> None:
    rules = b"User-agent: *\nDisallow: /no\n" + b"# and so on\n" * 100_000
    visit = Visit(held("https://a.test/"), VisitRules(70.0), Scope(ScopeRules()), NOW, CLOCK)
    request = visit.begin()
    assert request is not None
    body = gzip.compress(rules, 1) if encoding else rules
    part = reply(request, (200, f"Content-Encoding: {encoding}\r\n", body[: 500 << 10]), NOW + 1)
    part.truncated = Truncated.LENGTH
    page = visit.resume(part)
    assert page is not None and page.url == "https://a.test/"


def test_urls_of_an_origin_that_was_given_up_fail_once() -> None:
    domain = held("https://a.test/1", "https://a.test/2", "https://www.a.test/")
    know(domain, "https://a.test", fetched_ms=0, failures=3, retry_ms=1)
    _, result = run(domain, {"https://a.test/robots.txt": (500, "", b"")})
    assert [url.url for url, _, _ in result.failed] == ["https://a.test/1"]
    assert [url.url for url in domain.run] == ["https://www.a.test/"]


def test_without_a_delay_a_redirect_target_whose_origin_fails_is_not_lost() -> None:
    domain = held("https://a.test/")
    know(domain, "https://a.test")
    scope = Scope(ScopeRules())
    visit = Visit(domain, VisitRules(0.0), scope, NOW, CLOCK)
    first = visit.begin()
    assert first is not None
    second = visit.resume(reply(first, to("https://www.a.test/"), NOW))
    assert second is not None
    assert visit.resume(reply(second, Failure.CONNECT, NOW)) is None
    assert visit.result.found == [("https://www.a.test/", 0, 0)]


def test_nonsense_in_location_fails() -> None:
    domain = held("https://a.test/a")
    know(domain, "https://a.test")
    _, result = run(domain, {"https://a.test/a": to("ftp://x/")})
    assert [(reason, status) for _, reason, status in result.failed] == [("bad-redirect", 302)]


@pytest.mark.parametrize("size", [7_000, 9_000, 90_000])
@pytest.mark.parametrize("fill", ["/../a", "\t", "é", "a"])
def test_a_location_that_is_too_long_is_not_followed_in_part(fill: str, size: int) -> None:
    """Cut anywhere it would be another URL."""
    domain = held("https://a.test/")
    location = "/a" + fill * (size // len(fill)) + "/end"
    _, result = run(domain, {"https://a.test/": (302, f"Location: {location}", b"")})
    targets = [target for _, target, _ in result.moved]
    assert all(target.endswith("/end") for target in targets)
    if not targets:
        assert [reason for _, reason, _ in result.failed] == ["bad-redirect"]


# -- bare domains ---------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [Failure.CONNECT, Failure.TLS, Failure.CONNECT_TIMEOUT])
def test_a_bare_domain_falls_back_to_http_in_the_same_visit(failure: str) -> None:
    domain = held("https://a.test/", flags=Flag.BARE | Flag.SEED)
    asked, result = run(domain, {"https://a.test/robots.txt": failure, "http://a.test/": PAGE})
    assert asked == ["https://a.test/robots.txt", "http://a.test/robots.txt", "http://a.test/"]
    assert [(url.url, target, response) for url, target, response in result.moved] == [
        ("https://a.test/", "http://a.test/", None)
    ]
    assert result.page is not None
    assert list(result.origins) == ["http://a.test"]


def test_a_url_seed_does_not_fall_back() -> None:
    domain = held("https://a.test/", flags=Flag.SEED)
    asked, _ = run(domain, {"https://a.test/robots.txt": Failure.CONNECT})
    assert asked == ["https://a.test/robots.txt"]


def test_a_bare_domain_that_does_not_exist_does_not_fall_back() -> None:
    domain = held("https://a.test/", flags=Flag.BARE)
    asked, result = run(domain, {"https://a.test/robots.txt": Failure.NXDOMAIN})
    assert asked == ["https://a.test/robots.txt"]
    assert len(result.deferred) == 1


def test_a_bare_domain_dead_on_both_leaves_its_http_url_queued() -> None:
    domain = held("https://a.test/", flags=Flag.BARE)
    web = {
        "https://a.test/robots.txt": Failure.CONNECT,
        "http://a.test/robots.txt": Failure.CONNECT,
    }
    _, result = run(domain, web)
    assert result.found == [("http://a.test/", 0, 0)]
    assert result.origins["http://a.test"].failures == 1


# -- failures -------------------------------------------------------------------------------------


def test_a_dead_host_counts_against_its_origin() -> None:
    domain = held("https://a.test/")
    know(domain, "https://a.test")
    _, result = run(domain, {"https://a.test/": Failure.CONNECT})
    assert result.origins["https://a.test"].failures == 1
    assert [(until, attempts) for _, until, attempts in result.deferred] == [(NOW_MS + 71_000, 0)]


def test_an_answer_forgets_the_failures_before_it() -> None:
    domain = held("https://a.test/")
    know(domain, "https://a.test", failures=2)
    domain.failures = 2
    _, result = run(domain, {"https://a.test/": (404, "", b"")})
    assert domain.failures == 0
    assert result.origins["https://a.test"].failures == 0


def test_a_timeout_counts_against_its_url() -> None:
    domain = held("https://a.test/")
    know(domain, "https://a.test")
    _, result = run(domain, {"https://a.test/": Failure.TIMEOUT})
    assert [(until, attempts) for _, until, attempts in result.deferred] == [(NOW_MS + 71_000, 1)]
    assert result.origins == {}


def test_429_and_503_count_against_the_domain() -> None:
    domain = held("https://a.test/", "https://a.test/2")
    know(domain, "https://a.test")
    domain.failures = 1
    _, result = run(domain, {"https://a.test/": (429, "", b"")})
    assert result.pause == 280
    assert domain.failures == 2
    assert result.page is None


def test_an_overloaded_domain_is_given_up_whole() -> None:
    domain = held("https://a.test/", "https://a.test/2")
    know(domain, "https://a.test")
    domain.failures = 3
    _, result = run(domain, {"https://a.test/": (503, "", b"")})
    assert result.purges == [("", "overloaded")]
    assert [(reason, status) for _, reason, status in result.failed] == [("overloaded", 503)]
    assert not domain.run


def test_a_visit_that_we_cut_off_leaves_its_url_queued() -> None:
    domain = held("https://a.test/")
    know(domain, "https://a.test")
    _, result = run(domain, {"https://a.test/": Failure.STOPPED})
    assert result.stopped
    assert (result.failed, result.deferred, result.moved) == ([], [], [])


def test_poison_is_never_fetched_again() -> None:
    domain = held("https://a.test/", flags=2 * Flag.KILL)
    asked, result = run(domain, {})
    assert asked == []
    assert [reason for _, reason, _ in result.failed] == ["poison"]


def test_an_excluded_domain_is_dropped_whole_without_a_request() -> None:
    domain = held("https://a.test/", "https://a.test/2")
    asked, result = run(domain, {}, exclude=("a.test",))
    assert asked == []
    assert result.purges == [("", "excluded")]


def test_endless_hosts_of_one_domain_are_capped() -> None:
    domain = held("https://b.a.test/", "https://a.test/")
    know(domain, "https://a.test")
    asked, result = run(domain, {"https://a.test/": PAGE}, max_hosts=1)
    assert asked == ["https://a.test/"]
    assert [reason for _, reason in result.dropped] == ["host-cap"]
