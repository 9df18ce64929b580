"""HTTP over libcurl in the engine's own loop: one `Request` in, exactly one `Response` out.

Owns the connections, their limits in time (S2), and which address they go to: every address is
looked up, checked (S1) and pinned here. Decides nothing about URLs, robots.txt, delays or
redirects, decodes nothing, and starts what it is told to start. `transfer` handles what comes in
over a connection.
"""

from __future__ import annotations

import heapq
import itertools
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from lycosa.fetch import libcurl
from lycosa.fetch.addresses import Allowed, Inside
from lycosa.fetch.certificates import ANY
from lycosa.fetch.dns import Answer, Resolver
from lycosa.fetch.handles import Multis
from lycosa.fetch.poller import Poller
from lycosa.fetch.sharing import FULL, SHORT, Sharing
from lycosa.fetch.transfer import NEVER, FetchLimits, Transfer, TransferEnd
from lycosa.page.decode import ACCEPT_ENCODING
from lycosa.records import Failure, Request, Response, Truncated
from lycosa.urls.ports import BLOCKED

__all__ = ["FetchLimits", "FetchSettings", "Fetcher"]

_MAX_ADDRESSES = 2  # tried per request
_IDLE_SECONDS = 10  # an unused connection is closed when another request starts after that
# One key share instead of two, one of them post-quantum and large.
_CURVES = "X25519:P-256:P-384:P-521"
_LOOK = 0.5  # seconds between looks at which transfers hold memory, while it is short
# Seconds of a turn for answers of name servers, and for limits in time that are reached.
_BUDGET = 0.004
_STOPPED: TransferEnd = (Failure.STOPPED, Truncated.NO)


@dataclass(frozen=True)
class FetchSettings:
    """How requests look and where they may go."""

    user_agent: str
    trust: str = ""  # a folder that `certificates` laid out; '': certificates are not checked
    allow_private: bool = False
    allow_networks: tuple[str, ...] = ()  # private networks that may be connected to all the same
    only_networks: tuple[str, ...] = ()  # nothing else is connected to; (): no such limit
    port_map: dict[int, int] = field(default_factory=dict)  # port in the URL -> connected to
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,text/*;q=0.8,*/*;q=0.1"
    accept_language: str = "en,*;q=0.5"
    accept_encoding: str = ACCEPT_ENCODING


def split_url(url: str) -> tuple[str, str]:
    """Authority and target of a canonical URL, as they appear in a request."""
    authority, _, target = url.partition("://")[2].partition("/")
    return authority, "/" + target


