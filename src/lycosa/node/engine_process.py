"""One engine process as its supervisor sees it: what it said last, and what it is told.

Knows nothing of crawls; the supervisor decides what a silence or a death means.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import Any

import orjson

from lycosa.clock import engine_now
from lycosa.metrics import Stats
from lycosa.node.datadir import TRUST
from lycosa.settings.values import NodeSettings

_COUNTERS = (
    *("pages", "ok", "bytes", "requests", "visits", "robots_fetched", "local_shortage"),
    *("slow_pages", "outcomes", "drops", "exchanges", "turns_cpu", "turns_wall", "turns_excused"),
    *("turn_cpu_max_ms", "turn_wall_max_ms", "turn_excused_max_ms"),
    *("retries", "failed_visits"),
)


@dataclass(slots=True)
class Worker:
    """An engine and the pipes to it."""

    index: int
    process: subprocess.Popen[bytes]
    started: float
    heard: float
    owner: int = 0
    buffer: bytes = b""
    stats: Stats = field(default_factory=lambda: Stats(engines=1))

    def hear(self, data: bytes) -> None:
        """Take in its reports."""
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        for each in lines:
            report = orjson.loads(each)
            self.owner = report["owner"]
            self.stats = Stats.from_dict(report["stats"])
            self.heard = engine_now()

    def tell(self, words: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(words)
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # it ended: the next turn notices

    def awake(self) -> bool:
        """Whether it is not stopped by a signal (somebody may be looking at it)."""
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] not in "Tt"
        except OSError:
            return False

    def counters(self) -> Stats:
        """What stays of an engine that ended: its counts, not its gauges."""
        kept = Stats(engines=0)
        for name in _COUNTERS:
            setattr(kept, name, getattr(self.stats, name))
        return kept


def machine_settings(node: NodeSettings) -> dict[str, Any]:
    """What an engine is told about its machine."""
    return {
        "data_dir": str(node.data_dir.resolve()),
        "store": node.store,
        "engines": node.engines,
        "nameservers": [
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            for host, port in node.nameservers
        ],
        "port_map": {str(port): to for port, to in node.port_map.items()},
        "allow_private": node.allow_private,
        "allow_networks": node.allow_network,
        "only_networks": node.only_network,
        "ip_delay_exempt": node.ip_delay_exempt,
        "trust": str(node.data_dir.resolve() / TRUST) if node.tls_verify else "",
        "warc": node.warc,
        "log_level": node.log_level,
        "log_format": node.log_format,
    }
