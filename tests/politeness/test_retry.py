"""Whether and when to try again."""

from __future__ import annotations

import math
from functools import partial

import pytest

from lycosa.politeness import retry
from lycosa.records import Failure
from support.cpu import cpu_seconds

NOW_MS = 1_800_000_000_000  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize("failure", [Failure.DNS, Failure.CONNECT, Failure.TLS, Failure.TIMEOUT])
def test_an_origin_is_given_up_after_three_waits(failure: str) -> None:
    waits = [retry.origin_wait(failures, failure, 70.0) for failures in range(4)]
    assert waits == [70, 280, 1120, None]


def test_a_name_that_does_not_exist_is_tried_once_more() -> None:
    assert retry.origin_wait(0, Failure.NXDOMAIN, 70.0) == 70
    assert retry.origin_wait(1, Failure.NXDOMAIN, 70.0) is None


def test_a_private_address_is_never_tried_again() -> None:
    assert retry.origin_wait(0, Failure.PRIVATE, 70.0) is None


@pytest.mark.parametrize("failure", [Failure.TIMEOUT, Failure.RESET, Failure.FIRST_BYTE])
def test_a_url_is_given_up_after_three_waits(failure: str) -> None:
    waits = [retry.url_wait(attempts, failure, 1.0) for attempts in range(4)]
    assert waits == [1, 4, 16, None]


def test_what_will_not_change_is_not_tried_again() -> None:
    assert retry.url_wait(0, Failure.PROTOCOL, 70.0) is None


def test_our_own_shortage_never_gives_a_url_up() -> None:
    assert retry.url_wait(100, Failure.LOCAL, 70.0) == 70


def test_urls_of_a_dead_origin_are_recorded_by_its_failure() -> None:
    assert retry.origin_outcome(Failure.CONNECT) == "connect"
    assert retry.origin_outcome(Failure.PRIVATE) == "private-address"
    assert retry.origin_outcome(Failure.TIMEOUT) == "robots-unreachable"
    assert retry.origin_outcome("") == "robots-unreachable"


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
    assert retry.retry_after(header, NOW_MS) == seconds


def test_busy_backs_off_in_multiples_of_the_delay_then_gives_up() -> None:
    pauses = [retry.busy_pause("", NOW_MS, failures, 70.0) for failures in range(4)]
    assert [pause.seconds for pause in pauses[:3]] == [70, 280, 1120]
    assert [pause.give_up for pause in pauses] == ["", "", "", "overloaded"]
    assert pauses[3].whole_domain


def test_busy_obeys_retry_after_but_never_hurries() -> None:
    assert retry.busy_pause("3600", NOW_MS, 0, 70.0).seconds == 3600
    assert retry.busy_pause("1", NOW_MS, 0, 70.0).seconds == 70


def test_retry_after_beyond_a_day_fails_with_its_reason() -> None:
    pause = retry.busy_pause("86401", NOW_MS, 0, 70.0)
    assert pause.give_up == "retry-after-too-long"
    assert pause.whole_domain  # the site asked for days, whichever page it was


@pytest.mark.parametrize(
    "unit", ["Mon, ", "(", ")", " ", ":", "-", "1", "1:", "é", "+0", "Jan ", ";"]
)
def test_a_long_retry_after_costs_nothing(unit: str) -> None:
    """Only so much of it is looked at as a date can have."""
    for header in (unit * (90_000 // len(unit)), "Mon, 01 Jan 2024 00:00:00 " + unit * 20_000):
        assert cpu_seconds(partial(retry.retry_after, header, 0), enough=0.001) < 0.002
