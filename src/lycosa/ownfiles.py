"""Files and directories of a crawl: for their owner alone, and never behind somebody else's link.

Owns how lycosa makes and opens whatever it writes. A data directory may lie where others can write,
such as /tmp, and under a loose umask: what they put there under our names must not lead us to
another file, and they must not read what we keep.
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
    """A directory, with those above it, unless it is there; a link to one is not ours."""
    path.mkdir(mode=DIRECTORY, parents=True, exist_ok=True)
    if path.is_symlink():
        raise _foreign(path)


def open_own(path: Path, flags: int) -> int:
    """Open a file to write to it: a plain one with no other name, or a new one."""
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
    """A file that has other names too, as in a backup by hard links, becomes one of its own."""
    if path.is_symlink() or path.stat().st_nlink == 1:
        return
    draft = path.with_name(f"{path.name}.new")
    with create_own(draft) as target, path.open("rb") as source:
        shutil.copyfileobj(source, target)
        target.flush()
        os.fsync(target.fileno())
    draft.rename(path)


def create_own(path: Path) -> BinaryIO:
    """A new file in the place of an old one of that name; whatever that led to is left alone."""
    if path.is_dir() and not path.is_symlink():
        raise _foreign(path)
    path.unlink(missing_ok=True)
    fd = open_own(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    return os.fdopen(fd, "w+b")


def write(path: Path, data: bytes) -> None:
    """A whole new file."""
    with create_own(path) as file:
        file.write(data)


def write_durably(path: Path, data: bytes) -> None:
    """A whole new file under a name that it has when it is on disk, not earlier."""
    draft = path.with_name(f"{path.name}.new")
    with create_own(draft) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def _foreign(path: Path) -> UserError:
    return UserError(
        f"{path} is a link or no plain file, and lycosa would write there: somebody else put it in"
        " its place; look at it, remove it, and try again."
    )
