"""Where an export goes: a directory or a file that has its name only when it is whole.

Until then everything lies in `OUT.unfinished`, with a note (`export.json`) of what it is and how
far it came: the same command goes on from there after a kill, another one begins anew. An error
removes it. Owns these names; knows nothing of formats.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from lycosa import ownfiles
from lycosa.called import NAME
from lycosa.errors import UserError

NOTE = "export.json"
UNFINISHED = ".unfinished"
_REPLACED = ".replaced"
_DRAFT = ".new"
_LOCK = "lock"


class Target:
    """One export's place. `plan` says what is exported: only the same plan goes on."""

    def __init__(
        self, out: Path, plan: dict[str, Any], *, directory: bool, overwrite: bool = False
    ) -> None:
        self.out = Path(os.path.abspath(out))
        self.work = self.out.with_name(self.out.name + UNFINISHED)
        self._directory = directory
        self._overwrite = overwrite
        self._plan = plan
        self._check()
        self._lock = self._take()
        self.state = self._resumed()

    @property
    def resumed(self) -> bool:
        """Whether it goes on with what an earlier run did."""
        return bool(self.state)

    def draft(self, name: str) -> Path:
        """Where a file is written before `keep` gives it its name."""
        path = self.work / (name + _DRAFT)
        path.parent.mkdir(mode=ownfiles.DIRECTORY, parents=True, exist_ok=True)
        return path

    def keep(self, name: str) -> Path:
        """Make a draft durable, and give it its name."""
        draft, path = self.work / (name + _DRAFT), self.work / name
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.rename(path)
        return path

    def note(self, state: dict[str, Any]) -> None:
        """Note how far the export came, durably."""
        self.state = state
        text = json.dumps({"made by": NAME, "plan": self._plan, "state": state}, indent=1)
        ownfiles.write_durably(self.work / NOTE, text.encode())

    def finish(self, summary: dict[str, Any], keep: str = "") -> None:
        """Give the export its name: the whole directory, or the file `keep` in it."""
        if self._directory:
            told = {"made by": NAME, "plan": self._plan, **summary}
            ownfiles.write_durably(self.work / NOTE, json.dumps(told, indent=1).encode() + b"\n")
            (self.work / _LOCK).unlink()
            self._replace(self.work)
        else:
            self._replace(self.work / keep)
            shutil.rmtree(self.work, ignore_errors=True)
        _sync(self.out.parent)
        self._lock.close()

    def close(self) -> None:
        """Leave it as it is, to go on later."""
        self._lock.close()

    def discard(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.work, ignore_errors=True)
        self._lock.close()

    def _check(self) -> None:
        if not self.out.parent.is_dir():
            raise UserError(f"There is no directory {self.out.parent} for {self.out.name}.")
        if not os.path.lexists(self.out):
            return
        if not self._overwrite:
            raise UserError(
                f"{self.out} exists: name another place, or replace it with --overwrite."
            )
        if self._directory != self.out.is_dir() or self.out.is_symlink():
            kind = "directory" if self._directory else "file"
            raise UserError(f"{self.out} is no {kind}, so that --overwrite does not replace it.")
        if self._directory and not _ours(self.out):
            raise UserError(
                f"{self.out} is no export of {NAME}'s, so that --overwrite does not replace it."
            )

    def _take(self) -> BinaryIO:
        """Make the working directory, or take over that of a run that ended."""
        ownfiles.make_directory(self.work)
        lock = open(  # noqa: SIM115 - closed by finish, close or discard
            os.open(self.work / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, ownfiles.FILE), "r+b"
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise UserError(f"Another export to {self.out} is running.") from None
        return lock

    def _resumed(self) -> dict[str, Any]:
        """What an earlier run with the same plan noted; what it did not note is removed."""
        note = _read_note(self.work)
        state: dict[str, Any] = note.get("state", {}) if note.get("plan") == self._plan else {}
        if not all((self.work / name).is_file() for name in state.get("files", ())):
            state = {}  # a merge was cut off: its runs are half gone
        known = {NOTE, _LOCK, *state.get("files", ())}
        for path in sorted(self.work.rglob("*"), reverse=True):
            if path.is_dir():
                with suppress(OSError):
                    path.rmdir()  # unless something noted is in it
            elif str(path.relative_to(self.work)) not in known:
                path.unlink()
        return state

    def _replace(self, made: Path) -> None:
        if not self._directory or not self.out.exists():
            made.rename(self.out)
            return
        old = self.out.with_name(self.out.name + _REPLACED)
        shutil.rmtree(old, ignore_errors=True)
        self.out.rename(old)
        made.rename(self.out)
        shutil.rmtree(old, ignore_errors=True)


def _read_note(work: Path) -> dict[str, Any]:
    try:
        note = json.loads((work / NOTE).read_bytes())
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _ours(path: Path) -> bool:
    return _read_note(path).get("made by") == NAME or not any(path.iterdir())


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
