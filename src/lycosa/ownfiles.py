"""How lycosa makes and opens whatever it writes.

A data directory may lie where others can write, such as /tmp, and under a loose umask. Others must
not read what we keep, so that files and directories are for their owner alone; and a link that
they put in place of one of our files must not lead us to another file.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path
from typing import BinaryIO

from lycosa.errors import UserError

FILE = 0o600
DIRECTORY = 0o700
_NOT_OURS = frozenset({errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENOTDIR})


def make_directory(path: Path) -> None:
    """Make a directory, with those above it, unless it is there; UserError if it is a link."""
    path.mkdir(mode=DIRECTORY, parents=True, exist_ok=True)
    if path.is_symlink():
        raise _foreign(path)


def open_own(path: Path, flags: int) -> int:
    """Open a file for writing; UserError unless it is new, or a plain file with no other name."""
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, FILE)
    except OSError as error:
        if error.errno in _NOT_OURS:
            raise _foreign(path) from error
        raise
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(fd)
        raise _foreign(path)
    return fd


def unshare(path: Path) -> None:
    """Copy a file that has other names too, as in a backup by hard links; those stay."""
    if path.is_symlink() or path.stat().st_nlink == 1:
        return
    draft = path.with_name(f"{path.name}.new")
    with create_own(draft) as target, path.open("rb") as source:
        shutil.copyfileobj(source, target)
        target.flush()
        os.fsync(target.fileno())
    draft.rename(path)


def create_own(path: Path) -> BinaryIO:
    """A new file in the place of an old one; what that was a link to stays as it is."""
    if path.is_dir() and not path.is_symlink():
        raise _foreign(path)
    path.unlink(missing_ok=True)
    fd = open_own(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    return os.fdopen(fd, "w+b")


def write(path: Path, data: bytes) -> None:
    """Write a whole new file."""
    with create_own(path) as file:
        file.write(data)


def write_durably(path: Path, data: bytes) -> None:
    """Write a whole new file, which gets its name only when it is on disk."""
    draft = path.with_name(f"{path.name}.new")
    with create_own(draft) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def _foreign(path: Path) -> UserError:
    return UserError(
        f"lycosa can't write to {path}: it is a link or no plain file, and lycosa did not make it."
        " Look at it, remove it, and try again."
    )
