"""Counters of many engines as one, smoothed rates, and what limits the speed."""

import pytest

from lycosa.metrics import Rates, Stats, limiting


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


BUSY = {"queued": 10_000, "held": 500, "domains": 700}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "politeness: 700 domains / 70 s"),
        ({"domains": 0}, "politeness: 500 domains / 70 s"),
        ({"domains": 1, "held": 1}, "politeness: 1 domain / 70 s"),
        ({"loading_seeds": True}, "loading seeds"),
        ({"loading_seeds": True, "ready": 100, "in_flight": 990}, "concurrency: 990 of 1,000"),
        ({"queued": 0, "held": 0, "domains": 700}, "nothing left to fetch"),
        ({"queued": 0, "held": 0, "uncommitted": 1}, "politeness"),
        ({"store_lag_s": 12.0, "cpu_share": 2.0}, "disk: the store is 12 s behind"),
        ({"cpu_share": 1.9, "in_flight": 1000, "ready": 50}, "CPU: 95 % of 2 cores used"),
        ({"cpu_share": 1.5}, "politeness"),
        ({"dns_pending": 400, "in_flight": 500}, "DNS: 400 of 500 fetches wait"),
        ({"dns_pending": 10, "in_flight": 12}, "politeness"),
        ({"in_flight": 1000, "ready": 50}, "concurrency: 1,000 of 1,000 fetches"),
        ({"in_flight": 1000, "ready": 0}, "politeness"),
        ({"in_flight": 900, "ready": 5}, "politeness"),
        ({"short_of_files": True, "in_flight": 200}, "open files: the system allows no more"),
        ({"ready": 400, "in_flight": 100}, "nothing: 400 domains are ready, speeding up"),
    ],
)
def test_what_limits(changes: dict[str, object], line: str) -> None:
    stats = Stats.from_dict({"engines": 2, **BUSY, **changes})
    assert limiting(stats, delay=70, max_workers=1000).startswith(line)


def test_without_a_delay_the_sites_limit() -> None:
    assert limiting(Stats(queued=5, domains=3), 0, 1000).startswith("the sites: 3 domains")


def test_one_address_that_many_wait_for_is_named() -> None:
    busy = {"192.0.2.7": 900, "192.0.2.8": 3}
    stats = Stats(held=1000, domains=20_113, queued=50_000, crowded=busy)
    told = limiting(stats, 70.0, 500)
    assert told == "one address: 900 domains wait for 192.0.2.7 (--ip-delay)"
    few = Stats(held=1000, domains=20_113, queued=50_000, crowded={"192.0.2.7": 30})
    assert limiting(few, 70.0, 500).startswith("politeness")
    merged = Stats.merge([stats, stats])
    assert merged.crowded == {"192.0.2.7": 1800, "192.0.2.8": 6}
    assert "1,800 domains wait for 192.0.2.7" in limiting(merged, 70.0, 500)
