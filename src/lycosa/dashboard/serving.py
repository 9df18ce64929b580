"""Runs the server of a dashboard on a socket that is bound already, until it is told to end.

Between requests it does nothing: uvicorn's own loop, which wakes up ten times a second, is
replaced by a wait.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from lycosa.dashboard.access import Access
from lycosa.dashboard.connections import BoundedConnection
from lycosa.dashboard.orders import DashboardOrders
from lycosa.dashboard.routes import Dashboard
from lycosa.dashboard.source import CrawlSource

HEAD_BYTES = 16 * 1024  # of a request


def access_of(orders: DashboardOrders) -> Access:
    """Who may look, by the address that it listens at."""
    import ipaddress

    host = orders.host
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    own = () if loopback else (socket.gethostname().lower(), socket.getfqdn().lower(), host.lower())
    return Access(orders.token, loopback, frozenset({*own, *map(str.lower, orders.names)}))


class QuietServer(uvicorn.Server):
    """A server that sleeps until somebody asks something, or it is to end."""

    def __init__(self, config: uvicorn.Config, dashboard: Dashboard) -> None:
        super().__init__(config)
        self._dashboard = dashboard
        self._end = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        if not self.should_exit:
            await self._end.wait()
        await self._dashboard.viewers.end()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end.set)

    def end(self) -> None:
        """Stop serving; for callers in the loop's thread."""
        self.should_exit = True
        self._end.set()


def serve(
    orders: DashboardOrders, listening: socket.socket, watch: Callable[[QuietServer], None]
) -> None:
    """Serve until the server is told to end; `watch` begins to look for what tells it."""
    source = CrawlSource(orders.paths, orders.store)
    dashboard = Dashboard(source, access_of(orders))
    config = uvicorn.Config(
        dashboard.app,
        http=BoundedConnection,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=HEAD_BYTES,
    )
    logging.getLogger("uvicorn").setLevel(logging.ERROR)

    async def run() -> None:
        server = QuietServer(config, dashboard)
        watch(server)
        await server.serve(sockets=[listening])

    try:
        asyncio.run(run())
    finally:
        source.close()
