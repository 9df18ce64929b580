"""The wheel: every change of a crawl that runs or rests, by verbs that commands and the dashboard
share.

Owns what each change means for the store. It asks nobody and prints nothing: who asks a person,
and what is said then, is in `commands`. What a user can do wrong is a `UserError` in one sentence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from lycosa.clock import engine_now, wall_now
from lycosa.errors import StoreError, UserError
from lycosa.frontier.keys import (
    DELAYS_KEY,
    FINISHED_KEY,
    MAX_PAGES_KEY,
    MAX_PAGES_SET_KEY,
    NODE_KEY,
    PAUSED_KEY,
    RULES_KEY,
    SETTINGS_KEY,
)
from lycosa.frontier.protocol import Change, Frontier, LeftOut, is_server, open_frontier
from lycosa.frontier.reader import Reader
from lycosa.reading.status import is_alive, running
from lycosa.settings.collect import closest
from lycosa.settings.steered import CrawlPause, delay_change, stored_pause
from lycosa.settings.stored import earlier_delays, node_key, stored_node, stored_settings
from lycosa.settings.values import CrawlSettings, NodeSettings
from lycosa.steering.hits import Counter
from lycosa.steering.seeds import SeedsAdded, add_seeds
from lycosa.steering.settable import (
    CRAWL,
    NODE,
    SETTABLE,
    Settable,
    changed,
    kind_of,
    meaning_of,
    read_value,
    value_text,
)
from lycosa.urls.canonical import host_of
from lycosa.urls.exclusions import parse_excludes
from lycosa.urls.scope import Scope, ScopeRules

HEARD = 10.0  # seconds in which every engine has heard of a change, usually two
LOOK = 0.2  # seconds between two looks whether they have
WHY_CHARS = 200  # of what a person says of a pause
NOBODY = "-"  # in place of a node's name: the directory that was named is no node's
NODE_CHARS = 8  # by which people know a node
_CHUNK = 5000  # URLs of one transaction

Look = Callable[[str], str | None]  # at what is stored under a key


def open_wheel(data_dir: Path, store: str, node: str = "") -> Wheel:
    """Open a crawl to change it; raises UserError if there is none. `node`: the name of the node
    whose own settings are meant, or how that begins; '': those of all nodes."""
    from lycosa.frontier.protocol import open_reader

    return Wheel(open_reader(data_dir, store), data_dir, store, node)


class Wheel:
    """One crawl, to be changed. Use it as a context, or call `close`."""

    def __init__(self, reader: Reader, data_dir: Path, store: str, node: str = "") -> None:
        self.reader = reader
        self._data_dir = data_dir
        self._store = store
        self._node = node

    def __enter__(self) -> Wheel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.reader.close()

    # -- pause and stop -----------------------------------------------------------------------

    def running(self) -> bool:
        """Whether engines work on the crawl."""
        return running(self.reader.status(), [self._data_dir], is_server(self._store))

    def paused(self) -> CrawlPause | None:
        """The pause of the whole crawl; None: it is not paused by a user."""
        return stored_pause(self.reader.settings().get(PAUSED_KEY))

    def pause(self, why: str = "") -> bool:
        """Let no engine start a visit until `unpause`, over restarts too. Returns whether this is
        new: a crawl that is paused stays so, by what was said first."""
        stored = self.reader.settings()
        if stored.get(FINISHED_KEY) == "1" and not self.running():
            raise UserError("The crawl is finished: there is nothing to pause.")
        new = False

        def change(look: Look, now_ms: int) -> Change:
            nonlocal new
            new = not look(PAUSED_KEY)
            pause = CrawlPause(now_ms, why[:WHY_CHARS])
            return Change({PAUSED_KEY: pause.to_text()} if new else {})

        self._steer(change)
        return new

    def unpause(self) -> bool:
        """Let engines go on; returns whether the crawl was paused."""
        was = self.paused() is not None
        if was:
            self._steer(lambda look, now_ms: Change({PAUSED_KEY: ""}))
        return was

    def stop(self) -> bool:
        """Ask every node to stop; returns whether there was something to stop."""
        found = self.running()
        if found:
            self.reader.request_stop()
        return found

    # -- exclusions ---------------------------------------------------------------------------

    def exclusions(self) -> list[str]:
        """All of them, in order."""
        return self.reader.exclusions()[1]

    def hits(self, lines: Iterable[str]) -> Counter:
        """What each of these exclusions would take out, and all together; those that the crawl has
        already are left out. Takes 10 s at most: after that there are "at least" so many."""
        old = set(self.exclusions())
        counter = Counter(self.reader, [line for line in exclusion_lines(lines) if line not in old])
        counter.run()
        return counter

    def exclude(self, lines: Iterable[str]) -> int:
        """Never visit these again; returns how many exclusions there are now."""
        return self.reader.add_exclusions(exclusion_lines(lines))

    def freed(self, lines: Iterable[str]) -> int:
        """About how many URLs would be queued again if these exclusions were taken back."""
        removed = exclusion_lines(lines, known=True)
        count = sum(1 for _ in self._freed(removed))
        known = self.exclusions()
        for line in removed:
            if line not in known and not count:  # with rows, an earlier removal was interrupted
                raise UserError(f"'{line}' is no exclusion of this crawl{closest(line, known)}")
        return count

    def take_back(self, lines: Iterable[str]) -> int:
        """Take exclusions back, and queue again what they took out as far as it is kept; returns
        how many URLs. If this is cut off, the same call does the rest."""
        removed = exclusion_lines(lines, known=True)
        self.freed(removed)
        self.reader.remove_exclusions(removed)
        # A URL that is queued earlier may meet an engine that goes by the old rules.
        self.wait_until_heard()
        with closing(self.writer()) as frontier:
            rows, count = iter(self._freed(removed)), 0
            while chunk := list(islice(rows, _CHUNK)):
                count += frontier.restore(chunk)
        return count

    def _freed(self, removed: Sequence[str]) -> Iterator[LeftOut]:
        """URLs that a removed line took out of the queue and that no line that stays hits."""
        lines = [line for line in self.exclusions() if line not in removed]
        stays = Scope(ScopeRules(exclude=tuple(lines)))
        gone = Scope(ScopeRules(exclude=tuple(removed)))
        for row in self.reader.left_out():
            host = host_of(row.url)
            if gone.excluded_by(row.url, host) and not stays.excluded_by(row.url, host):
                yield row

    # -- seeds --------------------------------------------------------------------------------

    def add_seeds(self, lines: Iterable[str | bytes]) -> SeedsAdded:
        """Queue more seeds; lines as in a seed file. Those that are known are passed over: if this
        is cut off, the same call does the rest."""
        with closing(self.writer()) as frontier:
            return add_seeds(frontier, lines)

    # -- settings -----------------------------------------------------------------------------

    def settable(self) -> list[Settable]:
        """What `set` can change, with the values of now."""
        look = self.reader.settings().get
        return [
            Settable(name, _texts(name, self._values(name, look)), meaning_of(name))
            for name in SETTABLE
        ]

    def set(self, name: str, text: str) -> tuple[str, str]:
        """Change one setting of the crawl, or of its nodes; returns what it was and what it is, as
        texts."""
        name = name.replace("_", "-")
        value = read_value(name, text)
        before: list[Any] = []

        def change(look: Look, now_ms: int) -> Change:
            before[:] = self._values(name, look)
            same = all(each == value for each in before)
            return Change({}) if same else self._changed(name, value, look, now_ms)

        self._steer(change)
        if name == "delay" and value > before[0]:
            self._settle_delay(before[0])
        return _texts(name, before), value_text(name, value)

    def _changed(self, name: str, value: Any, look: Look, now_ms: int) -> Change:
        where = kind_of(name).where
        if where == NODE:
            told = {key: orjson.loads(look(key) or "{}") for key in self._node_keys()}
            if not told and self._node == NOBODY:
                raise UserError(
                    f"{self._data_dir} is no node's directory: name one, name the node with --node,"
                    " or leave --data-dir out for all nodes."
                )
            if not told:
                raise UserError(f"No node has joined this crawl yet: start one with --{name}.")
            new = {kind_of(name).field: value}
            return Change({key: orjson.dumps(each | new).decode() for key, each in told.items()})
        if where != CRAWL:
            return Change({MAX_PAGES_KEY: value, MAX_PAGES_SET_KEY: 1})
        crawl = _stored(look)
        return delay_change(crawl, changed(crawl, name, value), look(DELAYS_KEY) or "", now_ms)

    def _settle_delay(self, before: float) -> None:
        """Once every engine goes by a longer delay, note for `audit` that the old one is over."""
        if not self.wait_until_heard():
            return

        def change(look: Look, now_ms: int) -> Change:
            known = earlier_delays({DELAYS_KEY: look(DELAYS_KEY) or "[]"})
            if not known or known[-1][1] != before or known[-1][0] <= now_ms:
                return Change({})  # somebody has changed it again
            known[-1] = (now_ms, before)
            return Change({DELAYS_KEY: orjson.dumps(known).decode()})

        self._steer(change)

    def _values(self, name: str, look: Look) -> list[Any]:
        """What is stored now: of a setting of nodes, that of each."""
        kind = kind_of(name)
        if kind.where == CRAWL:
            return [getattr(_stored(look), kind.field)]
        if kind.where != NODE:
            return [int(look(MAX_PAGES_KEY) or 0)]
        found = [stored_node({NODE_KEY: look(key)}) for key in self._node_keys()] or [{}]
        return [each.get(kind.field, getattr(NodeSettings(), kind.field)) for each in found]

    def _node_keys(self) -> list[str]:
        """The keys of the settings of the nodes that are meant; UserError for a name of none."""
        if not is_server(self._store):
            return [node_key()]
        head = f"{NODE_KEY}:"
        every = sorted(key for key in self.reader.settings() if key.startswith(head))
        found = [key for key in every if key.startswith(head + self._node)]
        if self._node in ("", NOBODY) or len(found) == 1:
            return found
        names = ", ".join(key.removeprefix(head)[:NODE_CHARS] for key in every) or "none"
        many = "Several nodes begin" if found else "No node of this crawl begins"
        raise UserError(f"{many} with '{self._node}'; its nodes: {names}.")

    # -- the store ----------------------------------------------------------------------------

    def writer(self) -> Frontier:
        """The crawl as a store to write to, beside the engines that may work on it."""
        settings = stored_settings(self.reader.settings())
        if settings is None:
            raise StoreError("The crawl has no settings stored.")
        newest = [0]
        frontier = open_frontier(
            self._store,
            self._data_dir,
            settings.store_rules(),
            lambda: max(wall_now(), newest[0] + 1),  # the wall clock may have been set back
            name="lycosa command",
        )
        newest[0] = frontier.newest_ms()
        return frontier

    def _steer(self, change: Callable[[Look, int], Change]) -> None:
        with closing(self.writer()) as frontier:
            frontier.steer(change)

    def wait_until_heard(self) -> bool:
        """Wait until all engines of a running crawl go by what is stored now; False if some did not
        say so in time."""
        if not self.running():
            return True
        version = int(self.reader.settings().get(RULES_KEY, 0))
        end = engine_now() + HEARD
        while engine_now() < end:
            found = self.reader.status()
            alive = [each for each in found["engines"] if is_alive(each, found["now_ms"])]
            if all(each.get("rules", 0) >= version for each in alive):
                return True
            time.sleep(LOOK)
        return False


def _texts(name: str, values: Sequence[Any]) -> str:
    """What a setting is; of nodes that differ, what it is on each of them."""
    return " and ".join(dict.fromkeys(value_text(name, each) for each in values))


def exclusion_lines(words: Iterable[str], known: bool = False) -> list[str]:
    """Exclusions in the form in which a crawl keeps them; UserError names a bad one. `known`: they
    were accepted before."""
    return list(parse_excludes(words, known=known))


def _stored(look: Look) -> CrawlSettings:
    found = stored_settings({SETTINGS_KEY: look(SETTINGS_KEY)})
    if found is None:
        raise StoreError("The crawl has no settings stored.")
    return found