class Fetcher:
    """Transfers in flight. Every `start` ends in one Response in `finished`.

    The loop polls for at most `timeout()`, lets the poller serve, calls `turn(now)`, and takes
    what is finished. `capacity` is how many transfers are meant to be in flight at most.
    """

    def __init__(
        self,
        poller: Poller,
        resolver: Resolver,
        settings: FetchSettings,
        limits: FetchLimits,
        capacity: int,
        now: Callable[[], float],
    ) -> None:
        self.limits = limits
        self.now = now
        self.finished: deque[Response] = deque()
        self.quota = libcurl.Quota(limits.buffered)
        self.pressed = -NEVER  # when memory for bodies was last short
        self._sharing = Sharing(limits.buffered)
        self._short, self._full = SHORT * limits.buffered, FULL * limits.buffered
        self._next_look = 0.0
        self.mishaps = 0  # errors of our own inside libcurl's callbacks: should stay 0
        self._resolver = resolver
        self._settings = settings
        self._allowed = Allowed(settings.allow_private, settings.allow_networks)
        self._inside = Inside(settings.only_networks)
        self._capacity = capacity
        self._flights: dict[int, Transfer] = {}  # by id of the request
        self._idle: list[Transfer] = []
        self._answered: deque[tuple[Transfer, Request, Answer]] = deque()  # by name servers
        self._timers: list[tuple[float, int, Transfer]] = []
        self._timer_ids = itertools.count()
        self._header_lines = [
            f"Accept: {settings.accept}",
            f"Accept-Language: {settings.accept_language}",
            f"Accept-Encoding: {settings.accept_encoding}",
        ]
        self._headers = libcurl.Headers(self._header_lines)
        self._multis = Multis(poller, now, capacity, self._on_mishap)

    def _on_mishap(self) -> None:
        self.mishaps += 1

    @property
    def buffered(self) -> int:
        """Bytes of bodies under way."""
        return self.quota.used

    @property
    def in_flight(self) -> int:
        """Requests started and not finished."""
        return len(self._flights)

    def start(self, request: Request) -> None:
        """Look up, connect, send, receive. What comes of it appears in `finished`."""
        now = self.now()
        transfer = self._idle.pop() if self._idle else self._new_transfer()
        transfer.request = request
        transfer.started = now
        transfer.ends = min(now + self.limits.total, request.deadline)
        self._flights[id(request)] = transfer
        if transfer.ends <= now:
            self._finish(transfer, (Failure.TIMEOUT, Truncated.NO))
            return
        if request.port in BLOCKED:
            self._finish(transfer, (Failure.PORT, Truncated.NO))
            return
        answer = self._resolver.cached(request.host)
        if answer is not None:
            self._on_answer(transfer, request, answer)
            return
        self._set_timer(transfer, transfer.ends)
        self._resolver.look_up(request.host, partial(self._looked_up, transfer, request))

    def take(self, limit: int) -> list[Response]:
        """At most `limit` responses, oldest first."""
        finished = self.finished
        return [finished.popleft() for _ in range(min(limit, len(finished)))]

    def timeout(self) -> float | None:
        """Seconds until `turn` or `take` has something to do, None if nothing is under way."""
        if self.finished or self._answered:
            return 0.0
        due = self._multis.due
        if self._timers and self._timers[0][0] < due:
            due = self._timers[0][0]
        if self.quota.used > self._short:
            due = min(due, self._next_look)
        return None if due == NEVER else max(0.0, due - self.now())

    def turn(self, now: float) -> None:
        """Collect what is complete and run what is due. Once per turn of the loop."""
        self._collect()
        self._act_on_answers(now + _BUDGET)
        self._act_on_timers(now, self.now() + _BUDGET)
        self._multis.turn(now)
        self._collect()
        if self.quota.used > self._short:
            self._share(now)

    def _act_on_answers(self, end: float) -> None:
        while self._answered:
            self._on_answer(*self._answered.popleft())
            if self.now() > end:
                break

    def _act_on_timers(self, now: float, end: float) -> None:
        timers = self._timers
        while timers and timers[0][0] <= now:
            _, timer, transfer = heapq.heappop(timers)
            if transfer.timer == timer:
                self._check(transfer, now)
                if self.now() > end:
                    break

    @property
    def full(self) -> bool:
        """Whether there is no room for the bodies of more requests."""
        return self.quota.used > self._full

    def _share(self, now: float) -> None:
        """Memory for bodies is short: some transfers end with what they have received."""
        if now < self._next_look and not self.full:
            return
        self._next_look = now + _LOOK
        held = {
            id(each): each for each in self._flights.values() if each.active and each.inbox.size
        }
        for key in self._sharing.to_cut([(k, each.inbox.size) for k, each in held.items()], now):
            self.pressed = now
            transfer = held[key]
            self._finish(transfer, transfer.cut_for_memory())

    def cancel(self, request: Request) -> None:
        """Close the request's connection at once. It finishes as Failure.STOPPED."""
        transfer = self._flights.get(id(request))
        if transfer is not None:
            self._finish(transfer, _STOPPED)

    def cancel_all(self) -> None:
        """Close every connection at once, sending nothing; all finish as Failure.STOPPED (P4)."""
        for transfer in list(self._flights.values()):
            self._finish(transfer, _STOPPED)
        self._multis.reset()

    def close(self) -> None:
        """Drop everything."""
        self.cancel_all()
        self.finished.clear()
        self._answered.clear()
        self._multis.close()
        for transfer in self._idle:
            transfer.easy.close()
        self._idle.clear()
        self._timers.clear()

    def request_head(self, request: Request) -> bytes:
        """The request as it is sent."""
        authority, target = split_url(request.url)
        lines = [
            f"GET {target} HTTP/1.1",
            f"Host: {authority}",
            f"User-Agent: {self._settings.user_agent}",
            *self._header_lines,
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    # From a name to a connection.

    def _looked_up(self, transfer: Transfer, request: Request, answer: Answer) -> None:
        """Only notes the answer: they may come by the hundred, and each turn acts on some."""
        self._answered.append((transfer, request, answer))

    def _on_answer(self, transfer: Transfer, request: Request, answer: Answer) -> None:
        if transfer.request is not request:
            return  # cancelled, and perhaps busy with another
        if answer.failure:
            self._finish(transfer, (answer.failure, Truncated.NO))
            return
        # One private address among public ones is enough to refuse: attacks on inner networks use
        # names whose address changes from one question to the next (DNS rebinding).
        if not all(map(self._inside, answer.addresses)):
            self._finish(transfer, (Failure.OUTSIDE, Truncated.NO))
            return
        if not all(map(self._allowed, answer.addresses)):
            self._finish(transfer, (Failure.PRIVATE, Truncated.NO))
            return
        if request.only and request.only not in answer.addresses:
            self._finish(
                transfer, (Failure.DNS, Truncated.NO)
            )  # the name has another address by now
            return
        addresses = (request.only,) if request.only else answer.addresses[:_MAX_ADDRESSES]
        transfer.addresses = addresses
        transfer.connect_by = min(self.now() + self.limits.connect, transfer.ends)
        self._connect(transfer)

    def _connect(self, transfer: Transfer) -> None:
        """Go to the next address, which gets half of the time if it is not the last."""
        request = transfer.request
        assert request is not None
        address, *rest = transfer.addresses
        transfer.address, transfer.addresses = address, tuple(rest)
        port = self._settings.port_map.get(request.port, request.port)
        pin = f"::[{address}]:{port}" if ":" in address else f"::{address}:{port}"
        try:
            # Left to itself, libcurl writes %2f as %2F: not what was linked, nor what is recorded.
            target = split_url(request.url)[1]
            transfer.easy.aim(request.url, target, pin, request.keep_alive)
            self._multis.add(transfer.easy, request.host)
        except (libcurl.CurlError, UnicodeError):
            transfer.address = ""  # nothing was connected to
            self._finish(transfer, (Failure.PROTOCOL, Truncated.NO))
            return
        transfer.active = True
        now = self.now()
        left = transfer.connect_by - now
        transfer.attempt_by = now + left / 2 if rest else transfer.connect_by
        self._set_timer(transfer, min(transfer.attempt_by, now + self.limits.first_byte))

    def _new_transfer(self) -> Transfer:
        transfer = Transfer(self, self._headers)
        easy, settings = transfer.easy, self._settings
        options: dict[int, int | str] = {
            libcurl.USERAGENT: settings.user_agent,
            libcurl.PROTOCOLS: "http,https",
            libcurl.HTTP_VERSION: libcurl.HTTP_1_1,
            libcurl.HTTP09_ALLOWED: 0,
            libcurl.PROXY: "",
            libcurl.BUFFERSIZE: 64 * 1024,
            libcurl.NOSIGNAL: 1,
            libcurl.DNS_CACHE_TIMEOUT: 0,
            libcurl.MAXAGE_CONN: _IDLE_SECONDS,
            libcurl.SSL_EC_CURVES: _CURVES,
            libcurl.SSL_SESSIONID_CACHE: 0,
            libcurl.SSL_VERIFYPEER: 1 if settings.trust else 0,
            libcurl.SSL_VERIFYHOST: 2 if settings.trust else 0,
        }
        if settings.trust:
            options[libcurl.CAPATH] = settings.trust
            options[libcurl.CAINFO] = os.path.join(settings.trust, ANY)
        for option, value in options.items():
            easy.set(option, value)
        return transfer

    def _collect(self) -> None:
        for transfer, code in self._multis.complete():
            assert isinstance(transfer, Transfer)
            transfer.active = False
            if code == libcurl.Code.CONNECT and transfer.addresses:
                self._connect(transfer)
            else:
                self._finish(
                    transfer, transfer.outcome(code), transfer.easy.reason() if code else ""
                )

    # How it ends.

    def _set_timer(self, transfer: Transfer, when: float) -> None:
        transfer.timer = next(self._timer_ids)
        heapq.heappush(self._timers, (when, transfer.timer, transfer))

    def _check(self, transfer: Transfer, now: float) -> None:
        """A limit may have been reached: which phase is it in, and when is the next look?"""
        if not transfer.active:
            self._finish(transfer, (Failure.DNS, Truncated.NO))
        elif not transfer.connected:
            if now < transfer.attempt_by:
                self._set_timer(transfer, transfer.attempt_by)
            elif transfer.addresses and now < transfer.connect_by:
                self._remove(transfer)
                self._connect(transfer)
            else:
                reason = f"no connection within {self.limits.connect:g} s"
                self._finish(transfer, (Failure.CONNECT_TIMEOUT, Truncated.NO), reason)
        elif now >= transfer.ends:
            reason = f"not complete within {transfer.ends - transfer.started:.0f} s"
            self._finish(transfer, transfer.outcome(libcurl.Code.TIMED_OUT), reason)
        elif transfer.inbox.heard:
            self._set_timer(transfer, transfer.ends)
        elif now >= transfer.connected + self.limits.first_byte:
            reason = f"no answer within {self.limits.first_byte:g} s"
            self._finish(transfer, (Failure.FIRST_BYTE, Truncated.NO), reason)
        else:
            first_byte_by = transfer.connected + self.limits.first_byte
            self._set_timer(transfer, min(first_byte_by, transfer.ends))

    def _remove(self, transfer: Transfer) -> None:
        transfer.easy.cut_off()
        transfer.active = False

    def _finish(self, transfer: Transfer, outcome: TransferEnd, reason: str = "") -> None:
        """Close what is open, make the Response, and free the handle for the next request."""
        request = transfer.request
        assert request is not None
        response = Response(request, address=transfer.address, started=transfer.started)
        if transfer.active:
            self._remove(transfer)
        if transfer.address:
            _note_times(response, transfer.easy)
        response.failure, response.truncated = outcome
        response.reason = reason if response.failure else ""
        if not response.failure:
            response.status, response.head = transfer.status, transfer.head
            response.body = transfer.inbox.body()
        response.ended = self.now()
        del self._flights[id(request)]
        transfer.release()
        if len(self._idle) < self._capacity:
            self._idle.append(transfer)
        else:
            transfer.easy.close()
        self.finished.append(response)


def _note_times(response: Response, easy: libcurl.Easy) -> None:
    """How long its phases took; a connection that was open needed none."""
    response.connects = easy.connects()
    connected, secured, heard = easy.times()
    if response.connects:
        response.connect = connected
        if secured:
            response.tls = max(0.0, secured - connected)
    if heard:
        response.first_byte = max(0.0, heard - max(connected, secured))
