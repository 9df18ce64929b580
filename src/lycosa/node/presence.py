"""This node as the store knows it: its name, its engines, and the signs by which others see it.

On a server many nodes work on one crawl. Each has a name for ever, which its data directory keeps
(`datadir`) and under which its engines register. Nodes see each other by the leases that engines
renew; before a node's first engine has one, and while it loads seeds, by a time that it writes
into the store (`announce`, `seed_loader`) and that counts for one lease time. On SQLite there is
one node and its name is ''.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import orjson

from lycosa.frontier.keys import FINISHED_KEY, OPENED_KEY, SEEDS_LOADED_KEY
from lycosa.frontier.protocol import Frontier
from lycosa.node.seed_loader import loading_key
from lycosa.settings.stored import node_json, node_key
from lycosa.settings.values import NodeSettings


@dataclass(frozen=True, slots=True)
class Presence:
    """A node, the store that it works on, and the directory that it keeps its output in."""

    frontier: Frontier
    root: Path
    name: str = ""

    def announce(self) -> None:
        """Tell other nodes that this one is about to start its engines."""
        if self.name:
            self.frontier.put_settings({_opened_key(self.name): self.frontier.now_ms()})

    def leave(self) -> None:
        """Tell other nodes that this one is gone, so that the last one left may change settings."""
        if self.name:
            self.frontier.put_settings({_opened_key(self.name): 0})

    def register(self, node: NodeSettings, loading: bool) -> None:
        """Store what a later run of this node goes on with. `loading`: it brings seeds, and other
        nodes must not think that the crawl has ended before these are loaded."""
        stored: dict[str, object] = {node_key(self.name): orjson.dumps(node_json(node)).decode()}
        if loading:
            now = self.frontier.now_ms()
            stored |= {SEEDS_LOADED_KEY: 0, FINISHED_KEY: 0, loading_key(self.name): now}
        self.frontier.put_settings(stored)

    def every_engine(self) -> list[int]:
        """All engines that ever wrote to this directory."""
        return self.frontier.everyone(self.name)

    def living_engines(self) -> list[int]:
        """Engines of this node that nobody has declared dead."""
        return self.frontier.living(self.name)

    def has_company(self) -> bool:
        """Whether other nodes are at work, or about to be."""
        return self.frontier.others(self.name) > 0


def _opened_key(name: str) -> str:
    return f"{OPENED_KEY}{name}"
