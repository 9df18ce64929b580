"""One view of the store's clock, shared by the whole loop."""

from __future__ import annotations

from pathlib import Path

from lycosa.archive.ledger import Ledger, read_visits
from lycosa.engine.ledger_thread import LedgerLines
from lycosa.engine.store_clock import StoreClock


def test_both_ways() -> None:
    clock = StoreClock(1_800_000_000_000.0)
    assert clock.ms(1.5) == 1_800_000_001_500
    assert clock.seconds(clock.ms(1.5)) == 1.5


def test_everyone_who_shares_it_goes_by_what_was_measured() -> None:
    clock = shared = StoreClock(5000.0)
    clock.adopt(StoreClock(7000.0, 30.0))
    assert (shared.ms(1.0), shared.doubt_ms) == (8000, 30.0)


def test_the_ledger_hears_of_a_new_difference_once(tmp_path: Path) -> None:
    clock = StoreClock(5000.0, 1000.0)
    ledger = Ledger(tmp_path, 1, 1 << 20)
    ledger_lines = LedgerLines(ledger, 70.0, clock)
    ledger.note_started([("a.test", clock.ms(1.0))])
    clock.adopt(StoreClock(5000.0, 20.0))  # a smaller doubt is no news
    ledger_lines.note_clock()
    clock.adopt(StoreClock(9000.0, 20.0))
    ledger_lines.note_clock()
    ledger_lines.note_clock()
    assert len(ledger._waiting) == 3
    ledger.ended("a.test", clock.ms(1.0), clock.ms(2.0), 1, "", "fetched")
    ledger.close()
    (visit,) = read_visits(tmp_path)
    assert (visit.start_clock.to_ms, visit.start_clock.doubt_ms) == (5000, 1000)
    assert (visit.end_clock.to_ms, visit.end_clock.doubt_ms) == (9000, 20)
