"""One epoll for everything an engine waits for: libcurl's sockets, DNS sockets and a wake-up.

Owns which file descriptor belongs to which callback, and the wake-up pipe that signal handlers
and the engine's other threads write to. Polling and serving are apart, so that the engine can look
at its lease between the two (P4). Knows nothing of HTTP, DNS or time. Only `wake` may be called
from another thread.
"""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable, Iterable

READ = select.EPOLLIN
WRITE = select.EPOLLOUT
# Reported whether asked for or not: both sides then find out by reading or writing.
TROUBLE = select.EPOLLERR | select.EPOLLHUP

Callback = Callable[[int, int], None]
Ready = tuple[Callback, int, int]

# The kernel has no room for another epoll entry: such descriptors are polled one by one.
_NO_ROOM = frozenset({errno.ENOSPC, errno.ENOMEM})
_FALLBACK_WAIT = 0.05  # seconds between looks at them


class Poller:
    """Callbacks by file descriptor. A callback gets (fd, events)."""

    def __init__(self, epoll: select.epoll | None = None) -> None:
        self._epoll = epoll or select.epoll()
        self._callbacks: dict[int, Callback] = {}
        self._forgotten: set[int] = set()  # since the last poll
        self._overflow: dict[int, int] = {}  # fd -> mask, for want of room in the epoll
        # A pipe, not an eventfd: signal.set_wakeup_fd writes one byte, which an eventfd refuses.
        self._wake_read, self.wake_fd = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._epoll.register(self._wake_read, READ)

    def __len__(self) -> int:
        return len(self._callbacks)

    def watch(self, fd: int, read: bool, write: bool, callback: Callback) -> None:
        """Call back when `fd` can be read or written; replaces what was asked before.

        Raises OSError for a descriptor that can't be polled (closed, a plain file).
        """
        mask = (READ if read else 0) | (WRITE if write else 0)
        try:
            if fd in self._callbacks and fd not in self._overflow:
                self._epoll.modify(fd, mask)
            elif fd not in self._overflow:
                self._epoll.register(fd, mask)
            else:
                self._overflow[fd] = mask
        except OSError as error:
            self._enter_again(fd, mask, error)
        self._callbacks[fd] = callback

    def _enter_again(self, fd: int, mask: int, error: OSError) -> None:
        try:
            if error.errno == errno.ENOENT:  # closed unseen and opened anew: no entry is left
                self._forgotten.add(fd)
                self._epoll.register(fd, mask)
            elif error.errno == errno.EEXIST:
                self._epoll.modify(fd, mask)
            else:
                raise error
        except OSError as last:
            if last.errno not in _NO_ROOM:
                self.forget(fd)
                raise
            self._overflow[fd] = mask

    def forget(self, fd: int) -> None:
        """No more callbacks for `fd`, nor for events already polled. Unknown ones are ignored."""
        if self._callbacks.pop(fd, None) is None:
            return
        self._forgotten.add(fd)
        if self._overflow.pop(fd, None) is not None:
            return
        try:
            self._epoll.unregister(fd)
        except OSError:  # closed already, which also took it out of the epoll
            pass

    def poll(self, timeout: float | None, max_events: int = 128) -> list[Ready]:
        """Wait at most `timeout` seconds (None: for ever) and say what is ready, serving nothing.

        Returns early, perhaps with an empty list, after `wake`.
        """
        self._forgotten.clear()
        if self._overflow:
            timeout = _FALLBACK_WAIT if timeout is None else min(timeout, _FALLBACK_WAIT)
        found = self._epoll.poll(timeout, max_events)
        if self._overflow:
            found += self._poll_overflow()
        ready: list[Ready] = []
        callbacks = self._callbacks
        for fd, events in found:
            callback = callbacks.get(fd)
            if callback is not None:
                ready.append((callback, fd, events))
            elif fd == self._wake_read:
                self._drain()
        return ready

    def serve(self, ready: Iterable[Ready]) -> None:
        """Run the callbacks, except for descriptors forgotten since they were polled.

        Such a number may already belong to a new socket, which the event is not about.
        """
        forgotten = self._forgotten
        for callback, fd, events in ready:
            if fd not in forgotten:
                callback(fd, events)

    def wake(self) -> None:
        """End the current or next `poll` at once. Safe in other threads and signal handlers."""
        try:
            os.write(self.wake_fd, b"\0")
        except BlockingIOError:  # the pipe is full of wake-ups: one more changes nothing
            pass

    def close(self) -> None:
        """Close the epoll and the pipe; the watched descriptors stay their owners'."""
        self._callbacks.clear()
        self._overflow.clear()
        self._epoll.close()
        os.close(self._wake_read)
        os.close(self.wake_fd)

    def _drain(self) -> None:
        try:
            os.read(self._wake_read, 65536)  # the size of a pipe: all of it
        except BlockingIOError:
            pass

    def _poll_overflow(self) -> list[tuple[int, int]]:
        # poll's bits for reading, writing, error and hang-up are those of epoll.
        poll = select.poll()
        for fd, mask in self._overflow.items():
            poll.register(fd, mask)
        return [(fd, events) for fd, events in poll.poll(0) if not events & select.POLLNVAL]
