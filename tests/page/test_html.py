"""parse: links, text and wishes of pages, by both readers."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lycosa.page import html as parse
from lycosa.page.html import Parsed, parse_html, parse_text
from support.cpu import cpu_seconds

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True, params=["compiled", "python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test reads pages in both ways."""
    if request.param == "python":
        monkeypatch.setattr(parse, "scan", None)
    elif not parse.compiled():
        pytest.skip("needs a C compiler when lycosa is installed")
    return str(request.param)


def html(body: str, **options: Any) -> Parsed:
    return parse_html(body.encode(), "text/html; charset=utf-8", **options)


def load_bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_parse", ROOT / "bench" / "parse.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGE = """<!DOCTYPE html><html lang="de-AT"><head><title>
 One &amp; two </title><base href=" /base/ "><meta name=ROBOTS content="NoIndex, follow">
<link rel=canonical href="https://e.com/c"><link rel="next" href="/2"><link rel=stylesheet href=/s>
<link rel=alternate type="application/rss+xml" href=/feed><link rel=alternate hreflang=en href=/en>
<style>p{}</style></head><body><script>var a = "<a href=/no>x</a>";</script>
<p>J<b>o</b>hn <a href=" /a ">likes</a>, well&nbsp;&eacute;</p><div>x</div>y<br>z
<ul><li>1</li><li>2</ul><table><tr><td>c1<td>c2</table><noscript><p hidden>no</p></noscript>
<a href="/a">again</a> <a href="#top">top</a> <a href="javascript:x()">js</a> <a name=x>n</a>
<a href="mailto:a@e.com">mail</a> <a href="/n" rel="external NoFollow">n</a> <a href="">e</a>
<area href=/area><iframe src=/frame>no</iframe><img src=/no.png alt=pic><svg><title>no</title></svg>
<select><option>no</select><textarea></textarea><template><a href=/no>no</a></template></body>"""
LINKS = ["https://e.com/c", "/2", "/en", "/a", "/area", "/frame"]


def test_one_page() -> None:
    found = html(PAGE)
    assert found.title == "One & two"
    assert found.lang == "de-at"
    assert found.base == "/base/"
    assert found.canonical == "https://e.com/c"
    assert (found.noindex, found.nofollow) == (True, False)
    assert found.links == LINKS
    lines = found.text.split("\n")
    assert lines[:7] == ["John likes, well é", "x", "y", "z", "1", "2", "c1\tc2"]
    assert lines[-1].startswith("again top js n mail n e")


def test_hidden_text_stays_out() -> None:
    page = PAGE.replace("<noscript>no</noscript>", "<noscript>yes</noscript>")
    assert "no" not in html(page).text.split()


def test_nofollow_is_a_setting() -> None:
    assert html(PAGE, obey_nofollow=False).links == [*LINKS[:4], "/n", *LINKS[4:]]
    assert html("<a href=/x rel=ugc>x</a>").links == ["/x"]
    page = "<meta name=robots content=nofollow><a href=/x>x</a>"
    assert (html(page).links, html(page).nofollow) == ([], True)
    assert html(page, obey_nofollow=False).links == ["/x"]


@pytest.mark.parametrize(
    ("meta", "noindex", "nofollow"),
    [
        ("name=robots content=none", True, True),
        ("name=lycosa content='nofollow,noarchive'", False, True),
        ("name=googlebot content=noindex", False, False),
        ("name=robots content='all'", False, False),
        ("name=robots", False, False),
    ],
)
def test_wishes(meta: str, noindex: bool, nofollow: bool) -> None:
    found = html(f"<meta {meta}><p>x")
    assert (found.noindex, found.nofollow) == (noindex, nofollow)


def test_language_of_last_resort() -> None:
    assert html("<meta http-equiv=Content-Language content='fr, en'>").lang == "fr"
    assert html("<html xml:lang=pt>").lang == "pt"
    assert html("<p>").lang == ""


def test_frameset() -> None:
    assert html("<frameset><frame src=/a><frame src=/b></frameset>").links == ["/a", "/b"]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>Hello, <!-- -->World<!-- -->!</p>", "Hello, World!"),
        ("<h1>a</h1><h2>b</h2>", "a\nb"),
        ("a<custom-tag>b</custom-tag>", "ab"),
        ("<p>  a \n\t b  </p>", "a b"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("<span>a</span><span>b</span>", "ab"),
        ("a<img>b<wbr>c", "abc"),
        ("<p>&nbsp;</p><p>x&nbsp;&nbsp;y</p>", "x y"),
        ("5 < 6 &lt; 7", "5 < 6 < 7"),
        ("<p>a<p>b\x1ec\x01d", "a\nbcd"),
        ("", ""),
        ("<", "<"),
        ("<a><b></a>x</b>", "x"),
    ],
)
def test_text(page: str, text: str) -> None:
    assert html(page).text == text


def test_limits() -> None:
    many = "".join(f"<a href=/{i}>x{i}</a> " for i in range(50)) * 2
    found = html(many, max_links=20)
    assert found.links == [f"/{i}" for i in range(20)]
    assert found.links_dropped == 60
    assert len(html(many, max_text=30).text) == 30
    assert html("<title>" + "t " * 5_000).title == ("t " * 500).rstrip()
    assert html(f"<a href=/{'x' * 10_000}>").links == []


