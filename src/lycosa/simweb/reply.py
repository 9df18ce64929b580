"""An HTTP answer as bytes, with how it is to be sent. Pure: no sockets, no clock.

Owns the status lines and framing. `pages`, `hostile` and `malice` make replies, `connection` sends
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

# What a stream yields: bytes to send, or seconds to wait before the next of them.
Stream = Iterator[bytes | float]

_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
HANG = 1e9  # seconds to hold a response that never comes


class Reply:
    """What to send for one request."""

    __slots__ = ("close", "data", "hold", "location", "reset", "retry_after", "status", "stream")

    def __init__(self, status: int, data: bytes = b"", *, close: bool = False) -> None:
        self.status = status  # 0: nothing that looks like a response
        self.data = data  # head and body; what comes first if there is a stream
        self.close = close  # the connection, after it
        self.hold = 0.0  # seconds before the first byte
        self.stream: Stream | None = None
        self.reset = False  # close with RST
        self.location = ""  # as sent, for the log
        self.retry_after = 0  # seconds, as sent


def head(status: int, lines: str, *, keep: bool) -> bytes:
    """Status line and headers up to the blank line."""
    connection = b"Connection: keep-alive\r\n\r\n" if keep else b"Connection: close\r\n\r\n"
    return _LINES[status] + lines.encode("latin-1") + connection


def whole(status: int, body: bytes, *, keep: bool, kind: str, lines: str = "") -> Reply:
    """A response with a length."""
    text = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n{lines}"
    return Reply(status, head(status, text, keep=keep) + body, close=not keep)


def redirect(location: str, *, keep: bool, status: int = 301) -> Reply:
    """A redirect with a short body."""
    body = f'<html><body>Moved <a href="{location}">there</a>.</body></html>\n'.encode()
    lines = f"Location: {location}\r\n"
    reply = whole(status, body, keep=keep, kind="text/html", lines=lines)
    reply.location = location
    return reply


def busy(status: int, retry_after: int, *, keep: bool) -> Reply:
    """503 or 429; with Retry-After if not 0."""
    lines = f"Retry-After: {retry_after}\r\n" if retry_after else ""
    reply = whole(status, b"Come back later.\n", keep=keep, kind="text/plain", lines=lines)
    reply.retry_after = retry_after
    return reply


def streamed(lines: str, stream: Stream, *, kind: str = "text/html; charset=utf-8") -> Reply:
    """A 200 without length: the stream is the body, the close its end."""
    reply = Reply(200, head(200, f"Content-Type: {kind}\r\n{lines}", keep=False), close=True)
    reply.stream = stream
    return reply


def raw(data: bytes, *, status: int = 0, stream: Stream | None = None) -> Reply:
    """Bytes that need not be HTTP, then close."""
    reply = Reply(status, data, close=True)
    reply.stream = stream
    return reply
