"""Undoes Content-Encoding. Owns the limits that make a compression bomb harmless (S2).

Bytes in, bytes out: it knows neither HTTP headers nor what the bytes mean. A stream that is
broken or ends early yields what could be decoded, with a word for the problem; nothing here
raises for what a site sent. Output is produced in steps, so that memory stays near the limit
however far the stream would expand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import brotli
import zstandard
from isal import isal_zlib

ACCEPT_ENCODING = "gzip, deflate, br, zstd"

MAX_LAYERS = 3  # encodings on top of each other; more is an attack or a broken server
MAX_MEMBERS = 1_000  # gzip members in one body: each costs a copy of what follows in its chunk
STEP = 256 * 1024  # output asked for at a time from decoders without a hard limit
CHUNK = 4_096  # input fed at a time when looking for the place where a stream breaks
ZSTD_WINDOW = 8 * 1024 * 1024  # the most a zstd content-coding may ask for (RFC 9659)
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE_MAGIC = b"\x2a\x4d\x18"  # of a zstd frame without content, after its first byte
MAX_BLOCKS = 10_000  # looked at in a zstd frame to see whether it is whole

GZIP, ZLIB, RAW = 31, 15, -15  # window bits, which also name the container

BROKEN = cast("type[Exception]", isal_zlib.error)  # its stub calls the class an instance
Decoded = tuple[bytes, str]  # at most limit + 1 bytes, problem


def decode(body: bytes, encoding: str, limit: int) -> tuple[bytes, bool, str]:
    """The decoded body, whether `limit` cut it, and '' or a short word for what was wrong."""
    layers = [name for part in encoding.lower().split(",") if (name := part.strip())]
    if len(layers) > MAX_LAYERS:
        return body[:limit], len(body) > limit, "too-many-encodings"
    problem = ""
    for name in reversed(layers):
        decoder = _DECODERS.get(name)
        if decoder is None:
            problem = problem or "unknown-encoding"
            break
        body, trouble = decoder(body, limit)
        problem = problem or trouble
    return body[:limit], len(body) > limit, problem


def _identity(body: bytes, limit: int) -> Decoded:
    return body, ""


def _gzip(body: bytes, limit: int) -> Decoded:
    # Some servers announce gzip and send plain text: the magic number decides.
    if not body.startswith(b"\x1f\x8b"):
        return body, "not-gzip" if body else ""
    return _inflate(body, GZIP, limit)


def _deflate(body: bytes, limit: int) -> Decoded:
    # "deflate" means zlib, but many servers send the raw stream.
    if not body:
        return body, ""
    looks_zlib = len(body) > 1 and body[0] & 15 == 8 and (body[0] << 8 | body[1]) % 31 == 0
    first, second = (ZLIB, RAW) if looks_zlib else (RAW, ZLIB)
    decoded = _inflate(body, first, limit)
    if decoded[1] == "broken" and not decoded[0]:
        other = _inflate(body, second, limit)
        return other if other[0] else decoded
    return decoded


def _inflate(body: bytes, wbits: int, limit: int) -> Decoded:
    stream = isal_zlib.decompressobj(wbits=wbits)
    try:
        out: bytes = stream.decompress(body, limit + 1)
    except BROKEN:
        return _inflate_broken(body, wbits, limit), "broken"
    if not stream.eof:
        return out, "" if len(out) > limit else "truncated"
    if wbits == GZIP and stream.unused_data.startswith(b"\x1f\x8b"):
        return _more_members(out, stream.unused_data, limit)
    return out, ""


def _more_members(first: bytes, rest: bytes, limit: int) -> Decoded:
    """The gzip members after the first one; what follows the last member is ignored."""
    out = [first]
    room = limit + 1 - len(first)
    at = 0
    for _ in range(MAX_MEMBERS):
        if room <= 0 or rest[at : at + 2] != b"\x1f\x8b":
            return b"".join(out), ""
        part, used, problem = _member(rest, at, room)
        out.append(part)
        room -= len(part)
        at += used
        if problem:
            return b"".join(out), problem
    return b"".join(out), "too-many-members"


def _member(data: bytes, start: int, room: int) -> tuple[bytes, int, str]:
    """One gzip member from `start`: output, input used, problem."""
    stream = isal_zlib.decompressobj(wbits=GZIP)
    out: list[bytes] = []
    at = start
    while at < len(data) and room > 0 and not stream.eof:
        chunk = stream.unconsumed_tail or data[at : at + 16 * CHUNK]
        fresh = not stream.unconsumed_tail
        try:
            part = stream.decompress(chunk, room)
        except BROKEN:
            return b"".join(out), 0, "broken"
        at += len(chunk) if fresh else 0
        out.append(part)
        room -= len(part)
    if stream.eof or room <= 0:
        return b"".join(out), at - len(stream.unused_data) - start, ""
    return b"".join(out), at - start, "truncated"


def _inflate_broken(body: bytes, wbits: int, limit: int) -> bytes:
    """All that comes out before the stream breaks: chunks up to there, then single bytes."""
    good, bad = _broken_at(body, wbits, limit)
    stream = isal_zlib.decompressobj(wbits=wbits)
    out = bytearray(stream.decompress(body[:good], limit + 1) if good else b"")
    try:
        for at in range(good, bad):
            out += stream.decompress(body[at : at + 1])
    except BROKEN:
        pass
    return bytes(out[: limit + 1])


def _broken_at(body: bytes, wbits: int, limit: int) -> tuple[int, int]:
    """Begin and end of the chunk that can't be decoded, or of nothing once the limit is reached."""
    stream = isal_zlib.decompressobj(wbits=wbits)
    got = 0
    for at in range(0, len(body), CHUNK):
        try:
            got += len(stream.decompress(body[at : at + CHUNK], limit + 1 - got))
        except BROKEN:
            return at, min(at + CHUNK, len(body))
        if got > limit or stream.eof:
            return at + CHUNK, at + CHUNK
    return len(body), len(body)


def _brotli(body: bytes, limit: int) -> Decoded:
    stream = brotli.Decompressor()
    out: list[bytes] = []
    room = limit + 1
    data = body
    try:
        while room > 0 and not stream.is_finished():
            part = stream.process(data, output_buffer_limit=min(STEP, room))
            data = b""
            if not part and stream.can_accept_more_data():
                break
            out.append(part)
            room -= len(part)
    except brotli.error:
        return b"".join(out), "broken"
    whole = room <= 0 or stream.is_finished() or not body
    return b"".join(out), "" if whole else "truncated"


def _zstd(body: bytes, limit: int) -> Decoded:
    if not body.startswith(ZSTD_MAGIC) and body[1:4] != SKIPPABLE_MAGIC:
        return body, "not-zstd" if body else ""
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    out: list[bytes] = []
    room = limit + 1
    try:
        with decompressor.stream_reader(body, read_across_frames=True) as reader:
            while room > 0 and (part := reader.read(min(STEP, room))):
                out.append(part)
                room -= len(part)
    except zstandard.ZstdError:
        return b"".join(out), "broken"
    return b"".join(out), "" if room <= 0 or _zstd_whole(body) else "truncated"


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


_DECODERS: dict[str, Callable[[bytes, int], Decoded]] = {
    "identity": _identity,
    "none": _identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
