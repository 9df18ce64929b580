"""What stands before every route: access, the bound of a request's body, the headers of answers."""

from __future__ import annotations

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lycosa.dashboard.access import TOO_LARGE, Access, Refusal

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_SET = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_FRESH = (b"cache-control", b"no-store")


class TooLarge(Exception):
    """More came than a request may have."""


class Guard:
    """Lets through what may pass, to the app."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # of other protocols it speaks none
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refusal = self._access.refuses(scope["method"], scope["path"], headers)
        if refusal is not None:
            await refuse(refusal, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_ours(message.get("headers", ()))
            await send(message)

        await self._app(scope, _bounded(receive), answer)


def _with_ours(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    names = {name for name, _ in headers}
    fresh = [] if _FRESH[0] in names else [_FRESH]
    return [*headers, *_SET, *fresh]


def _bounded(receive: Receive) -> Receive:
    """The same messages, until there are too many bytes in them: a length may be a lie."""
    left = TOO_LARGE

    async def message() -> Message:
        nonlocal left
        found = await receive()
        left -= len(found.get("body", b""))
        if left < 0:
            raise TooLarge
        return found

    return message


async def refuse(refusal: Refusal, send: Send) -> None:
    """Answer with the sentence, and hang up: what else the client sends is not read."""
    body = orjson.dumps({"error": refusal.why})
    own = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if refusal.status == 401:
        own.append((b"www-authenticate", b'Bearer realm="lycosa"'))
    own.append((b"content-length", str(len(body)).encode()))
    await send(
        {"type": "http.response.start", "status": refusal.status, "headers": _with_ours(own)}
    )
    await send({"type": "http.response.body", "body": body})
