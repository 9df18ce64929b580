"""Special pages, as one table: what each path answers, and which outcome a correct crawler records.

Owns the special paths of every feature in `spec.FEATURES`. A row says both what the server sends
and what a correct crawler makes of it, so that the two always agree. Pure data and small builders;
it knows nothing of sites, sockets or the crawler.
"""

from __future__ import annotations

from dataclasses import dataclass

HTML = "text/html; charset=utf-8"
OUT = "@out"  # a location that the world fills in: the root of another domain
RETRY_AFTER = 1  # seconds, with 503

# What a correct crawler records for a URL. UNDECIDED: more than one outcome is right.
OK, REDIRECT, NOINDEX, NOT_TEXT, FAILED, UNDECIDED = (
    "ok",
    "redirect",
    "noindex",
    "not-text",
    "failed",
    "undecided",
)


@dataclass(frozen=True)
class Special:
    """One special URL of a host."""

    feature: str
    outcome: str = OK
    entry: str = ""  # what ordinary pages put in to link here; '': linked by other specials
    status: int = 200
    location: str = ""
    links: tuple[str, ...] = ()  # paths on the same host that a correct crawler finds here
    content_type: str = HTML
    headers: str = ""  # more header lines, each ended by CRLF
    body: bytes = b""
    framing: str = "length"  # or chunked, close, reset, empty
    first_status: int = 0  # the first request gets this status instead


def page(title: str, inside: str, *, head: str = "", lang: str = "en") -> str:
    """A small HTML document."""
    return (
        f'<!DOCTYPE html>\n<html lang="{lang}"><head><title>{title}</title>{head}</head>\n'
        f"<body><h1>{title}</h1>{inside}</body></html>\n"
    )


def link(path: str, extra: str = "") -> str:
    """An anchor."""
    return f'<a href="{path}"{extra}>{path}</a>\n'


def _html(title: str, inside: str = "", *, head: str = "") -> bytes:
    return page(title, inside or "<p>Some words about it.</p>", head=head).encode()


def _target(feature: str, path: str) -> Special:
    """An ordinary page that only another special leads to."""
    return Special(feature, body=_html(f"Reached {path}"))


def _moved(feature: str, path: str, to: str, *, linked: bool = False, status: int = 301) -> Special:
    return Special(feature, REDIRECT, link(path) if linked else "", status, to)


def _chain(name: str, length: int, end: str) -> dict[str, Special]:
    """`length` redirects in a row, the first of which is linked."""
    steps = [f"/go/{name}-{left}" for left in range(length, 0, -1)]
    return {
        path: _moved("redirects", path, to, linked=path == steps[0], status=302)
        for path, to in zip(steps, [*steps[1:], end], strict=True)
    }


def _charset(name: str, label: str, title: str, *, header: bool, bom: bytes = b"") -> Special:
    end = f"/end/{name}.html"
    meta = "" if header else f'<meta charset="{label}">'
    text = page(title, f"<p>{title}</p>" + link(end), head=meta)
    body = bom + text.encode("utf-16-le" if bom else label)
    content_type = f"text/html; charset={label}" if header else "text/html"
    entry = link(f"/charset/{name}.html")
    return Special("charsets", entry=entry, links=(end,), content_type=content_type, body=body)


CHARSET_TITLES = {
    "latin1": "Crème brûlée à l'œuf".replace("œ", "oe"),
    "shift_jis": "日本語のページ",
    "utf16": "Straße nach Łódź – ελληνικά",
}

_TRACKED = "/track/offer.html"
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
    "0000000b4944415478da6364600000000600023081d02f0000000049454e44ae426082"
)


def _errors() -> dict[str, Special]:
    codes = {"/missing/page.html": 404, "/gone/page.html": 410, "/error/page.html": 500}
    return {
        path: Special("errors", f"http-{code}", link(path), code, body=_html(f"Error {code}"))
        for path, code in codes.items()
    }


def _busy() -> dict[str, Special]:
    return {
        path: Special("busy", entry=link(path), body=_html("At last"), first_status=code)
        for path, code in {"/busy/page.html": 503, "/limit/page.html": 429}.items()
    }


def _redirects() -> dict[str, Special]:
    return {
        "/go/home": _moved("redirects", "/go/home", "/", linked=True),
        "/go/relative": Special("redirects", REDIRECT, link("/go/relative"), 307, "aim.html"),
        "/go/aim.html": _target("redirects", "/go/aim.html"),
        **_chain("five", 5, "/end/five.html"),
        "/end/five.html": _target("redirects", "/end/five.html"),
        **_chain("six", 6, "/"),
        "/go/loop-a": _moved("redirects", "/go/loop-a", "/go/loop-b", linked=True),
        "/go/loop-b": _moved("redirects", "/go/loop-b", "/go/loop-a"),
        "/go/self": _moved("redirects", "/go/self", "/go/self", linked=True),
        "/go/out": _moved("leaving", "/go/out", OUT, linked=True),
    }


