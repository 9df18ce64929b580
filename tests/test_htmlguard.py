"""htmlguard: pieces keep their limits, tokens are linear, and no generated page stalls parsing.

The search feeds pages made to be slow to the parser in a child process with little memory and
CPU time. The pages come from lists of tags known to be quadratic in one way or another, and
from random combinations of them.
"""

from __future__ import annotations

import itertools
import json
import random
import string
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from lycosa import htmlguard
from lycosa.htmlguard import PIECE_BYTES, PIECE_TAGS, attributes, piece_end, safe, tokens

FORMATTING_NAMES = "b big code em font i nobr s small strike strong tt u"
FORMATTING = FORMATTING_NAMES.split()


def cut(body: bytes) -> list[bytes]:
    pieces, at = [], 0
    while at < len(body):
        end, tags = piece_end(body, at)
        assert end > at
        assert body.count(b"<", at, end) <= tags <= PIECE_TAGS
        pieces.append(body[at:end])
        at = end
    return pieces


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [b"<", b"<p>", b"</div>", b"a", b"<a href='<'>", b"x" * 900, b"\n", b"</p>"]
            ),
            st.integers(1, 4_000),
        ),
        max_size=6,
    )
)
def test_pieces_keep_their_limits(parts: list[tuple[bytes, int]]) -> None:
    body = b"".join(unit * count for unit, count in parts)
    pieces = cut(body)
    assert b"".join(pieces) == body
    for piece in pieces:
        assert len(piece) <= PIECE_BYTES or b"<" not in piece[1:]


def test_pieces_end_after_blocks() -> None:
    pieces = cut(b"<p>some <b>bold</b> text</p>\n" * 5_000)
    assert all(piece.endswith(b"</p>") for piece in pieces[:-1])
    assert len(pieces) < 40


def test_a_long_stretch_without_tags_is_a_piece_of_its_own() -> None:
    image = b"<img src='" + b"x" * 100_000 + b"'>text"
    pieces = cut(b"<p>a</p>" + image + b"<p>b</p>")
    assert image in pieces
    assert not htmlguard.fits(image)


def names(count: int) -> list[str]:
    """Distinct short attribute names."""
    letters = string.ascii_lowercase + string.digits
    found = (
        "".join(name) for size in (2, 3, 4) for name in itertools.product(letters, repeat=size)
    )
    return list(itertools.islice(found, count))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", True),
        (b"<p>" * PIECE_TAGS, True),
        (b"<p>" * (PIECE_TAGS + 1), False),
        (b"<p>" + b"x" * PIECE_BYTES, False),
        (b"<style>" + b"a b c d " * 3_000 + b"</style>", True),
        (b"<p>" + b"a b c d " * 3_000, True),
        (("<div " + " ".join(names(5_000)) + ">").encode(), False),
        (("<div/" + "/".join(names(5_000)) + ">").encode(), False),
        (("<div " + " ".join(n + "='>'" for n in names(2_000)) + ">").encode(), False),
        (("<div " + "".join(n + '=""' for n in names(2_000)) + ">").encode(), False),
        (("<div " + " ".join(names(20)) + " x='" + "a b " * 5_000 + "'>").encode(), True),
    ],
)
def test_safe(body: bytes, expected: bool) -> None:
    assert safe(body) is expected


def test_what_grows_is_found() -> None:
    opened = "".join(f"<b id={i}>" for i in range(100))
    body = f"<p>{opened}{'<p>x' * 100}".encode()
    elements = len(LexborHTMLParser(body, options=1).tags("*"))
    assert htmlguard.grown(body.count(b"<"), elements)
    ordinary = b"<table><td>x" * 200
    elements = len(LexborHTMLParser(ordinary, options=1).tags("*"))
    assert not htmlguard.grown(ordinary.count(b"<"), elements)


def test_what_is_crowded_is_found_sooner_or_later() -> None:
    hidden = " ".join(name + ("='<x>'" if i % 50 == 0 else "") for i, name in enumerate(names(900)))
    body = f"<div {hidden}>{'<p>x</p>' * 200}".encode()
    assert safe(body[:PIECE_BYTES])  # the scan before does not see it
    nodes = LexborHTMLParser(body, options=1).tags("*")
    assert any(htmlguard.attribute_work(at, body, nodes) is None for at in range(400))
    few = LexborHTMLParser(f"<div {hidden}>", options=1).tags("*")
    assert htmlguard.attribute_work(0, body, few) is None
    plain = LexborHTMLParser("<p class=a>x</p>" * 300, options=1).tags("*")
    assert [htmlguard.attribute_work(at, body, plain) for at in range(50)] == [0] * 50


