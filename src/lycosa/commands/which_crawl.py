"""Which crawl a command is about: opening it, naming it in another command, whether it runs.

A command reads what the engines have committed, while they work or afterwards; it never makes
them wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lycosa.node.datadir import in_use
from lycosa.settings.collect import Values
from lycosa.terminal import redact

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Reader


@contextmanager
def opened(values: Values) -> Iterator[Reader]:
    """A reader of the crawl that --data-dir and --store name."""
    from lycosa.frontier.protocol import open_reader

    reader = open_reader(values["data-dir"], values["store"])
    try:
        yield reader
    finally:
        reader.close()


def same_crawl(values: Values) -> tuple[object, ...]:
    """The flags that name this crawl in another command, as far as they are needed."""
    given = [name for name in ("data-dir", "store") if name in values.given]
    return tuple(word for name in given for word in (f"--{name}", redact(str(values[name]))))


def crawl_running(values: Values, found: dict[str, Any]) -> bool:
    """Whether engines work on the crawl: known from the lock of its directory, or on a server from
    the leases."""
    from lycosa.frontier.protocol import is_server

    if is_server(values["store"]):
        return any(is_alive(each, found["now_ms"]) for each in found["engines"])
    return in_use(values["data-dir"])


def is_alive(engine: dict[str, Any], now_ms: int) -> bool:
    """Whether an engine works: not declared dead, and its lease still runs."""
    return bool(engine["alive"]) and engine.get("lease_until", now_ms + 1) > now_ms
