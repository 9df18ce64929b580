"""Whether a directory is where its crawl was made, or a copy of it (P1).

Two copies of one crawl on SQLite know nothing of each other and would both visit its domains. So
the database keeps which file it is. A move within a file system does not change that; a copy or a
restored backup does, and only the user knows whether the original will ever run again. Besides, a
crawl that runs holds its name on its machine, so that no copy runs there at the same time, even if
the user allowed it. On a server the names of nodes do the same (`datadir.node_of`).
"""

from __future__ import annotations

import socket
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from lycosa.errors import UserError
from lycosa.node.datadir import in_use


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells a file from a copy of it; '' where the system does not say."""

    inode: int
    device: int  # its number may change with every boot
    boot: str
    machine: str
    host: str  # for people
    path: str

    def is_same(self, now: Identity) -> bool:
        """Whether the file that is there now is this one, perhaps under another path."""
        if self.inode != now.inode or _differ(self.machine, now.machine):
            return False
        other_device = self.boot == now.boot and self.device != now.device
        # A container may see its volume as a new device at every start, at the same path.
        return not other_device or self.path == now.path


def _differ(one: str, other: str) -> bool:
    return bool(one and other and one != other)


def identity(database: Path) -> Identity:
    """The identity of the file that is there."""
    found = database.stat()
    return Identity(
        found.st_ino,
        found.st_dev,
        _read("/proc/sys/kernel/random/boot_id"),
        _read("/etc/machine-id"),
        socket.gethostname(),
        str(database.parent.resolve()),
    )


def identity_json(database: Path) -> str:
    """The same as the database keeps it."""
    return orjson.dumps(asdict(identity(database))).decode()


def check(stored: str | None, database: Path, moved: bool) -> None:
    """Refuse a copy, unless the user says (`moved`) that it takes its original's place; changes
    nothing. `stored`: what the database keeps, see `identity_json`."""
    if stored is None:
        return
    known, now = Identity(**orjson.loads(stored)), identity(database)
    if known.is_same(now):
        return
    if known.path != now.path and _same_file(known) and in_use(Path(known.path)):
        raise UserError(
            f"{now.path} is a copy of the crawl in {known.path}, which runs now: stop that one"
            " first, or both would visit the same domains."
        )
    if not moved:
        raise UserError(
            f"{now.path} is a copy of the crawl that was made in {known.path} on {known.host}, or"
            " was moved here: if the original will never run again, say so once with --moved; if"
            " both ran, they would visit the same domains."
        )


def _same_file(known: Identity) -> bool:
    """Whether the original is on this machine, where it was."""
    from lycosa.frontier.protocol import DATABASE

    try:
        return known.is_same(identity(Path(known.path) / DATABASE))
    except OSError:
        return False


def hold(crawl_id: str | None) -> socket.socket | None:
    """Hold the name of a crawl on this machine for as long as the socket is open.

    A name in Linux's abstract name space: nothing is left behind, however the process ends.
    """
    if not crawl_id:
        return None
    held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        held.bind(f"\0lycosa-{crawl_id}")
    except OSError as error:
        held.close()
        raise UserError(
            "A copy of this crawl runs on this machine now: stop that one first, or both would"
            " visit the same domains."
        ) from error
    return held


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
