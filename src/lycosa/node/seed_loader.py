"""Loads the copied seed files into the frontier, in chunks, beside the running crawl.

Each chunk and the line it ends at are one transaction: a kill at any moment loses no seed and adds
none twice, and after the store was away the loading goes on from what the store knows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from lycosa.errors import StoreGone
from lycosa.frontier.backoff import LONGEST, Patience
from lycosa.frontier.keys import LOADING_KEY, NODE_KEY, SEEDS_KEY, SEEDS_LOADED_KEY, SEEDS_RANK_KEY
from lycosa.frontier.protocol import Frontier, Link
from lycosa.log import get_logger
from lycosa.node.datadir import SEEDS
from lycosa.node.seed_file import BadSeed, Seed, open_seeds, read
from lycosa.settings.stored import node_key
from lycosa.urls.domains import domain_id
from lycosa.urls.fingerprint import fingerprint

CHUNK = 50_000  # a second of the write lock; five times as many chunks take twice the time
SERVER_CHUNK = 5_000  # others wait for no lock there, but for a long transaction's row versions
FIRST_CHUNK = 2_000  # the first fetch should not wait for the rest
NAMED_BAD = 20  # bad lines that are named one by one; the others are counted

log = get_logger("seeds")


class Loader:
    """Loads the seed files of one node on a thread of its own."""

    def __init__(self, root: Path, connect: Callable[[], Frontier], node: str = "") -> None:
        self._root = root
        self._node = node  # each node loads its own files
        self._connect = connect
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self.some = threading.Event()  # something is loaded, or nothing will be
        self.done = threading.Event()  # everything is
        self.error: Exception | None = None  # that ended the loading
        self.bad = 0  # lines that are no seeds
        self._bad_told = ("", 0)  # file and line up to which bad lines were counted
        self._patience = Patience(6 * LONGEST, "The seeds are loaded when it is back.")

    def start(self) -> None:
        """Load what the store does not know yet. May be called again after the store lost some: the
        new thread begins when the earlier one has ended; the caller does not wait."""
        self._stop.set()
        self._stop, self.done = threading.Event(), threading.Event()
        earlier = self._thread
        self._thread = threading.Thread(
            target=self._run, args=(earlier, self._stop, self.done), name="seeds", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End after the chunk under way; the rest is loaded at the next start."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(
        self, earlier: threading.Thread | None, stop: threading.Event, done: threading.Event
    ) -> None:
        if earlier is not None:
            earlier.join()
        try:
            while not stop.is_set():
                try:
                    self._load_all(stop, done)
                    return
                except StoreGone as error:
                    stop.wait(self._patience.after(error))
        except Exception as error:  # of any kind: the supervisor must see it
            self.error = error
        finally:
            self.some.set()

    def _load_all(self, stop: threading.Event, done: threading.Event) -> None:
        frontier = self._connect()
        try:
            frontier.load_in_bulk()
            if self._load(frontier, stop):
                done.set()
        finally:
            frontier.close()

    def _load(self, frontier: Frontier, stop: threading.Event) -> bool:
        """Every file from where its loading ended; False if it was stopped."""
        first = True
        names = sorted(path.name for path in (self._root / SEEDS).iterdir())
        for name in names:
            key = seeds_key(self._node, name)
            at = int(frontier.setting(key) or 0)
            rank = int(frontier.setting(SEEDS_RANK_KEY) or 0)
            size = SERVER_CHUNK if frontier.server_clock else CHUNK
            for chunk, end in self._chunks(name, at, first, size):
                rank += len(chunk)
                progress = {key: end, SEEDS_RANK_KEY: rank, **self._loading(frontier.now_ms())}
                frontier.add(chunk, seeds_done=progress, rank=rank - len(chunk))
                self._patience.over()
                first = False
                self.some.set()
                if stop.is_set():
                    return False
        frontier.put_settings({SEEDS_LOADED_KEY: 1, **self._loading(0)})
        if self.bad:
            log.warning("some seed lines were no domain or URL and were left out", lines=self.bad)
        return True

    def _loading(self, now_ms: int) -> dict[str, int]:
        """Tells other nodes that this one loads seeds, or with 0 that it no longer does: they must
        not think that the crawl has ended between two chunks."""
        return {loading_key(self._node): now_ms} if self._node else {}

    def _chunks(
        self, name: str, at: int, first: bool, usual: int
    ) -> Iterator[tuple[list[Link], int]]:
        """Lists of links with the number of the line each ends at."""
        with open_seeds(str(self._root / SEEDS / name)) as lines:
            entries = read(islice(lines, at, None), at + 1)
            size = FIRST_CHUNK if first else usual
            while taken := list(islice(entries, size)):
                yield list(self._links(name, taken)), taken[-1].line
                size = usual

    def _links(self, name: str, entries: list[Seed | BadSeed]) -> Iterator[Link]:
        for entry in entries:
            if isinstance(entry, Seed):
                yield seed_link(entry)
            elif (name, entry.line) > self._bad_told:  # a chunk may be read twice
                self._bad_told = (name, entry.line)
                self.bad += 1
                self._tell_bad(entry)

    def _tell_bad(self, entry: BadSeed) -> None:
        if self.bad <= NAMED_BAD:
            log.warning(f"seed line {entry.line} left out: {entry.why}", text=entry.text[:80])


def seeds_key(node: str, name: str) -> str:
    """The key under which the store keeps how much of a seed file is loaded."""
    return f"{SEEDS_KEY}{node}:{name}" if node else f"{SEEDS_KEY}{name}"


def loading_key(node: str) -> str:
    """The key under which the store keeps when a node last loaded seeds."""
    return f"{LOADING_KEY}{node}"


def renamed(node: str, key: str) -> str:
    """What a key of a crawl on SQLite is called on a server, where the crawl has many nodes."""
    if key == NODE_KEY:
        return node_key(node)
    name = key.removeprefix(SEEDS_KEY)
    return seeds_key(node, name) if name != key and name.isdigit() else key


def seed_link(seed: Seed) -> Link:
    """A seed as it goes into the frontier."""
    return (domain_id(seed.domain), fingerprint(seed.url), seed.url, 0, seed.domain, seed.flags)
