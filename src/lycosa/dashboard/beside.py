"""A dashboard beside a crawl: binds its socket, starts its process, ends it with the crawl.

Runs in the process of the crawl, so it loads nothing that the crawl does not need, waits for
nothing, and fails with a sentence instead of an error: a crawl goes on without a dashboard.
"""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import orjson

from lycosa.called import pip_install
from lycosa.dashboard.orders import HOST, PORT, PORTS, DashboardOrders, address
from lycosa.errors import UserError

END_SECONDS = 2.0  # in which the process ends by itself
PACKAGES = ("starlette", "uvicorn", "prometheus_client")


def missing() -> str:
    """What to say if the packages of the dashboard are not installed; '' if they are."""
    if all(map(importlib.util.find_spec, PACKAGES)):
        return ""
    install = " ".join([pip_install(PACKAGES[0]), *PACKAGES[1:]])
    return f"no dashboard: its packages are not installed ({install})"


def bound(host: str = HOST, port: int = PORT, given: bool = False) -> socket.socket:
    """A socket that listens at the port, or unless it was `given` at the next that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tries = [port] if given else [*range(port, port + PORTS), 0]
    problem: OSError | None = None
    for each in tries:
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            # Else a port can't be bound again for a minute after the end of its connections.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, each))
            listening.listen(128)
            return listening
        except OSError as error:
            listening.close()
            problem = error
    told = problem.strerror if problem else ""
    raise UserError(f"The dashboard can't listen at {host} port {port}: {told}.")


def started(orders: DashboardOrders, listening: socket.socket) -> subprocess.Popen[bytes]:
    """The process of a dashboard, in a session of its own: Ctrl-C is the crawl's."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lycosa.dashboard", str(listening.fileno())],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=[listening.fileno()],
        start_new_session=True,
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(orjson.dumps(orders.to_json()) + b"\n")
        process.stdin.flush()
    return process


def ended(process: subprocess.Popen[bytes]) -> None:
    """End it: by its pipe, and if that does not help by a kill."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def beside(
    orders: Callable[[int], DashboardOrders],
    host: str,
    port: int,
    given: bool,
    say: Callable[[str], None],
    warn: Callable[[str], None],
    secret: bool = False,
) -> Iterator[str]:
    """A context with a dashboard, and its address; with a sentence and '' if there can be none.
    `secret`: the token is not to be printed."""
    if why := missing():
        say(why)
        yield ""
        return
    try:
        listening = bound(host, port, given)
    except (UserError, OSError) as error:
        warn(f"no dashboard: {error}")
        yield ""
        return
    told = orders(listening.getsockname()[1])
    try:
        process = started(told, listening)
    except OSError as error:
        listening.close()
        warn(f"no dashboard: {error}")
        yield ""
        return
    listening.close()
    place = address(host, told.port, "" if secret else told.token)
    say(f"dashboard: {place}")
    try:
        yield place
    finally:
        ended(process)
