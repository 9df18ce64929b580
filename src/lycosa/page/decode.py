"""Undoes Content-Encoding. Owns the limits that make a compression bomb harmless (S2, S3).

Bytes in, bytes out: it knows neither HTTP headers nor what the bytes mean. A stream that is
broken or ends early yields what could be decoded, with a word for the problem; nothing here
raises for what a site sent. Input goes in by chunks and output comes in steps: memory stays near
the limit however far the stream would expand, and a stream that costs much and yields little
(blocks without content, a new table for every few bytes) is left where its time is used up. What a
chunk costs is known only after unpacking it: this is why the module reads the CPU's clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import IO, Protocol, cast

import brotli
import zstandard
from isal import isal_zlib

from lycosa.clock import cpu_now

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
# For bodies that are archived as they come: readers of WARC files undo gzip, and little else.
ACCEPT_ARCHIVED = "gzip"

MAX_LAYERS = 3  # encodings on top of each other; more is an attack or a broken server
MAX_MEMBERS = 1_000  # gzip members in one body: each costs a copy of what follows in its chunk
CPU_SECONDS = 0.025  # for one body, between chunks: ten times what 2 MiB of text need
CHUNK = 32 * 1024  # bytes of input at a time: 10 ms of the dearest stream we know
STEP = 256 * 1024  # output asked for at a time from decoders without a hard limit
ZSTD_WINDOW = 8 * 1024 * 1024  # the most a zstd content-coding may ask for (RFC 9659)
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
GZIP_MAGIC = b"\x1f\x8b"
SKIPPABLE_MAGIC = b"\x2a\x4d\x18"  # of a zstd frame without content, after its first byte
MAX_BLOCKS = 10_000  # looked at in a zstd frame to see whether it is whole

GZIP, ZLIB, RAW = 31, 15, -15  # window bits, which also name the container

_INFLATE_ERROR = cast("type[Exception]", isal_zlib.error)  # its stub calls the class an instance
BROKEN = (_INFLATE_ERROR, brotli.error)
TOO_SLOW = "too-slow"
Decoded = tuple[bytes, str]  # at most limit + 1 bytes, problem
Until = float  # by the CPU's clock


def decode(
    body: bytes, encoding: str, limit: int, seconds: float = CPU_SECONDS
) -> tuple[bytes, bool, str]:
    """The decoded body, whether `limit` cut it, and '' or a short word for what was wrong."""
    layers = _layers(encoding)
    if len(layers) > MAX_LAYERS:
        return body[:limit], len(body) > limit, "too-many-encodings"
    # Nearly always there is one chunk: then there is nothing to stop.
    one_chunk = len(body) <= CHUNK and len(layers) < 2
    until = math.inf if one_chunk else cpu_now() + seconds
    problem = ""
    for name in reversed(layers):
        # Some servers list every encoding that they could have used: the body has one of them.
        if len(layers) > 1 and not _may_be(name, body):
            continue
        body, trouble = _undo(body, name, limit, until)
        problem = problem or trouble
    return body[:limit], len(body) > limit, problem


@lru_cache(maxsize=64)
def _layers(encoding: str) -> tuple[str, ...]:
    """The names in a Content-Encoding, in the order in which they were applied. Cached: a crawl
    meets a few."""
    names = (part.partition(";")[0].strip(" \t\"'") for part in encoding.lower().split(","))
    return tuple(_ALIASES.get(name, name) for name in names if name not in _NOTHING)


def _may_be(name: str, body: bytes) -> bool:
    """Whether a body could be in an encoding. Brotli and raw deflate have no magic number, but they
    are neither text nor begin with another's."""
    if name == "gzip":
        return body.startswith(GZIP_MAGIC)
    if name == "zstd":
        return _is_zstd(body)
    if name not in _DECODERS:
        return False
    if body.startswith(GZIP_MAGIC) or _is_zstd(body):
        return False
    return len(body[:_LOOK].translate(None, _BINARY)) < len(body[:_LOOK])


def _is_zstd(body: bytes) -> bool:
    return body.startswith(ZSTD_MAGIC) or body[1:4] == SKIPPABLE_MAGIC


