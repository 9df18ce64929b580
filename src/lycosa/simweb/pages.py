"""From a request to a reply: what the server answers, as bytes.

Owns the rendering of pages and the choice of the answer. Its only state is how often a URL that
fails at first was requested; each server process counts for itself. It has no sockets and no clock;
`world` decides what exists.
"""

from __future__ import annotations

from html import escape
from urllib.parse import urljoin

from lycosa.simweb import hostile, malice, reply, rules, special
from lycosa.simweb.chance import draw
from lycosa.simweb.filler import Filler
from lycosa.simweb.markup import body
from lycosa.simweb.paths import LAYOUTS, SIMPLE, page_number, page_path
from lycosa.simweb.reply import Reply
from lycosa.simweb.speech import speech
from lycosa.simweb.world import Place, World

FILLERS = 16
_TAIL = b"</main><footer>This page is part of a simulated web.</footer></body></html>\n"
_CACHED_BLOCKS = 10_000  # of about 3 KB
_ANCHOR_BYTES, _REAL_ANCHOR_BYTES = 75, 110  # of one link, for the size of the fillers
_UP = "../../.."  # further up than any page is deep: leads to the root, as real pages often do
_ORIGIN = "{origin}"
_HEAD_GZIP = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nVary: Accept-Encoding\r\n"
    b"Content-Encoding: gzip\r\nContent-Length: %d\r\nConnection: %b\r\n\r\n"
)
_HEAD_PLAIN = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nVary: Accept-Encoding\r\n"
    b"Content-Length: %d\r\nConnection: %b\r\n\r\n"
)


