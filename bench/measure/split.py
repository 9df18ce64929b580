"""Where the CPU of an engine goes: a sampling profile, added up by part of the work.

Owns the map from stacks to parts and the reading of py-spy's raw format. A stack belongs to TLS
if libcurl's TLS filter or BoringSSL is on it, else to the part of the innermost module of ours.
Time that a thread waits (for the GIL, for a disk, for work) is not CPU, and left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

PARTS = (
    "fetch",
    "TLS",
    "dns",
    "robots",
    "inflate",
    "parse",
    "links",
    "frontier",
    "archive",
    "loop",
)

# Room or module of ours -> part; a module wins over its room, functions named below over both.
_MODULES = {
    "fetch": "fetch",
    "fetch/dns": "dns",
    "fetch/dns_channel": "dns",
    "fetch/poller": "loop",
    "politeness/robots": "robots",
    "politeness/robots_reply": "robots",
    "engine/visit": "robots",
    "engine/visit_origins": "robots",
    "page": "parse",
    "page/decode": "inflate",
    "engine/harvest": "links",
    "urls": "links",
    "urls/fingerprint": "archive",
    "engine/exchange": "frontier",
    "engine/ledger_thread": "archive",
    "frontier": "frontier",
    "archive": "archive",
    "engine": "loop",
    "politeness": "loop",
    "metrics": "loop",
}
_FUNCTIONS = {
    "_Reader.link": "links",
    "_crawlable": "links",
    "Harvest._keep_text": "archive",
    "Harvest._keep_warc": "archive",
    "Exchanger._write": "archive",
    "Exchanger._write_text": "archive",
    "Exchanger._sync_all": "archive",
    "Engine._write_ledger": "archive",
    "Poller.watch": "fetch",
    "Poller.forget": "fetch",
}
_OURS = re.compile(r"^(\S+) \((?:.*/)?lycosa/([a-z_/]+)\.py:\d+\)$")
_TLS = re.compile(r"^(ssl_cf_|ossl_|Curl_ossl|Curl_ssl|SSL_|bssl::|EVP_|X509_)")
# Leaves in which a thread waits: the disk, locks. libc's own waits have no name, so that the
# frames above tell (see `_waits`).
_WAITING = ("fdatasync", "fsync", "epoll_wait", "poll", "select")
_LOCKS = ("pthread_cond", "sem_", "take_gil", "PyThread_acquire_lock_timed")


@dataclass
class Split:
    """Samples by part, and by function: alone, and with what it calls."""

    total: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)
    below: Counter[str] = field(default_factory=Counter)


def read(lines: Iterable[str]) -> Split:
    """Adds up py-spy's raw output of one engine."""
    split = Split()
    for line in lines:
        stack, _, count = line.rstrip().rpartition(" ")
        thread, *frames = stack.split(";")
        if frames and not _waits(thread, frames):
            _add(split, frames, int(count))
    return split


def _waits(thread: str, frames: list[str]) -> bool:
    if not any(name in thread for name in ("MainThread", "store", "ledger")):
        return True  # of libraries: they only wait
    leaf = frames[-1]
    if leaf.startswith(_WAITING):
        return True
    near = " ".join(frames[-4:])
    return "(libc.so" in leaf and any(lock in near for lock in _LOCKS)


def _add(split: Split, frames: list[str], count: int) -> None:
    split.total += count
    split.parts[part_of(frames)] += count
    split.alone[_name(frames[-1])] += count
    for name in {_name(frame) for frame in frames}:
        split.below[name] += count


def part_of(frames: list[str]) -> str:
    """The part of the work that a stack belongs to."""
    if any(_TLS.search(frame) for frame in frames):
        return "TLS"
    for frame in reversed(frames):
        ours = _OURS.match(frame)
        if ours:
            function, module = ours.groups()
            room = module.partition("/")[0]
            part = _FUNCTIONS.get(function) or _MODULES.get(module) or _MODULES.get(room)
            if part:
                return part
    return "loop"


def _name(frame: str) -> str:
    """A frame without its line number and directories."""
    function, _, place = frame.partition(" (")
    place = place.rstrip(")").rpartition("/")[2].partition(":")[0]
    return f"{function} ({place})" if not function.startswith("0x") else f"({place})"