def test_a_page_that_could_reach_a_limit_gives_the_same_links() -> None:
    """A small page's links are not counted one by one."""
    plain = (
        '<base href="/b"><a href=x>1</a><a href=" y ">2</a><link rel=next href=x><a href=é>3</a>'
    )
    page = (
        plain + '<a href=x>4</a><a href="&nGt;z">5</a><area href=y><a href=x rel=z>6</a>'
    ).encode()
    few = parse_html(page, "text/html; charset=utf-8")
    assert len(few.links) == len(set(few.links)) == 4
    large = page + b"<!--" + b" " * parse.MAX_LINK_CHARS + b"-->"
    assert parse_html(large, "text/html; charset=utf-8").links == few.links
    assert parse_html(page, "text/html; charset=utf-8", max_links=4).links == few.links
    least = parse_html(page, "text/html; charset=utf-8", max_links=3)
    assert (least.links, least.links_dropped) == (few.links[:3], 1)


@pytest.mark.parametrize("end", ["&nbsp", "&nbsp;", "&#32", "&#10", "&#160", "&#xA0"])
def test_white_space_behind_a_link_is_no_part_of_it(end: str) -> None:
    assert html(f"<a href='/a{end}'>x</a><a href=/a>y</a>").links == ["/a"]


def test_text_beyond_the_limit_does_not_stop_links() -> None:
    page = "<p>word</p>" * 8_000 + "<a href=/last>x</a>"
    assert html(page, max_text=100).links == ["/last"]


def test_bytes_beyond_the_limit_are_not_read() -> None:
    page = "<p>" + "é" * (parse.PARSE_BYTES // 2) + "</p><a href=/last>x</a>"
    found = html(page)
    assert (found.links, found.charset) == ([], "utf-8")
    assert set(found.text) == {"é"}


def test_charsets() -> None:
    page = "<meta charset=windows-1251><title>Привет</title><a href=/й>мир</a>".encode("cp1251")
    found = parse_html(page, "text/html")
    assert (found.title, found.text, found.links) == ("Привет", "мир", ["/й"])
    assert found.charset == "windows-1251"


def test_plain_text() -> None:
    found = parse_text(b"\xef\xbb\xbfa  \r\nb <a href=/x>\0\n\n", "text/plain")
    assert (found.text, found.links, found.charset) == ("a\nb <a href=/x>", [], "utf-8")


@pytest.mark.parametrize(
    ("content_type", "text"),
    [
        ("text/html; charset=utf-8", "x"),
        ("Application/XHTML+XML", "x"),
        ("", "x"),
        ("text/plain", "<p>x"),
        ("application/json", "<p>x"),
        ("application/atom+xml", "<p>x"),
        ("image/png", ""),
    ],
)
def test_kinds(content_type: str, text: str) -> None:
    assert parse.parse(b"<p>x", content_type).text == text
    assert parse.parse(b"just text", "").text == "just text"


FILLERS = {
    "script": ("<script>", "if (a<b) x('<p>no</p>');\n", "</script>"),
    "quiet script": ("<SCRIPT>", "var no = 'no';\n", "</SCRIPT >"),
    "style": ("<style>", "p > a { no: no }\n", "</style>"),
    "comment": ("<!--", "<p>no</p> ", "-->"),
    "quiet comment": ("<!--", "no no ", "-->"),
    "template": ("<template>", "<div>no</div>", "</template>"),
    "svg": ("<svg>", "<path d=no></path><text>no</text>", "</svg>"),
    "select": ("<select>", "<option>no</option>", "</select>"),
    "data": ("<img alt='a>b' src='data:image/png;base64,", "no+no/", "'>"),
    "hidden": ("<div hidden>", "<p>no</p>\n", "</div>"),
    "not displayed": ("<div style='display:none'>", "<p>no</p>\n", "</div>"),
    "not visible": ("<i style='visibility:hidden'>", "<b>no</b>\n", "</i>"),
    "dialog": ("<dialog>", "<p>no</p>\n", "</dialog>"),
}


@pytest.mark.parametrize("name", FILLERS)
def test_nothing_leaks_from_long_hidden_elements(name: str) -> None:
    begin, unit, end = FILLERS[name]
    filler = begin + unit * (60_000 // len(unit)) + end
    found = html(f"<div><p>before</p>{filler}</div><p>after</p><a href=/x>link</a>")
    assert found.text == "before\nafter\nlink"
    assert found.links == ["/x"]


def test_closed_elements_hide_nothing_behind_them() -> None:
    unit = "".join(f"<div>{begin}no{end}</div>" for begin, _, end in FILLERS.values())
    unit = unit.replace("a>b", "b")
    found = html(f"{unit}<p>seen</p>" * 200)
    assert found.text == "\n".join(["seen"] * 200)


def test_rows_of_a_long_table_stay_apart() -> None:
    page = "<table>" + "".join(f"<tr><td>a{i}</td><td>b{i}</td></tr>" for i in range(3_000))
    expected = [f"a{i}\tb{i}" for i in range(3_000)]
    assert html(page).text.split("\n") == expected


def test_long_text_without_tags() -> None:
    found = html("<p>" + "word " * 50_000 + "</p><a href=/x>y</a>")
    assert found.text == "word " * 49_999 + "word\ny"
    assert found.links == ["/x"]


def test_two_hundred_thousand_links_are_quick() -> None:
    page = "".join(f"<a href=/{i}>x</a>" for i in range(200_000)).encode()
    # 0.04 s when measured alone.
    assert cpu_seconds(lambda: parse_html(page, "text/html"), enough=0.2) < 0.4
    found = parse_html(page, "text/html")
    assert len(found.links) == parse.MAX_LINKS
    assert found.links_dropped > 0


def test_benchmark_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "parse.py"), "--quick"],
        capture_output=True,
        check=True,
        timeout=60,
        text=True,
    )
    assert done.stdout.count("parse_html ") == 4


