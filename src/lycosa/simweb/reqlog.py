"""The server's own record of every request, independent of what the crawler records.

Owns the format of the log files and their reading. Each server process appends to one text file: a
line when a request has arrived, before it is answered, and one when its response has ended. Lines
reach the operating system before the answer begins (ends at most 2 ms later), so the log is whole
whenever the crawler dies. It knows nothing of politeness: `check` judges.

  U  number  user agent                                    when first seen
  B  id  wall ns  start ns  scheme  host  target  agent    request read
  E  id  end ns  status  retry-after  location             response sent, or the connection gone
start and end are CLOCK_MONOTONIC; status 0 means that nothing like a response was sent.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lycosa import ownfiles
from lycosa.simweb.paths import registrable

SPEC_FILE = "spec.json"
_PATTERN = "requests-*.log"


@dataclass(slots=True)
class Entry:
    """One request. Times in seconds on the monotonic clock; `wall` is seconds since 1970."""

    start: float
    end: float  # math.inf: had not ended when the log was read
    scheme: str
    host: str  # with port if the request named one
    target: str  # path and query
    status: int = 200
    location: str = ""  # as sent
    retry_after: int = 0
    agent: str = ""
    wall: float = 0.0
    domain: str = ""  # registrable; '' is filled in

    def __post_init__(self) -> None:
        self.domain = self.domain or registrable(self.host.partition(":")[0])

    @property
    def origin(self) -> str:
        """Scheme and host."""
        return f"{self.scheme}://{self.host}"

    @property
    def url(self) -> str:
        """The URL as requested."""
        return f"{self.scheme}://{self.host}{self.target}"


class LogWriter:
    """Appends to one log file; call `flush` before going to sleep."""

    def __init__(self, directory: Path, name: str) -> None:
        ownfiles.make_directory(directory)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._fd = ownfiles.open_own(directory / f"requests-{name}.log", flags)
        self._lines: list[str] = []
        self._agents: dict[str, int] = {}
        self._next = 0

    def begin(
        self, wall_ns: int, start_ns: int, scheme: str, host: str, target: str, agent: str
    ) -> int:
        """Notes a request; returns its id."""
        number = self._agents.get(agent)
        if number is None:
            number = self._agents[agent] = len(self._agents)
            self._lines.append(f"U\t{number}\t{agent}\n")
        self._next += 1
        self._lines.append(
            f"B\t{self._next}\t{wall_ns}\t{start_ns}\t{scheme}\t{host}\t{target}\t{number}\n"
        )
        return self._next

    def end(self, request: int, end_ns: int, status: int, retry_after: int, location: str) -> None:
        """Notes how a request ended."""
        self._lines.append(f"E\t{request}\t{end_ns}\t{status}\t{retry_after}\t{location}\n")

    def waiting(self) -> bool:
        """Whether there are lines to flush."""
        return bool(self._lines)

    def flush(self) -> None:
        """Hands all lines to the operating system."""
        if self._lines:
            data = "".join(self._lines).encode("utf-8", "replace")
            self._lines.clear()
            while data:
                data = data[os.write(self._fd, data) :]

    def close(self) -> None:
        """Flushes and closes."""
        self.flush()
        os.close(self._fd)


def read_log(directory: Path) -> list[Entry]:
    """All requests in a log directory, in the order of their start."""
    entries: list[Entry] = []
    for path in sorted(directory.glob(_PATTERN)):
        with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            entries += parse_log(lines)
    entries.sort(key=lambda entry: entry.start)
    return entries


def parse_log(lines: Iterable[str]) -> list[Entry]:
    """The requests of one log file; a last line that is not whole is left out."""
    agents: dict[str, str] = {}
    requests: dict[str, Entry] = {}
    for line in lines:
        if not line.endswith("\n"):
            break
        kind, *rest = line[:-1].split("\t")
        if kind == "B":
            requests[rest[0]] = _begun(rest, agents)
        elif kind == "E":
            _ended(requests[rest[0]], rest)
        else:
            agents[rest[0]] = rest[1]
    return list(requests.values())


def _begun(values: list[str], agents: dict[str, str]) -> Entry:
    _, wall, start, scheme, host, target, agent = values
    return Entry(
        start=int(start) / 1e9,
        end=math.inf,
        scheme=scheme,
        host=host,
        target=target,
        status=0,
        agent=agents.get(agent, ""),
        wall=int(wall) / 1e9,
    )


def _ended(entry: Entry, values: list[str]) -> None:
    _, end, status, retry_after, location = values
    entry.end = int(end) / 1e9
    entry.status = int(status)
    entry.retry_after = int(retry_after)
    entry.location = location
