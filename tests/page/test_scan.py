"""The compiled reader: what is a tag and what is text, whatever the bytes are."""

from __future__ import annotations

import html
import random
from html.entities import html5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.page import facts, html_elements, html_scan
from lycosa.page import html as parse
from lycosa.page.html import parse_html
from lycosa.page.html_found import TELLING_METAS
from support.cpu import cpu_seconds

scan = pytest.importorskip(
    "lycosa.page._scan", reason="needs a C compiler when lycosa is installed"
).scan


def read(page: str | bytes, items: int = 1000, text: int = 1 << 20) -> tuple[str, list[object]]:
    data = page if isinstance(page, bytes) else page.encode()
    found, notes, _, *_ = scan(data, html5, items, text)
    return found, notes


@pytest.mark.parametrize(
    ("page", "text", "notes"),
    [
        ("", "", []),
        ("<", "<", []),
        ("</", "</", []),
        ("a<", "a<", []),
        ("a</>b", "ab", []),
        ("a<1>b", "a<1>b", []),
        ("a<!doctype x>b<?php 1 ?>c</ x>d", "abcd", []),
        ("a<!--b--!>c<!-->d<!--->e<!--f-- >g", "acde", []),
        ("a<!-- b", "a", []),
        ("x<a href=/a", "x", []),  # the page ends in a tag
        ("<a href='/a>x", "", []),
        ("<a href=/a>x", "x", ["/a"]),
        ("<A HREF = '/a' Rel=NoFollow>x", "x", [("/a", "NoFollow")]),
        ("<a href=/a rel='me noopener'>x", "x", ["/a"]),
        ("<a href=/a rel=>x<a href=/b rel>y", "xy", ["/a", "/b"]),
        ("<a href=/a rel=no&#102;ollow>x", "x", [("/a", "nofollow")]),
        ("<a href=/a rel='a\xe9'><a href=/b rel='a\n'>x", "x", [("/a", "a\xe9"), ("/b", "a\n")]),
        ("<a href=/a rel=nofollo><a href=/b rel=no-follow>x", "x", ["/a", "/b"]),
        ("<a title='>' href=\"/a\">x", "x", ["/a"]),
        ("<a data-x='a href=/no' href=/a href=/b>", "", ["/a"]),
        ("<a\nhref\n=\n/a\n>", "", ["/a"]),
        ("<a href=/a/>", "", ["/a/"]),
        ("<a/href=/a>", "", ["/a"]),
        ("<a href>", "", []),
        ("<a href=>x", "x", []),
        ("<a href=#x>", "", []),
        ("<a href='?a=1&copy=2&amp;b=3&lt'>", "", ["?a=1&copy=2&b=3<"]),
        ("<abc href=/no><ahref=/no>", "", []),
        ("<base href=/b><base href=/c>", "", [("base", {"href": "/b"}), ("base", {"href": "/c"})]),
        (
            "<meta name=date name=b CONTENT='x y' x=1>",
            "",
            [("meta", {"name": "date", "content": "x y"})],
        ),
        ("<title>a &amp; <b>b</title>c", "c", [(None, "a & <b>b")]),
        ("<script>'</scriptx>' </script >a", "a", []),
        ("<script>if (a<b) '<a href=/no>'", "", []),
        ("<textarea><a href=/no>&amp;</textarea>a", "<a href=/no>&\na", []),
        ("<textarea hidden>no</textarea>a<textarea>\n </textarea>b", "ab", []),
        ("<iframe src=/f><p>no</iframe>a", "a", [("iframe", {"src": "/f"})]),
        ("a<svg><title>no</title><a href=/s>no</a></svg>b", "ab", ["/s"]),
        ("a<svg/>b<svg />c", "abc", []),
        ("a<svg><title/><style/><path d=x /></svg>b<a href=/y>", "ab", ["/y"]),
        ("<title/>a</title>b", "b", [(None, "a")]),
        ("a<object>1<object>2</object>3</object>b", "ab", []),
        ("a<select>b", "ab", []),  # never closed: it would hide the page
        ("<template><a href=/no>no</a><title>no</title></template>a", "a", []),
        ("a</p>b<br/>c<custom-tag>d", "a\nb\ncd", []),
        ("<b>a </b> b", "a b", []),
        ("<p> a \n\t b </p>", "a b", []),
        ("a\0b", "ab", []),
        ("a\xa0\xa0b\xa9", "a b\xa9", []),
        ("&amp;lt; &#60;&#x3C;&lt &ltx &notit; &notin; &nbsp; &bogus; & &#; &#x;", None, []),
        ("&#0;&#xD800;&#x110000;&#99999999999;&#128;&#1;", "\ufffd\ufffd\ufffd\ufffd\u20ac", []),
    ],
)
def test_pages(page: str, text: str | None, notes: list[object]) -> None:
    found = read(page)
    assert found == (" ".join(html.unescape(page).split()) if text is None else text, notes)


