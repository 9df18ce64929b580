"""Carries out what the core wants: the ledger of visits first, then the network.

Owns that order. A visit's start, and a longer delay that a site asked for, are on file before any
request goes out that was decided with them or after them; so a kill can forget neither. The loop
does not wait for the file: a thread writes it (`ledger_thread`), and the requests wait behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from lycosa.clock import engine_now
from lycosa.engine.actions import Actions, AddressFound
from lycosa.engine.ledger_thread import LedgerLines, LedgerThread
from lycosa.fetch.dns import Answer, Resolver
from lycosa.fetch.fetcher import Fetcher
from lycosa.records import Failure, Request, Response


class Dispatcher:
    """The way from one engine's core to its ledger and its network.

    `lapsed`: whether the engine's lease ran out; then nothing is sent (P4).
    """

    def __init__(
        self,
        ledger_lines: LedgerLines,
        thread: LedgerThread,
        fetcher: Fetcher,
        resolver: Resolver,
        lapsed: Callable[[], bool],
    ) -> None:
        self._ledger_lines = ledger_lines
        self._thread = thread
        self._fetcher = fetcher
        self._resolver = resolver
        self._lapsed = lapsed
        self._to_send: deque[Request] = deque()  # what had to be on file before them is

    @property
    def late(self) -> bool:
        """Whether requests that could be sent have not been sent yet, for want of time."""
        return bool(self._to_send)

    def carry_out(self, actions: Actions) -> None:
        """The ledger before the network."""
        starts, delays, requests = actions.starts, actions.delays, actions.requests
        if starts:
            self._ledger_lines.note_starts(starts)
        if delays:  # behind the starts: a visit may know of one when it begins
            self._ledger_lines.note_delays(delays)
        learnt = self._ledger_lines.note_ends(actions.ends) if actions.ends else False
        if starts or delays or learnt or (requests and self._thread.busy):
            self._thread.write_before(requests)
        else:
            for request in requests:
                self._send(request)
        for host, then in actions.lookups:
            self._resolver.resolve(host, partial(self._resolved, then))

    def send_written(self, end: float) -> None:
        """Send requests that had to wait for the ledger, until `end` of the engine's clock."""
        self._to_send += self._thread.written()
        while self._to_send:
            self._send(self._to_send.popleft())
            if engine_now() > end:
                break

    def _send(self, request: Request) -> None:
        if self._lapsed():
            unsent = Response(request, failure=Failure.STOPPED, ended=engine_now())
            self._fetcher.finished.append(unsent)
        else:
            self._fetcher.start(request)

    def _resolved(self, then: AddressFound, answer: Answer) -> None:
        self.carry_out(then(answer.first, engine_now()))
