"""Append-only files of one engine, and the lengths up to which they count.

Owns names, rotation, fsync and cutting back (F2): `sync` makes what was appended durable and
returns the lengths that the next commit must store; `cut_back` removes what lies beyond a committed
length. Knows neither what the bytes mean nor where the lengths are stored. A page row points into a
segment by a small int from which the name is computed.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lycosa import ownfiles
from lycosa.errors import DiskFull, StoreError, UserError

SegmentKind = Literal["text", "warc", "visits", "edges"]

SUFFIX: dict[SegmentKind, str] = {
    "text": ".jsonl.zst",
    "warc": ".warc",
    "visits": ".jsonl",
    "edges": ".jsonl.zst",
}

# The ledger is evidence of what was sent, committed or not: it is mended, never cut.
CUT_KINDS: tuple[SegmentKind, ...] = ("text", "warc", "edges")

_PER_ENGINE = 100_000  # segments of one kind that one engine can write
_NAME = re.compile(r"(text|warc|visits|edges)/(\d{6,})-(\d{5})(\.[a-z.]+)")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_MAX_PARTS = 512  # per writev; Linux allows 1,024

# The file's length counts as data, so fdatasync is enough, and spares writing its times.
_flush = getattr(os, "fdatasync", os.fsync)


def segment_id(engine_id: int, seq: int) -> int:
    """The number of an engine's seq-th segment of a kind; never 0, which means "none"."""
    if not (engine_id > 0 and 0 < seq < _PER_ENGINE):
        raise StoreError(f"No segment can have engine {engine_id} and number {seq}.")
    return engine_id * _PER_ENGINE + seq


def segment_name(kind: SegmentKind, number: int) -> str:
    """The path of a segment relative to the data directory."""
    engine_id, seq = divmod(number, _PER_ENGINE)
    return f"{kind}/{engine_id:06d}-{seq:05d}{SUFFIX[kind]}"


def segment_engine(number: int) -> int:
    """Who wrote the segment."""
    return number // _PER_ENGINE


def parse_name(name: str) -> tuple[SegmentKind, int] | None:
    """The kind and number behind a name; None for a name that is not a segment's."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    kind: SegmentKind = found[1]  # type: ignore[assignment]
    if found[4] != SUFFIX[kind] or int(found[2]) == 0 or int(found[3]) == 0:
        return None
    return kind, int(found[2]) * _PER_ENGINE + int(found[3])


@dataclass(slots=True)
class SegmentState:
    """How far a segment counts, once this is committed."""

    id: int  # unique among the segments of its kind
    kind: SegmentKind
    length: int
    closed: bool  # nothing more will be appended

    @property
    def name(self) -> str:
        """The path relative to the data directory: unique among all segments."""
        return segment_name(self.kind, self.id)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turns an OSError on this path into an error of ours."""
    try:
        yield
    except OSError as error:
        raise disk_error(error, path) from error


def disk_error(error: OSError, path: Path) -> StoreError | UserError:
    """The error of ours that an OSError on this path stands for."""
    if error.errno in _FULL:
        return DiskFull(
            f"The disk is full: {path} can't be written. Make room, then go on with --resume."
        )
    if error.errno == errno.EEXIST:
        return UserError(
            f"{path} exists already: the directory holds the output of another crawl. "
            "Choose an empty directory, or move that output away."
        )
    return StoreError(f"Can't write {path}: {error.strerror}.")


@dataclass(slots=True)
class _File:
    """A segment that this process has open. A rotation leaves closing it to the next sync."""

    id: int
    path: Path
    fd: int
    length: int = 0
    synced: int = 0


@dataclass(slots=True)
class Unsynced:
    """What a sync has to make durable: files as they were when it began.

    While a file is synced it may grow, or a rotation may close it: the next sync sees to that.
    """

    files: list[tuple[_File, int, bool]]  # length, closed
    new_names: bool


