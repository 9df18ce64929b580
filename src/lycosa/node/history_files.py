"""The files of a node's history: lines of figures in three levels, which age by being deleted.

    history/5s-2026-11-18T09.jsonl    a line every 5 s, a file an hour, kept for 2 h
    history/1m-2026-11-18.jsonl       a line a minute, a file a day, kept for 2 days
    history/15m-2026-11.jsonl         a line every 15 min, a file a month, kept for ever
    history/now.json                  the newest line, with the summaries of `figures`

Every line is written once, by appending; a coarser line is written when its time is over, while the
finer ones still lie there. So a kill leaves at most a torn last line, which readers pass over, and
a start makes up for the coarser lines that the kill prevented. Owns names, appending and deleting;
what a line says is not its matter, but that `at` is its time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from lycosa import ownfiles
from lycosa.node.datadir import HISTORY
from lycosa.node.rollup import HistoryLine

__all__ = ["HISTORY", "LEVELS", "HistoryFiles", "Level", "lines_of", "newest_of", "read_now"]

NOW = "now.json"
MOST_LINE = 1 << 20  # bytes of a line that is read
_AT = b'{"at":'


@dataclass(frozen=True, slots=True)
class Level:
    """How often a line is written, how its files are named, and how long they are kept."""

    name: str
    seconds: int
    file: str  # for strftime
    kept: float  # seconds


HOUR = 3600.0
LEVELS = (
    Level("5s", 5, "%Y-%m-%dT%H", 2 * HOUR),
    Level("1m", 60, "%Y-%m-%d", 48 * HOUR),
    Level("15m", 900, "%Y-%m", float("inf")),
)


class Lines:
    """The lines of one level. Appends to the file of the line's own time."""

    def __init__(self, folder: Path, level: Level) -> None:
        self._folder = folder
        self.level = level
        self._path: Path | None = None
        self._fd = -1

    def append(self, line: HistoryLine) -> None:
        """Write one line; raises OSError."""
        path = self._folder / _file_name(line["at"], self.level)
        if path != self._path or not _is_there(path, self._fd):
            self.close()
            self._fd = ownfiles.open_own(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            self._path = path
        data = orjson.dumps(line) + b"\n"
        if _is_torn(self._fd):
            data = b"\n" + data
        if os.write(self._fd, data) < len(data):
            raise OSError(28, "No space left on device")

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._path = -1, None

    def forget(self, now: float) -> None:
        """Delete the files in which every line is older than it is kept."""
        if self.level.kept == float("inf"):
            return
        oldest = self._folder / _file_name(now - self.level.kept, self.level)
        for path in files_of(self._folder, self.level):
            if path < oldest and path != self._path:
                with suppress(OSError):
                    path.unlink()


def _is_there(path: Path, fd: int) -> bool:
    """Whether the file that is open still has its name: somebody may have deleted it."""
    if fd < 0:
        return False
    try:
        return path.stat().st_ino == os.fstat(fd).st_ino
    except OSError:
        return False


def _is_torn(fd: int) -> bool:
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"


def files_of(folder: Path, level: Level) -> list[Path]:
    """The files of a level, the oldest first; what is no plain file is none of ours."""
    found = sorted(folder.glob(f"{level.name}-*.jsonl"))
    return [path for path in found if path.is_file() and not path.is_symlink()]


@dataclass(slots=True)
class HistoryFiles:
    """All levels of one node. `roll` makes one line of many."""

    folder: Path
    roll: Callable[[Sequence[HistoryLine]], HistoryLine]
    # Told of each coarser line that was written, and its level.
    folded: Callable[[Level, HistoryLine], None] = lambda level, line: None
    _levels: list[Lines] = field(default_factory=list)
    _open: list[list[HistoryLine]] = field(
        default_factory=list
    )  # by level: what no coarser line has yet

    def start(self, now: float) -> HistoryLine | None:
        """Take up what is there, and write the coarser lines that are missing; the newest line of
        all. Raises OSError."""
        ownfiles.make_directory(self.folder)
        self._levels = [Lines(self.folder, level) for level in LEVELS]
        self._open = [[] for _ in LEVELS]
        # The coarse first: what is made up for one level comes behind what the next has.
        for at in reversed(range(len(LEVELS) - 1)):
            last = newest_of(self.folder, LEVELS[at + 1])
            since = last["at"] if last else 0.0
            for line in lines_of(self.folder, LEVELS[at], since=since):
                if line["at"] > since:
                    self._take(at, line)
        self._age(now)
        found = [newest_of(self.folder, level) for level in LEVELS]
        return max(filter(None, found), key=lambda line: line["at"], default=None)

    def append(self, line: HistoryLine) -> None:
        """A new line. Raises OSError."""
        self._levels[0].append(line)
        self._take(0, line)

    def _take(self, level: int, line: HistoryLine) -> None:
        """A line that was written: when the next coarser line's time is over, that is written."""
        if level + 1 == len(LEVELS):
            self._age(line["at"])
            return
        waiting = self._open[level]
        seconds = LEVELS[level + 1].seconds
        if waiting and line["at"] // seconds != waiting[0]["at"] // seconds:
            self._fold(level)
        self._open[level].append(line)

    def _fold(self, level: int) -> None:
        waiting, self._open[level] = self._open[level], []
        if waiting:
            line = self.roll(waiting)
            self._levels[level + 1].append(line)
            self.folded(LEVELS[level + 1], line)
            self._take(level + 1, line)

    def _age(self, now: float) -> None:
        for lines in self._levels:
            lines.forget(now)

    def write_now(self, value: dict[str, Any]) -> None:
        """Replace now.json. Raises OSError."""
        draft = self.folder / f"{NOW}.new"
        ownfiles.write(draft, orjson.dumps(value))
        draft.rename(self.folder / NOW)

    def finish(self) -> None:
        """The run ends: the coarser lines of what is left are written. Raises OSError."""
        for level in range(len(LEVELS) - 1):
            self._fold(level)

    def close(self) -> None:
        for lines in self._levels:
            lines.close()


# -- reading --------------------------------------------------------------------------------------


def read_now(folder: Path) -> dict[str, Any] | None:
    """What now.json says; None if there is none that can be read."""
    try:
        found = orjson.loads((folder / NOW).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return found if isinstance(found, dict) and _is_number(found.get("at")) else None


def lines_of(
    folder: Path, level: Level, since: float = 0.0, until: float = float("inf")
) -> Iterator[HistoryLine]:
    """The lines of a level by time; what is torn or no line of ours is passed over."""
    for path in files_of(folder, level):
        if path.name < _file_name(since, level):
            continue
        try:
            data = path.read_bytes()
        except OSError:
            continue  # it has just been deleted for its age
        for raw in data.split(b"\n"):
            at = _at_of(raw)
            if at is not None and not since <= at <= until:
                continue
            line = _parsed(raw)
            if line is not None and since <= line["at"] <= until:
                yield line


def newest_of(folder: Path, level: Level) -> HistoryLine | None:
    """The newest line of a level."""
    for path in reversed(files_of(folder, level)):
        with suppress(OSError):
            for raw in reversed(_tail(path).split(b"\n")):
                line = _parsed(raw)
                if line is not None:
                    return line
    return None


def _file_name(at: float, level: Level) -> str:
    """The file of a moment; names of one level sort by time."""
    return f"{level.name}-{datetime.fromtimestamp(at, UTC).strftime(level.file)}.jsonl"


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - MOST_LINE))
        return file.read(MOST_LINE)


def _at_of(raw: bytes) -> float | None:
    """The time of a line without parsing all of it; None if that does not tell."""
    if not raw.startswith(_AT):
        return None
    try:
        return float(raw[len(_AT) : raw.index(b",", 0, 40)])
    except ValueError:
        return None


def _parsed(raw: bytes) -> HistoryLine | None:
    if not raw or len(raw) > MOST_LINE:
        return None
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and _is_number(found.get("at")) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
