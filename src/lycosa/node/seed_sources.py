"""The seeds that a user names: files, a pipe, the standard input. Checked before a crawl is made.

Every source must be whole and have at least one seed, or nothing is written: a wrong file is a
mistake. What a line may be is in `seed_file`.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from lycosa.errors import UserError
from lycosa.node.seed_file import Seed, no_seeds, open_seeds, read


@contextmanager
def spooled(seeds: list[str]) -> Iterator[list[str]]:
    """The same sources as files: what can be read only once is copied into a temporary one."""
    with ExitStack() as files:
        yield [each if _rereadable(each) else files.enter_context(_spool(each)) for each in seeds]


def _rereadable(source: str) -> bool:
    return source != "-" and (os.path.isfile(source) or not os.path.exists(source))


@contextmanager
def _spool(source: str) -> Iterator[str]:
    if source != "-" and not stat.S_ISFIFO(os.stat(source).st_mode):
        raise UserError(f"{source} is no file: name a file of domains or URLs, or - for a pipe.")
    with tempfile.NamedTemporaryFile(prefix="lycosa-seeds-") as file:
        with ExitStack() as opened:
            stream = sys.stdin.buffer if source == "-" else opened.enter_context(open(source, "rb"))
            shutil.copyfileobj(stream, file)
        file.flush()
        yield file.name


def check(sources: list[str], names: list[str]) -> None:
    """Raises UserError for a file that breaks off or has no seed. `names`: what the user called
    these sources."""
    for source, name in zip(sources, names, strict=True):
        _check_whole(source, name)
        if not _any_good(source, name):
            raise no_seeds(name)


def _check_whole(source: str, name: str) -> None:
    """A plain file can't break off; a compressed one is read to its end."""
    with open(source, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        with open_seeds(source, name) as lines:
            for _ in lines:
                pass


def _any_good(source: str, name: str) -> bool:
    with open_seeds(source, name) as lines:
        return any(isinstance(entry, Seed) for entry in read(lines))
