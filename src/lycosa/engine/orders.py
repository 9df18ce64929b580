"""What a supervisor tells an engine at its start: one line of JSON on the engine's standard input.

Owns the value and its form on the pipe. Supervisor and engine are the same version of lycosa, so
no field has a default. Pure: nothing here reads a setting, a clock or a pipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from lycosa.settings.values import CrawlSettings, NodeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMemory:
    """Descriptors of memory that the supervisor made and its engines inherit."""

    control: int  # how late the machine wakes an idle process, see `control`
    marks: int  # which page each engine is parsing, see `poison`
    addresses: int  # when each address may be visited, see `address_table`
    bandwidth: int  # how much each engine has received, see `bandwidth`
    turns: int  # whose turn it is to write to SQLite, see `frontier/sqlite/store`


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOrders:
    """Everything that one engine must know to begin."""

    crawl: CrawlSettings  # without exclusions: they may be many, and engines ask the store for them
    node: NodeSettings
    node_name: str  # of this node in the store; '' on SQLite, where there is only one
    index: int  # of the engine among those of its node, from 0
    fetches: int  # that the engine may have under way at once
    max_pages: int  # of the whole crawl; 0: no limit
    to_ms: float  # the store's time in ms is engine_now() * 1000 + to_ms
    addresses_from: float  # no address is visited before this moment of engine_now()
    trust: str  # the folder of CA certificates; '': certificates are not verified
    memory: SharedMemory

    def to_json(self) -> bytes:
        """One line, without its end."""
        return orjson.dumps(self, default=str, option=orjson.OPT_NON_STR_KEYS)

    @classmethod
    def from_json(cls, line: bytes) -> EngineOrders:
        data = orjson.loads(line)
        data["crawl"] = CrawlSettings.from_json(data["crawl"])
        data["node"] = _node(data["node"])
        data["memory"] = SharedMemory(**data["memory"])
        return cls(**data)

    def nameservers(self) -> list[str]:
        """As the resolver takes them; none: those of the system."""
        return [
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            for host, port in self.node.nameservers
        ]


def _node(data: dict[str, Any]) -> NodeSettings:
    """JSON has no paths, tuples or numbers as keys."""
    for name in ("allow_network", "only_network", "ip_delay_exempt", "notify"):
        data[name] = tuple(data[name])
    data["data_dir"] = Path(data["data_dir"])
    data["nameservers"] = tuple((host, port) for host, port in data["nameservers"])
    data["port_map"] = {int(port): to for port, to in data["port_map"].items()}
    return NodeSettings(**data)
