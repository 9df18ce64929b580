"""Scope: each reason for which a URL is refused, and nothing expensive."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.urls.canonical import split
from lycosa.urls.domains import domain_of
from lycosa.urls.scope import REASONS, Scope, ScopeRules
from support.cpu import cpu_seconds

RULES = ScopeRules()


def refused(
    url: str, rules: ScopeRules | Scope = RULES, depth: int = 0, seeded: bool = True
) -> str:
    """The reason why a scope, or the one that follows some rules, refuses a URL."""
    scope = rules if isinstance(rules, Scope) else Scope(rules)
    host = split(url).host
    reason = scope.refuses(url, host, domain_of(host), depth, seeded)
    assert reason == "" or reason in REASONS
    return reason


def test_ordinary_urls_are_wanted() -> None:
    for tail in (
        "",
        "a/b.html",
        "index.php?x=1",
        "a.b/c",
        "v1.2",
        "feed.xml",
        "x.txt",
        "?f=a.zip",
        "s.xml.gz",
    ):
        assert refused("https://example.com/" + tail) == ""


def test_depth() -> None:
    three = replace(RULES, max_depth=3)
    assert refused("https://a.com/", three, depth=3) == ""
    assert refused("https://a.com/", three, depth=4) == "depth"
    assert refused("https://a.com/", replace(RULES, max_depth=0), depth=1) == "depth"
    assert refused("https://a.com/", depth=10**6) == ""


def test_seeded_only() -> None:
    only = replace(RULES, seeded_only=True)
    assert refused("https://a.com/", only, seeded=False) == "not-seeded"
    assert refused("https://a.com/", only, seeded=True) == ""
    assert refused("https://a.com/", seeded=False) == ""


def test_segments() -> None:
    path = "/".join(str(n) for n in range(32))
    assert refused(f"https://a.com/{path}") == ""
    assert refused(f"https://a.com/{path}/x") == "segments"
    assert refused(f"https://a.com/?{path}/x/y") == "", "slashes of a query are no segments"


def test_repeated_segments() -> None:
    assert refused("https://a.com/x/y/x/y/x/y/x/y") == ""
    assert refused("https://a.com/x/y/x/y/x/y/x/y/x") == "repeated-segments"
    assert refused("https://a.com/a/a/a/a") == ""
    assert refused("https://a.com/a/a/a/a/a") == "repeated-segments"
    assert refused("https://a.com/a/a/a/a/b") == ""
    assert refused("https://a.com//////x") == "repeated-segments"
    assert refused("https://a.com/1/2/1/2/3/4/3/4/5/6/5/6") == "", "none is there five times"
    assert refused("https://a.com/1/2/3?/a/a/a/a/a/a/a") == ""


SEGMENTS = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=14)


@given(SEGMENTS, st.integers(1, 5))
@example(["a", "a", "", ""], 1)
def test_repeats_are_counted_right(segments: list[str], limit: int) -> None:
    url = "https://a.com/" + "/".join(segments)
    most = max(map(segments.count, segments))
    expected = "repeated-segments" if most > limit else ""
    assert refused(url, replace(RULES, max_repeats=limit)) == expected


def test_query_length() -> None:
    assert refused("https://a.com/?" + "q" * 1000) == ""
    assert refused("https://a.com/?" + "q" * 1001) == "query-length"
    assert refused("https://a.com/" + "p" * 1900) == ""


@pytest.mark.parametrize(
    "tail", ["a.jpg", "a.PNG", "x/y.zip", "a.pdf?dl=1", "a.min.js", "a.tar.gz", "v.mp4", "s.exe"]
)
def test_file_types(tail: str) -> None:
    assert refused("https://a.com/" + tail) == "file-type"


@pytest.mark.parametrize(
    "tail", ["jpg", "a.jpg/", "a.jpg/b", "pdf?x=.pdf", ".html", "a.jpgs", "a."]
)
def test_what_only_looks_like_a_file_type(tail: str) -> None:
    assert refused("https://a.com/" + tail) == ""
    assert refused("https://files.zip/" + tail) == ""
    assert refused("https://a.zip/") == ""


def test_exclusions_can_be_exchanged() -> None:
    before = Scope(replace(RULES, max_depth=1, exclude=("a.com",)))
    after = before.excluding(["b.com"])
    assert refused("https://b.com/", after) == "excluded"
    assert refused("https://a.com/", after) == ""
    assert refused("https://a.com/", after, depth=2) == "depth"
    assert refused("https://b.com/", before) == ""


def test_hostile_patterns_and_paths_cost_little() -> None:
    """A regular expression would take years for the first of these."""
    patterns = ["*" + "a*" * 500 + "b", *(f"*{'a*' * n}{n}z" for n in range(500))]
    scope = Scope(ScopeRules(exclude=tuple(patterns), max_segments=5000))
    url = "https://example.com/" + "a" * 1970

    def found(url: str) -> str:
        return scope.refuses(url, "example.com", "example.com", depth=0, seeded=True)

    assert found(url) == ""
    assert cpu_seconds(lambda: found(url), enough=0.2) < 0.5
    slashes = "https://example.com/" + "a/b/" * 490
    assert found(slashes) == "repeated-segments"
    assert cpu_seconds(lambda: found(slashes), enough=0.2) < 0.5


def test_only_what_is_included_is_wanted() -> None:
    scope = Scope(ScopeRules(include=("a.test", "*/news/*"), exclude=("www.a.test",)))

    def refused(url: str, depth: int = 1) -> str:
        host = url.split("/")[2]
        return scope.refuses(url, host, host, depth, True)

    assert refused("https://a.test/x") == refused("https://b.test/news/1") == ""
    assert refused("https://b.test/x") == "not-included"
    assert refused("https://b.test/x", depth=0) == "", "seeds are where a crawl begins"
    assert refused("https://www.a.test/news/1") == "excluded", "an exclusion wins"
    assert not scope.by_shape(1)
    assert Scope(ScopeRules(include=("a.test",))).by_shape(0)
    assert scope.host_by_shape("a.test", 1, True)
    assert scope.host_by_shape("x.a.test", 1, True)
    assert not scope.host_by_shape("b.test", 1, True)
    assert scope.excluding(["c.test"]).refuses("https://b.test/", "b.test", "b.test", 1, True)
