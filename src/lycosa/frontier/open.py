"""Opens the store of a crawl, to work on it or to look at it, and checks it first.

Owns which store a crawl is on: a SQLite file in its directory, or a PostgreSQL server. The modules
of a store are imported when it is opened, so that SQLite needs no psycopg.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa import ownfiles
from lycosa.called import called, pip_install
from lycosa.errors import Damaged, StoreError, StoreGone, UserError
from lycosa.shifts import Shifts

if TYPE_CHECKING:
    from lycosa.frontier.protocol import Frontier
    from lycosa.frontier.reader import Reader
    from lycosa.frontier.rules import StoreRules
    from lycosa.frontier.values import ServerFacts

DATABASE = "crawl.sqlite"
HELPERS = ("-wal", "-shm", "-journal")  # ends of the names of SQLite's own files beside it
MOVED = "moved"  # a file that says to which server the crawl went


def is_server(store: str) -> bool:
    """Whether a store is a server that many nodes share."""
    return bool(store) and store != "sqlite"


def open_frontier(
    store: str,
    data_dir: Path,
    rules: StoreRules,
    now_ms: Callable[[], int],
    *,
    create: bool = False,
    name: str = "lycosa",
    turns: int | None = None,
    shifts: Shifts | None = None,
) -> Frontier:
    """Open a crawl to work on it. `now_ms` is the time where the store has no clock of its own;
    `name` is what the server's administrator sees; by `turns` the engines of a node take turns
    where only one of them can write (see `sqlite.store`), by `shifts` the two threads of one."""
    if is_server(store):
        _need_psycopg()
        from lycosa.frontier.postgres.frontier import PostgresFrontier

        return PostgresFrontier(store, rules, create=create, name=name, shifts=shifts)
    from lycosa.frontier.sqlite.frontier import SqliteFrontier

    return SqliteFrontier(
        data_dir / DATABASE, rules, now_ms, create=create, turns=turns, shifts=shifts
    )


def open_reader(data_dir: Path, store: str = "") -> Reader:
    """Open a crawl to look at it; raises UserError if there is none."""
    from lycosa.frontier.reader import Reader

    if is_server(store):
        _need_psycopg()
        from lycosa.frontier.postgres.source import PostgresSource

        try:
            return Reader(PostgresSource(store))
        except StoreGone as error:
            raise UserError(f"{error} Check the host and port in --store.") from None
    from lycosa.frontier.sqlite.source import SqliteSource

    path = data_dir / DATABASE
    if not path.exists():
        refuse_moved(data_dir)
        raise UserError(
            f"There is no crawl in {data_dir}: name its directory with --data-dir, "
            f"or start one with '{called('crawl')}'."
        )
    return Reader(SqliteSource(path))


def note_moved(data_dir: Path, where: str) -> None:
    """The crawl in a directory goes on on a server; `where` must hold no password."""
    ownfiles.write_durably(data_dir / MOVED, f"{where}\n".encode())


def refuse_moved(data_dir: Path) -> None:
    """Say where the crawl is that was moved from a directory to a server; raises UserError."""
    try:
        where = (data_dir / MOVED).read_text().strip()
    except OSError:
        return
    raise UserError(
        f"The crawl in {data_dir} was moved to a server: name it with --store '{where}' (and its"
        " password, if it has one)."
    )


def check_file(data_dir: Path, seconds: float) -> None:
    """Raise Damaged if the crawl in a directory is on SQLite and its file is damaged."""
    if not (data_dir / DATABASE).exists():
        return
    from lycosa.frontier.sqlite.connection import check_sound, connect_to_read, damaged

    try:
        check_sound(connect_to_read(data_dir / DATABASE), seconds)
    except (StoreGone, Damaged):
        raise
    except (StoreError, ValueError) as error:  # damage that keeps it from being opened
        raise damaged(str(error).rstrip(".")) from error


def check_server(store: str, flag: str = "--store") -> ServerFacts:
    """Refuse a server that can't be used, before anything is written; `flag` named it."""
    _need_psycopg()
    from lycosa.frontier.postgres.check import facts

    try:
        return facts(store)
    except StoreGone as error:
        raise UserError(f"{error} Check the host and port in {flag}.") from None


def _need_psycopg() -> None:
    from importlib.util import find_spec

    if find_spec("psycopg") is None:
        raise UserError(
            f"A store on PostgreSQL needs another package: {pip_install('psycopg[binary]')}"
        )
