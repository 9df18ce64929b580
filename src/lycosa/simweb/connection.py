"""One client's connection: reads requests, logs them, sends the replies.

Owns the part of HTTP that a server of GET requests needs, keep-alive, and the states of one
connection: handshake, waiting for a request, holding a reply back, sending. It knows no pages and
no names.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
import time
from typing import TYPE_CHECKING

from lycosa.simweb.reply import Reply

if TYPE_CHECKING:
    from lycosa.simweb.server import Server

MAX_REQUEST = 64 << 10  # bytes
_READ = select.EPOLLIN | select.EPOLLRDHUP
_WRITE = select.EPOLLOUT | select.EPOLLRDHUP
_GONE = select.EPOLLHUP | select.EPOLLRDHUP | select.EPOLLERR
_RST_ON_CLOSE = struct.pack("ii", 1, 0)
_WANTS = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)


def header(head: bytes, lower: bytes, name: bytes) -> str:
    """The value of a header, or ''. `name` as in b'\\r\\nhost:'."""
    at = lower.find(name)
    if at < 0:
        return ""
    at += len(name)
    end = head.find(b"\r\n", at)
    return head[at : end if end >= 0 else None].strip().decode("latin-1").replace("\t", " ")


class Connection:
    """One accepted socket."""

    __slots__ = (
        "_events", "_fd", "_handshake", "_in", "_log", "_out", "_pages", "_reply", "_request",
        "_scheme", "_sent_ns", "_server", "_sock", "_ticket",
    )  # fmt: skip

    def __init__(self, server: Server, sock: socket.socket, scheme: str) -> None:
        self._server, self._sock, self._scheme = server, sock, scheme
        self._log, self._pages = server.log, server.pages
        self._handshake = isinstance(sock, ssl.SSLSocket)
        self._in = b""
        self._out: bytes | memoryview = b""
        self._reply: Reply | None = None
        self._request = 0  # its id in the log
        self._sent_ns = 0  # when the last piece was handed to the kernel
        self._ticket = 0  # counts waits, so that the timer of an earlier wait does nothing
        self._fd = sock.fileno()
        self._events = _READ
        server.loop.add(self._fd, self, _READ)

    def ready(self, events: int) -> None:
        """The socket has something to do."""
        if self._handshake:
            self._shake()
        elif self._reply is None:
            self._read()
        elif events & _GONE:
            self.drop()
        elif events & select.EPOLLOUT:
            self._send()
        elif events & select.EPOLLIN:
            self._read()  # more than one request at once, or data after the request

    def wake(self, ticket: int) -> None:
        """A wait is over."""
        if ticket == self._ticket and self._reply is not None:
            self._send()

    def drop(self) -> None:
        """Ends the connection, and in the log the request that it was about."""
        if self._reply is not None:
            self._note_end(time.monotonic_ns())
        self._close()

    # Reading

    def _shake(self) -> None:
        try:
            self._sock.do_handshake()  # type: ignore[attr-defined]
        except ssl.SSLWantReadError:
            return self._watch(_READ)
        except ssl.SSLWantWriteError:
            return self._watch(_WRITE)
        except (OSError, ValueError):
            return self._close()
        self._handshake = False
        self._server.counts.handshakes += 1
        self._watch(_READ)
        return self._read()

    def _read(self) -> None:
        try:
            data = self._sock.recv(65536)
        except _WANTS:
            return
        except OSError:
            data = b""
        self._in += data
        if not data or len(self._in) > MAX_REQUEST:
            self.drop()
        elif self._reply is None:
            self._next_request()

    def _next_request(self) -> None:
        """Starts on the request in the buffer, if it is there whole."""
        end = self._in.find(b"\r\n\r\n")
        if end < 0:
            return
        head, self._in = self._in[:end], self._in[end + 4 :]
        line, _, _ = head.partition(b"\r\n")
        words = line.split(b" ")
        if len(words) != 3 or words[0] != b"GET" or b"\t" in line:
            self._close()
            return
        self._take(head, words[1].decode("latin-1"))

    def _take(self, head: bytes, target: str) -> None:
        """Logs the request and finds its reply; `answer` is called when the log is written."""
        start, lower = time.monotonic_ns(), head.lower()
        host = header(lower, lower, b"\r\nhost:")
        agent = header(head, lower, b"\r\nuser-agent:")
        keep = b"\r\nconnection: close" not in lower
        gzip = "gzip" in header(lower, lower, b"\r\naccept-encoding:")
        self._request = self._log.begin(time.time_ns(), start, self._scheme, host, target, agent)
        name = host.partition(":")[0]
        reply = self._pages.respond(self._scheme, name, target, gzip=gzip, keep=keep)
        self._reply, self._out, self._sent_ns = reply, reply.data, 0
        self._server.answers.append(self)

    # Sending

    def answer(self) -> None:
        """Begins to send the reply, or to hold it back."""
        reply = self._reply
        if reply is None:
            return  # the client left meanwhile
        if reply.hold:
            self._hold(reply.hold)
        else:
            self._send()

    def _hold(self, seconds: float) -> None:
        self._ticket += 1
        self._watch(select.EPOLLRDHUP)
        self._server.loop.later(seconds, self, self._ticket)

    def _send(self) -> None:
        """Sends as much as the socket takes; one piece of a stream at a time."""
        if not self._out and not self._refill():
            return None
        # Taken before the send: the client may act on the last byte before this process runs again.
        self._sent_ns = time.monotonic_ns()
        try:
            sent = self._sock.send(self._out) if self._out else 0
        except _WANTS:
            return self._watch(_WRITE)
        except OSError:
            return self.drop()
        if sent < len(self._out):
            self._out = memoryview(self._out)[sent:]
            return self._watch(_WRITE)
        self._out = b""
        reply = self._reply
        if reply is None or reply.stream is None:
            return self._finish()
        return self._watch(_WRITE)

    def _refill(self) -> bool:
        """Takes the next piece of the reply's stream; False if there is nothing to send now."""
        reply = self._reply
        if reply is None or reply.stream is None:
            return True
        piece = next(reply.stream, None)
        if isinstance(piece, float):
            self._hold(piece)
        elif piece is None:
            self._finish()
        else:
            self._out = piece
            return True
        return False

    def _finish(self) -> None:
        """The reply is out: next request, or the end."""
        reply = self._reply
        self._note_end(self._sent_ns or time.monotonic_ns())
        if reply is None or reply.close:
            if reply is not None and reply.reset:
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_ON_CLOSE)
            elif isinstance(self._sock, ssl.SSLSocket):
                self._say_goodbye(self._sock)
            return self._close()
        self._watch(_READ)
        if self._in:
            self._next_request()
        return None

    @staticmethod
    def _say_goodbye(sock: ssl.SSLSocket) -> None:
        """TLS must say that the body ends here, where only the end of the connection tells."""
        try:
            sock.unwrap()
        except (OSError, ValueError):
            pass  # the client's answer is not waited for

    def _note_end(self, end_ns: int) -> None:
        reply, self._reply = self._reply, None
        if reply is not None:
            # Held to the end: no byte was sent, whatever the status would have been.
            status = reply.status if self._sent_ns else 0
            self._log.end(self._request, end_ns, status, reply.retry_after, reply.location)

    def _watch(self, events: int) -> None:
        if events != self._events:
            self._events = events
            self._server.loop.epoll.modify(self._fd, events)

    def _close(self) -> None:
        self._server.loop.remove(self._fd)
        self._sock.close()
