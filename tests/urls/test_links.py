"""The compiled way of links: it finds what Python finds, and leaves what it is not sure of."""

from __future__ import annotations

import os
import random
from array import array
from collections.abc import Callable, Sequence

import pytest
from xxhash import xxh3_64_intdigest

from lycosa.engine import harvest
from lycosa.engine.harvest import Harvest, HarvestRules
from lycosa.frontier.protocol import Batch, Link
from lycosa.metrics import Stats
from lycosa.urls.canonical import MAX_URL
from lycosa.urls.fingerprint import fingerprint
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
    *("*", ",", "\t"),
]
BASES = [
    *(
        "https://a.test/",
        "https://a.test/d/e/f?x=/1/2",
        "http://a.test:8080/x;y/z",
        "https://a.test/a/b/",
    ),
    *("https://www.a.test/p", "https://a.test/v/v/v/v/", "https://127.0.0.1/", "https://[::1]/q/"),
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
) -> tuple[list[set[tuple[int, int, int, str]]], dict[str, int]]:
    made = Harvest(HarvestRules(), Scope(rules), lambda request: b"", iter(()))
    a_test = held("a.test", seeded=seeded, queued=5)
    stats, found = Stats(), []
    for base, hrefs in pages:
        batch = Batch()
        made._links(a_test, hrefs, base, depth, batch, stats)
        # Of two spellings with one fingerprint either may win: plain links come first.
        links = {(ident, fp, depth, domain) for ident, fp, _, depth, domain, _ in batch.links}
        assert len(links) == len(batch.links)
        assert all(fingerprint(link[2]) == link[1] for link in batch.links)
        found.append(links)
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


def joined(
    hrefs: Sequence[object], depth: int = 1, hashed: Callable[[bytes], object] = xxh3_64_intdigest
) -> tuple[list[Link], list[object]]:
    """The links that the module took, and the hrefs that it left."""
    rows: list[Link] = []
    left = join(
        hrefs, "https://a.test", "https://a.test/d/", 5, "a.test", depth, 0, rows,
        array("q", bytes(8 * 1024)), (4, 1000, NOT_TEXT, hashed, fingerprint),
    )  # fmt: skip
    return rows, left


def test_plain_links_are_taken_and_others_left() -> None:
    plain = ["/x", "y", "z/?a=b", "/s;t", "/page.html", "/a/b/c/d", "/x?utm_source=1"]
    odd = ["//b.test/", "http://a.test/", "../x", "/a/../b", "mailto:x", "a:b", "#x", "x#y", "?q",
           "é", "/f.pdf", "/1/2/3/4/5", "/" + "x" * MAX_URL, "", "/%2e", " x", "/a b"]  # fmt: skip
    rows, left = joined([*plain, *odd])
    assert left == odd
    assert rows[0] == (5, fingerprint("https://a.test/x"), "https://a.test/x", 1, "a.test", 0)
    assert [row[2] for row in rows] == [
        *(
            "https://a.test/x",
            "https://a.test/d/y",
            "https://a.test/d/z/?a=b",
            "https://a.test/s;t",
        ),
        *("https://a.test/page.html", "https://a.test/a/b/c/d"),
    ]  # the last one folds to the first
    assert all(row[1] == fingerprint(row[2]) for row in rows)


def test_the_longest_ending_is_known_to_it() -> None:
    assert max(map(len, NOT_TEXT)) == 8
    longest = [ending for ending in NOT_TEXT if len(ending) == 8]
    assert joined([f"/x.{ending}" for ending in longest]) == ([], [f"/x.{e}" for e in longest])


def test_an_error_of_the_hash_comes_out() -> None:
    def fails(_: bytes) -> int:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        joined(["/x"], hashed=fails)
    with pytest.raises(TypeError):
        joined(["/x"], hashed=str)


def test_what_is_no_href_is_left() -> None:
    assert joined([None, b"/x"]) == ([], [None, b"/x"])
