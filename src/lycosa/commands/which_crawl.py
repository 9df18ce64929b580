"""Which crawl a command is about: opening it, naming it in another command, whether it runs.

A command reads what the engines have committed, while they work or afterwards; it never makes
them wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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
def opened_crawl(values: Values) -> Iterator[Crawl]:
    """The crawl that --data-dir and --store name, as programs read it."""
    from lycosa.frontier.protocol import is_server
    from lycosa.reading.crawl import Crawl

    with opened(values) as reader:
        yield Crawl(reader, [values["data-dir"]], server=is_server(values["store"]))


@contextmanager
def opened_nodes(values: Values) -> Iterator[Crawl]:
    """The same for a command that takes the directories of several nodes."""
    from lycosa.frontier.protocol import is_server, open_reader
    from lycosa.reading.crawl import Crawl
    from lycosa.reading.opening import open_crawl

    paths, store = list(values["data-dir"]), values["store"]
    if is_server(store):
        named = "data-dir" in values.given
        crawl = open_crawl([path for path in paths if named or path.exists()], store=store)
    elif len(paths) > 1:
        crawl = open_crawl(paths)
    else:
        crawl = Crawl(open_reader(paths[0], store), paths, server=False)
    with crawl:
        yield crawl


def same_crawl(values: Values) -> tuple[object, ...]:
    """The flags that name this crawl in another command, as far as they are needed."""
    given = [name for name in ("data-dir", "store") if name in values.given]
    return tuple(word for name in given for word in (f"--{name}", redact(str(values[name]))))


def crawl_running(values: Values, found: dict[str, Any]) -> bool:
    """Whether engines work on the crawl, which `found` is the status of."""
    from lycosa.frontier.protocol import is_server
    from lycosa.reading.status import running

    return running(found, [values["data-dir"]], is_server(values["store"]))
