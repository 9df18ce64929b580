"""Links resolved in Python: the memo answers like the parser, and its memory is bounded."""

from __future__ import annotations

import re

from ada_url import join_url
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa.urls.canonical import split
from lycosa.urls.domains import domain_id, domain_of
from lycosa.urls.fingerprint import fingerprint
from lycosa.urls.links import LinkResolver

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
    one, two, three = links
    assert [one[2], two[2]] == ["https://www.example.com/b", "https://www.example.com/a"]
    # The same page by another name: whether its first name is wanted is not decided here.
    assert three[2] == "https://www.example.com/b?utm_source=mail" and three[1] == one[1]


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
