"""Whether and when to try again."""

from __future__ import annotations

import pytest

from lycosa.politeness import retry
from lycosa.records import Failure


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
