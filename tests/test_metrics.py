"""Counters of many engines as one, and smoothed rates."""

import pytest

from lycosa.metrics import Rates, Stats


def test_stats_travel_as_dicts() -> None:
    stats = Stats(pages=3, outcomes={"ok": 3}, loading_seeds=True, cpu_share=0.5)
    assert Stats.from_dict(stats.to_dict()) == stats
    assert Stats.from_dict({"pages": 2, "unheard_of": 1}) == Stats(pages=2)


def test_merging_adds_counts_and_keeps_the_worst() -> None:
    one = Stats(pages=1, in_flight=10, outcomes={"ok": 1}, store_lag_s=0.5, queued=7, cpu_share=0.9)
    two = Stats(
        pages=2, outcomes={"ok": 1, "dns": 1}, store_lag_s=3.0, queued=7, short_of_files=True
    )
    total = Stats.merge([one, two])
    assert (total.pages, total.in_flight, total.engines) == (3, 10, 2)
    assert total.outcomes == {"ok": 2, "dns": 1}
    assert total.store_lag_s == 3.0
    assert total.queued == 7  # of the whole crawl, known to both
    assert total.short_of_files
    assert total.cpu_share == pytest.approx(0.9)
    assert (one.outcomes, two.outcomes) == ({"ok": 1}, {"ok": 1, "dns": 1})
    assert Stats.merge([]) == Stats(engines=0)


def test_rates_cover_the_last_seconds_only() -> None:
    rates = Rates(window=10)
    assert rates.of("pages") == 0.0
    for second in range(100):  # 5 a second, then 50 a second
        pages = second * 5 if second < 60 else 300 + (second - 60) * 50
        rates.add(1000.0 + second, Stats(pages=pages, bytes=pages * 10))
    assert rates.of("pages") == pytest.approx(50)
    assert rates.of("bytes") == pytest.approx(500)


def test_rates_with_rare_samples_still_span_two() -> None:
    rates = Rates(window=10)
    rates.add(0.0, Stats(pages=0))
    rates.add(60.0, Stats(pages=600))
    assert rates.of("pages") == pytest.approx(10)


def test_rates_begin_anew_when_counters_fall() -> None:
    rates = Rates(window=10)
    rates.add(0.0, Stats(pages=1000))
    rates.add(1.0, Stats(pages=10))
    assert rates.of("pages") == 0.0
    rates.add(2.0, Stats(pages=15))
    assert rates.of("pages") == pytest.approx(5)


def test_two_samples_at_one_moment_do_no_harm() -> None:
    rates = Rates()
    rates.add(1.0, Stats(pages=1))
    rates.add(1.0, Stats(pages=2))
    assert rates.of("pages") == 0.0


def test_of_many_engines_the_one_that_waits_most_counts() -> None:
    one = Stats(core_wait=0.1, loop_busy=0.2, turn_cpu_max_ms=10.0, turns_cpu={"1": 5})
    two = Stats(core_wait=0.6, loop_busy=0.9, turn_cpu_max_ms=30.0, turns_cpu={"1": 2, "50": 1})
    total = Stats.merge([one, two])
    assert (total.core_wait, total.loop_busy, total.turn_cpu_max_ms) == (0.6, 0.9, 30.0)
    assert total.turns_cpu == {"1": 7, "50": 1}
