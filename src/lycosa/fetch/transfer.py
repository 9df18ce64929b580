"""One transfer: what comes in over one libcurl handle, and what it amounts to.

Owns the rules by which a response is cut short (type, size) or thrown away, the check of the
address connected to (S1), and the one table that turns libcurl's errors into `records.Failure`.
Its callbacks run inside libcurl, where an exception would be printed and lost: they only note.
Knows nothing of sockets, timers and name lookups, which `fetcher` owns.
"""

from __future__ import annotations

import errno
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Protocol

from lycosa.fetch.libcurl import Code, Easy, Headers, Inbox, Quota
from lycosa.fetch.sharing import SMALL
from lycosa.page import media
from lycosa.records import Failure, Kind, Request, Truncated, header_list


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


# libcurl's errors -> whose fault. Those not listed are Failure.PROTOCOL.
_FAILURES = {
    Code.RESOLVE: Failure.DNS,  # can't happen: every address is given
    Code.CONNECT: Failure.CONNECT,
    Code.TIMED_OUT: Failure.TIMEOUT,
    Code.MEMORY: Failure.MEMORY,
    Code.INTERFACE: Failure.LOCAL,
    Code.CA_FILE: Failure.LOCAL,
    Code.TLS_CONNECT: Failure.TLS,
    Code.ENGINE_MISSING: Failure.TLS,
    Code.ENGINE_FAILED: Failure.TLS,
    Code.CERTIFICATE: Failure.TLS,
    Code.CIPHER: Failure.TLS,
    Code.VERIFICATION: Failure.TLS,
    Code.ISSUER: Failure.TLS,
    Code.SHUTDOWN: Failure.TLS,
    Code.CERTIFICATE_STATUS: Failure.TLS,
    Code.PARTIAL: Failure.RESET,
    Code.NOTHING: Failure.RESET,
    Code.SEND: Failure.RESET,
    Code.RECEIVE: Failure.RESET,
}
# "Couldn't connect" with one of these is our own shortage; libcurl reports EMFILE as 0.
_SHORTAGES = frozenset({0, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.EADDRNOTAVAIL})

_MAX_INFORMATIONAL = 20  # 1xx responses before the final one
# libcurl gives up at 300 KB of headers with the code of a broken connection.
_HEADERS_TOO_LARGE = 250_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_WANTED = frozenset({media.HTML, media.TEXT})
_BLANK_LINE = re.compile(rb"^(?:\n|\r[^\n]*\n)", re.MULTILINE)  # as libcurl sees one
NEVER = math.inf

TransferEnd = tuple[str, str]  # failure, truncated
_OK: TransferEnd = (Failure.NONE, Truncated.NO)
_NO_MEMORY: TransferEnd = (Failure.MEMORY, Truncated.NO)


def final_head(raw: bytes) -> tuple[bytes, int]:
    """The header block of the final response, and how many 1xx came before it.

    b'' if its blank line is missing. What follows the blank line is trailers, and left out.
    """
    if raw.find(b"\n\r") == len(raw) - 3 and b"\n\n" not in raw and status_of(raw) >= 200:
        return raw, 0  # nearly always
    begin = informational = 0
    for blank in _BLANK_LINE.finditer(raw):
        status = status_of(raw[begin : begin + 32])
        if status // 100 != 1 or status == 101:
            return raw[begin : blank.end()], informational
        begin = blank.end()
        informational += 1
    return b"", informational


def status_of(head: bytes) -> int:
    """The status in a status line, 0 if there is none."""
    word = head[:32].partition(b" ")[2].lstrip()[:3]
    return int(word) if word.isdigit() else 0


def wants_body(head: bytes, first: bytes) -> bool:
    """Whether a page's body is text: by its type, or by its first bytes if there is no type."""
    lower = head.lower()
    kind = header_list(head, lower, b"content-type")
    if b"\ncontent-encoding:" in lower and media.is_missing(kind):
        return True  # what is inside is seen when it is unpacked
    return media.kind_of(kind, first) in _WANTED


class Owner(Protocol):
    """What all transfers share: their limits, the clock, and what they add up."""

    limits: FetchLimits
    now: Callable[[], float]
    quota: Quota
    mishaps: int  # errors of our own inside libcurl's callbacks: should stay 0


