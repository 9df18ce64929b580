"""Tells others how a run goes (--notify): a URL by a POST, or a command on its standard input.

Each receiver has a thread and a short queue of its own: one that fails, is slow or hangs holds
neither the crawl nor another one, and is named once in the log. A URL or command may hold secrets:
of a URL only the host is printed, of a command its first word. What nothing can be told is refused
before a run begins (`check_receivers`).
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import threading
import urllib.request
from base64 import b64encode
from pathlib import PurePath
from urllib.parse import unquote, urlsplit

import orjson

from lycosa.clock import engine_now
from lycosa.errors import UserError
from lycosa.log import get_logger

TIMEOUT = 10.0  # seconds for a URL to answer
COMMAND_TIMEOUT = 60.0  # seconds for a command to end
WAITING = 100  # events that wait for a receiver; more are lost
END_WAIT = 5.0  # seconds for which the end of a run waits for its last events

log = get_logger("notify")


def is_url(receiver: str) -> bool:
    return receiver.lower().startswith(("http://", "https://"))


def shown(receiver: str) -> str:
    """A receiver without what may be secret in it."""
    if is_url(receiver):
        with contextlib.suppress(ValueError):
            return urlsplit(receiver).hostname or "a URL"
        return "a URL"
    try:
        return PurePath(shlex.split(receiver)[0]).name
    except (ValueError, IndexError):
        return "a command"


def check_receivers(receivers: tuple[str, ...]) -> None:
    """Raise UserError for what can't be told anything; the sentence holds no secret."""
    for each in receivers:
        wrong = _wrong_url(each) if _SCHEME.match(each) else _wrong_command(each)
        if wrong:
            raise UserError(f"--notify {wrong}.")


_SCHEME = re.compile(r"\s*[a-z][a-z0-9+.-]*:/", re.IGNORECASE)
_PLAIN = re.compile(r"[\w./+-]+")  # a word that means itself in a shell
_SETS = re.compile(r"\w+=")


def _wrong_url(url: str) -> str:
    """What is wrong with a URL, '' if nothing is."""
    advice = "write it as https://example.org/path"
    if any(letter.isspace() for letter in url):
        return f"has a URL with a space in it: {advice}"
    if not is_url(url):
        return f"can't tell a URL of '{url.partition(':')[0]}' anything: {advice}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        what = "port" if "port" in str(error).lower() else "host"
        return f"has a URL with a {what} that can't be: {advice}"
    if not host:
        return f"has a URL without a host: {advice}"
    return f"has a URL with a port that can't be: {advice}" if port == 0 else ""


def _wrong_command(command: str) -> str:
    """What is wrong with a command, '' if nothing is or only running it would tell."""
    if not command.strip():
        return "is empty: name a URL or a command"
    if "\0" in command or not _succeeds("/bin/sh", "-n", "-c", command):
        return "has a command that the shell can't read: check its quotes"
    words = [word for word in _words(command) if not _SETS.match(word)]
    if not words or not _PLAIN.fullmatch(words[0]) or _known_command(words[0]):
        return ""
    name = shown(words[0])
    return f"names the command '{name}', which is not there or can't be run: check its path"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # the shell reads more than this, as documents in the line
        return []


def _known_command(word: str) -> bool:
    """Whether the shell has a program of this name, or is one itself, as 'if' and 'cd'."""
    if shutil.which(word):
        return True
    return "/" not in word and _succeeds("/bin/sh", "-c", 'command -v "$1"', "sh", word)


def _succeeds(*words: str) -> bool:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True)
    return done.returncode == 0


class Notifier:
    """All receivers of one run."""

    def __init__(self, receivers: tuple[str, ...]) -> None:
        self._receivers = [_Receiver(each) for each in receivers]

    def __bool__(self) -> bool:
        return bool(self._receivers)

    def tell(self, event: dict[str, object]) -> None:
        """Tell all of them; returns at once."""
        if self._receivers:
            message = orjson.dumps(event, default=str)
            for each in self._receivers:
                each.put(message)

    def close(self) -> None:
        """Give the last events a moment to go out."""
        end = engine_now() + END_WAIT
        for each in self._receivers:
            each.close(max(0.0, end - engine_now()))


class _Receiver:
    """One URL or command, with its thread."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._queue: queue.Queue[bytes | None] = queue.Queue(WAITING)
        self._complained = False
        self._thread = threading.Thread(target=self._run, name="notify", daemon=True)
        self._thread.start()

    def put(self, message: bytes | None) -> None:
        try:
            self._queue.put_nowait(message)
        except queue.Full:
            self._complain("it does not keep up, and some events are lost")

    def close(self, seconds: float) -> None:
        self.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        while (message := self._queue.get()) is not None:
            try:
                _post(self._target, message) if is_url(self._target) else _run(
                    self._target, message
                )
            except Exception as error:  # whatever is wrong with it, the crawl goes on
                self._complain(_reason(error))

    def _complain(self, why: str) -> None:
        if not self._complained:
            self._complained = True
            log.warning(f"{shown(self._target)} can't be notified: {why}; this is said once")


def _reason(error: Exception) -> str:
    """What went wrong; the words of an error may repeat the URL."""
    code = getattr(error, "code", None)
    if isinstance(code, int):
        return f"it answers with status {code}"
    reason = getattr(error, "reason", None)
    cause = reason if isinstance(reason, Exception) else error
    return getattr(cause, "strerror", None) or type(cause).__name__


def _post(url: str, message: bytes) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": "lycosa"}
    parts = urlsplit(url)
    if "@" in parts.netloc:
        user, _, host = parts.netloc.rpartition("@")
        headers["Authorization"] = f"Basic {b64encode(unquote(user).encode()).decode()}"
        url = parts._replace(netloc=host).geturl()
    request = urllib.request.Request(url, message, headers, method="POST")
    with urllib.request.urlopen(request, timeout=TIMEOUT):
        pass


class CommandFailed(Exception):
    """A command ended with a code of its own."""

    def __init__(self, code: int) -> None:
        self.strerror = f"it ended with exit code {code}"


def _run(command: str, message: bytes) -> None:
    """Run a command by the shell with a line to read; if it is slow, all it started is killed."""
    process = subprocess.Popen(
        command,
        shell=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.communicate(message + b"\n", timeout=COMMAND_TIMEOUT)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise TimeoutError(0, f"it did not end within {COMMAND_TIMEOUT:g} s") from None
    if process.returncode:
        raise CommandFailed(process.returncode)
