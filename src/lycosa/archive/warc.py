"""WARC 1.1 records (ISO 28500), uncompressed, of what was sent and received.

Owns the record format: values in, bytes out, no files. Bodies stay as they came, still
content-encoded, and are never copied: a record is a tuple of parts that the caller writes in order.
libcurl has undone chunking, so `stored_head` adapts the header block to the body that is stored,
and keeps what it replaced under `X-Crawler-*`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping

from lycosa.archive.text import rfc3339
from lycosa.page import media
from lycosa.page.decode import decode
from lycosa.records import Response

SPECIFICATION = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

MAX_HEAD = 24 * 1024  # bytes of a header block that are stored: fastwarc gives up at 32 KiB
MAX_FIELD = 8 * 1024  # of one header
_NEEDED = (b"content-", b"location:", b"transfer-encoding:", b"x-crawler-", b"date:")
_MAX_LINES = 10_000  # of a head; libcurl takes half as many
_LOOKED_AT = 4_096  # bytes of a body that are unpacked to see what it is

_END = b"\r\n\r\n"  # after every record's block
_RESPONSE = "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: "
_IDS_PER_DRAW = 256
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]  # base32 of every 10 bits
_SHIFTS = range(150, -1, -10)


def record_ids() -> Iterator[str]:
    """Random (version 4) UUIDs for WARC-Record-ID, drawn in bulk: 0.6 us, not 4."""
    while True:
        digits = os.urandom(16 * _IDS_PER_DRAW).hex()
        for at in range(0, 32 * _IDS_PER_DRAW, 32):
            d = digits[at : at + 32]
            yield f"<urn:uuid:{d[:8]}-{d[8:12]}-4{d[13:16]}-a{d[17:20]}-{d[20:]}>"


def warcinfo(
    name: str,
    now_ms: int,
    ids: Iterator[str],
    software: str,
    operator: str,
    user_agent: str,
    part_of: str,
) -> bytes:
    """The record that opens the file `name`: who crawled, with what, by which rules."""
    fields = {
        "software": software,
        "format": "WARC File Format 1.1",
        "conformsTo": SPECIFICATION,
        "operator": operator,
        "http-header-user-agent": user_agent,
        "robots": "RFC 9309",
        "isPartOf": part_of,
    }
    block = _fields(fields)
    head = (
        "WARC/1.1\r\nWARC-Type: warcinfo\r\n"
        f"WARC-Record-ID: {next(ids)}\r\n"
        f"WARC-Date: {rfc3339(now_ms)}\r\n"
        f"WARC-Filename: {name.rpartition('/')[2]}\r\n"
        f"WARC-Block-Digest: {_digest(block)}\r\n"
        "Content-Type: application/warc-fields\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + _END


def _fields(fields: Mapping[str, str]) -> bytes:
    """Fields as WARC writes them. A line end in an operator's words must not begin a field."""
    return "".join(
        f"{key}: {' '.join(value.split())}\r\n" for key, value in fields.items()
    ).encode()


def response_records(
    response: Response,
    request_head: bytes,
    fetched_ms: int,
    ids: Iterator[str],
    digest: bytes = b"",
) -> tuple[bytes, ...]:
    """The response record and the request record, as parts; nothing where nothing was received.

    `digest`: the SHA-1 of the body, if the caller has it."""
    if not response.head:
        return ()
    body = response.body
    http_head = stored_head(response.head, len(body))
    response_id = next(ids)
    common = _common(response, fetched_ms)
    payload_digest = "sha1:" + base32(digest) if digest else _digest(body)
    kind = identified(response)
    payload = f"WARC-Identified-Payload-Type: {kind}\r\n" if kind else ""
    truncated = f"WARC-Truncated: {response.truncated}\r\n" if response.truncated else ""
    response_head = (
        f"{_RESPONSE}{response_id}\r\n{common}"
        f"WARC-Payload-Digest: {payload_digest}\r\n{payload}"
        f"WARC-Block-Digest: {_digest(http_head, body)}\r\n{truncated}"
        "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(http_head) + len(body)}\r\n\r\n"
    )
    request_record_head = (
        f"WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: {next(ids)}\r\n{common}"
        f"WARC-Concurrent-To: {response_id}\r\n"
        f"WARC-Block-Digest: {_digest(request_head)}\r\n"
        "Content-Type: application/http; msgtype=request\r\n"
        f"Content-Length: {len(request_head)}\r\n\r\n"
    )
    request = b"".join((_END, request_record_head.encode(), request_head, _END))
    return response_head.encode() + http_head, body, request


