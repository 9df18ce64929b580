"""`promtool`, Prometheus' own checker: that of the system, or Debian's package, unpacked without
root into a folder of the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ABSENT = (
    "promtool is not installed (on Debian: apt install prometheus) and could not be unpacked from"
    " Debian's package, and this needs it"
)


def found() -> str:
    """The path of promtool, '' if there is none and none can be had."""
    return shutil.which("promtool") or _kept() or _unpacked()


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "lycosa-tests" / "prometheus"


def _kept() -> str:
    path = _cache() / "usr" / "bin" / "promtool"
    return str(path) if os.access(path, os.X_OK) else ""


def _unpacked() -> str:
    """Downloads the package by name, as apt is set up here."""
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        return ""
    folder = _cache()
    folder.mkdir(parents=True, exist_ok=True)
    for command in (["apt-get", "update"], ["apt-get", "download", "prometheus"]):
        try:
            subprocess.run(command, cwd=folder, capture_output=True, timeout=100)
        except (OSError, subprocess.TimeoutExpired):
            return ""
    for package in folder.glob("prometheus_*.deb"):
        subprocess.run(["dpkg", "-x", package, folder], capture_output=True)
        package.unlink()
    return _kept()
