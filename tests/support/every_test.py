"""What every test may rely on, whoever runs it and wherever: enough open files, no settings from
the environment, an empty working directory. It also writes down what became of each test, for
scripts/test to count what could not run.

Imports nothing of ours: tests of scripts/test copy it as the conftest.py of a tree of their own."""

from __future__ import annotations

import json
import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

FILES = (
    65_536  # a test of a thousand connections needs 2,000; an ordinary user's soft limit is 1,024
)
OURS = {"LYCOSA_TEST_POSTGRES", "LYCOSA_SEED"}


def pytest_configure(config: pytest.Config) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = max(soft, FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(FILES, hard)), hard))
    for name in [name for name in os.environ if name.startswith("LYCOSA_")]:
        if name not in OURS:
            del os.environ[name]
    os.environ["LYCOSA_DASHBOARD"] = "no"  # tests start hundreds of crawls, and few look at one


@pytest.fixture(scope="session")
def _nowhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nowhere")


@pytest.fixture(autouse=True)
def _in_an_empty_directory(_nowhere: Path) -> Iterator[None]:
    """A crawl in the clone, or what another test left, is no part of a test."""
    os.chdir(_nowhere)
    yield
    os.chdir(_nowhere)
    for name in os.listdir():
        shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    failed_to_start = report.when != "call" and report.outcome == "passed"
    if not failed_to_start and not hasattr(report, "wasxfail"):
        _write(report.nodeid, report.outcome, report.duration, report.longrepr)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.outcome != "passed":
        _write(report.nodeid, report.outcome, 0.0, report.longrepr)


def _write(test: str, outcome: str, seconds: float, why: object) -> None:
    """The process that people see writes; the others send it what they have."""
    file = os.environ.get("TESTS_REPORT")
    if file and "PYTEST_XDIST_WORKER" not in os.environ:
        reason = str(why[2]).removeprefix("Skipped: ") if isinstance(why, tuple) else ""
        entry = {"test": test, "outcome": outcome, "seconds": seconds, "reason": reason}
        with open(file, "a", encoding="utf-8") as report:
            report.write(json.dumps(entry) + "\n")
