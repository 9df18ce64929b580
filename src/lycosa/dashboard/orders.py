"""What the process of a dashboard is told: which crawl, where to listen, the token. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
PORT = 8900
PORTS = 100  # from the first on, one of which is free


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardOrders:
    """The orders of one dashboard."""

    data_dirs: tuple[str, ...]
    store: str = "sqlite"  # may hold a password: never shown
    token: str
    host: str = HOST
    port: int = PORT  # of the socket that is bound already
    names: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DashboardOrders:
        lists = {name: tuple(data[name]) for name in ("data_dirs", "names")}
        return cls(**{**data, **lists})

    @property
    def paths(self) -> list[Path]:
        return [Path(each) for each in self.data_dirs]


def address(host: str, port: int, token: str = "") -> str:
    """What a person opens; the token is in the fragment, which no browser sends anywhere."""
    shown = {"": HOST, "0.0.0.0": HOST, "::": "::1"}.get(host, host)
    shown = f"[{shown}]" if ":" in shown else shown
    return f"http://{shown}:{port}/" + (f"#token={token}" if token else "")
