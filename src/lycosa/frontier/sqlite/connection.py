"""Opening SQLite files: settings of a connection, errors in our words, versions of the schema."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from lycosa.clock import engine_now
from lycosa.errors import Damaged, DiskFull, StoreError, StoreGone, UserError
from lycosa.frontier import formats, queries
from lycosa.frontier.open import DATABASE, HELPERS
from lycosa.frontier.sqlite.rows_to_log import ROWS_GONE, rows_to_log

BUSY_MS = 60_000  # SQLite's busy handler is unfair: saturated writers may wait for seconds
BEGIN_AGAIN = 0.002  # seconds between two tries of somebody who has no turn
# Each engine has one, and what it forgets is mostly still in the system's memory. With 12.5 million
# URLs, 32 MB take one read of 12 more a page, and 64 MB one less, at the same CPU; with 64 MB an
# engine that holds 10,000 domains would need more than 250 MB.
CACHE_KIB = 48 << 10
READ_CACHE_KIB = 4 << 10  # who reads goes through a table once: more would only be filled
OLDEST = (3, 35)  # RETURNING
# Random keys touch pages all over the file. Writing them back once per 16 MB of log instead of per
# 4 MB saves writes; much more would make the commit that does it wait for seconds.
CHECKPOINT_PAGES = 4_000
LOG_BYTES = CHECKPOINT_PAGES * 4096  # of the log that are kept on disk while they are unused
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG})
# What SQLite says of a schema or of a text that nobody wrote so; it has no codes for them.
_DAMAGED_WORDS = ("no such table", "no such column", "no such index", "Could not decode to UTF-8")
_STEPS = 10_000  # of SQLite's machine between two looks at the clock
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR})


def connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """A connection with our settings; raises StoreError if the file can't be used, UserError if its
    permissions forbid it.

    Modes: 'rw', 'rwc' (create it), 'ro', and 'ro&immutable=1' for a file that nobody writes to.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise UserError(
            f"This Python has SQLite {sqlite3.sqlite_version}, and lycosa needs {needed} or newer: "
            "use another Python, or keep the crawl on PostgreSQL (--store)."
        )
    _refuse_links(path)
    _check_permissions(path, mode)
    try:
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        if not mode.startswith("ro"):
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            db.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
        # FULL: a commit that a power cut could undo might forget a visit (P1).
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        db.execute("PRAGMA temp_store = MEMORY")
    except sqlite3.Error as error:
        raise mapped(error) from error
    return db


def _refuse_links(path: Path) -> None:
    """SQLite writes into its helper files wherever a link of their name leads."""
    for end in HELPERS:
        helper = Path(f"{path.resolve()}{end}")
        if helper.is_symlink():
            raise UserError(
                f"{helper} is a link, and SQLite would write there: somebody else put it in its"
                " place; look at it, remove it, and try again."
            )


def _check_permissions(path: Path, mode: str) -> None:
    """SQLite's words for a file that may not be read or written would pass for damage."""
    if path.exists() and not os.access(path, os.R_OK):
        raise UserError(f"Can't read {path}: change its permissions.")
    if not mode.startswith("ro") and not _writable(path):
        raise UserError(f"Can't write to {path}: change its permissions, and its directory's.")


def _writable(path: Path) -> bool:
    """SQLite also writes beside its file."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def begin(db: sqlite3.Connection) -> None:
    """Begin to write, whenever there is a moment. SQLite itself would sleep for up to 0.1 s between
    two looks: engines that take turns leave less than that, and would let nobody else in."""
    end = engine_now() + BUSY_MS / 1000
    db.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                db.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or engine_now() > end:
                    raise
            time.sleep(BEGIN_AGAIN)
    finally:
        db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing.

    It may write where it can, because a read-only one leaves SQLite's helper files behind. Where it
    can't, and there is no log, nobody works on the file: SQLite must be told that, because it would
    make a log to read by.
    """
    if _writable(path):
        mode = "rw"
    else:
        mode = "ro" if Path(f"{path.resolve()}-wal").exists() else "ro&immutable=1"
    db = connect(path, mode)
    db.execute("PRAGMA query_only = ON")
    db.execute(f"PRAGMA cache_size = -{READ_CACHE_KIB}")
    return db


def mapped(error: sqlite3.Error) -> StoreError:
    """SQLite's exceptions in our words."""
    code = getattr(error, "sqlite_errorcode", 0) or 0
    if code & 0xFF == sqlite3.SQLITE_FULL:
        return DiskFull("The disk is full: make room, then go on with --resume.")
    if code & 0xFF in _DAMAGE or any(words in str(error) for words in _DAMAGED_WORDS):
        return damaged(str(error))
    kind = StoreGone if code & 0xFF in _PASSING else StoreError
    return kind(f"The crawl's database failed: {error}.")


def damaged(why: str) -> Damaged:
    """With what to do about it."""
    return Damaged(
        f"The crawl's database is damaged ({why}): put back a copy of {DATABASE}, or save what can"
        f" be read with 'sqlite3 {DATABASE} .recover'; text/ and warc/ are files of their own."
    )


def check_sound(db: sqlite3.Connection, seconds: float) -> None:
    """Raise Damaged if the file is; looks no longer than so many seconds."""
    end = engine_now() + seconds
    db.set_progress_handler(lambda: engine_now() > end, _STEPS)
    try:
        found = db.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            return  # as far as we looked
        said = mapped(error)
        raise said if isinstance(said, StoreGone) else damaged(str(error)) from error
    except UnicodeDecodeError as error:  # of what SQLite says about it
        raise damaged("its schema can't be read") from error
    finally:
        db.set_progress_handler(None, 0)
    if found is None or found[0] != "ok":
        raise damaged("SQLite's own check fails" if found is None else " ".join(found[0].split()))


Returned = TypeVar("Returned")
Arguments = ParamSpec("Arguments")


def errors_mapped(method: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """A method whose SQLite errors come out as ours."""

    @wraps(method)
    def wrapper(*args: Arguments.args, **more: Arguments.kwargs) -> Returned:
        try:
            return method(*args, **more)
        except sqlite3.Error as error:
            raise mapped(error) from error

    return wrapper


@errors_mapped
def migrate(db: sqlite3.Connection) -> int:
    """Bring a new or older crawl to the current format; refuses a newer one. Returns its format
    before."""
    steps = queries.migrations("sqlite")
    found = _format(db)
    formats.check_not_newer(found, "sqlite")
    for number, text in enumerate(steps[found:], start=found + 1):
        if number == ROWS_GONE and found:
            rows_to_log(db)
        db.executescript(f"BEGIN IMMEDIATE;\n{text}\nPRAGMA user_version = {number};\nCOMMIT;")
    return found


@errors_mapped
def check_format(db: sqlite3.Connection) -> int:
    """The format, NONE if there is no crawl; raises UserError if it is not the current one."""
    found = _format(db)
    formats.check_current(found, "sqlite")
    return found


def _format(db: sqlite3.Connection) -> int:
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    return found
