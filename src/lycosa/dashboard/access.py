"""Who may look and who may steer: decided by the Host, the Origin and the token of a request. Pure.

A page of a stranger, open in the user's browser, can send requests to loopback. It can't choose the
Host that the browser sends (which tells a name that was made to lead here: DNS rebinding), nor the
Origin, nor does it know the token. The token comes in a header that no browser adds by itself.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

SHELL = ("/", "/static/")  # the page without any data of a crawl
TOO_LARGE = 64 * 1024  # bytes of a request's body
_BEARER = "bearer "
_host = re.compile(r"(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9._-]{1,253}))(?::[0-9]{1,5})?").fullmatch


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused, and what to do."""

    status: int
    why: str


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one dashboard."""

    token: str
    loopback: bool = True  # it listens there only
    names: frozenset[str] = field(default_factory=frozenset)  # more host names that lead here

    def refuses(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Why a request is not answered; None: it is. The names of headers are in lower case."""
        host = headers.get("host", "")
        if not self._known(host):
            return Refusal(
                403, "This dashboard does not answer to that host name: open the address that it"
                " printed, or allow the name with --dashboard-name."
            )  # fmt: skip
        if not _same_site(headers, host):
            return Refusal(403, "Requests of other sites are refused.")
        if method not in ("GET", "HEAD", "POST"):
            return Refusal(405, "A dashboard knows GET, HEAD and POST.")
        control = method == "POST"
        if control and not headers.get("content-type", "").startswith("application/json"):
            return Refusal(415, "A control is sent as application/json.")
        if (control or not self._open(path, host)) and not self._token(headers):
            return Refusal(
                401, "This needs the token: open the address that was printed at the start, which"
                " ends with it, or give the token here."
            )  # fmt: skip
        return _too_large(headers)

    def _open(self, path: str, host: str) -> bool:
        """Whether a path may be seen without the token."""
        if path == SHELL[0] or path.startswith(SHELL[1]):
            return True
        return self.loopback and _is_loopback(_name(host))

    def _known(self, host: str) -> bool:
        name = _name(host)
        if name in self.names or _is_loopback(name):
            return True
        # An address can't be made to lead elsewhere, a name can.
        return not self.loopback and _is_address(name)

    def _token(self, headers: Mapping[str, str]) -> bool:
        given = headers.get("authorization", "")
        if given[: len(_BEARER)].lower() != _BEARER:
            return False
        sent = given[len(_BEARER) :].strip().encode("utf-8", "replace")
        return hmac.compare_digest(sent, self.token.encode())  # takes as long whatever was sent


def _same_site(headers: Mapping[str, str], host: str) -> bool:
    """Whether a request comes from our own page, from an address that was typed, or from a program
    that is no browser."""
    origin = headers.get("origin")
    if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
        return False
    return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def _too_large(headers: Mapping[str, str]) -> Refusal | None:
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length) > TOO_LARGE:
        return Refusal(413, "A request has at most 64 KB.")
    return None


def _name(host: str) -> str:
    """The host without its port, '' for what is none."""
    found = _host(host.lower())
    return (found[1] or found[2].removesuffix(".")) if found else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return name == "localhost" or (_is_address(name) and ipaddress.ip_address(name).is_loopback)
