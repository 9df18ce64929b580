"""Filters as users write them: what each may be, and the sentence for what none can be."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import lycosa
from lycosa.cli import main
from lycosa.clock import wall_now
from reading.conftest import Made


def numbers(crawl: lycosa.Crawl, **filters: Any) -> set[int]:
    return {int(page.url.rpartition("/")[2]) for page in crawl.pages(**filters)}


def test_filters_choose(crawl: lycosa.Crawl) -> None:
    every = numbers(crawl)
    kept = numbers(crawl, outcome="ok")
    assert numbers(crawl, outcome=["ok", "http-404"]) == every == set(range(120))
    assert numbers(crawl, status=404) == every - kept != set()
    assert numbers(crawl, label="listing") == {n for n in kept if n % 4 == 2}
    assert numbers(crawl, label=("listing", "soft-404")) == {n for n in kept if n % 4 > 1}
    assert numbers(crawl, language="DE") == {n for n in kept if n % 3 == 1}
    assert numbers(crawl, domain="https://www.D1.test/x") == {n for n in every if n % 12 == 1}
    assert numbers(crawl, prefix="HTTPS://D1.test/1") == {1, 13, 109}
    assert numbers(crawl, prefix="https://d1") == {n for n in every if n % 12 in (1, 10, 11)}
    assert numbers(crawl, max_depth=0) == set() != numbers(crawl, min_depth=1, max_depth=1)
    sizes = {page.text_chars for page in crawl.texts(min_chars=100, max_chars=400)}
    assert sizes and min(sizes) >= 100 and max(sizes) <= 400
    assert numbers(crawl, domain=None, label="", language=()) == every


@pytest.mark.parametrize("last", [timedelta(hours=1), "2026-01-31", date(2026, 1, 31)])
def test_times(crawl: lycosa.Crawl, last: Any) -> None:
    assert len(numbers(crawl, since=last)) == 120
    assert numbers(crawl, until=last) == set()


def test_moments(crawl: lycosa.Crawl) -> None:
    when = datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
    for said in (when, "2026-01-31T12:30Z", "2026-01-31 12:30", "2026-01-31T13:30+01:00"):
        assert crawl.filter(since=said).since_ms == round(when.timestamp() * 1000)
    ago = crawl.filter(until=timedelta(minutes=5)).until_ms
    assert abs(wall_now() - 300_000 - ago) < 60_000


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"lable": "content"}, "There is no filter 'lable'; did you mean label?"),
        ({"colour": "red"}, "There is no filter 'colour'; there are domain, since"),
        ({"label": "contnt"}, "There is no label 'contnt'; did you mean content"),
        ({"outcome": "okay"}, "There is no outcome 'okay'"),
        ({"outcome": ["ok", "tiemout"]}, "There is no outcome 'tiemout'; did you mean timeout"),
        ({"domain": "d1.tst"}, "The crawl knows no domain 'd1.tst'; did you mean d1.test?"),
        ({"domain": "not a domain"}, "is no domain"),
        ({"language": "english"}, "'english' is no language"),
        ({"since": "yesterday"}, "The filter 'since' takes a time such as 2026-01-31"),
        ({"until": 5}, "The filter 'until' takes a date or time, not 5."),
        ({"status": "200"}, "The filter 'status' takes a number"),
        ({"label": 5}, "The filter 'label' takes a word"),
        ({"min_chars": -1}, "The filter 'min_chars' takes a number of at least 0, not -1."),
        ({"max_depth": "2"}, "The filter 'max_depth' takes a number"),
        ({"prefix": "ftp://x/"}, "The filter 'prefix' takes the beginning of a URL"),
    ],
)
def test_wrong_filters(plain: Made, filters: dict[str, Any], said: str) -> None:
    """At once, not when the first page is asked for."""
    with plain.open() as crawl:
        for verb in (crawl.pages, crawl.texts, crawl.responses, crawl.sample):
            with pytest.raises(lycosa.UserError) as caught:
                verb(**filters)
            assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_filter_serves_several_lists(plain: Made) -> None:
    with plain.open() as crawl:
        where = crawl.filter(label="content", language="en")
        assert isinstance(where, lycosa.Filter)
        urls = [page.url for page in crawl.pages(where)]
        assert urls == [page.url for page in crawl.texts(where)] != []
        with pytest.raises(lycosa.UserError, match="not both"):
            crawl.pages(where, label="content")
        with pytest.raises(lycosa.UserError, match="'raise' or 'skip'"):
            crawl.texts(missing="never")  # type: ignore[arg-type]


def test_flags_are_the_same_filters(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    def listed(*flags: str) -> list[str]:
        store = ["--store", made.store] if made.store else []
        where = ["--data-dir", str(made.root), *store, "--limit", "1000"]
        capsys.readouterr()
        assert main(["pages", *where, "--oldest", *flags]) == 0
        return [line.split()[3] for line in capsys.readouterr().out.splitlines()]

    for flags, filters in (
        (["--label", "content", "--label", "listing"], {"label": ["content", "listing"]}),
        (["--language", "de", "--domain", "d1.test"], {"language": "de", "domain": "d1.test"}),
        (["--min-chars", "200", "--max-chars", "500"], {"min_chars": 200, "max_chars": 500}),
        (["--until", "2026-01-31"], {"until": "2026-01-31"}),
        (["--since", "1h", "--min-depth", "1"], {"since": timedelta(hours=1), "min_depth": 1}),
        (["--max-depth", "0"], {"max_depth": 0}),
        (["--status", "404"], {"status": 404}),
    ):
        with made.open() as crawl:
            chosen: dict[str, Any] = dict(filters)
            assert listed(*flags) == [page.url for page in crawl.pages(**chosen)], flags
