"""A headless Chromium that says what a page reads like: `innerText`, with scripts off.

The browser is that of the system, or Debian's, unpacked without root (`python -m support.chromium`,
which scripts/test runs). Owns the process and the few messages of the DevTools protocol that it
takes, over a pipe: no port is opened. A page is given as bytes; everything else that the browser
asks for is refused, so that nothing leaves the machine and no outside style counts. The profile is
empty, and goes with it.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path
from types import TracebackType
from typing import Any

from support import debian_program

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ABSENT = (
    "Chromium is not installed (on Debian: apt install chromium) and could not be unpacked from"
    " Debian's package, and this needs it"
)
PACKAGE = "chromium"
_FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{root}/usr/share/fonts</dir><dir>/usr/share/fonts</dir>
<cachedir>{root}/fontcache</cachedir></fontconfig>
"""
_PLACE = "http://page.invalid/"
_SECONDS = 300.0  # for one answer, on a busy machine
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-sync"),
    *("--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND"),
    *("--remote-debugging-pipe", "about:blank"),
)


def found() -> str:
    """The path of a Chromium, '' if there is none."""
    if path := next(filter(None, map(shutil.which, NAMES)), ""):
        return path
    root = debian_program.kept(PACKAGE)
    return str(_starter(root)) if root and _starter(root).exists() else ""


def _starter(root: Path) -> Path:
    """A script that starts the unpacked browser with what lies around it."""
    return root / "chromium"


def unpack() -> None:
    """Take Debian's package if there is no Chromium; raises LookupError if it can't be had."""
    if found():
        return
    root = debian_program.unpacked(PACKAGE)
    (root / "fonts.conf").write_text(_FONTS.format(root=root), "utf-8")
    libraries = debian_program.environment(root)["LD_LIBRARY_PATH"]
    lines = (
        "#!/bin/sh",
        f"export LD_LIBRARY_PATH={shlex.quote(libraries)}",
        f"export FONTCONFIG_FILE={shlex.quote(str(root / 'fonts.conf'))}",
        f'exec {shlex.quote(str(root / "usr/lib/chromium/chromium"))} "$@"',
    )
    _starter(root).write_text("\n".join(lines) + "\n", "utf-8")
    _starter(root).chmod(0o755)


class Chromium:
    """One browser with one tab."""

    def __init__(self) -> None:
        self._closing = contextlib.ExitStack()
        self._profile = self._closing.enter_context(
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        )
        self._serial = 0
        self._unread = b""
        self._events: list[dict[str, Any]] = []
        self._start()
        target = self._call("Target.createTarget", {"url": "about:blank"}, "")["targetId"]
        attach = {"targetId": target, "flatten": True}
        self._tab: str = self._call("Target.attachToTarget", attach, "")["sessionId"]
        self._call("Page.enable")
        self._call("Emulation.setScriptExecutionDisabled", {"value": True})
        self._call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})

    def _start(self) -> None:
        """The browser reads messages from descriptor 3 and writes to 4."""
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        self._closing.callback(os.close, self._write)
        self._closing.callback(os.close, self._read)
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (read, write)]

        def take_ends() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [found(), *_FLAGS[:-1], f"--user-data-dir={self._profile}", _FLAGS[-1]],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._profile}, close_fds=False, preexec_fn=take_ends,
        )  # fmt: skip
        for end in (read, write, *ends):
            os.close(end)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self._call("Browser.close", {}, "")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._closing.close()

    def text(self, page: bytes) -> str:
        """What `document.body.innerText` is for a page in UTF-8."""
        self._load(page)
        wanted = {"expression": "document.body ? document.body.innerText : ''"}
        return str(self._call("Runtime.evaluate", wanted)["result"]["value"])

    def _load(self, page: bytes) -> None:
        self._events.clear()
        serial = self._send("Page.navigate", {"url": _PLACE}, self._tab)
        given = False
        while True:
            event = self._events.pop(0) if self._events else self._next()
            if event.get("id") == serial and "error" in event:
                raise RuntimeError(str(event["error"]))
            if event.get("method") == "Page.loadEventFired" and given:
                return
            if event.get("method") == "Fetch.requestPaused":
                given = self._answer(event["params"], page, given)

    def _answer(self, asked: dict[str, Any], page: bytes, given: bool) -> bool:
        """The first request is the page's; all others fail. Whether the page was given by now."""
        request = {"requestId": asked["requestId"]}
        if given or asked["request"]["url"] != _PLACE:
            refused = {**request, "errorReason": "BlockedByClient"}
            self._send("Fetch.failRequest", refused, self._tab)
            return given
        head = {"name": "Content-Type", "value": "text/html; charset=utf-8"}
        body = base64.b64encode(page).decode()
        answer = {**request, "responseCode": 200, "responseHeaders": [head], "body": body}
        self._send("Fetch.fulfillRequest", answer, self._tab)
        return True

    # -- messages -----------------------------------------------------------------------------

    def _send(self, method: str, params: dict[str, Any], session: str) -> int:
        self._serial += 1
        message = {"id": self._serial, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        return self._serial

    def _call(
        self, method: str, params: dict[str, Any] | None = None, session: str | None = None
    ) -> dict[str, Any]:
        serial = self._send(method, params or {}, self._tab if session is None else session)
        while (message := self._next()).get("id") != serial:
            self._events.append(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return dict(message["result"])

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _SECONDS
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self._read, 1 << 16) if ready else b""
            if not data:
                raise RuntimeError("Chromium ended or does not answer")
            self._unread += data
        message, _, self._unread = self._unread.partition(b"\0")
        return dict(json.loads(message))


def pages_under(place: Path) -> list[Path]:
    """The HTML files under a directory, in the order of their names."""
    return sorted(path for path in place.rglob("*.html") if path.is_file())


_INVISIBLE = {"Cf", "Cc", "Cn", "Co"}


def tokens(text: str) -> list[str]:
    """Words and single other characters, the same however they are written: compatibility forms,
    case and what can't be seen do not count."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = "".join(
        each for each in text if each in "\t\n\x85" or unicodedata.category(each) not in _INVISIBLE
    )
    return _TOKEN.findall(text)


_TOKEN = re.compile(r"\w+|[^\w\s]")


def main() -> int:
    """What scripts/test runs: says why where there will be no browser, and is no failure then."""
    if not found():
        print("lycosa: unpacking Chromium into .venv for tests of the dashboard (once) ...")
        try:
            unpack()
        except LookupError as error:
            print(f"lycosa: Chromium could not be unpacked: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