class SegmentWriter:
    """Appends to the newest segment of one kind. One thread uses it, except for `finish_sync`.

    `head` gives the first bytes of every file from its name. Files are made at the first append,
    so an engine that kept nothing leaves nothing. A caller that drops a batch after its append must
    undo it by `cut_back` before the next sync, or that sync's commit would make it count.
    """

    def __init__(
        self,
        root: Path,
        kind: SegmentKind,
        engine_id: int,
        max_bytes: int,
        head: Callable[[str], bytes] | None = None,
    ) -> None:
        self._root = root
        self._kind: SegmentKind = kind
        self._engine_id = engine_id
        self._max_bytes = max_bytes
        self._head = head
        self._seq = 0
        self._current: _File | None = None
        self._retired: list[_File] = []  # full, not yet synced
        self._new_names = False
        self._broken = ""

    def append(self, *parts: bytes) -> tuple[int, int]:
        """Write the parts one after the other into one segment: its id, and where they begin."""
        if self._broken:
            raise StoreError(self._broken)
        file = self._file_for(sum(map(len, parts)))
        offset = file.length
        if offset == 0 and self._head is not None:
            head = self._head(segment_name(self._kind, file.id))
            parts = (head, *parts)
            offset = len(head)
        self._write(file, parts)
        return file.id, offset

    def sync(self, closing: bool = False) -> list[SegmentState]:
        """Make everything appended durable; the states that the next commit must store.

        Each change is returned once: a commit that is tried again brings its states along.
        `closing` ends the newest segment; a later append begins another.
        """
        return self.finish_sync(self.begin_sync(closing))

    def begin_sync(self, closing: bool = False) -> Unsynced:
        """Note what is to be synced. Cheap; `finish_sync` may then run on another thread."""
        if self._broken:
            raise StoreError(self._broken)
        if closing:
            self._retire()
        files = [(file, file.length, True) for file in self._retired]
        self._retired = []
        current = self._current
        if current is not None and current.length != current.synced:
            files.append((current, current.length, False))
        unsynced = Unsynced(files, self._new_names)
        self._new_names = False
        return unsynced

    def finish_sync(self, unsynced: Unsynced) -> list[SegmentState]:
        """The slow half of `sync`. Only one runs at a time; appends may go on meanwhile."""
        try:
            for file, _, _ in unsynced.files:
                with disk_errors(file.path):
                    _flush(file.fd)
            if unsynced.new_names:
                _sync_directories(self._root, self._root / self._kind)
        except BaseException as error:
            # A failed fsync may have dropped the data and called it clean: trying again would
            # succeed and mean nothing. Only cutting back helps.
            self._broken = f"An earlier sync failed: {error}"
            self._retired += [file for file, _, closed in unsynced.files if closed]
            raise
        return [self._synced(*synced) for synced in unsynced.files]

    def cut_back(self, committed: Mapping[str, int]) -> CutReport:
        """Undo what was not committed, after a commit that did not and will not happen.

        `committed` has to be everything that the store knows of this engine's segments: others are
        removed. What is appended later goes to a new segment.
        """
        self.close()
        report = cut_back(self._root, committed, {self._engine_id}, (self._kind,))
        self._broken = ""
        return report

    def close(self) -> None:
        """Let go of the files as they are. A clean end is `sync(closing=True)` and its commit."""
        self._retire()
        for file in self._retired:
            os.close(file.fd)
        self._retired = []

    def _file_for(self, size: int) -> _File:
        current = self._current
        if current is not None and current.length and current.length + size > self._max_bytes:
            self._retire()
        if self._current is None:
            self._current = self._open_next()
        return self._current

    def _retire(self) -> None:
        if self._current is not None:
            self._retired.append(self._current)
            self._current = None

    def _open_next(self) -> _File:
        number = segment_id(self._engine_id, self._seq + 1)
        path = self._root / segment_name(self._kind, number)
        with disk_errors(path):
            path.parent.mkdir(mode=ownfiles.DIRECTORY, parents=True, exist_ok=True)
            fd = ownfiles.open_own(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        self._seq += 1
        self._new_names = True
        return _File(number, path, fd)

    def _write(self, file: _File, parts: tuple[bytes, ...]) -> None:
        """Write all parts or nothing: a write that a full disk cut short is taken back at once."""
        try:
            _write_all(file.fd, parts)
        except OSError as error:
            self._take_back(file)
            raise disk_error(error, file.path) from error
        file.length += sum(map(len, parts))

    def _take_back(self, file: _File) -> None:
        try:
            os.ftruncate(file.fd, file.length)
        except OSError as error:
            self._broken = f"{file.path} ends in a torn write: {error.strerror}."

    def _synced(self, file: _File, length: int, closed: bool) -> SegmentState:
        file.synced = length
        if closed:
            os.close(file.fd)
        return SegmentState(file.id, self._kind, length, closed)


def _write_all(fd: int, parts: tuple[bytes, ...]) -> None:
    left = deque(memoryview(part) for part in parts if part)
    while left:
        wrote = os.writev(fd, [left[i] for i in range(min(len(left), _MAX_PARTS))])
        while left and wrote >= len(left[0]):
            wrote -= len(left.popleft())
        if wrote:
            left[0] = left[0][wrote:]


def _sync_directories(*paths: Path) -> None:
    for path in paths:
        with disk_errors(path):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


@dataclass(slots=True)
class CutReport:
    """What cutting back did, by segment name. `short` and `missing` are data that the disk lost."""

    truncated: dict[str, int] = field(default_factory=dict)  # bytes taken off
    removed: dict[str, int] = field(default_factory=dict)  # bytes it had
    short: dict[str, int] = field(default_factory=dict)  # bytes that should be there and are not
    missing: list[str] = field(default_factory=list)


def listed(root: Path, kind: SegmentKind) -> list[tuple[int, Path]]:
    """The segments of a kind on disk, (id, path), each engine's in the order of writing."""
    try:
        names = os.listdir(root / kind)
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        parsed = parse_name(f"{kind}/{name}")
        if parsed is not None:
            found.append((parsed[1], root / kind / name))
    return sorted(found)


def cut_back(
    root: Path,
    committed: Mapping[str, int],
    dead: Collection[int],
    kinds: tuple[SegmentKind, ...] = CUT_KINDS,
) -> CutReport:
    """Remove what dead engines wrote and never committed. Idempotent.

    `dead` names the engines, so that neither a living engine's files nor those of another crawl in
    the same directory are touched. Give it only engines that wrote to this directory: what is
    committed and not here is reported as missing.
    """
    report = CutReport()
    for kind in kinds:
        here = {
            number: path for number, path in listed(root, kind) if segment_engine(number) in dead
        }
        for number, path in here.items():
            _cut_file(path, segment_name(kind, number), committed, report)
        if here:
            _sync_directories(root / kind)
    for name, length in committed.items():
        parsed = parse_name(name)
        expected = length and parsed and parsed[0] in kinds and segment_engine(parsed[1]) in dead
        if expected and not (root / name).exists():
            report.missing.append(name)
    return report


def _cut_file(path: Path, name: str, committed: Mapping[str, int], report: CutReport) -> None:
    length = committed.get(name, 0)
    with disk_errors(path):
        found = path.stat() if path.exists() else path.lstat()
        size = found.st_size
        if not stat.S_ISREG(found.st_mode):
            if length:
                report.missing.append(name)
        elif length == 0:
            path.unlink()
            report.removed[name] = size
        elif size > length:
            # A link: the user keeps the file elsewhere. Readers stop at the committed length.
            if not path.is_symlink():
                _truncate(path, length)
            report.truncated[name] = size - length
        elif size < length:
            report.short[name] = length - size


def _truncate(path: Path, length: int) -> None:
    ownfiles.unshare(path)
    fd = ownfiles.open_own(path, os.O_WRONLY)
    try:
        os.ftruncate(fd, length)
        os.fsync(fd)
    finally:
        os.close(fd)


class CommittedFile(io.RawIOBase):
    """A segment as readers see it: it ends at its committed length, however much is behind it."""

    def __init__(self, root: Path, name: str, committed: int, offset: int = 0) -> None:
        super().__init__()
        self._fd = -1
        path = root / name
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise StoreError(f"Can't read {path}: {error.strerror}.") from error
        self._at = offset
        self._end = committed
        size = os.fstat(self._fd).st_size
        if size < committed or not 0 <= offset <= committed:
            self.close()
            raise StoreError(
                f"{path} is damaged: {size} bytes of {committed} committed; asked for {offset}."
            )

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer with what is left before the committed end."""
        want = min(len(buffer), self._end - self._at)
        data = os.pread(self._fd, want, self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        """Close the file. Idempotent."""
        if not self.closed and self._fd >= 0:
            os.close(self._fd)
        super().close()
