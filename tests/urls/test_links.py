"""The compiled way of links: it finds what Python finds, and leaves what it is not sure of."""

from __future__ import annotations

import gc
import os
import random
from array import array
from collections.abc import Callable, Sequence

import pytest
from xxhash import xxh3_64_intdigest

from lycosa.engine import harvest
from lycosa.engine.harvest import Harvest, HarvestRules
from lycosa.frontier.protocol import Batch, Link, LinkBlock
from lycosa.metrics import Stats
from lycosa.urls.canonical import MAX_URL
from lycosa.urls.domains import place_of_origin
from lycosa.urls.fingerprint import SUSPECTS, fingerprint
from lycosa.urls.scope import NOT_TEXT, Scope, ScopeRules
from support.made import held

join = pytest.importorskip(
    "lycosa.urls._links", reason="needs a C compiler when lycosa is installed"
).join

SEED = int(os.environ.get("LYCOSA_SEED", "1"))
PARTS = [
    *("/", "//", "a", "b", "dir", ".", "..", "/.", "%2e", "%2F", "%41", "?", "??", "&", "x=1", "="),
    *(":", "http", "http:", "https://a.test", "http://b.test/", "mailto:x", "#", "#frag", " ", ";"),
    *(".pdf", ".PDF", ".html", ".tar.gz", ".xml.gz", ".appimage", ".jpeg", "-", "_", "~", "!", "@"),
    *("]", "[", "|", "é", "\\", "'", '"', "<", "utm_source=x", "sessionid=5", "A", "index.html"),
    *("x" * 300, "y/" * 20, "same/" * 6, "q" * 1200, "", "+", "$", "(", ")", "^", "`", "{", "\0"),
    *("*", ",", "\t", "./", "../", "../../", "https://", "//c.test", "//", "http://xn--a.test/"),
    *("https://w.x.y.z.test/", "https://www.a.test", "http://a.test:8080/", "https://1.2.3.4/"),
    *(
        "https://under_score.test/",
        "https://d.e_f/",
        "https://g9/",
        "https://9g/",
        "https://A.test/",
    ),
    *("https://" + "l" * 60 + ".test/", "https://" + "l" * 61 + ".test/", "https://a..test/"),
]
BASES = [
    *(
        "https://a.test/",
        "https://a.test/d/e/f?x=/1/2",
        "http://a.test:8080/x;y/z",
        "https://a.test/a/b/",
    ),
    *("https://www.a.test/p", "https://a.test/v/v/v/v/", "https://127.0.0.1/", "https://[::1]/q/"),
    *("http://a.test/x//y/z", "https://a.test/;p/q/r"),
]
RULES = [
    ScopeRules(),
    ScopeRules(max_query=5, max_segments=6, max_repeats=2),
    ScopeRules(exclude=("b.test", "www.a.test")),
    ScopeRules(exclude=("a.test/d*",)),
    ScopeRules(exclude=("*/a*",)),
    ScopeRules(seeded_only=True),
    ScopeRules(max_depth=2),
]


def taken(
    rules: ScopeRules, pages: list[tuple[str, list[str]]], depth: int, seeded: bool
) -> tuple[list[tuple[set[tuple[int, int, int, str]], dict[str, int]]], dict[str, int]]:
    made = Harvest(HarvestRules(), Scope(rules), lambda request: b"", iter(()))
    a_test = held("a.test", seeded=seeded, queued=5)
    stats, found = Stats(), []
    for base, hrefs in pages:
        batch = Batch()
        hosts = made._links(a_test, hrefs, base, depth, batch, stats)
        # Of two spellings with one fingerprint either may win: plain links come first.
        sent = batch.all_links()
        links = {(ident, fp, depth, domain) for ident, fp, _, depth, domain, _ in sent}
        assert len(links) == len(sent) == batch.link_count
        assert all(fingerprint(link[2]) == link[1] for link in sent)
        found.append((links, hosts))
    return found, stats.drops


@pytest.mark.parametrize("seed", range(SEED, SEED + 150))
def test_both_ways_find_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    pages = []
    for _ in range(10):
        hrefs = {"".join(chance.choices(PARTS, k=chance.randrange(1, 7))) for _ in range(60)}
        pages.append((chance.choice(BASES), sorted(hrefs)))
    rules, depth, seeded = chance.choice(RULES), chance.randrange(1, 4), chance.random() < 0.7
    compiled = taken(rules, pages, depth, seeded)
    monkeypatch.setattr(harvest, "join", None)
    assert compiled == taken(rules, pages, depth, seeded)


def place(origin: str) -> tuple[int, str] | None:
    """Where links to other hosts go; those of one host are left over."""
    return None if origin == "https://left.test" else place_of_origin(origin)


def joined(
    hrefs: Sequence[object],
    depth: int = 1,
    hashed: Callable[[bytes], object] = xxh3_64_intdigest,
    place: Callable[[str], object] = place,
    sent: array[int] | None = None,
) -> tuple[list[Link], list[object], list[tuple[str, int]]]:
    """The links that the module took, the hrefs that it left, and the hosts that it counted."""
    rows: list[Link] = []
    slots = array("q", bytes(8 * 1024)) if sent is None else sent
    left, hosts, count, own = join(
        hrefs, "https://a.test", "https://a.test/d/", (5, "a.test"), depth, 0, rows,
        slots, (4, 32, 1000, NOT_TEXT, hashed, fingerprint, place, SUSPECTS),
    )  # fmt: skip
    block = LinkBlock(5, "a.test", depth, count, own)
    assert len(list(block.links())) == count
    return [*block.links(), *rows], left, hosts


