"""The two readers of HTML, compiled and in Python: judged by the standard, and by each other.

html5lib's public cases say what a page means (`html_standard`). Mutated, they have no expected
result, but both readers must find the same in them; and mutated pages of an ordinary kind go to
lexbor, a parser that follows the standard: nothing that it would show may be lost.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable
from html.entities import html5
from pathlib import Path
from types import ModuleType

import html_standard as standard
import pytest
from selectolax.lexbor import LexborHTMLParser

from fuzz import corpus
from fuzz.judge import unpacked
from lycosa.page import html, html_scan
from lycosa.page.html import Parsed, parse_html
from lycosa.simweb import hostile
from support.cpu import cpu_seconds

SEED = int(os.environ.get("LYCOSA_SEED", "1"))  # of the mutations; it is printed


@pytest.fixture(params=["compiled", "python"])
def read(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Parsed]:
    if request.param == "python":
        monkeypatch.setattr(html, "scan", None)
    elif not html.compiled():
        pytest.skip("there was no C compiler when lycosa was installed")
    return lambda page: parse_html(page.encode(), "text/html; charset=utf-8")


# Where both readers differ from the cases, and why.
MOVED = "text that a table may not hold stays where it was written"
UNCLOSED = "what only the end of the page closes hides nothing, and here tags can't tell that"
FRAMES = "text beside frames, which a browser drops, is kept"
EXCEPTIONS = {
    **dict.fromkeys(("adoption01-11", "adoption01-12"), MOVED),
    **dict.fromkeys(("tests1-79", "tests1-80", "tests7-28"), MOVED),
    **dict.fromkeys(("template-77", "template-93", "tests18-16", "tests18-29"), UNCLOSED),
    **dict.fromkeys(("tests18-30", "tests21-18", "tests21-20", "webkit02-19"), UNCLOSED),
    **dict.fromkeys(("tests18-19", "tests18-21", "tests19-42", "tests6-8"), FRAMES),
    **dict.fromkeys(("tests2-6", "tests2-7", "tests2-8"), FRAMES),
}


def test_what_is_seen_of_the_standards_cases(read: Callable[..., Parsed]) -> None:
    cases = list(standard.trees())
    assert len(cases) > 1_400
    wrong = {
        case.name: (case.page, standard.visible(case), found)
        for case in cases
        if (found := standard.squeeze(read(case.page).text)) != standard.visible(case)
    }
    assert {name: what for name, what in wrong.items() if name not in EXCEPTIONS} == {}
    assert set(wrong) == set(EXCEPTIONS), "these are right by now"
    for name, (_, seen, found) in wrong.items():
        assert Counter(found) >= Counter(seen), f"{name}: no exception may lose text"


def test_links_and_titles_of_the_standards_cases(read: Callable[..., Parsed]) -> None:
    for case in standard.trees():
        found = read(case.page)
        expected = {link for link in standard.links(case) if link[0] != "#"}
        assert (set(found.links), found.title) == (expected, standard.title(case)), case


def test_the_tokenizers_cases(read: Callable[..., Parsed]) -> None:
    cases = [case for case in standard.tokens() if _is_text(case[1])]
    assert len(cases) > 6_600
    wrong = [
        (name, page, text, found)
        for name, page, text in cases
        if (found := standard.squeeze(read(page).text)) != text
    ]
    assert wrong == []


def test_references_in_attributes(read: Callable[..., Parsed]) -> None:
    """A quote follows them there, which ends a name as the end of the page does."""
    cases = [each for each in standard.tokens() if each[0].startswith(("named", "numeric"))]
    assert len(cases) > 4_000
    for name, reference, text in cases:
        (link,) = read(f"<a href='/x{reference}y'>").links if ";" in reference else ["/x" + text]
        if ";" in reference and reference.endswith(";"):
            assert standard.squeeze(link) == standard.squeeze(f"/x{text}y"), name


def _is_text(page: str) -> bool:
    """Lone surrogates are not: no page in UTF-8 can hold them. A byte order mark is none either."""
    return page[:1] != "\ufeff" and not any(0xD800 <= ord(each) < 0xE000 for each in page)


LOST = {
    "svg": "<div><svg><path d='m0 0'></div><p>seen</p><svg><path></svg>",
    "svg, block in it": "<svg><p>seen</p><svg></svg>",
    "svg, link in it": "<div><svg><g><a href=/x></div>seen<svg></svg>",
    "svg in a cell": "<table><tr><td><svg><g></td><td>seen</table><svg></svg>",
    "svg in formatting": "<b><svg><g></b>seen<svg></svg>",
    "svg in a list": "<ul><li><svg><li>seen</ul><svg></svg>",
    "svg at the end": "<svg><g>seen",
    "math": "<math><mi>x<p>seen</p>",
    "select": "<p>a<select><option>x<p>seen",
    "select in a cell": "<table><tr><td><select><option>x<tr><td>seen</table><select></select>",
    "select again": "<select><option>x<select><p>seen</p><select></select>",
    "select, then input": "<select><option>x<input>seen<select></select>",
    "select, then textarea": "<select><option>x<textarea></textarea>seen<select></select>",
    "video": "<div><video src=x></div>seen<video></video>",
    "video in a paragraph": "<p><video src=x><p>seen</p><video></video>",
    "video in a link": "<a href=/x><video></a>seen<video></video>",
    "video at the end": "<video><p>seen",
    "audio": "<section><audio></section>seen<audio></audio>",
    "canvas": "<span><canvas></span>seen<canvas></canvas>",
    "object": "<table><td><object></td><td>seen</table><object></object>",
    "datalist": "<li><datalist><li>seen<datalist></datalist>",
    "template": "<template><p>seen",
    "noscript in noscript": "<noscript><img><noscript><img></noscript>seen<noscript></noscript>",
    "noscript, never closed": "<noscript><p>seen",
    "noscript with a comment": "<noscript><!-- </noscript>seen",
    "noscript with a script": "<noscript><script></noscript>seen",
    "style in svg": "<svg><style><p>seen</style>",
    "style in svg, closed": "<svg><style>x</svg>seen<style></style>",
    "title in svg": "<svg><title>x</svg>seen<title></title>",
    "textarea in svg": "<svg><textarea>x</svg>seen</textarea>",
    "script in svg": "<svg><script/><p>seen",
    "iframe in svg": "<svg><iframe></svg>seen</iframe>",
    "xmp in math": "<math><xmp></math>seen</xmp>",
    "data in math": "<math><![CDATA[seen]]></math>",
    "a script in a comment of a script": "<script><!--<script></script>--></script>seen",
    "text that is plain": "<plaintext>seen",
}


@pytest.mark.parametrize("name", LOST)
def test_text_behind_what_is_not_closed(name: str, read: Callable[..., Parsed]) -> None:
    assert "seen" in read(LOST[name]).text.split()


@pytest.mark.parametrize("name", sorted(standard.HIDDEN - standard.RAW | {"svg"}))
def test_what_is_closed_hides_its_text(name: str, read: Callable[..., Parsed]) -> None:
    page = f"<p>a</p><{name}><p>no</p><a href=/x>no</a></{name}><p>b"
    if name == "svg":
        page = page.replace("<p>no</p>", "<text>no</text>")
    assert read(page).text.split() == ["a", "b"]
    assert read(page).links == ([] if name == "template" else ["/x"])


NAMES = (
    *("a", "b", "i", "nobr", "font", "span", "p", "div", "ul", "li", "dl", "dd", "dt", "h1", "h2"),
    *("table", "caption", "tbody", "tr", "td", "th", "select", "option", "svg", "math", "mi"),
    *("desc", "foreignObject", "title", "annotation-xml", "script", "style", "textarea"),
    *("noscript", "template", "video", "object", "button", "form", "frameset", "frame", "iframe"),
    *("plaintext", "html", "body", "head", "br", "img", "input", "unknown"),
    *("pre", "listing", "xmp", "dialog", "ruby", "rt", "rp", "annotation", "details", "meter"),
)
STYLES = (
    *("display:none", "display:block", "display:inline", "display:flex", "display:table-row"),
    *("display:table-cell", "visibility:hidden", "visibility:visible", "white-space:pre"),
    *("white-space:normal", "float:left", "display:none!important;display:block", "/*", "x:(;"),
    *("display :/**/ NONE ;", "display:inline-flex;position:fixed", "a:';display:none"),
)
BITS = (
    *(f"<{name}>" for name in NAMES), *(f"</{name}>" for name in NAMES),
    "<", "</", "<!--", "-->", "<!-", "--!>", "<![CDATA[", "]]>", "&", "&a", "&#1", "&#x", "&nbsp;",
    "&copy=", "&notin;", "&am", "&lt", "&#128;", "&#0;", "<a href='", '<a b="', "<a =", "<svg/>",
    "<svg a=b/>", "<svg / >", "<x y='z'", "<a href=/x rel='a&amp;b'>", "<link href=/l rel=next>",
    "<base href=/b>", "<meta name=robots content='", "<html lang=en>", "<font color=x>", "=", "'",
    '"', ">", "/", "-", "text ", "word", "\xe9", "\0", " ", "\n", "\xa0", "\x1e", "\u212a", "<!",
    *(f'<{name} style="{style}">' for name in ("p", "b", "td", "tr", "a") for style in STYLES),
    *(f"<{name} {hint}>" for name in ("p", "b", "div", "td", "tr", "form", "a", "pre", "textarea")
      for hint in ("hidden", "HIDDEN=x", "b='c'popover", "a hidden c=d", "Style=display:NONE")),
    "  ", "\r\n", "\n\n  ", "\t", "\r", "\f", "\x01", "\x02\x1d", "\x1f", "&#13;", "&Tab;", "&shy;",
    "\xad", "\x85", "\u2028", "\u200b", "\u200c", "\u200d", "\u3000", "\ufeff", "\u2003", "\u1680",
    "<p style style=display:none>", "<p hidden/=x>", "<i a='b'popover=x>", "<b ==hidden=x>",
    "<i style/=x style=float:left>", "<b Style =display:none>", "<b =hidden>", "<b x= = hidden>",
    "<dialog open>", "<template shadowrootmode=open>", "<math><semantics>", "&zwj;", "e\u2060",
    "<annotation-xml encoding=text/html>", "<iframe src=/f>", "<area href=/a>", "<SCRIPT><!--",
)  # fmt: skip


def mutated(chance: random.Random, pages: list[str]) -> str:
    if chance.random() < 0.5:
        return "".join(chance.choices(BITS, k=chance.randrange(60)))
    page = chance.choice(pages)
    for _ in range(chance.randrange(4)):
        at, kind = chance.randrange(len(page) + 1), chance.random()
        if kind < 0.4:
            page = page[:at] + chance.choice(BITS) + page[at:]
        elif kind < 0.7:
            page = page[:at] + page[at + chance.randrange(6) :]
        else:
            other = chance.choice(pages)
            page = page[:at] + other[chance.randrange(len(other) + 1) :]
    return page


def both(page: bytes, max_links: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Parsed, Parsed]:
    """What the compiled reader finds in a page, and what the one in Python does."""
    if not html.compiled():
        pytest.skip("there was no C compiler when lycosa was installed")
    quick = parse_html(page, "text/html; charset=utf-8", max_links=max_links)
    with monkeypatch.context() as patch:
        patch.setattr(html, "scan", None)
        return quick, parse_html(page, "text/html; charset=utf-8", max_links=max_links)


def check_both(count: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    print("LYCOSA_SEED", seed)
    chance = random.Random(seed)
    pages = [case.page for case in standard.trees()]
    for _ in range(count):
        page = mutated(chance, pages).encode("utf-8", "replace")
        quick, slow = both(page, chance.choice((1_000, 3, 0)), monkeypatch)
        assert quick == slow, page


def test_both_readers_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    check_both(15_000, SEED, monkeypatch)


@pytest.mark.slow
def test_both_readers_find_the_same_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    check_both(500_000, random.randrange(1 << 30), monkeypatch)


def test_both_readers_note_the_same() -> None:
    scan = pytest.importorskip("lycosa.page._scan", reason="no C compiler").scan
    print("LYCOSA_SEED", SEED)
    chance = random.Random(SEED)
    pages = [case.page for case in standard.trees()]
    for _ in range(5_000):
        page = mutated(chance, pages).encode("utf-8", "replace")
        items = chance.choice((1_000, 3, 0))
        assert scan(page, html5, items, 1 << 20) == html_scan.scan(page, html5, items, 1 << 20), (
            page
        )


@pytest.mark.parametrize("kind", sorted(hostile.LARGE))
def test_both_readers_find_the_same_in_hostile_pages(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, slow = both(hostile.LARGE[kind]()[:60_000], 4_000, monkeypatch)
    assert quick == slow


# -- ordinary pages with something wrong ---------------------------------------------------------

# No <select>: since 2025 the standard, and lexbor, let it hold anything; the readers follow the
# cases of html5lib, in which most tags in it are ignored and a <table> or a <textarea> may end it.
WRONG = (
    "<svg>", "<svg><path d=x>", "<video><source>", "<video>", "<audio>",
    "<canvas>", "<object>", "<datalist>", "<svg><style>", "<svg><title>", "<svg></p>", "</svg>",
    "</video>", "<p>", "<div>", "</div>", "</p>", "<table>", "<tr>", "<td>",
    "</table>", "<svg><foreignObject>", "<svg><desc><p>", "<math><mi>", "<math>", "<b>", "</b>",
    "<a href=/z>", "</a>", "<form>", "</form>", "<button>", "<li>", "<ul>", "</ul>", "<h2>",
    "<input>", "<span>", "</span>", "<svg><script>",
    "<svg><g></svg>", "</object>", "<font color=x>", "<svg><font>",
)  # fmt: skip
PARTS = (
    "<p class=text>%s <b>%s</b>, %s <em>%s</em> &amp; %s.</p>\n", "<h2>%s</h2>\n",
    "<div class='row col'><div class=inner><span>%s</span><img src=/i alt=x></div></div>\n",
    "<ul><li>%s</li><li><a href=/%s>%s</a></li></ul>\n", "<script>var a = '<p>';</script>\n",
    "<table><tr><td>%s</td><td>%s</td></tr></table>\n",
    "<svg><path d='m'/><text>no</text></svg>\n", "<form><label>%s<input></label></form>\n",
)  # fmt: skip


def ordinary(chance: random.Random) -> str:
    """A page whose words all differ, with up to three faults."""
    body = "".join(chance.choices(PARTS, k=12))
    while "%s" in body:
        body = body.replace("%s", f"w{chance.randrange(10**6)}", 1)
    for _ in range(chance.randrange(1, 4)):
        tag = chance.choice(list(re.finditer(r"<[^>]*>", body)))
        at, end, kind = tag.start(), tag.end(), chance.random()
        if kind < 0.6:
            body = body[:at] + chance.choice(WRONG) + body[at:]
        else:
            body = body[:at] + (tag[0] * 2 if kind < 0.7 else "") + body[end:]
    return f"<!doctype html><title>t</title><body><main>{body}</main></body>"


def words(text: str) -> set[str]:
    return set(re.findall(r"w[0-9]+", text))


def by_lexbor(page: str) -> set[str]:
    tree = LexborHTMLParser(page, options=1)
    for name in (*standard.HIDDEN, "svg"):
        for node in tree.css(name):
            node.decompose()
    assert tree.root is not None
    return words(tree.root.text())


def test_no_text_is_lost_where_tags_are(read: Callable[..., Parsed]) -> None:
    print("LYCOSA_SEED", SEED)
    chance = random.Random(SEED)
    for _ in range(400):
        page = ordinary(chance)
        assert by_lexbor(page) <= words(read(page).text), page


# -- an older Python ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def older() -> ModuleType:
    """The twin as Python before 3.11.5 has it, where groups that give nothing back are wrong."""
    source = Path(html_scan.__file__).read_text("utf-8")
    line = 'SOUND = _KEPT.match("ad") is not None\n'
    assert source.count(line) == 1
    made = ModuleType("older_html_scan")
    exec(source.replace(line, "SOUND = False\n"), made.__dict__)
    return made


@pytest.mark.parametrize("part", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_an_older_python_reads_the_same(older: ModuleType, part: int) -> None:
    """Of large pages that were kept one in so many, for they are 70 MB; all that are small."""
    print("LYCOSA_SEED", SEED)
    chance = random.Random(SEED)
    cases = [case.page for case in standard.trees()]
    kept = sorted((unpacked(data)[3:] for data in corpus.kept("scan")), key=len)
    small = sum(len(page) < 10_000 for page in kept)
    pages = kept[:small] + kept[small::part]
    pages += [mutated(chance, cases).encode("utf-8", "replace") for _ in range(3_000)]
    limits = (html5, 1_000, 1 << 20)
    for page in pages:
        assert older.scan(page, *limits) == html_scan.scan(page, *limits), page


UNENDED = ["a=b", " a=b", " a='b'", "a = b", "/a", ' a="', " a", "=", "a='b'c=\"d\"", " href:=x<p"]


@pytest.mark.parametrize("unit", UNENDED)
@pytest.mark.parametrize("end", ["", ">", "'>", '">x'])
def test_an_older_python_takes_no_longer_than_the_length_asks_for(
    older: ModuleType, unit: str, end: str
) -> None:
    def seconds(size: int) -> float:
        page = ("<p" + unit * (size // len(unit)) + end).encode()
        return cpu_seconds(lambda: older.scan(page, html5, 12_000, 4_000_000))

    assert seconds(200_000) < 12 * seconds(50_000) + 0.05  # 16 times as long, if it were quadratic
