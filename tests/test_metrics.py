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
    ],
)
def test_what_limits(changes: dict[str, object], line: str) -> None:
    stats = Stats.from_dict({"engines": 2, **BUSY, **changes})
    assert limiting(stats, delay=70, max_workers=1000).startswith(line)


def test_without_a_delay_the_sites_limit() -> None:
    assert limiting(Stats(queued=5, domains=3), 0, 1000).startswith("the sites: 3 domains")


READY = {"ready": 3000, "in_flight": 100, "cores": 2}


@pytest.mark.parametrize(
    ("figures", "line"),
    [
        # The seven-minute crawl: others have the cores, and the loop is never idle.
        (
            {"cpu_share": 1.1, "loop_busy": 0.98, "core_wait": 0.5, "others_busy": 0.4},
            "cores: other programs use 40 % of 2 cores, an engine waits 50 % of the time for one",
        ),
        # Others have the cores, but nobody waits for them.
        (
            {"loop_busy": 0.98, "core_wait": 0.05, "others_busy": 0.8},
            "CPU: an engine has something",
        ),
        # The engines wait for each other's cores alone.
        (
            {"loop_busy": 0.95, "core_wait": 0.5, "others_busy": 0.05},
            "CPU: an engine has something",
        ),
        # The loop is idle: it is not the cores.
        ({"loop_busy": 0.3, "core_wait": 0.5, "others_busy": 0.9}, "nothing: 3,000 domains"),
        (
            {"loop_busy": 0.5, "store_wait": 0.4, "store_lag_s": 3.4},
            "store: engines wait for it 40 %",
        ),
        ({"loop_busy": 0.5, "store_wait": 0.1}, "nothing: 3,000 domains"),
        ({"short_of_memory": True, "bodies_mb": 512.0}, "memory: responses under way hold 512 MB"),
        ({"short_of_memory": True, "short_of_files": True, "loop_busy": 1.0}, "memory: "),
        ({"store_lag_s": 6.0, "short_of_memory": True}, "disk: "),
        ({"rate": 200.0, "rate_before": 100.0}, "nothing: 3,000 domains are ready, speeding up"),
        ({"rate": 100.0, "rate_before": 100.0}, "nothing: 3,000 domains are ready, 100 visits"),
        ({"rate": 50.0, "rate_before": 100.0}, "nothing: 3,000 domains are ready, 50 visits"),
    ],
)
def test_what_limits_while_domains_are_ready(figures: dict[str, object], line: str) -> None:
    """Of a crawl that has enough to do, it is never said that it speeds up when it does not."""
    known = set(Stats.__dataclass_fields__)
    assert set(figures) <= known, "figures that nobody measures"
    stats = Stats.from_dict({"engines": 2, **BUSY, **READY, **figures})
    assert limiting(stats, delay=70, max_workers=1000).startswith(line)


@pytest.mark.parametrize("rate", [0.0, 1.0, 504.0])
def test_a_steady_rate_is_no_speeding_up(rate: float) -> None:
    for ready in (11, 400, 3000, 100_000):
        stats = Stats(queued=10_000, held=ready, ready=ready, in_flight=100)
        for name in ("rate", "rate_before"):
            setattr(stats, name, rate) if hasattr(stats, name) else None
        assert "speeding up" not in limiting(stats, 70, 1000)


def test_of_many_engines_the_one_that_waits_most_counts() -> None:
    one = Stats(core_wait=0.1, loop_busy=0.2, turn_cpu_max_ms=10.0, turns_cpu={"1": 5})
    two = Stats(core_wait=0.6, loop_busy=0.9, turn_cpu_max_ms=30.0, turns_cpu={"1": 2, "50": 1})
    total = Stats.merge([one, two])
    assert (total.core_wait, total.loop_busy, total.turn_cpu_max_ms) == (0.6, 0.9, 30.0)
    assert total.turns_cpu == {"1": 7, "50": 1}


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
