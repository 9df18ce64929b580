"""One c-ares channel with its sockets in the engine's poller.

Owns the sockets, and the two counts that tell whose fault a failure is. c-ares closes a socket on
which it could not read a reply and charges every question that was under way there, whoever the
reply was for. Knows nothing of names, caches and deadlines, which `dns` owns.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

import pycares

from lycosa.errors import UserError
from lycosa.fetch.poller import READ, TROUBLE, WRITE, Poller

_PEEK = socket.MSG_PEEK | socket.MSG_DONTWAIT

# What came of a question: the reply, or None and c-ares' error.
Note = Callable[[pycares.DNSResult | None, int | None], None]


class Line:
    """Questions to the name servers. `served` runs after c-ares, with all notes taken."""

    def __init__(
        self,
        poller: Poller,
        nameservers: list[str] | None,
        timeout: float,
        tries: int,
        served: Callable[[], None],
        receive_buffer: int | None = None,
    ) -> None:
        self.heard = 0  # times that something came from a server
        self.closings = 0  # sockets that c-ares closed because of what came over them
        self._serving = -1
        self._poller = poller
        self._served = served
        self._fds: dict[int, bool] = {}  # whether it is a stream
        self._closed = False
        self._channel = self._open(nameservers, timeout, tries, receive_buffer)

    def _open(
        self, nameservers: list[str] | None, timeout: float, tries: int, receive_buffer: int | None
    ) -> pycares.Channel:
        flags = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_STAYOPEN | pycares.ARES_FLAG_EDNS
        try:
            return pycares.Channel(
                servers=nameservers,
                timeout=timeout,
                tries=tries,
                flags=flags,
                sock_state_cb=self._on_socket_state,
                socket_receive_buffer_size=receive_buffer,
            )
        except (pycares.AresError, UnicodeError) as error:
            raise UserError(
                f"Name servers {nameservers} can't be used: give addresses such as 192.0.2.1:53."
            ) from error

    def ask(self, host: str, query_type: int, note: Note) -> None:
        """Put a question. `note` runs inside c-ares, for a bad name twice: the first one counts."""
        try:
            self._channel.query(host, query_type, callback=note)
        except pycares.AresError as error:
            note(None, error.args[0])

    def tick(self) -> None:
        """Let c-ares repeat what is due."""
        self._channel.process_fd(-1, -1)

    def forget_answers(self) -> None:
        """Empty c-ares' own cache; questions under way go on."""
        self._channel.reinit()

    def cancel(self) -> None:
        """Give up every question."""
        self._channel.cancel()

    def close(self) -> None:
        """Close the sockets; c-ares does so on a thread of its own, later: they leave the poller
        first."""
        self._closed = True
        for fd in self._fds:
            self._poller.forget(fd)
        self._fds.clear()
        self._channel.cancel()
        self._channel.close()

    def _on_socket_state(self, fd: int, readable: bool, writable: bool) -> None:
        """Runs inside c-ares, where an exception would be printed and lost."""
        if self._closed:
            return
        try:
            if readable or writable:
                if fd not in self._fds:
                    self._fds[fd] = _is_stream(fd)
                self._poller.watch(fd, readable, writable, self._on_ready)
            else:
                self.closings += fd == self._serving  # c-ares closes idle ones at other times
                self._fds.pop(fd, None)
                self._poller.forget(fd)
        except OSError:
            self._fds.pop(fd, None)  # its lookups end by their deadline

    def _on_ready(self, fd: int, events: int) -> None:
        if events & READ and not events & TROUBLE:
            self.heard += 1
        read = fd if events & (READ | TROUBLE) else -1
        self._serving = fd
        self._channel.process_fd(read, fd if events & WRITE else -1)
        if read >= 0 and self._fds.get(fd) and _has_ended(fd):
            # c-ares misses the end of a stream behind half a reply, and would be woken for ever.
            _break(fd)
            self._channel.process_fd(fd, -1)
        self._serving = -1
        self._served()


def _is_stream(fd: int) -> bool:
    with socket.socket(fileno=os.dup(fd)) as same:
        return same.type == socket.SOCK_STREAM


def _has_ended(fd: int) -> bool:
    """Whether the other side closed a stream, and nothing is left to be read."""
    with socket.socket(fileno=os.dup(fd)) as same:
        try:
            return not same.recv(1, _PEEK)
        except OSError:
            return False


def _break(fd: int) -> None:
    """Make reading from a descriptor an error."""
    with socket.socket() as unconnected:
        os.dup2(unconnected.fileno(), fd)
