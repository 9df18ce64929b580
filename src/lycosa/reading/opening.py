"""`lycosa.open`: from what a program names to an open crawl.

Owns what may be named, and the sentence for what may not. Commands have flags instead
(`commands/which_crawl`), and sentences that name those.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.errors import UserError
from lycosa.frontier.keys import CRAWL_KEY
from lycosa.frontier.protocol import DATABASE, is_server, open_reader, refuse_moved
from lycosa.node.datadir import crawl_of
from lycosa.reading.crawl import Crawl

if TYPE_CHECKING:
    from lycosa.frontier.reader import Reader

VARIABLE = "LYCOSA_STORE"  # as for the command line
AnyPath = str | os.PathLike[str]


def open_crawl(
    data_dir: AnyPath | Iterable[AnyPath] | None = None,
    *,
    store: str = "",
    data_dirs: Iterable[AnyPath] = (),
) -> Crawl:
    """Open a crawl to read it, while it runs or afterwards.

    A crawl on SQLite is its directory: `lycosa.open("lycosa-data")`. A crawl on a server is its
    store and the directories of its nodes, or copies of them, as far as they are here:
    `lycosa.open(["node-1", "node-2"], store="postgresql://user@host/database")`. Without `store`
    such directories are looked up in the store that LYCOSA_STORE names. `data_dirs` adds to
    `data_dir`. Raises `lycosa.UserError` with one sentence if there is no such crawl.
    """
    paths = [*_paths(data_dir), *_paths(data_dirs)]
    if is_server(store):
        if not store.startswith(("postgresql://", "postgres://")):
            raise UserError("A store is a URL that begins with postgresql://.")
        return _on_server(store, paths)
    if not paths:
        raise UserError("Name the directory of a crawl, or its store.")
    here = [path for path in paths if (path / DATABASE).exists()]
    if len(here) == len(paths) == 1:
        return Crawl(open_reader(paths[0]), paths, server=False)
    if here:
        other = next(path for path in paths if path != here[0])
        raise UserError(f"{here[0]} holds a crawl of its own: open it without {other}.")
    if is_server(os.environ.get(VARIABLE, "")):
        return _on_server(os.environ[VARIABLE], paths)
    for path in paths:
        _refuse(path)
    raise UserError(
        f"{paths[0]} is the directory of a node, and its crawl is on a server: name that with"
        " store='postgresql://…'."
    )


def _paths(given: AnyPath | Iterable[AnyPath] | None) -> list[Path]:
    if given is None:
        return []
    several = [given] if isinstance(given, str | os.PathLike) else list(given)
    return [Path(each).expanduser() for each in several]


def _refuse(path: Path) -> None:
    """Raise UserError for a directory that belongs to no crawl."""
    if not path.is_dir():
        raise UserError(f"There is no directory {path}: name that of a crawl.")
    if not crawl_of(path):
        refuse_moved(path)
        raise UserError(f"There is no crawl in {path}: name the directory of one.")


def _on_server(store: str, paths: list[Path]) -> Crawl:
    reader = open_reader(Path(), store)
    try:
        check_nodes(reader, paths)
    except UserError:
        reader.close()
        raise
    return Crawl(reader, paths, server=True)


def check_nodes(reader: Reader, paths: list[Path]) -> None:
    """Raise UserError for a directory that is not one of a node of the crawl, or a copy of it."""
    known = reader.settings().get(CRAWL_KEY)
    for path in paths:
        _refuse(path)
        if known and crawl_of(path) not in (known, "-"):
            raise UserError(f"{path} holds the output of another crawl than the store.")
