"""Text on its way to a person's terminal. Owns which characters pass as they are.

Strangers write titles, URLs, headers and error messages: an escape sequence in one of them could
recolour, retitle or reprogram a terminal, a bidirectional override make a text read differently
from what it is. `guarded` puts a `VisibleStream` before both standard streams, so that no `print`,
log line or traceback can forget to escape; `in_json` escapes what stands in JSON, without a loss.
Only `progress.Screen`, which draws, writes to the stream itself, and escapes its texts before.
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
# Bounded, because strangers write parts of these lines.
_USER_INFO = re.compile(r"(://[^:/?#\s]{0,100}:)\S{0,100}@")
_SETTING = re.compile(r"(?i)((?:ssl)?pass(?:word|wd)?=)[^&\s]+")


def visible(text: str) -> str:
    """The text with everything that a terminal would obey or hide written out, as \\x1b."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub(_written, text)


def one_line(text: str) -> str:
    """The same on one line: a title with a newline must not look like a line of ours."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def redact(text: str) -> str:
    """The text without the passwords of URLs and of key=value settings in it."""
    return _SETTING.sub(r"\1***", _USER_INFO.sub(r"\1***@", text))


def in_json(text: str) -> str:
    """JSON text with the same characters escaped: it parses to the same value."""
    return _UNSEEN.sub(_escaped, text)


def _written(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD7C0 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


class VisibleStream:
    """A stream that makes what is written to it visible; everything else is the stream's own."""

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
    """The stream itself, for a caller that draws."""
    return stream.raw if isinstance(stream, VisibleStream) else stream


@contextmanager
def guarded() -> Iterator[None]:
    """Makes everything visible that is written to the standard streams."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # of a terminal that is not UTF-8
    sys.stdout, sys.stderr = (
        stream if isinstance(stream, VisibleStream) else cast(TextIO, VisibleStream(stream))
        for stream in before
    )
    try:
        yield  # after an exception they stay: its traceback is still to be printed
    except SystemExit:
        sys.stdout, sys.stderr = before
        raise
    sys.stdout, sys.stderr = before
