"""libcurl as curl_cffi ships it: with BoringSSL, whose handshakes cost half of OpenSSL's.

Owns handles, option numbers and the memory that libcurl only borrows. One `Easy` makes one request
at a time, `Multi` drives many from the engine's loop. What comes in goes to an `Easy`'s inbox.
Knows nothing of pages, limits and addresses. Nothing here imitates a browser.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

from lycosa.fetch import receive as plain

try:
    from lycosa.fetch import _receive as compiled
    from lycosa.fetch._receive import Inbox, Quota
except ImportError:  # there was no C compiler when lycosa was installed
    from lycosa.fetch.receive import Inbox, Quota

__all__ = ["Code", "CurlError", "Easy", "Headers", "Inbox", "Multi", "Quota", "version"]


def _load() -> tuple[Any, Any]:
    """curl_cffi's binding alone: the package around it, which we don't use, takes 0.1 s to load."""
    os.environ.pop("CURL_IMPERSONATE", None)  # libcurl would take on the looks of a browser
    package = find_spec("curl_cffi")
    folders = package.submodule_search_locations if package else None
    spec = PathFinder.find_spec("_wrapper", folders) if folders else None
    if spec is None or spec.loader is None:
        from curl_cffi import ffi, lib  # put together in another way than we know

        return ffi, lib
    binding: Any = module_from_spec(spec)
    spec.loader.exec_module(binding)
    return binding.ffi, binding.lib


ffi, lib = _load()

# Numbers of libcurl's public interface, which never change.
POLL_IN, POLL_OUT, POLL_REMOVE = 1, 2, 4
SELECT_IN, SELECT_OUT, SELECT_ERROR = 1, 2, 4
TIMEOUT = -1  # instead of a socket

_TEXT, _FUNCTION = 10_000, 20_000
USERAGENT, PROXY, PROTOCOLS = _TEXT + 18, _TEXT + 4, _TEXT + 318
SSL_EC_CURVES, CAINFO, CAPATH = _TEXT + 298, _TEXT + 65, _TEXT + 97
HTTP_VERSION, HTTP09_ALLOWED, BUFFERSIZE = 84, 285, 98
NOSIGNAL, DNS_CACHE_TIMEOUT, MAXAGE_CONN = 99, 92, 288
SSL_SESSIONID_CACHE, SSL_VERIFYPEER, SSL_VERIFYHOST = 150, 64, 81
HTTP_1_1 = 2

_ERRORBUFFER, _WORDS = _TEXT + 10, 256  # bytes that libcurl may write there
_URL, _REQUEST_TARGET, _FORBID_REUSE = _TEXT + 2, _TEXT + 266, 75
_HTTPHEADER, _CONNECT_TO = _TEXT + 23, _TEXT + 243
_WRITEFUNCTION, _WRITEDATA = _FUNCTION + 11, _TEXT + 1
_HEADERFUNCTION, _HEADERDATA = _FUNCTION + 79, _TEXT + 29
_PREREQFUNCTION, _PREREQDATA = _FUNCTION + 312, _TEXT + 313
_M_SOCKETFUNCTION, _M_SOCKETDATA = _FUNCTION + 1, _TEXT + 2
_M_TIMERFUNCTION, _M_TIMERDATA = _FUNCTION + 4, _TEXT + 5
_M_MAXCONNECTS = 6
_INFO_OS_ERRNO, _INFO_NUM_CONNECTS = 0x200000 + 25, 0x200000 + 26
_INFO_CONNECT, _INFO_FIRST_BYTE, _INFO_TLS = 0x600000 + 52, 0x600000 + 54, 0x600000 + 56

_NULL, _NO, _YES = ffi.NULL, ffi.new("long *", 0), ffi.new("long *", 1)
_handle_of, _buffer, _string = ffi.from_handle, ffi.buffer, ffi.string
_setopt, _socket_action = lib._curl_easy_setopt, lib.curl_multi_socket_action
_add_handle, _remove_handle = lib.curl_multi_add_handle, lib.curl_multi_remove_handle
_info_read, _getinfo = lib.curl_multi_info_read, lib.curl_easy_getinfo
_append, _free_list = lib.curl_slist_append, lib.curl_slist_free_all


class Code:
    """libcurl's verdicts on a transfer that are told apart here."""

    OK = 0
    RESOLVE, CONNECT = 6, 7
    PARTIAL, MEMORY, TIMED_OUT = 18, 27, 28
    TLS_CONNECT, INTERFACE = 35, 45
    NOTHING, ENGINE_MISSING, ENGINE_FAILED = 52, 53, 54
    SEND, RECEIVE = 55, 56
    CERTIFICATE, CIPHER, VERIFICATION = 58, 59, 60
    CA_FILE, SHUTDOWN, ISSUER, CERTIFICATE_STATUS = 77, 80, 83, 91


