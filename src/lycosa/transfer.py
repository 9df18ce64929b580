"""One transfer: what comes in over one libcurl handle, and what it amounts to.

Owns the rules by which a response is cut short (type, size) or thrown away, the check of the
address connected to (S1), and the one table that turns libcurl's errors into `records.Failure`.
Its callbacks run inside libcurl, where an exception would be printed and lost: they only note.
Knows nothing of sockets, timers and name lookups: that is `fetch`.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Protocol

import pycurl

from lycosa.records import Failure, Kind, Request, Truncated


@dataclass(frozen=True)
class FetchLimits:
    """What one response may cost (S2): seconds and bytes on the wire."""

    connect: float = 10.0  # TCP and TLS, over all addresses tried
    first_byte: float = 20.0  # from then to the first header line
    total: float = 60.0  # name lookup included
    body: int = 5 * 1024 * 1024
    robots_body: int = 500 * 1024  # RFC 9309 asks for at least that much
    redirect_body: int = 16 * 1024  # read to keep the connection, not for its own sake
    buffered: int = 512 * 1024 * 1024  # bodies of all transfers under way together


# libcurl's errors -> whose fault. What is not here is not HTTP as we know it: Failure.PROTOCOL.
_FAILURES = {
    pycurl.E_COULDNT_RESOLVE_HOST: Failure.DNS,  # can't happen: every address is given
    pycurl.E_COULDNT_CONNECT: Failure.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: Failure.TIMEOUT,
    pycurl.E_OUT_OF_MEMORY: Failure.LOCAL,
    pycurl.E_INTERFACE_FAILED: Failure.LOCAL,
    pycurl.E_SSL_CACERT_BADFILE: Failure.LOCAL,
    pycurl.E_SSL_CONNECT_ERROR: Failure.TLS,
    pycurl.E_SSL_ENGINE_NOTFOUND: Failure.TLS,
    pycurl.E_SSL_ENGINE_SETFAILED: Failure.TLS,
    pycurl.E_SSL_CERTPROBLEM: Failure.TLS,
    pycurl.E_SSL_CIPHER: Failure.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: Failure.TLS,
    pycurl.E_SSL_ISSUER_ERROR: Failure.TLS,
    pycurl.E_SSL_SHUTDOWN_FAILED: Failure.TLS,
    pycurl.E_SSL_INVALIDCERTSTATUS: Failure.TLS,
    pycurl.E_PARTIAL_FILE: Failure.RESET,
    pycurl.E_GOT_NOTHING: Failure.RESET,
    pycurl.E_SEND_ERROR: Failure.RESET,
    pycurl.E_RECV_ERROR: Failure.RESET,
}
# "Couldn't connect" with one of these is our own shortage; libcurl reports EMFILE as 0.
_SHORTAGES = frozenset({0, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.EADDRNOTAVAIL})

_MAX_INFORMATIONAL = 20  # 1xx responses before the final one
# libcurl gives up at 300 KB of headers with the code of a broken connection.
_HEADERS_TOO_LARGE = 250_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXT_TYPES = frozenset({b"application/xhtml+xml", b"application/xml"})
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")
NEVER = math.inf

Outcome = tuple[str, str]  # failure, truncated
_OK: Outcome = (Failure.NONE, Truncated.NO)


def final_head(lines: list[bytes]) -> tuple[bytes, int]:
    """The header block of the final response, and how many 1xx came before it.

    b'' if its blank line is missing. What follows the blank line is trailers, and left out.
    """
    begin = informational = 0
    for at, line in enumerate(lines):
        if line[0] in b"\r\n":  # as libcurl sees the end of the headers
            if status_of(lines[begin]) // 100 != 1 or status_of(lines[begin]) == 101:
                return b"".join(lines[begin : at + 1]), informational
            begin = at + 1
            informational += 1
    return b"", informational


def status_of(head: bytes) -> int:
    """The status in a status line, 0 if there is none."""
    word = head[:32].partition(b" ")[2].lstrip()[:3]
    return int(word) if word.isdigit() else 0


def wants_body(head: bytes, first: bytes) -> bool:
    """Whether a page's body is text: by its type, or by its first bytes if there is no type."""
    lower = head.lower()
    at = lower.find(b"\ncontent-type:")
    if at >= 0:
        line = lower[at + 14 : lower.find(b"\n", at + 14)]
        kind = line.partition(b";")[0].partition(b",")[0].strip()
        if b"/" in kind:
            return kind.startswith(b"text/") or kind in _TEXT_TYPES or kind.endswith(b"+xml")
    if b"\ncontent-encoding:" in lower or first.startswith(_BYTE_ORDER_MARKS):
        return True
    return b"\0" not in first[:512]


class Owner(Protocol):
    """What all transfers share: their limits, the clock, and what they add up."""

    limits: FetchLimits
    now: Callable[[], float]
    buffered: int  # bytes of bodies under way
    mishaps: int  # errors of our own inside libcurl's callbacks: should stay 0


