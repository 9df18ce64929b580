"""Exclusions: what each kind of line hits, what is refused as a line, globs against a reference."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa.errors import UserError
from lycosa.urls.canonical import split
from lycosa.urls.exclusions import Exclusions, parse_excludes
from support.cpu import cpu_seconds


def excluded(url: str, *lines: str) -> bool:
    return Exclusions(lines).excludes(url, split(url).host)


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
    lines = Exclusions(("example.com", ".gov", "a.org/*", "www.b.org"))
    for domain in ("example.com", "nasa.gov"):
        assert lines.excludes_domain(domain)
    for domain in ("a.org", "b.org", "com", "c.net", "gov"):
        assert not lines.excludes_domain(domain)
    assert not Exclusions(()).excludes_domain("example.com")


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
        Exclusions((line,))


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


@pytest.mark.parametrize(
    "text",
    [":" * 130_000 + ".test", "::" + ":1" * 65_000, "[" + ":" * 130_000, "1." * 65_000 + "/x",
     "a." * 65_000 + "test", "*" * 130_000 + "a", "a" * 130_000, "%" * 130_000],
)  # fmt: skip
def test_no_line_takes_long_and_a_bad_one_is_not_shown_whole(text: str) -> None:
    """Lists of exclusions are taken from elsewhere, too."""

    def read() -> str:
        try:
            return str(parse_excludes([text]))
        except UserError as error:
            assert len(str(error)) < 400
            return ""

    assert cpu_seconds(read, enough=0.1) < 0.3