def _undo(body: bytes, name: str, limit: int, until: Until) -> Decoded:
    decoder = _DECODERS.get(name)
    if decoder is not None:
        return decoder(body, limit, until)
    # 'utf-8', 'text/html': a value of another header, which says nothing of how the body is packed.
    if body.startswith(GZIP_MAGIC):
        return _gzip(body, limit, until)
    return body, "unknown-encoding"


# -- gzip, deflate and brotli: chunk by chunk ---------------------------------------------------


class Stream(Protocol):
    """A decoder that is fed: what it raises is in BROKEN."""

    def feed(self, data: bytes, room: int) -> bytes:
        """At most `room` bytes of output; if less, all of the data is used."""

    def unused(self) -> int | None:
        """How much of the data was behind the end; None before the end."""


class _Inflate:
    def __init__(self, wbits: int) -> None:
        self._stream = isal_zlib.decompressobj(wbits=wbits)

    def feed(self, data: bytes, room: int) -> bytes:
        return self._stream.decompress(data, room)

    def unused(self) -> int | None:
        return len(self._stream.unused_data) if self._stream.eof else None


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def feed(self, data: bytes, room: int) -> bytes:
        parts: list[bytes] = []
        while room > 0 and not self._stream.is_finished():
            part = self._stream.process(data, output_buffer_limit=min(STEP, room))
            data = b""
            if not part and self._stream.can_accept_more_data():
                break
            parts.append(part)
            room -= len(part)
        return b"".join(parts)

    def unused(self) -> int | None:
        return 0 if self._stream.is_finished() else None


def _pour(
    make: Callable[[], Stream], body: bytes, start: int, room: int, until: Until
) -> tuple[bytes, int, str]:
    """Decodes one stream that begins at `start`: its output, where it ends, and the problem."""
    stream = make()
    out: list[bytes] = []
    for at in range(start, len(body), CHUNK):
        chunk = body[at : at + CHUNK]
        try:
            part = stream.feed(chunk, room)
        except BROKEN:
            rest, end = _up_to_the_break(make, body, start, at, room, until)
            return b"".join((*out, rest)), end or at, "" if end else "broken"
        out.append(part)
        room -= len(part)
        unused = stream.unused()
        if unused is not None or room <= 0:
            return b"".join(out), at + len(chunk) - (unused or 0), ""
        if at + CHUNK < len(body) and cpu_now() > until:
            return b"".join(out), at, TOO_SLOW
    return b"".join(out), len(body), "truncated" if start < len(body) else ""


def _up_to_the_break(
    make: Callable[[], Stream], body: bytes, start: int, at: int, room: int, until: Until
) -> tuple[bytes, int]:
    """What the chunk at `at` yields before it breaks, byte by byte; where the stream ended, or 0.

    Decoders keep what they made of a chunk to themselves when they meet an error in it. Brotli's
    also calls it an error if something follows the end.
    """
    stream = make()
    out = bytearray()
    try:
        for begin in range(start, at, CHUNK):
            stream.feed(body[begin : begin + CHUNK], 1 << 30)
            if cpu_now() > until:
                return b"", 0
        for end in range(at, min(at + CHUNK, len(body))):
            out += stream.feed(body[end : end + 1], room - len(out))
            if stream.unused() is not None:
                return bytes(out), end + 1
            if len(out) >= room:
                break
    except BROKEN:
        pass
    return bytes(out), 0


def _gzip(body: bytes, limit: int, until: Until) -> Decoded:
    """All members of a gzip file; what follows the last one is ignored."""
    # Some servers announce gzip and send plain text: the magic number decides.
    if not body.startswith(GZIP_MAGIC):
        return body, "not-gzip" if body else ""
    out: list[bytes] = []
    room, at = limit + 1, 0
    for _ in range(MAX_MEMBERS):
        part, at, problem = _pour(_gzip_stream, body, at, room, until)
        out.append(part)
        room -= len(part)
        if problem or room <= 0 or body[at : at + 2] != GZIP_MAGIC:
            return b"".join(out), problem
        if cpu_now() > until:
            return b"".join(out), TOO_SLOW
    return b"".join(out), "too-many-members"


