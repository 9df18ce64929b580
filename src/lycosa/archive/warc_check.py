"""Whether a WARC segment is what was written: every record, its digests, and every page's record.

Reads, changes nothing, and knows nothing of the frontier: the caller says where records should be.
A record's head has no digest of its own, so the heads of a response and its request are compared.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lycosa.archive.reading import CHUNK, Region, SegmentFile, Verdict
from lycosa.archive.segments import segment_name
from lycosa.archive.text import rfc3339
from lycosa.archive.warc import base32
from lycosa.errors import StoreError

HEAD_USUAL = 1 << 10  # bytes of a record's head
HEAD_MOST = 1 << 16  # more than one with the longest URL has
HTTP_HEAD_MOST = 1 << 20  # of a response; we write no more than 24 KiB
_END = b"\r\n\r\n"
_VERSION = b"WARC/1.1\r\n"
_MARK = _END + _VERSION
# Names exactly as we write them: others are damage.
_SHAPES = {
    "WARC-Type": re.compile("warcinfo|response|resource|request|metadata|revisit|conversion"),
    "WARC-Record-ID": re.compile(r"<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>"),
    "WARC-Date": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"),
    "Content-Type": re.compile(r"\S.*"),
    "Content-Length": re.compile(r"\d{1,15}"),
}
# What records of these types have besides.
_ANY = re.compile(r"\S+")
_OF_TYPE = {
    "response": {
        "WARC-Target-URI": _ANY,
        "WARC-Block-Digest": _ANY,
        "WARC-Payload-Digest": _ANY,
        "Content-Type": re.compile("application/http; msgtype=response"),
    },
    "request": {
        "WARC-Target-URI": _ANY,
        "WARC-Block-Digest": _ANY,
        "WARC-Concurrent-To": _ANY,
        "Content-Type": re.compile("application/http; msgtype=request"),
    },
}
_SAME = ("WARC-Target-URI", "WARC-Date", "WARC-IP-Address")  # of a response and its request


class RecordPlace(NamedTuple):
    """Where the response of a page should be, and what its record must say."""

    offset: int
    domain_id: int
    fp: int
    url: str
    fetched_ms: int


@dataclass(slots=True)
class Record:
    """One record as it was found."""

    begin: int
    end: int
    fields: dict[str, str]

    @property
    def type(self) -> str:
        return self.fields["WARC-Type"]


class WarcCheck:
    """Reads one segment once."""

    def __init__(self, file: SegmentFile, verdict: Verdict) -> None:
        self._file = file
        self._verdict = verdict
        self._known: tuple[int, Record | None] = (
            -1,
            None,
        )  # the last read: a request is read twice

    def run(self, places: Iterator[RecordPlace]) -> Iterator[tuple[RecordPlace, str]]:
        """The pages whose response is not there, with the reason; `places` in order."""
        place = next(places, None)
        at = 0
        while at < self._file.length or place is not None:
            if place is not None and place.offset < at:
                yield place, "no record begins there"
                place = next(places, None)
                continue
            found = self._read(at) if at < self._file.length else None
            end = found.end if found else self._damage(at, place)
            if found:
                self._verdict.took(at, end)
            if place is not None and place.offset == at:
                if why := self._wrong(found, place, at):
                    yield place, why
                place = next(places, None)
            at = end

    def _damage(self, at: int, place: RecordPlace | None) -> int:
        """Note that no record begins there; returns where the next may."""
        if at >= self._file.length:
            return at + 1 if place is None or place.offset <= at else place.offset
        end = self._next_mark(at)
        if place is not None and at < place.offset < end:
            end = place.offset
        self._verdict.damaged.append(Region(at, end))
        return end

    def _wrong(self, found: Record | None, place: RecordPlace, at: int) -> str:
        if found is None:
            return self._file.why(at)
        fields = found.fields
        same = (
            found.type == "response"
            and fields.get("WARC-Target-URI") == place.url
            and fields["WARC-Date"] == rfc3339(place.fetched_ms)
        )
        if not same:
            return "another record is there"
        if found.end >= self._file.length:
            return ""
        follower = self._read(found.end)
        if follower is None:
            return f"its request: {self._file.why(found.end)}"
        return "" if _belong(found, follower) else "its request is of another"

    def response(self, at: int, url: str) -> tuple[bytes, bytes]:
        """The header block and the body of the response of a URL, whose record begins there."""
        found = self._read(at)
        if found is None:
            raise StoreError(self._file.why(at))
        if found.type != "response" or found.fields.get("WARC-Target-URI") != url:
            raise StoreError("another record is there")
        length = int(found.fields["Content-Length"])
        begin = found.end - len(_END) - length
        block = self._file.read(begin, length)
        head = self._http_head(begin, length)
        return block[:head], block[head:]

    def _read(self, at: int) -> Record | None:
        """The record that begins there; None if none does, or it is damaged."""
        if self._known[0] != at:
            self._known = (at, self._parse(at))
        return self._known[1]

    def _parse(self, at: int) -> Record | None:
        data = self._file.read(at, HEAD_USUAL)
        head_end = data.find(_END)
        if head_end < 0:
            data = self._file.read(at, HEAD_MOST)
            head_end = data.find(_END)
        if not data.startswith(_VERSION) or head_end < 0:
            return None
        fields = _fields(data[len(_VERSION) : head_end])
        if fields is None:
            return None
        begin = at + head_end + len(_END)
        length = int(fields["Content-Length"])
        end = begin + length + len(_END)
        if end > self._file.available or self._file.read(end - len(_END), len(_END)) != _END:
            return None
        if not self._digests_hold(fields, begin, length):
            return None
        return Record(at, end, fields)

    def _digests_hold(self, fields: dict[str, str], begin: int, length: int) -> bool:
        block = fields.get("WARC-Block-Digest")
        payload = fields.get("WARC-Payload-Digest")
        skip = self._http_head(begin, length) if payload else 0
        whole, body = hashlib.sha1(usedforsecurity=False), hashlib.sha1(usedforsecurity=False)
        for at in range(begin, begin + length, CHUNK):
            data = self._file.read(at, min(CHUNK, begin + length - at))
            whole.update(data)
            if payload:
                body.update(data[max(0, begin + skip - at) :])
        return _is(block, whole.digest()) and _is(payload, body.digest())

    def _http_head(self, begin: int, length: int) -> int:
        """Bytes of the header block of the response that begins there."""
        found = self._file.read(begin, min(length, HTTP_HEAD_MOST)).find(_END)
        return found + len(_END) if found >= 0 else length

    def _next_mark(self, at: int) -> int:
        """Where the next record seems to begin."""
        begin = at + 1
        while data := self._file.read(begin, CHUNK):
            found = data.find(_MARK)
            if found >= 0:
                return begin + found + len(_END)
            if len(data) < CHUNK:
                break
            begin += len(data) - len(_MARK)
        return self._file.length


class Responses:
    """A WARC segment that is open to read the responses of pages."""

    def __init__(self, root: Path, segment: int, committed: int) -> None:
        name = segment_name("warc", segment)
        self.committed = committed
        try:
            self._file = SegmentFile(root / name, committed)
        except OSError as error:
            raise StoreError(f"Can't read {root / name}: {error.strerror}.") from error
        self._check = WarcCheck(self._file, Verdict(name, committed))

    def read(self, at: int, url: str) -> tuple[bytes, bytes]:
        """The header block and the body of the response of a URL, whose record begins there."""
        return self._check.response(at, url)

    def close(self) -> None:
        self._file.close()


def _fields(head: bytes) -> dict[str, str] | None:
    """The fields of a record's head; None if we can't have written them."""
    try:
        lines = head.decode("utf-8").split("\r\n")
    except UnicodeDecodeError:
        return None
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(": ")
        if not colon or not value.isprintable() or name in fields:
            return None
        fields[name] = value
    shapes = {**_SHAPES, **_OF_TYPE.get(fields.get("WARC-Type", ""), {})}
    right = all(shape.fullmatch(fields.get(name, "")) for name, shape in shapes.items())
    return fields if right else None


def _is(written: str | None, digest: bytes) -> bool:
    return written is None or written == "sha1:" + base32(digest)


def _belong(response: Record, follower: Record) -> bool:
    """Whether the record after a response is its request, or no request."""
    if follower.type != "request":
        return True
    one, other = response.fields, follower.fields
    return other.get("WARC-Concurrent-To") == one["WARC-Record-ID"] and all(
        one.get(name) == other.get(name) for name in _SAME
    )


def filler_record(length: int, record_id: str, now_ms: int) -> tuple[bytes, bytes] | None:
    """The head and the end that make `length` bytes a record without content; None: too few."""
    digits = len(str(length))
    head = (
        "WARC/1.1\r\nWARC-Type: metadata\r\n"
        f"WARC-Record-ID: {record_id}\r\n"
        f"WARC-Date: {rfc3339(now_ms)}\r\n"
        "Content-Type: application/octet-stream\r\n"
        "Content-Length: {}\r\n\r\n"
    )
    block = length - len(head.format("0" * digits)) - len(_END)
    if block < 0:
        return None
    return head.format(f"{block:0{digits}d}").encode(), _END
