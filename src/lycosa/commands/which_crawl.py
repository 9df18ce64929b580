"""Which crawl a command is about: opening it, naming it in another command, whether it runs.

A command reads what the engines have committed, while they work or afterwards; it never makes
them wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.errors import UserError
from lycosa.settings.collect import Values
from lycosa.terminal import redact

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader
    from lycosa.reading.crawl import Crawl


@contextmanager
def opened(values: Values) -> Iterator[Reader]:
    """A reader of the crawl that --data-dir and --store name."""
    from lycosa.frontier.protocol import open_reader

    reader = open_reader(values["data-dir"], values["store"])
    try:
        yield reader
    finally:
        reader.close()


@contextmanager
def opened_crawl(values: Values, words: Sequence[str] = ()) -> Iterator[Crawl]:
    """The crawl that --data-dir and --store name, as programs read it; `words`: the directories
    of several nodes."""
    from lycosa.frontier.protocol import is_server
    from lycosa.reading.crawl import Crawl
    from lycosa.reading.opening import check_nodes

    server = is_server(values["store"])
    if words and not server:
        raise UserError("A crawl on SQLite has one directory: name it with --data-dir.")
    paths = [Path(word).expanduser() for word in words] or [values["data-dir"]]
    with opened(values) as reader:
        if words:
            check_nodes(reader, paths)
        yield Crawl(reader, paths, server=server)


def same_crawl(values: Values) -> tuple[object, ...]:
    """The flags that name this crawl in another command, as far as they are needed."""
    given = [name for name in ("data-dir", "store") if name in values.given]
    return tuple(word for name in given for word in (f"--{name}", redact(str(values[name]))))


def crawl_running(values: Values, found: dict[str, Any]) -> bool:
    """Whether engines work on the crawl, which `found` is the status of."""
    from lycosa.frontier.protocol import is_server
    from lycosa.reading.status import running

    return running(found, [values["data-dir"]], is_server(values["store"]))