def test_attributes_are_work() -> None:
    some = LexborHTMLParser("<p a b c d>x</p>" * 100, options=1).tags("*")
    many = LexborHTMLParser(f"<p {' '.join(names(400))}>" * 10, options=1).tags("*")
    assert 100 < (htmlguard.attribute_work(0, b"", some) or 0) < 400
    assert (htmlguard.attribute_work(0, b"", many) or 0) > 4_000


def test_tokens() -> None:
    page = "a<P CLASS='x>y'>b</p ><!-- <i> --><script>1<2</script>c<title>T<b></title>5 < 6<br/>d"
    assert list(tokens(page, 100)) == [
        ("a", "p", False, " CLASS='x>y'"),
        ("b", "p", True, " "),
        ("", "", False, ""),
        ("", "script", False, ""),
        ("", "script", True, ""),
        ("c", "title", False, ""),
        ("T<b>", "title", True, ""),
        ("", "title", True, ""),
        ("5 < 6", "br", False, "/"),
        ("d", "", False, ""),
    ]
    assert len(list(tokens("<p>" * 100, 10))) == 10


def test_attributes() -> None:
    text = """ HREF = "a b" href=no data-x='1' empty y=/z/ "junk" = 'q' last="open"""
    found = attributes(text)
    assert found["href"] == "a b"
    assert (found["data-x"], found["empty"], found["y"]) == ("1", "", "/z/")
    assert found["last"] == "open"


UNITS = (
    "<", "</", "<a", "<a ", '<a "', "<a '", "<a b='", "<a \"'", "<!--", "<!-- -->", "<!", "<?", "&",
    "<script>", "<svg>", "<template>", "<title>", "<select>", "<textarea>", "'", '"', "=", "a=",
    "a ", " ", "<a =", "<a/", "</script", "<svg/>", "<x" + "y" * 50, "&#9", "&a", "\0", "é<p>",
)  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("head", ["", "<a ", "<a x='"])
def test_tokens_take_linear_time(head: str, unit: str) -> None:
    page = head + unit * (100_000 // len(unit))
    start = time.process_time()
    for _, _, _, text in tokens(page, 1_000_000):
        attributes(text)
    assert time.process_time() - start < 1.5  # quadratic time would be minutes


CHILD = """
import json, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
never = resource.getrlimit(resource.RLIMIT_CPU)[1]
from lycosa.parse import parse_html
from selectolax.lexbor import LexborHTMLParser
work = {"guarded": lambda body: parse_html(body, "text/html; charset=utf-8"),
        "bare": lambda body: LexborHTMLParser(body)}[sys.argv[1]]
for line in sys.stdin:
    name, body = json.loads(line)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 20, never))
    start = time.process_time()
    work(body.encode())
    print(json.dumps([name, time.process_time() - start]), flush=True)
"""


def run_child(pages: list[tuple[str, str]], how: str, timeout: float) -> dict[str, float]:
    """CPU seconds per page; what did not finish is missing."""
    lines = "".join(json.dumps(page) + "\n" for page in pages)
    try:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, how],
            input=lines.encode(),
            capture_output=True,
            timeout=timeout,
        )
        out = done.stdout
    except subprocess.TimeoutExpired as late:
        out = late.stdout or b""
    return dict(json.loads(line) for line in out.splitlines())


def repeat(unit: str, size: int, before: str = "") -> str:
    """Units up to `size`; '%d' in them becomes a different number each time."""
    parts, used = [before], len(before)
    for number in itertools.count():
        part = unit.replace("%d", str(number))
        parts.append(part)
        used += len(part)
        if used >= size:
            break
    return "".join(parts)


