"""Reaching a PostgreSQL server: settings of a connection, errors in our words, its format, arrays.

Every sentence for the user is our own: what libpq says may hold the password.
"""

from __future__ import annotations

import re
import struct
import sys
from array import array
from collections.abc import Iterable
from itertools import chain
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Format

from lycosa.errors import DiskFull, StoreError, StoreGone, UserError
from lycosa.frontier import formats

OLDEST = 13  # major version: vacuum of tables that only grow, parallel-safe SKIP LOCKED plans
CONNECT_SECONDS = 5
SILENT_MS = 20_000  # a server that acknowledges nothing for so long is gone
STATEMENT_MS = 60_000
MIGRATE_MS = 3_600_000

# Every query of an engine starts from a list of keys and looks each up by an index. These keep
# the planner to that, also while statistics are missing or old.
PLANNER = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
}

Connection = psycopg.Connection[tuple[Any, ...]]


def connect(url: str, name: str, session: dict[str, str] | None = None) -> Connection:
    """A connection with our settings.

    Raises StoreGone if the server can't be reached now, UserError for what only the user can mend.
    """
    given = parsed(url)
    options: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "tcp_user_timeout": SILENT_MS,
        "keepalives_idle": 5,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "application_name": name,
        **given,
        # Of several hosts the primary, after a failover too. Never a standby: a session there
        # would live on through its promotion and not notice it.
        "target_session_attrs": "read-write",
    }
    try:
        db = psycopg.connect(make_conninfo("", **options), autocommit=True)
    except psycopg.Error as error:
        raise _connect_error(error, given) from None
    if db.info.server_version < OLDEST * 10_000:
        version = db.info.server_version // 10_000
        db.close()
        raise UserError(
            f"The PostgreSQL server {place(given)} has version {version}: lycosa needs {OLDEST} "
            "or newer."
        )
    _prepare(db, {"statement_timeout": str(STATEMENT_MS), **(session or {})}, given)
    return db


def _prepare(db: Connection, session: dict[str, str], given: dict[str, Any]) -> None:
    for kind, dumper in ((Int8s, _Int8Dumper), (Texts, _TextDumper), (Blobs, _BlobDumper)):
        db.adapters.register_dumper(kind, dumper)
    try:
        for name, value in session.items():
            db.execute("SELECT set_config(%s, %s, false)", (name, value))
    except psycopg.Error as error:
        db.close()
        raise mapped(error, place(given)) from None


def parsed(url: str) -> dict[str, Any]:
    """The parts of a store's URL; UserError if it is none."""
    try:
        given = dict(conninfo_to_dict(url))
    except psycopg.Error:
        given = {}
    if not given or _garbled(given):
        raise UserError(
            "The URL of the store can't be read: it looks like "
            "postgresql://user:password@host:5432/database, with special characters of the "
            "password written as %XX."
        )
    return given


def _garbled(given: dict[str, Any]) -> bool:
    """Whether a part of the password was taken for something else, which would then be printed."""
    hosts = str(given.get("host", "")).split(",")
    ports = str(given.get("port", "") or "0").split(",")
    return (
        "@" in str(given.get("dbname", ""))
        or not all(port.isdigit() for port in ports)
        or not all(re.fullmatch(r"[\w.-]*|[0-9a-fA-F:.]+|[/@].*", host) for host in hosts)
    )


def place(given: dict[str, Any]) -> str:
    """Where the server is, without who may go there."""
    host = given.get("host") or given.get("hostaddr") or "on this machine"
    port = f":{given['port']}" if given.get("port") else ""
    return f"at {host}{port}" if host != "on this machine" else f"{host}{port}"


# -- errors ---------------------------------------------------------------------------------------


def _connect_error(error: psycopg.Error, given: dict[str, Any]) -> StoreError | UserError:
    where, text = place(given), str(error)
    user, database = given.get("user") or "this user", given.get("dbname") or "of the user's name"
    code = error.sqlstate or ""
    if code.startswith("28") or "authentication failed" in text or "no password supplied" in text:
        return UserError(
            f"The PostgreSQL server {where} refuses {user}: check the user and the password in "
            "--store (or LYCOSA_STORE)."
        )
    if code == "3D000" or ("database" in text and "does not exist" in text):
        return UserError(
            f"There is no database {database} on the PostgreSQL server {where}: create it with "
            f"'createdb', or correct --store."
        )
    if code == "42501" or "permission denied for database" in text:
        return UserError(f"{user} may not connect to the database {database} {where}.")
    if "does not exist" in text and "role" in text:
        return UserError(f"The PostgreSQL server {where} knows no user {user}: correct --store.")
    return StoreGone(f"The PostgreSQL server {where} can't be reached.")


