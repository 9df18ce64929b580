"""The door through which text reaches a person's terminal. Owns what may pass it as it is.

Titles, URLs, headers and error messages are written by strangers: an escape sequence in one of
them could recolour, retitle or reprogram a terminal, a bidirectional override make a text read
differently from what it is. `guarded` puts the door into the standard streams, so that no `print`,
log line or traceback can forget it; what stands in JSON is escaped by `in_json`, without a loss.
Only `progress.Screen`, which draws, goes past it, with texts that are visible already.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

# C0 but for newline and tab, DEL and C1; soft hyphen, joiners, marks of direction, their overrides
# and isolates, line and paragraph separators, invisible operators, byte order marks, tags; halves
# of surrogate pairs, which can't be written at all.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
# Bounded: what is blanked out stands in lines that strangers have written parts of.
_USER_INFO = re.compile(r"(://[^:/?#\s]{0,100}:)\S{0,100}@")
_SETTING = re.compile(r"(?i)((?:ssl)?pass(?:word|wd)?=)[^&\s]+")


def visible(text: str) -> str:
    """The text with everything that a terminal would obey or hide written out, as \\x1b."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub(_written, text)


def one_line(text: str) -> str:
    """The same for what must stay on its line: a title must not look like a line of ours."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def redact(text: str) -> str:
    """The text without the passwords of URLs and of key=value settings in it."""
    return _SETTING.sub(r"\1***", _USER_INFO.sub(r"\1***@", text))


def in_json(text: str) -> str:
    """JSON text in which such characters are escaped: the same value for whoever parses it."""
    return _UNSEEN.sub(_escaped, text)


def _written(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD7C0 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


class Door:
    """A stream that shows what it is given; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        self.raw.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def raw(stream: TextIO) -> TextIO:
    """The stream behind the door, for who draws."""
    return stream.raw if isinstance(stream, Door) else stream


@contextmanager
def guarded() -> Iterator[None]:
    """Everything that is written to the standard streams passes the door."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # of a terminal that is not UTF-8
    sys.stdout, sys.stderr = (
        stream if isinstance(stream, Door) else cast(TextIO, Door(stream)) for stream in before
    )
    try:
        yield  # after a fault the door stays: its traceback is still to be printed
    except SystemExit:
        sys.stdout, sys.stderr = before
        raise
    sys.stdout, sys.stderr = before