TAGS = """
<div> <p> <a> <b> <font> <span> <li> <dd> <option> <select> <table> <td> <template> <svg> <math>
<form> <button> <nobr> <object> <h1> <pre> <rt> <ruby><rb> <frameset> <body> <image> <noscript>
<plaintext> <!-- <? </ < & &amp; &#120; &notit; </p> </br> </b> </x> <![CDATA[ <x> <x%d> </x%d>
<a%d> <b%d> <b><p> <font><p> <a><p> <b></p> <i></b> <ul><li> <ul><b> <table><tr><td> <table>x
<table><a> <table><div> <select><option> <select><table> <optgroup> <p><b></p> <b><div></b>
<a><div></a> <nobr>x<div> <svg><b> <svg><foreignObject> <svg></p> <math><mi> <math></br>
<table><svg> <table><form> <dialog> <body_a%d> <html_a%d=1> <b_id=%d> <b_id=%d></p><p>
<b_id=%d><p></b> <a_href=%d> <a_href=%d><p> <b><object> <dt><b><dd> <li><b> <tr><b> <b_%d>x<td>
<selectedcontent> <select><button><selectedcontent><option_selected>x
"""  # '_' stands for a space
SINGLE = TAGS.split()
DEEP = ["<div>", "<span>", "<b>", "<b id=%d>", "<svg>", "<table>", "<template>", "<ul>", "<a><div>"]
AFTER = ["<p>", "<hr>", "<li>", "</p>", "</x>", "</b>", "<p>x", "</b><b>", "x<tr>", "</h1>", "<a>"]


def known(size: int) -> Iterator[tuple[str, str]]:
    """Pages of about `size` bytes that are quadratic in some way."""
    for unit in SINGLE:
        yield unit, repeat(unit.replace("_", " "), size)
    for deep, after in itertools.product(DEEP, AFTER):
        yield f"{deep}... {after}", repeat(after, size, repeat(deep, 2_500))
    bare = "<p>" + "".join(f"<{name}>" * 3 for name in FORMATTING)
    yield "formatting, bare", repeat("<p>x", size, bare)
    some = "<p>" + "".join(f"<b {i}>" for i in range(340)) + "<p>x" * 340
    yield "formatting, one piece again and again", repeat(some, size)
    yield "attributes", "<div " + " ".join(names(size // 4)) + ">"
    fakes = " ".join(
        name + ("='<x>'" if i % 99 == 0 else "") for i, name in enumerate(names(2_000))
    )
    yield "attributes, hidden", repeat(f"<div {fakes}>" + "<p>x" * 50, size)


def random_pages(seed: int, count: int, size: int) -> Iterator[tuple[str, str]]:
    """Combinations of the above."""
    rng = random.Random(seed)
    for number in range(count):
        pieces = [unit.replace("_", " ") for unit in rng.choices(SINGLE, k=rng.randint(1, 3))]
        before = "".join(
            repeat(rng.choice(DEEP), rng.randint(10, 3_000)) for _ in range(rng.randint(0, 2))
        )
        yield (
            f"random {seed}/{number} {before[:20]}|{pieces}",
            repeat("".join(pieces), size, before),
        )


def check(pages: list[tuple[str, str]], allowed: float, timeout: float) -> None:
    seconds = run_child(pages, "guarded", timeout)
    missing = [name for name, _ in pages if name not in seconds]
    assert not missing, f"the child died or hung at {missing[0]!r}"
    slow = {name: cost for name, cost in seconds.items() if cost > allowed}
    assert not slow


def test_known_slow_pages_are_parsed_in_time() -> None:
    # Generous: the machine may be busy. Without the guard the worst take seconds.
    check(list(known(50_000)), 0.4, 90)


def test_random_slow_pages_are_parsed_in_time() -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    check(list(random_pages(seed, 60, 50_000)), 0.4, 90)


def test_the_search_finds_what_the_guard_is_for() -> None:
    nasty = [("p", repeat("<b id=%d></p><p>", 20_000)), ("d", repeat("<div>", 90_000))]
    bare = run_child(nasty, "bare", 60)
    guarded = run_child(nasty, "guarded", 60)
    assert all(bare.get(name, 99) > 4 * guarded[name] for name, _ in nasty)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("size", [150_000, 300_000])
def test_large_slow_pages_are_parsed_in_time(size: int) -> None:
    # 50 ms per 100 KB and one bad piece, twice that and more for a busy machine.
    allowed = 2 * (size / 100_000 * 0.05 + 0.15) + 0.3
    check(list(known(size)), allowed, 400)
    seed = random.randrange(1 << 30)
    print("seed", seed)
    check(list(random_pages(seed, 400, size)), allowed, 400)