def mapped(error: psycopg.Error, where: str) -> StoreError | UserError:
    """psycopg's exceptions in our words."""
    code = error.sqlstate or ""
    if isinstance(error, pg.DiskFull):
        return DiskFull(f"The disk of the PostgreSQL server {where} is full: make room there.")
    if isinstance(error, pg.InsufficientPrivilege | pg.InvalidSchemaName):
        return may_not(where)
    gone = ("08", "57", "53", "25P", "25006", "40", "55P03", "58")
    if not code or code.startswith(gone):
        return StoreGone(f"The PostgreSQL server {where} is gone or busy ({_short(error)}).")
    return StoreError(f"The PostgreSQL server {where} failed: {_short(error)}.")


def may_not(where: str) -> UserError:
    """For a user without the rights."""
    return UserError(
        f"The user of the store {where} may not do what lycosa needs: let it own the database, "
        "or grant it CREATE on a schema of its own."
    )


def _short(error: psycopg.Error) -> str:
    text = error.diag.message_primary or str(error)
    return " ".join(text.split("\n")[0].split()).rstrip(".") or type(error).__name__


# -- the format -----------------------------------------------------------------------------------


def check_format(db: Connection) -> int:
    """The format, NONE if there is no crawl; raises UserError if it is not the current one."""
    found = format_of(db)
    formats.check_current(found, "postgres")
    return found


def format_of(db: Connection) -> int:
    """The format of what the database holds, NONE if there is no crawl."""
    found = db.execute("SELECT to_regclass('schema_version')::text").fetchone()
    if found is None or found[0] is None:
        return formats.NONE
    row = db.execute("SELECT max(version) FROM schema_version").fetchone()
    return int(row[0] or 0) if row else formats.NONE


# -- arrays ---------------------------------------------------------------------------------------
# psycopg dumps a list one element at a time through Python. Packed here, a number costs 0.1 µs:
# an element is its length and its eight bytes, so the bytes of one rank lie twelve apart and are
# put there by one slice for all numbers.

_HEAD = struct.Struct(">iiIii")  # dimensions, nulls, type of the elements, length, first index
_LENGTH = struct.Struct(">i")
_INT8_OID, _TEXT_OID, _BYTEA_OID = 20, 25, 17
_INT8_BLANK = _LENGTH.pack(8) + bytes(8)


class Int8s(bytes):
    """An int8[] as PostgreSQL reads it."""


class Texts(bytes):
    """A text[]."""


class Blobs(bytes):
    """A bytea[]."""


def int8s(values: Iterable[int]) -> Int8s:
    numbers = array("q", values)
    if sys.byteorder == "little":
        numbers.byteswap()
    data, items = numbers.tobytes(), bytearray(_INT8_BLANK * len(numbers))
    for rank in range(8):
        items[4 + rank :: 12] = data[rank::8]
    return Int8s(_head(_INT8_OID, len(numbers)) + items)


def texts(values: Iterable[str]) -> Texts:
    words = list(values)
    try:
        items = [word.encode() for word in words]
        good = b"\0" not in b"".join(items)
    except UnicodeEncodeError:
        good = False
    return Texts(_packed(_TEXT_OID, items if good else list(map(_mended, words))))


def blobs(values: Iterable[bytes]) -> Blobs:
    return Blobs(_packed(_BYTEA_OID, list(values)))


def _head(oid: int, count: int) -> bytes:
    return _HEAD.pack(1, 0, oid, count, 1) if count else _HEAD.pack(0, 0, oid, 0, 0)[:12]


def _packed(oid: int, items: list[bytes]) -> bytes:
    lengths = map(_LENGTH.pack, map(len, items))
    return _head(oid, len(items)) + b"".join(chain.from_iterable(zip(lengths, items, strict=True)))


def _mended(text: str) -> bytes:
    """What a page or a header may hold and PostgreSQL may not: NUL and lone surrogates."""
    return text.encode(errors="replace").replace(b"\0", b"")


class _Packed(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer | None:
        return bytes(obj)


class _Int8Dumper(_Packed):
    oid = 1016


class _TextDumper(_Packed):
    oid = 1009


class _BlobDumper(_Packed):
    oid = 1001
