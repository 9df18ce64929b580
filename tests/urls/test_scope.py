"""Scope: each reason, each kind of exclusion, globs against a reference, nothing expensive."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa.errors import UserError
from lycosa.urls.canonical import domain_of, split
from lycosa.urls.scope import REASONS, Scope, ScopeRules, parse_excludes
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


def excluded(url: str, *lines: str) -> bool:
    return refused(url, ScopeRules(exclude=lines)) == "excluded"


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


@pytest.mark.parametrize(
    ("line", "url", "expected"),
    [
        ("example.com", "https://example.com/x", True),
        ("example.com", "http://www.example.com:8080/x", True),
        ("example.com", "https://example.com./", True),
        ("example.com", "https://notexample.com/", False),
        ("example.com", "https://example.com.org/", False),
        ("example.com", "https://a.org/example.com", False),
        ("EXAMPLE.com", "https://example.com/", True),
        ("https://example.com/", "https://example.com/x", True),
        ("www.example.com", "https://example.com/", False),
        ("www.example.com", "https://a.www.example.com/", True),
        ("münchen.de", "https://xn--mnchen-3ya.de/", True),
        (".gov", "https://www.nasa.gov/", True),
        ("*.gov", "https://nasa.gov/x", True),
        (".gov", "https://gov.uk/", False),
        (".co.uk", "https://a.co.uk/", True),
        ("*.example.com", "https://www.example.com/", True),
        ("*.example.com", "https://example.com/", False),
        ("192.0.2.1", "http://192.0.2.1/", True),
        ("::1", "http://[::1]:81/", True),
        ("[::1]", "http://[::1]/", True),
        ("example.com/private/*", "https://example.com/private/x", True),
        ("example.com/private/*", "https://example.com/private/", True),
        ("example.com/private/*", "https://example.com/private", False),
        ("example.com/private/*", "https://www.example.com/private/x", False),
        ("example.com/private/*", "https://example.com:8443/private/x", True),
        ("example.com/private", "https://example.com/private/x", True),
        ("example.com/private", "https://example.com/public", False),
        ("http://example.com/a?b=1", "https://example.com/a?b=12", True),
        ("*/calendar/*", "https://a.com/x/calendar/2024", True),
        ("*/calendar/*", "https://a.com/calendars/2024", False),
        ("*calendar*", "https://a.com/mycalendar", True),
        ("*calendar*", "https://calendar.org/", True),
        ("*?print=1", "https://a.com/x?print=1", True),
        ("*?print=1", "https://a.com/x?print=1&y", False),
        ("example.com?p=", "https://example.com/?p=1", True),
        ("ads*.example.com", "https://ads7.example.com/x", True),
        ("ads*.example.com", "https://www.example.com/x", False),
        ("example.*", "https://example.de/x", True),
        ("Example.com/A*", "https://example.com/A1", True),
        ("Example.com/A*", "https://example.com/a1", False),
        ("example.com/straße*", "https://example.com/stra%C3%9Fe1", True),
    ],
)
def test_exclusions(line: str, url: str, expected: bool) -> None:
    assert excluded(url, line) is expected
    assert excluded(url, "other.org", ".mil", "other.org/x*", line) is expected
    assert parse_excludes(parse_excludes([line])) == parse_excludes([line]), "in normal form"


def test_whole_domains() -> None:
    scope = Scope(ScopeRules(exclude=("example.com", ".gov", "a.org/*", "www.b.org")))
    for domain in ("example.com", "nasa.gov"):
        assert scope.excluded_domain(domain)
    for domain in ("a.org", "b.org", "com", "c.net", "gov"):
        assert not scope.excluded_domain(domain)
    assert not Scope(RULES).excluded_domain("example.com")


def test_exclude_files() -> None:
    lines = ["\ufeff# asked by mail", "", "example.com  # 2024", "EXAMPLE.com", " *.gov\r\n"]
    assert parse_excludes(lines) == ("example.com", ".gov")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("hello world", "one exclusion on each line"),
        ("*", "everything"),
        ("**", "everything"),
        ("*/*", "everything"),
        ("*.*", "everything"),
        (".", "neither"),
        ("*.", "neither"),
        ("a..b", "neither"),
        ("user@example.com", "neither"),
        ("exa$mple.com", "neither"),
        ("ex$*.com", "host"),
        ("example.com:8080", "port"),
        ("example.com:8080/x", "port"),
        ("[::1]:80", "port"),
        ("10.0.0.0/8", "address ranges"),
        ("fe80::/10", "address ranges"),
        ("/private/", "neither"),
        ("ftp://example.com/", "port"),
    ],
)
def test_nonsense_is_named_with_its_line(line: str, why: str) -> None:
    with pytest.raises(UserError, match=rf"^Line 2 of the exclusions, .*{why}.*\.$"):
        parse_excludes(["example.com", line])
    with pytest.raises(UserError):
        Scope(ScopeRules(exclude=(line,)))


def test_exclusions_can_be_exchanged() -> None:
    before = Scope(replace(RULES, max_depth=1, exclude=("a.com",)))
    after = before.excluding(["b.com"])
    assert refused("https://b.com/", after) == "excluded"
    assert refused("https://a.com/", after) == ""
    assert refused("https://a.com/", after, depth=2) == "depth"
    assert refused("https://b.com/", before) == ""


PATTERNS = st.lists(st.sampled_from(["a", "b", "ab", "*", "*", "/", "?"]), max_size=7).map("".join)
PATHS = st.text(alphabet="ab/?", max_size=10)


@settings(max_examples=200)
@given(PATTERNS, PATHS)
@example("*ab*b", "ab")
@example("a*ab*", "ab")
def test_globs_against_a_reference(tail: str, path: str) -> None:
    pattern = "a.com/*" + tail
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), "a.com/" + path)
    assert excluded("https://a.com/" + path, pattern) is (expected is not None)


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