class Transfer:
    """One libcurl handle, used again and again, with the request it is busy with."""

    __slots__ = (
        *("active", "address", "addresses", "attempt_by", "chunks", "connect_by", "connected"),
        *("easy", "ends", "head", "limit", "lines", "owner", "request", "size", "started"),
        *("status", "stop", "timer"),
    )

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.easy: Any = pycurl.Curl()
        self.easy.transfer = self
        self.lines: list[bytes] = []  # header lines: libcurl appends with no Python in between
        self.release()

    def release(self) -> None:
        """Forget the request."""
        self.request: Request | None = None
        self.lines.clear()
        self.chunks: list[bytes] = []
        self.size = 0
        self.limit = 0
        self.head = b""
        self.status = 0
        self.stop: Outcome | None = None  # why we ended it
        self.addresses: tuple[str, ...] = ()  # still to be tried
        self.address = ""
        self.active = False  # in the multi handle
        self.connected = 0.0  # when the request was about to be sent
        self.started = 0.0
        self.connect_by = NEVER  # by then one of the addresses has answered
        self.attempt_by = NEVER  # by then the present one has
        self.ends = NEVER
        self.timer = -1  # the entry of the owner's timers that counts

    def on_connected(self, peer: str, _local: str, _port: int, _local_port: int) -> int:
        """Before the request is sent: is this the address that was checked (S1)?"""
        if peer != self.address and not _same_address(peer, self.address):
            self.stop = (Failure.PRIVATE, Truncated.NO)
            return int(pycurl.PREREQFUNC_ABORT)
        self.connected = self.owner.now()
        return int(pycurl.PREREQFUNC_OK)

    def on_body(self, chunk: bytes) -> int | None:
        """A piece of the body: None takes it, 0 ends the transfer."""
        try:
            if not self.limit:
                self._open_body(chunk)
            size = self.size + len(chunk)
            if size > self.limit:
                chunk = chunk[: self.limit - self.size]
                self.stop = self.stop or (Failure.NONE, Truncated.LENGTH)
            if self.stop is None or self.stop[1] == Truncated.LENGTH:
                self.chunks.append(chunk)
                self.size += len(chunk)
                self.owner.buffered += len(chunk)
                if self.owner.buffered > self.owner.limits.buffered:
                    self.stop = (Failure.LOCAL, Truncated.NO)
        except Exception:
            self.stop = (Failure.LOCAL, Truncated.NO)
            self.owner.mishaps += 1
        return None if self.stop is None else 0

    def _open_body(self, chunk: bytes) -> None:
        """At the first piece: the headers are whole, and say what to do with the body."""
        assert self.request is not None
        limits = self.owner.limits
        kind = self.request.kind
        self.limit = limits.robots_body if kind == Kind.ROBOTS else limits.body
        if (status := status_of(self.lines[0])) >= 200:  # nearly always: no 1xx came before
            self.status, self.head = status, b"".join(self.lines)
        else:
            self.read_head()
        if self.stop is not None:
            return
        if self.status in _REDIRECTS and b"\nlocation:" in self.head.lower():
            self.limit = limits.redirect_body
        elif kind == Kind.PAGE and not wants_body(self.head, chunk):
            self.stop = (Failure.NONE, Truncated.TYPE)

    def read_head(self) -> None:
        """Find the final header block, if it has come."""
        self.head, informational = final_head(self.lines)
        self.status = status_of(self.head)
        if informational > _MAX_INFORMATIONAL or (self.head and self.status < 200):
            self.stop = (Failure.PROTOCOL, Truncated.NO)

    def outcome(self, code: int) -> Outcome:
        """What libcurl's verdict means, given what has come."""
        if not self.head:
            self.read_head()
        if self.stop is not None:
            return self.stop
        if self.head:
            if code == 0:
                return _OK
            # Cut short: good enough if some of the body came, or if only the status matters.
            if self.size or self.status // 100 != 2:
                timed_out = code == pycurl.E_OPERATION_TIMEDOUT
                return Failure.NONE, Truncated.TIME if timed_out else Truncated.DISCONNECT
        return self._failure(code), Truncated.NO

    def _failure(self, code: int) -> str:
        if code == 0:
            return Failure.RESET  # closed in the middle of the headers
        if code == pycurl.E_COULDNT_CONNECT and self.easy.getinfo(pycurl.OS_ERRNO) in _SHORTAGES:
            return Failure.LOCAL
        if code == pycurl.E_RECV_ERROR and sum(map(len, self.lines)) > _HEADERS_TOO_LARGE:
            return Failure.PROTOCOL
        return _FAILURES.get(code, Failure.PROTOCOL)


def _same_address(one: str, other: str) -> bool:
    """IPv6 addresses have several spellings."""
    try:
        return ip_address(one) == ip_address(other)
    except ValueError:
        return False
