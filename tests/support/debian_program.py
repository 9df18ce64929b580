"""Programs of Debian packages for tests, taken from the system or unpacked without root."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

FOLDERS = ("usr/bin", "usr/sbin", "bin", "sbin")


def program(name: str, package: str, *libraries: str, place: Path) -> tuple[Path, dict[str, str]]:
    """The program and the environment that it needs; raises LookupError where there is none.

    `package` has it, `libraries` are packages that it needs beside what every Debian has."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    if found := shutil.which(name, path=path):
        return Path(found), dict(os.environ)
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise LookupError(f"needs {name} (on Debian: apt install {package})")
    for each in (package, *libraries):
        done = subprocess.run(["apt-get", "download", each], cwd=place, capture_output=True)
        if done.returncode != 0:
            raise LookupError(f"needs {name} (on Debian: apt install {package})")
    for archive in place.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", archive, place / "root"], check=True)
    shared = {path.parent for path in (place / "root").rglob("*.so*")}
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, sorted(shared)))}
    found_in = ((place / "root" / folder / name) for folder in FOLDERS)
    return next(path for path in found_in if path.is_file()), environment
