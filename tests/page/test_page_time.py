"""No page holds the loop (S3): its whole harvest (read, links resolved, judged and hashed, text
kept) within 50 ms of CPU, whatever its author intended.

Each family is a way to be slow. To add one, add a line: a unit that is repeated up to the 2 MiB
that are read, in which every `%d` is another number, or an href, of which a page has 4,000.
"""

from __future__ import annotations

import time

import pytest

from lycosa.engine import harvest
from lycosa.engine.harvest import Harvest, HarvestRules
from lycosa.engine.visit_result import Result
from lycosa.frontier.protocol import Batch
from lycosa.metrics import Stats
from lycosa.page import html, html_scan
from lycosa.records import Response
from lycosa.urls import domains
from lycosa.urls.scope import Scope, ScopeRules
from support.made import held, made_request, queued

COMPILED = 0.05  # seconds; 0.03 on a machine with 17 busy processes on 2 cores
# 0.065 there: decision 0003 lists what is not looked at instead. Before Python 3.11.5 it is dearer.
IN_PYTHON = 0.2 if html_scan.SOUND else 0.25
SIZE = html.PARSE_BYTES
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
PAGE = "https://www.example.com/a/b.html"
EXCLUDED = ("ads.example.net", ".gov", "*.shop.example.org")

HREFS = {
    "&": "/%d?" + "&" * 500,
    "&a": "/%d?" + "&a" * 250,
    "&amp;": "/%d?" + "&amp;" * 100,
    "&amp;a, few": "/%d?" + "&amp;a" * 50,
    "tracking": "/%d?" + "&utm_a=1" * 60,
    "tracking, few": "/%d?utm_a=1&utm_b=2",
    "tracking at the end": "/%d?" + "&x" * 240 + "&utm_x=1",
    "tracking at the end, fewer": "/%d?" + "&x" * 25 + "&utm_x=1",
    "tracking elsewhere": "http://a%d.test/?" + "&x" * 25 + "&utm_x=1",
    "nearly tracking": "/%d?" + "&utn_a" * 30,
    "sessions in the path": "/%d" + ";sessionid=1" * 40,
    "sessions": "/%d?" + "&sid=abcdefabcdefabcdef" * 20,
    ";": "/%d" + ";" * 500,
    "100 labels": "http://" + "a." * 100 + "x%d.test/",
    "110 labels": "http://%d." + "a." * 110 + "com/",
    "labels, capital": "HTTP://" + "A." * 100 + "x%d.TEST/",
    "labels, escaped": "http://" + "%%61." * 60 + "x%d.test/",
    "dots only": "http://" + "." * 200 + "%d/",
    "idn": "http://b\u00fccher%d.example/",
    "idn, labels": "http://" + "\u00fc." * 40 + "x%d.com/",
    "idn, long": "http://" + "\u00fc\u4e2d" * 10 + ".%d\u00fc.com/",
    "idn, encoded": "http://xn--bcher-kva%d.xn--bcher-kva.com/",
    "idn, encoded labels": "http://" + "xn--bcher-kva." * 15 + "x%d.com/",
    "idn, chinese": "http://\u4e2d%d\u6587.\u4e2d\u56fd/",
    "idn, arabic": "http://\u0645\u062b\u0627\u0644%d.\u0645\u062b/",
    "idn, combining": "http://" + "a\u0301\u0323" * 15 + "%d.com/",
    "idn, full width": "http://" + "\uff41" * 60 + "%d.com/",
    "idn, bad": "http://xn--%d\u00fc.com/",
    "domains": "http://domain%d.com/",
    "domains of two labels": "http://www.domain%d.co.uk/a/b",
    "IPv4": "http://0x7f.%d/",
    "IPv6": "http://[::%d]/",
    "ports": "http://a.test:%d/",
    "user names": "http://" + "u@:" * 100 + "a%d.test/",
    "segments": "/%d" + "/a" * 250,
    "30 segments": "/%d" + "/s%d" * 30,
    "repeated segments": "/%d" + "/a/b/c" * 9,
    "..": "../" * 160 + "%d",
    "a/..": "/" + "a/../" * 100 + "%d",
    "a/b/../..": "a/" * 100 + "../" * 100 + "%d",
    "%2e": "/" + "%%2e%%2e/" * 70 + "%d",
    "./": "./" * 250 + "%d",
    "../x, ordinary": "../x/%d.html",
    "%": "/%d" + "%%" * 500,
    "%41": "/%d" + "%%41" * 160,
    "backslashes": "\\" * 500 + "%d",
    "backslashes in the path": "/%d" + "\\a" * 250,
    "tabs": "/%d" + "\t" * 500,
    "newlines": "/a\n" * 160 + "%d",
    "tabs in the scheme": "h\tt\ttp://a%d.test/",
    "spaces": "/%d" + " a" * 250,
    "latin": "/%d" + "\u00e4" * 250,
    "chinese": "/%d" + "\u4e2d" * 160,
    "emoji in the query": "?%d" + "\U0001f600" * 125,
    "NUL": "/%d" + "\0" * 500,
    "quotes": "/%d" + "'" * 500,
    "query only": "?%d" + "a" * 500,
    "8,000 characters": "/%d" + "a" * 7_900,
    "2,000 characters": "/%d?" + "a" * 1_900,
    "fragments": "/%d#" + "a" * 500,
    "fragments of odd URLs": "/\u00e4#%d",
    "colons": "a:%d",
    "other schemes": "foo%d://bar/" + "a" * 400,
    "scheme of the page": "//a%d.test/" + "b/" * 200,
    "scheme without slashes": "http:%d" + "/a" * 200,
    "not text": "/%d.pdf",
}
BASES = {
    "of many labels": ("http://" + "a." * 100 + "com/" + "d/" * 800, "../x%d"),
    "with many segments": ("/;" + "d/" * 900, "x%d"),
    "with a session": ("/;sessionid=1" + "d" * 1_900 + "/", "x%d"),
    "for queries": ("/" + "d/" * 900, "?%d"),
    "that is odd": ("/" + "\u00e4" * 300 + "/", "../%d"),
    "that is ordinary": ("/a/b/", "../x/%d"),
}
# Once, and then again and again.
UNITS = {
    "&lt;": ("", "&lt;"),
    "&ab": ("", "&ab"),
    "&": ("", "&"),
    "&nbsp;": ("", "&nbsp;x"),
    "longest reference": ("", "&CounterClockwiseContourIntegral;"),
    "no reference": ("", "&abcdefg "),
    "numbers": ("", "&#60;"),
    "long numbers": ("", "&#" + "9" * 50),
    "attributes": ("<a href=/x", " a%d"),
    "attributes of <link>": ("<link href=/x", " a%d"),
    "few attributes": ("", "<link a b c d e f g h i j k l m n o p q r s t u v w x y z>"),
    "robots": ("", "<meta name=robots content='a,b,c,d,e,f,g,h'>"),
    "robots, long": ("", "<meta name=robots content='" + "a," * 4_000 + "'>"),
    "refresh": ("", "<meta http-equiv=refresh content='%d;url=/x%d'>"),
    "refresh, spaces": ("", "<meta http-equiv=refresh content='" + " " * 8_000 + "'>"),
    "refresh, digits": ("", "<meta http-equiv=refresh content='" + "0." * 4_000 + "'>"),
    "rel": ("", "<a href=/%d rel='a b c d e f g'>"),
    "one link": ("", "<a href=/x>y</a>"),
    "rel, long": ("", "<a href=/%d rel='" + "a " * 4_000 + "'>"),
    "next": ("", "<link href=/%d rel='next a b c'>"),
    "titles": ("", "<title>x</title>"),
    "title": ("<title>", "&amp; "),
    "languages": ("", "<html lang=en>"),
    "bases": ("", "<base href=x>"),
    "<div>": ("", "<div>"),
    "<table>": ("", "<table><tr><td>"),
    "<b><p>": ("", "<b><p>"),
    "</p>": ("<p><button>" + "<span>" * 490, "</p>"),
    "<li>": ("<ul>" + "<span>" * 490, "<li>"),
    "formatting": ("", "<b id=%d></p><p>"),
    "<a><div>": ("", "<a><div>"),
    "<font>": ("", "<font color=a>"),
    "blocks in <a>": ("", "<a><div></a>"),
    "<svg><p>": ("", "<svg><p>"),
    "<svg><g>": ("", "<svg><g>"),
    "</x> in svg": ("<svg>" + "<g>" * 490, "</x>"),
    "templates": ("", "<template><a href=/%d></template>"),
    "noscript": ("", "<noscript></noscript>"),
    "noscript, open": ("", "<noscript>"),
    "noscript, nested": ("", "<noscript><noscript><a href=/%d></noscript>"),
    "scripts": ("", "<script><!--<script></script>"),
    "<!-- in a script": ("<script>", "<!--"),
    "dashes in a script": ("<script><!--", "-"),
    "CDATA": ("<svg><![CDATA[", "]]"),
    "comments": ("", "<!-- -->"),
    "dashes": ("<!--", "-"),
    "<": ("", "<"),
    "</": ("", "</"),
    "videos": ("", "<video>x</video>"),
    "selects": ("", "<select><option>"),
    "=": ("<a ", "="),
    "quotes": ("<a ", "a='b'"),
    "NUL": ("", "\0"),
    "frames": ("<frameset>", "<frame src=/%d>"),
    "words": ("", "a b "),
    "latin": ("", "\u00e9 "),
    "blocks": ("", "a<br>"),
    "spans": ("", "<span>a</span>"),
    "forms": ("", "<form></form><form>"),
    "buttons": ("", "<button>"),
    "unknown": ("", "<x%d>"),
    "styles": ("", "<p style='a%d:b;display:none'>x</p>"),
    "one long style": ("<p style='", "display:none;"),
    "comments in a style": ("<p style='", "/*"),
    "brackets in styles": ("", "<p style='({'>"),
    "not visible": ("", "<b style='visibility:hidden'>a<b style='visibility:visible'>"),
    "flex": ("", "<b style=display:flex>a"),
    "hidden": ("", "<p hidden>x"),
    "hidden in each other": ("", "<b hidden>x"),
    "bare names": ("<p ", "a hidden "),
    "cells": ("<table>", "<td>"),
    "cells with text": ("<table>", "<td>a<td><p>b"),
    "rows": ("<table>", "<tr><td>a"),
    "tables in each other": ("", "<table><tr><td>a<td>b"),
    "pre": ("<pre>", "\n  a"),
    "pre, empty lines": ("<pre>", "\n"),
    "pre, spaces": ("<pre>", " \t"),
    "pres": ("", "<pre>\n a</pre>"),
    "textareas": ("", "<textarea> </textarea>"),
    "soft hyphens": ("", "a\xad"),
    "joiners": ("\xe9", "\u200d\u200b"),
    "wide spaces": ("", "\u3000"),
    "kana": ("", "\u3042\u3044 "),
    "shadows": ("", "<template shadowrootmode=open>a"),
    "formulas": ("<math>", "<mi>a</mi>"),
    "unknown, closed": ("", "<x%d></x%d>"),
    "end tags": ("", "</x>"),
    "text": ("", "x" * 1_000),
}


