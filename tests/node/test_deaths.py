"""Which engines are dead: each rule by itself; pure."""

from lycosa.node import deaths
from lycosa.node.deaths import QUICK_DEATHS, QUICK_SECONDS, SILENT_SECONDS, QuickDeaths


def test_an_engine_without_a_process_is_dead() -> None:
    assert deaths.without_process(living=[1, 2, 3], running=[2]) == {1, 3}
    assert deaths.without_process(living=[1, 2], running=[]) == {1, 2}
    assert deaths.without_process(living=[], running=[2]) == set()


def test_nobody_is_without_a_process_while_one_has_not_told_its_id() -> None:
    """The engine that seems to have no process may be that one."""
    assert deaths.without_process(living=[1, 2, 3], running=[0, 2]) == set()


def test_leases_that_expired() -> None:
    found = deaths.by_lease(expired=[1, 2, 9], living=[1, 2, 3], running=[2, 3])
    assert found == deaths.Expired(asleep={2}, gone={1}, elsewhere={9})


def test_a_lease_that_may_be_of_a_starting_engine_of_ours_waits() -> None:
    """Neither killed nor taken over, nor taken for another node's."""
    found = deaths.by_lease(expired=[1, 2, 9], living=[1, 2], running=[2, 0])
    assert found == deaths.Expired(asleep={2}, gone=set(), elsewhere={9})


def test_a_silent_engine_hangs_unless_it_is_stopped() -> None:
    asked = []

    def stopped() -> bool:
        asked.append(True)
        return len(asked) > 1

    assert not deaths.hangs(100.0, 100.0 - SILENT_SECONDS, stopped)
    assert not asked, "the kernel is asked only of a silent engine"
    assert deaths.hangs(100.1, 100.0 - SILENT_SECONDS, stopped)
    assert not deaths.hangs(100.1, 100.0 - SILENT_SECONDS, stopped)


def test_quick_deaths_in_a_row_are_too_many() -> None:
    quick = QuickDeaths()
    for interruption in [(QUICK_SECONDS, False), (1.0, True)]:  # long enough; a page is to blame
        for _ in range(QUICK_DEATHS - 1):
            quick.note(1.0, page_noted=False)
        assert not quick.too_many()
        quick.note(*interruption)
        assert not quick.too_many()
    for _ in range(QUICK_DEATHS):
        assert not quick.too_many()
        quick.note(1.0, page_noted=False)
    assert quick.too_many()
