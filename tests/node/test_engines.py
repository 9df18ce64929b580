"""What all engines of a node are told."""

from __future__ import annotations

import pytest

from lycosa.node.engines import clock_gap


def test_the_clocks_are_compared_by_the_quickest_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor that loses its core while it asks does not make engines early."""
    now = [100.0]
    monkeypatch.setattr("lycosa.node.engines.engine_now", lambda: now[0])
    waits = [0.4, 0.02, 0.0003, 5.0]

    def store_ms() -> int:
        now[0] += waits.pop(0)
        return round(now[0] * 1000) + 7_000_000

    assert clock_gap(store_ms) == pytest.approx(7_000_000, abs=1)
    assert waits == [5.0]


def test_a_slow_store_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("lycosa.node.engines.engine_now", lambda: now[0])

    def store_ms() -> int:
        now[0] += 0.05
        return round(now[0] * 1000)

    assert clock_gap(store_ms) == pytest.approx(50, abs=1)
    assert now[0] < 101