def test_plain_links_are_taken_and_others_left() -> None:
    plain = {
        "/x": "https://a.test/x",
        "y": "https://a.test/d/y",
        "z/?a=b": "https://a.test/d/z/?a=b",
        "/s;t": "https://a.test/s;t",
        "/page.html": "https://a.test/page.html",
        "/a/b/c/d": "https://a.test/a/b/c/d",
        "/1/2/3/4/5": "https://a.test/1/2/3/4/5",
        "f#g": "https://a.test/d/f",
        "./h": "https://a.test/d/h",
        "./": "https://a.test/d/",
        "../i": "https://a.test/i",
        ".././../../j": "https://a.test/j",
        "https://a.test/k": "https://a.test/k",
        "//b.test/": "https://b.test/",
        "http://www.b.test": "http://www.b.test/",
        "https://www.b.test/l?m#n": "https://www.b.test/l?m",
    }
    again = ["/x?utm_source=1", "https://a.test/x", "/x#y"]  # they fold to the first
    odd = ["/a/../b", "mailto:x", "a:b", "#x", "?q", "é", "/f.pdf", "/a/a/a/a/a/b", "", "/%2e",
           "/" + "x" * MAX_URL, " x", "/a b", ".", "..", "./..", "../?q", "http:/x", "https://",
           "https://left.test/x", "https://b.test:81/", "https://b.test?x", "https://1.2.3.4/",
           "https://xn--a.test/", "https://B.test/", "https://a@b.test/", "https://b.test//x",
           "https://b.te_st/", "https://b.9test/", "https://v.w.x.y.test/", "/y/" * 33]  # fmt: skip
    rows, left, hosts = joined([*plain, *again, *odd])
    assert left == odd
    assert [row[2] for row in rows] == list(plain.values())
    assert rows[0] == (5, fingerprint("https://a.test/x"), "https://a.test/x", 1, "a.test", 0)
    b_test = (*place_of_origin("https://b.test"),)
    assert [(row[0], row[4]) for row in rows[-3:]] == [b_test] * 3
    assert all(row[1] == fingerprint(row[2]) for row in rows)
    assert hosts == [("a.test", 16), ("b.test", 1), ("www.b.test", 1), ("www.b.test", 1)]


def test_a_page_that_links_to_every_host_is_left_to_python() -> None:
    hrefs = [f"https://h{n}.test/" for n in range(200)]
    rows, left, hosts = joined([*hrefs, *hrefs])
    assert {row[2] for row in rows} == set(hrefs[:63])  # two may share a slot: sent again
    assert left == [*hrefs[63:], *hrefs[63:]]
    assert hosts == [(f"h{n}.test", 2) for n in range(63)]


def test_a_place_that_is_none_is_an_error() -> None:
    for wrong in ((1,), "a.test", 5):
        with pytest.raises(TypeError):
            joined(["//b.test/"], place=lambda _, found=wrong: found)  # type: ignore[misc]

    def fails(_: str) -> tuple[int, str]:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        joined(["//b.test/"], place=fails)


def test_the_longest_ending_is_known_to_it() -> None:
    assert max(map(len, NOT_TEXT)) == 8
    longest = [ending for ending in NOT_TEXT if len(ending) == 8]
    hrefs = [f"/x.{ending}" for ending in longest]
    assert joined(hrefs) == ([], hrefs, [])


def test_an_error_of_the_hash_comes_out() -> None:
    def fails(_: bytes) -> int:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        joined(["/x"], hashed=fails)
    with pytest.raises(TypeError):
        joined(["/x"], hashed=str)


def test_what_an_error_took_away_was_not_sent() -> None:
    sent = array("q", bytes(8 * 1024))
    own = [f"/{n}" for n in range(20)]

    def fails(_: str) -> tuple[int, str]:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        joined([*own, "//b.test/"], place=fails, sent=sent)
    rows, left, _ = joined(own, sent=sent)
    assert left == [] and len(rows) == len(own)
    assert joined(own[-3:], sent=sent)[0] == []


def test_urls_of_every_length_have_their_fingerprint() -> None:
    for size in range(300):
        rows, _, _ = joined([f"/{'x' * size}", f"/{'x' * size}?y;{'z' * size}"])
        assert [row[1] for row in rows] == [fingerprint(row[2]) for row in rows]


def test_a_parameter_that_is_left_out_is_found_by_how_it_begins() -> None:
    names = ["utm_x", "UTM_X", "mtm_a", "pk_", "hsa_cam", "fbclid", "_ga", "ASPSESSIONIDAB", "_gl",
             "sid=0123456789abcdef0", "sid", "srsltid", "__hstc", "li_fat_id", "id", "view", "p",
             ";jsessionid=1", ";SID=0123456789abcdef0", "x%3Butm_a"]  # fmt: skip
    ends = ("", "=", "=1", "=1&x=2", "=1;y", "&")
    hrefs = [f"/p{mark}{name}{end}" for name in names for end in ends for mark in "?&;"]
    hrefs += [f"/p?a=1{mark}{name}{end}" for name in names for end in ends for mark in "?&;"]
    for href in hrefs:
        rows, left, _ = joined([href])
        assert left or rows[0][1] == fingerprint(rows[0][2]), href


def test_what_is_sent_is_nothing_for_the_collector() -> None:
    """A page has a hundred links: looked at one by one they would be half of its work."""
    rows = joined(["/x", "y", "https://b.test/"])[0]
    assert len(rows) == 3 and not gc.is_tracked(rows[-1])


def test_what_is_no_href_is_left() -> None:
    assert joined([None, b"/x"]) == ([], [None, b"/x"], [])