def test_bytes_that_are_no_text() -> None:
    assert read(b"<p>\xff\xfea<a href=/\xe9>") == ("\ufffd\ufffda", [("/\ufffd", "")])


def test_many_references_leave_links_alone() -> None:
    _, notes = read("&nbsp;" * 30_000 + "<a href='/y?a=1&amp;b=2&#38;c'>")
    assert notes == ["/y?a=1&b=2&c"]


def test_limits() -> None:
    text, notes, dropped, *_ = scan(b"<a href=/a>word </a>" * 50, html5, 20, 100)
    assert (len(notes), dropped) == (20, 30)
    assert text.startswith("word word") and len(text) < 110


LEAVES = (
    "text ", "more", " ", "\n", "&amp;", "&eacute;", "&#65;", "<br>", "é", "5 < 6", "&nbsp;",
    "<script>if (a<b) c('<p>');</script>", "<style>a{}</style>", "<img alt='a > b' src=x>",
    "<svg><path d='m'/></svg>", "<svg><title/></svg>", "<hr>", "<select><option>no</select>",
)  # fmt: skip
BLOCKS = ("<p>", "<div class='x y'>", "<h2>", "<ul><li>", "<section id=1>", "<table><tr><td>")
INLINES = ("<b>", "<a href='/x%d'>", '<span class="a b">', "<em>", "<a rel=nofollow href=/n%d>")


@pytest.mark.parametrize("name", sorted((*html_elements.FLAGS, "unknown")))
def test_elements_break_lines_in_both_ways(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = f"<body>a<{name}>b</{name}>c<table><tr><td>a<{name}>b</{name}>c".encode()
    quick = parse_html(page, "text/html").text
    monkeypatch.setattr(parse, "scan", None)
    assert quick == parse_html(page, "text/html").text


ANY = (*LEAVES, *BLOCKS, *INLINES, "</b>", "</p>", "<!--", "-->", "<title>", "</title>", "<svg>")


def grown(chance: random.Random, depth: int, inline: bool) -> str:
    """Markup in order: everything is closed, and no block is in an inline element."""
    parts = []
    for n in range(chance.randrange(6)):
        kind = chance.random()
        if depth == 0 or kind < 0.4:
            parts.append(chance.choice(LEAVES[:7] if inline else LEAVES))
            continue
        inner = inline or kind < 0.7
        opened = chance.choice(INLINES if inner else BLOCKS)
        names = [part.split()[0].strip("<>") for part in opened.split("><")]
        closed = "".join(f"</{name}>" for name in reversed(names))
        within = grown(chance, depth - 1, inner or opened in ("<p>", "<h2>"))
        if inline and opened.startswith("<a"):
            continue  # no link in a link
        parts.append(opened.replace("%d", f"{depth}{n}") + within + closed)
    return "".join(parts)


@pytest.mark.parametrize("seed", range(200))
def test_both_ways_say_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    content = grown(random.Random(seed), 5, False)
    page = f"<html lang=en><title>t</title><body>{content}</body></html>".encode()
    quick = parse_html(page, "text/html; charset=utf-8")
    monkeypatch.setattr(parse, "scan", None)
    assert quick == parse_html(page, "text/html; charset=utf-8")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(ANY), st.binary(max_size=6), st.text("<>/='\"&;a# -!"))))
def test_any_bytes(parts: list[str | bytes]) -> None:
    page = b"".join(p if isinstance(p, bytes) else p.encode() for p in parts)
    text, notes = read(page)
    assert len(text) <= len(page)
    for note in notes:
        assert isinstance(note, str | tuple)


