"""URLs: canonical form, parts, domains, fingerprints, and the link memo against the parser."""

from __future__ import annotations

import re

import pytest
from ada_url import join_url
from hypothesis import example, given, settings
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from lycosa.urls import canonical as urls
from lycosa.urls.canonical import (
    LinkResolver,
    Parts,
    canonical,
    domain_id,
    domain_of,
    fingerprint,
    host_of,
    split,
)


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


@settings(max_examples=300)
@given(st.text(max_size=60), st.booleans())
def test_canonical_never_raises_and_is_stable(text: str, with_scheme: bool) -> None:
    url = canonical(("http://" if with_scheme else "") + text, None if with_scheme else BASES[0])
    if url is not None:
        assert canonical(url) == url
        assert url.isascii() and "#" not in url and len(url) <= urls.MAX_URL
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


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.com", "example.com"),
        ("example.com", "example.com"),
        ("example.com.", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("com", "com"),
        ("localhost", "localhost"),
        ("a.github.io", "a.github.io"),
        ("x.a.github.io", "a.github.io"),
        ("github.io", "github.io"),
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("www.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        # A suffix that the list spells in Chinese: 公司.cn
        ("www.shishi.xn--55qx5d.cn", "shishi.xn--55qx5d.cn"),
        ("xn--55qx5d.cn", "xn--55qx5d.cn"),
        ("www.ck", "www.ck"),
        ("a.b.ck", "a.b.ck"),
        ("a.unknown-tld", "a.unknown-tld"),
        ("x.a.unknown-tld", "a.unknown-tld"),
        (".", "."),
    ],
)
def test_domain_of(host: str, domain: str) -> None:
    assert domain_of(host) == domain


SUFFIXES = PublicSuffixList()
SUFFIX_PARTS = (
    "a www com co uk jp kawasaki city kobe ck github io xn--55qx5d cn org blogspot compute "
    "amazonaws eu-west-1 s3 unknown"
)
LABELS = st.sampled_from(SUFFIX_PARTS.split())


@settings(max_examples=500)
@given(st.lists(LABELS, min_size=1, max_size=5).map(".".join))
@example("city.kobe.jp")
@example("a.kobe.jp")
@example("kobe.jp")
@example("a.b.kobe.jp")
def test_domains_are_those_of_the_public_suffix_package(host: str) -> None:
    assert domain_of(host) == (SUFFIXES.privatesuffix(host) or host)


def test_every_rule_of_the_suffix_list() -> None:
    for suffix in SUFFIXES._publicsuffix:
        name = suffix.removeprefix("!").replace("*", "star")
        if name.isascii():
            for host in (name, "a." + name, "b.a." + name):
                assert domain_of(host) == (SUFFIXES.privatesuffix(host) or host)


def test_ids_keep_their_values() -> None:
    """Stored in databases: other values would orphan every crawl on disk."""
    assert domain_id("example.com") == 821362117545671539
    assert fingerprint("https://example.com/") == 5522761390303137003
    assert fingerprint("https://example.com/?utm_source=x") == fingerprint("https://example.com/")
    assert fingerprint("https://example.com/a") != fingerprint("http://example.com/a")


@given(st.text(alphabet="abc.-", max_size=20))
def test_ids_fit_the_database(name: str) -> None:
    assert 0 < domain_id(name) < 2**63
    assert -(2**63) <= fingerprint("http://a/" + name) < 2**63


# Pieces that meet at the odd corners of the parser; joined at random.
ODDITIES = (
    r". .. / // ? # : ; = & % %2e %2E %41 \ @ [ ] | ^ ` { } ' \" < > ~ a b.html C x_y - é %zz * "
    "http: https: http:// https:// HTTP:// //h.org www.Example.com example.com xn--a 1.2 0x7f "
    ":80 :443 :8080 user@ javascript: mailto: data: tel: utm_source=1 q=1:2 xn--mnchen-3ya"
)
PIECES = st.sampled_from([*ODDITIES.split(), " ", "\t", "\n", "\0"])
HREFS = st.lists(PIECES, max_size=7).map("".join)
BASES = [
    "https://www.example.com/dir/page.html?x=1",
    "https://www.example.com/dir/other?y/z",
    "https://www.example.com/",
    "http://www.example.com/dir/page.html",
    "http://[::1]:81/a/b/",
    "http://example.com:8080/dir/?a/b",
]


def expected_links(hrefs: list[str], base: str) -> list[str]:
    """The obvious way: parse each with the library, compare fingerprints."""
    found: dict[int, str] = {}
    for href in hrefs:
        if href.startswith(("#", "javascript:", "mailto:", "data:", "tel:")):
            continue
        try:
            url = join_url(base, href)
        except ValueError:
            continue
        url = re.sub(r"^(https?://)[^/]*@", r"\1", url.partition("#")[0])
        host = url.partition("://")[2].partition("/")[0]
        name = r"[a-z0-9_-]{1,63}"
        host_ok = re.fullmatch(rf"({name}\.)*{name}\.?(:\d+)?|\[.*\](:\d+)?", host)
        if re.match("https?://", url) and host_ok and len(url) <= 2000:
            found.setdefault(fingerprint(url), url)
    return list(found.values())


@settings(max_examples=300, deadline=None)
@given(st.lists(HREFS, max_size=6), st.lists(st.sampled_from(BASES), min_size=1, max_size=4))
@example(["https:?x", "?x", "", " ?y", "\n", "https:", "http:x", "h\tttps:?x"], BASES)
@example(["a #b", ".\0#", "x\n#", " /y #", "https://h.org/ #"], BASES)
@example(["//h.org/a", "/\t/h.org", "\\\\h.org", "/..//x", "a/%2e%2e/b", "a#b", "c#d"], BASES)
def test_the_memo_answers_like_the_parser(hrefs: list[str], bases: list[str]) -> None:
    """Every href is asked of every base twice: a memo under too short a key gives itself away."""
    resolver = LinkResolver(limit=20)
    for base in bases + bases:
        links = resolver.resolve(hrefs, base)
        assert [url for _, _, url, _ in links] == expected_links(hrefs, base)
        for place, fp, url, domain in links:
            assert fp == fingerprint(url)
            assert domain == domain_of(split(url).host)
            assert place == domain_id(domain)


def test_resolve_keeps_order_and_drops_repeats() -> None:
    hrefs = ["/b", "/a", "/b#x", "/b?utm_source=mail", "https://www.example.com/a", "mailto:x@y.z"]
    links = LinkResolver().resolve(hrefs, "https://www.example.com/")
    assert [link[2] for link in links] == ["https://www.example.com/b", "https://www.example.com/a"]


def test_memory_is_bounded() -> None:
    resolver = LinkResolver(limit=1000)
    for page in range(300):
        hrefs = [f"/{page}/{n}" for n in range(20)] + [f"{page}-{n}" for n in range(20)]
        base = f"https://host{page % 7}.example/{page % 3}/"
        assert len(resolver.resolve(hrefs, base)) == 40
        assert len(resolver) <= 1000 + 40
    assert len(resolver) > 100, "it forgets everything"


def test_one_large_site_does_not_grow_for_ever() -> None:
    resolver = LinkResolver(limit=1000)
    for page in range(300):
        resolver.resolve([f"/{page}/{n}" for n in range(50)], "https://large.example/")
        assert len(resolver) <= 1000 + 100


def test_huge_hrefs_are_not_kept() -> None:
    resolver = LinkResolver()
    resolver.resolve(["/" + "a" * 100_000, "b" * 1_000_000, "/x#" + "y" * 5000], BASES[0])
    assert len(resolver) == 0
