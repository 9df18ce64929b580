"""The canonical form of URLs, and their parts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.urls.canonical import MAX_URL, Parts, canonical, host_of, split


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://EXAMPLE.com:443/A?b#c", "https://example.com/A?b"),
        ("http://example.com:80/", "http://example.com/"),
        ("http://example.com:8080", "http://example.com:8080/"),
        ("http://user:pa%40ss@example.com/x@y", "http://example.com/x@y"),
        ("http://user@example.com:81/", "http://example.com:81/"),
        ("http://a:b@[::1]:81/", "http://[::1]:81/"),
        ("https://münchen.de/straße", "https://xn--mnchen-3ya.de/stra%C3%9Fe"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::FFFF:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
        ("  https://example.com/a b\n", "https://example.com/a%20b"),
        ("https://example.com/a/../b/./c", "https://example.com/b/c"),
        ("https://example.com/%2e%2e/b", "https://example.com/b"),
        ("https:\\\\example.com\\x", "https://example.com/x"),
        ("https://example.com/a #b", "https://example.com/a%20"),
        ("https://example.com?q", "https://example.com/?q"),
        ("https://example.com./", "https://example.com./"),
        ("https://exa_mple.com/", "https://exa_mple.com/"),
        ("https://example.com/#" + "x" * 10_000_000, "https://example.com/"),
        ("https://example.com/" + "a" * 1980, "https://example.com/" + "a" * 1980),
    ],
)
def test_canonical(url: str, expected: str) -> None:
    assert canonical(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "#",
        "foo",
        "/foo",
        "http://",
        "https:///",
        "http://#x",
        "ftp://example.com/",
        "mailto:a@example.com",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "http://exa mple.com/",
        "http://example.com:99999/",
        "http://example.com:-1/",
        "http://example.com:a/",
        "http://a..b/",
        "http://./",
        "http://.example.com/",
        "http://'+url+'/",
        "http://ex{a}mple.com/",
        "http://" + "a" * 64 + ".com/",
        "http://" + "a." * 130 + "com/",
        "http://1.2.3.4.5/",
        "http://256.256.256.256/",
        "http://[::1/",
        "http://\ud800.com/",
        "https://example.com/\udfff",
        "http://\0/",
        "http://a\0b/",
        "https://example.com/" + "a" * 1981,
        "https://example.com/" + "ü" * 500,
        "https://example.com/" + "a" * 10_000_000,
        "a" * 10_000_000,
        "\0",
    ],
)
def test_what_is_no_url_of_ours(url: str) -> None:
    assert canonical(url) is None


def test_canonical_resolves_against_a_base() -> None:
    base = "https://example.com/a/b?q"
    assert canonical("../c", base) == "https://example.com/c"
    assert canonical("?z", base) == "https://example.com/a/b?z"
    assert canonical("", base) == "https://example.com/a/b?q"
    assert canonical("//other.org", base) == "https://other.org/"
    assert canonical("http:x", base) == "http://x/"
    assert canonical("https:x", base) == "https://example.com/a/x"
    assert canonical("x", "no base") is None
    assert canonical("", "https://u:p@example.com/a#b") == "https://example.com/a"


BASE = "https://www.example.com/dir/page.html?x=1"


@settings(max_examples=300)
@given(st.text(max_size=60), st.booleans())
def test_canonical_never_raises_and_is_stable(text: str, with_scheme: bool) -> None:
    url = canonical(("http://" if with_scheme else "") + text, None if with_scheme else BASE)
    if url is not None:
        assert canonical(url) == url
        assert url.isascii() and "#" not in url and len(url) <= MAX_URL
        parts = split(url)
        assert parts.host and parts.origin + parts.target == url


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        (
            "https://www.example.com/a?b/c",
            Parts("https://www.example.com", "www.example.com", 443, True, "/a?b/c"),
        ),
        ("http://a/", Parts("http://a", "a", 80, False, "/")),
        ("http://a:8080/x:y", Parts("http://a:8080", "a", 8080, False, "/x:y")),
        ("https://[2001:db8::1]/", Parts("https://[2001:db8::1]", "2001:db8::1", 443, True, "/")),
        ("http://[::1]:81/", Parts("http://[::1]:81", "::1", 81, False, "/")),
        ("http://127.0.0.1:443/", Parts("http://127.0.0.1:443", "127.0.0.1", 443, False, "/")),
    ],
)
def test_split(url: str, parts: Parts) -> None:
    assert split(url) == parts
    assert host_of(url) == parts.host
