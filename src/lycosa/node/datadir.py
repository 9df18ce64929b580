"""The data directory of a crawl: its lock, its layout, making a new one, opening an old one.

    lycosa.lock      held by the supervisor and, inherited, by its engines
    crawl.sqlite     the frontier
    seeds/           copies of the seed files, made before anything is loaded
    text/ warc/ visits/   what is kept (see `archive`)
    history/         figures of the runs, a line every few seconds (see `history_files`)
    node             with a store on a server: which node of which crawl this is
    moved            after 'lycosa migrate': to which server the crawl went
    damaged.jsonl    bytes that 'lycosa verify' overwrote in damaged segments
    trust/           with --tls-verify: CA certificates, copied from the system at each start

The lock is inherited by the engines: while one of them lives, nobody else may open the crawl, so
whoever gets the lock knows that every older lease is dead.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
import uuid
from pathlib import Path

from lycosa import ownfiles
from lycosa.called import called
from lycosa.errors import CrawlExists, UserError
from lycosa.frontier.protocol import DATABASE, HELPERS, refuse_moved

LOCK = "lycosa.lock"
SEEDS = "seeds"
NODE = "node"
TRUST = "trust"
HISTORY = "history"
KINDS = (
    "text",
    "warc",
    "visits",
    "edges",
    HISTORY,
    SEEDS,
    TRUST,
    *(DATABASE + end for end in HELPERS),
)
ORPHAN_WAIT = 10.0  # seconds that engines of a killed supervisor may take to notice and end


def check_new(path: Path) -> None:
    """Refuse a directory in which no new crawl can be made; changes nothing."""
    if (path / DATABASE).exists():
        raise CrawlExists(
            f"{path} holds a crawl already: go on with it by --resume, "
            "or name another directory with --data-dir."
        )
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is not a directory: name another one with --data-dir.")
    _check_free(path)
    _check_writable(path)


def _check_free(path: Path) -> None:
    """Refuse a directory in which something else lies where a crawl would write."""
    for kind in KINDS:
        if os.path.lexists(path / kind) and (kind != SEEDS or not (path / kind).is_dir()):
            raise UserError(
                f"{path} has a '{kind}' already, and this crawl would write there: "
                "name an empty directory with --data-dir."
            )


def check_old(path: Path) -> None:
    """Refuse a directory that has no crawl to go on with; changes nothing."""
    _check_crawl(path, "name its directory with --data-dir, or leave --resume out to start one")


def check_movable(path: Path) -> None:
    """Refuse a directory that has no crawl to move to a server; changes nothing."""
    _check_crawl(path, "name its directory with --from")


def _check_crawl(path: Path, advice: str) -> None:
    if not (path / DATABASE).exists():
        refuse_moved(path)
        raise UserError(f"There is no crawl in {path}: {advice}.")
    if (path / DATABASE).stat().st_size == 0:
        raise UserError(f"{path / DATABASE} is empty: remove it, and start the crawl anew.")
    _check_writable(path)


def check_shared(path: Path) -> None:
    """Refuse a directory in which no node of a shared crawl can work; changes nothing."""
    if (path / DATABASE).exists():
        raise UserError(
            f"{path} holds a crawl on SQLite: move it with '{called('migrate')}', "
            "or name another directory with --data-dir."
        )
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is not a directory: name another one with --data-dir.")
    if not crawl_of(path):
        _check_free(path)
    _check_writable(path)


def node_of(path: Path) -> str:
    """The name of the node whose directory this is; '' if it is none, or a copy of one.

    The file's inode tells a copy: two nodes of one name would take each other for dead.
    """
    name, _, inode = _read_node(path)
    return name if inode and inode == (path / NODE).stat().st_ino else ""


def name_in(path: Path) -> str:
    """The name of the node whose directory this is, or is a copy of; '' if it is none. For those
    who only read."""
    return _read_node(path)[0]


def crawl_of(path: Path) -> str:
    """The crawl on a server that this directory belongs to; '' if it belongs to none."""
    return _read_node(path)[1]


def check_crawl(path: Path, crawl: str) -> None:
    """Refuse the directory of a node of another crawl; changes nothing."""
    if crawl_of(path) not in ("", crawl):
        raise UserError(
            f"{path} holds the output of another crawl: name another directory with --data-dir."
        )


def become_node(path: Path, crawl: str) -> str:
    """Make this the directory of a node of that crawl, if it is not yet; returns its name."""
    check_crawl(path, crawl)
    return node_of(path) or _write_node(path, crawl)


def _read_node(path: Path) -> tuple[str, str, int]:
    try:
        name, crawl, inode = (path / NODE).read_text().split()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return "", "", 0
    return name, crawl, int(inode)


def _write_node(path: Path, crawl: str) -> str:
    name = uuid.uuid4().hex
    draft = path / f"{NODE}.new"
    with ownfiles.create_own(draft) as file:
        file.write(f"{name} {crawl} {os.fstat(file.fileno()).st_ino}\n".encode())
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path / NODE)
    return name


def _check_writable(path: Path) -> None:
    """Refuse a directory that can't be written to, or that can't be made. Asks about the nearest
    directory that exists; on a read-only disk the answer is no for root, too."""
    existing = path
    while not existing.exists():
        existing = existing.parent
    if not os.access(existing, os.W_OK | os.X_OK) or not existing.is_dir():
        raise UserError(
            f"Can't write to {path}: choose another --data-dir or change its permissions."
        )


def lock(path: Path) -> int:
    """Take the lock of a data directory; returns its descriptor, which engines inherit."""
    try:
        path.mkdir(mode=ownfiles.DIRECTORY, parents=True, exist_ok=True)
        fd = ownfiles.open_own(path / LOCK, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise UserError(
            f"Can't write to {path}: {error.strerror}; choose another --data-dir."
        ) from error
    if not _take(fd, path):
        os.close(fd)
        raise UserError(
            f"Another lycosa process works in {path}: wait for its end, stop it with "
            f"'{called('stop', '--data-dir', path)}', or name another directory."
        )
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd


def _take(fd: int, path: Path) -> bool:
    """Whether the lock could be taken. Waits for engines of a supervisor that was killed, which end
    within moments, but not for a supervisor that runs."""
    end = time.monotonic() + ORPHAN_WAIT
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if holder_alive(path) or time.monotonic() > end:
                return False
        time.sleep(0.05)


def holder_alive(path: Path) -> bool:
    """Whether the supervisor named in the lock file still runs."""
    try:
        pid = int((path / LOCK).read_text() or "0")
        os.kill(pid, 0)
    except (ValueError, OSError):
        return False
    return pid != os.getpid() and pid > 0


def copy_seeds(path: Path, sources: list[str], more: bool) -> None:
    """Copy seed files into the crawl, each whole or not at all, so that a kill loses none.

    `more`: add to the copies that are there; else those are of a start that was cut off, and are
    removed.
    """
    folder = path / SEEDS
    ownfiles.make_directory(folder)
    old = [file for file in folder.iterdir() if file.name.isdigit() and len(file.name) == 4]
    if more:  # a service names the same files at every start: they are copied once
        from filecmp import cmp  # every process would load it, and this is rare

        sources = [each for each in sources if not any(cmp(each, file, False) for file in old)]
    drafts = []
    for number, source in enumerate(sources, start=len(old) if more else 0):
        draft = path / f"seeds-{number:04d}.new"  # outside of the folder until it is whole
        with ownfiles.create_own(draft) as target, open(source, "rb") as file:
            shutil.copyfileobj(file, target)
            target.flush()
            os.fsync(target.fileno())
        drafts.append((draft, folder / f"{number:04d}"))
    if not more:
        for leftover in old:
            leftover.unlink()
    for draft, name in drafts:
        draft.rename(name)


def in_use(path: Path) -> bool:
    """Whether a lycosa process works in a data directory."""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(path / LOCK, flags)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