class Pages:
    """Answers requests to one world."""

    def __init__(self, world: World, port: int = 0) -> None:
        self._world = world
        self._port = port  # of this server, for the redirect that leads back to loopback
        self._asked: dict[str, int] = {}
        self._anchors: dict[int, list[bytes]] = {}  # by layout
        self._blocks: dict[tuple[int, int], bytes] = {}  # links, by host size (0: out) and run
        spec = world.spec
        self._latency = spec.latency_ms / 1000
        each = _REAL_ANCHOR_BYTES if spec.real else _ANCHOR_BYTES
        room = max(200, spec.page_bytes - spec.links * each - 400)
        self._sizes = [int(room * (0.5 + (n + 0.5) / FILLERS)) for n in range(FILLERS)]
        self._fillers: dict[str, list[Filler]] = {}  # by language; '' if all pages speak the same
        if not spec.languages:
            self._fillers_of("")

    def respond(self, scheme: str, host: str, target: str, *, gzip: bool, keep: bool) -> Reply:
        """The answer to GET `target` (path and query) at that host, port not included."""
        place = self._world.place(host)
        if place is None:
            return self._stranger(host, target, gzip=gzip, keep=keep)
        answer = self._site(place, scheme, host, target, gzip=gzip, keep=keep)
        if place.site.slow:
            answer.hold += self._world.spec.slow_seconds
        if self._latency:
            answer.hold += self._latency
        return answer

    def _stranger(self, host: str, target: str, *, gzip: bool, keep: bool) -> Reply:
        if host == rules.HOME and (text := rules.home_text(target)):
            return reply.whole(200, text.encode(), keep=keep, kind="text/plain")
        spec = self._world.spec
        number = malice.number_of(host, spec.malice)
        if number >= 0:
            return malice.respond(spec.seed, number, target)
        found = hostile.respond(host, target, gzip=gzip, port=self._port)
        if found is not None and spec.hostile:
            return found
        return self._missing(target, keep)

    def _site(
        self, place: Place, scheme: str, host: str, target: str, *, gzip: bool, keep: bool
    ) -> Reply:
        site = place.site
        if site.fault == "empty-reply":
            return reply.raw(b"")
        if place.alias:
            return reply.redirect(site.root + target, keep=keep)
        if site.upgrade and scheme == "http":
            return reply.redirect(f"https://{host}{target}", keep=keep)
        if target == "/robots.txt":
            return self._robots(place, scheme, host, keep)
        number = page_number(target, site.layout)
        if 0 <= number < place.pages:
            return self._ordinary(place, f"{scheme}://{host}", number, gzip, keep)
        return self._other(place, scheme, host, target, keep)

    # Ordinary pages: the hot path

    def _fillers_of(self, lang: str) -> list[Filler]:
        made = self._fillers.get(lang)
        if made is None:
            seed, sizes = self._world.spec.seed * 31, enumerate(self._sizes)
            texts = [speech(lang, seed + n, s) if lang else body(seed + n, s) for n, s in sizes]
            made = self._fillers[lang] = [Filler(text + _TAIL) for text in texts]
        return made

    def anchors(self, count: int, layout: int = SIMPLE) -> list[bytes]:
        """The links to at least `count` ordinary pages of the same host. Every second one names the
        host, as real pages do in half of their links: _ORIGIN stands in its place."""
        anchors = self._anchors.setdefault(layout, [])
        while len(anchors) < count:
            path = page_path(len(anchors), layout)
            name = path.rstrip("/").rpartition("/")[2].removesuffix(".html").replace("-", " ")
            origin = _ORIGIN if len(anchors) % 2 else ""
            if layout and len(anchors) % 10 == 4:
                origin = _UP
            target = escape(origin + path)
            anchors.append(f'<li><a href="{target}">Read {name or "home"}</a></li>\n'.encode())
        return anchors

    def own_part(self, place: Place, origin: str, number: int) -> bytes:
        """What a page does not share with others: its head, title and links."""
        world, site = self._world, place.site
        anchors = self.anchors(place.pages, site.layout)
        path = page_path(number, site.layout)
        title = f"{path[1:-5] or 'Home'} of {'blog.' if place.blog else ''}{site.name}"
        parts = [
            f'<!DOCTYPE html>\n<html lang="{site.lang}"><head><meta charset="utf-8">'
            f'<title>{title}</title><link rel="stylesheet" href="/style.css"></head>\n'
            f"<body><header><h1>{title}</h1></header><nav><ul>\n".encode()
        ]
        inside, outside = world.runs(place, number)
        parts += map(anchors.__getitem__, world.menu(place.pages))
        parts += map(anchors.__getitem__, world.children(place, number))
        parts.append(self._inside(place, anchors, inside))
        parts.append(self._outside(outside))
        parts.append(_links_out(world.discovery(place, number)))
        parts += [html.encode() for _, html in world.extras(place, number)]
        parts.append(b"</ul></nav><main>\n")
        return b"".join(parts).replace(_ORIGIN.encode(), origin.encode())

    def _inside(self, place: Place, anchors: list[bytes], run: int) -> bytes:
        key = (place.pages * (LAYOUTS + 1) + place.site.layout, run)
        block = self._blocks.get(key)
        if block is None:
            if len(self._blocks) >= _CACHED_BLOCKS:
                self._blocks.clear()
            popular = self._world.popular(place.pages, run)
            block = self._blocks[key] = b"".join([anchors[number] for number in popular])
        return block

    def _outside(self, run: int) -> bytes:
        block = self._blocks.get((0, run))
        if block is None:
            block = self._blocks[0, run] = _links_out(self._world.elsewhere(run))
        return block

    def _ordinary(self, place: Place, origin: str, number: int, gzip: bool, keep: bool) -> Reply:
        own = self.own_part(place, origin, number)
        spec = self._world.spec
        fillers = self._fillers_of(place.site.lang if spec.languages else "")
        filler = fillers[draw(spec.seed, place.salt, number) % FILLERS]
        pieces = filler.gzip(own) if gzip else [own, filler.raw]
        length = sum(map(len, pieces))
        form = _HEAD_GZIP if gzip else _HEAD_PLAIN
        head = form % (length, b"keep-alive" if keep else b"close")
        return Reply(200, b"".join([head, *pieces]), close=not keep)

    # Everything else

    def _missing(self, target: str, keep: bool) -> Reply:
        body = special.page("Not found", "<p>No such page.</p>").encode()
        return reply.whole(404, body, keep=keep, kind=special.HTML)

    def _first(self, url: str, times: int) -> bool:
        """Whether this is one of the first `times` requests for a URL."""
        count = self._asked.get(url, 0)
        if count < times:
            self._asked[url] = count + 1
        return count < times

    def _robots(self, place: Place, scheme: str, host: str, keep: bool) -> Reply:
        kind = rules.robots_kind(place.robots)
        url = f"{scheme}://{host}"
        if kind.location:
            location = kind.location.replace("{host}", host)
            return reply.redirect(location, keep=keep, status=kind.status)
        if kind.fail_first and self._first(url + "/robots.txt", kind.fail_first):
            return reply.busy(503, 0, keep=keep)
        text = kind.text
        if place.site.crawl_delay and not place.blog:
            text += f"Crawl-delay: {place.site.crawl_delay:g}\n"
        if place.robots == "robots-sitemap":
            text += f"\nSitemap: {url}{special.SITEMAP}\n"
        answer = reply.whole(kind.status, text.encode(), keep=keep, kind="text/plain")
        if kind.hold:
            answer.hold = reply.HANG if kind.hold == "hang" else self._world.spec.slow_seconds
        return answer

    def _other(self, place: Place, scheme: str, host: str, target: str, keep: bool) -> Reply:
        url = f"{scheme}://{host}{target}"
        path = special.unfold(target)
        if place.robots == "robots-redirect" and path == rules.REAL_ROBOTS:
            text = rules.robots_kind(place.robots).text.encode()
            return reply.whole(200, text, keep=keep, kind="text/plain")
        if place.robots == "robots-sitemap" and path in (special.SITEMAP, special.SITEMAP_ONLY):
            return self._sitemap(place, f"{scheme}://{host}", path, keep)
        found = self._world.special(place, path)
        if found is None:
            return self._missing(target, keep)
        if found.first_status and self._first(url, 1):
            wait = special.RETRY_AFTER if found.first_status == 503 else 0
            return reply.busy(found.first_status, wait, keep=keep)
        return self._special(found, place, url, keep)

    def _special(self, found: special.Special, place: Place, url: str, keep: bool) -> Reply:
        if found.location == special.OUT:
            return reply.redirect(self._world.out_target(place), keep=keep, status=302)
        if found.location:
            absolute = draw(self._world.spec.seed, place.salt, len(url)) & 1
            location = urljoin(url, found.location) if absolute else found.location
            return reply.redirect(location, keep=keep, status=found.status)
        if found.framing != "length":
            return _framed(found)
        kind, lines = found.content_type, found.headers
        return reply.whole(found.status, found.body, keep=keep, kind=kind, lines=lines)

    def _sitemap(self, place: Place, root: str, path: str, keep: bool) -> Reply:
        if path == special.SITEMAP_ONLY:
            body = special.page("Only in the sitemap", "<p>Found it.</p>").encode()
            return reply.whole(200, body, keep=keep, kind=special.HTML)
        layout = place.site.layout
        paths = [special.SITEMAP_ONLY, *(page_path(n, layout) for n in range(place.pages))]
        rows = "".join(f"<url><loc>{root}{p}</loc></url>\n" for p in paths)
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>\n'
        )
        return reply.whole(200, text.encode(), keep=keep, kind="application/xml")


def _links_out(urls: list[str]) -> bytes:
    return "".join(f'<li><a href="{escape(url)}">Elsewhere</a></li>\n' for url in urls).encode()


def _framed(found: special.Special) -> Reply:
    """A body sent in an unusual way."""
    lines = f"Content-Type: {found.content_type}\r\n"
    if found.framing == "empty":
        return reply.raw(b"")
    if found.framing == "close":
        return Reply(200, reply.head(200, lines, keep=False) + found.body, close=True)
    if found.framing == "chunked":
        lines += "Transfer-Encoding: chunked\r\n"
        return Reply(200, reply.head(200, lines, keep=False) + _chunked(found.body), close=True)
    answer = reply.whole(200, found.body, keep=False, kind=found.content_type)
    answer.data = answer.data[: len(answer.data) // 2]
    answer.reset = True
    return answer


def _chunked(body: bytes, size: int = 1000) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"
