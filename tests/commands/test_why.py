"""`lycosa why`: every state of a URL is told in words."""

from dataclasses import replace
from typing import Any

import pytest

from lycosa.reading.why import Facts, explain
from lycosa.records import Flag, Origin, PageRow, Url
from support.made import made_page

NOW = 1_800_000_000_000
URL = "https://www.example.org/a"
FACTS = Facts(URL, -1, "example.org", NOW, asked=URL, robots_line="")
ORIGIN = Origin("https://www.example.org", fetched_ms=NOW - 60_000, status=200, rules=b"x")
QUEUE: dict[str, Any] = {"depth": 2, "attempts": 0, "flags": 0, "ahead": 0, "waits_until_ms": 0}
DOMAIN: dict[str, Any] = {
    "engine_id": 0,
    "idle": 0,
    "behind": 0,
    "ready_at": NOW - 1,
    "pages": 5,
    "queued": 1200,
    "failures": 0,
    "seeded": 1,
}


def page(**values: Any) -> PageRow:
    return replace(made_page(URL, depth=2, fetched_ms=NOW - 5000), **values)


def told(**values: Any) -> str:
    return "\n".join(explain(replace(FACTS, **values)))


def test_identity() -> None:
    text = told(asked="HTTPS://www.EXAMPLE.org/a")
    assert f"URL          {URL}\n" in text
    assert "given as     HTTPS://www.EXAMPLE.org/a" in text
    assert "fingerprint  ffffffffffffffff" in text
    assert "domain       example.org" in text
    assert "given as" not in told()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (page(), "done at 2027-01-15T07:59:55Z: ok, status 200"),
        (page(text_segment=100001, text_chars=1234), "1,234 characters"),
        (page(label="parked", label_reason="buy this domain"), "parked: buy this domain"),
        (page(outcome="redirect", status=301, redirect="https://x.org/"), "https://x.org/"),
        (page(outcome="http-404", status=404), "the site answered, but not with a page"),
        (page(outcome="timeout", status=0), "done at 2027-01-15T07:59:55Z: timeout\n"),
        (page(outcome="timeout", status=0), "no usable response came"),
        (page(outcome="robots", status=0), "robots.txt forbids it, so it was not fetched"),
        (page(outcome="poison", status=0), "ended two engines"),
    ],
)
def test_done(row: PageRow, words: str) -> None:
    assert words in told(page=row, origin=ORIGIN, domain_row=DOMAIN)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "queued at depth 2: next of its domain"),
        ({"ahead": 1234}, "1,234 URLs of its domain come before it"),
        ({"attempts": 2}, "attempts     2 failed so far"),
        ({"waits_until_ms": NOW + 90_000}, "until 2027-01-15T08:01:30Z (1:30 min)"),
        ({"flags": Flag.KILL | Flag.SEED}, "1 engine(s) died"),
    ],
)
def test_queued(changes: dict[str, Any], words: str) -> None:
    text = told(queue={**QUEUE, **changes}, origin=ORIGIN, domain_row=DOMAIN)
    assert words in text
    assert "5 pages, about 1,200 URLs queued" in text


def test_a_wait_that_is_over_is_not_told() -> None:
    assert "waiting" not in told(queue={**QUEUE, "waits_until_ms": NOW - 1}, domain_row=DOMAIN)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"engine_id": 7}, "held by engine 7"),
        ({"idle": 1}, "idle: nothing queued"),
        ({"behind": 20_000}, "waits behind 20,000 other domains or more"),
        ({"ready_at": NOW + 30_000}, "left alone until 2027-01-15T08:00:30Z (30 s)"),
        ({}, "ready, waits for an engine"),
        ({"failures": 3}, "3 times in a row that it is overloaded"),
    ],
)
def test_its_domain(changes: dict[str, Any], words: str) -> None:
    assert words in told(queue=QUEUE, domain_row={**DOMAIN, **changes})


def test_a_delay_of_its_own_is_told() -> None:
    row = {**DOMAIN, "ready_at": NOW + 80_000_000, "delay_ms": 86_400_000}
    text = told(queue=QUEUE, domain_row=row)
    assert "(22:13 h)" in text
    assert "its robots.txt asks for 1 d 0 h between visits (Crawl-delay)" in text


