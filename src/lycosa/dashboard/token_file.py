"""The token of a dashboard: 0600 in the data directory, made once, the same at every start."""

from __future__ import annotations

import re
import secrets
import stat
from pathlib import Path

from lycosa import ownfiles
from lycosa.errors import UserError

NAME = "dashboard-token"
LEAST = 16  # characters of a token that a user wrote
_good = re.compile(r"[\x21-\x7e]{16,200}").fullmatch


def new_token() -> str:
    return secrets.token_urlsafe(24)


def own_token(directory: Path) -> str:
    """The token in the data directory; made if there is none that only we can read."""
    path = directory / NAME
    try:
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) == ownfiles.FILE:
            found = path.read_text("ascii").strip()
            if _good(found):
                return found
    except (OSError, ValueError):
        pass
    token = new_token()
    try:
        ownfiles.write_durably(path, f"{token}\n".encode())
    except (OSError, UserError):
        pass  # of a copy that can't be written to: the token holds for this start
    return token


def token_from(path: Path) -> str:
    """The token that a user wrote into a file; UserError if others can read it, or it is none."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UserError(f"The token file {path} can't be read: {told}.") from error
    if mode & 0o077:
        raise UserError(f"Others can read the token file {path}: 'chmod 600' it.")
    if not _good(text):
        raise UserError(
            f"The token file {path} holds no token: one line of {LEAST} to 200 letters, digits and"
            " signs, without blanks."
        )
    return text
