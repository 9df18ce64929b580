"""The process of a dashboard that a crawl started: told by its standard input what to serve.

The input's first line has the orders; its end is the end of the crawl, and of this process. It runs
with the lowest priority, so that it never takes a core from an engine.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys

import orjson

from lycosa.dashboard.orders import DashboardOrders


def main() -> None:
    os.nice(19)
    orders = DashboardOrders.from_json(orjson.loads(sys.stdin.buffer.readline()))
    listening = socket.socket(fileno=int(sys.argv[1]))
    from lycosa.dashboard.serving import QuietServer, serve

    def watch(server: QuietServer) -> None:
        loop = asyncio.get_running_loop()

        def heard() -> None:
            if not os.read(0, 1024):
                loop.remove_reader(0)
                server.end()

        loop.add_reader(0, heard)

    serve(orders, listening, watch)


if __name__ == "__main__":
    main()
