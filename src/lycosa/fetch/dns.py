"""Names to addresses: c-ares in the engine's own epoll, with a bounded cache in front.

Owns lookups in flight (one per name, however many ask), their deadlines, the cache and its
lifetimes. Says nothing about which addresses may be used: that is `addresses`. Callbacks run in
the loop's thread, at once when the answer is known, and never inside c-ares.

One name must not make others fail. All lookups share one `Line`, where an unreadable reply for one
name costs every other a try. So a name that fails there, though the server said nothing about it,
is asked for once more on a line of its own, where only its own replies can do harm.
"""

from __future__ import annotations

import re
import socket
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple

import pycares
from pycares import errno as ares

from lycosa.fetch.dns_channel import Line
from lycosa.fetch.poller import Poller
from lycosa.records import Failure


class Answer(NamedTuple):
    """Addresses in the order given by the server, or why there are none."""

    addresses: tuple[str, ...]
    failure: str = Failure.NONE

    @property
    def first(self) -> str:
        return self.addresses[0] if self.addresses else ""


Asker = Callable[[Answer], None]

# What c-ares says -> whose fault it is. The rest (SERVFAIL, REFUSED, timeouts) is Failure.DNS.
_FAILURES = {
    ares.ARES_ENOTFOUND: Failure.NXDOMAIN,
    ares.ARES_EBADNAME: Failure.NXDOMAIN,  # such a name can't exist
    ares.ARES_ENOMEM: Failure.LOCAL,
}
# With these codes the server speaks of the name itself. Any other may be due to another name.
_ITS_OWN = frozenset(
    {
        ares.ARES_ENOTFOUND,
        ares.ARES_EBADNAME,
        ares.ARES_ESERVFAIL,
        ares.ARES_EREFUSED,
        ares.ARES_ENOTIMP,
        ares.ARES_EFORMERR,
    }
)
_NXDOMAIN = Answer((), Failure.NXDOMAIN)
_NO_TURN = Answer((), Failure.NAMESERVER)  # no line was free in time; the URL is tried again
_LOOPBACK = Answer(("127.0.0.1",))

# Seconds an answer is kept. An hour at most bounds how long a moved site is missed; a minute at
# least spares the server, and keeps robots.txt and page on one address and so one connection.
_TTL = (60.0, 3600.0)
_TTL_ABSENT = 60.0  # no such name, no address
_TTL_TROUBLE = 5.0  # no usable answer

_ADDRESS_TYPES = (pycares.QUERY_TYPE_A, pycares.QUERY_TYPE_AAAA)
_MAX_ADDRESSES = 4  # kept per name; a fetch tries two
_TICK = 0.1  # seconds between looks at c-ares' own timers
# c-ares has an answer cache of its own that can't be switched off (1.1 KB a name): a reinit
# empties it, reads resolv.conf again and leaves the lookups under way alone. It does so on a thread
# of its own, under the lock that the next question needs: 25,000 names took it 0.1 to 0.2 s.
_REINIT_EVERY = 500  # names
_DELIVER = 100  # answers handed out in a turn, 50 us each
_RECEIVE_BUFFER = 4 * 1024 * 1024  # bytes: a burst of replies while the loop is busy parsing
_LINES_ALONE = 16  # names asked for alone at a time
_UNREADABLE_NAMES = 10_000  # names kept that brought unreadable replies: asked for alone at once
# Printable ASCII without the backslash, which c-ares would take for an escape.
_PLAUSIBLE = re.compile(r"[!-\[\]-~]{1,255}\Z")


class _Lookup:
    """One name being looked up."""

    __slots__ = ("asked_v6", "askers", "began", "closings", "deadline", "heard", "host", "line")

    def __init__(self, host: str, asker: Asker, deadline: float) -> None:
        self.host = host
        self.askers: list[Asker] = [asker]
        self.deadline = deadline
        self.began = 0.0
        self.asked_v6 = False
        self.line: Line | None = None  # None: the name waits for a line of its own
        self.heard = self.closings = 0  # of its line, when it was put there

    def put_on(self, line: Line) -> None:
        self.line, self.heard, self.closings = line, line.heard, line.closings


