"""Hosts with random hostile answers: as many as wanted, each with its own, the same for a seed.

Owns what headers, bodies, encodings, framings, robots.txt files and DNS replies of such hosts look
like. `hostile` has one known threat for each host; this module draws combinations that nobody has
thought of. Pure: streams are iterators that `connection` sends. Each URL must get an outcome; which
one is not promised.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import cache
from random import Random

from lycosa.simweb import reply
from lycosa.simweb.reply import Reply, Stream

PREFIX, SUFFIX = "malice-", ".test"
LARGE = 2_000_000  # bytes of a large body
HELD = 4_900_000  # bytes that are sent before a host holds the rest


def domains(count: int) -> list[str]:
    """The names of the first `count` hosts."""
    return [f"{PREFIX}{number:05d}{SUFFIX}" for number in range(count)]


def number_of(host: str, count: int) -> int:
    """The number of a host, from 0; -1: it is none of these."""
    name = host[len(PREFIX) : -len(SUFFIX)]
    if not (host.startswith(PREFIX) and host.endswith(SUFFIX) and name.isdecimal()):
        return -1
    return int(name) if len(name) == 5 and int(name) < count else -1


def _dice(seed: int, number: int, what: str) -> Random:
    return Random(f"{seed}/{number}/{what}")


def resolve(seed: int, number: int) -> str:
    """As `World.resolve`; 'garbled': the DNS reply is broken."""
    dns = _dice(seed, number, "dns")
    bad = ("silent", "nxdomain", "servfail", "garbled", "closed", "broken")
    return dns.choice(bad) if dns.random() < 0.12 else "http"


def garbled(seed: int, number: int, good: bytes) -> bytes:
    """A DNS reply with something wrong in it, always the same for a host."""
    dice = _dice(seed, number, "garbled")
    kind = dice.randrange(5)
    if kind == 0:
        return good[: dice.randrange(2, len(good))]
    if kind == 1:
        return good[:2] + dice.randbytes(dice.randrange(500))
    if kind == 2:
        return good[:6] + dice.randbytes(6) + good[12:]  # counts that are not true
    if kind == 3:
        return good[:-4] + dice.randbytes(4000)
    at = dice.randrange(12, len(good))
    return good[:at] + b"\xc0" + bytes([at]) + good[at:]  # a name that points to itself


def respond(seed: int, number: int, path: str) -> Reply:
    """The answer of a host to any request."""
    dice = _dice(seed, number, path)
    if path == "/robots.txt":
        return _robots(dice)
    return _framed(dice, _status(dice), _headers(dice), _encoded(dice, dice.choice(BODIES)(dice)))


def _status(dice: Random) -> int:
    usual = (200, 200, 200, 200, 200, 200)
    return dice.choice((*usual, 203, 206, 299, 301, 302, 308, 400, 404, 410, 451, 500, 503, 999))


# Headers


def _headers(dice: Random) -> list[bytes]:
    lines = [b"Content-Type: " + dice.choice(TYPES)(dice)]
    lines += [dice.choice(HEADERS)(dice) for _ in range(dice.choice((0, 0, 1, 2, 5)))]
    dice.shuffle(lines)
    return lines


TYPES: tuple[Callable[[Random], bytes], ...] = (
    lambda dice: b"text/html",
    lambda dice: b"text/html; charset=utf-8",
    lambda dice: b"text/html; charset=" + b" " * dice.randrange(90_000),
    lambda dice: b"text/html" + b"; a=b" * dice.randrange(15_000),
    lambda dice: b"text/html; charset=" + dice.choice(CHARSETS),
    lambda dice: b'text/html; charset="' + b"\\" * dice.randrange(20_000),
    lambda dice: b"application/rss+xml",
    lambda dice: b"application/xhtml+xml; " + b";" * dice.randrange(30_000),
    lambda dice: b"text/plain",
    lambda dice: dice.randbytes(dice.randrange(300)).replace(b"\r", b"").replace(b"\n", b""),
    lambda dice: b"",
)
CHARSETS: list[bytes] = (
    b"cp1252 cp1255 iso-8859-3 koi8-u shift_jis gb18030 euc-kr big5 utf-16 utf-7 x-user-defined "
    b"cp437 mac-cyrillic hz-gb-2312 replacement nonsense"
).split()
HEADERS: tuple[Callable[[Random], bytes], ...] = (
    lambda dice: b"X-Robots-Tag: " + b"otherbot: noindex, " * dice.randrange(4_000),
    lambda dice: b"Location: " + dice.choice((b"//", b"/", b"http://", b"?", b"\xff")) * 500,
    lambda dice: b"Location: /" + b"a/../" * dice.randrange(20_000),
    lambda dice: b"Retry-After: " + dice.choice((b"-1", b"1e9", b"0", b"x" * 50_000)),
    lambda dice: b"Set-Cookie: " + b"a=b; " * dice.randrange(10_000),
    lambda dice: b"Content-Length: " + dice.choice((b"-5", b"99999999999999999999", b"0x10")),
    lambda dice: b"Transfer-Encoding: " + dice.choice((b"gzip", b"chunked, chunked", b"\x0b")),
    lambda dice: b"Link: <" + b"," * dice.randrange(50_000) + b">; rel=canonical",
    lambda dice: b"Refresh: 0; url=" + b"'" * dice.randrange(20_000),
    lambda dice: b"X-Folded: a" + b"\r\n b" * dice.randrange(3_000),
    lambda dice: b"no colon in this line" * dice.randrange(50),
)


# Bodies


def _repeat(dice: Random, piece: bytes) -> bytes:
    """A piece repeated up to a drawn size: usually small, sometimes large."""
    size = dice.choice((2_000, 20_000, 20_000, 100_000, LARGE if dice.random() < 0.2 else 50_000))
    return piece * max(1, size // max(1, len(piece)))


def _pieces(*pieces: bytes) -> Callable[[Random], bytes]:
    return lambda dice: _repeat(dice, dice.choice(pieces))


def _mixture(dice: Random) -> bytes:
    """Eight kinds of pieces, one after the other."""
    return b"".join(_repeat(dice, dice.choice(PIECES))[:30_000] for _ in range(8))


def _numbered(piece: bytes) -> Callable[[Random], bytes]:
    return lambda dice: b"".join(piece % n for n in range(dice.choice((50, 1_000, 6_000))))


PIECES = (
    b"<div>", b"<font><p>", b"<b><i><u>", b"<table><tr><td>", b"<svg>", b"<math><mi>", b"<select>",
    b"<noscript>", b"<template>", b"<!--", b"<![CDATA[", b"<?", b"</", b"<a href='", b"<a ", b"&",
    b"&amp", b"&#x", b"&#99999999;", b"<script>", b"<style>", b"<title>", b"<textarea>",
    b"<plaintext>", b"<p a=1 a=2 ", b"<base href=x>", b"<meta charset=nonsense>", b"<form><form>",
    b"\0", b"\xff\xfe", b"<a href=/&a=b&c=d&e=f>x</a>", b"<iframe>", b"<frameset>",
    b"</body></html>", b"<p>\xc3\x28\xa0",
)  # fmt: skip
BODIES: tuple[Callable[[Random], bytes], ...] = (
    lambda dice: b"<!DOCTYPE html><title>t</title>" + _repeat(dice, b"<p>plain text</p>"),
    _pieces(*PIECES),
    _mixture,
    _mixture,
    _numbered(b"<a href='/x?" + b"&a=%d" * 1 + b"&b&c&&d'>x</a>"),
    _numbered(b"<a href='http://" + b"a." * 100 + b"h%d.example/'>x</a>"),
    _numbered(b"<a href='http://xn--%d-\xc3\xa9.example:port/'>x</a>"),
    _numbered(b"<p a%d=1>"),
    lambda dice: b"<p " + _numbered(b"a%d=b ")(dice) + b">text",
    lambda dice: dice.randbytes(dice.choice((100, 10_000, 1_000_000))),
    lambda dice: _repeat(dice, bytes([dice.randrange(128, 256)])),
    lambda dice: b"\xff\xfe" + _repeat(dice, "<p>日本".encode("utf-16-le")),
    lambda dice: b"<rss " + _numbered(b"x%d='y' ")(dice) + b"><item><link>http://h/",
    lambda dice: b"<urlset>" + _numbered(b"<url><loc>http://\xc3\xa9%d.example/</loc></url>")(dice),
    lambda dice: b"<sitemapindex>" + _repeat(dice, b"<sitemap><loc>x</loc></sitemap>"),
    lambda dice: b"<meta http-equiv=refresh content='0;url=" + _repeat(dice, b"a;"),
    lambda dice: b"\n" * dice.choice((10, 10_000, LARGE)),
    lambda dice: b"",
)


# Encodings


ENCODINGS = (b"", b"", b"", b"gzip", b"gzip", b"deflate", b"br", b"zstd", b"odd", b"two")


def _encoded(dice: Random, body: bytes) -> tuple[bytes, bytes]:
    """The Content-Encoding header ('' for none), and a body that may or may not be encoded so."""
    name = dice.choice(ENCODINGS)
    if name == b"odd":
        odd = (b"gzip;q=1", b"br, gzip", b"identity, identity", b"x" * 40_000, b"," * 30_000)
        return dice.choice(odd), body
    if name == b"two":
        return b"gzip, gzip", zlib.compress(zlib.compress(body, 1, 31), 1, 31)
    if name in (b"gzip", b"deflate"):
        return name, _packed(dice, body, 31 if name == b"gzip" else dice.choice((15, -15)))
    return name, body  # a header that is not true of the body, or none


@cache
def _bomb(size: int, wbits: int) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, wbits)
    return packer.compress(bytes(size)) + packer.flush()


def _packed(dice: Random, body: bytes, wbits: int) -> bytes:
    how = dice.randrange(6)
    if how == 0:
        return _bomb(dice.choice((LARGE, 5 * LARGE)), wbits)
    packer = zlib.compressobj(1, zlib.DEFLATED, wbits)
    if how == 1:  # thousands of blocks that unpack to nothing
        return packer.compress(b"<p>") + b"".join(
            packer.flush(zlib.Z_FULL_FLUSH) or b"\0\0\0\xff\xff" for _ in range(2_000)
        )
    packed = packer.compress(body) + packer.flush()
    if how == 2:
        return packed[: len(packed) // 2]
    if how == 3:
        return packed + dice.randbytes(1_000)
    if how == 4:
        at = dice.randrange(len(packed))
        return packed[:at] + dice.randbytes(8) + packed[at + 8 :]
    return packed


# Framing


def _framed(dice: Random, status: int, lines: list[bytes], content: tuple[bytes, bytes]) -> Reply:
    name, body = content
    if name:
        lines.append(b"Content-Encoding: " + name)
    end = dice.choice(("length", "length", "length", "close", "chunks", "short", "reset", "held"))
    stream: Stream | None = None
    if end in ("length", "reset"):
        lines.append(b"Content-Length: %d" % len(body))
    elif end == "short":
        lines.append(b"Content-Length: %d" % (len(body) + dice.randrange(1, 100_000)))
    elif end == "held":
        body, stream = b"", _held(dice, body)
    elif end == "chunks":
        lines.append(b"Transfer-Encoding: chunked")
        body = _chunks(dice, body)
    head = b"HTTP/1.1 %d Odd\r\n%b\r\n\r\n" % (status, b"\r\n".join(lines))
    answer = reply.raw(head + body, status=status, stream=stream)
    if end == "reset":
        answer.data, answer.reset = answer.data[: dice.randrange(1, len(answer.data) + 1)], True
    return answer


def _chunks(dice: Random, body: bytes) -> bytes:
    size = dice.choice((1, 100, 65_536))
    body = body[: 2_000 * size]
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return framed + dice.choice((b"0\r\n\r\n", b"zz\r\n", b"", b"0\r\nTrailer: x\r\n\r\n"))


def _held(dice: Random, body: bytes) -> Iterator[bytes | float]:
    """A large part at once and then a long wait, or a byte every half second."""
    if dice.random() < 0.3:
        yield (body or b"x") * max(1, HELD // max(1, len(body)))
        yield 60.0
    for at in range(min(len(body), 200)):
        yield body[at : at + 1]
        yield 0.5


# robots.txt


def _robots(dice: Random) -> Reply:
    kind = dice.randrange(20)
    if kind < 13:
        return reply.whole(404, b"none\n", keep=False, kind="text/plain")
    if kind == 13:
        return reply.redirect(dice.choice(("/robots.txt", "//", "/a", "http://%zz/")), keep=False)
    if kind == 14:
        return _framed(dice, _status(dice), _headers(dice), _encoded(dice, _mixture(dice)))
    text = b"".join(dice.choice(ROBOTS)(dice) for _ in range(dice.choice((1, 5, 50))))
    return reply.whole(200, text, keep=False, kind="text/plain")


ROBOTS: tuple[Callable[[Random], bytes], ...] = (
    lambda dice: b"User-agent: *\nDisallow: /never\n",
    lambda dice: b"User-agent: lycosa\nAllow: " + b"*" * dice.randrange(2_000) + b"$\n",
    lambda dice: b"Disallow: " + b"/*a" * dice.randrange(600) + b"\n",
    lambda dice: b"\n" * dice.randrange(20_000),
    lambda dice: b"Sitemap: " + dice.choice((b"x\n", b"http://\n", b"file:///etc/passwd\n")),
    lambda dice: b"Crawl-delay: " + dice.choice((b"0.1\n", b"-1\n", b"nan\n", b"1e-9\n", b"x\n")),
    lambda dice: dice.randbytes(300) + b"\n",
    lambda dice: b"User-agent: " + b"%" * dice.randrange(3_000) + b"\n",
)