def _directives() -> dict[str, Special]:
    kind = "directives"
    noindex = '<meta name="robots" content="noindex">'
    nofollow = '<meta name="ROBOTS" content="index, nofollow">'
    canonical = '<link rel="canonical" href="/">'
    hidden = link("/hidden/meta.html")
    return {
        "/noindex.html": Special(
            kind,
            NOINDEX,
            link("/noindex.html"),
            links=("/end/noindex.html",),
            body=_html("Not for the index", link("/end/noindex.html"), head=noindex),
        ),
        "/end/noindex.html": _target(kind, "/end/noindex.html"),
        "/nofollow.html": Special(
            kind, entry=link("/nofollow.html"), body=_html("A page", hidden, head=nofollow)
        ),
        "/hidden/meta.html": _target(kind, "/hidden/meta.html"),
        "/hidden/rel.html": _target(kind, "/hidden/rel.html"),
        "/x-robots.html": Special(
            kind,
            NOINDEX,
            link("/x-robots.html") + link("/hidden/rel.html", ' rel="ugc nofollow"'),
            headers="X-Robots-Tag: noindex\r\n",
            body=_html("Not for the index either"),
        ),
        "/canonical.html": Special(
            kind, entry=link("/canonical.html"), body=_html("A copy", head=canonical)
        ),
    }


def _base() -> dict[str, Special]:
    aim = "/based/deep/page.html"
    head = '<base href="/based/deep/">'
    body = _html("Based", '<a href="page.html">relative</a>', head=head)
    entry = link("/base/index.html")
    return {
        "/base/index.html": Special("base", entry=entry, links=(aim,), body=body),
        aim: _target("base", aim),
    }


def _charsets() -> dict[str, Special]:
    t = CHARSET_TITLES
    return {
        "/charset/latin1.html": _charset("latin1", "iso-8859-1", t["latin1"], header=True),
        "/charset/shift_jis.html": _charset("shift_jis", "shift_jis", t["shift_jis"], header=False),
        "/charset/utf16.html": _charset(
            "utf16", "utf-16", t["utf16"], header=False, bom=b"\xff\xfe"
        ),
        **{f"/end/{n}.html": _target("charsets", f"/end/{n}.html") for n in CHARSET_TITLES},
    }


def _framing() -> dict[str, Special]:
    return {
        f"/framing/{how}.html": Special(
            "framing",
            entry=link(f"/framing/{how}.html"),
            links=(f"/end/{how}.html",),
            body=_html(f"Sent {how}", "<p>word</p>" * 500 + link(f"/end/{how}.html")),
            framing=how,
        )
        for how in ("chunked", "close")
    } | {f"/end/{how}.html": _target("framing", f"/end/{how}.html") for how in ("chunked", "close")}


def _media() -> dict[str, Special]:
    text = b"Plain words, line by line.\nNo markup here.\n" * 20
    return {
        "/text/notes.txt": Special(
            "media", entry=link("/text/notes.txt"), content_type="text/plain", body=text
        ),
        "/img/logo.png": Special(
            "media", NOT_TEXT, link("/img/logo.png"), content_type="image/png", body=_PNG
        ),
        "/img/photo": Special(  # an image that its name does not give away
            "media", NOT_TEXT, link("/img/photo"), content_type="image/jpeg", body=_PNG * 100
        ),
    }


def _tracking() -> dict[str, Special]:
    queries = ("utm_source=mail", "utm_source=feed&utm_medium=rss", "utm_campaign=spring")
    entry = "".join(link(f"{_TRACKED}?{query.replace('&', '&amp;')}") for query in queries)
    return {_TRACKED: Special("tracking", entry=entry, body=_html("One offer"))}


def _faults() -> dict[str, Special]:
    rows = (("/reset/page.html", UNDECIDED, "reset"), ("/empty/page.html", FAILED, "empty"))
    body = _html("Cut", "<p>word</p>" * 2000)
    return {
        path: Special("faults", outcome, link(path), body=body, framing=how)
        for path, outcome, how in rows
    }


SPECIALS: dict[str, Special] = {
    **_errors(),
    **_busy(),
    **_redirects(),
    **_directives(),
    **_base(),
    **_charsets(),
    **_framing(),
    **_media(),
    **_tracking(),
    **_faults(),
}

# The sitemap belongs to a kind of robots.txt, not to a feature.
SITEMAP, SITEMAP_ONLY = "/sitemap.xml", "/map/only.html"


def entries(feature: str) -> list[tuple[str, str]]:
    """The linked specials of a feature: path without query, and the HTML that links them."""
    return [(path, s.entry) for path, s in SPECIALS.items() if s.feature == feature and s.entry]


def unfold(path: str) -> str:
    """The path (with query) that all trackings of it fold to."""
    return _TRACKED if path.startswith(_TRACKED + "?utm_") else path
