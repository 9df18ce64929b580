"""Servers that crawls are tested with; and no crawl outlives its test."""

import os
import signal
from collections.abc import Iterator

import pytest
from harness import started

from support.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    while started:
        process = started.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