@pytest.mark.parametrize(
    "unit",
    [
        "<", "<a ", "<a href='", "<a b=\"", "<!--", "<!-", "&", "&a", "&#1", "&nbsp;", "<svg>",
        "<p>", "</", "<script>", "<title>", "<select>", "<b><p>", "=",
        "<a =", "<x y='z'", "\xc2", "</svg",
        "<svg></svg>", "<object><svg>", "<font a=1 b=2><p>", "<meta a=b c=d>", "<title></title>",
        "<link a b c d e f g h i j k l m n o p q r s t u v w x y z>", "<link href=/x rel=next>",
    ],
)  # fmt: skip
def test_time_is_linear(unit: str) -> None:
    page = unit.encode() * (2_000_000 // len(unit))
    # At most 0.03 s when measured alone.
    assert cpu_seconds(lambda: read(page, parse.MAX_NOTES, 4 << 20), enough=0.1) < 0.15


TELLING = [f"<meta name={name} content=x>" for name in sorted(TELLING_METAS)] + [
    *("<meta PROPERTY=' OG:Site_Name ' content=x>", "<meta itemprop=datePublished content=x>"),
    *("<meta http-equiv=Refresh content=1>", "<meta name='&#114;obots' content=x>"),
    *("<meta name='\xa0robots' content=x>", "<link rel='x Canonical' href=/a>", "<link rel=NEXT>"),
    *("<link rel=prev href=/a>", "<link rel='alternate stylesheet'>", "<link rel='&#110;ext'>"),
]
SILENT = [
    *("<meta name=viewport content=x>", "<meta property=og:image content=robots>", "<meta>"),
    *("<meta name=robotsx>", "<meta name='robots x'>", "<meta content=robots>", "<meta name>"),
    *("<link rel=icon href=/canonical>", "<link>", "<link rel>", "<link rel=stylesheet>"),
]


@pytest.mark.parametrize("size", [8_183, 8_184, 8_185, 9_000])
def test_a_rel_is_looked_at_as_far_as_it_is_kept(size: int) -> None:
    page = f"<a href=/a rel='{'x' * size} nofollow'>x".encode()
    found = scan(page, html5, 10, 1_000)
    assert found == html_scan.scan(page, html5, 10, 1_000)
    assert (found[1] == ["/a"]) == (size > 8_183)


@pytest.mark.parametrize("tag", TELLING + SILENT)
def test_only_tags_that_say_something_are_noted(tag: str) -> None:
    for reader in (scan, html_scan.scan):
        assert len(reader(tag.encode(), html5, 10, 1_000)[1]) == (tag in TELLING)


def test_every_name_that_means_something_is_telling() -> None:
    assert {*facts.DATES, *facts.NAMES} - {""} <= TELLING_METAS


@pytest.mark.parametrize("page", ["<p><a><p></", "<p><a href=/x>1<p>< b", "<p><a><p><"])
def test_a_mark_that_is_just_text_is_in_the_link_that_goes_on(page: str) -> None:
    found = scan(page.encode(), html5, 10, 1_000)
    assert found == html_scan.scan(page.encode(), html5, 10, 1_000)
    assert found[5][16] == found[5][17] > 0, "all of it is text of a link"


def test_a_bot_answers_to_its_own_name() -> None:
    """In the tags that are kept, in both readers, and in what the page then asks for."""
    mine, ours = b"<meta name=' EXAMPLE-Bot ' content=noindex>", b"<meta name=lycosa content=none>"
    try:
        for name, heard, unheard in (("Example-Bot", mine, ours), ("lycosa", ours, mine)):
            parse.answer_to(name)
            for reader in (scan, html_scan.scan):
                assert len(reader(heard, html5, 10, 1_000)[1]) == 1
                assert reader(unheard, html5, 10, 1_000)[1] == []
            assert parse_html(heard, "text/html").noindex
            assert not parse_html(unheard, "text/html").noindex
        with pytest.raises(ValueError, match="too long"):
            parse.answer_to("b" * 65)
    finally:
        parse.answer_to("lycosa")
