"""The loop's side of its exchanges with the store: when one begins, and what its reply means.

Owns what happens while the store is away (the same exchange is tried again, F5) and the way to the
end: after `stop`, fetches may finish for a while, then everything is committed and given back. The
exchange itself is the work of the store thread (`exchange`).
"""

from __future__ import annotations

from collections.abc import Callable

from lycosa.engine.core import Core
from lycosa.engine.exchange import Exchange, Reply, StoreThread
from lycosa.engine.ledger_thread import LedgerLines
from lycosa.errors import StoreGone, engine_exit
from lycosa.frontier.backoff import Patience
from lycosa.log import get_logger
from lycosa.settings.steered import Steered

STOP_GRACE = 10.0  # seconds in which fetches in flight may finish after `stop`
STOP_LOOK = 0.05  # seconds between two looks whether they have

log = get_logger("engine")


class StoreLink:
    """The exchanges of one engine, one at a time. `cancel` cuts all its fetches off, `steered` is
    told what the store says of settings that have changed."""

    def __init__(
        self,
        engine: int,
        core: Core,
        thread: StoreThread,
        ledger_lines: LedgerLines,
        patience: Patience,
        cancel: Callable[[], None],
        steered: Callable[[Steered], None] = lambda said: None,
    ) -> None:
        self.exit_code: int | None = None  # of the engine, once it is at its end
        self._engine = engine
        self._core = core
        self._thread = thread
        self._ledger_lines = ledger_lines
        self._patience = patience
        self._cancel = cancel
        self._steered = steered
        self._began = 0.0  # the exchange under way
        self._size = (0, 0)  # its pages and links
        self._under_way: tuple[Exchange, bool] | None = None  # and whether it is the last one
        self._failed: tuple[Exchange, bool, float] | None = None  # to be tried again, and when
        self._cut_off_at = 0.0  # when fetches are cut off; 0: nobody asked the engine to stop

    def turn(self, now: float) -> bool:
        """One step; returns whether a reply was worked through, or an exchange began."""
        reply = self._thread.poll()
        if reply is not None:
            self._absorb(reply, now)
            return True
        if self._thread.busy:
            return False
        if self._failed is not None:
            self._try_again(now)
        elif self._cut_off_at:
            self._wind_down(now)
        elif self._core.due(now):
            self._submit(self._core.exchange(now), False, now)
        return self._thread.busy

    def due_at(self, now: float) -> float | None:
        """When `turn` has something to do next; None while an exchange is under way."""
        if self._thread.busy:
            return None
        if self._failed is not None:
            return self._failed[2]
        return now + STOP_LOOK if self._cut_off_at else self._core.due_at(now)

    def lag(self, now: float) -> float:
        """For how many seconds the exchange under way has taken already; 0.0 if there is none."""
        return now - self._began if self._thread.busy else 0.0

    def stop(self, now: float) -> None:
        """Somebody wants the engine to end. Idempotent."""
        if not self._cut_off_at:
            self._cut_off_at = now + STOP_GRACE
            self._core.stop()

    def _submit(self, exchange: Exchange, last: bool, now: float) -> None:
        self._began = now
        self._under_way = (exchange, last)
        self._size = len(exchange.batch.pages), exchange.batch.link_count
        self._thread.submit(exchange, last)

    def _absorb(self, reply: Reply, now: float) -> None:
        assert self._under_way is not None
        exchange, last = self._under_way
        if reply.error is not None:
            # What it was raised through refers to the reply: a cycle, with the whole batch.
            error, reply.error = reply.error, None
            self._store_failed(error, exchange, last, now)
            return
        lag = self._core.stats.store_lag_s = now - self._began
        self._core.outbox.backlog.settled(*self._size, lag)
        self._core.absorb(reply, now)
        if reply.steered is not None:
            self._ledger_lines.delay = self._core.rules.visit.delay
            self._steered(reply.steered)
        self._ledger_lines.note_clock()
        self._patience.over()
        if last:
            self.exit_code = 0

    def _store_failed(
        self, error: BaseException, exchange: Exchange, last: bool, now: float
    ) -> None:
        if isinstance(error, StoreGone):
            self._failed = (exchange, last, now + self._patience.after(error))
            self._core.outbox.backlog.away()
        elif code := engine_exit(error):
            log.error(str(error), engine=self._engine)
            self._cancel()
            self.exit_code = code
        else:
            raise error

    def _try_again(self, now: float) -> None:
        if self._failed is not None and now >= self._failed[2]:
            exchange, last, _ = self._failed
            self._failed = None
            self._submit(exchange, last, now)

    def _wind_down(self, now: float) -> None:
        """After `stop`: let fetches finish for a while, then commit and give everything back."""
        scheduler = self._core.scheduler
        if scheduler.visiting and now > self._cut_off_at:
            self._cancel()
        idle = scheduler.visiting == 0
        if idle or scheduler.many_leaving or self._core.due(now):
            exchange = self._core.exchange(now)
            self._submit(exchange, idle and not scheduler.held, now)
