"""Pages through the harvest without a network: what becomes of a body that one domain sent."""

from __future__ import annotations

from typing import Any

from lycosa.archive.warc import record_ids
from lycosa.engine.harvest import Harvest, HarvestRules
from lycosa.engine.visit_result import Result
from lycosa.frontier.protocol import Batch, Link
from lycosa.metrics import Stats
from lycosa.records import Response
from lycosa.urls.scope import Scope, ScopeRules
from support.made import held, made_request, queued

HTML = "Content-Type: text/html; charset=utf-8"


class Bench:
    """A harvest that puts the pages of `a.test` into one batch."""

    def __init__(self, scope: ScopeRules | None = None, **rules: Any) -> None:
        self.batch, self.stats = Batch(), Stats()
        made = Scope(scope or ScopeRules())
        self.harvest = Harvest(HarvestRules(**rules), made, lambda r: b"GET", record_ids())
        self.held = held("a.test", queued=5)

    def page(
        self, body: bytes, headers: str = HTML, status: int = 200, flags: int = 0, url: str = "/p"
    ) -> None:
        full = f"https://a.test{url}"
        head = f"HTTP/1.1 {status} X\r\n{headers}\r\n\r\n".encode()
        result = Result(self.held, 1.0, 2.0, requests=1)
        response = Response(made_request(full), status, head, body)
        result.page = (queued(full, depth=1, order=7, flags=flags), response)
        self.harvest.take(result, self.batch, self.stats)

    @property
    def urls(self) -> list[str]:
        return [link[2] for link in self.links]

    @property
    def links(self) -> list[Link]:
        return self.batch.all_links()