def test_a_crawl_delay_above_a_day_is_explained() -> None:
    text = told(page=page(outcome="crawl-delay-too-long", status=0), origin=ORIGIN)
    assert "robots.txt asks for more than 24 hours between visits (Crawl-delay)" in text


def test_robots() -> None:
    assert "robots.txt   not asked for yet" in told(queue=QUEUE)
    assert "robots.txt   allows it (obtained" in told(queue=QUEUE, origin=ORIGIN)
    refused = told(queue=QUEUE, origin=ORIGIN, robots_line="Disallow: /a")
    assert "forbids it: Disallow: /a (obtained 2027-01-15T07:59:00Z with status 200)" in refused
    assert "not obtained yet" in told(queue=QUEUE, origin=Origin("https://www.example.org"))


def test_an_origin_that_waits_for_another_domain() -> None:
    """Nobody failed: it says where the robots.txt is."""
    aim = Url("https://victim.test/rules.txt")
    waits = Origin("https://www.example.org", aim=aim, hops=1, asked_ms=NOW, retry_ms=NOW + 70_000)
    text = told(queue={**QUEUE, "waits_until_ms": NOW + 70_000}, origin=waits)
    assert f"robots.txt   redirects to {aim}" in text and "in its own turn" in text
    assert "for robots.txt" in text and "failure" not in text and "failed" not in text


def test_a_failing_origin() -> None:
    origin = replace(ORIGIN, fetched_ms=0, failures=3, retry_ms=NOW + 1000, reason="connect")
    text = told(queue=QUEUE, origin=origin)
    assert "failed 3 times in a row, not tried before 2027-01-15T08:00:01Z" in text
    assert "fail at once until 2027-01-15T08:00:01Z: connect" in text
    at_first = told(queue=QUEUE, origin=replace(origin, failures=0))  # of a name that is none
    assert "fail at once until 2027-01-15T08:00:01Z: connect" in at_first
    over = told(queue=QUEUE, origin=replace(origin, retry_ms=NOW - 1))
    assert "fail at once" not in over
    assert "not tried before" not in over


def test_the_reason_of_the_last_failure_is_told() -> None:
    origin = replace(ORIGIN, failures=1, detail="robots.txt: tls: SSL certificate problem: expired")
    assert "robots.txt: tls: SSL certificate problem: expired" in told(queue=QUEUE, origin=origin)
    assert "certificate problem" in told(page=page(outcome="tls", status=0), origin=origin)


def test_never_seen() -> None:
    assert "never seen, and neither was its domain" in told()
    assert "no page that was fetched links to it" in told(domain_row=DOMAIN)
    full = told(domain_row=DOMAIN, max_queued_per_domain=1000)
    assert "the queue of its domain is full (1,000)" in full
    deep = told(domain_row=DOMAIN, drops={"depth": 1234, "links-per-page": 7, "excluded": 5})
    assert "or dropped, like 1,234 links of this crawl: depth, --max-depth" in deep
    assert "state        not queued: no page that was fetched links to it,\n" in deep
    assert "never seen" not in deep, "a link that was dropped is not remembered"
    assert "like 7 links of this crawl: links-per-page, 4,000 links of one page" in deep
    assert "excluded" not in deep, "an exclusion shows in the URL itself"


def test_what_is_not_included_is_told() -> None:
    few = told(refused="not-included", include=("a.test", "*/b/*"), domain_row=DOMAIN)
    assert "refused: not-included: no --include hits it (a.test, */b/*)" in few
    many = tuple(f"{n}.test" for n in range(9))
    assert "3.test, 4.test, …)" in told(refused="not-included", include=many)


def test_refused() -> None:
    assert "state        refused: excluded" in told(refused="excluded", domain_row=DOMAIN)
    capped = told(domain_row=DOMAIN, max_pages_per_domain=5)
    assert "refused: its domain has the 5 pages it may have" in capped
    assert "refused" not in told(domain_row=DOMAIN, max_pages_per_domain=6)