class CurlError(Exception):
    """libcurl refused an option or a handle."""


# For an Inbox that is not compiled.


@ffi.callback("size_t(void *, size_t, size_t, void *)")  # type: ignore[untyped-decorator]
def _on_header(data: Any, _size: int, count: int, inbox: Any) -> int:
    return count if _handle_of(inbox).take_header(_buffer(data, count)[:]) else 0


@ffi.callback("size_t(void *, size_t, size_t, void *)")  # type: ignore[untyped-decorator]
def _on_body(data: Any, _size: int, count: int, inbox: Any) -> int:
    return count if _handle_of(inbox).take_body(_buffer(data, count)[:]) else 0


@ffi.callback("int(void *, char *, char *, int, int)", error=1)  # type: ignore[untyped-decorator]
def _on_connected(inbox: Any, peer: Any, _local: Any, _port: int, _local_port: int) -> int:
    return 0 if _handle_of(inbox).receiver.on_connected(_string(peer).decode()) else 1


def _wires(inbox: Inbox) -> tuple[Any, Any, Any, Any]:
    """What libcurl calls: for a header line, a piece of the body, a connection; and with what."""
    if isinstance(inbox, plain.Inbox):
        return _on_header, _on_body, _on_connected, ffi.new_handle(inbox)
    numbers = (compiled.ON_HEADER, compiled.ON_BODY, compiled.ON_CONNECTED, id(inbox))
    header, body, connected, me = (ffi.cast("void *", number) for number in numbers)
    return header, body, connected, me


# An answer other than 0 would end all transfers.
@ffi.callback("int(void *, int, int, void *, void *)")  # type: ignore[untyped-decorator]
def _on_socket(_easy: Any, fd: int, what: int, multi: Any, _data: Any) -> int:
    _handle_of(multi).on_socket(fd, what)
    return 0


@ffi.callback("int(void *, long, void *)")  # type: ignore[untyped-decorator]
def _on_timer(_multi: Any, milliseconds: int, multi: Any) -> int:
    _handle_of(multi).on_timer(milliseconds)
    return 0


def version() -> str:
    """What libcurl says of itself."""
    return str(_string(lib.curl_version()).decode())


class Headers:
    """Request headers that many handles share; kept by each of them."""

    def __init__(self, lines: list[str]) -> None:
        self.list = _NULL
        for line in lines:
            self.list = _append(self.list, line.encode("latin-1"))

    def __del__(self) -> None:
        _free_list(self.list)


class Easy:
    """One handle, for one request after the other."""

    __slots__ = ("_borrowed", "_handle", "_multi", "_number", "_pin", "_times", "_words", "owner")

    def __init__(self, owner: object, inbox: Inbox, headers: Headers) -> None:
        self.owner = owner  # returned by `Multi.complete` when the request is
        self._handle = lib.curl_easy_init()
        self._multi: Multi | None = None  # that it is in: must not be freed before
        self._pin = _NULL
        self._number = ffi.new("long *")
        self._times = ffi.new("int64_t[3]")
        self._words = ffi.new("char[]", _WORDS)
        on_header, on_body, on_connected, me = _wires(inbox)
        self._borrowed = (inbox, me, headers)
        for option, value in (
            (_HTTPHEADER, headers.list),
            (_WRITEFUNCTION, on_body),
            (_WRITEDATA, me),
            (_HEADERFUNCTION, on_header),
            (_HEADERDATA, me),
            (_PREREQFUNCTION, on_connected),
            (_PREREQDATA, me),
            (_ERRORBUFFER, self._words),
        ):
            self._take(option, value)

    def set(self, option: int, value: int | str) -> None:
        """Set an option that libcurl copies. Raises CurlError."""
        if isinstance(value, str):
            self._take(option, os.fsencode(value))
        else:
            self._number[0] = value
            self._take(option, self._number)

    def aim(self, url: str, target: str, pin: str, keep: bool) -> None:
        """What to ask for, as it goes over the wire; and where: `pin` is '::ADDRESS:PORT', whatever
        the URL says. `keep` leaves the connection open. Raises CurlError, UnicodeError."""
        asked, path, place = url.encode("ascii"), target.encode("ascii"), pin.encode("ascii")
        handle, old = self._handle, self._pin
        self._words[0] = b"\0"
        self._pin = _append(_NULL, place)
        code = (
            _setopt(handle, _CONNECT_TO, self._pin)
            or _setopt(handle, _URL, asked)
            or _setopt(handle, _REQUEST_TARGET, path)
            or _setopt(handle, _FORBID_REUSE, _NO if keep else _YES)
        )
        _free_list(old)
        if code:
            raise CurlError(f"the request was refused: error {code}")

    def reason(self) -> str:
        """What libcurl or the TLS library said when the request failed, in its own words."""
        text = str(_string(self._words, _WORDS).decode("utf-8", "replace"))
        return "".join(char if char.isprintable() else " " for char in text).strip()

    def connects(self) -> int:
        """How many connections the request opened."""
        return self._info(_INFO_NUM_CONNECTS)

    def times(self) -> tuple[float, float, float]:
        """Seconds from the start of the request until it was connected, until TLS was agreed on,
        and until the first byte came; 0.0 for what did not happen."""
        times, handle = self._times, self._handle
        times[0] = times[1] = times[2] = 0
        _getinfo(handle, _INFO_CONNECT, times)
        _getinfo(handle, _INFO_TLS, times + 1)
        _getinfo(handle, _INFO_FIRST_BYTE, times + 2)
        return times[0] / 1e6, times[1] / 1e6, times[2] / 1e6

    def os_error(self) -> int:
        """errno of a failed connection, 0 if libcurl has none."""
        return self._info(_INFO_OS_ERRNO)

    def cut_off(self) -> None:
        """End a request under way and close its connection."""
        if self._multi is not None:
            self._multi.remove(self)

    def close(self) -> None:
        """Free everything; a request under way is cut off."""
        self.cut_off()
        if self._handle:
            lib.curl_easy_cleanup(self._handle)
            _free_list(self._pin)
            self._handle = self._pin = _NULL

    __del__ = close

    def _take(self, option: int, value: Any) -> None:
        if code := _setopt(self._handle, option, value):
            raise CurlError(f"option {option}: error {code}")

    def _info(self, what: int) -> int:
        lib.curl_easy_getinfo(self._handle, what, self._number)
        return int(self._number[0])