def numbered(unit: str, number: int) -> str:
    return unit.replace("%d", str(number)).replace("%%", "%")


def links(href: str, before: str = "") -> bytes:
    parts = [before, *(f'<a href="{numbered(href, number)}">x</a>' for number in range(4_000))]
    return "".join(parts).encode()[:SIZE]


def repeated(before: str, unit: str) -> bytes:
    if "%d" not in unit:
        return (before + unit * (SIZE // len(unit))).encode()[:SIZE]
    parts = (numbered(unit, number) for number in range(SIZE // len(unit)))
    return (before + "".join(parts)).encode()[:SIZE]


def cost(body: bytes, rules: ScopeRules) -> float:
    """CPU of one page's harvest, in an engine that has seen nothing of it before."""
    domains._place.cache_clear()
    domains.place_of_origin.cache_clear()
    made = Harvest(HarvestRules(), Scope(rules), lambda _: b"", iter(()))
    result = Result(held("example.com"), 1.0, 2.0, requests=1)
    result.page = (queued(PAGE, depth=1), Response(made_request(PAGE), 200, HEAD, body))
    batch, stats = Batch(), Stats()
    start = time.thread_time()
    made.take(result, batch, stats)
    taken = time.thread_time() - start
    assert batch.pages[0].outcome in ("ok", "noindex")
    return taken


def best(body: bytes, allowed: float, rules: ScopeRules) -> float:
    """The best of six, or the first that is good: what disturbs a measurement only adds to it."""
    least = float("inf")
    for _ in range(6):
        least = min(least, cost(body, rules))
        if least < allowed:
            break
    return least


@pytest.fixture(params=["compiled", "python"])
def allowed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    if request.param == "compiled":
        if not html.compiled():
            pytest.skip("there was no C compiler when lycosa was installed")
        return COMPILED
    monkeypatch.setattr(html, "scan", None)
    monkeypatch.setattr(harvest, "join", None)
    return IN_PYTHON


@pytest.mark.parametrize("name", HREFS)
def test_links(name: str, allowed: float) -> None:
    assert best(links(HREFS[name]), allowed, ScopeRules()) < allowed


@pytest.mark.parametrize("name", [name for name in HREFS if "labels" in name or "idn" in name])
def test_links_with_exclusions(name: str, allowed: float) -> None:
    rules = ScopeRules(exclude=EXCLUDED)
    assert best(links(HREFS[name]), allowed, rules) < allowed


@pytest.mark.parametrize("name", BASES)
def test_bases(name: str, allowed: float) -> None:
    base, href = BASES[name]
    assert best(links(href, f"<base href='{base}'>"), allowed, ScopeRules()) < allowed


@pytest.mark.parametrize("name", UNITS)
def test_markup(name: str, allowed: float) -> None:
    assert best(repeated(*UNITS[name]), allowed, ScopeRules()) < allowed


def test_ordinary_pages_lose_no_link(allowed: float) -> None:
    hrefs = [f"/section/{number}/page-{number}.html?id={number}&p=2" for number in range(1_500)]
    hrefs += [f"https://www.example{number}.org/path/{number}" for number in range(1_000)]
    hrefs += [f"../other/{number}.html" for number in range(1_000)]
    body = "".join(f'<a href="{href}">x</a>' for href in hrefs).encode()
    made = Harvest(HarvestRules(), Scope(ScopeRules()), lambda _: b"", iter(()))
    batch, stats = Batch(), Stats()
    found = html.parse(body, "text/html").links
    made._links(held("example.com"), found, PAGE, 1, batch, stats)
    assert batch.link_count == len(hrefs)
    assert not stats.drops
