"""The dashboard beside a crawl or a demo, as its options have it.

A crawl never fails for its dashboard: what is wrong with that is one line of the log. Only what the
user wrote wrongly is refused, before anything begins.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from lycosa.dashboard.beside import beside
from lycosa.dashboard.orders import HOST, DashboardOrders
from lycosa.dashboard.token_file import own_token, token_from
from lycosa.log import get_logger
from lycosa.settings.collect import Values

log = get_logger("dashboard")


def check_dashboard(values: Values) -> None:
    """Raise UserError for a token file that is none."""
    if values["dashboard"] and values["dashboard-token-file"]:
        token_from(values["dashboard-token-file"])


def dashboard_beside(values: Values, data_dir: Path, store: str) -> AbstractContextManager[str]:
    """A context with a dashboard of this crawl, and its address; '' if there is none."""
    if not values["dashboard"]:
        return nullcontext("")
    host = _of(values, "dashboard-host", HOST)
    given = "dashboard-port" in values.given
    secret = bool(_of(values, "dashboard-token-file", None))
    orders = partial(_orders, values, data_dir, store, host)
    return beside(orders, host, values["dashboard-port"], given, log.info, log.warning, secret)


def _orders(values: Values, data_dir: Path, store: str, host: str, port: int) -> DashboardOrders:
    file = _of(values, "dashboard-token-file", None)
    return DashboardOrders(
        data_dirs=(str(data_dir.absolute()),),
        store=store,
        token=token_from(file) if file else own_token(data_dir),
        host=host,
        port=port,
        names=_of(values, "dashboard-name", ()),
    )


def _of(values: Values, name: str, default: Any) -> Any:
    """An option that the demo does not have."""
    return values.by_name.get(name, default)


def wait_for_key() -> None:
    """Wait until somebody presses a key; the terminal stays as it was."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        sys.stdin.read(1)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
