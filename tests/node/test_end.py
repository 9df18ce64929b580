"""The honest end: what is said of a queue that grows, shrinks, stands still, or has a long tail."""

from __future__ import annotations

from typing import Any

import pytest

from lycosa.node.end import YEAR, end_of

NOW = 1_794_960_000.0  # 2026-11-18 00:00 UTC
Line = dict[str, Any]


def run(
    queued: tuple[int, int],
    pages: tuple[int, int] = (1000, 10_000),
    seconds: float = 900.0,
    **more: Any,
) -> list[Line]:
    """A quarter of an hour of a crawl that runs, as three lines."""
    return [
        {
            "at": NOW - seconds + at * seconds,
            "run": 1.0,
            "state": "running",
            "queued": round(queued[0] + at * (queued[1] - queued[0])),
            "pages": round(pages[0] + at * (pages[1] - pages[0])),
            "visits": round(pages[0] + at * (pages[1] - pages[0])),
        }
        | more
        for at in (0.0, 0.5, 1.0)
    ]


def test_a_queue_that_grows_never_ends() -> None:
    found = end_of(run((0, 279_000)))
    assert found.text == "the queue grows by 310 a second: this crawl will not end by itself"
    assert found.at is None


def test_a_queue_that_shrinks_ends_when_it_is_empty() -> None:
    found = end_of(run((18_000, 9000)))  # ten a second
    assert found.text == "about 2026-11-18 00:15 UTC"
    assert found.at == pytest.approx(NOW + 900)


def test_the_longest_domain_ends_last() -> None:
    """Nine thousand URLs, of which one domain has 1,000 at 70 s each."""
    found = end_of(run((18_000, 9000), tail_s=70_000))
    assert found.at == pytest.approx(NOW + 70_000)
    assert found.text == "about 2026-11-18 19:26 UTC"


def test_a_short_tail_changes_nothing() -> None:
    assert end_of(run((18_000, 9000), tail_s=10)) == end_of(run((18_000, 9000)))


def test_a_page_limit_ends_a_queue_that_grows() -> None:
    found = end_of(run((0, 279_000), page_limit=19_000))  # ten a second, 9,000 to go
    assert found.text == "about 2026-11-18 00:15 UTC, by its page limit"
    assert found.at == pytest.approx(NOW + 900)


def test_a_queue_may_be_empty_before_the_page_limit() -> None:
    found = end_of(run((18_000, 9000), page_limit=1_000_000))
    assert found.text == "about 2026-11-18 00:15 UTC"


def test_a_page_limit_that_is_reached_ends_now() -> None:
    assert end_of(run((0, 100), page_limit=10_000)).at == NOW


def test_a_queue_that_stands_still_has_no_end() -> None:
    found = end_of(run((50_000, 50_010)))
    assert found.text == "the queue neither grows nor shrinks: no end can be seen"
    assert end_of(run((50_010, 50_000))).at is None


def test_a_page_limit_ends_a_queue_that_stands_still() -> None:
    assert "by its page limit" in end_of(run((50_000, 50_000), page_limit=20_000)).text


def test_a_year_is_no_date() -> None:
    found = end_of(run((10_000_000, 9_999_800), pages=(1000, 1400)))
    assert found.text == "not within a year at this speed"
    assert found.at is None
    limited = end_of(run((0, 900_000), page_limit=10**10))
    assert limited.text == "not within a year at this speed, by its page limit"
    assert YEAR > 0


@pytest.mark.parametrize("queued", [(10, 900_000), (900, 0), (5, 5)])
def test_a_crawl_that_is_paused_has_no_end(queued: tuple[int, int]) -> None:
    lines = run(queued)
    lines[-1]["state"] = "paused"
    assert end_of(lines).text == "it is paused: the end is not known before it goes on"


def test_what_was_before_a_pause_is_no_speed() -> None:
    lines = run((18_000, 9000))
    pause = [{**lines[-1], "at": NOW + 60, "state": "paused"}]
    after = [{**lines[-1], "at": NOW + 60 + at, "queued": 9000 - at} for at in range(5, 65, 5)]
    found = end_of(lines + pause + after)
    assert found.at == pytest.approx(NOW + 120 + 8940, abs=10)  # one a second, not ten


def test_another_run_is_no_speed() -> None:
    earlier = run((900_000, 18_000))
    for line in earlier:
        line["run"] = 0.5
        line["at"] -= 1000
    assert end_of(earlier + run((18_000, 9000))) == end_of(run((18_000, 9000)))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("finished", "finished 2026-11-18 00:00 UTC"),
        ("stopped", "stopped 2026-11-18 00:00 UTC, with 7 URLs queued"),
        ("failed", "failed 2026-11-18 00:00 UTC, with 7 URLs queued"),
    ],
)
def test_what_is_over_says_when(state: str, said: str) -> None:
    lines = run((900, 7))
    lines[-1]["state"] = state
    found = end_of(lines)
    assert (found.text, found.at) == (said, NOW)


def test_nothing_is_said_of_nothing() -> None:
    assert end_of([]).text == "not known: nothing was written about this crawl yet"
    assert "too little" in end_of(run((9, 8))[-1:]).text
    assert "too little" in end_of(run((900, 8), seconds=20)).text
    loading = run((9, 900))
    loading[-1]["state"] = "loading"
    assert "too little" in end_of(loading).text


def test_a_crawl_that_stands_says_so() -> None:
    found = end_of(run((500, 500), pages=(100, 100)))
    assert found.text == (
        "not known: nothing was fetched in the last 15 minutes, and 500 URLs are queued"
    )


def test_an_empty_queue_ends_with_what_is_in_flight() -> None:
    assert end_of(run((900, 0))).at == NOW


def test_a_slow_growth_has_its_digits() -> None:
    assert "grows by 0.22 a second" in end_of(run((0, 200), pages=(0, 900))).text


def test_lines_of_an_older_version_are_enough() -> None:
    lines = [{"at": NOW - 60.0, "state": "running"}, {"at": NOW, "state": "running"}]
    assert end_of(lines).at == NOW


def test_a_young_crawl_is_judged_by_what_its_queue_does_now() -> None:
    """Every queue grows at first."""
    lines = [
        {
            "at": NOW + at,
            "run": NOW,
            "state": "running",
            "queued": 100 * at if at < 60 else 6000 - 20 * (at - 60),
            "pages": 50 * at,
            "visits": 50 * at,
        }
        for at in range(0, 185, 5)
    ]
    found = end_of(lines)
    assert found.at is not None and found.at - (NOW + 180) == pytest.approx(180, abs=5)
    assert "grows" in end_of(lines[:12]).text
