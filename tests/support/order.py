"""In which order several processes run the tests, and what each of them takes at a time.

A process takes a file, whose tests share what is costly to set up, or a single test where they
share nothing. What takes long comes first, and what begins last is short: no process works alone
in the end. Most of what takes long waits for real crawls; these watch a clock, and disturb each
other less than tests that compute would."""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# In this order, files and directories; the rest comes after them.
LONGEST = (
    "tests/crawl/test_hostile_hosts.py",
    "tests/crawl/test_cluster.py",
    "tests/crawl/test_cluster_failover.py",
    "tests/crawl/test_cluster_steering.py",
    "tests/docs/test_commands.py",
    "tests/dashboard/test_live.py",
    "tests/dashboard/test_cluster_page.py",
    "tests/crawl/test_steering.py",
    "tests/crawl/test_formats.py",
    "tests/crawl/test_pause.py",
    "tests/project/test_benches.py",
    "tests/project/test_scripts.py",
    "tests/crawl",
    "tests/commands/test_terminal.py",
    "tests/fetch/test_dns_malice.py",
    "tests/export/test_two_nodes.py",
    "tests/export/test_running.py",
    "tests/page/test_readers.py",
    "tests/frontier",
    "tests/simulation",
    "tests/dashboard",
)
# Tests of these share nothing that takes long.
APART = (
    "tests/crawl/test_cluster.py",
    "tests/crawl/test_crawl_history.py",
    "tests/crawl/test_formats.py",
    "tests/crawl/test_lost_segments.py",
    "tests/crawl/test_pause.py",
    "tests/crawl/test_small_settings.py",
    "tests/crawl/test_steering.py",
    "tests/crawl/test_stop.py",
    "tests/crawl/test_third_party.py",
    "tests/docs/test_commands.py",
    "tests/project/test_benches.py",
    "tests/project/test_scripts.py",
)


def rank(nodeid: str) -> int:
    """What has the smallest number comes first."""
    file = nodeid.partition("::")[0]
    found = (number for number, name in enumerate(LONGEST) if f"{file}/".startswith(f"{name}/"))
    return next(found, len(LONGEST))


def scope(nodeid: str) -> str:
    """What one process takes: tests of the same scope run in the same process."""
    file = nodeid.partition("::")[0]
    return nodeid if file in APART else file


class LongestFirst(LoadScopeScheduling):  # type: ignore[misc]
    """By file, or by test; in the order in which tests were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One process by itself takes tests as they stand."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LongestFirst:
    config.option.loadscopereorder = False  # it would put files with few tests last
    return LongestFirst(config, log)
