"""Fixtures that tests of several rooms share. Each lasts for one test unless it says otherwise."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from support.http_server import HttpServer, reply, say
from support.loop import Loop
from support.malformed import OK
from support.program import started

__all__ = ["loop", "no_leftovers", "server"]


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[HttpServer]:
    """A server that has a page and a robots.txt."""
    made = HttpServer()
    made.paths["/"] = say(OK, stay=True)
    made.paths["/robots.txt"] = say(reply(b"User-agent: *\n"), stay=True)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_leftovers() -> Iterator[None]:
    """Kills crawls that a failed test left running."""
    yield
    while started:
        process = started.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(autouse=True)
def short_rolls(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, small crawls on SQLite have as many rolls of pages as large ones."""
    monkeypatch.setattr("lycosa.frontier.sqlite.pages.ROLL", 4)
    monkeypatch.setattr("lycosa.frontier.sqlite.pages.MANY", 3)
    monkeypatch.setattr("lycosa.frontier.sqlite.pages.TURN", 1)