class Multi:
    """Handles in flight, driven by whoever watches their sockets and the one timer.

    `on_socket(fd, POLL_...)` says what to wait for, `on_timer(milliseconds)` when to act on TIMEOUT
    (-1: never). Neither may raise.
    """

    def __init__(
        self,
        on_socket: Callable[[int, int], None],
        on_timer: Callable[[int], None],
        connections: int,
    ) -> None:
        self.on_socket = on_socket
        self.on_timer = on_timer
        self._handle = lib.curl_multi_init()
        self._easies: dict[Any, Easy] = {}
        self._running = 0  # of those, not complete
        self._number = ffi.new("int *")  # for what is running
        self._left = ffi.new("int *")  # messages left, which libcurl tells and nobody reads
        self._me = ffi.new_handle(self)
        for option, value in (
            (_M_SOCKETFUNCTION, _on_socket),
            (_M_SOCKETDATA, self._me),
            (_M_TIMERFUNCTION, _on_timer),
            (_M_TIMERDATA, self._me),
            (_M_MAXCONNECTS, ffi.cast("void *", connections)),
        ):
            if code := lib.curl_multi_setopt(self._handle, option, value):
                raise CurlError(f"option {option} of the multi handle: error {code}")

    def add(self, easy: Easy) -> None:
        """Start its request."""
        if code := _add_handle(self._handle, easy._handle):
            raise CurlError(f"the request was refused: error {code}")
        easy._multi = self
        self._easies[easy._handle] = easy
        self._running += 1

    def remove(self, easy: Easy) -> None:
        """Cut its request off and close the connection."""
        _remove_handle(self._handle, easy._handle)
        del self._easies[easy._handle]
        easy._multi = None
        self._running -= 1

    def act(self, fd: int, what: int) -> bool:
        """Serve a socket (or TIMEOUT); False if libcurl found something wrong with that."""
        if _socket_action(self._handle, fd, what, self._number):
            return False
        self._running = self._number[0]
        return True

    @property
    def has_ended(self) -> bool:
        """Whether `complete` would find something."""
        return self._running < len(self._easies)

    def complete(self) -> list[tuple[object, int]]:
        """Take out what ended since the last look: its owner, and libcurl's Code."""
        ended: list[tuple[object, int]] = []
        while self.has_ended:
            message = _info_read(self._handle, self._left)
            if not message:
                break
            handle, code = message.easy_handle, message.data.result
            _remove_handle(self._handle, handle)
            easy = self._easies.pop(handle)
            easy._multi = None
            ended.append((easy.owner, code))
        return ended

    def close(self) -> None:
        """Close all connections; requests under way are cut off."""
        for easy in list(self._easies.values()):
            self.remove(easy)
        if self._handle:
            lib.curl_multi_cleanup(self._handle)
            self._handle = _NULL
