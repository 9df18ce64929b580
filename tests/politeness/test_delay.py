"""How long a domain is left alone."""

from __future__ import annotations

import math
from functools import partial

import pytest

from lycosa.politeness import delay
from support.cpu import cpu_seconds

NOW_MS = 1_800_000_000_000  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Fri, 15 Jan 2027 08:02:00 GMT", 120.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0.0),  # past
        ("9" * 400, math.inf),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("١٢", None),  # digits, but not ours
        ("Fri, 99 Jan 2027 08:02:00 GMT", None),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    assert delay.retry_after(header, NOW_MS) == seconds


def test_crawl_delay_slows_and_never_hurries() -> None:
    assert delay.domain_delay(70, None) == 70
    assert delay.domain_delay(70, 5) == 70
    assert delay.domain_delay(70, 600) == 600
    assert delay.domain_delay(70, 1_000_000) == 1_000_000


def test_busy_backs_off_in_multiples_of_the_delay_then_gives_up() -> None:
    pauses = [delay.busy_pause("", NOW_MS, failures, 70.0) for failures in range(4)]
    assert [pause.seconds for pause in pauses[:3]] == [70, 280, 1120]
    assert [pause.give_up for pause in pauses] == ["", "", "", "overloaded"]
    assert pauses[3].whole_domain


def test_busy_obeys_retry_after_but_never_hurries() -> None:
    assert delay.busy_pause("3600", NOW_MS, 0, 70.0).seconds == 3600
    assert delay.busy_pause("1", NOW_MS, 0, 70.0).seconds == 70


def test_retry_after_beyond_a_day_fails_with_its_reason() -> None:
    pause = delay.busy_pause("86401", NOW_MS, 0, 70.0)
    assert pause.give_up == "retry-after-too-long"
    assert pause.whole_domain  # the site asked for days, whichever page it was


@pytest.mark.parametrize(
    "unit", ["Mon, ", "(", ")", " ", ":", "-", "1", "1:", "é", "+0", "Jan ", ";"]
)
def test_a_long_retry_after_costs_nothing(unit: str) -> None:
    """Only so much of it is looked at as a date can have."""
    for header in (unit * (90_000 // len(unit)), "Mon, 01 Jan 2024 00:00:00 " + unit * 20_000):
        assert cpu_seconds(partial(delay.retry_after, header, 0), enough=0.001) < 0.002
