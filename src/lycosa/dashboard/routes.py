"""The routes of the dashboard: which path is answered by which question or control."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from lycosa.dashboard.access import Access
from lycosa.dashboard.answers import Answers, shown, words
from lycosa.dashboard.controls import CONTROLS, asked, steering
from lycosa.dashboard.events import TROUBLE, Viewers
from lycosa.dashboard.exposition import exposition
from lycosa.dashboard.guard import Guard, TooLarge
from lycosa.dashboard.source import Busy, CantOpen, CrawlSource
from lycosa.errors import LycosaError, UserError
from lycosa.reading.crawl import Crawl
from lycosa.steering.wheel import open_wheel
from lycosa.terminal import visible

STATIC = Path(__file__).parent / "static"
LONG = 4_000  # characters of a question
Question = Callable[[Crawl], Any]
Handler = Callable[[Request], Awaitable[Response]]


class JsonBytes(Response):
    """An answer in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content)


class Dashboard:
    """One crawl as an ASGI app."""

    def __init__(self, source: CrawlSource, access: Access) -> None:
        self._source = source
        self._answers = Answers()
        self.viewers = Viewers(self._look)
        routes = [
            Route("/", _page),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/api/words", self._words),
            Route("/api/overview", self._asks(lambda _: self._answers.overview)),
            Route("/api/history", self._asks(self._history)),
            Route("/api/examples", self._asks(self._one(self._answers.examples, "outcome"))),
            Route("/api/why", self._asks(self._one(self._answers.why, "url"))),
            Route("/api/domains", self._asks(self._one(self._answers.domains, "sort"))),
            Route("/api/domain", self._asks(self._one(self._answers.domain, "name"))),
            Route("/api/search", self._asks(self._one(self._answers.search, "q"))),
            Route("/api/nodes", self._asks(lambda _: _nodes)),
            Route("/api/steering", self._answered(self._steering)),
            Route("/api/{control}", self._answered(self._control), methods=["POST"]),
            Route("/events", self._events),
            Route("/status.json", self._asks(lambda _: self._answers.status)),
            Route("/healthz", self._answered(self._health)),
            Route("/metrics", self._answered(self._metrics)),
        ]
        handlers: dict[Any, Any] = {
            404: _not_found, 405: _not_found, 500: _failed, TooLarge: _too_large,
        }  # fmt: skip
        self.app: ASGIApp = Guard(Starlette(routes=routes, exception_handlers=handlers), access)

    async def _look(self) -> object:
        return await self._source.ask(self._answers.overview)

    # -- questions ----------------------------------------------------------------------------

    def _asks(self, make: Callable[[Request], Question]) -> Handler:
        async def handler(request: Request) -> Response:
            return JsonBytes(await self._source.ask(make(request)))

        return self._answered(handler)

    def _answered(self, handler: Handler) -> Handler:
        """The same, with an error as a sentence."""

        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except Busy as error:
                return _error(503, str(error))
            except CantOpen as error:
                return _error(503, str(error))
            except UserError as error:
                return _error(400, str(error))
            except (LycosaError, OSError):
                return _error(503, TROUBLE)

        return answer

    def _one(self, question: Callable[[Crawl, str], Any], name: str) -> Callable[..., Question]:
        """A question about one text of the query."""

        def make(request: Request) -> Question:
            text = request.query_params.get(name, "")
            if not text or len(text) > LONG:
                raise UserError(f"Give '{name}', a text of at most {LONG:,} characters.")
            return lambda crawl: question(crawl, text)

        return make

    def _history(self, request: Request) -> Question:
        since, until = (_moment(request.query_params.get(name)) for name in ("since", "until"))
        return lambda crawl: self._answers.history(crawl, since, until)

    async def _words(self, _: Request) -> Response:
        return JsonBytes(words())

    async def _health(self, _: Request) -> Response:
        return JsonBytes(await self._source.ask(self._answers.health))

    async def _metrics(self, _: Request) -> Response:
        now, nodes = await self._source.ask(
            lambda crawl: (crawl.history().now(), crawl.history().nodes())
        )
        return Response(
            exposition(now, nodes), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    async def _events(self, _: Request) -> Response:
        if self.viewers.full():
            return _error(503, "Too many people look at this crawl at once.")
        return StreamingResponse(self.viewers.events(), media_type="text/event-stream")

    # -- controls -----------------------------------------------------------------------------

    async def _steering(self, _: Request) -> Response:
        return JsonBytes(shown(await self._source.do(lambda: self._steered(steering))))

    async def _control(self, request: Request) -> Response:
        act = CONTROLS.get(request.path_params["control"])
        if act is None:
            return _error(404, "There is no such control.")
        words = asked(await request.body())
        done = await self._source.do(lambda: self._steered(lambda wheel: act(wheel, words)))
        return JsonBytes(shown(done))

    def _steered(self, act: Callable[[Any], Any]) -> Any:
        directory = self._source.paths[0] if self._source.paths else Path()
        store = self._source.store
        with self._source.opening(lambda: open_wheel(directory, store)) as wheel:
            return act(wheel)


async def _page(_: Request) -> Response:
    return FileResponse(STATIC / "index.html", media_type="text/html; charset=utf-8")


def _nodes(crawl: Crawl) -> Any:
    return shown({"nodes": crawl.history().nodes()})


def _moment(text: str | None) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise UserError("A moment is a number of seconds since 1970.") from error


def _error(status: int, sentence: str) -> Response:
    return JsonBytes({"error": visible(sentence)}, status)


async def _not_found(_: Request, __: Exception) -> Response:
    return _error(404, "There is nothing here: the page is at /.")


async def _too_large(_: Request, __: Exception) -> Response:
    told = _error(413, "A request has at most 64 KB.")
    told.headers["connection"] = "close"  # the rest of it is not read
    return told


async def _failed(_: Request, __: Exception) -> Response:
    return _error(500, "A fault of the dashboard's own: please report it with its log.")