class Transfer:
    """One libcurl handle, used again and again, with the request it is busy with."""

    __slots__ = (
        *(
            "active",
            "address",
            "addresses",
            "attempt_by",
            "connect_by",
            "connected",
            "easy",
            "ends",
        ),
        *("head", "inbox", "owner", "request", "started", "status", "stop", "timer"),
    )

    def __init__(self, owner: Owner, headers: Headers) -> None:
        self.owner = owner
        self.inbox = Inbox(self, owner.quota)
        self.easy = Easy(self, self.inbox, headers)
        self.release()

    def release(self) -> None:
        """Forget the request."""
        self.request: Request | None = None
        self.inbox.empty()
        self.head = b""
        self.status = 0
        self.stop: TransferEnd | None = None  # why we ended it
        self.addresses: tuple[str, ...] = ()  # still to be tried
        self.address = ""
        self.active = False  # in the multi handle
        self.connected = 0.0  # when the request was about to be sent
        self.started = 0.0
        self.connect_by = NEVER  # by then one of the addresses has answered
        self.attempt_by = NEVER  # by then the present one has
        self.ends = NEVER
        self.timer = -1  # the entry of the owner's timers that counts

    def on_connected(self, peer: str) -> bool:
        """Before the request is sent: is this the address that was checked (S1)?"""
        if peer != self.address and not _same_address(peer, self.address):
            self.stop = (Failure.PRIVATE, Truncated.NO)
            return False
        self.connected = self.owner.now()
        return True

    def on_body(self, first: bytes) -> int:
        """The headers are whole, and say how much of the body is wanted: 0 ends the transfer."""
        try:
            limit = self._wanted(first)
        except Exception:
            self.stop = (Failure.LOCAL, Truncated.NO)
            self.owner.mishaps += 1
        return 0 if self.stop is not None else limit

    def _wanted(self, first: bytes) -> int:
        assert self.request is not None
        limits = self.owner.limits
        self.read_head()
        if self.status in _REDIRECTS and b"\nlocation:" in self.head.lower():
            return limits.redirect_body
        if self._is_robots():
            return limits.robots_body
        if self.request.kind == Kind.PAGE and not wants_body(self.head, first):
            self.stop = self.stop or (Failure.NONE, Truncated.TYPE)
        return limits.body

    def _is_robots(self) -> bool:
        return self.request is not None and self.request.kind == Kind.ROBOTS

    def read_head(self) -> None:
        """Find the final header block, if it has come."""
        self.head, informational = final_head(self.inbox.head())
        self.status = status_of(self.head)
        if informational > _MAX_INFORMATIONAL or (self.head and self.status < 200):
            self.stop = (Failure.PROTOCOL, Truncated.NO)

    def outcome(self, code: int) -> TransferEnd:
        """What libcurl's verdict means, given what has come."""
        if not self.head:
            self.read_head()
        if self.stop is not None:
            return self.stop
        if self.inbox.refused:
            # A large body is kept as far as it came. A small one is not what used the memory up.
            if self.inbox.size >= SMALL and not self._is_robots():
                return Failure.NONE, Truncated.LENGTH
            return _NO_MEMORY
        if self.inbox.cut:
            return Failure.NONE, Truncated.LENGTH
        if self.head:
            if code == 0:
                return _OK
            # Cut short: good enough if some of the body came, or if only the status matters.
            if self.inbox.size or self.status // 100 != 2:
                timed_out = code == Code.TIMED_OUT
                return Failure.NONE, Truncated.TIME if timed_out else Truncated.DISCONNECT
        return self._failure(code), Truncated.NO

    def cut_for_memory(self) -> TransferEnd:
        """How it ends when its memory is needed: with what has come. A robots.txt fails instead, by
        our fault, because its missing half may forbid what the first does not."""
        return _NO_MEMORY if self._is_robots() else self.outcome(Code.TIMED_OUT)

    def _failure(self, code: int) -> str:
        if code == 0:
            return Failure.RESET  # closed in the middle of the headers
        if code == Code.CONNECT and self.easy.os_error() in _SHORTAGES:
            return Failure.LOCAL
        if code == Code.RECEIVE and self.inbox.heard > _HEADERS_TOO_LARGE:
            return Failure.PROTOCOL
        return _FAILURES.get(code, Failure.PROTOCOL)


def _same_address(one: str, other: str) -> bool:
    """IPv6 addresses have several spellings."""
    try:
        return ip_address(one) == ip_address(other)
    except ValueError:
        return False
