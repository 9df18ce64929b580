"""What comes in over one libcurl handle: its header lines and its body, up to a limit.

Owns the counting: how much of a body is wanted, and how much all bodies under way may hold. The
receiver decides what is worth receiving. The compiled `_receive` does the same without the
interpreter in between; this module is used where that one could not be built.
"""

from __future__ import annotations

from typing import Protocol


class Receiver(Protocol):
    """Asked from inside libcurl, where an exception would be printed and lost: must not raise."""

    def on_connected(self, peer: str) -> bool:
        """Before a request is sent: whether it may be."""

    def on_body(self, first: bytes) -> int:
        """At the first piece of a body: how many bytes of it are wanted, 0 for none."""


class Quota:
    """Bytes that all bodies under way may hold together."""

    __slots__ = ("limit", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0


class Inbox:
    """Header lines and body of one response after the other."""

    __slots__ = (
        "_body",
        "_head",
        "_limit",
        "_quota",
        "cut",
        "heard",
        "receiver",
        "refused",
        "size",
    )

    def __init__(self, receiver: Receiver, quota: Quota) -> None:
        self.receiver = receiver
        self._quota = quota
        self.size = 0
        self.empty()

    def empty(self) -> None:
        """Forget everything, and give its share of the quota back."""
        self._quota.used -= self.size
        self._head: list[bytes] = []
        self._body: list[bytes] = []
        self._limit = 0  # of the body; 0 until its first piece has come
        self.heard = 0  # bytes of headers
        self.size = 0  # bytes of the body
        self.cut = False  # there was more than wanted
        self.refused = False  # the quota was used up

    def head(self) -> bytes:
        """All header lines as they came, those of 1xx responses and trailers among them."""
        return b"".join(self._head)

    def body(self) -> bytes:
        """What was taken of the body."""
        return b"".join(self._body)

    def take_header(self, line: bytes) -> bool:
        """For libcurl: one line. False ends the transfer, here and below."""
        self._head.append(line)
        self.heard += len(line)
        return True

    def take_body(self, piece: bytes) -> bool:
        """For libcurl: a piece of the body."""
        self._limit = self._limit or self.receiver.on_body(piece)
        if not self._limit:
            return False
        self.cut = self.size + len(piece) > self._limit
        piece = piece[: self._limit - self.size]
        self._body.append(piece)
        self.size += len(piece)
        self._quota.used += len(piece)
        self.refused = self._quota.used > self._quota.limit
        return not (self.cut or self.refused)
