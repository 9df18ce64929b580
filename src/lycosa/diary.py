"""What an engine tells its ledger of visits, and when: starts and longer delays before a request
goes out, ends when they are known, and which clock it goes by. Decides nothing.
"""

from __future__ import annotations

from lycosa.archive.ledger import Ledger
from lycosa.clock import clock_name
from lycosa.core import Core
from lycosa.scheduler import Held


class Diary:
    """The pen of one engine; `delay` is the crawl's, in seconds."""

    def __init__(self, ledger: Ledger, delay: float) -> None:
        self._ledger = ledger
        self._delay = delay

    def note_clock(self, to_ms: float, doubt_ms: float) -> None:
        """The store's clock is seen differently from now on."""
        self._ledger.clock(clock_name(), to_ms, doubt_ms)

    def note_starts(self, core: Core) -> None:
        """Starts and longer delays, on file when this returns: then requests may be sent."""
        if core.started:
            self._ledger.started(core.started)
            core.started.clear()
        if core.learnt:  # behind the starts: a visit may know of it when it begins
            for held in core.learnt:
                self._note_delay(held, held.delay)
            self._ledger.started(())
            core.learnt.clear()

    def note_ends(self, core: Core) -> None:
        """Visits that are over."""
        learnt = False
        for result in core.ended:
            held = result.held
            start, end = core.ms(result.started), core.ms(result.ended)
            learnt |= self._note_delay(held, max(held.delay, result.pause))
            outcome = (result.requests, result.address, result.outcome)
            self._ledger.ended(held.name, start, end, *outcome)
        core.ended.clear()
        if learnt:
            self._ledger.started(())  # now: a kill must not forget it

    def _note_delay(self, held: Held, wait: float) -> bool:
        """How long a domain will be left alone, if it is not the usual delay."""
        own_ms = round(wait * 1000) if wait > self._delay else 0
        if own_ms == held.noted_ms:
            return False
        held.noted_ms = own_ms
        self._ledger.learned(held.name, own_ms)
        return True
