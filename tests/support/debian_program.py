"""Programs of Debian packages for tests: those of the system, or unpacked without root.

Owns `.venv/debian`: a folder for each package that was asked for, with what the package needs and
this machine lacks, and apt's own lists and downloads, so that neither root nor the lists of the
system are needed. apt decides what is needed; it is asked as it is set up here.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDERS = ("usr/bin", "usr/sbin", "bin", "sbin")
SECONDS = 500.0  # for one command of apt, on a slow line
MADE = "made"  # beside what was unpacked: it is whole


def program(name: str, package: str) -> tuple[Path, dict[str, str]]:
    """The program and the environment that it needs; raises LookupError where there is none."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    if found := shutil.which(name, path=path):
        return Path(found), dict(os.environ)
    try:
        root = unpacked(package)
        found_in = ((root / folder / name) for folder in FOLDERS)
        return next(path for path in found_in if path.is_file()), environment(root)
    except (LookupError, StopIteration) as error:
        raise LookupError(f"needs {name} (on Debian: apt install {package}): {error}") from error


def environment(root: Path) -> dict[str, str]:
    """The variables by which a program finds what was unpacked with it."""
    shared = {path.parent for path in root.rglob("*.so*") if path.parent.name != "dri"}
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, sorted(shared)))}


def kept(package: str) -> Path | None:
    """Where a package was unpacked before."""
    folder = _home() / package
    return folder / "root" if (folder / MADE).exists() else None


def unpacked(package: str) -> Path:
    """The folder with a package and all that it needs and this machine has not; raises LookupError,
    with the reason, where that can't be had."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise LookupError("apt-get and dpkg-deb are not here to unpack it")
    with _alone():
        return kept(package) or _made(package)


def _home() -> Path:
    return Path(sys.prefix) / "debian"


@contextmanager
def _alone() -> Iterator[None]:
    """Test processes run side by side: the first makes it, the others wait."""
    _home().mkdir(exist_ok=True)
    with open(_home() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _made(package: str) -> Path:
    folder = _home() / package
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    wanted = _missing(package)
    _run(*_apt(), "download", *wanted, at=folder)
    for archive in sorted(folder.glob("*.deb")):
        _run("dpkg-deb", "-x", str(archive), "root", at=folder)
        archive.unlink()
    (folder / MADE).touch()
    return folder / "root"


def _missing(package: str) -> list[str]:
    """The package, and of what it needs that which is not installed here, as apt would install
    them. Installed packages of another version stay as they are."""
    simulated = (*_apt(), "install", "--simulate", "--no-install-recommends", package)
    try:
        said = _run(*simulated, at=_home())
    except LookupError:  # there are no lists yet, or old ones
        _run(*_apt(), "update", at=_home())
        said = _run(*simulated, at=_home())
    lines = [line.split() for line in said.splitlines() if line.startswith("Inst ")]
    return [name for _, name, *rest in lines if not rest[0].startswith("[")] or [package]


def _apt() -> tuple[str, ...]:
    """apt-get with its state in a folder of ours; what is installed is read from the system."""
    state, cache = _home() / "state", _home() / "cache"
    for place in (state / "lists/partial", cache / "archives/partial"):
        place.mkdir(parents=True, exist_ok=True)
    settings = {
        "Dir::State": state,
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": cache,
        "APT::Sandbox::User": "",  # root would let another user write, who may not do it here
        "Acquire::Retries": 2,
    }
    return ("apt-get", "-q", *(f"-o{name}={value}" for name, value in settings.items()))


def _run(*command: str, at: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=at, capture_output=True, text=True, timeout=SECONDS,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise LookupError(f"{command[0]} took more than {SECONDS:g} s") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"{command[0]} failed"]
        raise LookupError(lines[-1])
    return done.stdout