def _gzip_stream() -> Stream:
    return _Inflate(GZIP)


def _deflate(body: bytes, limit: int, until: Until) -> Decoded:
    # "deflate" means zlib, but many servers send the raw stream.
    looks_zlib = len(body) > 1 and body[0] & 15 == 8 and (body[0] << 8 | body[1]) % 31 == 0
    first, second = (ZLIB, RAW) if looks_zlib else (RAW, ZLIB)
    out, _, problem = _pour(lambda: _Inflate(first), body, 0, limit + 1, until)
    if problem == "broken" and not out:
        other, _, trouble = _pour(lambda: _Inflate(second), body, 0, limit + 1, until)
        return (other, trouble) if other else (out, problem)
    return out, problem


def _brotli(body: bytes, limit: int, until: Until) -> Decoded:
    out, _, problem = _pour(_Brotli, body, 0, limit + 1, until)
    return out, problem


# -- zstd -----------------------------------------------------------------------------------------


class _Source:
    """Hands a body out in chunks, and ends it early when the time is used up."""

    def __init__(self, body: bytes, until: Until) -> None:
        self._body = body
        self._at = 0
        self._until = until
        self.stopped = False

    def read(self, size: int) -> bytes:
        self.stopped = self._at > 0 and self._at < len(self._body) and cpu_now() > self._until
        if self.stopped:
            return b""
        self._at += size
        return self._body[self._at - size : self._at]


def _zstd(body: bytes, limit: int, until: Until) -> Decoded:
    if not _is_zstd(body):
        return body, "not-zstd" if body else ""
    out: list[bytes] = []
    source = _Source(body, until)
    try:
        _read_zstd(source, out, limit + 1, at_once=True)
    except zstandard.ZstdError:
        return _zstd_before_the_break(body, limit, until)
    whole = b"".join(out)
    if source.stopped:
        return whole, TOO_SLOW
    return whole, "" if len(whole) > limit or _zstd_whole(body) else "truncated"


def _zstd_before_the_break(body: bytes, limit: int, until: Until) -> Decoded:
    out: list[bytes] = []
    try:
        _read_zstd(_Source(body, until), out, limit + 1, at_once=False)
    except zstandard.ZstdError as error:
        if out and "Unknown frame descriptor" in str(error):
            return b"".join(out), ""  # what follows the last frame is ignored
    return b"".join(out), "broken"


def _read_zstd(source: _Source, out: list[bytes], room: int, *, at_once: bool) -> None:
    """Reads what there is into `out`. At once it is faster, but loses the step with an error."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    reader = decompressor.stream_reader(
        cast("IO[bytes]", source), read_size=CHUNK, read_across_frames=True
    )
    read = reader.read if at_once else reader.read1
    while room > 0 and (part := read(min(STEP, room))):
        out.append(part)
        room -= len(part)


def _zstd_whole(body: bytes) -> bool:
    """Whether the first frame ends within the body: the reader does not tell. Walks its blocks."""
    if not body.startswith(ZSTD_MAGIC):
        return True
    try:
        at = zstandard.frame_header_size(body)
    except zstandard.ZstdError:
        return False  # not even its header is whole
    for _ in range(MAX_BLOCKS):
        header = int.from_bytes(body[at : at + 3], "little")
        repeated = header >> 1 & 3 == 1  # one byte stands for the whole block
        at += 3 + (1 if repeated else header >> 3)
        if at > len(body):
            return False
        if header & 1:
            return True
    return True


_DECODERS: dict[str, Callable[[bytes, int, Until], Decoded]] = {
    "gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
_ALIASES = {
    "x-gzip": "gzip",
    "gz": "gzip",
    "x-gz": "gzip",
    "gzipped": "gzip",
    "zlib": "deflate",
    "x-deflate": "deflate",
    "brotli": "br",
    "x-brotli": "br",
    "x-br": "br",
    "zst": "zstd",
    "x-zstd": "zstd",
    "zstandard": "zstd",
}
# Bytes that no text holds, and how many are looked at (as in the MIME Sniffing Standard).
_BINARY = bytes((*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))
_LOOK = 1_445
_NOTHING = frozenset(("", "identity", "none", "*"))
