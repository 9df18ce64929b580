"""Hosts that attack a crawler: a domain for each threat, named after it.

Owns one answer for each threat, all at '/' of `hostile-NAME.test` (threats by robots.txt at
/robots.txt). Pure: an endless answer is an iterator that `connection` sends. It knows nothing of
limits, and promises no outcome: each crawler has its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial

from lycosa.simweb import reply
from lycosa.simweb.filler import zero_bomb
from lycosa.simweb.reply import Reply, Stream

PREFIX, SUFFIX = "hostile-", ".test"
BOMB_BYTES = 1 << 30
ROBOTS_BYTES = 100_000_000
_CHUNK = b"<p>and so on and on</p>\n" * 2_700  # about 64 KB
_OPEN = b"<!DOCTYPE html><html><head><title>hostile</title></head><body>"


def domains() -> list[str]:
    """The names of all hostile domains."""
    return [PREFIX + name + SUFFIX for name in sorted(ALL)]


def _name(host: str) -> str:
    return host[len(PREFIX) : -len(SUFFIX)] if host.startswith(PREFIX) else ""


def resolve(host: str) -> str:
    """As `World.resolve`: they speak http only."""
    name = _name(host)
    if name == "dns-silent":
        return "silent"
    return "http" if name in ALL else "nxdomain"


def allowed(host: str) -> bool | None:
    """Whether a page may be requested: always, but None (either) where robots.txt is the attack."""
    return None if "robots" in host else True


def respond(host: str, path: str, *, gzip: bool, port: int) -> Reply | None:
    """The answer of a hostile host; None if it is none. `port`: where this server listens."""
    name = _name(host)
    if name not in ALL:
        return None
    if path == "/robots.txt":
        return ROBOTS[name]() if name in ROBOTS else _missing()
    if name in LINKED:
        return LINKED[name](path)
    if path != "/":
        return reply.whole(200, _OPEN + path.encode(), keep=False, kind="text/html")
    if name in LARGE:
        return _large(LARGE[name], gzip)
    if name == "redirect-loopback":
        return reply.redirect(f"http://127.0.0.1:{port}/", keep=False, status=302)
    return PLAIN[name]() if name in PLAIN else reply.whole(200, _OPEN, keep=False, kind="text/html")


def _missing() -> Reply:
    return reply.whole(404, b"none\n", keep=False, kind="text/plain")


def _endless(chunk: bytes) -> Stream:
    while True:
        yield chunk


def _drip(chunk: bytes) -> Stream:
    """One byte a second, without end."""
    while True:
        for at in range(len(chunk)):
            yield chunk[at : at + 1]
            yield 1.0


def _finite(chunk: bytes, size: int) -> Stream:
    for _ in range(size // len(chunk)):
        yield chunk


@cache
def _bomb() -> bytes:
    return zero_bomb(BOMB_BYTES)


def _gzip_bomb() -> Reply:
    lines = "Content-Encoding: gzip\r\n"
    return reply.whole(200, _bomb(), keep=False, kind="text/html", lines=lines)


def _reset() -> Reply:
    answer = reply.whole(200, _OPEN + _CHUNK, keep=False, kind="text/html")
    answer.data = answer.data[: len(answer.data) // 2]
    answer.reset = True
    return answer


def _header_lines() -> Iterator[bytes | float]:
    number = 0
    while True:
        number += 1
        yield b"".join(b"X-Header-%d-%d: value\r\n" % (number, k) for k in range(200))


def _flood() -> Reply:
    lines = b"".join(b"X-Flood-%d: %s\r\n" % (n, b"v" * 60) for n in range(100_000))
    return reply.raw(b"HTTP/1.1 200 OK\r\n" + lines + b"\r\n" + _OPEN, status=200)


def _bad_chunks() -> Reply:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    return reply.raw(head + b"5\r\nhello\r\nzz\r\nworld\r\n0\r\n\r\n", status=200)


def _switch() -> Reply:
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    return reply.raw(head, status=101, stream=_drip(b"\x81\x05hello"))


def _hang() -> Reply:
    answer = reply.raw(b"")
    answer.hold = reply.HANG
    return answer


def _slow_headers() -> Reply:
    return reply.raw(b"HTTP/1.1 200 OK\r\n", status=200, stream=_drip(b"X-Slow: yes\r\n"))


PLAIN: dict[str, Callable[[], Reply]] = {
    "endless-body": lambda: reply.streamed("", _endless(_CHUNK)),
    "gzip-bomb": _gzip_bomb,
    "drip": lambda: reply.streamed("", _drip(_OPEN + _CHUNK)),
    "reset": _reset,
    "hang": _hang,
    "redirect-metadata": lambda: reply.redirect(
        "http://169.254.169.254/latest/meta-data/", keep=False, status=302
    ),
    "redirect-file": lambda: reply.redirect("file:///etc/passwd", keep=False, status=302),
    "header-flood": _flood,
    "endless-headers": lambda: reply.raw(
        b"HTTP/1.1 200 OK\r\n", status=200, stream=_header_lines()
    ),
    "slow-headers": _slow_headers,
    "half-headers": lambda: reply.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/ht", status=200),
    "status-101": _switch,
    "bad-chunks": _bad_chunks,
    "not-http": lambda: reply.raw(b"220 mail ready\r\n" + bytes(range(256))),
}


def _nested() -> bytes:
    return _OPEN + b"<div>" * 600_000


def _fonts() -> bytes:
    return _OPEN + b"<font><p>" * 5_000 + b"deep"


def _attributes() -> bytes:
    return _OPEN + b"<p " + b" ".join(b"a%d=1" % n for n in range(50_000)) + b">text</p>"


def _many_links() -> bytes:
    return _OPEN + b"".join(b'<a href="/x/%d">x</a>' % n for n in range(200_000))


LARGE: dict[str, Callable[[], bytes]] = {
    "deep-nesting": _nested,
    "font-nesting": _fonts,
    "attributes": _attributes,
    "many-links": _many_links,
}


@cache
def _packed(make: Callable[[], bytes]) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(make()) + packer.flush()


def _large(make: Callable[[], bytes], gzip: bool) -> Reply:
    if not gzip:
        return reply.whole(200, make(), keep=False, kind="text/html")
    lines = "Content-Encoding: gzip\r\n"
    return reply.whole(200, _packed(make), keep=False, kind="text/html", lines=lines)


def _loop(path: str) -> Reply:
    """/ -> /a -> /b -> /a"""
    return reply.redirect("/b" if path == "/a" else "/a", keep=False, status=302)


def _endless_redirect(path: str) -> Reply:
    number = path.rpartition("/")[2]
    step = int(number) + 1 if number.isdecimal() and len(number) < 18 else 1
    return reply.redirect(f"/step/{step}", keep=False, status=302)


def _calendar(path: str) -> Reply:
    """Every month links to the one before and the one after it, without end."""
    year, _, month = path.strip("/").partition("/")
    good = year.isdecimal() and month.isdecimal() and len(year) < 9 and len(month) < 3
    count = int(year) * 12 + int(month) - 1 if good else 2024 * 12
    links = "".join(
        f'<a href="/{c // 12}/{c % 12 + 1:02d}">month</a> ' for c in (count - 1, count + 1)
    )
    body = _OPEN + f"<h1>Month {count}</h1>{links}</body></html>".encode()
    return reply.whole(200, body, keep=False, kind="text/html")


def _endless_path(path: str) -> Reply:
    """Relative links that make every path one segment longer."""
    body = _OPEN + b'<a href="again/">deeper</a> <a href="more/">deeper</a>'
    return reply.whole(200, body, keep=False, kind="text/html")


_SORRY = (
    "Sorry, we could not find what you were looking for. The page may have moved, or its address"
    " may have been typed wrongly. Please use the search box above, go back to the home page, or"
    " look at our most popular articles below. If you think that this is a mistake, write to our"
    " support team and tell them which page you came from; they answer within two working days."
)


def _one_page(path: str) -> Reply:
    """Every URL exists, says the same, and links to three more: a site without a real 404."""
    parent = path.rstrip("/")[:200]
    links = "".join(
        f'<li><a href="{parent or "/a"}-{n}">popular article</a></li>' for n in range(3)
    )
    body = _OPEN + f"<h1>Not found</h1><p>{_SORRY}</p><ul>{links}</ul></body></html>".encode()
    return reply.whole(200, body, keep=False, kind="text/html")


LINKED: dict[str, Callable[[str], Reply]] = {
    "redirect-loop": _loop,
    "redirect-endless": _endless_redirect,
    "calendar": _calendar,
    "endless-path": _endless_path,
    "one-page": _one_page,
}

ROBOTS: dict[str, Callable[[], Reply]] = {
    "robots-100mb": lambda: reply.streamed(
        f"Content-Length: {ROBOTS_BYTES // 50_000 * 50_000}\r\n",
        _finite(b"Disallow: /never/mind/\n#\n" * 2_000, ROBOTS_BYTES),
        kind="text/plain",
    ),
    "robots-endless": lambda: reply.streamed("", _endless(b"# on and on\n" * 5_000)),
    "robots-loop": partial(reply.redirect, "/robots.txt", keep=False),
    "robots-hang": _hang,
    "robots-bomb": _gzip_bomb,
}

ALL = frozenset({*PLAIN, *LARGE, *LINKED, *ROBOTS, "redirect-loopback", "dns-silent"})