def record_uuid(parts: tuple[bytes, ...]) -> bytes:
    """The 16 bytes of the UUID of a response record that `response_records` made."""
    at = len(_RESPONSE) + len("<urn:uuid:")
    return bytes.fromhex(parts[0][at : at + 36].decode().replace("-", ""))


def response_length(parts: tuple[bytes, ...]) -> int:
    """The bytes of the response record alone, to the end of its block."""
    return len(parts[0]) + len(parts[1]) + len(_END)


def identified(response: Response) -> str:
    """The type of the payload by its first bytes, unpacked; '' if they don't tell."""
    encoding = response.joined(b"content-encoding")
    first, _, _ = decode(response.body[:_LOOKED_AT], encoding, media.SNIFFED)
    return media.sniffed(first) if first else ""


def _common(response: Response, fetched_ms: int) -> str:
    address = f"WARC-IP-Address: {response.address}\r\n" if response.address else ""
    return (
        f"WARC-Date: {rfc3339(fetched_ms)}\r\nWARC-Target-URI: {response.request.url}\r\n{address}"
    )


def stored_head(head: bytes, body_length: int) -> bytes:
    """The header block that is true of the stored body, with CRLF line ends.

    A Content-Length is added only in place of a header that was renamed: a response that was
    ended by closing the connection stays without. What is longer than readers take is cut down.
    """
    length = b"%d" % body_length
    lines: list[bytes] = []
    renamed = sized = False
    for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES]:
        line = line.removesuffix(b"\r")
        if not line:
            break  # what follows a blank line are trailers: no part of the head
        if line[0] in b"TtCc":
            name, _, value = line.partition(b":")
            field = name.strip().lower()
            wrong_length = field == b"content-length" and value.strip() != length
            if wrong_length or field == b"transfer-encoding":
                renamed = True
                line = b"X-Crawler-" + line
            elif field == b"content-length":
                sized = True
        lines.append(line)
    if renamed and not sized:
        lines.append(b"Content-Length: " + length)
    if len(head) > MAX_HEAD:
        lines = _fitting(lines)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _fitting(lines: list[bytes]) -> list[bytes]:
    """The lines of a head that is too long for readers, as far as they fit, and a note of what is
    left out. Those that say what the body is come first."""
    fields = _unfolded(lines)
    fields[0] = fields[0][:MAX_FIELD]
    kept: set[int] = set()
    room = MAX_HEAD
    for wanted in (True, False):
        for at, field in enumerate(fields):
            size = len(field) + 2
            needed = at == 0 or field.lower().startswith(_NEEDED)
            if needed == wanted and size <= min(room, MAX_FIELD + 2):
                kept.add(at)
                room -= size
    left = [field for at, field in enumerate(fields) if at not in kept]
    note = b"X-Crawler-Left-Out: %d header lines, %d bytes" % (len(left), sum(map(len, left)))
    return [fields[at] for at in sorted(kept)] + [note] * bool(left)


def _unfolded(lines: list[bytes]) -> list[bytes]:
    """Lines, each joined with those that continue it."""
    fields: list[list[bytes]] = []
    for line in lines:
        if fields and line[:1] in (b" ", b"\t"):
            fields[-1].append(line)
        else:
            fields.append([line])
    return [b"\r\n".join(field) for field in fields]


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return "sha1:" + base32(digest.digest())


def base32(digest: bytes) -> str:
    """20 bytes in 32 letters: half the time of the standard library's."""
    number = int.from_bytes(digest, "big")
    pairs = _PAIRS
    return "".join([pairs[number >> shift & 1023] for shift in _SHIFTS])
