"""Main text and scores of lines, by both readers; dates, names and counts of the markup."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from html.entities import html5
from pathlib import Path

import pytest

from lycosa.page import blocks, html, html_scan
from lycosa.page.facts import iso_date
from lycosa.page.html import Parsed, parse, parse_html

PROSE = (
    "The river rises in the hills north of the town, runs through three valleys, and reaches the "
    "sea after forty miles. In most years it floods twice, which the farmers expect. "
)
ARTICLE = (
    "<title>The river and the town - The Paper</title><body>"
    "<nav class=menu><ul>" + "<li><a href=/x>Sports</a></li>" * 12 + "</ul></nav>"
    "<article class=post><h1>The river and the town</h1>"
    + "".join(f"<p>{PROSE}{number}</p>" for number in range(8))
    + "</article><div class=cookie-banner>We use cookies. <a href=/c>Accept</a></div>"
    "<footer class=footer><p>Copyright, <a href=/i>imprint</a></p></footer>"
)


@pytest.fixture(params=["compiled", "python"])
def read(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Parsed]:
    if request.param == "python":
        monkeypatch.setattr(html, "scan", None)
    elif not html.compiled():
        pytest.skip("there was no C compiler when lycosa was installed")
    return lambda page: parse_html(page.encode(), "text/html; charset=utf-8")


def test_an_article_without_menu_banner_and_footer(read: Callable[..., Parsed]) -> None:
    found = read(ARTICLE)
    assert found.main.count(PROSE.strip()) == 8
    assert not any(word in found.main for word in ("Sports", "cookies", "Copyright"))
    assert all(word in found.text for word in ("Sports", "cookies", "Copyright"))


def test_blocks_are_spans_of_the_text(read: Callable[..., Parsed]) -> None:
    found = read(ARTICLE)
    assert [found.text[start:end] for start, end, _ in found.blocks] == found.text.split("\n")
    assert all(0 <= score <= 100 for _, _, score in found.blocks)
    good = "\n".join(found.text[start:end] for start, end, score in found.blocks if score >= 40)
    assert good == found.main


@pytest.mark.parametrize("page", ["x", "<a href=/x>x</a>", "<nav>Home</nav>", "<noscript>x"])
def test_what_has_text_has_a_main_text(page: str, read: Callable[..., Parsed]) -> None:
    assert read(page).main == read(page).text != ""


def test_no_text_no_main_text(read: Callable[..., Parsed]) -> None:
    assert (read("").main, read("").blocks, read("<p> </p>").main) == ("", [], "")


def test_plain_text_is_main_text() -> None:
    found = parse(b"one\n\ntwo", "text/plain")
    assert (found.main, found.blocks) == ("one\n\ntwo", [(0, 3, 100), (5, 8, 100)])


def test_hidden_text_leaves_no_trace(read: Callable[..., Parsed]) -> None:
    hidden = "<svg><text><a href=/y>no</a></text></svg><select><option>no</select>"
    pages = (ARTICLE, ARTICLE.replace("<p>The", f"<p>{hidden}The"))
    first, second = (read(page) for page in pages)
    assert (first.main, first.blocks) == (second.main, second.blocks)


def test_very_many_lines_are_bounded(read: Callable[..., Parsed]) -> None:
    found = read("<p>x" * (blocks.MAX_BLOCKS + 100))
    assert len(found.blocks) == blocks.MAX_BLOCKS + 1
    assert found.blocks[-1][1] == len(found.text)


CODE = "for (int i = 0; i < n; i++)\n{\n    total += values[i];\n\n    n++;\n}\n"


def test_lines_of_preformatted_text_have_one_score(read: Callable[..., Parsed]) -> None:
    found = read(ARTICLE.replace("</article>", f"<pre>{CODE}</pre><p>{PROSE}</article>"))
    scores = [
        score for start, end, score in found.blocks if found.text[start:end] in CODE.split("\n")
    ]
    assert len(scores) == 5
    assert len(set(scores)) == 1
    assert CODE.strip() in found.main
    assert sum(end - start for start, end, _ in found.blocks) < len(found.text)


@pytest.mark.parametrize(
    "page",
    [
        "<pre>one\n<p>two\nthree</p>four\nfive</pre>six",
        "<ul><li><pre>" + "<a href=/x>x</a>\n" * 9 + "</pre><li><pre>one\n\ntwo</pre></ul>",
        "<table><tr><td><pre>1\n2\n3</pre><td><pre>x\ny</pre></table><p>z",
        "<pre>" + "x\n" * (blocks.MAX_BLOCKS + 9) + "</pre><p>y",
        f"<p>{PROSE}<pre>{CODE}</pre><pre>{CODE * 50}</pre>\ud7ff<xmp>{CODE}</xmp>",
    ],
)
def test_both_readers_join_the_same_lines(page: str) -> None:
    if not html.compiled():
        pytest.skip("there was no C compiler when lycosa was installed")
    assert html.scan is not None
    data = page.encode()
    assert html.scan(data, html5, 99, 1 << 20) == html_scan.scan(data, html5, 99, 1 << 20)


@pytest.mark.parametrize("how", ["hidden", "style='display: none'", "style=visibility:hidden"])
def test_what_scripts_would_show_of_a_blank_page(how: str, read: Callable[..., Parsed]) -> None:
    found = read(f"<div {how}>{ARTICLE}</div><script>show()</script>")
    assert (found.text, found.main) == (read(ARTICLE).text, read(ARTICLE).main)
    assert read(f"<p {how}>Hidden.</p>").text == ""
    assert read(f"<div {how}>{ARTICLE}</div>Loading").text == "Loading"


def test_ideographs_are_text_too(read: Callable[..., Parsed]) -> None:
    prose = "\u6cb3\u6d41\u5728\u5c71\u4e0a\u3002" * 20
    page = ARTICLE.replace(PROSE, prose).replace("Sports", "\u4f53\u80b2")
    assert read(page).main.count(prose) >= 7  # the last one stands beside a banner
    assert "\u4f53\u80b2" not in read(page).main


def documents() -> Iterator[bytes]:
    """Documentation of this machine, if there is some."""
    for path in sorted(Path("/usr/share/doc").rglob("*.htm*"))[:300]:
        if path.is_file() and path.suffix in (".html", ".htm", ".gz"):
            data = path.read_bytes()
            yield gzip.decompress(data) if path.suffix == ".gz" else data


def test_both_readers_agree_on_real_pages() -> None:
    scan = pytest.importorskip("lycosa.page._scan", reason="no C compiler").scan
    for page in documents():
        text = page.decode("utf-8", "replace").encode()[:400_000]
        limits = (html5, 12_000, 4_000_000)
        if text.count(b"<") > html_scan.MAX_TAGS:
            continue  # of larger ones the reader in Python leaves the rest out
        assert scan(text, *limits) == html_scan.scan(text, *limits), text[:200]


DATES = {
    "<meta property=article:published_time content='2024-05-06T07:08:09+0200'>": (
        "2024-05-06T07:08:09+02:00"
    ),
    '<script type="application/ld+json">{"datePublished": "2023-01-02"}</script>': "2023-01-02",
    "<time datetime='2022-03-04 05:06'>then</time><time datetime=2001-01-01>": "2022-03-04T05:06",
    "<meta itemprop=datePublished content=2021-12-31>": "2021-12-31",
    "<time datetime=PT2H>": "",
    "<script>{'datePublished': '2020-01-01'}</script>": "",
}


@pytest.mark.parametrize("page", DATES)
def test_the_date_of_publication(page: str, read: Callable[..., Parsed]) -> None:
    assert read(page).published == DATES[page]


def test_meta_tags_are_trusted_before_other_dates(read: Callable[..., Parsed]) -> None:
    assert (
        read("<time datetime=2001-01-01>x</time>" + "".join(DATES)).published[:10] == "2024-05-06"
    )


@pytest.mark.parametrize(
    "value", ["", "2024", "2024-13-01", "24-01-01", "1024-01-01", "x2024-01-01"]
)
def test_what_is_no_date(value: str) -> None:
    assert iso_date(value) == ""


NAMES = {
    "<meta property='og:site_name' content=' The  Paper '>": "The Paper",
    "<meta name=application-name content=App>": "App",
    """<script type="application/ld+json">{"publisher": {"@type": "Organization",
       "name": "A \\"B\\" \\u00e9"}}</script>""": 'A "B" \xe9',
    "<meta property=og:title content=x>": "",
}


@pytest.mark.parametrize("page", NAMES)
def test_the_name_of_the_site(page: str, read: Callable[..., Parsed]) -> None:
    assert read(page).site_name == NAMES[page]


def test_signs(read: Callable[..., Parsed]) -> None:
    page = (
        "<meta name=generator content='WordPress 6'><meta http-equiv=refresh content=1>"
        "<form><input type=Password><input></form><script>1234</script><h1>a</h1><p>b<img>"
        "<ul><li><a href=/x>link</a><li>no <a href=/y>y</a></ul><article></article>"
        "<iframe></iframe><noscript>on please</noscript>"
    )
    signs = read(page).signs
    assert (signs.forms, signs.inputs, signs.passwords) == (1, 2, 1)
    assert (signs.scripts, signs.script_bytes, signs.iframes) == (1, 4, 1)
    assert (signs.h1, signs.paragraphs, signs.images, signs.articles) == (1, 1, 1, 1)
    assert (signs.list_items, signs.anchors, signs.list_links) == (2, 2, 1)
    assert (signs.noscript_chars, signs.refresh, signs.generator) == (8, True, "WordPress 6")
    assert (signs.lines, signs.size, signs.link_size) == (5, 17, 5)
