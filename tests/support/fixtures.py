"""What tests of the network edge share: the loop, and a server that has a page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.http_server import HttpServer, reply, say
from support.loop import Loop
from support.malformed import OK


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[HttpServer]:
    made = HttpServer()
    made.paths["/"] = say(OK, stay=True)
    made.paths["/robots.txt"] = say(reply(b"User-agent: *\n"), stay=True)
    yield made
    made.close()