@pytest.mark.parametrize(
    "unit",
    [
        "&#1;",
        "&nbsp; ",
        "<div>",
        "a<br>",
        "<p a%d b%d c%d d%d e%d f%d>x",
        "<b>x",
        "<a href=%d>x</a>",
    ],
)
def test_large_pages_hold_nobody_up(unit: str) -> None:
    page = "".join(unit.replace("%d", str(i)) for i in range(2_100_000 // len(unit))).encode()
    # Below 0.03 s when measured alone.
    assert cpu_seconds(lambda: parse_html(page, "text/html; charset=utf-8"), enough=0.1) < 0.25


@pytest.mark.parametrize("reference", ["&lt;", "&lt", "&#60;", "&#x3C;"])
def test_every_reference_is_replaced(reference: str) -> None:
    count = 25_000  # twenty thousand were, once
    assert html(reference * count).text == "<" * count
    page = "".join(f"<a href='/{i}?a&amp;b{reference * 10}'>" for i in range(2_500))
    assert html(page).links == [f"/{i}?a&b{'<' * 10}" for i in range(2_500)]


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("a &amp; b", "a & b"),
        ("&copy=1", "\xa9=1"),  # in an attribute it would be no reference
        ("&copyright", "\xa9right"),
        ("AT&ampT &notit; &notin;", "AT&T \xacit; \u2209"),
        ("&ltb&gt; &bogus; &", "<b> &bogus; &"),
        ("&#128; &#x26; &#0;", "\u20ac & \ufffd"),
        ("a<b>c</b>", "a<b>c</b>"),
    ],
)
def test_titles_are_text(written: str, title: str) -> None:
    assert html(f"<title>{written}</title>x").title == title
    assert html(f"<p>{written.replace('<', '&lt;')}</p>").text == title  # by the same rules


@pytest.mark.parametrize(
    ("content", "link"),
    [
        ("0; url=/x", "/x"),
        ("0;URL=/x", "/x"),
        ("5,url=/x", "/x"),
        ("5 url=/x", "/x"),
        ("5 , /x", "/x"),
        ("0;/x", "/x"),
        ("0; url = /x ", "/x"),
        ("0; url='/x'", "/x"),
        ('0; url="/x" more', "/x"),
        ("0; '/x' y", "/x"),
        ("0; url='/x", "/x"),
        (" \t1.5;url=/x", "/x"),
        (".5;url=/x", "/x"),
        ("0;url=/x;y", "/x;y"),
        ("0; urlx=/y", "urlx=/y"),
        ("0; u", "u"),
        ("0;; url=/x", "; url=/x"),
        ("00001 \n;\n url\n=\n/x", "/x"),
        ("9" * 5_000 + ";url=/x", "/x"),
        ("0", None),
        ("0;", None),
        ("0; url=", None),
        ("0; url=''", None),
        ("", None),
        ("url=/x", None),
        ("; url=/x", None),
        ("-1; url=/x", None),
        ("x; url=/x", None),
        ("5x; url=/x", None),
        ("0; url=javascript:x()", None),
        ("0; url=#top", None),
    ],
)
def test_a_refresh_is_a_link(content: str, link: str | None) -> None:
    expected = [link] if link else []
    value = content.replace("'", "&#39;")
    assert html(f"<meta http-equiv=refresh content='{value}'>").links == expected
    assert html(f"<p>x<META content='{value}' HTTP-EQUIV=Refresh>").links == expected
    assert (
        html(f"<noscript><meta http-equiv=refresh content='{value}'></noscript>").links == expected
    )


def test_a_refresh_obeys_as_other_links_do() -> None:
    refresh = "<meta http-equiv=refresh content='0; url=/x'>"
    nofollow = "<meta name=robots content=nofollow>"
    assert html(refresh + "<a href=/y>").links == ["/x", "/y"]
    assert html(refresh + nofollow).links == []
    assert html(refresh + nofollow, obey_nofollow=False).links == ["/x"]
    assert html(f"<template>{refresh}</template>").links == []
    assert html("<meta name=refresh content='0; url=/x'>").links == []
