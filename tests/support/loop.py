"""The engine's loop in small: a poller, resolvers and fetchers, turned until something is done."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from lycosa.clock import engine_now
from lycosa.fetch.dns import Resolver
from lycosa.fetch.fetcher import Fetcher, FetchLimits, FetchSettings
from lycosa.fetch.poller import Poller
from lycosa.records import Kind, Request, Response
from support.dns_server import DnsServer

AGENT = "lycosa/0 (+https://example.org; mailto:a@example.org)"


class Clock:
    """The engine's clock, and a hand to push it on with."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return engine_now() + self.ahead


class Turned(ABC):
    """Something that has to be turned."""

    @abstractmethod
    def turn(self) -> None: ...

    def until(self, done: Callable[[], object], seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, "took too long"
            self.turn()


class Lookups(Turned):
    """A poller, a name server and resolvers that ask it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.poller = Poller()
        self.server = DnsServer()
        self.resolvers: list[Resolver] = []

    def resolver(self, **settings: Any) -> Resolver:
        made = Resolver(self.poller, [self.server.address], self.clock, **settings)
        self.resolvers.append(made)
        return made

    def turn(self) -> None:
        waits = [w for r in self.resolvers if (w := r.timeout()) is not None]
        self.poller.serve(self.poller.poll(min([0.05, *waits])))
        for resolver in self.resolvers:
            resolver.turn()

    def close(self) -> None:
        for resolver in self.resolvers:
            resolver.close()
        self.server.close()
        self.poller.close()


class Loop(Turned):
    """Everything between `Request` and `Response`, on real sockets."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.poller = Poller()
        self.dns = DnsServer()
        self.resolver = Resolver(self.poller, [self.dns.address], self.clock, ipv6=True)
        self.fetchers: list[Fetcher] = []

    def fetcher(
        self, limits: FetchLimits | None = None, capacity: int = 100, **settings: Any
    ) -> Fetcher:
        settings.setdefault("allow_private", True)
        made = Fetcher(
            self.poller,
            self.resolver,
            FetchSettings(AGENT, **settings),
            limits or FetchLimits(),
            capacity,
            self.clock,
        )
        self.fetchers.append(made)
        return made

    def request(
        self,
        port: int,
        path: str = "/",
        host: str = "127.0.0.1",
        https: bool = False,
        kind: Kind = Kind.PAGE,
        keep_alive: bool = False,
        seconds: float = 300.0,
    ) -> Request:
        shown = f"[{host}]" if ":" in host else host
        scheme, default = ("https", 443) if https else ("http", 80)
        authority = shown if port == default else f"{shown}:{port}"
        deadline = self.clock() + seconds
        url = f"{scheme}://{authority}{path}"
        return Request(url, host, port, https, kind, deadline, keep_alive)

    def turn(self) -> None:
        waits = [f.timeout() for f in self.fetchers] + [self.resolver.timeout()]
        wait = min([0.05, *(w for w in waits if w is not None)])
        self.poller.serve(self.poller.poll(wait))
        self.resolver.turn()
        for fetcher in self.fetchers:
            fetcher.turn(self.clock())

    def get(self, fetcher: Fetcher, request: Request) -> Response:
        fetcher.start(request)
        self.until(lambda: fetcher.finished)
        (response,) = fetcher.take(10)
        assert response.request is request
        assert fetcher.in_flight == 0 and fetcher.buffered == 0 and fetcher.mishaps == 0
        return response

    def close(self) -> None:
        for fetcher in self.fetchers:
            fetcher.close()
        self.resolver.close()
        self.dns.close()
        self.poller.close()


def verdict(response: Response) -> tuple[str, str, int]:
    return response.failure, response.truncated, response.status
