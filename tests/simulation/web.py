"""A web that exists only as arithmetic: what a request is answered with, and how long it takes."""

from __future__ import annotations

import random
from dataclasses import dataclass

from lycosa.records import Failure, Request, Response

HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


@dataclass(frozen=True)
class Site:
    """One domain: `pages` pages in a binary tree below '/', some of them with a fault."""

    name: str
    pages: int
    robots: str  # 'none', 'some', 'slow', 'brisk', 'down', 'flaky', 'aimed'
    dead: str = ""  # a failure of every connection
    aim: str = ""  # where its robots.txt is, if that is in another domain

    def allowed(self, path: str) -> bool:
        return not (self.robots in ("some", "flaky", "aimed") and path.startswith("/private"))

    @property
    def crawl_delay(self) -> float:
        return {"slow": 200.0, "brisk": 30.0}.get(self.robots, 0.0)


class Web:
    """All sites, by seed."""

    def __init__(self, seed: int, sites: int, pages: int, faults: float) -> None:
        self.random = random.Random(seed)
        self.faults = faults
        self.sites = {site.name: site for site in self._make(sites, pages)}
        self.names = list(self.sites)
        self.robots_asked: dict[str, int] = {}

    def _make(self, count: int, pages: int) -> list[Site]:
        made = []
        weights = [1 / (rank + 3) for rank in range(count)]
        unit = pages / sum(weights)
        for number, weight in enumerate(weights):
            kind = self.random.choices(
                ["none", "some", "slow", "down", "flaky"], [70, 15, 5, 3 * self.faults, 7]
            )[0]
            dead = ""
            if self.random.random() < 0.05 * self.faults:
                dead = self.random.choice([Failure.CONNECT, Failure.NXDOMAIN, Failure.TLS])
            made.append(
                Site(f"s{number}.test", min(1200, max(1, round(unit * weight))), kind, dead)
            )
        return made

    def aim(self, count: int, victims: int = 1, *, pages: int = 1, seeded: bool = True) -> None:
        """Add so many sites that send whoever asks for their robots.txt to a victim, each to a
        URL of its own; every third by a detour over another site."""
        for number in range(victims):
            name = f"victim{number}.test"
            self.sites[name] = Site(name, 5, "some")
            if seeded:
                self.names.append(name)
        self.sites["detour.test"] = Site("detour.test", 0, "none")
        for number in range(count):
            name, path = f"aim{number}.test", f"victim{number % victims}.test/r/{number}.txt"
            aim = f"https://detour.test/to/{path}" if number % 3 == 2 else f"https://{path}"
            self.sites[name] = Site(name, pages, "aimed", aim=aim)
            self.names.append(name)

    def rules_at(self, url: str) -> str:
        """Where the rules are that an `aim` leads to."""
        return url.replace("detour.test/to/", "")

    def seeds(self) -> list[str]:
        return [f"https://{name}/" for name in self.names]

    def expected(self) -> set[str]:
        """The pages that a crawl without bad luck keeps."""
        found = set()
        for site in self.sites.values():
            if not site.dead and site.robots != "down":
                found |= {f"https://{site.name}{_path(n)}" for n in _reachable(site)}
        return found

    # -- answers ------------------------------------------------------------------------------

    def latency(self) -> float:
        return self.random.choice([0.05, 0.2, 0.8, 3.0])

    def answer(self, request: Request, started: float, ended: float) -> Response:
        response = Response(request, started=started, ended=ended, address="192.0.2.1")
        site = self.sites[request.host]
        path = request.url[len(f"https://{site.name}") :]
        if site.dead:
            response.failure = site.dead
        elif path == "/robots.txt":
            self._robots(site, response)
        elif path.startswith("/to/"):
            response.status = 301
            location = f"https://{path[4:]}"
            response.head = f"HTTP/1.1 301 Gone\r\nLocation: {location}\r\n\r\n".encode()
        elif path.startswith("/r/"):
            response.status, response.head = 200, b"HTTP/1.1 200 OK\r\n\r\n"
            response.body = b"User-agent: *\nDisallow: /private\n"
        elif self.random.random() < 0.02 * self.faults:
            response.failure = self.random.choice([Failure.TIMEOUT, Failure.RESET])
        elif self.random.random() < 0.02 * self.faults:
            response.status = 503
            response.head = b"HTTP/1.1 503 Busy\r\nRetry-After: 100\r\n\r\n"
        else:
            self._page(site, path, response)
        return response

    def _robots(self, site: Site, response: Response) -> None:
        asked = self.robots_asked[site.name] = self.robots_asked.get(site.name, 0) + 1
        if site.aim:
            response.status = 302
            response.head = f"HTTP/1.1 302 Found\r\nLocation: {site.aim}\r\n\r\n".encode()
        elif site.robots == "down" or (site.robots == "flaky" and asked <= 2):
            response.status, response.head = 500, b"HTTP/1.1 500 Oops\r\n\r\n"
        elif site.robots == "none":
            response.status, response.head = 404, b"HTTP/1.1 404 No\r\n\r\n"
        else:
            response.status, response.head = 200, b"HTTP/1.1 200 OK\r\n\r\n"
            response.body = b"User-agent: *\nDisallow: /private\n"
            if site.crawl_delay:
                response.body = b"User-agent: *\nCrawl-delay: %d\n" % site.crawl_delay

    def _page(self, site: Site, path: str, response: Response) -> None:
        number = _number(path)
        if number is None or number >= site.pages:
            response.status, response.head = 404, b"HTTP/1.1 404 No\r\n\r\n"
            return
        if number % 17 == 5:
            response.status = 302
            location = f"https://{site.name}{_path(number)}/moved"
            response.head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\n\r\n".encode()
            if not path.endswith("/moved"):
                return
        response.status, response.head = 200, HTML
        response.body = self._html(site, number).encode()

    def _html(self, site: Site, number: int) -> str:
        links = [_path(child) for child in (2 * number + 1, 2 * number + 2) if child < site.pages]
        links += ["/", "#top", f"https://{self.names[number * 7 % len(self.names)]}/"]
        anchors = "".join(f'<a href="{link}">link</a>' for link in links)
        return f"<title>{site.name} {number}</title><p>Page {number}</p>{anchors}"


def _path(number: int) -> str:
    if number == 0:
        return "/"
    return f"/private/{number}" if number % 11 == 10 else f"/p/{number}"


def _number(path: str) -> int | None:
    if path == "/":
        return 0
    tail = path.removesuffix("/moved").rpartition("/")[2]
    return int(tail) if tail.isdigit() else None


def _reachable(site: Site) -> list[int]:
    """Pages whose way from '/' leads over allowed pages only."""
    found, ahead = [], [0]
    while ahead:
        number = ahead.pop()
        if number < site.pages and site.allowed(_path(number)):
            found.append(number)
            ahead += [2 * number + 1, 2 * number + 2]
    return found
