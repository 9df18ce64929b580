"""How the user called this program, so that commands in messages can be typed as they stand.

`scripts/lycosa` tells it in a variable, which engines inherit; else the process's own words do.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from functools import cache

VARIABLE = "_LYCOSA_CALLED"  # not LYCOSA_…: those are settings, and others are refused
NAME = "lycosa"


def called(*words: object) -> str:
    """A command of this program as the user would type it here, quoted for a shell."""
    return " ".join([_program(), *(shlex.quote(str(word)) for word in words)])


def pip_install(package: str) -> str:
    """The command that installs a package where this program runs."""
    return f"{shlex.quote(_shortest(sys.executable))} -m pip install {shlex.quote(package)}"


@cache
def _program() -> str:
    return program(os.environ.get(VARIABLE, ""), sys.argv[0], sys.orig_argv)


def program(told: str, path: str, typed: list[str]) -> str:
    """The name by which the program was started. `told`: by the script that started it; `path`
    and `typed`: what Python makes of the command line, and the line itself."""
    place = told or path
    if os.path.basename(place) == NAME:
        return shlex.quote(_shortest(place))
    if path.endswith(os.path.join(NAME, "__main__.py")):
        return f"{shlex.quote(_shortest(typed[0]))} -m {NAME}"
    return NAME  # run by another program, such as a test


def _shortest(path: str) -> str:
    """The bare name where the shell finds the same file by it."""
    name = os.path.basename(path)
    found = shutil.which(name)
    return name if found and os.path.abspath(found) == os.path.abspath(path) else path