class Resolver:
    """Looks names up. `timeout` is what one lookup may take in all, in seconds.

    c-ares shortens its own timeouts to 5 x the average answer (250 ms at the least), and gives up
    on a slow name in under a second if it has only two tries: hence six, ended by our deadline.
    """

    def __init__(
        self,
        poller: Poller,
        nameservers: list[str] | None,
        now: Callable[[], float],
        timeout: float = 10.0,
        tries: int = 6,
        cache_entries: int = 200_000,
        ipv6: bool = False,
    ) -> None:
        self.asked = 0  # questions put to c-ares
        self._poller = poller
        self._now = now
        self._limit = timeout
        self._ipv6 = ipv6
        self._capacity = cache_entries
        self._cache: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._lookups: dict[str, _Lookup] = {}
        self._deadlines: deque[_Lookup] = deque()  # in order: every lookup has the same limit
        self._answered: deque[tuple[_Lookup, Line, pycares.DNSResult | None, int | None]] = deque()
        self._delivering = False
        self._left = _DELIVER  # answers that may still be handed out in this turn
        self._next_tick = 0.0
        self.took: Callable[[float], object] = lambda seconds: None  # told of each look-up
        self._closed = False
        self._nameservers = nameservers
        self._shared = Line(
            poller, nameservers, timeout / 2, tries, self._deliver, receive_buffer=_RECEIVE_BUFFER
        )
        self._free: list[Line] = []  # lines for one name at a time, that have none
        self._alone: dict[_Lookup, Line] = {}
        self._to_ask_alone: deque[_Lookup] = deque()  # names that wait for such a line
        self._unreadable: OrderedDict[str, None] = OrderedDict()

    @property
    def pending(self) -> int:
        """Names being looked up."""
        return len(self._lookups)

    def cached(self, host: str) -> Answer | None:
        """The answer if it needs no question: kept from before, or plain from the name."""
        entry = self._cache.get(host)
        if entry is None:
            return self._plain(host)
        if self._now() < entry[0]:
            return entry[1]
        del self._cache[host]
        return None

    @staticmethod
    def _plain(host: str) -> Answer | None:
        """The answer for a literal address, a local name, or what can't be a name."""
        last = host.rstrip(".").rpartition(".")[2]
        try:
            if ":" in host:
                return Answer((str(IPv6Address(host)),))
            if last.isdigit():
                return Answer((str(IPv4Address(host.rstrip("."))),))
        except AddressValueError:
            return _NXDOMAIN  # no top-level domain is a number
        if last == "localhost":
            return _LOOPBACK
        return None if _PLAUSIBLE.match(host) else _NXDOMAIN

    def resolve(self, host: str, callback: Asker) -> None:
        """Look `host` up and call back with the Answer, once; at once if it is known."""
        answer = self.cached(host)
        if answer is not None:
            callback(answer)
        else:
            self.look_up(host, callback)

    def look_up(self, host: str, callback: Asker) -> None:
        """The same for a name that `cached` has no answer for."""
        lookup = self._lookups.get(host)
        if lookup is not None:
            lookup.askers.append(callback)
            return
        now = self._now()
        lookup = _Lookup(host, callback, now + self._limit)
        lookup.began = now
        self._lookups[host] = lookup
        self._deadlines.append(lookup)
        if host in self._unreadable:
            self._ask_alone(lookup)
        else:
            lookup.put_on(self._shared)
            self._ask(lookup, pycares.QUERY_TYPE_A)
        self._deliver()

    def remember(self, host: str, answer: Answer, ttl: float) -> None:
        """Keep an answer for `ttl` seconds; the oldest makes room if there is none."""
        self._cache[host] = (self._now() + ttl, answer)
        if len(self._cache) > self._capacity:
            self._cache.popitem(last=False)

    def timeout(self) -> float | None:
        """Seconds until `turn` has something to do, None if nothing is under way."""
        if self._answered:
            return 0.0
        if not self._lookups:
            return None
        return max(0.0, min(self._next_tick, self._deadlines[0].deadline) - self._now())

    def turn(self) -> None:
        """Run what is due: answers not yet handed out, c-ares' own repeats, our deadlines."""
        self._left = _DELIVER
        if not self._lookups:
            self._deadlines.clear()
            self._answered.clear()
            return
        now = self._now()
        if now >= self._next_tick:
            self._next_tick = now + _TICK
            for line in (self._shared, *self._alone.values()):
                line.tick()
        self._deliver()
        # An answer that waits to be handed out has come in time.
        while not self._answered and self._deadlines and self._deadlines[0].deadline <= now:
            lookup = self._deadlines.popleft()
            if self._lookups.get(lookup.host) is lookup and lookup.deadline <= now:
                self._at_deadline(lookup)

    def _at_deadline(self, lookup: _Lookup) -> None:
        code = ares.ARES_ETIMEOUT
        if lookup.line is None:
            self._finish(lookup, _NO_TURN, _TTL_TROUBLE)
        elif self._may_be_anothers(lookup, code):
            self._ask_alone(lookup)
        else:
            self._finish(lookup, Answer((), self._failure(lookup, code)), _TTL_TROUBLE)

    def close(self) -> None:
        """Give up every lookup, calling nobody back, and close the sockets."""
        if self._closed:
            return
        self._closed = True
        self._lookups.clear()
        self._deadlines.clear()
        self._to_ask_alone.clear()
        for line in (self._shared, *self._free, *self._alone.values()):
            line.close()
        self._alone.clear()
        self._answered.clear()

    def _ask(self, lookup: _Lookup, query_type: int) -> None:
        line = lookup.line
        assert line is not None
        self.asked += 1
        if self.asked % _REINIT_EVERY == 0:
            self._shared.forget_answers()
        line.ask(lookup.host, query_type, partial(self._on_answer, lookup, line))

    def _on_answer(
        self, lookup: _Lookup, line: Line, result: pycares.DNSResult | None, code: int | None
    ) -> None:
        """Runs inside c-ares: only notes."""
        self._answered.append((lookup, line, result, code))

    def _deliver(self) -> None:
        """Hand out what c-ares answered, some at a time: a burst must not hold the loop. An asker
        may look up another name from its callback."""
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._answered and self._left > 0:
                self._left -= 1
                lookup, line, result, code = self._answered.popleft()
                # From the line that the name was on before, only an answer counts.
                if self._lookups.get(lookup.host) is lookup and (lookup.line is line or result):
                    self._conclude(lookup, result, code)
        finally:
            self._delivering = False

    def _conclude(
        self, lookup: _Lookup, result: pycares.DNSResult | None, code: int | None
    ) -> None:
        found, ttl = _addresses(result)
        if found:
            self._finish(lookup, Answer(found), min(max(ttl, _TTL[0]), _TTL[1]))
        elif code is not None and code != ares.ARES_ENODATA:
            if self._may_be_anothers(lookup, code):
                self._ask_alone(lookup)
                return
            failure = self._failure(lookup, code)
            absent = failure == Failure.NXDOMAIN
            self._finish(lookup, Answer((), failure), _TTL_ABSENT if absent else _TTL_TROUBLE)
        elif self._ipv6 and not lookup.asked_v6:
            lookup.asked_v6 = True
            self._ask(lookup, pycares.QUERY_TYPE_AAAA)
        else:
            self._finish(lookup, Answer((), Failure.DNS), _TTL_ABSENT)

    def _failure(self, lookup: _Lookup, code: int) -> str:
        if code == ares.ARES_EBADRESP:
            self._unreadable[lookup.host] = None
            if len(self._unreadable) > _UNREADABLE_NAMES:
                self._unreadable.popitem(last=False)
        elif code in (ares.ARES_ECONNREFUSED, ares.ARES_ETIMEOUT) and _server_is_away(lookup, code):
            return Failure.NAMESERVER
        return _FAILURES.get(code, Failure.DNS)

    # -- names that are asked for alone -------------------------------------------------------

    def _may_be_anothers(self, lookup: _Lookup, code: int) -> bool:
        """Whether a failure on the shared line may be due to another name."""
        shared = self._shared
        if lookup.line is not shared or code in _ITS_OWN or _server_is_away(lookup, code):
            return False
        return code != ares.ARES_ETIMEOUT or shared.closings > lookup.closings

    def _ask_alone(self, lookup: _Lookup) -> None:
        """Ask for the name once more, on a line of its own, as soon as one is free."""
        lookup.line = None
        lookup.asked_v6 = False
        self._to_ask_alone.append(lookup)
        self._new_deadline(lookup)
        self._give_out_lines()

    def _new_deadline(self, lookup: _Lookup) -> None:
        lookup.deadline = self._now() + self._limit
        self._deadlines.append(lookup)

    def _give_out_lines(self) -> None:
        while self._to_ask_alone and len(self._alone) < _LINES_ALONE:
            lookup = self._to_ask_alone.popleft()
            if self._lookups.get(lookup.host) is lookup:
                line = self._free.pop() if self._free else self._new_line()
                self._alone[lookup] = line
                lookup.put_on(line)
                self._new_deadline(lookup)
                self._ask(lookup, pycares.QUERY_TYPE_A)

    def _new_line(self) -> Line:
        return Line(self._poller, self._nameservers, self._limit / 4, 3, self._deliver)

    def _finish(self, lookup: _Lookup, answer: Answer, ttl: float) -> None:
        del self._lookups[lookup.host]
        self.took(self._now() - lookup.began)
        line = self._alone.pop(lookup, None)
        if line is not None:
            line.cancel()
            self._free.append(line)
            self._give_out_lines()
        if answer.addresses:
            self._unreadable.pop(lookup.host, None)
        self.remember(lookup.host, answer, ttl)
        for asker in lookup.askers:
            asker(answer)


def _server_is_away(lookup: _Lookup, code: int) -> bool:
    """Whether the server answers nobody: the line was refused or closed, and nothing came."""
    line = lookup.line
    if line is None or line.heard > lookup.heard:
        return False
    return code == ares.ARES_ECONNREFUSED or line.closings > lookup.closings


def _addresses(result: pycares.DNSResult | None) -> tuple[tuple[str, ...], float]:
    """The addresses in a reply (aliases are followed by the server) and the shortest lifetime."""
    if result is None:
        return (), 0.0
    records = [r for r in result.answer if r.type in _ADDRESS_TYPES][:_MAX_ADDRESSES]
    found = tuple([r.data.addr for r in records])  # type: ignore[union-attr]
    return found, min((r.ttl for r in result.answer), default=0)


def routes_ipv6() -> bool:
    """Whether this machine has a way to the IPv6 internet; sends nothing."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.connect(("2000::1", 53))
    except OSError:
        return False
    return True
